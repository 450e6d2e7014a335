import { spawn } from 'node:child_process'
import { cpus, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { LoadOrder, LoadResult } from './load.ts'
import { treeUsage } from './process-tree.ts'
import { startNginx, startTollgate, startUpstream, type Server } from './servers.ts'

const CHUNKS = 100
/** The last settles and log lines of a round are written after its last answer. */
const TRAILING_MS = 500

interface Scenario {
  readonly name: string
  readonly model: 'plain' | 'burst' | 'paced' | 'translated' | 'vectors' | 'voice'
  readonly promptChars: number
  readonly clients: number
  /** Requests, or chunks, that one answer counts as. */
  readonly parts: number
}

interface Sample extends LoadResult {
  readonly cpuMicrosPerRequest: number
  readonly residentBytes: number
}

const SCENARIOS: readonly Scenario[] = [
  { name: 'chat, 1 kB answer', model: 'plain', promptChars: 200, clients: 32, parts: 1 },
  { name: 'chat, 1 kB answer', model: 'plain', promptChars: 200, clients: 1, parts: 1 },
  { name: 'chat, 100 kB prompt', model: 'plain', promptChars: 100_000, clients: 32, parts: 1 },
  { name: 'stream of 100 chunks, at once', model: 'burst', promptChars: 200, clients: 32, parts: CHUNKS },
  // nginx passes on the OpenAI stream; Tollgate makes it of Anthropic's events.
  {
    name: 'stream of 100 chunks, at once, translated',
    model: 'translated',
    promptChars: 200,
    clients: 32,
    parts: CHUNKS,
  },
  { name: 'stream of 100 chunks, over a second', model: 'paced', promptChars: 200, clients: 100, parts: CHUNKS },
  { name: 'speech of 400 kB in 100 chunks', model: 'voice', promptChars: 300, clients: 32, parts: CHUNKS },
  // 140 kB in, 16.8 MB out.
  { name: 'embeddings of 2,048 inputs', model: 'vectors', promptChars: 60, clients: 4, parts: 1 },
]

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    warmup: { type: 'string', default: '12' },
    only: { type: 'string', default: '' },
    profile: { type: 'string', default: '' },
  },
})
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)
const warmup = Number(values.warmup)
const scenarios = SCENARIOS.filter(({ name }) => name.includes(values.only))
if (!Number.isInteger(rounds) || rounds < 1 || !(seconds > 0) || !(warmup > 0) || scenarios.length === 0) {
  process.stderr.write(
    `usage: npm run bench -- [--rounds N] [--seconds N] [--warmup N] [--only TEXT] [--profile DIRECTORY]: TEXT is part of ${SCENARIOS.map(({ name }) => name).join(' · ')}; DIRECTORY gets a CPU profile of Tollgate, whose figures are then too high\n`,
  )
  process.exit(2)
}

async function load(order: LoadOrder): Promise<LoadResult> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'load.ts'), JSON.stringify(order)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  const closed = Promise.withResolvers<number | null>()
  child.once('close', closed.resolve)
  const code = await closed.promise
  if (code !== 0) throw new Error(`The load generator ended with ${code}.`)
  // Written by bench/load.ts.
  return JSON.parse(text) as LoadResult
}

function asks(model: Scenario['model']): LoadOrder['ask'] {
  if (model === 'voice') return 'speech'
  if (model === 'vectors') return 'embeddings'
  return model === 'plain' ? 'chat' : 'stream'
}

async function measure(server: Server, scenario: Scenario, forSeconds: number): Promise<Sample> {
  const before = treeUsage(server.pid)
  const { model, promptChars, clients } = scenario
  const result = await load({
    origin: server.origin,
    model: server.model(model),
    ask: asks(model),
    promptChars,
    clients,
    seconds: forSeconds,
    keys: server.keys,
  })
  await delay(TRAILING_MS)
  const after = treeUsage(server.pid)
  // A server that fails quickly would look fast.
  if (result.wrong > 0)
    throw new Error(
      `${server.name}, ${scenario.name}: ${result.wrong} of ${result.requests} answers were wrong, the first: ${result.firstWrong}`,
    )
  return {
    ...result,
    cpuMicrosPerRequest: (after.cpuMicros - before.cpuMicros) / result.requests,
    residentBytes: after.residentBytes,
  }
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((left, right) => left - right)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2
}

