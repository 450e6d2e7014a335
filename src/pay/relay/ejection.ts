/** When an endpoint is ejected (guarantees.md 5), and its least and greatest time out of service. */
const CONSECUTIVE_MAX = 5
const WINDOW_SECONDS = 30
const WINDOW_ATTEMPTS_MIN = 20
const EJECTION_MS = 30_000
const EJECTION_MS_MAX = 300_000

/** One attempt at an endpoint. `probe` tests whether it is back; `forced` was made although it is out. */
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
 * began before the last change does not count: with many requests under way, good answers that were still arriving
 * would bring back every endpoint that was just ejected.
 */
export class Ejection {
  readonly #seconds: OutcomeSecond[] = Array.from({ length: WINDOW_SECONDS }, () => ({ at: -1, all: 0, failed: 0 }))
  #consecutive = 0
  /** Ejections since it last stayed in service as long as an ejection may last; each makes the next one longer. */
  #count = 0
  /** null = in service. In the past = half open. */
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

  /** The attempt ended and says nothing about the endpoint. */
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

  /** Whether this took it out of service. `isSure`: it will not answer, and one failure is enough. */
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
    // The remainder of a whole number is an index of the array.
    const second = this.#seconds[at % WINDOW_SECONDS] as OutcomeSecond
    if (second.at !== at) Object.assign(second, { at, all: 0, failed: 0 })
    return second
  }
}
