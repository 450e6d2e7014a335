import { ERROR_TYPES } from '../../base/errors.ts'
import { given } from '../../base/objects.ts'
import { choiceParameter, textParameter } from '../../base/query-parameters.ts'
import { TIME_RANGE, timeRange } from '../../base/time-range.ts'
import {
  list,
  map,
  anything,
  nullable,
  object,
  oneOf,
  optional,
  text,
  time,
  whole,
  type Static,
} from '../../base/schema.ts'
import { isoTime } from '../../base/time.ts'
import type { RefusalFilter, RefusalRecord, RefusalSum } from '../../store/refusals/refusal-store.ts'

const ErrorName = oneOf(ERROR_TYPES)

export const REFUSAL_FILTERS = {
  key: optional(text()),
  error_type: optional(ErrorName),
  request_id: optional(text('Exactly. Of a minute the first twenty ids are kept, and the newest.')),
  ...TIME_RANGE,
}

export const Refusal = object(
  {
    id: text(),
    at: time('When the newest of them was refused.'),
    times: whole('How many there were in its minute.'),
    account: text(),
    key: nullable(text('null = several: one minute has too many.')),
    key_name: text('As it was then.'),
    model: nullable(text('What the request named; null = nothing, many names, or a text that is no name.')),
    error_type: ErrorName,
    status: whole('Of the answer.'),
    message: text('Of the answer, up to what it quotes of the request.'),
    request_id: text(),
    path: text(),
    figures: map(anything(), "The numbers of the answer's `error.metadata`, and its `retry_after`."),
  },
  'Requests of a key that were refused for one cause in one minute, with the newest of them in full. They cost nothing. Kept for seven days, at most some 5,000 of an account.',
)
export type Refusal = Static<typeof Refusal>

export const RefusalSums = list(
  object({ times: whole(), newest: Refusal }),
  'Requests that were refused since the day began, most first: by key and cause, at most 10.',
)
export type RefusalSums = Static<typeof RefusalSums>

export function readRefusalFilter(query: URLSearchParams): RefusalFilter {
  return {
    ...given({
      keyId: textParameter(query, 'key'),
      cause: choiceParameter(query, 'error_type', ErrorName),
      requestId: textParameter(query, 'request_id'),
    }),
    ...timeRange(query),
  }
}

export function refusalView(record: RefusalRecord): Refusal {
  const { id, accountId, keyId, keyName, model, cause, times, atMs, requestId, status, path, message, figures } = record
  return {
    id,
    at: isoTime(atMs),
    times,
    account: accountId,
    key: keyId === '' ? null : keyId,
    key_name: keyName,
    model: model === '' ? null : model,
    error_type: cause,
    status,
    message,
    request_id: requestId,
    path,
    figures,
  }
}

export function refusalSums(sums: readonly RefusalSum[]): RefusalSums {
  return sums.map(({ times, newest }) => ({ times, newest: refusalView(newest) }))
}
