import { writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startPostgres } from '../test/harness/postgres.ts'
import { load, orderOf } from './load-process.ts'
import { checkOut } from './other-commit.ts'
import { moveToCore, pinningText } from './pinning.ts'
import { treeUsage } from './process-tree.ts'
import { busyRooms } from './rooms.ts'
import { figure, loadName, markdown, rowsOf, type Row, type Sample } from './report.ts'
import { startPeers } from './peers.ts'
import { SCENARIOS, type Scenario, type ServerName } from './scenarios.ts'
import { startBare, startNginx, startUpstream, type Server } from './servers.ts'
import { startTollgate } from './tollgate.ts'

/** The last settles and log lines of a round are written after its last answer. */
const TRAILING_MS = 500
/** A server is warm when two loads in a row differ by at most this share, or after `--warmup` loads. */
const STEADY_SHARE = 0.05
const WARMUPS_MAX = 3
/** Each commit is on the disk; checkpoints are as rare as with the larger segments of a real installation. */
const POSTGRES_SETTINGS = ['max_wal_size=1GB', 'wal_init_zero=off']
const OWN = join(import.meta.dirname, '..')

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    warmup: { type: 'string', default: '12' },
    only: { type: 'string', default: '' },
    servers: { type: 'string', default: '' },
    peers: { type: 'boolean', default: false },
    compare: { type: 'string', default: '' },
    json: { type: 'string', default: '' },
    profile: { type: 'string', default: '' },
  },
})
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)
const warmup = Number(values.warmup)
const wanted = values.servers === '' ? null : new Set(['nginx', ...values.servers.split(',')])
const isWanted = (name: ServerName): boolean => (name === 'peers' ? values.peers : wanted?.has(name) !== false)
const scenarios = SCENARIOS.filter((scenario) => loadName(scenario).includes(values.only))
const needed = new Set(scenarios.flatMap(({ servers }) => servers).filter(isWanted))
if (!Number.isInteger(rounds) || rounds < 1 || !(seconds > 0) || !(warmup > 0) || scenarios.length === 0) {
  process.stderr.write(
    `usage: npm run bench -- [--rounds N] [--seconds N] [--warmup N] [--only TEXT] [--servers LIST] [--peers] [--compare COMMIT] [--json FILE] [--profile DIRECTORY]
TEXT is part of: ${SCENARIOS.map(loadName).join(' · ')}
LIST is some of raw,http,embedded,postgres,workers; nginx is always there.
--peers measures TensorZero, Portkey and LiteLLM too, which it installs into a cache.
COMMIT is built and measured beside this one. FILE gets the table as JSON.
DIRECTORY gets a CPU profile of Tollgate, whose figures are then too high, and the table ends with its rooms.\n`,
  )
  process.exit(2)
}

function usage({ pids }: Server): { readonly cpuMicros: number; readonly residentBytes: number } {
  const all = pids.map(treeUsage)
  return {
    cpuMicros: all.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0),
    residentBytes: all.reduce((sum, { residentBytes }) => sum + residentBytes, 0),
  }
}

async function measure(server: Server, scenario: Scenario, forSeconds: number): Promise<Sample> {
  const keys = await server.keys(scenario.accounts)
  const before = usage(server)
  const result = await load(orderOf(server, scenario, keys, forSeconds))
  await delay(TRAILING_MS)
  const after = usage(server)
  // A server that fails fast would look fast.
  if (result.wrong > 0)
    throw new Error(
      `${server.name}, ${scenario.name}: ${result.wrong} of ${result.requests} answers were wrong, the first: ${result.firstWrong}\n${server.complaints()}`,
    )
  return {
    ...result,
    cpuMicrosPerRequest: (after.cpuMicros - before.cpuMicros) / result.requests,
    residentBytes: after.residentBytes,
  }
}

function tell(round: string, scenario: Scenario, server: Server, sample: Sample): void {
  process.stderr.write(
    `${round} · ${loadName(scenario)} · ${server.name}: ${figure(sample.cpuMicrosPerRequest)} CPU-µs a request, ${sample.requests} requests, p50 ${figure(sample.p50Ms)} ms, p99 ${figure(sample.p99Ms)} ms\n`,
  )
}

/** Warms a server up: one that has run for days is compiled, and the compiler needs tens of thousands of requests. */
async function warm(server: Server, scenario: Scenario): Promise<void> {
  let before = Number.POSITIVE_INFINITY
  for (let turn = 0; turn < WARMUPS_MAX; turn += 1) {
    const sample = await measure(server, scenario, turn === 0 ? warmup : seconds)
    tell('warm-up', scenario, server, sample)
    const cost = sample.cpuMicrosPerRequest
    if (Math.abs(before - cost) <= STEADY_SHARE * cost) return
    before = cost
  }
}

