import type { LimitReset, PeriodStarts } from './ledger-store.ts'
import { DAY_MS, isoDay } from '../base/time.ts'

const FORMATTERS_MAX = 16
const formatters = new Map<string, Intl.DateTimeFormat>()

/** A calendar day without a zone, as the Unix ms of its midnight in UTC, for arithmetic. */
type CivilDay = number

/** The local day that contains `atMs`. */
function civilDay(atMs: number, timezone: string): CivilDay {
  if (timezone === 'UTC') return Math.floor(atMs / DAY_MS) * DAY_MS
  const parts: Record<string, string> = {}
  for (const { type, value } of formatter(timezone).formatToParts(atMs)) parts[type] = value
  return Date.UTC(Number(parts['year']), Number(parts['month']) - 1, Number(parts['day']))
}

/** Cached: making a formatter costs a hundred times more than using it. */
function formatter(timezone: string): Intl.DateTimeFormat {
  let known = formatters.get(timezone)
  if (known === undefined) {
    if (formatters.size >= FORMATTERS_MAX) formatters.clear()
    known = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
    })
    formatters.set(timezone, known)
  }
  return known
}

function monday(day: CivilDay): CivilDay {
  return day - ((new Date(day).getUTCDay() + 6) % 7) * DAY_MS
}

function firstOfMonth(day: CivilDay, monthsLater = 0): CivilDay {
  const date = new Date(day)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + monthsLater, 1)
}

/**
 * The spending-limit periods that contain `atMs`: a day, a week from Monday, a month, in the service's time zone
 * (wire.md D-9.1).
 */
export function periodStarts(atMs: number, timezone: string): PeriodStarts {
  const day = civilDay(atMs, timezone)
  return { day: isoDay(day), week: isoDay(monday(day)), month: isoDay(firstOfMonth(day)) }
}

/** Unix ms of the end of the period of `reset` that contains `atMs`: the first instant of the next one. */
export function periodEndMs(atMs: number, reset: LimitReset, timezone: string): number {
  const day = civilDay(atMs, timezone)
  const next = reset === 'daily' ? day + DAY_MS : reset === 'weekly' ? monday(day) + 7 * DAY_MS : firstOfMonth(day, 1)
  return startOfDayMs(next, timezone)
}

/**
 * The first instant of a local day. Zones change their offsets at odd hours, even at midnight, so the instant is
 * searched for between bounds that no offset exceeds, rather than computed from one offset.
 */
function startOfDayMs(day: CivilDay, timezone: string): number {
  let low = day - DAY_MS
  let high = day + DAY_MS
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (civilDay(middle, timezone) >= day) high = middle
    else low = middle
  }
  return high
}

/** Unix ms of the first instant of a day such as `2026-11-01`. */
export function startOfDay(day: string, timezone: string): number {
  return startOfDayMs(Date.parse(day), timezone)
}

/** Whether the name is a time zone of this runtime. */
export function isTimezone(name: string): boolean {
  try {
    formatter(name)
    return true
  } catch {
    return false
  }
}
