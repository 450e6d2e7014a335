import type { Clock } from '../../lib/clock.ts'
import { thrownMessage } from '../../lib/thrown-message.ts'

const EVERY_MS = 10 * 60_000

interface Expiring {
  removeExpired(nowMs: number): Promise<unknown>
}

/** Removes expired rows and files at intervals. */
export class ExpirySweep {
  /** By their names for the operator. */
  readonly #kept: Readonly<Record<string, Expiring>>
  readonly #clock: Clock
  readonly #log: (message: string) => void
  #cancel: () => void = () => undefined
  #running: Promise<void> | null = null
  #stopped = false

  constructor(kept: Readonly<Record<string, Expiring>>, clock: Clock, log: (message: string) => void) {
    this.#kept = kept
    this.#clock = clock
    this.#log = log
  }

  /** Sweeps now and then every ten minutes. */
  start(): void {
    if (this.#stopped) return
    this.#running ??= this.#sweep().finally(() => {
      this.#running = null
    })
    this.#cancel = this.#clock.after(EVERY_MS, () => this.start())
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    await this.#running
  }

  /** If the store does not answer, it is asked again the next time. */
  async #sweep(): Promise<void> {
    for (const [what, kept] of Object.entries(this.#kept)) {
      try {
        await kept.removeExpired(this.#clock.now())
      } catch (thrown) {
        this.#log(`${what}: what has expired could not be removed: ${thrownMessage(thrown)}`)
      }
    }
  }
}
