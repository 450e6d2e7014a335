import { defined, type FieldReader } from './field-reader.ts'

/** Whose list of prices a provider may have (`feeds/price-list-api.ts` reads them). */
export const PRICE_LIST_API_NAMES = ['openrouter', 'vercel', 'requesty', 'together', 'deepinfra', 'xai'] as const
export type PriceListApi = (typeof PRICE_LIST_API_NAMES)[number]

/** Services that tell what is left of the money with them (`feeds/balance-api.ts` reads it). */
export const BALANCE_API_NAMES = ['openrouter', 'deepseek', 'moonshot'] as const
export type BalanceApi = (typeof BALANCE_API_NAMES)[number]

/** As in the catalogue file: whose list of prices it has, and the rise in percent above which a hand must approve. */
export interface PriceListEntry {
  readonly api: PriceListApi
  readonly rise: number
}

/** As in the catalogue file. `low`: the amount below which people are told, in the provider's currency; 0 = never. */
export interface BalanceEntry {
  readonly api: BalanceApi
  readonly low: number
}

const RISE_PERCENT = 10
export const BALANCE_LOW = 10
const LOW_MAX = 1_000_000_000

export function readPriceList(reader: FieldReader): PriceListEntry | null {
  const map = reader.map('price_list')
  if (map === null) return null
  if (!map.has('api')) map.problem('api', 'required', {}, 'is required')
  const given = defined({ api: map.oneOf('api', PRICE_LIST_API_NAMES), rise: map.whole('rise', 0, 1_000) })
  map.done()
  // Without an API the entry is refused.
  return { api: 'openrouter', rise: RISE_PERCENT, ...given }
}

export function readBalance(reader: FieldReader): BalanceEntry | null {
  const map = reader.map('balance')
  if (map === null) return null
  if (!map.has('api')) map.problem('api', 'required', {}, 'is required')
  const given = defined({ api: map.oneOf('api', BALANCE_API_NAMES), low: map.whole('low', 0, LOW_MAX) })
  map.done()
  // Without an API the entry is refused.
  return { api: 'openrouter', low: BALANCE_LOW, ...given }
}
