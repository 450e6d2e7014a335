import { fieldError } from './refusals.ts'
import { DAY_MS, dayAfter, isDay } from './time.ts'

/**
 * The most rows that a page of a list may skip: they are read, so a page further down costs more than one at the top.
 * Further on, a cursor names the row before the page.
 */
export const PAGE_DEPTH_MAX = 10_000

export function textParameter(query: URLSearchParams, name: string): string | null {
  return query.get(name)
}

/** A flag that is `true` or absent; null when absent. */
export function onlyParameter(query: URLSearchParams, name: string): true | null {
  const given = query.get(name)
  if (given === null || given === 'true') return given === null ? null : true
  throw fieldError(name, 'one_of', { allowed: 'true' }, 'must be true, or left out')
}

/** A whole number of the query; null when absent. A number out of range is the client's error (wire.md D-1.4). */
export function wholeParameter(query: URLSearchParams, name: string, least: number, most: number): number | null {
  const text = query.get(name)
  if (text === null) return null
  const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  const got = `got '${text.slice(0, 40)}'`
  throw most === Number.MAX_SAFE_INTEGER
    ? fieldError(name, 'least', { least }, `must be a whole number of at least ${least}, ${got}`)
    : fieldError(name, 'whole', { least, most }, `must be a whole number from ${least} to ${most}, ${got}`)
}

/** Years of four digits: days are compared as texts, and other times have no day. */
const TIME_LEAST = Date.UTC(1970, 0)
const TIME_MOST = Date.UTC(9999, 11)

/** An ISO time of the query as Unix ms; null when absent. */
export function timeParameter(query: URLSearchParams, name: string): number | null {
  const text = query.get(name)
  if (text === null) return null
  const value = Date.parse(text)
  if (value >= TIME_LEAST && value <= TIME_MOST) return value
  throw fieldError(name, 'time', {}, `must be an ISO time such as 2026-11-20T15:06:04Z, got '${text.slice(0, 40)}'`)
}

/** One of the values that a parameter may have; null when absent. */
export function choiceParameter<T extends string>(
  query: URLSearchParams,
  name: string,
  { enum: choices }: { readonly enum: readonly T[] },
): T | null {
  const text = query.get(name)
  if (text === null) return null
  const found = choices.find((choice) => choice === text)
  if (found !== undefined) return found
  const allowed = choices.join(', ')
  throw fieldError(name, 'one_of', { allowed })
}

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
  if (Date.parse(to) - Date.parse(from) >= DAYS_MAX * DAY_MS) throw fieldError('from', 'days_most', { most: DAYS_MAX })
  return { from, to }
}

function dayParameter(query: URLSearchParams, name: string): string | null {
  const text = query.get(name)
  if (text === null) return null
  if (isDay(text)) return text
  throw fieldError(name, 'day', {}, `must be a day such as 2026-11-20, got '${text.slice(0, 40)}'`)
}
