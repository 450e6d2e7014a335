import type { Reach } from '../../store/accounts/key-lists.ts'
import type { Clock } from '../../base/clock.ts'
import type { RunningAnswer } from '../relay/generation-input.ts'
import type { ResponseStore } from '../../store/responses/response-store.ts'

/** How often a process looks for marks while it runs kept answers. */
const LOOK_MS = 1_000
/** How often the process that has set a mark checks whether the answer has stopped, and for how long. */
const WAIT_STEP_MS = 200
const WAIT_MS = 5_000

/**
 * Stops answers that run here if another process has marked or removed them in the store. It needs no Valkey, and takes
 * a second or two.
 */
export class StopMarks {
  readonly #store: ResponseStore
  readonly #clock: Clock
  readonly #running = new Map<string, RunningAnswer>()
  #looks = false

  constructor(store: ResponseStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Must be called once the answer's row is in the store; the watch ends with the answer. */
  watch(generation: RunningAnswer): void {
    const { generationId } = generation.input
    this.#running.set(generationId, generation)
    void generation.done.then(() => this.#running.delete(generationId))
    if (this.#looks) return
    this.#looks = true
    this.#lookLater()
  }

  /** Marks an answer that runs elsewhere, and waits until `runs` says that it has stopped. */
  async stop(reach: Reach, generationId: string, runs: () => Promise<boolean>): Promise<void> {
    if (!(await runs())) return
    await this.#store.askToStop(reach, generationId)
    const untilMs = this.#clock.monotonic() + WAIT_MS
    do await new Promise<void>((resolve) => this.#clock.after(WAIT_STEP_MS, resolve))
    while ((await runs()) && this.#clock.monotonic() < untilMs)
  }

  #lookLater(): void {
    this.#clock.after(LOOK_MS, () => void this.#look())
  }

  async #look(): Promise<void> {
    this.#looks = this.#running.size > 0
    if (!this.#looks) return
    const ids = [...this.#running].flatMap(([id, { cancelled }]) => (cancelled ? [] : [id]))
    // If the store does not answer, the next look asks it again.
    if (ids.length > 0) await this.#heed(ids).catch(() => undefined)
    this.#lookLater()
  }

  async #heed(ids: readonly string[]): Promise<void> {
    const marked = await this.#store.toStop(ids)
    if (marked.length === 0) return
    for (const id of marked) void this.#running.get(id)?.cancel()
    await this.#store.heeded(marked)
  }
}
