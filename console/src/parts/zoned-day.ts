const DAY_MS = 86_400_000
const DAY = /^(\d{4})-(\d{2})-(\d{2})$/

/** When a day (`YYYY-MM-DD`) begins by the clocks of a time zone; null = not a day. */
export function startOfDay(day: string, zone: string): Date | null {
  const wallMs = DAY.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN
  if (Number.isNaN(wallMs)) return null
  const guess = wallMs - offsetMs(wallMs, zone)
  // The clocks may change between the guess and the true beginning.
  const start = wallMs - offsetMs(guess, zone)
  // Where clocks go forward at midnight, the day begins at one o'clock.
  return new Date(dayIn(start, zone) === day ? start : guess)
}

/** When a day ends: at the beginning of the next one. A day may have 23 or 25 hours. */
export function endOfDay(day: string, zone: string): Date | null {
  const start = DAY.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN
  return Number.isNaN(start) ? null : startOfDay(new Date(start + DAY_MS).toISOString().slice(0, 10), zone)
}

/** The last second of a day, for things that expire on it; null = not a day. */
export function lastSecondOf(day: string, zone: string): string | null {
  const end = endOfDay(day, zone)
  return end === null ? null : new Date(end.getTime() - 1_000).toISOString()
}

/** The day in a time zone at `ms`. */
export function dayIn(ms: number, zone: string): string {
  return new Date(ms + offsetMs(ms, zone)).toISOString().slice(0, 10)
}

const clocks = new Map<string, Intl.DateTimeFormat>()

/** A clock is made once, because making it takes longer than reading it. */
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
