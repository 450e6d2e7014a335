import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { percentile } from '../test/harness/figures.ts'
import { load, orderOf } from './load-process.ts'
import type { LoadResult } from './load.ts'
import { pinningText } from './pinning.ts'
import { scenarioOf } from './scenarios.ts'
import { startUpstream, type Server } from './servers.ts'
import { startTollgate } from './tollgate.ts'

/**
 * `npm run bench:overload`: a node at its peak rate, then at a multiple of it, which is sent whether answers come or
 * not (reliability.md R12).
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '20' },
    times: { type: 'string', default: '2' },
  },
})
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)
const times = Number(values.times)
if (!Number.isInteger(rounds) || rounds < 1 || !(seconds >= 1 && seconds <= 600) || !(times > 0 && times <= 10)) {
  process.stderr.write('usage: npm run bench:overload -- [--rounds N] [--seconds N] [--times N]\n')
  process.exit(2)
}

/** Processes of clients. There are several so that their own delays are not measured as the node's. */
const PROCESSES = 2
const PEAK_CLIENTS = 100
/** The most connections; at most eight times those of the peak. */
const OUTSTANDING_MAX = 800
const ACCOUNTS = 32

const HEADER = `| Load | served/s | of the peak | refused/s | not sent/s | p50 ms of those served | p99 ms | cores of the clients |
|---|---|---|---|---|---|---|---|`

interface Figures {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly refused: number
  readonly unsent: number
  /** The number of CPU cores that all clients used. */
  readonly clientCores: number
}

const upstream = await startUpstream()
try {
  const root = join(import.meta.dirname, '..')
  // One address may not open so many sockets unless it is a trusted proxy.
  const env = { TRUSTED_PROXIES: '127.0.0.1' }
  const server = await startTollgate(upstream, { name: 'Tollgate', root, env })
  try {
    const keys = await server.keys(ACCOUNTS)
    await measured(server, keys, PEAK_CLIENTS, null)
    const lines: string[] = []
    const ratios: number[] = []
    for (let round = 1; round <= rounds; round += 1) {
      const peak = await measured(server, keys, PEAK_CLIENTS, null)
      const over = await measured(server, keys, OUTSTANDING_MAX, times * peak.perSecond)
      ratios.push(over.p99Ms / peak.p99Ms)
      lines.push(
        line(`${round}: peak, ${PEAK_CLIENTS} clients`, peak, peak),
        line(`${round}: ${times} × the peak`, over, peak),
      )
      process.stderr.write(`${lines.slice(-2).join('\n')}\n`)
    }
    process.stdout.write(
      `${pinningText()}; ${PROCESSES} processes of clients\n\n${HEADER}\n${lines.join('\n')}\n\np99 of those served, median of the rounds: ${percentile(ratios, 0.5).toFixed(1)} × the peak's\n`,
    )
  } finally {
    await server.stop()
  }
} finally {
  await upstream.stop()
}

async function measured(
  server: Server,
  keys: readonly string[],
  clients: number,
  perSecond: number | null,
): Promise<Figures> {
  const order = {
    ...orderOf(server, scenarioOf('chat, 1 kB answer'), keys, seconds),
    clients: clients / PROCESSES,
    mayRefuse: true,
    ...(perSecond === null ? {} : { perSecond: perSecond / PROCESSES }),
  }
  const startedMs = performance.now()
  const results = await Promise.all(Array.from({ length: PROCESSES }, () => load(order)))
  const elapsedMs = performance.now() - startedMs
  const wrong = results.find(({ firstWrong }) => firstWrong !== null)
  if (wrong !== undefined) throw new Error(`An answer was wrong: ${wrong.firstWrong}\n${server.complaints()}`)
  const sum = (of: (result: LoadResult) => number): number => results.reduce((total, one) => total + of(one), 0)
  const most = (of: (result: LoadResult) => number): number => Math.max(...results.map(of))
  return {
    perSecond: sum(({ requests }) => requests) / seconds,
    p50Ms: most(({ p50Ms }) => p50Ms),
    p99Ms: most(({ p99Ms }) => p99Ms),
    refused: sum(({ refused }) => refused) / seconds,
    unsent: sum(({ unsent }) => unsent) / seconds,
    clientCores: sum(({ cpuMicros }) => cpuMicros) / 1_000 / elapsedMs,
  }
}

function line(what: string, figures: Figures, peak: Figures): string {
  const { perSecond, p50Ms, p99Ms, refused, unsent, clientCores } = figures
  const goodput = `${((100 * perSecond) / peak.perSecond).toFixed(0)} %`
  const cells = [
    perSecond.toFixed(0),
    goodput,
    refused.toFixed(0),
    unsent.toFixed(0),
    p50Ms.toFixed(0),
    p99Ms.toFixed(0),
  ]
  return `| ${[what, ...cells, clientCores.toFixed(2)].join(' | ')} |`
}
