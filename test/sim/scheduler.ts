import { setImmediate as turn } from 'node:timers/promises'
import type { Random } from './random.ts'

/** The owner of an event; events of a dead owner never happen. */
export interface Owner {
  readonly name: string
  dead: boolean
  /** It stands still until then, virtual ms, as a process that was stopped; what is due waits. */
  stoppedUntilMs?: number
}

interface Event {
  atMs: number
  /** Orders events of one instant: drawn from the seed, so that every order occurs. */
  readonly tie: number
  readonly owner: Owner
  readonly task: () => void
  cancelled: boolean
}

/** Virtual time: one event after another, in an order that follows only from the seed. */
export class Scheduler {
  readonly #random: Random
  /** A binary heap, the next event first. */
  readonly #events: Event[] = []
  #nowMs = 0
  #steps = 0

  constructor(random: Random) {
    this.#random = random
  }

  /** Virtual milliseconds since the universe began. */
  get nowMs(): number {
    return this.#nowMs
  }

  /** Events that have happened. */
  get steps(): number {
    return this.#steps
  }

  /** Runs `task` once after `delayMs`, unless its owner is dead by then; the returned function cancels it. */
  after(delayMs: number, owner: Owner, task: () => void): () => void {
    const event: Event = {
      atMs: this.#nowMs + Math.max(0, delayMs),
      tie: this.#random.next(),
      owner,
      task,
      cancelled: false,
    }
    this.#push(event)
    return () => {
      event.cancelled = true
    }
  }

  wait(delayMs: number, owner: Owner): Promise<void> {
    return new Promise((resolve) => {
      this.after(delayMs, owner, resolve)
    })
  }

  /** Advances time to `untilMs`, `done` or the last event. */
  async run(untilMs: number, stepsMax: number, done: () => boolean = () => false): Promise<void> {
    for (let next = this.#events[0]; next !== undefined && next.atMs <= untilMs; next = this.#events[0]) {
      this.#pop()
      if (next.cancelled || next.owner.dead) continue
      const { stoppedUntilMs = 0 } = next.owner
      if (stoppedUntilMs > next.atMs) {
        next.atMs = stoppedUntilMs
        this.#push(next)
        continue
      }
      this.#steps += 1
      if (this.#steps > stepsMax) throw new Error(`More than ${stepsMax} events: something goes round in circles.`)
      this.#nowMs = next.atMs
      next.task()
      // Everything that follows without waiting for time happens before the next event.
      await turn()
      if (done()) return
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs)
  }

  #push(event: Event): void {
    const heap = this.#events
    let at = heap.push(event) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#swapped(parent, at)) return
      at = parent
    }
  }

  #pop(): void {
    const heap = this.#events
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    heap[0] = last
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      const least = right < heap.length && this.#before(right, left) ? right : left
      if (least >= heap.length || !this.#swapped(at, least)) return
      at = least
    }
  }

  /** Puts the earlier of two above the other. */
  #swapped(above: number, below: number): boolean {
    if (!this.#before(below, above)) return false
    const [upper, lower] = [this.#events[above], this.#events[below]]
    if (upper === undefined || lower === undefined) return false
    this.#events[above] = lower
    this.#events[below] = upper
    return true
  }

  #before(one: number, other: number): boolean {
    const [left, right] = [this.#events[one], this.#events[other]]
    if (left === undefined || right === undefined) return false
    return left.atMs < right.atMs || (left.atMs === right.atMs && left.tie < right.tie)
  }
}
