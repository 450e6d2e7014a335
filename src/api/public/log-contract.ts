import { viewSchemas } from '../../ledger/generation-record.ts'
import { object, only, optional, time, type Static } from '../../base/schema.ts'

const { id, model_name, input_tokens, output_tokens, total_cost, timestamp, ...rest } = viewSchemas('api')

/** A row of the log in the API's list. */
export const LogRecord = object({
  id,
  model_name,
  input_tokens,
  output_tokens,
  total_cost,
  timestamp,
  currency: only('RUB'),
  ...rest,
})
export type LogRecord = Static<typeof LogRecord>

/** Notes on a search that was cut short. */
export const SearchNotes = object({
  total_exact: optional(only(false, 'There are at least `total`.')),
  searched_to: optional(time('Rows that ended before it were not looked at.')),
})
export type SearchNotes = Static<typeof SearchNotes>
