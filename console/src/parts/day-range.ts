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

/** Two days as the times that they begin and end at where the reader is; what is no day is left out. */
export function timesOf(from: string | undefined, to: string | undefined): { readonly from?: string; readonly to?: string } {
  const start = startOfDay(from)
  const end = startOfDay(to)
  return { ...(start === null ? {} : { from: start.toISOString() }), ...(end === null ? {} : { to: new Date(end.getTime() + DAY_MS).toISOString() }) }
}

function startOfDay(day: string | undefined): Date | null {
  const date = day === undefined || day === '' ? null : new Date(`${day}T00:00:00`)
  return date === null || Number.isNaN(date.getTime()) ? null : date
}
