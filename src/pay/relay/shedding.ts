import { overloaded, type ApiError } from '../../base/errors.ts'
import type { Clock } from '../../base/clock.ts'
import { NODE_MAX, type InFlight } from './relay.ts'

const SAMPLE_MS = 1_000
/** The samples on which a decision is based, so that a single pause of the garbage collector does not decide. */
const SAMPLES = 5
const SLOW_SAMPLES_MIN = 3
const BASELINE_SAMPLES = 60
const UTILISATION_MAX = 0.95
const DELAY_OVER_BASELINE_MS = 100
const MEMORY_MAX = 0.85
const MEMORY_FULL = 0.98
/** The change of a level per second: every request is refused after ten seconds. */
const STEP = 0.1
/** A node with fewer requests than this is slowed by something else, and refusing requests would not help. */
const RUNNING_MIN = 64
/** Above this, the rest of the node is for accounts that use no more than their share. */
const RESERVED_FROM = 0.8 * NODE_MAX

/** The process's load since the last reading. */
export interface LoadReading {
  /** The fraction of time in which the event loop worked. */
  readonly utilisation: number
  /** The 99th percentile of the delay of timers. */
  readonly delayMs: number
  /** The fraction of the memory that the process may use. */
  readonly memory: number
}

export interface SheddingPorts {
  readonly clock: Clock
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly read: () => LoadReading
  readonly inFlight: InFlight
}

/**
 * Refuses work while the node has too much of it (guarantees.md 5). A loop that is only busy is well used: then lists,
 * logs and accounts that use more than their share are refused. If the loop lags, or memory is short, more new paid
 * requests are refused from second to second until the node keeps up.
 */
export class Shedding {
  readonly #ports: SheddingPorts
  readonly #busy = new Ramp()
  readonly #lagging = new Ramp()
  #samples: LoadReading[] = []
  #full = false
  #stop: (() => void) | null = null

  constructor(ports: SheddingPorts) {
    this.#ports = ports
  }

  /** The probabilities of a refusal, for accounts above their share and for all, and the newest reading. */
  get levels(): { readonly busy: number; readonly lagging: number; readonly reading: LoadReading | null } {
    return {
      busy: this.#busy.level,
      lagging: this.#full ? 1 : this.#lagging.level,
      reading: this.#samples.at(-1) ?? null,
    }
  }

  start(): void {
    this.#stop = this.#ports.clock.after(SAMPLE_MS, () => {
      this.sample(this.#ports.read())
      this.start()
    })
  }

  stop(): void {
    this.#stop?.()
  }

  sample(reading: LoadReading): void {
    this.#samples.push(reading)
    if (this.#samples.length > BASELINE_SAMPLES) this.#samples.shift()
    const recent = this.#samples.slice(-SAMPLES)
    const baselineMs = Math.min(...this.#samples.map(({ delayMs }) => delayMs))
    const isBusy = ({ utilisation }: LoadReading): boolean => utilisation > UTILISATION_MAX
    const isLate = ({ delayMs }: LoadReading): boolean => delayMs > baselineMs + DELAY_OVER_BASELINE_MS
    const loaded = this.#ports.inFlight.count >= RUNNING_MIN
    const tight = reading.memory > MEMORY_MAX
    this.#busy.step(loaded && isBusy(reading), loaded && recent.length === SAMPLES && recent.every(isBusy))
    this.#lagging.step(
      tight || (loaded && isLate(reading)),
      tight || (loaded && recent.filter(isLate).length >= SLOW_SAMPLES_MIN),
    )
    this.#full = reading.memory >= MEMORY_FULL
  }

  /** The refusal of a request, or null; `accountId` pays for it. */
  refusal(priority: 'low' | 'paid', accountId: string): ApiError | null {
    const { inFlight, random } = this.#ports
    const reserved = inFlight.count >= RESERVED_FROM
    const first = priority === 'low' || inFlight.isAboveFairShare(accountId)
    if (!this.#full && this.#lagging.level === 0 && !(first && (reserved || this.#busy.level > 0))) return null
    return random() < this.#probability(priority, first, reserved)
      ? overloaded(
          random(),
          this.#full
            ? 'memory'
            : reserved
              ? 'in_flight_reserve'
              : this.#lagging.level > 0
                ? 'loop_lag_or_memory'
                : 'loop_busy',
        )
      : null
  }

  #probability(priority: 'low' | 'paid', first: boolean, reserved: boolean): number {
    if (this.#full || (first && reserved)) return 1
    const lagging = this.#lagging.level
    // Lists and logs are refused before anything that earns money.
    if (priority === 'low') return lagging > 0 || this.#busy.level > 0 ? 1 : 0
    return first ? Math.max(this.#busy.level, Math.min(1, 2 * lagging)) : lagging
  }
}

/** A level that rises while there is too much work and falls while there is not. */
class Ramp {
  level = 0

  /** `lasting` starts the rise; from then on `now` moves the level, so that it does not lag like a longer average. */
  step(now: boolean, lasting: boolean): void {
    const up = this.level === 0 ? lasting : now
    this.level = Math.round(Math.max(0, Math.min(1, this.level + (up ? STEP : -STEP))) * 10) / 10
  }
}
