/** Bytes of whole answers held by one node while they come and are read, and of replies that wait for their clients. */
const ANSWER_BUDGET_BYTES = 256 * 1_048_576
/** Room is asked for in steps of it, where the length of an answer is not told. */
const STEP_BYTES = 1_048_576

/** The room for an answer of which so much has come. */
export function roomFor(bytes: number): number {
  return Math.ceil(bytes / STEP_BYTES) * STEP_BYTES
}

/**
 * Bytes of answers that are read as a whole, process-wide. An answer that finds no room is not refused, since it is
 * paid for: its socket waits until others have been read. The one that came first has room unless replies fill the
 * budget, so that however they share what there is, one of them ends; the time limits of its provider bound how long
 * that takes. A reply was made of an answer that had room and never waits; its client has to take it in time while
 * others do (`src/http/slow-readers.ts`).
 */
export class AnswerBudget {
  readonly #bytesMax: number
  /** Those that have asked for room, the first one first. */
  readonly #holds = new Set<AnswerHold>()
  readonly #waiting = new Set<AnswerHold>()
  #bytes = 0
  /** Of replies, within `#bytes`. */
  #unsentBytes = 0

  constructor(bytesMax: number = ANSWER_BUDGET_BYTES) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  /** As much again waits for room: what is asked now would wait for long. */
  get isFull(): boolean {
    let waitingBytes = 0
    for (const { wanted } of this.#waiting) waitingBytes += wanted
    return waitingBytes >= this.#bytesMax || this.#unsentBytes >= this.#bytesMax
  }

  /** Someone waits for room. */
  get isWanted(): boolean {
    return this.#waiting.size > 0
  }

  /** Counts a reply that waits for its client; answers what gives its room back. */
  unsent(bytes: number): () => void {
    this.#bytes += bytes
    this.#unsentBytes += bytes
    let isSent = false
    return () => {
      if (isSent) return
      isSent = true
      this.#bytes -= bytes
      this.#unsentBytes -= bytes
      this.#wakeAll()
    }
  }

  /** Opens a hold of nothing yet. */
  hold(): AnswerHold {
    return new AnswerHold({
      take: (hold, bytes) => this.#take(hold, bytes),
      wait: (hold) => void this.#waiting.add(hold),
      leave: (hold) => this.#leave(hold),
    })
  }

  #take(hold: AnswerHold, bytes: number): boolean {
    this.#holds.add(hold)
    const [first] = this.#holds
    // Nobody overtakes who waits already, but for the first, without which nothing would move.
    const mayGo =
      (hold === first && this.#unsentBytes < this.#bytesMax) ||
      (this.#bytes + bytes <= this.#bytesMax && (this.#waiting.size === 0 || this.#waiting.has(hold)))
    if (!mayGo) return false
    this.#bytes += bytes
    return true
  }

  #leave(hold: AnswerHold): void {
    this.#holds.delete(hold)
    this.#waiting.delete(hold)
    this.#bytes -= hold.bytes
    this.#wakeAll()
  }

  #wakeAll(): void {
    const [first] = this.#holds
    if (first !== undefined && this.#waiting.has(first)) this.#wake(first)
    for (const waiting of this.#waiting) if (!this.#wake(waiting)) return
  }

  /** false: there is still no room for it. */
  #wake(hold: AnswerHold): boolean {
    if (!hold.retry()) return false
    this.#waiting.delete(hold)
    hold.go()
    return true
  }
}

interface HoldPorts {
  readonly take: (hold: AnswerHold, bytes: number) => boolean
  readonly wait: (hold: AnswerHold) => void
  readonly leave: (hold: AnswerHold) => void
}

/** What one answer holds of the budget, until it is released. */
export class AnswerHold {
  readonly #ports: HoldPorts
  #bytes = 0
  #wanted = 0
  #onRoom: (() => void) | null = null
  #isReleased = false

  constructor(ports: HoldPorts) {
    this.#ports = ports
  }

  get bytes(): number {
    return this.#bytes
  }

  /** What it waits for, beyond what it has. */
  get wanted(): number {
    return this.#wanted - this.#bytes
  }

  /** Holds as much in all. false: `onRoom` is called once it does, and nothing may be asked until then. */
  reach(bytes: number, onRoom: () => void): boolean {
    if (this.#isReleased || bytes <= this.#bytes) return true
    this.#wanted = bytes
    if (this.retry()) return true
    this.#onRoom = onRoom
    this.#ports.wait(this)
    return false
  }

  /** The same, awaited until the signal ends it. */
  async reached(bytes: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const room = Promise.withResolvers<void>()
    const onAbort = (): void => room.reject(signal.reason)
    if (this.reach(bytes, room.resolve)) return
    signal.addEventListener('abort', onAbort)
    try {
      await room.promise
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#onRoom = null
    this.#ports.leave(this)
  }

  /** For the budget: takes what is wanted, where there is room. */
  retry(): boolean {
    const more = this.#wanted - this.#bytes
    if (!this.#ports.take(this, more)) return false
    this.#bytes = this.#wanted
    return true
  }

  /** For the budget: says that it has. */
  go(): void {
    const onRoom = this.#onRoom
    this.#onRoom = null
    onRoom?.()
  }
}
