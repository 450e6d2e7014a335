import type { Micro } from '../base/money.ts'
import type { HoldRow } from './ledger-store.ts'

/** The changes that a batch makes to the sizes of allowances. */
export class AllowanceChanges {
  /** Their sizes before the batch. */
  readonly #before = new Map<HoldRow, Micro>()

  /** Its size may change. */
  touch(allowance: HoldRow): void {
    if (!this.#before.has(allowance)) this.#before.set(allowance, allowance.amountMicro)
  }

  /** 0 gives it back; the row keeps the size that it had. */
  resize(allowance: HoldRow, amountMicro: Micro, atMs: number): void {
    this.touch(allowance)
    if (amountMicro > 0n) allowance.amountMicro = amountMicro
    else {
      allowance.state = 'voided'
      allowance.endedAtMs = atMs
    }
  }

  /** Those to write, besides new ones. A node at work leaves its allowance as it was. */
  changed(created: ReadonlySet<HoldRow>): readonly HoldRow[] {
    const changed: HoldRow[] = []
    for (const [row, beforeMicro] of this.#before)
      if (!created.has(row) && (row.amountMicro !== beforeMicro || row.state !== 'open')) changed.push(row)
    return changed
  }
}
