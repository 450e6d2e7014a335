import type { Clock } from '../../base/clock.ts'
import { thrownMessage } from '../../base/text.ts'
import { ALLOWANCE_PREFIX } from '../../ledger/ledger-store.ts'
import type { Database } from '../database.ts'

/** Written as in the index that the sums read. */
const IS_ALLOWANCE = `hold.state = 'open' AND hold.id LIKE '${ALLOWANCE_PREFIX}%'`

const OF_ACCOUNT = `COALESCE((SELECT SUM(hold.amount) FROM hold WHERE hold.account_id = account.id AND ${IS_ALLOWANCE}), 0)`
const OF_KEY = `COALESCE((SELECT SUM(hold.amount) FROM hold WHERE hold.account_id = k.account_id AND hold.key_id = k.id AND ${IS_ALLOWANCE}), 0)`

/**
 * The column `set_aside`: what nodes hold in advance for later requests of the account or key that is read. Reports
 * count it as available, since no request has it yet.
 */
export function setAside(dialect: Database['dialect'], owner: 'account' | 'k'): string {
  if (dialect === 'sqlite') return '0 AS set_aside'
  return owner === 'account' ? `${OF_ACCOUNT} AS set_aside` : `${OF_KEY} AS set_aside`
}

const EVERY_MS = 10 * 60_000

export interface Expiring {
  removeExpired(nowMs: number): Promise<unknown>
}

export class ExpirySweep {
  /** Stores with rows or files that expire, by the name that the operator's log shows. */
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

  /** Sweeps at once, and then every ten minutes. */
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

  /** A failure is logged, and the next sweep tries again. */
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
