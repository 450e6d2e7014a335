import { dayAfter, isDay } from '../../../src/base/time.ts'
import * as period from '../../../src/ledger/period.ts'
import { given } from '../api/endpoint.ts'

/** When a day (`YYYY-MM-DD`) begins in a time zone; null = not a day. */
export function startOfDay(day: string, zone: string): Date | null {
  return isDay(day) ? new Date(period.startOfDay(day, zone)) : null
}

/** When a day ends, which is when the next one begins. A day may have 23 or 25 hours. */
export function endOfDay(day: string, zone: string): Date | null {
  return isDay(day) ? startOfDay(dayAfter(day), zone) : null
}

/** The last second of a day, for things that expire at its end; null = not a day. */
export function lastSecondOf(day: string, zone: string): string | null {
  const end = endOfDay(day, zone)
  return end === null ? null : new Date(end.getTime() - 1_000).toISOString()
}

/** The day in a time zone at the time `ms`. */
export function dayIn(ms: number, zone: string): string {
  return period.periodStarts(ms, zone).day
}

/** `YYYY-MM-DD`, both included. */
export interface DayRange {
  readonly from: string
  readonly to: string
}

/** The day that it is now in a time zone. */
export function today(zone = 'UTC'): string {
  return dayIn(Date.now(), zone)
}

export function lastDays(days: number, now: string): DayRange {
  return { from: dayAfter(now, 1 - days), to: now }
}

/** The days of this month so far, or of last month. */
export function monthDays(which: 'this' | 'last', now: string): DayRange {
  const first = `${now.slice(0, 8)}01`
  if (which === 'this') return { from: first, to: now }
  const to = dayAfter(first, -1)
  return { from: `${to.slice(0, 8)}01`, to }
}

/**
 * Days of the service's time zone in the form of the log's address, whose days are those of the reader: as times if the
 * zones differ.
 */
export function logSpan({ from, to }: DayRange, zone: string, serviceZone: string): DayRange {
  const [start, end] = [startOfDay(from, serviceZone), endOfDay(to, serviceZone)]
  return zone === serviceZone || start === null || end === null
    ? { from, to }
    : { from: start.toISOString(), to: end.toISOString() }
}

/**
 * The times at which two days begin and end in the reader's time zone. A time stays as it is; other texts are left out.
 */
export function timesOf(
  from: string | undefined,
  to: string | undefined,
  zone: string,
): { readonly from?: string; readonly to?: string } {
  const start = momentOf(from) ?? startOfDay(from ?? '', zone)
  const end = momentOf(to) ?? endOfDay(to ?? '', zone)
  return given({ from: start?.toISOString(), to: end?.toISOString() })
}

/** The day that a field shows for a day or a time; the end of a range is exclusive. */
export function shownDay(text: string | undefined, zone: string, edge: 'from' | 'to'): string {
  const moment = momentOf(text)
  return moment === null ? (text ?? '') : dayIn(moment.getTime() - (edge === 'to' ? 1 : 0), zone)
}

function momentOf(text: string | undefined): Date | null {
  return text !== undefined && text.includes('T') && !Number.isNaN(Date.parse(text)) ? new Date(text) : null
}
