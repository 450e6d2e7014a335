import type { Clock } from '../base/clock.ts'

const TICK_MS = 500
/** Far above a pause of the garbage collector, and above delays of timers on a busy machine. */
const STALL_MS = 5_000
/** How long a balancer should avoid the node afterwards. */
const MENDED_MS = 10_000

/** Whether the event loop stood still recently. Such a process is alive, but its clients wait. */
export class StallSign {
  readonly #clock: Clock
  #dueMs: number
  #stalledMs = Number.NEGATIVE_INFINITY
  #stop: () => void = () => undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#dueMs = clock.monotonic()
  }

  /** True even before its own timer has run: sockets may be read first. */
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
