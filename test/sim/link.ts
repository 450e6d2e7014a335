import { StoreUnavailableError } from '../../src/ledger/ledger-store.ts'
import type { Random } from './random.ts'
import type { Owner, Scheduler } from './scheduler.ts'

/** How often a call of the store fails by itself, besides outages. Each in [0, 1]. */
export interface FaultRates {
  /** Refused before it took effect. */
  readonly before: number
  /** Done, and the answer is lost. */
  readonly after: number
  /** Done, and answered late. */
  readonly stall: number
  /** As `stall`, for reads: the answer is old when it arrives. */
  readonly slowRead: number
}

const LATENCY_MS = [0.2, 4] as const
const REFUSAL_MS = [0.5, 900] as const
const STALL_MS = [200, 2_500] as const

/**
 * One node's connection to the store: latency, faults and outages. A call takes effect at one instant, whoever waits
 * for it.
 */
export class Link {
  readonly #scheduler: Scheduler
  readonly #random: Random
  readonly #node: Owner
  readonly #world: Owner
  readonly #rates: () => FaultRates
  #outUntilMs = 0
  /** Virtual ms of every call that went wrong, in order. */
  readonly faultsMs: number[] = []
  /** The last batch that was sent to the store failed. */
  batchFailed = false

  constructor(ports: {
    readonly scheduler: Scheduler
    readonly random: Random
    readonly node: Owner
    readonly world: Owner
    readonly rates: () => FaultRates
  }) {
    this.#scheduler = ports.scheduler
    this.#random = ports.random
    this.#node = ports.node
    this.#world = ports.world
    this.#rates = ports.rates
  }

  get out(): boolean {
    return this.#scheduler.nowMs < this.#outUntilMs
  }

  cut(untilMs: number): void {
    this.#outUntilMs = Math.max(this.#outUntilMs, untilMs)
  }

  heal(): void {
    this.#outUntilMs = 0
  }

  /** Something of its node went wrong: what it asked for may come late. */
  note(): void {
    this.#noteFault()
  }

  /** A disk that is full or broken at the moment. */
  fault(): 'before' | 'after' | null {
    const rates = this.#rates()
    const fault =
      this.out || this.#random.chance(rates.before) ? 'before' : this.#random.chance(rates.after) ? 'after' : null
    if (fault !== null) this.#noteFault()
    return fault
  }

  latency(): Promise<void> {
    return this.#scheduler.wait(this.#random.between(...LATENCY_MS), this.#node)
  }

  /** Sends `work` to the store. If its node dies, a sent call may or may not take effect. */
  call<T>(work: () => T, reads = false): Promise<T> {
    return new Promise((resolve, reject) => {
      // The request is in the network: it outlives its sender.
      this.#scheduler.after(this.#random.between(...LATENCY_MS), this.#world, () => {
        if (this.#node.dead && this.#random.chance(0.5)) return
        this.#arrive(work, reads, resolve, reject)
      })
    })
  }

  #arrive<T>(work: () => T, reads: boolean, resolve: (value: T) => void, reject: (error: unknown) => void): void {
    const rates = this.#rates()
    const reply = (delayMs: number, answer: () => void): void => void this.#scheduler.after(delayMs, this.#node, answer)
    if (this.out || this.#random.chance(rates.before)) {
      this.#noteFault()
      reply(this.#random.between(...REFUSAL_MS), () => {
        this.#noteFault()
        reject(new StoreUnavailableError('The store does not answer.'))
      })
      return
    }
    let outcome: () => void
    try {
      const value = work()
      outcome = () => resolve(value)
    } catch (thrown) {
      outcome = () => reject(thrown)
    }
    if (this.#random.chance(rates.after)) {
      this.#noteFault()
      outcome = () => {
        this.#noteFault()
        reject(new StoreUnavailableError('The answer of the store was lost.'))
      }
    }
    const stalls = this.#random.chance(reads ? rates.slowRead : rates.stall)
    if (stalls) this.#noteFault()
    reply(stalls ? this.#random.between(...STALL_MS) : this.#random.between(...LATENCY_MS), outcome)
  }

  #noteFault(): void {
    this.faultsMs.push(this.#scheduler.nowMs)
  }
}
