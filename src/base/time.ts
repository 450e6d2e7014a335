export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** In the order of a week. */
export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export type Weekday = (typeof WEEKDAYS)[number]

/** Unix ms as `2026-11-24T10:00:00.000Z`; null stays null. */
export function isoTime(atMs: number): string
export function isoTime(atMs: number | null): string | null
export function isoTime(atMs: number | null): string | null {
  // oxlint-disable-next-line eslint/no-restricted-properties -- the only place that formats a time
  return atMs === null ? null : new Date(atMs).toISOString()
}

/** Unix ms as `2026-11-24T10:00:00Z`: a boundary at a whole second is written without its fraction. */
export function isoSeconds(atMs: number): string
export function isoSeconds(atMs: number | null): string | null
export function isoSeconds(atMs: number | null): string | null {
  return isoTime(atMs)?.replace('.000Z', 'Z') ?? null
}

/** The UTC day of Unix ms, as `2026-11-24`. */
export function isoDay(atMs: number): string {
  return isoTime(atMs).slice(0, 10)
}

/** The day `count` days after one; days are `YYYY-MM-DD` without a zone. */
export function dayAfter(day: string, count = 1): string {
  return isoDay(Date.parse(day) + count * DAY_MS)
}

/** Whether the text is a day of the calendar such as `2026-11-24`. */
export function isDay(text: string): boolean {
  const atMs = Date.parse(text)
  return text.length === 10 && !Number.isNaN(atMs) && isoDay(atMs) === text
}
