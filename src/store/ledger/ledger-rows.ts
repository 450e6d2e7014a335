import { type AccountPeriod, accountSpendText, limitPeriod, uncountedPeriod } from '../../ledger/hold-rules.ts'
import {
  ownerOf,
  spendKeyText,
  type AccountRow,
  type HoldRow,
  type HoldState,
  type HoldSubject,
  type KeyRow,
  type LedgerOperation,
  type LimitReset,
  type SpendKey,
} from '../../ledger/ledger-store.ts'
import { SELECT_ACCOUNT_SPEND, SELECT_SPEND } from './ledger-values.ts'
import type { BookSeal } from '../audit/book-seal.ts'
import { NO_LIVE_JOB } from './job-rows.ts'
import { big, bigOrNull, integer, integerOrNull, json, text, textOrNull, type Row, type Sql } from '../database.ts'

export const ACCOUNT_SELECT =
  'SELECT id, status, available, held, log_rows, log_dropped, entry_head, free_hour, free_insured, free_spent, open_day, rate_limit, allowed_models, group_id, markup, low_balance, exact_holds, spend_limit, limit_reset, limit_start, limit_spent, limit_over, limit_over_start, seal FROM account'
export const KEY_SELECT =
  'SELECT id, account_id, disabled, deleted, expires_at, spend_limit, limit_reset, held FROM api_key'
export const HOLD_SELECT = `SELECT id, account_id, key_id, amount, state, price_version, subject, day, week, month, node, lease_until, placed_at, ended_at, charged, shortfall, booked, seal FROM hold`

/** A row with a broken seal stays so: our later writes leave its seal empty. */
export function readAccountRow(row: Row, seal: BookSeal): AccountRow {
  return {
    id: text(row, 'id'),
    // A CHECK of the schema bounds it.
    status: text(row, 'status') as AccountRow['status'],
    availableMicro: big(row, 'available'),
    heldMicro: big(row, 'held'),
    logRows: big(row, 'log_rows'),
    entryHead: text(row, 'entry_head'),
    freeHourMs: integer(row, 'free_hour'),
    freeInsuredMicro: big(row, 'free_insured'),
    freeSpentMicro: big(row, 'free_spent'),
    logDropped: big(row, 'log_dropped'),
    openDay: text(row, 'open_day'),
    rateLimitText: textOrNull(row, 'rate_limit'),
    allowedModelsText: textOrNull(row, 'allowed_models'),
    groupId: textOrNull(row, 'group_id'),
    markup: textOrNull(row, 'markup'),
    lowBalanceMicro: bigOrNull(row, 'low_balance'),
    exactHolds: big(row, 'exact_holds') !== 0n,
    limitMicro: bigOrNull(row, 'spend_limit'),
    // A CHECK of the schema bounds it.
    limitReset: textOrNull(row, 'limit_reset') as LimitReset | null,
    limitStart: textOrNull(row, 'limit_start'),
    limitSpentMicro: big(row, 'limit_spent'),
    limitOverMicro: bigOrNull(row, 'limit_over'),
    limitOverStart: textOrNull(row, 'limit_over_start'),
    intact: seal.holds('account', row),
  }
}

export function readKeyRow(row: Row): KeyRow {
  return {
    id: text(row, 'id'),
    accountId: text(row, 'account_id'),
    disabled: big(row, 'disabled') !== 0n,
    deleted: big(row, 'deleted') !== 0n,
    expiresAtMs: integerOrNull(row, 'expires_at'),
    limitMicro: bigOrNull(row, 'spend_limit'),
    // A CHECK of the schema bounds it.
    limitReset: textOrNull(row, 'limit_reset') as LimitReset | null,
    heldMicro: big(row, 'held'),
  }
}

export function readHoldRow(row: Row, seal: BookSeal): HoldRow {
  const subject = json<HoldSubject>(row, 'subject')
  if (subject === null) throw new TypeError('A hold has a subject.')
  return {
    id: text(row, 'id'),
    accountId: text(row, 'account_id'),
    keyId: text(row, 'key_id'),
    amountMicro: big(row, 'amount'),
    // A CHECK of the schema bounds it.
    state: text(row, 'state') as HoldState,
    priceVersion: integer(row, 'price_version'),
    subject,
    periods: { day: text(row, 'day'), week: text(row, 'week'), month: text(row, 'month') },
    node: text(row, 'node'),
    leaseUntilMs: integer(row, 'lease_until'),
    placedAtMs: integer(row, 'placed_at'),
    endedAtMs: integerOrNull(row, 'ended_at'),
    chargedMicro: bigOrNull(row, 'charged'),
    shortfallMicro: bigOrNull(row, 'shortfall'),
    bookedDay: text(row, 'booked'),
    intact: seal.holds('hold', row),
  }
}

/** Open holds that no job keeps open, and whose lease ended before `nowMs`; null = with any lease. */
export async function readOpenHolds(
  sql: Pick<Sql, 'all'>,
  nowMs: number | null,
  seal: BookSeal,
): Promise<readonly HoldRow[]> {
  const before = nowMs === null ? '' : ' AND lease_until < ?'
  const rows = await sql.all(
    `${HOLD_SELECT} WHERE state = 'open' AND ${NO_LIVE_JOB}${before}`,
    nowMs === null ? [] : [BigInt(nowMs)],
  )
  return rows.map((row) => readHoldRow(row, seal))
}

/** The period whose spending an operation depends on; null = its key has no limit, or no hold is open for it. */
export function spendingPeriodOf(
  operation: LedgerOperation,
  hold: HoldRow | undefined,
  keys: ReadonlyMap<string, KeyRow>,
): SpendKey | null {
  const owner = hold ?? ownerOf(operation)
  const key = owner === null ? undefined : keys.get(owner.keyId)
  return owner === null || key === undefined ? null : limitPeriod(key, owner.periods)
}

/** The period that the account's limit counts in, if the account's row has no sum for it yet; null = it has one. */
export function uncountedPeriodOf(
  operation: LedgerOperation,
  hold: HoldRow | undefined,
  accounts: ReadonlyMap<string, AccountRow>,
): AccountPeriod | null {
  const owner = hold ?? ownerOf(operation)
  const account = owner === null ? undefined : accounts.get(owner.accountId)
  return owner === null || account === undefined ? null : uncountedPeriod(account, owner.periods)
}

/** A look-up of the spending of a key, or of all keys of an account (`keyId` null). */
export interface SpendQuery {
  readonly name: string
  readonly keyId: string | null
  readonly select: string
  readonly values: readonly string[]
}

const NO_QUERIES: readonly SpendQuery[] = []

/** The spendings that an operation depends on. */
export function spendQueries(
  operation: LedgerOperation,
  hold: HoldRow | undefined,
  accounts: ReadonlyMap<string, AccountRow>,
  keys: ReadonlyMap<string, KeyRow>,
): readonly SpendQuery[] {
  const ofKey = spendingPeriodOf(operation, hold, keys)
  const ofAccount = uncountedPeriodOf(operation, hold, accounts)
  if (ofKey === null && ofAccount === null) return NO_QUERIES
  const queries: SpendQuery[] = []
  if (ofKey !== null) {
    const { keyId, period, start } = ofKey
    queries.push({ name: spendKeyText(ofKey), keyId, select: SELECT_SPEND, values: [keyId, period, start] })
  }
  if (ofAccount !== null) {
    const { accountId, period, start } = ofAccount
    const values = [period, start, accountId]
    queries.push({ name: accountSpendText(ofAccount), keyId: null, select: SELECT_ACCOUNT_SPEND, values })
  }
  return queries
}
