import type { Micro } from '../base/money.ts'
import type { AccountRow, GuardedCharge, HoldRow, LedgerRows } from './ledger-store.ts'
import { HOUR_MS } from '../base/time.ts'
import type { Clock } from '../base/clock.ts'

/** Nodes give back what they set aside within 7.5 s of an account's last request (decision 14). */
const GIVEN_BACK_MS = 8_000
const LOOK_MS = 250

/** The part of an account's money that no hold has. */
export interface FreeMoney {
  readonly availableMicro: Micro
  /** Set aside by nodes for requests to come. */
  readonly setAsideMicro: Micro
}

interface FreedMoneyPorts {
  readonly clock: Clock
  readonly look: (accountId: string) => Promise<FreeMoney>
  /** This node gives back what it has set aside for the account. */
  readonly giveBack: (accountId: string) => Promise<void>
}

/**
 * Waits until an account has `amountMicro` available, where that only lacks what nodes have set aside for its next
 * requests: 8 s at most. Refunds and corrections call it, which the database would refuse otherwise.
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
 * The cost to the operator, by free answers and by charges beyond its balance, that an account may cause in an hour
 * before it is checked: 20 RUB.
 */
export const FREE_HOUR_MICRO = 20_000_000n
/** … or this part of what the account spent in that hour: 5 %. */
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
