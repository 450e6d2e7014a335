import type { AccountRow, EntryRow, HoldRow, LedgerChanges } from '../../ledger/ledger-store.ts'
import { sealedPlaces, type BookSeal } from '../audit/book-seal.ts'
import { LOG_COLUMNS, logColumns } from '../log/generation-row.ts'
import { bigintOrNull } from '../rows.ts'

export const HOLD_COLUMNS = [
  'id',
  'account_id',
  'key_id',
  'amount',
  'state',
  'price_version',
  'subject',
  'day',
  'week',
  'month',
  'node',
  'lease_until',
  'placed_at',
  'ended_at',
  'charged',
  'shortfall',
  'booked',
]
const HOLD_SEALED = sealedPlaces('hold', HOLD_COLUMNS)

// The hot path's statements, the same text in both dialects.
export const INSERT_HOLD = insertText('hold', HOLD_COLUMNS)
/** The columns that the end of a hold changes. */
export const HOLD_END_COLUMNS = ['state', 'ended_at', 'charged', 'shortfall', 'booked']
export const UPDATE_HOLD = `UPDATE hold SET ${HOLD_END_COLUMNS.map((name) => `${name} = ?`).join(', ')}, seal = ? WHERE id = ?`
export const UPDATE_ALLOWANCE = 'UPDATE hold SET amount = ?, state = ?, ended_at = ?, seal = ? WHERE id = ?'
export const UPDATE_ACCOUNT =
  'UPDATE account SET available = ?, held = ?, log_rows = ?, entry_head = ?, free_hour = ?, free_insured = ?, free_spent = ?, limit_start = ?, limit_spent = ?, seal = ? WHERE id = ?'
export const UPDATE_KEY = 'UPDATE api_key SET held = ? WHERE id = ?'
export const ENTRY_COLUMNS = ['debit', 'credit', 'amount', 'kind', 'ref', 'account_id', 'created_at', 'hash']
const ENTRY_PLACES = ENTRY_COLUMNS.map(() => '?').join(',')
export const INSERT_ENTRY = `INSERT INTO entry (${ENTRY_COLUMNS.join(', ')}) VALUES (${ENTRY_PLACES})`
export const INSERT_LOG = insertText('generation', LOG_COLUMNS)
export const SELECT_SPEND = 'SELECT spent FROM key_spend WHERE key_id = ? AND period = ? AND start = ?'
/** What all keys of an account, deleted ones too, have spent in a period. */
export const SELECT_ACCOUNT_SPEND = `SELECT CAST(COALESCE(SUM(s.spent), 0) AS BIGINT) AS spent FROM api_key k
  JOIN key_spend s ON s.key_id = k.id WHERE s.period = ? AND s.start = ? AND k.account_id = ?`

/** Of a row with a seal. */
function insertText(table: string, columns: readonly string[]): string {
  return `INSERT INTO ${table} (${columns.join(', ')}, seal) VALUES (${columns.map(() => '?').join(',')},?)`
}

/** The ledger's changes of an account, in the order of its update. */
export function accountValues(row: AccountRow, seal: BookSeal): readonly (string | bigint | null)[] {
  return [
    row.availableMicro,
    row.heldMicro,
    row.logRows,
    row.entryHead,
    BigInt(row.freeHourMs),
    row.freeInsuredMicro,
    row.freeSpentMicro,
    row.limitStart,
    row.limitSpentMicro,
    accountSeal(row, seal),
  ]
}

/** Empty if somebody else has changed the row, so that no later write of ours hides that. */
function accountSeal(row: AccountRow, seal: BookSeal): string {
  if (!row.intact) return ''
  return seal.of('account', [
    row.id,
    row.entryHead,
    row.logRows,
    row.logDropped,
    row.freeHourMs,
    row.freeInsuredMicro,
    row.freeSpentMicro,
    row.openDay,
    row.status,
    row.rateLimitText,
    row.allowedModelsText,
    row.groupId,
    row.markup,
    row.limitMicro,
    row.limitReset,
    row.limitOverMicro,
    row.limitOverStart,
  ])
}

/** Values of a new hold, in the order of the column list that both dialects share. */
export function holdValues(hold: HoldRow, seal: BookSeal): readonly (string | bigint | null)[] {
  const values = columnsOfHold(hold)
  return [...values, holdSeal(hold, values, seal)]
}

/** The changes at the end of a hold, in the order of its update. */
export function holdEndValues(hold: HoldRow, seal: BookSeal): readonly (string | bigint | null)[] {
  return [
    hold.state,
    bigintOrNull(hold.endedAtMs),
    hold.chargedMicro,
    hold.shortfallMicro,
    hold.bookedDay,
    holdSeal(hold, columnsOfHold(hold), seal),
  ]
}

/** The columns that a new size or the end of an allowance changes, in the order of its update. */
export function allowanceValues(row: HoldRow, seal: BookSeal): readonly (string | bigint | null)[] {
  return [row.amountMicro, row.state, bigintOrNull(row.endedAtMs), holdSeal(row, columnsOfHold(row), seal)]
}

function columnsOfHold(hold: HoldRow): readonly (string | bigint | null)[] {
  const { periods } = hold
  return [
    hold.id,
    hold.accountId,
    hold.keyId,
    hold.amountMicro,
    hold.state,
    BigInt(hold.priceVersion),
    JSON.stringify(hold.subject),
    periods.day,
    periods.week,
    periods.month,
    hold.node,
    BigInt(hold.leaseUntilMs),
    BigInt(hold.placedAtMs),
    bigintOrNull(hold.endedAtMs),
    hold.chargedMicro,
    hold.shortfallMicro,
    hold.bookedDay,
  ]
}

function holdSeal(hold: HoldRow, values: readonly unknown[], seal: BookSeal): string {
  return !hold.intact
    ? ''
    : seal.of(
        'hold',
        HOLD_SEALED.map((place) => values[place]),
      )
}

/** Values of an entry, in the order of the column list that both dialects share. */
export function entryValues(row: EntryRow): readonly (string | bigint | null)[] {
  return [row.debit, row.credit, row.amountMicro, row.kind, row.reference, row.accountId, BigInt(row.atMs), row.hash]
}

/** Values of a log row, in the order of the column list that both dialects share. */
export function logValues(log: LedgerChanges['log'][number], seal: BookSeal): readonly (string | bigint | null)[] {
  const values = logColumns(log)
  values.push(seal.of('generation', values))
  return values
}
