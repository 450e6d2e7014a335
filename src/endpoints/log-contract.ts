import { BILLING_BASES, END_REASONS } from '../ledger/generation-record.ts'
import { REQUEST_TYPES } from '../model-types.ts'
import { flag, nullable, object, oneOf, only, optional, rub, text, time, whole, type Static } from '../schema.ts'

export const RequestStatus = oneOf(['completed', 'error', 'cancelled'])

/** A row of the log as the API lists it. */
export const LogRecord = object({
  id: whole(),
  model_name: text(),
  input_tokens: whole(),
  output_tokens: whole(),
  total_cost: rub(),
  timestamp: time('When it ended.'),
  currency: only('RUB'),
  generation_id: text(),
  request_id: text(),
  type: oneOf(REQUEST_TYPES),
  status: RequestStatus,
  provider_name: nullable(text()),
  finish_reason: nullable(oneOf(END_REASONS)),
  cached_tokens: whole(),
  reasoning_tokens: whole(),
  streamed: flag(),
  billing_basis: oneOf(BILLING_BASES),
  latency_ms: nullable(whole('To the first token.')),
  duration_ms: whole(),
  key_name: text(),
  app_title: nullable(text()),
  app_url: nullable(text()),
})
export type LogRecord = Static<typeof LogRecord>

/** Where a search was cut short. */
export const SearchNotes = object({
  total_exact: optional(only(false, 'There are at least `total`.')),
  searched_to: optional(time('Rows that ended before it were not looked at.')),
})
export type SearchNotes = Static<typeof SearchNotes>