/** Servers take turns within each round, so that a slow minute of the machine affects all alike. */
async function measureScenario(scenario: Scenario, all: readonly Server[]): Promise<readonly Row[]> {
  const servers: Server[] = []
  for (const server of all) {
    try {
      await warm(server, scenario)
      servers.push(server)
    } catch (thrown) {
      if (server.isOther !== true) throw thrown
      process.stderr.write(`left out: ${String(thrown).slice(0, 300)}\n`)
    }
  }
  const samples = new Map(servers.map((server) => [server.name, [] as Sample[]]))
  for (let round = 1; round <= rounds; round += 1) {
    for (const server of round % 2 === 0 ? servers : servers.toReversed()) {
      const sample = await measure(server, scenario, seconds)
      samples.get(server.name)?.push(sample)
      tell(`round ${round}`, scenario, server, sample)
    }
  }
  return rowsOf(scenario, samples)
}

const cleanUps: (() => Promise<void> | void)[] = []

function keep(server: Server): Server {
  cleanUps.push(() => server.stop())
  return server
}

/** Every server that a load needs, by name; without PostgreSQL if it is not installed. */
async function startAll(upstream: Server): Promise<ReadonlyMap<ServerName, readonly Server[]>> {
  const all = new Map<ServerName, readonly Server[]>([['nginx', [keep(await startNginx(upstream))]]])
  for (const kind of ['raw', 'http'] as const)
    if (needed.has(kind)) all.set(kind, [keep(await startBare(kind, upstream))])
  if (needed.has('peers')) all.set('peers', (await startPeers(upstream)).map(keep))
  if (needed.has('embedded')) all.set('embedded', await startEmbedded(upstream))
  for (const [name, workers] of [
    ['postgres', 1],
    ['workers', 2],
  ] as const)
    if (needed.has(name)) all.set(name, await startWithPostgres(upstream, workers))
  return all
}

/** This program, preceded by the other commit's if there is one. */
function programs(): readonly { readonly label: string; readonly root: string }[] {
  const own = { label: 'Tollgate', root: OWN }
  return other === null ? [own] : [{ label: `Tollgate ${other.hash}`, root: other.root }, own]
}

/** Workers inherit the options. */
const profiled = values.profile === '' ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(values.profile)}`]

function nodeOptionsOf(root: string): readonly string[] {
  return root === OWN ? profiled : []
}

async function startEmbedded(upstream: Server): Promise<readonly Server[]> {
  const started: Server[] = []
  for (const { label, root } of programs())
    started.push(keep(await startTollgate(upstream, { name: label, root, nodeOptions: nodeOptionsOf(root) })))
  return started
}

async function startWithPostgres(upstream: Server, workers: number): Promise<readonly Server[]> {
  const started: Server[] = []
  for (const { label, root } of programs()) {
    const postgres = await startPostgres(undefined, POSTGRES_SETTINGS)
    if (postgres === null) return []
    cleanUps.push(() => postgres.stop())
    const pid = postgres.pid()
    moveToCore(workers === 1 ? 'measured' : 'any', pid)
    const name = `${label}, PostgreSQL, ${workers} ${workers === 1 ? 'worker' : 'workers'}`
    const nodeOptions = nodeOptionsOf(root)
    const shared = { url: postgres.url, pid, workers }
    started.push(keep(await startTollgate(upstream, { name, root, nodeOptions, postgres: shared })))
  }
  return started
}

const other = values.compare === '' ? null : checkOut(values.compare)
if (other !== null) cleanUps.push(() => other.remove())
try {
  const upstream = keep(await startUpstream())
  const servers = await startAll(upstream)
  const rows: Row[] = []
  for (const scenario of scenarios) {
    const names = scenario.servers.filter((name) => needed.has(name))
    rows.push(
      ...(await measureScenario(
        scenario,
        names.flatMap((name) => servers.get(name) ?? []),
      )),
    )
  }
  const [cpu] = cpus()
  const machine = `${cpus().length} × ${cpu?.model.trim() ?? 'unknown CPU'}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, Node ${process.versions.node}; median of ${rounds} interleaved rounds of ${seconds} s; ${pinningText()}`
  process.stdout.write(`${machine}\n\n${markdown(rows)}\n`)
  if (values.json !== '') writeFileSync(values.json, `${JSON.stringify({ machine, rows }, null, 2)}\n`)
} finally {
  for (const cleanUp of cleanUps.toReversed()) await cleanUp()
}
if (values.profile !== '')
  for (const [room, share] of busyRooms(values.profile))
    process.stdout.write(`${(100 * share).toFixed(1).padStart(5)} % ${room}\n`)
