import { defined, type FieldReader } from './field-reader.ts'
import { PRICE_LIST_API_NAMES, type PriceListApi } from './feeds/price-list-api.ts'

/** As in the catalogue file: whose list of prices it has, and the rise in percent above which a hand must approve. */
export interface PriceListEntry {
  readonly api: PriceListApi
  readonly rise: number
}

const RISE_PERCENT = 10

export function readPriceList(reader: FieldReader): PriceListEntry | null {
  const map = reader.map('price_list')
  if (map === null) return null
  if (!map.has('api')) map.problem('api', 'required', {}, 'is required')
  const given = defined({ api: map.oneOf('api', PRICE_LIST_API_NAMES), rise: map.whole('rise', 0, 1_000) })
  map.done()
  // Without an API the entry is refused.
  return { api: 'openrouter', rise: RISE_PERCENT, ...given }
}
