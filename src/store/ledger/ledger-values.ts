import type { AccountRow, EntryRow, HoldRow, LedgerChanges } from '../../ledger/ledger-store.ts'
import { sealedPlaces, type BookSeal } from '../audit/book-seal.ts'
import { LOG_COLUMNS } from '../log/generation-row.ts'
import { bigintOrNull } from '../rows.ts'
import { WrittenColumns, type Cell } from '../written-columns.ts'

/** The columns that the ledger changes. */
const ACCOUNT = new WrittenColumns<AccountRow>({
  available: ['int8', ({ availableMicro }) => availableMicro],
  held: ['int8', ({ heldMicro }) => heldMicro],
  log_rows: ['int8', ({ logRows }) => logRows],
  entry_head: ['text', ({ entryHead }) => entryHead],
  free_hour: ['int8', ({ freeHourMs }) => BigInt(freeHourMs)],
  free_insured: ['int8', ({ freeInsuredMicro }) => freeInsuredMicro],
  free_spent: ['int8', ({ freeSpentMicro }) => freeSpentMicro],
  limit_start: ['text', ({ limitStart }) => limitStart],
  limit_spent: ['int8', ({ limitSpentMicro }) => limitSpentMicro],
})
const HOLD = new WrittenColumns<HoldRow>({
  id: ['text', ({ id }) => id],
  account_id: ['text', ({ accountId }) => accountId],
  key_id: ['text', ({ keyId }) => keyId],
  amount: ['int8', ({ amountMicro }) => amountMicro],
  state: ['text', ({ state }) => state],
  price_version: ['int8', ({ priceVersion }) => BigInt(priceVersion)],
  subject: ['text', ({ subject }) => JSON.stringify(subject)],
  day: ['text', ({ periods }) => periods.day],
  week: ['text', ({ periods }) => periods.week],
  month: ['text', ({ periods }) => periods.month],
  node: ['text', ({ node }) => node],
  lease_until: ['int8', ({ leaseUntilMs }) => BigInt(leaseUntilMs)],
  placed_at: ['int8', ({ placedAtMs }) => BigInt(placedAtMs)],
  ended_at: ['int8', ({ endedAtMs }) => bigintOrNull(endedAtMs)],
  charged: ['int8', ({ chargedMicro }) => chargedMicro],
  shortfall: ['int8', ({ shortfallMicro }) => shortfallMicro],
  booked: ['text', ({ bookedDay }) => bookedDay],
})
const ENTRY = new WrittenColumns<EntryRow>({
  debit: ['text', ({ debit }) => debit],
  credit: ['text', ({ credit }) => credit],
  amount: ['int8', ({ amountMicro }) => amountMicro],
  kind: ['text', ({ kind }) => kind],
  ref: ['text', ({ reference }) => reference],
  account_id: ['text', ({ accountId }) => accountId],
  created_at: ['int8', ({ atMs }) => BigInt(atMs)],
  hash: ['text', ({ hash }) => hash],
})
const HOLD_END = HOLD.part('state', 'ended_at', 'charged', 'shortfall', 'booked')
const ALLOWANCE = HOLD.part('amount', 'state', 'ended_at')
const HOLD_SEALED = sealedPlaces('hold', HOLD.names)

/** The hot path's columns with their types, as PostgreSQL takes many rows. */
export const TYPES = {
  account: sealed(ACCOUNT),
  hold: sealed(HOLD),
  holdEnd: sealed(HOLD_END),
  allowance: sealed(ALLOWANCE),
  entry: ENTRY.types,
  log: sealed(LOG_COLUMNS),
} as const

// The same for one row, the same text in both dialects.
export const INSERT_HOLD = insertText('hold', [...HOLD.names, 'seal'])
/** The columns that the end of a hold changes. */
export const HOLD_END_COLUMNS = HOLD_END.names
export const UPDATE_HOLD = updateText('hold', HOLD_END)
export const UPDATE_ALLOWANCE = updateText('hold', ALLOWANCE)
export const UPDATE_ACCOUNT = updateText('account', ACCOUNT)
export const UPDATE_KEY = 'UPDATE api_key SET held = ? WHERE id = ?'
export const INSERT_ENTRY = insertText('entry', ENTRY.names)
export const INSERT_LOG = insertText('generation', [...LOG_COLUMNS.names, 'seal'])
export const SELECT_SPEND = 'SELECT spent FROM key_spend WHERE key_id = ? AND period = ? AND start = ?'
/** What all keys of an account, deleted ones too, have spent in a period. */
export const SELECT_ACCOUNT_SPEND = `SELECT CAST(COALESCE(SUM(s.spent), 0) AS BIGINT) AS spent FROM api_key k
  JOIN key_spend s ON s.key_id = k.id WHERE s.period = ? AND s.start = ? AND k.account_id = ?`

function sealed({ types }: { readonly types: string }): string {
  return `${types}, seal text`
}

function insertText(table: string, columns: readonly string[]): string {
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(',')})`
}

function updateText(table: string, { names }: { readonly names: readonly string[] }): string {
  return `UPDATE ${table} SET ${names.map((name) => `${name} = ?`).join(', ')}, seal = ? WHERE id = ?`
}

/** The ledger's changes of an account, in the order of its update; those of holds likewise. */
export function accountValues(row: AccountRow, seal: BookSeal): readonly Cell[] {
  const values = ACCOUNT.values(row)
  values.push(accountSeal(row, seal))
  return values
}

/** Empty if the row was changed from outside, so that no later write of ours hides that. */
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

export function holdValues(hold: HoldRow, seal: BookSeal): readonly Cell[] {
  const values = HOLD.values(hold)
  values.push(holdSeal(hold, values, seal))
  return values
}

export function holdEndValues(hold: HoldRow, seal: BookSeal): readonly Cell[] {
  return [...HOLD_END.values(hold), holdSeal(hold, HOLD.values(hold), seal)]
}

export function allowanceValues(row: HoldRow, seal: BookSeal): readonly Cell[] {
  return [...ALLOWANCE.values(row), holdSeal(row, HOLD.values(row), seal)]
}

function holdSeal({ intact }: HoldRow, values: readonly Cell[], seal: BookSeal): string {
  if (!intact) return ''
  return seal.of(
    'hold',
    HOLD_SEALED.map((place) => values[place]),
  )
}

export function entryValues(row: EntryRow): readonly Cell[] {
  return ENTRY.values(row)
}

export function logValues(log: LedgerChanges['log'][number], seal: BookSeal): readonly Cell[] {
  const values = LOG_COLUMNS.values(log)
  values.push(seal.of('generation', values))
  return values
}
