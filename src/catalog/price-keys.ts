import { PRICED_METERS, type PriceKey } from '../tables/meter-table.ts'
import { isTokenMeter } from '../tables/meters.ts'
import { MODEL_TYPE_TABLE, type ModelType } from '../tables/model-types.ts'

/**
 * The price keys that a type still needs, as readable alternatives; empty = complete. `outputBounded`:
 * `max_completion_tokens` is known.
 */
export function missingPrices(type: ModelType, given: ReadonlySet<string>, outputBounded: boolean): readonly string[] {
  const row = MODEL_TYPE_TABLE[type]
  const needsBound = (keys: readonly PriceKey[]): boolean => row.boundedByModel && keys.some(isPerToken)
  const alternatives = row.complete
  if (alternatives.some((keys) => keys.every((key) => given.has(key)) && (outputBounded || !needsBound(keys))))
    return []
  return alternatives.map((keys) => `${keys.join(' + ')}${needsBound(keys) ? ' + max_completion_tokens' : ''}`)
}

/** Fields of an endpoint's row that decide whether it can search. */
export interface EndpointUses {
  readonly listed: readonly string[]
  /** Takes requests in a protocol that has searches by the provider itself. */
  readonly native: boolean
}

/** Whether no answer is ever charged by this known price key. */
export function uncharged(type: ModelType, key: string, { listed, native }: EndpointUses): boolean {
  const row = PRICED_METERS.find(({ priceKey }) => priceKey === key)
  if (row === undefined) return false
  if (type === 'chat' && key === 'search') return !native && !listed.includes('web_search_options')
  return !row.types.includes(type)
}

function isPerToken(key: PriceKey): boolean {
  return PRICED_METERS.some((row) => row.priceKey === key && isTokenMeter(row))
}
