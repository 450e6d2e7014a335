import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayIn, endOfDay, lastSecondOf, startOfDay } from '../../console/src/parts/zoned-day.ts'

const HOUR_MS = 3_600_000

test('a day begins and ends by the clocks of its zone, with 23 hours, 24 or 25', () => {
  const hours = (day: string, zone: string): readonly [string | undefined, number] => {
    const start = startOfDay(day, zone)
    return [start?.toISOString(), ((endOfDay(day, zone)?.getTime() ?? 0) - (start?.getTime() ?? 0)) / HOUR_MS]
  }
  assert.deepEqual(hours('2026-11-21', 'UTC'), ['2026-11-21T00:00:00.000Z', 24])
  assert.deepEqual(hours('2026-11-21', 'Europe/Moscow'), ['2026-11-20T21:00:00.000Z', 24])
  assert.deepEqual(hours('2026-03-08', 'America/New_York'), ['2026-03-08T05:00:00.000Z', 23])
  assert.deepEqual(hours('2026-11-01', 'America/New_York'), ['2026-11-01T04:00:00.000Z', 25])
  assert.deepEqual(hours('2014-10-26', 'Europe/Moscow'), ['2014-10-25T20:00:00.000Z', 25])
  assert.deepEqual(hours('2026-02-28', 'Asia/Kolkata'), ['2026-02-27T18:30:00.000Z', 24])
  // Clocks go forward at midnight: the day begins at one o'clock.
  assert.deepEqual(hours('2026-09-06', 'America/Santiago'), ['2026-09-06T04:00:00.000Z', 23])
})

test('hours of three years are in the day that they are shown in', () => {
  for (const zone of ['America/New_York', 'America/Santiago', 'Australia/Lord_Howe', 'Europe/Moscow', 'Pacific/Apia']) {
    for (let ms = Date.UTC(2024, 0, 1); ms < Date.UTC(2027, 0, 1); ms += 37 * HOUR_MS) {
      const day = dayIn(ms, zone)
      const [start, end] = [startOfDay(day, zone)?.getTime() ?? 0, endOfDay(day, zone)?.getTime() ?? 0]
      assert.ok(start <= ms && ms < end, `${zone} ${new Date(ms).toISOString()} ${day}`)
    }
  }
})

test('a text that is no day is refused', () => {
  assert.equal(lastSecondOf('2026-11-21', 'Europe/Moscow'), '2026-11-21T20:59:59.000Z')
  for (const text of ['', '2026-13-01', '21.11.2026', 'today'])
    assert.equal(startOfDay(text, 'UTC') ?? endOfDay(text, 'UTC') ?? lastSecondOf(text, 'UTC'), null, text)
})
