import type { Clock } from '../lib/clock.ts'

const UNHEALTHY_MS = 30_000
const WINDOW_MS = 30 * 60_000
const DAY_MS = 24 * 3_600_000
const SAMPLES_MAX = 2_048
/** When an endpoint is ejected (reliability.md 5), and for how long at least and at most. */
const CONSECUTIVE_MAX = 5
const RATE_WINDOW_MS = 30_000
const RATE_SAMPLES_MIN = 20
const RATE_MAX = 0.5
const EJECTION_MS = 30_000
const EJECTION_MS_MAX = 300_000
/** Sorting reads the medians on every request; they move slowly. */
const REPORT_KEPT_MS = 1_000

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
  /** Moved last or ejected. */
  readonly unhealthy: boolean
  readonly uptime5m: number | null
  readonly uptime30m: number | null
  readonly uptime1d: number | null
  readonly latency30m: Percentiles | null
  readonly throughput30m: Percentiles | null
}

interface State {
  readonly samples: Sample[]
  /** Latest failed attempt; null after a success. */
  failedAtMs: number | null
  consecutive: number
  /** In a row; each makes the next one longer. */
  ejections: number
  /** null = in service. Past, it is half open: one request at a time may try it. */
  ejectedUntilMs: number | null
  probing: boolean
  kept: { readonly atMs: number; readonly report: HealthReport } | null
}

/** Per-node health of every endpoint, fed by attempts; read by the plan and by the endpoint lists. */
export class EndpointHealthBook {
  readonly #clock: Clock
  readonly #states = new Map<string, State>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Asks for the right to try the endpoint now: `probe` for the one request that finds out whether it is back, `no` while it does or before. */
  begin(endpointId: string): 'yes' | 'probe' | 'no' {
    const state = this.#states.get(endpointId)
    if (state === undefined || state.ejectedUntilMs === null) return 'yes'
    if (this.#isEjected(state)) return 'no'
    state.probing = true
    return 'probe'
  }

  /** A probe ended without a verdict on the endpoint. */
  released(endpointId: string): void {
    const state = this.#states.get(endpointId)
    if (state !== undefined) state.probing = false
  }

  succeeded(endpointId: string, ttftMs: number | null, tokensPerSecond: number | null): void {
    const state = this.#state(endpointId)
    state.failedAtMs = null
    state.consecutive = 0
    state.ejections = 0
    state.ejectedUntilMs = null
    state.probing = false
    this.#add(state, { atMs: this.#clock.monotonic(), ok: true, ttftMs, tokensPerSecond })
  }

  failed(endpointId: string): void {
    const atMs = this.#clock.monotonic()
    const state = this.#state(endpointId)
    const wasProbe = state.probing
    state.failedAtMs = atMs
    state.consecutive += 1
    state.probing = false
    this.#add(state, { atMs, ok: false, ttftMs: null, tokensPerSecond: null })
    const inService = state.ejectedUntilMs === null
    if (wasProbe || (inService && (state.consecutive >= CONSECUTIVE_MAX || failsMostly(state.samples, atMs)))) this.#eject(state, atMs)
  }

  /** Not a candidate now, unless nothing else is left. */
  ejected(endpointId: string): boolean {
    const state = this.#states.get(endpointId)
    return state !== undefined && this.#isEjected(state)
  }

  /** Its latest attempt failed less than 30 s ago: moved last. */
  unhealthy(endpointId: string): boolean {
    const state = this.#states.get(endpointId)
    return state !== undefined && state.failedAtMs !== null && this.#clock.monotonic() - state.failedAtMs < UNHEALTHY_MS
  }

  /** p50 output tokens per second over 30 minutes. */
  throughput(endpointId: string): number | null {
    return this.#keptReport(endpointId)?.throughput30m?.p50 ?? null
  }

  /** p50 time to the first token over 30 minutes, ms. */
  latency(endpointId: string): number | null {
    return this.#keptReport(endpointId)?.latency30m?.p50 ?? null
  }

  report(endpointId: string): HealthReport {
    const now = this.#clock.monotonic()
    const samples = this.#states.get(endpointId)?.samples ?? []
    const recent = since(samples, now - WINDOW_MS)
    return {
      unhealthy: this.unhealthy(endpointId) || this.ejected(endpointId),
      uptime5m: uptime(since(samples, now - 300_000)),
      uptime30m: uptime(recent),
      uptime1d: uptime(since(samples, now - DAY_MS)),
      latency30m: percentiles(recent.flatMap(({ ttftMs }) => (ttftMs === null ? [] : [ttftMs])), 'ascending'),
      throughput30m: percentiles(recent.flatMap(({ tokensPerSecond }) => (tokensPerSecond === null ? [] : [tokensPerSecond])), 'descending'),
    }
  }

  #isEjected(state: State): boolean {
    return state.ejectedUntilMs !== null && (state.probing || this.#clock.monotonic() < state.ejectedUntilMs)
  }

  #eject(state: State, atMs: number): void {
    state.ejections += 1
    state.ejectedUntilMs = atMs + Math.min(EJECTION_MS_MAX, EJECTION_MS * state.ejections)
  }

  #keptReport(endpointId: string): HealthReport | null {
    const state = this.#states.get(endpointId)
    if (state === undefined) return null
    const now = this.#clock.monotonic()
    if (state.kept === null || now - state.kept.atMs > REPORT_KEPT_MS) state.kept = { atMs: now, report: this.report(endpointId) }
    return state.kept.report
  }

  #state(endpointId: string): State {
    let state = this.#states.get(endpointId)
    if (state === undefined) {
      state = { samples: [], failedAtMs: null, consecutive: 0, ejections: 0, ejectedUntilMs: null, probing: false, kept: null }
      this.#states.set(endpointId, state)
    }
    return state
  }

  #add({ samples }: State, sample: Sample): void {
    samples.push(sample)
    // Halving now and then costs less than a shift on every request.
    if (samples.length > SAMPLES_MAX) samples.splice(0, SAMPLES_MAX / 2)
  }
}

/** Samples come in the order of time. */
function since(samples: readonly Sample[], atMs: number): readonly Sample[] {
  const first = samples.findIndex((sample) => sample.atMs >= atMs)
  return first === -1 ? [] : samples.slice(first)
}

function failsMostly(samples: readonly Sample[], atMs: number): boolean {
  let [all, bad] = [0, 0]
  for (let index = samples.length - 1; index >= 0; index -= 1) {
    const sample = samples[index]
    if (sample === undefined || sample.atMs < atMs - RATE_WINDOW_MS) break
    all += 1
    if (!sample.ok) bad += 1
  }
  return all >= RATE_SAMPLES_MIN && bad / all > RATE_MAX
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
