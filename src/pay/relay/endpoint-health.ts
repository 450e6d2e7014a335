import type { Clock } from '../../base/clock.ts'
import { DAY_MS } from '../../base/time.ts'

const MINUTES = 24 * 60

const UNHEALTHY_MS = 30_000
const WINDOW_MINUTES = 30
const DAY_MINUTES = 24 * 60
/** The most parameters of an endpoint whose refusals are counted: more than any request has. */
const REFUSED_MAX = 64
/** The number of answers whose measurements are stored: the latest represent half an hour well enough. */
const SAMPLES_MAX = 2_048
/** How long a report is reused. Sorting reads the medians on every request, and they change slowly. */
const REPORT_KEPT_MS = 1_000

interface AnswerSample {
  readonly atMs: number
  readonly ttftMs: number | null
  readonly tokensPerSecond: number | null
}

export interface Percentiles {
  readonly p50: number
  readonly p75: number
  readonly p90: number
  readonly p99: number
}

/** Measured state of one endpoint; null = nothing is known. */
export interface HealthReport {
  /** It is tried last: it is ejected, or its provider asked for a pause. */
  readonly unhealthy: boolean
  readonly uptime5m: number | null
  readonly uptime30m: number | null
  readonly uptime1d: number | null
  readonly latency30m: Percentiles | null
  readonly throughput30m: Percentiles | null
  /** How often it refused requests today because of each of their parameters, the most frequent first. */
  readonly refused: readonly (RefusedCount & { readonly parameter: string })[]
}

interface RefusedCount {
  readonly requests: number
  /** The provider's words in the newest refusal; null = it said nothing. */
  readonly said: string | null
}

type Measures = Omit<HealthReport, 'unhealthy' | 'refused'>

interface State {
  readonly samples: AnswerSample[]
  readonly uptime: Uptime
  readonly ejection: Ejection
  /** The time of the latest failed attempt; null after a success. */
  failedAtMs: number | null
  /** The end of the pause that the provider asked for by `Retry-After`. */
  pausedUntilMs: number
  kept: { readonly atMs: number; readonly measures: Measures } | null
  /** Refusals by parameter, of the UTC day that began at `dayMs`. */
  readonly refused: { dayMs: number; readonly counts: Map<string, RefusedCount> }
}

const UNKNOWN: Measures = Object.freeze({
  uptime5m: null,
  uptime30m: null,
  uptime1d: null,
  latency30m: null,
  throughput30m: null,
})

/** The health of every endpoint as this node sees it. Attempts report to it; plans and lists of endpoints read it. */
export class EndpointHealthBook {
  readonly #clock: Clock
  readonly #left: (endpointId: string) => void
  readonly #states = new Map<string, State>()

  /** `left` is called with the id of an endpoint that was taken out of service. */
  constructor(clock: Clock, left: (endpointId: string) => void = () => undefined) {
    this.#clock = clock
    this.#left = left
  }

  /** An attempt begins. Exactly one of `succeeded`, `failed` and `released` must report its end. */
  begin(endpointId: string): Trial {
    return this.#state(endpointId).ejection.begin(endpointId, this.#clock.monotonic())
  }

  /** The attempt ended without saying anything about the endpoint. */
  released(trial: Trial): void {
    this.#state(trial.endpointId).ejection.released(trial)
  }

  succeeded(trial: Trial, ttftMs: number | null, tokensPerSecond: number | null): void {
    const atMs = this.#clock.monotonic()
    const state = this.#state(trial.endpointId)
    state.failedAtMs = null
    state.ejection.succeeded(trial, atMs)
    state.uptime.add(true, atMs)
    if (ttftMs === null && tokensPerSecond === null) return
    state.samples.push({ atMs, ttftMs, tokensPerSecond })
    // Halving now and then is cheaper than a shift on every request.
    if (state.samples.length > SAMPLES_MAX) state.samples.splice(0, SAMPLES_MAX / 2)
  }

  /** `isSure`: the endpoint will not answer, whatever is asked, so it is taken out at once. */
  failed(trial: Trial, isSure = false): void {
    const atMs = this.#clock.monotonic()
    const state = this.#state(trial.endpointId)
    state.failedAtMs = atMs
    state.uptime.add(false, atMs)
    if (state.ejection.failed(trial, atMs, isSure)) this.#left(trial.endpointId)
  }

  /**
   * The endpoint refused a request because of these parameters, which does not affect its health. `said`: the
   * provider's words, for the operator only.
   */
  refused(endpointId: string, parameters: readonly string[], said: string | null): void {
    const counts = this.#refusedToday(this.#state(endpointId))
    for (const name of parameters)
      if (counts.has(name) || counts.size < REFUSED_MAX)
        counts.set(name, { requests: (counts.get(name)?.requests ?? 0) + 1, said })
  }

