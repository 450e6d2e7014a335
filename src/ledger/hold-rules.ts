import { assert } from '../base/assert.ts'
import type { Micro } from '../base/money.ts'
import type {
  AccountRow,
  AllowanceRequest,
  HoldOutcome,
  HoldRequest,
  HoldRow,
  KeyRow,
  LimitReset,
  PeriodStarts,
  SpendKey,
  SpendPeriod,
  VoidOutcome,
  VoidRequest,
} from './ledger-store.ts'

const RESET_PERIODS: Readonly<Record<LimitReset, SpendPeriod>> = { daily: 'day', weekly: 'week', monthly: 'month' }

export function resetPeriod(reset: LimitReset | null): SpendPeriod {
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
