import type { Clock } from '../base/clock.ts'

const LOOK_MS = 1_000
/** Unanswered checks in a row before the store counts as lost: a short restart is no outage. */
const SILENT_LOOKS = 3
/** Answers in a row before the store counts as back: otherwise a balancer would flap with an unstable store. */
const STEADY_ANSWERS = 3

export interface StoreSignPorts {
  readonly clock: Clock
  /** Resolves when the store answered. Only one check runs at a time. */
  readonly reach: () => Promise<void>
  readonly notice: (message: string) => void
}

/**
 * Whether this node cannot reach the database that several nodes share. It counts checks rather than time, so that a
 * pause of the event loop does not count as a fault of the store.
 */
export class StoreSign {
  readonly #ports: StoreSignPorts
  #lost = false
  #asking = false
  #silent = 0
  #steady = 0
  #stop: () => void = () => undefined

  constructor(ports: StoreSignPorts) {
    this.#ports = ports
  }

  get shown(): boolean {
    return this.#lost
  }

  start(): void {
    this.#stop = this.#ports.clock.after(LOOK_MS, () => {
      if (this.#asking) this.#unanswered()
      else void this.#ask()
      this.start()
    })
  }

  stop(): void {
    this.#stop()
  }

  async #ask(): Promise<void> {
    this.#asking = true
    const answered = await this.#ports.reach().then(
      () => true,
      () => false,
    )
    this.#asking = false
    if (!answered) return this.#unanswered()
    this.#silent = 0
    this.#steady += 1
    if (this.#steady >= STEADY_ANSWERS) this.#turn(false)
  }

  #unanswered(): void {
    this.#silent += 1
    this.#steady = 0
    if (this.#silent >= SILENT_LOOKS) this.#turn(true)
  }

  #turn(lost: boolean): void {
    if (lost === this.#lost) return
    this.#lost = lost
    this.#ports.notice(
      lost
        ? 'The database cannot be reached: /readyz answers 503 until it can'
        : 'The database is reached again: the node is ready',
    )
  }
}

const TICK_MS = 500
/** Far above a pause of the garbage collector, and above delays of timers on a busy machine. */
const STALL_MS = 5_000
/** How long a balancer should avoid the node afterwards. */
const MENDED_MS = 10_000

/** Whether the event loop stood still recently. Such a process runs, but its clients wait. */
export class StallSign {
  readonly #clock: Clock
  #dueMs: number
  #stalledMs = Number.NEGATIVE_INFINITY
  #stop: () => void = () => undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#dueMs = clock.monotonic()
  }

  /** True even before the sign's own timer has run: after a stall, sockets may be read first. */
  get shown(): boolean {
    const nowMs = this.#clock.monotonic()
    return nowMs - this.#dueMs > STALL_MS || nowMs - this.#stalledMs < MENDED_MS
  }

  start(): void {
    this.#dueMs = this.#clock.monotonic() + TICK_MS
    this.#stop = this.#clock.after(TICK_MS, () => {
      const nowMs = this.#clock.monotonic()
      if (nowMs - this.#dueMs > STALL_MS) this.#stalledMs = nowMs
      this.start()
    })
  }

  stop(): void {
    this.#stop()
  }
}
