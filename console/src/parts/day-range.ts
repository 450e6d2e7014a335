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
