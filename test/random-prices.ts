import fc from 'fast-check'
import { WEEKDAYS } from '../src/base/time.ts'
import { PRICE_KEYS } from '../src/tables/meter-table.ts'
import { METERS } from '../src/tables/meters.ts'

export const decimals = fc
  .tuple(fc.integer({ min: 0, max: 99_999 }), fc.integer({ min: 0, max: 9 }))
  .map(([digits, places]) =>
    String(digits)
      .padStart(places + 1, '0')
      .replace(new RegExp(`(\\d{${places}})$`), places === 0 ? '$1' : '.$1'),
  )
const byResolution = fc.dictionary(fc.constantFrom('720p', '1280x720', '1920x1080', '4K'), decimals, { minKeys: 1 })
const plain = Object.fromEntries(
  PRICE_KEYS.map((key) => [
    key,
    key === 'video_second' || key === 'image_output' ? fc.oneof(decimals, byResolution) : decimals,
  ]),
)
const BOUNDS = [0, 200_000, 272_000, 1_000_000]
const tiers = fc
  .uniqueArray(fc.record({ above: fc.constantFrom(...BOUNDS), ...plain }, { requiredKeys: ['above'] }), {
    selector: ({ above }) => above,
    maxLength: 3,
  })
  .map((given) => given.toSorted((left, right) => left.above - right.above))
const tiered = { ...plain, tiers }
const times = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
  .map((parts) => parts.map((part) => String(part).padStart(2, '0')).join(':'))
export const hours = fc
  .record(
    {
      from: times,
      to: times,
      timezone: fc.constantFrom('UTC', 'Europe/Moscow', 'America/New_York', 'Asia/Kathmandu'),
      days: fc.subarray([...WEEKDAYS], { minLength: 1 }),
      ...tiered,
    },
    { requiredKeys: ['from', 'to', 'timezone'] },
  )
  .filter(({ from, to }) => from !== to)
/** A price of a row, with conditions of each kind. */
export const prices = fc.record(
  {
    ...tiered,
    service_tiers: fc.dictionary(fc.constantFrom('flex', 'priority'), fc.record(tiered, { requiredKeys: [] })),
    hours: fc.array(hours, { maxLength: 2 }),
  },
  { requiredKeys: [] },
)
export const instants = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 0, 1) })
export const servedTiers = fc.option(fc.constantFrom('flex', 'priority', 'default', 'constructor'), { nil: undefined })
/** Around each bound of a length, and far from all of them. */
const inputUnits = fc.oneof(
  fc.integer({ min: 0, max: 2_000_000_000 }),
  fc.constantFrom(...BOUNDS.flatMap((above) => [above, above + 1, Math.max(0, above - 1)])),
)
export const usages = fc.record(Object.fromEntries(METERS.map((meter) => [meter, inputUnits])), { requiredKeys: [] })