  #refusedToday({ refused }: State): Map<string, RefusedCount> {
    const dayMs = Math.floor(this.#clock.now() / DAY_MS) * DAY_MS
    if (dayMs !== refused.dayMs) refused.counts.clear()
    refused.dayMs = dayMs
    return refused.counts
  }

  /** Prefers other endpoints for this many seconds, if there are any. */
  pause(endpointId: string, seconds: number): void {
    const state = this.#state(endpointId)
    state.pausedUntilMs = Math.max(state.pausedUntilMs, this.#clock.monotonic() + seconds * 1_000)
  }

  /** Whether it is no candidate now, unless nothing else is left. */
  ejected(endpointId: string): boolean {
    const state = this.#states.get(endpointId)
    if (state === undefined) return false
    const now = this.#clock.monotonic()
    return now < state.pausedUntilMs || state.ejection.isOut(now)
  }

  /** Whether its latest attempt failed less than 30 s ago; it is then tried last. */
  unhealthy(endpointId: string): boolean {
    const state = this.#states.get(endpointId)
    return state !== undefined && state.failedAtMs !== null && this.#clock.monotonic() - state.failedAtMs < UNHEALTHY_MS
  }

  /** Median of the output tokens per second over 30 minutes. */
  throughput(endpointId: string): number | null {
    return this.#measures(endpointId).throughput30m?.p50 ?? null
  }

  /** Median time to the first token over 30 minutes, ms. */
  latency(endpointId: string): number | null {
    return this.#measures(endpointId).latency30m?.p50 ?? null
  }

  report(endpointId: string): HealthReport {
    const state = this.#states.get(endpointId)
    const refused = state === undefined ? [] : [...this.#refusedToday(state)]
    return {
      unhealthy: this.unhealthy(endpointId) || this.ejected(endpointId),
      ...this.#measures(endpointId),
      refused: refused
        .map(([parameter, count]) => ({ parameter, ...count }))
        .toSorted((left, right) => right.requests - left.requests),
    }
  }

  #measures(endpointId: string): Measures {
    const state = this.#states.get(endpointId)
    if (state === undefined) return UNKNOWN
    const now = this.#clock.monotonic()
    if (state.kept === null || now - state.kept.atMs > REPORT_KEPT_MS)
      state.kept = { atMs: now, measures: measured(state, now) }
    return state.kept.measures
  }

  #state(endpointId: string): State {
    let state = this.#states.get(endpointId)
    if (state === undefined) {
      state = {
        samples: [],
        uptime: new Uptime(),
        ejection: new Ejection(),
        failedAtMs: null,
        pausedUntilMs: -Infinity,
        kept: null,
        refused: { dayMs: 0, counts: new Map() },
      }
      this.#states.set(endpointId, state)
    }
    return state
  }
}

function measured({ samples, uptime }: State, nowMs: number): Measures {
  const first = samples.findIndex(({ atMs }) => atMs >= nowMs - WINDOW_MINUTES * 60_000)
  const recent = first === -1 ? [] : samples.slice(first)
  return {
    uptime5m: uptime.percent(5, nowMs),
    uptime30m: uptime.percent(WINDOW_MINUTES, nowMs),
    uptime1d: uptime.percent(DAY_MINUTES, nowMs),
    latency30m: percentiles(
      recent.flatMap(({ ttftMs }) => (ttftMs === null ? [] : [ttftMs])),
      'ascending',
    ),
    throughput30m: percentiles(
      recent.flatMap(({ tokensPerSecond }) => (tokensPerSecond === null ? [] : [tokensPerSecond])),
      'descending',
    ),
  }
}

function percentiles(values: readonly number[], direction: 'ascending' | 'descending'): Percentiles | null {
  if (values.length === 0) return null
  const sorted = values.toSorted((left, right) => (direction === 'ascending' ? left - right : right - left))
  const at = (share: number): number =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0)
  return { p50: at(0.5), p75: at(0.75), p90: at(0.9), p99: at(0.99) }
}

/** Attempts of the last day, counted by the minute, so that a busy endpoint needs no more memory than an idle one. */
class Uptime {
  readonly #all = new Uint32Array(MINUTES)
  readonly #good = new Uint32Array(MINUTES)
  /** The latest counted minute, in whole minutes of clock.monotonic(). */
  #minute = 0

  add(ok: boolean, nowMs: number): void {
    const slot = this.#advance(nowMs) % MINUTES
    // Both arrays have MINUTES slots.
    this.#all[slot] = (this.#all[slot] ?? 0) + 1
    if (ok) this.#good[slot] = (this.#good[slot] ?? 0) + 1
  }

  /** The percentage of good attempts in the last `minutes`, with one decimal; null if there were none. */
  percent(minutes: number, nowMs: number): number | null {
    const minute = this.#advance(nowMs)
    let [all, good] = [0, 0]
    for (let back = 0; back < Math.min(minutes, MINUTES) && back <= minute; back += 1) {
      all += this.#all[(minute - back) % MINUTES] ?? 0
      good += this.#good[(minute - back) % MINUTES] ?? 0
    }
    return all === 0 ? null : Math.round((good / all) * 1_000) / 10
  }

