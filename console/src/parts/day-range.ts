import { dayIn, endOfDay, startOfDay } from './zoned-day.ts'

const DAY_MS = 86_400_000

/** `YYYY-MM-DD`, both included. */
export interface DayRange {
  readonly from: string
  readonly to: string
}

export function today(): string {
  return new Date().toISOString().slice(0, 10)
}

function daysBack(days: number): string {
  return new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10)
}

export function lastDays(days: number): DayRange {
  return { from: daysBack(days - 1), to: today() }
}

/** The days of this month so far, or of the month before. */
export function monthDays(which: 'this' | 'last'): DayRange {
  const now = today()
  const first = `${now.slice(0, 8)}01`
  if (which === 'this') return { from: first, to: now }
  const to = new Date(Date.parse(first) - DAY_MS).toISOString().slice(0, 10)
  return { from: `${to.slice(0, 8)}01`, to }
}

/**
 * The first and the last moment of two days in the reader's time zone. A moment stands for itself; what is neither is
 * left out.
 */
export function timesOf(
  from: string | undefined,
  to: string | undefined,
  zone: string,
): { readonly from?: string; readonly to?: string } {
  const start = momentOf(from) ?? startOfDay(from ?? '', zone)
  const end = momentOf(to) ?? endOfDay(to ?? '', zone)
  return {
    ...(start === null ? {} : { from: start.toISOString() }),
    ...(end === null ? {} : { to: end.toISOString() }),
  }
}

/** The day that a field shows for a day or a moment; a moment that ends a time is not in it. */
export function shownDay(text: string | undefined, zone: string, edge: 'from' | 'to'): string {
  const moment = momentOf(text)
  return moment === null ? (text ?? '') : dayIn(moment.getTime() - (edge === 'to' ? 1 : 0), zone)
}

function momentOf(text: string | undefined): Date | null {
  return text !== undefined && text.includes('T') && !Number.isNaN(Date.parse(text)) ? new Date(text) : null
}
