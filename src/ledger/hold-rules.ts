import { assert } from '../base/assert.ts'
import type { Micro } from '../base/money.ts'
import {
  type AccountRow,
  type AllowanceRequest,
  type HoldOutcome,
  type HoldRequest,
  type HoldRow,
  type KeyRow,
  type LedgerRows,
  type LimitReset,
  type PeriodStarts,
  type SpendKey,
  type SpendPeriod,
  type VoidOutcome,
  type VoidRequest,
  spendKeyText,
} from './ledger-store.ts'

/** A period in which the limit of an account applies. */
export interface AccountPeriod {
  readonly accountId: string
  readonly period: SpendPeriod
  readonly start: string
}

type Limited = Pick<AccountRow, 'id' | 'limitMicro' | 'limitReset'>
type Counted = Limited & Pick<AccountRow, 'limitStart' | 'limitSpentMicro'>
export type Spends = LedgerRows['spends']

/** The current period of an account's limit; null = the account has no limit. */
export function accountPeriod(account: Limited, periods: PeriodStarts): AccountPeriod | null {
  if (account.limitMicro === null) return null
  const period = resetPeriod(account.limitReset)
  return { accountId: account.id, period, start: period === 'total' ? '' : periods[period] }
}

/** The text by which an account's row names the period that it counts. */
export function limitStart({ period, start }: Omit<AccountPeriod, 'accountId'>): string {
  return `${period} ${start}`
}

/** The key of the period's spending in a batch; no key of the API has a name like it. */
export function accountSpendText(period: AccountPeriod): string {
  return spendText(period.accountId, limitStart(period))
}

function spendText(accountId: string, start: string): string {
  return `account ${accountId} ${start}`
}

/**
 * The period whose spending the store must add up for a batch; null = the account's row has it, or the account has no
 * limit.
 */
export function uncountedPeriod(account: Counted, periods: PeriodStarts): AccountPeriod | null {
  const period = accountPeriod(account, periods)
  return period === null || limitStart(period) === account.limitStart ? null : period
}

/**
 * What an account has spent in the limit's period to which a hold belongs. The row counts its newest period, and moves
 * to a later one here. For a period before it, of a node whose clock is behind or of an answer that ends late, the
 * spending of the keys is added up.
 */
export function accountSpent(account: AccountRow, periods: PeriodStarts, spends: Spends): Micro {
  const period = accountPeriod(account, periods)
  if (period === null) return 0n
  const start = limitStart(period)
  if (start === account.limitStart) return account.limitSpentMicro
  const spentMicro = spends.get(accountSpendText(period))
  assert(spentMicro !== undefined, `The spending of account ${account.id} in ${start} is loaded.`)
  if (isEarlier(start, account.limitStart)) return spentMicro
  if (account.limitStart !== null) spends.set(spendText(account.id, account.limitStart), account.limitSpentMicro)
  account.limitStart = start
  account.limitSpentMicro = spentMicro
  return spentMicro
}

/** Counts a charge in the period in which its hold was placed. */
export function countSpent(account: AccountRow, periods: PeriodStarts, chargedMicro: Micro, spends: Spends): void {
  const period = accountPeriod(account, periods)
  if (period === null) return
  const spentMicro = accountSpent(account, periods, spends) + chargedMicro
  const name = accountSpendText(period)
  if (limitStart(period) === account.limitStart) account.limitSpentMicro = spentMicro
  if (spends.has(name)) spends.set(name, spentMicro)
}

/** The money that the limit leaves, negative after the limit was lowered; null = there is no limit. */
export function accountRoom(account: AccountRow, periods: PeriodStarts, spends: Spends): Micro | null {
  if (account.limitMicro === null) return null
  return account.limitMicro - accountSpent(account, periods, spends) - account.heldMicro
}

/** Compares periods of one kind. The kinds differ only after a change of the limit; then nothing is counted yet. */
export function isEarlier(start: string, counted: string | null): boolean {
  return counted !== null && kindOf(start) === kindOf(counted) && start < counted
}

function kindOf(start: string): string {
  return start.slice(0, start.indexOf(' '))
}

type Exceeded = Extract<HoldOutcome, { status: 'limit_exceeded' }>

/** The limit that the hold would exceed, the key's before the account's; null = none. */
export function limitExceeded(
  { amountMicro, periods }: HoldRequest,
  { account, key }: { readonly account: AccountRow; readonly key: KeyRow },
  spends: Spends,
): Exceeded | null {
  const ofKey = exceeded(key, keySpent(key, periods, spends), amountMicro)
  if (ofKey !== null || account.limitMicro === null) return ofKey
  const ofAccount = exceeded(account, accountSpent(account, periods, spends), amountMicro)
  return ofAccount === null ? null : { ...ofAccount, ofAccount: true }
}

function exceeded(
  { limitMicro, limitReset, heldMicro }: Pick<KeyRow, 'limitMicro' | 'limitReset' | 'heldMicro'>,
  spentMicro: Micro,
  amountMicro: Micro,
): Exceeded | null {
  if (limitMicro === null || spentMicro + heldMicro + amountMicro <= limitMicro) return null
  return { status: 'limit_exceeded', limitMicro, limitReset, spentMicro, heldMicro }
}