function figure(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

/** Servers take turns within each round, so that a noisy minute of the machine touches both alike. */
async function measureAll(
  servers: readonly Server[],
): Promise<ReadonlyMap<Scenario, ReadonlyMap<Server, readonly Sample[]>>> {
  const samples = new Map(
    scenarios.map((scenario) => [scenario, new Map(servers.map((server) => [server, [] as Sample[]]))]),
  )
  for (let round = 0; round <= rounds; round += 1) {
    for (const scenario of scenarios) {
      const turn = round % 2 === 0 ? servers : servers.toReversed()
      for (const server of turn) {
        // Round 0 warms up: a server that runs for days is compiled, and the compiler takes tens of thousands of
        // requests.
        const sample = await measure(server, scenario, round === 0 ? warmup : seconds)
        if (round > 0) samples.get(scenario)?.get(server)?.push(sample)
        process.stderr.write(
          `round ${round} · ${scenario.name} · ${server.name}: ${figure(sample.cpuMicrosPerRequest)} CPU-µs a request, ${sample.requests} requests, p50 ${figure(sample.p50Ms)} ms, p99 ${figure(sample.p99Ms)} ms\n`,
        )
      }
    }
  }
  return samples
}

function table(samples: ReadonlyMap<Scenario, ReadonlyMap<Server, readonly Sample[]>>): string {
  const lines = [
    '| Load | Server | CPU-µs a request | range | CPU-µs a chunk | × nginx | requests/s | p50 ms | p99 ms | memory MB |',
    '|---|---|---|---|---|---|---|---|---|---|',
  ]
  for (const [scenario, byServer] of samples) {
    let floor: number | null = null
    for (const [server, list] of byServer) {
      const costs = list.map(({ cpuMicrosPerRequest }) => cpuMicrosPerRequest)
      const cost = median(costs)
      floor ??= cost
      const perChunk = scenario.parts === 1 ? '' : figure(cost / scenario.parts)
      const rate = median(list.map(({ requests, elapsedMs }) => (requests * 1_000) / elapsedMs))
      const cells = [
        `${scenario.name}, ${scenario.clients} ${scenario.clients === 1 ? 'client' : 'clients'}`,
        server.name,
        figure(cost),
        `${figure(Math.min(...costs))}–${figure(Math.max(...costs))}`,
        perChunk,
        figure(cost / floor),
        rate.toFixed(0),
        figure(median(list.map(({ p50Ms }) => p50Ms))),
        figure(median(list.map(({ p99Ms }) => p99Ms))),
        (Math.max(...list.map(({ residentBytes }) => residentBytes)) / 2 ** 20).toFixed(0),
      ]
      lines.push(`| ${cells.join(' | ')} |`)
    }
  }
  return lines.join('\n')
}

const started: Server[] = []
try {
  const upstream = await startUpstream()
  started.push(upstream)
  const nginx = await startNginx(upstream)
  started.push(nginx)
  const tollgate = await startTollgate(
    upstream,
    Math.max(...scenarios.map(({ clients }) => clients)),
    values.profile === '' ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(values.profile)}`],
  )
  started.push(tollgate)
  const samples = await measureAll([nginx, tollgate])
  const [cpu] = cpus()
  process.stdout.write(
    `${cpus().length} × ${cpu?.model.trim() ?? 'unknown CPU'}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, Node ${process.versions.node}; median of ${rounds} interleaved rounds of ${seconds} s\n\n${table(samples)}\n`,
  )
} finally {
  for (const server of started.toReversed()) await server.stop()
}
