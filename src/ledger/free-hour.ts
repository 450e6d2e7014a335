import type { Micro } from '../base/money.ts'
import type { AccountRow, GuardedCharge, HoldRow, LedgerRows } from './ledger-store.ts'
import { HOUR_MS } from '../base/time.ts'

/**
 * The cost to the operator, by free answers and by charges beyond its balance, that an account may cause in an hour
 * before it is checked: 20 RUB.
 */
export const FREE_HOUR_MICRO = 20_000_000n
/** … or this part of what the account spent in that hour: 5 %. */
export const FREE_SPEND_PARTS = 20n

/**
 * Whether the account has cost us more in this hour, in insured amounts and shortfalls, than max(20 RUB, 5 % of its
 * spending).
 */
export function isFreeHourUsedUp(account: AccountRow, atMs: number): boolean {
  if (hourOf(atMs) !== account.freeHourMs) return false
  return (
    account.freeInsuredMicro > FREE_HOUR_MICRO && account.freeInsuredMicro * FREE_SPEND_PARTS > account.freeSpentMicro
  )
}

/** Adds to the sums of the hour; each hour starts at 0, and a late entry from a journal is left out. */
export function countInFreeHour(
  account: AccountRow,
  atMs: number,
  { lostMicro = 0n, spentMicro = 0n }: { readonly lostMicro?: Micro; readonly spentMicro?: Micro },
): void {
  const hourMs = hourOf(atMs)
  if (hourMs < account.freeHourMs) return
  if (hourMs > account.freeHourMs) {
    account.freeHourMs = hourMs
    account.freeInsuredMicro = 0n
    account.freeSpentMicro = 0n
  }
  account.freeInsuredMicro += lostMicro
  account.freeSpentMicro += spentMicro
}

/** The beginning of the next hour, Unix ms. */
export function freeHourEndMs(atMs: number): number {
  return hourOf(atMs) + HOUR_MS
}

/** The start of the hour that contains `atMs`, Unix ms. */
function hourOf(atMs: number): number {
  return Math.floor(atMs / HOUR_MS) * HOUR_MS
}

/** Whether a free answer is charged. Expired holds, and those whose key another request has now, stay free. */
export function isCharged(
  account: AccountRow,
  hold: HoldRow,
  {
    guarded: { claim },
    claims,
    atMs,
  }: { readonly guarded: GuardedCharge; readonly claims: LedgerRows['claims']; readonly atMs: number },
): boolean {
  return (
    hold.state === 'open' &&
    isFreeHourUsedUp(account, atMs) &&
    (claim === undefined || claims.get(claim.id) === hold.id)
  )
}