/** The money that the limits of key and account leave after all holds; null = neither has a limit. */
export function limitRoom(account: AccountRow, key: KeyRow, periods: PeriodStarts, spends: Spends): Micro | null {
  const { limitMicro, heldMicro } = key
  const ofKey = limitMicro === null ? null : limitMicro - keySpent(key, periods, spends) - heldMicro
  const ofAccount = accountRoom(account, periods, spends)
  return ofKey === null || ofAccount === null ? (ofKey ?? ofAccount) : least(ofKey, ofAccount)
}

/** What a key has spent in the limit's period to which a hold belongs; 0 if it has no limit. */
export function keySpent(key: KeyRow, periods: PeriodStarts, spends: Spends): Micro {
  const period = limitPeriod(key, periods)
  return period === null ? 0n : (spends.get(spendKeyText(period)) ?? 0n)
}

const RESET_PERIODS: Readonly<Record<LimitReset, SpendPeriod>> = { daily: 'day', weekly: 'week', monthly: 'month' }

function resetPeriod(reset: LimitReset | null): SpendPeriod {
  return reset === null ? 'total' : RESET_PERIODS[reset]
}

/** The current period of a key's limit; null = the key has no limit. */
export function limitPeriod(
  key: Pick<KeyRow, 'id' | 'limitMicro' | 'limitReset'>,
  periods: PeriodStarts,
): SpendKey | null {
  if (key.limitMicro === null) return null
  const period = resetPeriod(key.limitReset)
  return { keyId: key.id, period, start: period === 'total' ? '' : periods[period] }
}

/**
 * The size of an allowance after its node gives it back, except for what is drawn, or asks for a larger one. The node
 * draws meanwhile, so a request for more never makes it smaller; a new allowance gets at most one part in `2 × nodes`
 * of the free money. `freeMicro` null = nothing more is set aside for it.
 */
export function resized(
  { wantedMicro, leastMicro, keepMicro, nodes }: AllowanceRequest,
  beforeMicro: Micro,
  freeMicro: Micro | null,
): Micro {
  if (wantedMicro === 0n) return least(keepMicro, beforeMicro)
  if (freeMicro === null) return beforeMicro
  const grantedMicro = least(wantedMicro, (freeMicro + beforeMicro) / BigInt(2 * nodes))
  return grantedMicro >= leastMicro && grantedMicro > beforeMicro ? grantedMicro : beforeMicro
}

/**
 * The keys whose held amount differs from the one before the batch: money that was drawn from an allowance and put back
 * changes nothing.
 */
export function changedKeys(before: ReadonlyMap<KeyRow, Micro>): ReadonlySet<KeyRow> {
  const changed = new Set<KeyRow>()
  for (const [key, beforeMicro] of before) {
    assert(key.heldMicro >= 0n, `Key ${key.id} would hold less than nothing.`)
    if (key.heldMicro !== beforeMicro) changed.add(key)
  }
  return changed
}

export function refusal(
  account: AccountRow | undefined,
  key: KeyRow | undefined,
  atMs: number,
): Extract<HoldOutcome, { status: 'refused' }>['reason'] | null {
  if (account === undefined || key === undefined || key.deleted || key.accountId !== account.id)
    return 'invalid_api_key'
  if (key.expiresAtMs !== null && key.expiresAtMs <= atMs) return 'key_expired'
  if (account.status === 'deactivated') return 'account_deactivated'
  if (account.status === 'locked') return 'api_locked'
  return key.disabled ? 'key_deactivated' : null
}

/** Whether an expired hold's request has ended free: like a voided hold, except for the name of its state. */
export function closedAfterExpiry(hold: HoldRow): boolean {
  return hold.state === 'expired' && hold.chargedMicro !== null
}

/** A guarded void whose answer was lost may have been charged: a repeat gets the same outcome. */
export function voidOfCharged({ chargedMicro, shortfallMicro }: HoldRow, { guarded }: VoidRequest): VoidOutcome {
  return guarded === undefined
    ? { status: 'not_open', state: 'settled' }
    : { status: 'charged', chargedMicro: chargedMicro ?? 0n, shortfallMicro: shortfallMicro ?? 0n }
}

/**
 * The day of a charge in statements: the day on which it is made, but never one in a closed month, whose statement the
 * customer has seen.
 */
export function bookedDay(hold: HoldRow, account: AccountRow, day = ''): string {
  const { day: placed } = hold.periods
  const booked = [day, account.openDay].reduce((latest, each) => (each > latest ? each : latest), placed)
  return booked === placed ? '' : booked
}

export function newHold(request: HoldRequest): HoldRow {
  return {
    id: request.generationId,
    accountId: request.accountId,
    keyId: request.keyId,
    amountMicro: request.amountMicro,
    state: 'open',
    priceVersion: request.priceVersion,
    subject: request.subject,
    periods: request.periods,
    node: request.node,
    leaseUntilMs: request.leaseUntilMs,
    placedAtMs: request.atMs,
    endedAtMs: null,
    chargedMicro: null,
    shortfallMicro: null,
    bookedDay: '',
    intact: true,
  }
}

export function least(first: Micro, ...rest: readonly Micro[]): Micro {
  return rest.reduce((smallest, value) => (value < smallest ? value : smallest), first)
}
