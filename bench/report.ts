import { percentile } from '../test/harness/figures.ts'
import type { LoadResult } from './load.ts'
import type { Scenario } from './scenarios.ts'

const median = (numbers: readonly number[]): number => percentile(numbers, 0.5)

export interface Sample extends LoadResult {
  readonly cpuMicrosPerRequest: number
  readonly residentBytes: number
}

/** The result of one server under one load. */
export interface Row {
  readonly load: string
  readonly server: string
  readonly cpuMicros: number
  readonly cpuMicrosLeast: number
  readonly cpuMicrosMost: number
  /** null for answers that are not streamed. */
  readonly cpuMicrosPerChunk: number | null
  /** The median of the ratios within each round. */
  readonly timesNginx: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly memoryBytes: number
}

/** The first of the servers is nginx, and the others are compared with it. */
export function rowsOf(scenario: Scenario, byServer: ReadonlyMap<string, readonly Sample[]>): readonly Row[] {
  const [floor = []] = byServer.values()
  return [...byServer].map(([server, samples]) => {
    const costs = samples.map(({ cpuMicrosPerRequest }) => cpuMicrosPerRequest)
    const cost = median(costs)
    return {
      load: loadName(scenario),
      server,
      cpuMicros: cost,
      cpuMicrosLeast: Math.min(...costs),
      cpuMicrosMost: Math.max(...costs),
      cpuMicrosPerChunk: scenario.parts === 1 ? null : cost / scenario.parts,
      timesNginx: median(costs.map((each, round) => each / (floor[round]?.cpuMicrosPerRequest ?? Number.NaN))),
      requestsPerSecond: median(samples.map(({ requests, elapsedMs }) => (requests * 1_000) / elapsedMs)),
      p50Ms: median(samples.map(({ p50Ms }) => p50Ms)),
      p99Ms: median(samples.map(({ p99Ms }) => p99Ms)),
      memoryBytes: Math.max(...samples.map(({ residentBytes }) => residentBytes)),
    }
  })
}

export function loadName({ name, clients }: Scenario): string {
  return `${name}, ${clients} ${clients === 1 ? 'client' : 'clients'}`
}

export function markdown(rows: readonly Row[]): string {
  const lines = rows.map((row) => [
    row.load,
    row.server,
    figure(row.cpuMicros),
    `${figure(row.cpuMicrosLeast)}–${figure(row.cpuMicrosMost)}`,
    row.cpuMicrosPerChunk === null ? '' : figure(row.cpuMicrosPerChunk),
    figure(row.timesNginx),
    row.requestsPerSecond.toFixed(0),
    figure(row.p50Ms),
    figure(row.p99Ms),
    (row.memoryBytes / 2 ** 20).toFixed(0),
  ])
  return [
    '| Load | Server | CPU-µs a request | range | CPU-µs a chunk | × nginx | requests/s | p50 ms | p99 ms | memory MB |',
    '|---|---|---|---|---|---|---|---|---|---|',
    ...lines.map((cells) => `| ${cells.join(' | ')} |`),
  ].join('\n')
}

export function figure(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}
