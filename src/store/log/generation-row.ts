import {
  LOG_FIELDS,
  type FieldName,
  type GenerationRecord,
  type GenerationRow,
} from '../../ledger/generation-record.ts'
import type { LogRow } from '../../ledger/ledger-store.ts'
import { big, integer, text, textOrNull, type Row } from '../database.ts'
import { WrittenColumns, type WrittenColumn } from '../written-columns.ts'

interface LogColumn {
  readonly type: WrittenColumn<LogRow>[0]
  readonly write: WrittenColumn<LogRow>[1]
  readonly field: FieldName | null
  readonly read: (row: Row, name: string) => unknown
}

/** A column that holds a field of the log. */
function column<K extends FieldName>(
  type: LogColumn['type'],
  field: K,
  read: (row: Row, name: string) => GenerationRow[K],
  write: LogColumn['write'],
): LogColumn {
  return { type, field, read, write }
}

/** The columns of a written row, which its seal covers in this order. New ones come last. */
const COLUMNS: Readonly<Record<string, LogColumn>> = {
  generation_id: column('text', 'generationId', text, ({ record }) => record.generationId),
  account_id: column('text', 'accountId', text, ({ record }) => record.accountId),
  seq: { type: 'int8', write: ({ seq }) => seq, field: null, read: big },
  key_id: column('text', 'keyId', text, ({ record }) => record.keyId),
  request_id: column('text', 'requestId', text, ({ record }) => record.requestId),
  // Only this folder writes type and status, from the same types.
  type: column(
    'text',
    'type',
    (row, name) => text(row, name) as GenerationRow['type'],
    ({ record }) => record.type,
  ),
  model: column('text', 'model', text, ({ record }) => record.model),
  provider: column('text', 'providerSlug', textOrNull, ({ record }) => record.providerSlug),
  status: column(
    'text',
    'status',
    (row, name) => text(row, name) as GenerationRow['status'],
    ({ record }) => record.status,
  ),
  cost: column('int8', 'costMicro', big, ({ costMicro }) => costMicro),
  provider_cost: column('int8', 'providerCostMicro', big, ({ providerCostMicro }) => providerCostMicro),
  shortfall: column('int8', 'shortfallMicro', big, ({ shortfallMicro }) => shortfallMicro),
  insured: column('int8', 'insuredMicro', big, ({ insuredMicro }) => insuredMicro),
  input_tokens: column('int8', 'inputTokens', integer, ({ record }) => BigInt(record.inputTokens)),
  output_tokens: column('int8', 'outputTokens', integer, ({ record }) => BigInt(record.outputTokens)),
  price_version: column('int8', 'priceVersion', integer, ({ record }) => BigInt(record.priceVersion)),
  created_at: column('int8', 'createdAtMs', integer, ({ record }) => BigInt(record.createdAtMs)),
  ended_at: column('int8', 'endedAtMs', integer, ({ atMs }) => BigInt(atMs)),
  record: { type: 'text', write: ({ record }) => detailsText(record), field: null, read: text },
}
const READ = Object.entries(COLUMNS).filter(([, { field }]) => field !== null)
const IN_COLUMNS: ReadonlySet<unknown> = new Set(READ.map(([, { field }]) => field))
/** Fields without a column: they are in `record`. */
// These are exactly the names of the table.
const DETAILS = (Object.keys(LOG_FIELDS) as FieldName[]).filter(
  (name): name is FieldName & keyof GenerationRecord => LOG_FIELDS[name].by === 'request' && !IN_COLUMNS.has(name),
)
const OPTIONAL: ReadonlySet<FieldName> = new Set(DETAILS.filter((name) => 'optional' in LOG_FIELDS[name]))

/** The writer adds the seal. */
export const LOG_COLUMNS = new WrittenColumns<LogRow>(
  Object.fromEntries(Object.entries(COLUMNS).map(([name, { type, write }]) => [name, [type, write]])),
)

const SELECTED = ['id', ...READ.map(([name]) => name), 'record']
  .map((name) => `generation.${name} AS ${name}`)
  .join(', ')
export const GENERATION_SELECT = `SELECT ${SELECTED}, api_key.name AS key_name
  FROM generation LEFT JOIN api_key ON api_key.id = generation.key_id`

/** Null fields are left out, which halves the row. */
function detailsText(record: GenerationRecord): string {
  const details: Partial<Record<FieldName, unknown>> = {}
  for (const name of DETAILS) {
    const value = record[name]
    if (value !== null && value !== undefined) details[name] = value
  }
  return JSON.stringify(details)
}

export function readGeneration(row: Row): GenerationRow {
  const read: Partial<Record<FieldName, unknown>> = { id: integer(row, 'id') }
  for (const [name, column] of READ) if (column.field !== null) read[column.field] = column.read(row, name)
  // Written by `detailsText`.
  const details = JSON.parse(text(row, 'record')) as Partial<Record<FieldName, unknown>>
  for (const name of DETAILS) {
    if (details[name] !== undefined) read[name] = details[name]
    else if (!OPTIONAL.has(name)) read[name] = null
  }
  read.keyName = textOrNull(row, 'key_name') ?? ''
  // Each field is either in a column or in the details.
  return read as unknown as GenerationRow
}
