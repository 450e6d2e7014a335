/** Bytes on one node of plain answers that arrive or are read, and of replies that wait for their clients. */
const ANSWER_BUDGET_BYTES = 256 * 1_048_576
/** The steps in which room is taken if the length of an answer is not known. */
const STEP_BYTES = 1_048_576

/** The room needed by an answer of which so many bytes have come. */
export function roomFor(bytes: number): number {
  return Math.ceil(bytes / STEP_BYTES) * STEP_BYTES
}

/**
 * The process-wide memory budget for plain answers. An answer without room is not refused, since it is paid for: its
 * socket waits until others have been read. The oldest answer always gets room unless replies fill the budget, so one
 * of them always ends; the provider's time limits bound how long that takes. A reply comes from an answer that had room
 * and never waits; its client must read it in time while others wait (`src/http/slow-readers.ts`).
 */
export class AnswerBudget {
  readonly #bytesMax: number
  /** Open holds, the oldest first. */
  readonly #holds = new Set<AnswerHold>()
  readonly #waiting = new Set<AnswerHold>()
  #bytes = 0
  /** The part of `#bytes` that belongs to replies. */
  #unsentBytes = 0

  constructor(bytesMax: number = ANSWER_BUDGET_BYTES) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Whether as many bytes as the whole budget already wait for room, so that a new answer would wait for long. */
  get isFull(): boolean {
    let waitingBytes = 0
    for (const { wanted } of this.#waiting) waitingBytes += wanted
    return waitingBytes >= this.#bytesMax || this.#unsentBytes >= this.#bytesMax
  }

  /** Whether an answer waits for room. */
  get isWanted(): boolean {
    return this.#waiting.size > 0
  }

  /** Counts a reply that waits for its client; the returned function gives the room back. */
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

  /** Opens an empty hold. */
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
    // No hold overtakes those that wait, except the oldest, which must always be able to continue.
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

  /** false = there is still no room for it. */
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

/** One answer's part of the budget, until it is released. */
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

  /** The bytes that it waits for, beyond those it has. */
  get wanted(): number {
    return this.#wanted - this.#bytes
  }

  /**
   * Grows to `bytes` in all. false = there is no room yet; `onRoom` is called when there is, and `reach` must not be
   * called before.
   */
  reach(bytes: number, onRoom: () => void): boolean {
    if (this.#isReleased || bytes <= this.#bytes) return true
    this.#wanted = bytes
    if (this.retry()) return true
    this.#onRoom = onRoom
    this.#ports.wait(this)
    return false
  }

  /** The same as a promise; the signal ends the wait. */
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

  /** Called by the budget: takes the wanted bytes if there is room. */
  retry(): boolean {
    const more = this.#wanted - this.#bytes
    if (!this.#ports.take(this, more)) return false
    this.#bytes = this.#wanted
    return true
  }

  /** Called by the budget: reports that there was room. */
  go(): void {
    const onRoom = this.#onRoom
    this.#onRoom = null
    onRoom?.()
  }
}
