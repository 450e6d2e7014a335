import { endOfDay, startOfDay } from './zoned-day.ts'

const DAY_MS = 86_400_000

/** `YYYY-MM-DD`, both included. */
export interface DayRange {
  readonly from: string
  readonly to: string
}

export function today(): string {
  return new Date().toISOString().slice(0, 10)
}

export function daysBack(days: number): string {
  return new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10)
}

export function lastDays(days: number): DayRange {
  return { from: daysBack(days - 1), to: today() }
}

/** The first and the last moment of two days in the reader's time zone; an invalid day is left out. */
export function timesOf(
  from: string | undefined,
  to: string | undefined,
  zone: string,
): { readonly from?: string; readonly to?: string } {
  const start = startOfDay(from ?? '', zone)
  const end = endOfDay(to ?? '', zone)
  return {
    ...(start === null ? {} : { from: start.toISOString() }),
    ...(end === null ? {} : { to: end.toISOString() }),
  }
}
