import { given, type Given } from './objects.ts'
import { timeParameter } from './query-parameters.ts'
import { optional, time } from './schema.ts'

/** A part of a list by time. */
export const TIME_RANGE = { from: optional(time()), to: optional(time('Not included.')) }

export function timeRange(query: URLSearchParams): Given<{ readonly fromMs: number; readonly toMs: number }> {
  return given({ fromMs: timeParameter(query, 'from'), toMs: timeParameter(query, 'to') })
}