  /** Clears the minutes that have begun since the last call. */
  #advance(nowMs: number): number {
    const minute = Math.floor(nowMs / 60_000)
    for (let next = Math.max(this.#minute + 1, minute - MINUTES + 1); next <= minute; next += 1)
      this.#all[next % MINUTES] = this.#good[next % MINUTES] = 0
    this.#minute = Math.max(this.#minute, minute)
    return this.#minute
  }
}

/** The conditions under which an endpoint is ejected (guarantees.md 5), and its shortest and longest time out. */
const CONSECUTIVE_MAX = 5
const WINDOW_SECONDS = 30
const WINDOW_ATTEMPTS_MIN = 20
const EJECTION_MS = 30_000
const EJECTION_MS_MAX = 300_000

/** One attempt at an endpoint. `probe` tests whether the endpoint is back; `forced`: although it is out of service. */
export interface Trial {
  readonly endpointId: string
  /** clock.monotonic(). */
  readonly startedMs: number
  readonly leave: 'normal' | 'probe' | 'forced'
}

interface OutcomeSecond {
  at: number
  all: number
  failed: number
}

/**
 * Takes a failing endpoint out of service, and lets one request at a time test whether it is back. An attempt that
 * began before the last change does not count: with many requests under way, good answers that still arrive would bring
 * back every endpoint that was just ejected.
 */
export class Ejection {
  readonly #seconds: OutcomeSecond[] = Array.from({ length: WINDOW_SECONDS }, () => ({ at: -1, all: 0, failed: 0 }))
  #consecutive = 0
  /**
   * Ejections since the endpoint last stayed in service for the longest time of an ejection; each makes the next one
   * longer.
   */
  #count = 0
  /** null = in service; in the past = half open. */
  #untilMs: number | null = null
  #changedMs = -Infinity
  #probing = false

  isOut(nowMs: number): boolean {
    return this.#untilMs !== null && (this.#probing || nowMs < this.#untilMs)
  }

  begin(endpointId: string, nowMs: number): Trial {
    if (this.#untilMs === null) return { endpointId, startedMs: nowMs, leave: 'normal' }
    if (this.isOut(nowMs)) return { endpointId, startedMs: nowMs, leave: 'forced' }
    this.#probing = true
    return { endpointId, startedMs: nowMs, leave: 'probe' }
  }

  /** The attempt ended without saying anything about the endpoint. */
  released({ leave }: Trial): void {
    if (leave === 'probe') this.#probing = false
  }

  succeeded(trial: Trial, nowMs: number): void {
    this.released(trial)
    if (trial.startedMs < this.#changedMs) return
    if (this.#untilMs !== null) this.#change(nowMs, null)
    this.#consecutive = 0
    this.#second(nowMs).all += 1
  }

  /** Returns whether this took the endpoint out of service. `isSure`: it will not answer, so one failure is enough. */
  failed(trial: Trial, nowMs: number, isSure = false): boolean {
    this.released(trial)
    if (trial.startedMs < this.#changedMs) return false
    if (this.#untilMs !== null) {
      if (trial.leave === 'probe') this.#eject(nowMs)
      return false
    }
    this.#consecutive += 1
    const second = this.#second(nowMs)
    second.all += 1
    second.failed += 1
    if (!isSure && this.#consecutive < CONSECUTIVE_MAX && !this.#failsMostly(nowMs)) return false
    this.#eject(nowMs)
    return true
  }

  #eject(nowMs: number): void {
    if (this.#untilMs === null && nowMs - this.#changedMs >= EJECTION_MS_MAX) this.#count = 0
    this.#count += 1
    this.#change(nowMs, nowMs + Math.min(EJECTION_MS_MAX, EJECTION_MS * this.#count))
  }

  #change(nowMs: number, untilMs: number | null): void {
    this.#untilMs = untilMs
    this.#changedMs = nowMs
    this.#consecutive = 0
    for (const second of this.#seconds) second.at = -1
  }

  #failsMostly(nowMs: number): boolean {
    const oldest = Math.floor(nowMs / 1_000) - WINDOW_SECONDS
    let [all, failed] = [0, 0]
    for (const second of this.#seconds) {
      if (second.at <= oldest) continue
      all += second.all
      failed += second.failed
    }
    return all >= WINDOW_ATTEMPTS_MIN && failed * 2 > all
  }

  #second(nowMs: number): OutcomeSecond {
    const at = Math.floor(nowMs / 1_000)
    // The remainder of a whole number is a valid index of the array.
    const second = this.#seconds[at % WINDOW_SECONDS] as OutcomeSecond
    if (second.at !== at) Object.assign(second, { at, all: 0, failed: 0 })
    return second
  }
}
