import type { Clock } from '../../base/clock.ts'
import type { EntryStore } from '../ledger/entry-store.ts'
import type { LogUpkeep } from './upkeep.ts'
import { DAY_MS } from '../../base/time.ts'
import { thrownMessage } from '../../base/text.ts'

const EVERY_MS = 60 * 60_000
/** After a failure, such as a partition that an audit is reading. */
const AGAIN_MS = 60_000
/** Pause between two steps, so that money goes first. */
const STEP_PAUSE_MS = 20

export interface LogKeeperPorts {
  readonly upkeep: LogUpkeep
  readonly entries: Pick<EntryStore, 'fillMarks'>
  readonly clock: Clock
  /** null = rows are kept for ever. */
  readonly retentionDays: number | null
  readonly log: (message: string) => void
}

/**
 * Removes expired rows of the usage log, makes room for new ones, and marks long ledgers: at the start and every hour.
 */
export class LogKeeper {
  readonly #ports: LogKeeperPorts
  #cancel: () => void = () => undefined
  #endPause: () => void = () => undefined
  #running: Promise<void> | null = null
  #stopped = false

  constructor(ports: LogKeeperPorts) {
    this.#ports = ports
  }

  start(): void {
    if (this.#stopped) return
    this.#running ??= this.#keep().finally(() => {
      this.#running = null
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    this.#endPause()
    await this.#running
  }

  async #keep(): Promise<void> {
    const { upkeep, entries, clock, retentionDays, log } = this.#ports
    let nextMs = EVERY_MS
    try {
      await upkeep.makeRoom()
      for (let after = await entries.fillMarks(''); after !== null && !this.#stopped;) {
        await this.#pause()
        after = await entries.fillMarks(after)
      }
      if (retentionDays !== null) await this.#remove(clock.now() - retentionDays * DAY_MS)
    } catch (thrown) {
      nextMs = AGAIN_MS
      log(`Usage log: its upkeep is tried again in a minute: ${thrownMessage(thrown)}`)
    }
    if (!this.#stopped) this.#cancel = clock.after(nextMs, () => this.start())
  }

  async #remove(beforeMs: number): Promise<void> {
    for (let removed = 1; removed > 0 && !this.#stopped;) {
      removed = await this.#ports.upkeep.removeSome(beforeMs)
      await this.#pause()
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#ports.clock.after(STEP_PAUSE_MS, resolve)
      this.#endPause = () => {
        cancel()
        resolve()
      }
    })
  }
}
