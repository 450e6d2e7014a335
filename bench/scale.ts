import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { percentile } from '../test/harness/figures.ts'
import { startPostgres } from '../test/harness/postgres.ts'
import { startPgBouncer } from '../test/harness/pgbouncer.ts'
import { startValkey, startValkeyCluster, type TestValkey } from '../test/harness/valkey.ts'
import { load, orderOf } from './load-process.ts'
import { treeUsage } from './process-tree.ts'
import { figure } from './report.ts'
import { scenarioOf } from './scenarios.ts'
import { startUpstream } from './servers.ts'
import { startTollgate, type TollgateServer } from './tollgate.ts'

/**
 * `npm run bench:scale`: workers on one PostgreSQL, many accounts and a single one, the policies that decide holds,
 * with and without Valkey. It prints which processes use the CPU time of a chat, and how many requests share a
 * transaction.
 */
const { values } = parseArgs({
  options: {
    workers: { type: 'string', default: '1,2,4' },
    loads: { type: 'string', default: 'accounts,hot,exact' },
    valkey: { type: 'string', default: 'both' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    warmup: { type: 'string', default: '8' },
    clients: { type: 'string', default: '32' },
    profile: { type: 'string', default: '' },
    statements: { type: 'boolean', default: false },
    pgbouncer: { type: 'boolean', default: false },
    database: { type: 'string', default: '' },
  },
})
const LOADS = {
  accounts: { told: '32 accounts', accounts: 32, policy: 'slice' },
  hot: { told: 'one account', accounts: 1, policy: 'slice' },
  exact: { told: 'one account', accounts: 1, policy: 'exact' },
  many: { told: '10,000 accounts', accounts: 10_000, policy: 'slice' },
} as const
type LoadName = keyof typeof LOADS
const VALKEY = { both: [false, true], with: [true], without: [false], cluster: ['cluster'] } as const
type ValkeyUse = (typeof VALKEY)[keyof typeof VALKEY][number]

const rounds = Number(values.rounds)
const seconds = Number(values.seconds)
const warmup = Number(values.warmup)
const clients = Number(values.clients)
const workerCounts = values.workers.split(',').map(Number)
const loads = values.loads.split(',')
const valkeys = Object.hasOwn(VALKEY, values.valkey) ? VALKEY[values.valkey as keyof typeof VALKEY] : []
if (
  ![rounds, ...workerCounts].every((count) => Number.isInteger(count) && count >= 0 && count <= 64) ||
  rounds < 1 ||
  !(Number.isInteger(clients) && clients >= 1 && clients <= 256) ||
  !(seconds > 0 && warmup > 0) ||
  !loads.every(isLoad) ||
  valkeys.length === 0
) {
  process.stderr.write(
    `usage: npm run bench:scale -- [--workers 0,1,2,4] [--loads accounts,hot,exact,many] [--valkey both|with|without|cluster] [--rounds N] [--seconds N] [--warmup N] [--clients N] [--profile DIRECTORY] [--statements] [--pgbouncer] [--database URL]
--database: an empty one of a server that runs already, whose CPU is not counted; --pgbouncer: through a pooler in transaction mode, not counted either.
0 workers are the embedded store; each worker is warmed for N seconds. --statements tells what PostgreSQL did (its extension pg_stat_statements); then the figures are a little too high.\n`,
  )
  process.exit(2)
}

/** Each commit is on the disk, and checkpoints are as rare as with the larger segments of a real installation. */
const SETTINGS = ['max_wal_size=1GB', 'wal_init_zero=off', 'max_connections=200']
const STATEMENTS = ['shared_preload_libraries=pg_stat_statements', 'pg_stat_statements.track_planning=on']
/** The last settles and log lines of a round are written after its last answer. */
const TRAILING_MS = 500

interface Measured {
  readonly name: string
  readonly workers: number
  readonly valkey: ValkeyUse
  readonly server: TollgateServer
  /** Absent = the embedded store. */
  readonly database?: pg.Client
  readonly valkeyPid?: number
}

/** CPU time of each part, µs per request. */
interface Figures {
  readonly nodes: number
  readonly parent: number
  readonly postgres: number
  readonly valkey: number
  readonly all: number
  readonly perSecond: number
  /** Requests per transaction of PostgreSQL. */
  readonly shared: number
  readonly p50Ms: number
  readonly p99Ms: number
}

interface Meter {
  readonly tree: number
  readonly parent: number
  readonly postgres: number
  readonly valkey: number
  readonly transactions: number
}

function isLoad(name: string): name is LoadName {
  return Object.hasOwn(LOADS, name)
}

const cleanUps: (() => Promise<void> | void)[] = []

async function startAll(): Promise<readonly Measured[]> {
  const upstream = await startUpstream()
  cleanUps.push(() => upstream.stop())
  const started: Measured[] = []
  for (const workers of workerCounts)
    for (const valkey of workers === 0 ? [false] : valkeys) started.push(await startOne(upstream, workers, valkey))
  return started
}

async function startOne(
  upstream: Parameters<typeof startTollgate>[0],
  workers: number,
  withValkey: ValkeyUse,
): Promise<Measured> {
  const root = join(import.meta.dirname, '..')
  const nodeOptions = values.profile === '' ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(values.profile)}`]
  // The scheduler may use any core for each process, since a single worker on a core of its own would have an
  // advantage.
  const common = { root, nodeOptions, core: 'any' } as const
  const keep = (server: TollgateServer): TollgateServer => {
    cleanUps.push(() => server.stop())
    return server
  }
  if (workers === 0) {
    const server = keep(await startTollgate(upstream, { ...common, name: 'embedded' }))
    return { name: 'embedded', workers, valkey: false, server }
  }
  const postgres = await postgresOf()
  const valkey = await valkeyOf(withValkey)
  const env = valkey === null ? {} : { VALKEY_URL: valkey.url }
  const beside = { false: '', true: ', Valkey', cluster: ', a Valkey cluster' }[String(withValkey) as `${ValkeyUse}`]
  const through = values.pgbouncer ? ' behind PgBouncer' : ''
  const name = `PostgreSQL${through}, ${workers} ${workers === 1 ? 'worker' : 'workers'}${beside}`
  const { pid } = postgres
  const server = keep(
    await startTollgate(upstream, { ...common, name, env, postgres: { url: postgres.through, pid, workers } }),
  )
  const database = new pg.Client({ connectionString: postgres.url })
  await database.connect()
  cleanUps.push(() => database.end())
  if (values.statements) await database.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements')
  const told = withValkey === true ? String(await valkey?.command('INFO', 'server')) : ''
  return {
    name,
    workers,
    valkey: withValkey,
    server,
    database,
    valkeyPid: Number(/process_id:(\d+)/.exec(told)?.[1] ?? 0),
  }
}

/** `through`: the URL that Tollgate gets. A PostgreSQL server that runs already has no process id here. */
async function postgresOf(): Promise<{ readonly url: string; readonly through: string; readonly pid: number }> {
  const { database } = values
  if (database !== '') return { url: database, through: database, pid: 0 }
  const postgres = await startPostgres(undefined, [...SETTINGS, ...(values.statements ? STATEMENTS : [])])
  if (postgres === null) throw new Error('There is no PostgreSQL.')
  cleanUps.push(() => postgres.stop())
  const own = { url: postgres.url, pid: postgres.pid() }
  if (!values.pgbouncer) return { ...own, through: own.url }
  const pooler = await startPgBouncer(own.url)
  if (pooler === null) throw new Error('There is no PgBouncer.')
  cleanUps.push(() => pooler.stop())
  return { ...own, through: `${pooler.url('postgres')}?pgbouncer=true` }
}

async function valkeyOf(use: ValkeyUse): Promise<TestValkey | null> {
  if (use === false) return null
  const valkey = await (use === 'cluster' ? startValkeyCluster() : startValkey())
  if (valkey === null) throw new Error('There is no Valkey.')
  cleanUps.push(() => valkey.stop())
  return valkey
}

async function meter({ server, database, valkeyPid = 0 }: Measured): Promise<Meter> {
  const [tree, postgres] = server.pids.map((pid) => (pid === 0 ? null : treeUsage(pid)))
  const found = await database?.query<{ n: string }>(
    `SELECT xact_commit AS n FROM pg_stat_database WHERE datname = current_database()`,
  )
  return {
    tree: tree?.cpuMicros ?? 0,
    parent: tree?.rootCpuMicros ?? 0,
    postgres: postgres?.cpuMicros ?? 0,
    valkey: valkeyPid === 0 ? 0 : treeUsage(valkeyPid).cpuMicros,
    transactions: Number(found?.rows[0]?.n ?? Number.NaN),
  }
}

async function measure(one: Measured, name: LoadName, forSeconds: number): Promise<Figures> {
  const { accounts, policy } = LOADS[name]
  const keys = await (policy === 'exact' ? one.server.exactKeys(accounts) : one.server.keys(accounts))
  if (values.statements) await one.database?.query('SELECT pg_stat_statements_reset()')
  const before = await meter(one)
  const result = await load({ ...orderOf(one.server, scenarioOf('chat, 1 kB answer'), keys, forSeconds), clients })
  await delay(TRAILING_MS)
  const after = await meter(one)
  if (result.wrong > 0)
    throw new Error(`${one.name}: ${result.wrong} answers were wrong: ${result.firstWrong}\n${one.server.complaints()}`)
  const each = (part: keyof Meter): number => (after[part] - before[part]) / result.requests
  // A single worker has no parent process.
  const parent = one.workers > 1 ? each('parent') : 0
  const figures = {
    nodes: each('tree') - parent,
    parent,
    postgres: each('postgres'),
    valkey: each('valkey'),
    all: each('tree') + each('postgres') + each('valkey'),
    perSecond: (result.requests * 1_000) / result.elapsedMs,
    shared: 1 / each('transactions'),
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
  }
  process.stderr.write(
    `${one.name}, ${name}: ${figure(figures.all)} CPU-µs a request, ${figures.perSecond.toFixed(0)} a second, ${figure(figures.shared)} a transaction\n`,
  )
  if (values.statements) await tellStatements(one, result.requests)
  return figures
}

async function tellStatements({ database }: Measured, requests: number): Promise<void> {
  const found = await database?.query<{ calls: string; ms: number; plans: string; plan_ms: number; query: string }>(
    `SELECT calls, total_exec_time AS ms, plans, total_plan_time AS plan_ms, left(regexp_replace(query, '\\s+', ' ', 'g'), 90) AS query
     FROM pg_stat_statements ORDER BY total_exec_time + total_plan_time DESC LIMIT 14`,
  )
  for (const { calls, ms, plans, plan_ms, query } of found?.rows ?? [])
    process.stderr.write(
      `  ${(Number(calls) / requests).toFixed(3)} calls, ${((ms * 1_000) / requests).toFixed(1)} µs a request, ${(Number(plans) / requests).toFixed(3)} plans, ${((plan_ms * 1_000) / requests).toFixed(1)} µs: ${query}\n`,
    )
}

const HEADER = `| Server | Load | Policy | CPU-µs a request | nodes | parent | PostgreSQL | Valkey | requests/s | requests of a transaction | p50 ms | p99 ms |
|---|---|---|---|---|---|---|---|---|---|---|---|`

function line(one: Measured, name: LoadName, samples: readonly Figures[]): string {
  const { told, policy } = LOADS[name]
  const median = (part: keyof Figures): string =>
    figure(
      percentile(
        samples.map((each) => each[part]),
        0.5,
      ),
    )
  const perSecond = percentile(
    samples.map((each) => each.perSecond),
    0.5,
  ).toFixed(0)
  const cells = [
    one.name,
    told,
    one.workers === 0 ? 'all' : policy,
    median('all'),
    median('nodes'),
    one.workers > 1 ? median('parent') : '',
    one.workers === 0 ? '' : median('postgres'),
    one.valkey === true ? median('valkey') : '',
    perSecond,
    one.workers === 0 ? '' : median('shared'),
    median('p50Ms'),
    median('p99Ms'),
  ]
  return `| ${cells.join(' | ')} |`
}

try {
  const servers = await startAll()
  const lines: string[] = []
  const isFirst = new Set<Measured>(servers)
  for (const name of loads.filter(isLoad)) {
    // The embedded store decides all holds in its process, so `exact` does not apply to it.
    const measured = servers.filter(({ workers }) => workers > 0 || name !== 'exact')
    for (const one of measured)
      await measure(one, name, isFirst.delete(one) ? warmup * Math.max(1, one.workers) : seconds)
    const samples = new Map(measured.map((one) => [one, [] as Figures[]]))
    for (let round = 1; round <= rounds; round += 1)
      for (const one of round % 2 === 0 ? measured : measured.toReversed())
        samples.get(one)?.push(await measure(one, name, seconds))
    for (const [one, figures] of samples) lines.push(line(one, name, figures))
  }
  process.stdout.write(`${HEADER}\n${lines.join('\n')}\n`)
} finally {
  for (const cleanUp of cleanUps.toReversed()) await cleanUp()
}
