import type { Micro } from '../base/money.ts'
import type { AccountRow, GuardedCharge, HoldRow, LedgerRows } from './ledger-store.ts'
import { HOUR_MS } from '../base/time.ts'
import type { Clock } from '../base/clock.ts'

/** Nodes give back what they set aside within 7.5 s of an account's last request (decision 14). */
const GIVEN_BACK_MS = 8_000
const LOOK_MS = 250

/** The part of an account's money that running requests do not hold. */
export interface FreeMoney {
  readonly availableMicro: Micro
  /** Money that nodes have set aside for requests to come. */
  readonly setAsideMicro: Micro
}

interface FreedMoneyPorts {
  readonly clock: Clock
  readonly look: (accountId: string) => Promise<FreeMoney>
  /** Makes this node give back what it has set aside for the account. */
  readonly giveBack: (accountId: string) => Promise<void>
}

/**
 * Waits until an account has `amountMicro` available, if only money that nodes have set aside for its next requests is
 * missing: 8 s at most. Refunds and corrections call it, since the database would refuse them otherwise.
 */
export async function freedMoney(ports: FreedMoneyPorts, accountId: string, amountMicro: Micro): Promise<void> {
  const endMs = ports.clock.monotonic() + GIVEN_BACK_MS
  for (;;) {
    const { availableMicro, setAsideMicro } = await ports.look(accountId)
    if (availableMicro >= amountMicro || availableMicro + setAsideMicro < amountMicro) return
    if (ports.clock.monotonic() >= endMs) return
    await ports.giveBack(accountId)
    await new Promise<void>((resolve) => void ports.clock.after(LOOK_MS, resolve))
  }
}

/**
 * The cost to the operator, by free answers and by charges beyond the balance, that an account may cause in an hour
 * before its spending is considered: 20 RUB.
 */
export const FREE_HOUR_MICRO = 20_000_000n
/** The part of an account's spending in the hour that this cost may also reach: 5 %. */
export const FREE_SPEND_PARTS = 20n

/**
 * Whether the account has cost us more in this hour, in shortfalls and in insured amounts that it caused, than max(20
 * RUB, 5 % of its spending).
 */
export function isFreeHourUsedUp(account: AccountRow, atMs: number): boolean {
  const lostMicro = lostInFreeHour(account, atMs)
  return lostMicro > FREE_HOUR_MICRO && lostMicro * FREE_SPEND_PARTS > account.freeSpentMicro
}

/** What the account has cost us in this hour. */
export function lostInFreeHour(account: AccountRow, atMs: number): Micro {
  return hourOf(atMs) === account.freeHourMs ? account.freeInsuredMicro : 0n
}

/** Adds to the sums of the hour. Each hour starts at 0; entries of earlier hours, from a journal, are not counted. */
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

/** Whether a free answer is charged after all. Expired holds, and those whose key another request now has, are free. */
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
