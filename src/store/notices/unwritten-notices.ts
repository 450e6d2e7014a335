import type { Clock } from '../../base/clock.ts'
import type { NoticeStore } from './notice-store.ts'
import type { NewNotice } from '../../ledger/ledger-store.ts'

const AGAIN_MS = 2_000
/** The most notices that wait. Providers often fail together; what does not fit is raised when it is seen again. */
const WAITING_MAX = 200

/** Notices whose cause is only in memory, such as a provider that fails. Each is tried again until the store has it. */
export class UnwrittenNotices {
  readonly #store: Pick<NoticeStore, 'raise'>
  readonly #clock: Clock
  /** By id, so that a notice waits only once. */
  readonly #waiting = new Map<string, NewNotice>()
  #isWriting = false
  #cancel: () => void = () => undefined

  constructor(store: Pick<NoticeStore, 'raise'>, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  tell(notice: NewNotice): void {
    if (this.#waiting.size < WAITING_MAX) this.#waiting.set(notice.id, notice)
    if (!this.#isWriting) void this.#write()
  }

  /** Tries once more; notices that the store does not take then are lost. */
  async stop(): Promise<void> {
    this.#cancel()
    await Promise.allSettled([...this.#waiting.values()].map((notice) => this.#store.raise(notice)))
    this.#waiting.clear()
  }

  async #write(): Promise<void> {
    this.#isWriting = true
    try {
      for (const [id, notice] of this.#waiting) {
        await this.#store.raise(notice)
        this.#waiting.delete(id)
      }
      this.#isWriting = false
    } catch {
      this.#cancel = this.#clock.after(AGAIN_MS, () => void this.#write())
    }
  }
}
