import { fieldError } from '../base/refusals.ts'
import { DAY_MS, dayAfter, isDay } from '../base/time.ts'

const DAYS_MAX = 366

/** Every day from one to another, both included. */
export function daysBetween(from: string, to: string): readonly string[] {
  const count = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1
  return Array.from({ length: count }, (_, index) => dayAfter(from, index))
}

/** `from` and `to` of a query, both included; by default the last 30 days. */
export function dayRange(query: URLSearchParams, today: string): { readonly from: string; readonly to: string } {
  const to = dayParameter(query, 'to') ?? today
  const from = dayParameter(query, 'from') ?? dayAfter(to, -29)
  if (from > to) throw fieldError('from', 'not_after', {}, `must not be after to, got ${from} and ${to}`)
  if (Date.parse(to) - Date.parse(from) >= DAYS_MAX * DAY_MS)
    throw fieldError('from', 'days_most', { most: DAYS_MAX }, `at most ${DAYS_MAX} days can be requested at once`)
  return { from, to }
}

function dayParameter(query: URLSearchParams, name: string): string | null {
  const text = query.get(name)
  if (text === null) return null
  if (isDay(text)) return text
  throw fieldError(name, 'day', {}, `must be a day such as 2026-11-20, got '${text.slice(0, 40)}'`)
}
