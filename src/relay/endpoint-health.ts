import type { Clock } from '../lib/clock.ts'

const UNHEALTHY_MS = 30_000
const WINDOW_MS = 30 * 60_000
const DAY_MS = 24 * 3_600_000
const SAMPLES_MAX = 2_048

interface Sample {
  readonly atMs: number
  readonly ok: boolean
  readonly ttftMs: number | null
  readonly tokensPerSecond: number | null
}

export interface Percentiles {
  readonly p50: number
  readonly p75: number
  readonly p90: number
  readonly p99: number
}

/** Measured state of one endpoint; null where nothing is known. */
export interface HealthReport {
  readonly unhealthy: boolean
  readonly uptime5m: number | null
  readonly uptime30m: number | null
  readonly uptime1d: number | null
  readonly latency30m: Percentiles | null
  readonly throughput30m: Percentiles | null
}

/** Per-node health of every endpoint, fed by attempts; read by the plan and by the endpoint lists. */
export class EndpointHealthBook {
  readonly #clock: Clock
  readonly #samples = new Map<string, Sample[]>()
  /** Latest failed attempt, cleared by a success. */
  readonly #failedAtMs = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  succeeded(endpointId: string, ttftMs: number | null, tokensPerSecond: number | null): void {
    this.#failedAtMs.delete(endpointId)
    this.#add(endpointId, { atMs: this.#clock.monotonic(), ok: true, ttftMs, tokensPerSecond })
  }

  failed(endpointId: string): void {
    const atMs = this.#clock.monotonic()
    this.#failedAtMs.set(endpointId, atMs)
    this.#add(endpointId, { atMs, ok: false, ttftMs: null, tokensPerSecond: null })
  }

  unhealthy(endpointId: string): boolean {
    const failedAtMs = this.#failedAtMs.get(endpointId)
    return failedAtMs !== undefined && this.#clock.monotonic() - failedAtMs < UNHEALTHY_MS
  }

  /** p50 output tokens per second over 30 minutes. */
  throughput(endpointId: string): number | null {
    return this.report(endpointId).throughput30m?.p50 ?? null
  }

  /** p50 time to the first token over 30 minutes, ms. */
  latency(endpointId: string): number | null {
    return this.report(endpointId).latency30m?.p50 ?? null
  }

  report(endpointId: string): HealthReport {
    const now = this.#clock.monotonic()
    const samples = this.#samples.get(endpointId) ?? []
    const recent = samples.filter((sample) => now - sample.atMs <= WINDOW_MS)
    return {
      unhealthy: this.unhealthy(endpointId),
      uptime5m: uptime(samples.filter((sample) => now - sample.atMs <= 300_000)),
      uptime30m: uptime(recent),
      uptime1d: uptime(samples.filter((sample) => now - sample.atMs <= DAY_MS)),
      latency30m: percentiles(recent.flatMap(({ ttftMs }) => (ttftMs === null ? [] : [ttftMs])), 'ascending'),
      throughput30m: percentiles(recent.flatMap(({ tokensPerSecond }) => (tokensPerSecond === null ? [] : [tokensPerSecond])), 'descending'),
    }
  }

  #add(endpointId: string, sample: Sample): void {
    let samples = this.#samples.get(endpointId)
    if (samples === undefined) {
      samples = []
      this.#samples.set(endpointId, samples)
    }
    samples.push(sample)
    // Halving now and then costs less than a shift on every request.
    if (samples.length > SAMPLES_MAX) samples.splice(0, SAMPLES_MAX / 2)
  }
}

function uptime(samples: readonly Sample[]): number | null {
  if (samples.length === 0) return null
  return Math.round((samples.filter(({ ok }) => ok).length / samples.length) * 1_000) / 10
}

function percentiles(values: readonly number[], direction: 'ascending' | 'descending'): Percentiles | null {
  if (values.length === 0) return null
  const sorted = values.toSorted((left, right) => (direction === 'ascending' ? left - right : right - left))
  const at = (share: number): number => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0)
  return { p50: at(0.5), p75: at(0.75), p90: at(0.9), p99: at(0.99) }
}
