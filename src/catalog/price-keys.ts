import { PRICED_METERS, type PriceKey } from '../meter-table.ts'
import { isTokenMeter } from '../meters.ts'
import { MODEL_TYPE_TABLE, type ModelType } from '../model-types.ts'

/**
 * What a price lacks to be complete for its type, as readable alternatives; empty = complete. `outputBounded`:
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

/** What of an endpoint's row decides whether it searches. */
export interface EndpointUses {
  readonly listed: readonly string[]
  /** It takes requests in a protocol that has searches of the provider's own. */
  readonly native: boolean
}

/** Whether a known price key of a row is one that no answer is ever charged by. */
export function uncharged(type: ModelType, key: string, { listed, native }: EndpointUses): boolean {
  const row = PRICED_METERS.find(({ priceKey }) => priceKey === key)
  if (row === undefined) return false
  if (type === 'chat' && key === 'search') return !native && !listed.includes('web_search_options')
  return !row.types.includes(type)
}

function isPerToken(key: PriceKey): boolean {
  return PRICED_METERS.some((row) => row.priceKey === key && isTokenMeter(row))
}
