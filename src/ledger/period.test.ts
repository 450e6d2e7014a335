import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isTimezone, periodEndMs, periodStarts } from './period.ts'

const HOUR_MS = 3_600_000
const ZONES = [
  'UTC',
  'Europe/Moscow',
  'America/New_York',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'America/Havana',
  'Asia/Beirut',
] as const
const RESETS = { daily: 'day', weekly: 'week', monthly: 'month' } as const

/** The local day by another formatter and locale than the module's. */
function localDay(atMs: number, timezone: string): { readonly iso: string; readonly weekday: number } {
  const iso = new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short' }).format(atMs)
  const weekday = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'].indexOf(
    new Intl.DateTimeFormat('en-GB', { timeZone: timezone, weekday: 'short' }).format(atMs),
  )
  return { iso, weekday }
}

/** Searches the calendar day by day, while the module calculates. */
function scannedStarts(
  atMs: number,
  timezone: string,
): { readonly day: string; readonly week: string; readonly month: string } {
  const day = localDay(atMs, timezone).iso
  const [year = '', month = ''] = day.split('-')
  // Civil days have no zone: noon in UTC stands for each of them.
  const cursor = new Date(`${day}T12:00:00Z`)
  while (cursor.getUTCDay() !== 1) cursor.setUTCDate(cursor.getUTCDate() - 1)
  return { day, week: cursor.toISOString().slice(0, 10), month: `${year}-${month}-01` }
}

const instant = fc.integer({ min: Date.UTC(2010, 0, 1), max: Date.UTC(2037, 11, 31) })

test('F9: the periods of any instant in any zone are those found by walking the calendar', () => {
  fc.assert(
    fc.property(instant, fc.constantFrom(...ZONES), (atMs, zone) => {
      assert.deepEqual(periodStarts(atMs, zone), scannedStarts(atMs, zone))
    }),
    { numRuns: 400 },
  )
})

test('F9: a period ends at its first instant that belongs to the next one', () => {
  fc.assert(
    fc.property(
      instant,
      fc.constantFrom(...ZONES),
      fc.constantFrom('daily' as const, 'weekly' as const, 'monthly' as const),
      (atMs, zone, reset) => {
        const end = periodEndMs(atMs, reset, zone)
        const startAt = (ms: number): string => periodStarts(ms, zone)[RESETS[reset]]
        assert.ok(end > atMs)
        assert.equal(startAt(end - 1), startAt(atMs))
        assert.notEqual(startAt(end), startAt(atMs))
      },
    ),
    { numRuns: 200 },
  )
})

test('F9: boundaries of daylight saving, zone changes and calendars', () => {
  const end = (iso: string, reset: 'daily' | 'weekly' | 'monthly', zone: string): string =>
    new Date(periodEndMs(Date.parse(iso), reset, zone)).toISOString()
  // New York changes its clocks: these days have 23 and 25 hours.
  assert.equal(end('2026-03-08T05:00:00Z', 'daily', 'America/New_York'), '2026-03-09T04:00:00.000Z')
  assert.equal(end('2026-11-01T04:00:00Z', 'daily', 'America/New_York'), '2026-11-02T05:00:00.000Z')
  assert.equal(Date.parse('2026-11-02T05:00:00Z') - Date.parse('2026-11-01T04:00:00Z'), 25 * HOUR_MS)
  // Moscow went from +4 to +3 in the night to 26 October 2014.
  assert.equal(end('2014-10-25T12:00:00Z', 'daily', 'Europe/Moscow'), '2014-10-25T20:00:00.000Z')
  assert.equal(end('2014-10-26T12:00:00Z', 'daily', 'Europe/Moscow'), '2014-10-26T21:00:00.000Z')
  // Havana moves its clocks forward at midnight: that day begins at 01:00.
  assert.equal(end('2026-03-08T04:30:00Z', 'daily', 'America/Havana'), '2026-03-08T05:00:00.000Z')
  // Apia skipped the whole of 30 December 2011.
  assert.deepEqual(periodStarts(Date.parse('2011-12-30T10:00:00Z'), 'Pacific/Apia').day, '2011-12-31')
  assert.equal(end('2024-01-31T12:00:00Z', 'monthly', 'UTC'), '2024-02-01T00:00:00.000Z')
  assert.equal(end('2024-02-29T12:00:00Z', 'monthly', 'UTC'), '2024-03-01T00:00:00.000Z')
  assert.equal(end('2026-12-31T23:59:59Z', 'weekly', 'UTC'), '2027-01-04T00:00:00.000Z')
})

test('only names of zones are zones', () => {
  assert.deepEqual(['UTC', 'Europe/Moscow', 'Mars/Olympus', ''].map(isTimezone), [true, true, false, false])
})
