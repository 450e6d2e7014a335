import assert from 'node:assert/strict'
import { after, describe, test, type TestContext } from 'node:test'
import { givenCitus, LAYOUTS, type Layout } from './citus.ts'
import { answersSeen, checkMoney, crashAccount, crashClient, type Observed } from '../crash/crash-clients.ts'
import { direct, asOwner } from '../harness/postgres.ts'
import { NodeBench, until } from '../harness/node-bench.ts'
import type { Tollgate } from '../harness/server.ts'
import { execFile, spawn } from 'node:child_process'
import { existsSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { promisify } from 'node:util'

const GONE_MS = 20_000
/** It syncs its whole directory first. */
const READY_MS = 60_000
const run = promisify(execFile)

/** A PostgreSQL of this machine that somebody else started: it can be killed, and started again as it was. */
class RunningServer {
  readonly #url: string
  readonly #command: readonly string[]
  readonly #environment: NodeJS.ProcessEnv
  readonly #directory: string
  #pid: number

  private constructor(url: string, pid: number, directory: string) {
    this.#url = url
    this.#pid = pid
    this.#directory = directory
    const [, ...words] = wordsOf(`/proc/${pid}/cmdline`)
    this.#command = [readlinkSync(`/proc/${pid}/exe`), ...words]
    this.#environment = Object.fromEntries(
      wordsOf(`/proc/${pid}/environ`).map((pair) => [pair.split('=', 1)[0] ?? '', pair.slice(pair.indexOf('=') + 1)]),
    )
  }

  static async of(url: string): Promise<RunningServer> {
    const [row] = await direct(
      url,
      `SELECT pg_read_file('postmaster.pid') AS file, current_setting('data_directory') AS at`,
    )
    const pid = Number(String(row?.['file']).split('\n')[0])
    if (!existsSync(`/proc/${pid}/exe`))
      throw new Error(`The PostgreSQL of ${url} runs on another machine: these tests kill it.`)
    return new RunningServer(url, pid, String(row?.['at']))
  }

  /** kill -9 of every process; the first one is stopped before, so that it starts nothing meanwhile. */
  async kill(): Promise<void> {
    process.kill(this.#pid, 'SIGSTOP')
    const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', String(this.#pid)])
    const pids = [this.#pid, ...stdout.split('\n').map(Number)].filter((pid) => pid > 0)
    for (const pid of pids) killed(pid)
    // While its parent has not asked for its end, another server takes it for one that runs.
    await until(GONE_MS, 'every process of the server is gone', () => !pids.some((pid) => existsSync(`/proc/${pid}`)))
  }

  async start(): Promise<void> {
    const [program = '', ...words] = this.#command
    const { uid, gid } = statSync(this.#directory)
    const owner = uid === process.getuid?.() ? null : { uid, gid }
    // It runs on after these tests, as before them.
    const child = spawn(...asOwner(owner, program, words), {
      cwd: this.#directory,
      env: this.#environment,
      stdio: 'ignore',
      detached: true,
    })
    child.unref()
    await until(READY_MS, 'the server has recovered', () => answers(this.#url))
    this.#pid = child.pid ?? 0
  }

  /** Whether a commit is on the disk before it is acknowledged. */
  async syncs(fsync: 'on' | 'as configured'): Promise<void> {
    await direct(this.#url, fsync === 'on' ? 'ALTER SYSTEM SET fsync = on' : 'ALTER SYSTEM RESET fsync')
    await direct(this.#url, 'SELECT pg_reload_conf()')
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    await direct(url, 'SELECT 1')
    return true
  } catch {
    return false
  }
}

function wordsOf(file: string): readonly string[] {
  return readFileSync(file, 'utf8').replace(/\0$/, '').split('\0')
}

function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended meanwhile.
  }
}

const KILLS = 6
const CLIENTS = 6
const CATALOG = 'rate_limit: { requests: 100000, window: 60 }'

const citus = givenCitus()
const bench = (await NodeBench.start({ valkey: false })) ?? assert.fail('There is no PostgreSQL.')
after(() => bench.stop())

interface World {
  readonly database: string
  readonly nodes: Tollgate[]
  readonly account: Awaited<ReturnType<typeof crashAccount>>
  readonly record: Observed
}

/** Two nodes on a schema that is where the layout says, until the test ends. */
async function twoNodes(context: TestContext, layout: Layout): Promise<World> {
  const database = await citus.emptySchema(await citus.emptyDatabase())
  if (layout === 'schema') {
    const migrating = await node(database)
    await migrating.kill('SIGKILL')
    await citus.distribute(database)
  }
  const nodes = [await node(database), await node(database)]
  context.after(() => Promise.all(nodes.map((one) => one.kill('SIGKILL'))))
  return {
    database,
    nodes,
    account: await crashAccount(nodes[0] ?? assert.fail()),
    record: { whole: [], broken: new Set() },
  }
}

function node(database: string): Promise<Tollgate> {
  return bench.node(database, { catalog: CATALOG })
}

/** Clients ask while `during` runs; afterwards exactly the answers that they saw are charged. */
async function underLoad({ database, nodes, account, record }: World, during: () => Promise<void>): Promise<void> {
  const stopped = { now: false }
  const clients = Array.from({ length: CLIENTS }, (_, number) =>
    crashClient(() => nodes[number % nodes.length], account.key, number, record, stopped),
  )
  try {
    await during()
    await answersSeen(record, CLIENTS)
  } finally {
    stopped.now = true
    await Promise.all(clients)
  }
  const [one = assert.fail()] = nodes
  // The lease of a hold whose node died is a minute.
  await direct(database, "UPDATE hold SET lease_until = 1 WHERE state = 'open'")
  await until(60_000, 'no hold is left of who died', async () => {
    const left = await direct(database, "SELECT id FROM hold WHERE state = 'open' AND lease_until = 1")
    return left.length === 0
  })
  await until(
    60_000,
    'no hold is left',
    async () => (await one.admin('GET', `/admin/v1/accounts/${account.id}`)).body.reserved === 0,
  )
  await checkMoney(one, account, record)
}

function told(context: TestContext, what: string, { record }: World): void {
  context.diagnostic(`${what}, ${record.whole.length} answers seen whole, ${record.broken.size} cut`)
}

for (const layout of ['coordinator', 'schema'] as const)
  describe(LAYOUTS[layout], () => {
    test('kill -9 of nodes under load: exactly the answers that clients saw are charged', async (context) => {
      const world = await twoNodes(context, layout)
      await underLoad(world, async () => {
        for (let kill = 0; kill < KILLS; kill += 1) {
          await answersSeen(world.record, 2 * CLIENTS)
          await world.nodes[kill % 2]?.kill('SIGKILL')
          world.nodes[kill % 2] = await node(world.database)
        }
      })
      told(context, `${KILLS} kills of nodes`, world)
    })

    describe('with fsync', async () => {
      const servers = await Promise.all((await citus.servers()).map((url) => RunningServer.of(url)))
      for (const server of servers) await server.syncs('on')
      after(async () => {
        for (const server of servers) await server.syncs('as configured')
      })

      test('kill -9 of PostgreSQL under load, of the coordinator and of the worker: exactly the answers that clients saw are charged', async (context) => {
        const world = await twoNodes(context, layout)
        const [coordinator = assert.fail()] = servers
        const [, ...workers] = await citus.servers()
        const rounds = [[coordinator]]
        if (layout === 'schema') {
          const port = String(await citus.place(world.database))
          const worker = servers[1 + workers.findIndex((url) => new URL(url).port === port)] ?? assert.fail()
          rounds.push([worker], [worker, coordinator])
        } else rounds.push([coordinator], servers.slice())
        await underLoad(world, async () => {
          for (const dying of rounds) {
            await answersSeen(world.record, 2 * CLIENTS)
            await Promise.all(dying.map((server) => server.kill()))
            for (const server of dying) await server.start()
          }
          await answersSeen(world.record, 2 * CLIENTS)
        })
        told(context, `${rounds.flat().length} kills of PostgreSQL`, world)
      })
    })
  })

test('a schema moves to the other worker while the nodes are stopped: the books are right before and after', async (context) => {
  const world = await twoNodes(context, 'schema')
  const place = await citus.place(world.database)
  await underLoad(world, async () => void (await answersSeen(world.record, 10 * CLIENTS)))
  for (const running of world.nodes) await running.kill('SIGTERM')
  assert.notEqual(await citus.move(world.database), place)
  for (const index of world.nodes.keys()) world.nodes[index] = await node(world.database)
  await checkMoney(world.nodes[0] ?? assert.fail(), world.account, world.record)
  await underLoad(world, async () => void (await answersSeen(world.record, 10 * CLIENTS)))
  told(context, 'one move', world)
})
