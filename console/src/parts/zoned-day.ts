const DAY_MS = 86_400_000
const DAY = /^(\d{4})-(\d{2})-(\d{2})$/

/** When a day (`YYYY-MM-DD`) begins in a time zone, by its own clocks; null = no day. */
export function startOfDay(day: string, zone: string): Date | null {
  const wallMs = DAY.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN
  if (Number.isNaN(wallMs)) return null
  const guess = wallMs - offsetMs(wallMs, zone)
  // The clocks may change between the guess and the truth.
  const start = wallMs - offsetMs(guess, zone)
  // Where clocks go forward at midnight, the day begins an hour into itself.
  return new Date(dayIn(start, zone) === day ? start : guess)
}

/** When it ends, which is when the next one begins; a day may have 23 hours or 25. */
export function endOfDay(day: string, zone: string): Date | null {
  const start = DAY.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN
  return Number.isNaN(start) ? null : startOfDay(new Date(start + DAY_MS).toISOString().slice(0, 10), zone)
}

/** The last second of a day, as what expires with it is written; null = no day. */
export function lastSecondOf(day: string, zone: string): string | null {
  const end = endOfDay(day, zone)
  return end === null ? null : new Date(end.getTime() - 1_000).toISOString()
}

/** The day that it is in a time zone at `ms`. */
export function dayIn(ms: number, zone: string): string {
  return new Date(ms + offsetMs(ms, zone)).toISOString().slice(0, 10)
}

const clocks = new Map<string, Intl.DateTimeFormat>()

/** Making one takes longer than reading it. */
function clockOf(zone: string): Intl.DateTimeFormat {
  const known = clocks.get(zone)
  if (known !== undefined) return known
  const clock = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  clocks.set(zone, clock)
  return clock
}

/** How far the clocks of a zone are ahead of UTC at `ms`. */
function offsetMs(ms: number, zone: string): number {
  const parts = new Map(
    clockOf(zone)
      .formatToParts(ms)
      .map(({ type, value }) => [type, Number(value)]),
  )
  const at = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0
  return (
    Date.UTC(at('year'), at('month') - 1, at('day'), at('hour'), at('minute'), at('second')) -
    Math.floor(ms / 1_000) * 1_000
  )
}
