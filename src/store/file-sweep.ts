import type { Clock } from '../lib/clock.ts'
import type { FileStore } from './file-store.ts'

const EVERY_MS = 10 * 60_000

/** Removes stored files whose time is over, now and again. */
export class FileSweep {
  readonly #files: FileStore
  readonly #clock: Clock
  readonly #log: (message: string) => void
  #cancel: () => void = () => undefined
  #running: Promise<void> | null = null
  #stopped = false

  constructor(files: FileStore, clock: Clock, log: (message: string) => void) {
    this.#files = files
    this.#clock = clock
    this.#log = log
  }

  /** Sweeps now and from then on every ten minutes. */
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

  /** A store that does not answer now is asked again the next time. */
  async #sweep(): Promise<void> {
    try {
      await this.#files.removeExpired(this.#clock.now())
    } catch (thrown) {
      this.#log(`Stored files: what has expired could not be removed: ${thrown instanceof Error ? thrown.message : String(thrown)}`)
    }
  }
}
