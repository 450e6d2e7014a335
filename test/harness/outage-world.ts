import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { crashAccount, crashClient, type Observed } from './crash-clients.ts'
import { patient, until } from './patience.ts'
import { form } from './form.ts'
import type { Postgres } from './postgres.ts'
import { startTollgate, type Answer, type Tollgate } from './server.ts'

const CLIENTS = form({ short: 6, long: 12, chaos: 12 })
let databases = 0

export interface World {
  readonly postgres: Postgres
  readonly databaseUrl: string
  tollgate: Tollgate
  /** Of the clients of the test that runs. */
  account: Awaited<ReturnType<typeof crashAccount>>
  readonly restart: () => Promise<void>
  readonly stop: () => Promise<void>
}

export interface WorldOptions {
  readonly dataDir?: string
  /** The address that the server gets if there is a proxy before the database. */
  readonly through?: (databaseUrl: string) => string
}

/** A server on an empty database, for one test. */
export async function withWorld(
  postgres: Postgres | null,
  body: (world: World) => Promise<void>,
  options: WorldOptions = {},
): Promise<void> {
  if (postgres === null) return
  const world = await startWorld(postgres, options)
  try {
    await body(world)
  } finally {
    await world.stop()
  }
}

/** A server on an empty database, with its data directory kept over restarts. */
export async function startWorld(postgres: Postgres, options: WorldOptions = {}): Promise<World> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'tollgate-outage-'))
  databases += 1
  await statement(postgres.url, `CREATE DATABASE outage_${databases}`)
  const databaseUrl = postgres.url.replace(/\/postgres$/, `/outage_${databases}`)
  const env = {
    DATABASE_URL: options.through?.(databaseUrl) ?? databaseUrl,
    TOLLGATE_KEK: Buffer.alloc(32, 7).toString('base64'),
  }
  const start = (): Promise<Tollgate> => startTollgate({ dataDir, env })
  const tollgate = await start()
  const world: World = {
    postgres,
    databaseUrl,
    tollgate,
    account: await crashAccount(tollgate),
    restart: async () => {
      world.tollgate = await start()
    },
    stop: async () => {
      await world.tollgate.kill('SIGKILL')
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true })
    },
  }
  return world
}

/** A world that the tests of a file share; each test has a separate account. */
export async function inShared(world: World | null, body: (world: World) => Promise<void>): Promise<void> {
  if (world === null) return
  world.account = await crashAccount(world.tollgate)
  await body(world)
}

/** A gauge of the world's server. */
async function gauge({ tollgate }: World, name: string): Promise<number> {
  const { text } = await tollgate.request('GET', '/metrics')
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
}

/** Waits until so many requests of the world have holds that were placed after that time (Unix ms): they run. */
export async function held(world: World, count: number, sinceMs = 0): Promise<void> {
  const { databaseUrl } = world
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await until(
    20_000,
    `${count} requests run`,
    async () =>
      (
        await client.query<{ count: number }>(
          "SELECT count(*)::int AS count FROM hold WHERE state = 'open' AND placed_at >= $1 AND id NOT LIKE 'allowance-%'",
          [sinceMs],
        )
      ).rows[0]?.count ===
      count - (await gauge(world, 'tollgate_ledger_drawn')),
  )
  await client.end()
}

async function statement(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(sql)
  await client.end()
}

export function ask({ tollgate, account }: World, line: string, extra: Record<string, unknown> = {}): Promise<Answer> {
  return tollgate.request('POST', '/v1/chat/completions', {
    key: account.key,
    body: {
      model: 'sandbox/chat',
      max_tokens: 100,
      messages: [{ role: 'user', content: `Hello\nsandbox: ${line}` }],
      ...extra,
    },
  })
}

/** The time until a paid request is served, ms. */
export async function untilServed(world: World): Promise<number> {
  const startedMs = performance.now()
  while ((await ask(world, 'words=1')).status !== 200)
    assert.ok(performance.now() - startedMs < patient(20_000), 'it serves again')
  return performance.now() - startedMs
}

/** Every hold is closed within 20 s of the end of an outage (I13). */
export async function settled(world: World, limitMs = 20_000): Promise<void> {
  const { tollgate, account } = world
  await until(
    limitMs,
    'no hold is left',
    async () =>
      (await tollgate.admin('GET', `/admin/v1/accounts/${account.id}`)).body?.reserved === 0 &&
      (await gauge(world, 'tollgate_ledger_drawn')) + (await gauge(world, 'tollgate_journal_open')) === 0,
  )
}

/** Holds whose requests never ended: their lease of a minute is ended here, and the sweep follows within 15 s. */
export async function untilExpired(world: World): Promise<void> {
  await statement(world.databaseUrl, "UPDATE hold SET lease_until = 1 WHERE state = 'open'")
  await settled(world, 30_000)
  const client = new pg.Client({ connectionString: world.databaseUrl })
  await client.connect()
  const left = "SELECT id FROM hold WHERE state = 'open' AND lease_until = 1"
  await until(30_000, 'no allowance is left of who died', async () => (await client.query(left)).rowCount === 0)
  await client.end()
}

/** Clients that ask without a pause while `during` runs. */
export async function clients(world: World, record: Observed, during: () => Promise<void>): Promise<void> {
  const stopped = { now: false }
  const running = Array.from({ length: CLIENTS }, (_value, number) =>
    crashClient(() => world.tollgate, world.account.key, number, record, stopped),
  )
  try {
    await during()
  } finally {
    stopped.now = true
    await Promise.all(running)
  }
}
