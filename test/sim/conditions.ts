import type { HoursOfDay, PriceGroup, Prices } from '../../src/catalog/catalog.ts'
import type { PriceSheet, Usage } from '../../src/tables/meters.ts'
import { PLAIN_TIER } from '../../src/tables/service-tier-table.ts'
import type { Random } from './random.ts'

/** In which a provider may serve; the last has a price nowhere. */
const TIERS = ['flex', 'priority', 'batch'] as const
/** Tokens around those that the requests of a universe have. */
const LENGTHS = [9, 11, 13, 20, 45] as const
/** Minutes of the UTC day around which universes lie. */
const BOUNDS = [0, 300, 660, 1_260, 1_261] as const
const DAY_MINUTES = 1_440

/**
 * Prices of a row under conditions of each kind, some cheaper and some dearer than its own. A row that is not sold by
 * tokens has no lengths: a whole answer has none of them in its usage.
 */
export function drawConditions(
  random: Random,
  byTokens: boolean,
  sell: () => PriceSheet,
  buy: () => PriceSheet,
): NonNullable<Prices['conditions']> {
  const tiers = random.pick([[], TIERS.slice(0, 1), TIERS.slice(0, 2)])
  const before = random.chance(0.5)
  const hours = random.chance(0.6)
    ? BOUNDS.map((bound) => hoursOf(before ? (bound + DAY_MINUTES - 1) % DAY_MINUTES : bound))
    : []
  const groups = (sheet: () => PriceSheet): readonly PriceGroup[] =>
    [
      ...tiers.map((serviceTier) => ({ serviceTier, hours: null })),
      ...hours.map((named) => ({ serviceTier: null, hours: named })),
      { serviceTier: null, hours: null },
    ].map((of) => ({ ...of, steps: steps(random, byTokens, sheet) }))
  return { sell: random.chance(0.8) ? groups(sell) : [], buy: random.chance(0.8) ? groups(buy) : [] }
}

function steps(random: Random, byTokens: boolean, sheet: () => PriceSheet): PriceGroup['steps'] {
  const bounds = byTokens ? random.pick([[], [random.pick(LENGTHS)], LENGTHS.slice(1, 3)]) : []
  return [-1, ...bounds].map((above) => ({ name: `above ${above}`, above, sheet: sheet() }))
}

/** One minute of the day. */
function hoursOf(from: number): HoursOfDay {
  return {
    named: { from: String(from), to: String(from + 1), timezone: 'UTC' },
    from,
    to: (from + 1) % DAY_MINUTES,
    minuteAt: minuteOf,
    weekdayAt: () => 'mon',
  }
}

function minuteOf(atMs: number): number {
  return Math.floor(atMs / 60_000) % DAY_MINUTES
}

/** The tier in which a provider serves a request that asks for one, null = for none; it may serve another. */
export function drawTier(random: Random, asked: string | null, servesAsAsked: boolean): string {
  if (asked !== null && random.chance(0.5)) return asked
  return servesAsAsked || random.chance(0.5) ? PLAIN_TIER : random.pick(TIERS)
}

/** The tier that a client asks for. */
export function drawWish(random: Random): string | null {
  return random.chance(0.5) ? random.pick(TIERS) : null
}

/** The price of one side that a usage meets, found a second time: only the data are those of the product. */
export function sheetMet(
  { conditions, ...plain }: Prices,
  side: 'sell' | 'buy',
  { input = 0 }: Usage,
  atMs: number,
  serviceTier: string | null,
): PriceSheet {
  const groups = conditions?.[side] ?? []
  const ofTier = groups.filter((group) => group.serviceTier !== null && group.serviceTier === serviceTier)
  const ofMinute = groups.filter(({ hours }) => hours?.from === minuteOf(atMs))
  const [group = groups.at(-1)] = [...ofTier, ...ofMinute]
  let sheet = plain[side]
  for (const step of group?.steps ?? []) if (input >= step.above + 1) ({ sheet } = step)
  return sheet
}
