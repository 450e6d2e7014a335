import type { Micro } from '../money.ts'
import type { AccountRow } from './ledger-store.ts'

const HOUR_MS = 3_600_000
/** What the operator pays for an account's free answers in an hour before they are looked at: 20 RUB. */
export const FREE_HOUR_MICRO = 20_000_000n
/** … and one part in so many of what the account spent in that hour: 5 %. */
export const FREE_SPEND_PARTS = 20n

/** Whether more was insured in this hour than max(20 RUB, 5 % of what was spent) (reliability.md 3.5 row 20). */
export function isFreeHourUsedUp(account: AccountRow, atMs: number): boolean {
  if (hourOf(atMs) !== account.freeHourMs) return false
  return account.freeInsuredMicro > FREE_HOUR_MICRO && account.freeInsuredMicro * FREE_SPEND_PARTS > account.freeSpentMicro
}

/** Adds to the sums of the hour, which begin anew with it; what comes late, from a journal, is left out. */
export function countInFreeHour(account: AccountRow, atMs: number, { insuredMicro = 0n, spentMicro = 0n }: { readonly insuredMicro?: Micro; readonly spentMicro?: Micro }): void {
  const hourMs = hourOf(atMs)
  if (hourMs < account.freeHourMs) return
  if (hourMs > account.freeHourMs) {
    account.freeHourMs = hourMs
    account.freeInsuredMicro = 0n
    account.freeSpentMicro = 0n
  }
  account.freeInsuredMicro += insuredMicro
  account.freeSpentMicro += spentMicro
}

/** Start of its hour, Unix ms. */
function hourOf(atMs: number): number {
  return Math.floor(atMs / HOUR_MS) * HOUR_MS
}
