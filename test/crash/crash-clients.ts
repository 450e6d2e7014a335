import assert from 'node:assert/strict'
import { request } from 'undici'
import type { ApiClient } from '../harness/api-client.ts'
import { foldStream } from '../harness/chat-fold.ts'
import { form } from '../harness/form.ts'
import { paced, until, patient } from '../harness/patience.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { Postgres } from '../harness/postgres.ts'
import { startTollgate, type Answer, type Tollgate } from '../harness/server.ts'

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

interface WorldOptions {
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
  return tollgate.post('/v1/chat/completions', account.key, {
    model: 'sandbox/chat',
    max_tokens: 100,
    messages: [{ role: 'user', content: `Hello\nsandbox: ${line}` }],
    ...extra,
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

/** Clients that leave some CPU time free, with answers that last as long: as many are running when something dies. */
const { pauseMs: PAUSE_MS, gapMs: GAP_MS } = form({
  short: { pauseMs: 40, gapMs: 20 },
  long: { pauseMs: 0, gapMs: 1 },
  chaos: { pauseMs: 0, gapMs: 1 },
})

/** A crash must not lose it: RUB × 10⁶ on the account of the clients of a crash test. */
export const CRASH_BALANCE_MICRO = 1_000_000_000

interface Seen {
  readonly id: string
  readonly cost: number
}

/** Facts that the clients of all rounds collect: answers whose end arrived, and streams that broke before it. */
export interface Observed {
  readonly whole: Seen[]
  readonly broken: Set<string>
}

/** An account for the clients, without limits that they would meet. */
export function crashAccount(tollgate: ApiClient): ReturnType<ApiClient['createAccount']> {
  return tollgate.createAccount({
    balance: CRASH_BALANCE_MICRO / 1e6,
    account: { rate_limit: { requests: 100_000, window: 60 }, limit: 900, limit_reset: 'daily' },
    key: { limit: 900, limit_reset: 'monthly' },
  })
}

/** Asks the current server until it is stopped; records how each answer ended. */
export async function crashClient(
  target: () => ApiClient | undefined,
  key: string,
  number: number,
  record: Observed,
  stopped: { readonly now: boolean },
): Promise<void> {
  for (let turn = 0; !stopped.now; turn += 1) {
    const stream = (turn + number) % 2 === 0
    const words = 5 + (turn % 20)
    const content = `client ${number}\nsandbox: words=${words} gap_ms=${stream ? GAP_MS : 0}`
    const body = JSON.stringify({
      model: 'sandbox/chat',
      stream,
      max_tokens: 100,
      messages: [{ role: 'user', content }],
    })
    // The connection dies with the server: the part received by then is still checked.
    const tollgate = target()
    const answer = tollgate === undefined ? null : await answered(tollgate, key, body).catch(() => null)
    if (answer === null || answer.status !== 200) await paced(1, 'a server that is gone is asked again')
    else if (stream) recordStream(record, answer, words)
    else if (answer.ended) recordPlain(record, answer.text)
    await paced(PAUSE_MS, 'the pace of a client')
  }
}

/** Until the clients have seen so many more answers whole. */
export function answersSeen({ whole }: Observed, more: number): Promise<number> {
  const before = whole.length
  return until(30_000, `${more} answers are seen`, () => whole.length >= before + more)
}

interface RawAnswer {
  readonly status: number
  readonly id: string
  readonly text: string
  /** The body came to its end as its framing says. */
  readonly ended: boolean
}

async function answered(tollgate: ApiClient, key: string, body: string): Promise<RawAnswer> {
  const answer = await request(`${tollgate.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
  })
  let text = ''
  let ended = true
  try {
    for await (const chunk of answer.body) text += String(chunk)
  } catch {
    ended = false
  }
  return { status: answer.statusCode, id: String(answer.headers['x-generation-id']), text, ended }
}

function recordStream(record: Observed, answer: RawAnswer, words: number): void {
  // The last event may be cut in the middle.
  const { done, error, usage, choices } = foldStream(
    answer.status,
    answer.text.slice(0, answer.text.lastIndexOf('\n\n') + 2),
    {},
  )
  assert.ok(!answer.ended || done, 'a stream that its server never finished does not end as if it were whole')
  const received = (choices.get(0)?.text ?? '').split(' ').filter((word) => word !== '').length
  if (done && error === null) record.whole.push({ id: answer.id, cost: Number(usage?.['cost']) })
  // The settle begins after the last word was sent, so that word and the end may be lost after it.
  else if (received < words - 1) record.broken.add(answer.id)
}

function recordPlain(record: Observed, text: string): void {
  const { id, usage } = JSON.parse(text)
  record.whole.push({ id, cost: usage.cost })
}

/**
 * The audit is clean, every answer whose end a client saw is charged once at its stated cost, and no cut one is
 * charged.
 */
export async function checkMoney(
  tollgate: ApiClient,
  account: { readonly id: string; readonly keyId: string },
  { whole, broken }: Observed,
): Promise<void> {
  const audit = await tollgate.admin('GET', '/admin/v1/audit')
  assert.equal(audit.body.violations, 0, audit.text)
  const rows = await generations(tollgate, account.id)
  const charged = new Map(rows.filter((row) => row.total_cost > 0).map((row) => [row.generation_id, row]))
  assert.equal(new Set(whole.map(({ id }) => id)).size, whole.length, 'no id is given twice')
  for (const { id, cost } of whole) assert.equal(charged.get(id)?.total_cost, cost, `answer ${id}`)
  for (const id of broken) assert.equal(charged.get(id), undefined, `the broken stream ${id} was charged`)
  assert.deepEqual(
    [...charged.values()].filter(({ status }) => status !== 'completed'),
    [],
    'only complete answers are charged',
  )
  const sumMicro = [...charged.values()].reduce((total, row) => total + Math.round(row.total_cost * 1e6), 0)
  const { body: record } = await tollgate.admin('GET', `/admin/v1/accounts/${account.id}`)
  assert.equal(Math.round(record.balance * 1e6), CRASH_BALANCE_MICRO - sumMicro)
  assert.equal(record.reserved, 0, 'no hold is left')
  const { body: keys } = await tollgate.admin('GET', `/admin/v1/accounts/${account.id}/keys`)
  assert.equal(Math.round(keys.data[0].usage_monthly * 1e6), sumMicro, 'the key has spent what was charged')
}

interface LogRow {
  readonly generation_id: string
  readonly total_cost: number
  readonly status: string
}

async function generations(tollgate: ApiClient, account: string): Promise<LogRow[]> {
  const rows: LogRow[] = []
  for (;;) {
    const page = await tollgate.admin(
      'GET',
      `/admin/v1/generations?account=${account}&limit=1000&offset=${rows.length}`,
    )
    rows.push(...page.body.data)
    if (page.body.data.length < 1_000) return rows
  }
}
