import type { PriceKey } from '../../tables/meter-table.ts'
import { endpointIds, rowChange } from '../bundle-changes.ts'
import type { CatalogState } from '../catalog-state.ts'
import { parseModelJson } from '../document-reader.ts'
import { endpointId } from '../document.ts'
import { entryOf } from '../offered-models.ts'
import { uncharged } from '../price-keys.ts'
import type { PriceChange, PriceSource } from '../price-list.ts'
import { familyOf, guessedOutput } from './data-set-families.ts'
import type { NamedModel, PriceList } from './price-list-api.ts'

const CURRENCY = 'USD'
/** New models of one provider's list that wait at once. */
const LISTED_MAX = 50

/** A provider's own list, in dollars. */
export function listSource(provider: string, list: PriceList, risePercent: number): PriceSource {
  return {
    risePercent,
    keepsConditions: true,
    priceOf: (_model, endpoint) => {
      const listed = endpoint.provider === provider ? list.get(endpoint.model) : undefined
      if (listed === undefined) return null
      // A list has one price where the row has some by size: these stay.
      const plain = Object.entries(listed).filter(([key]) => typeof endpoint.price[key as PriceKey] !== 'object')
      return { ...Object.fromEntries(plain), currency: CURRENCY }
    },
  }
}

/**
 * Models of a provider's own list that nobody sells here, each for a hand: those with a price and a window. The newest
 * come first, and no more than a hand can look through.
 */
export function listedRows(
  state: CatalogState,
  provider: string,
  prices: PriceList,
  models: readonly NamedModel[],
): readonly PriceChange[] {
  const known = [...state.own.models, ...state.base.models]
  const ids = new Set([...known.map(({ id }) => id), ...(state.own.bundled_except ?? [])])
  const routes = new Set(endpointIds(known).keys())
  const rows = models.flatMap((model): readonly PriceChange[] => {
    const { currency, ...listed } = { currency: CURRENCY, ...prices.get(model.id) }
    const { max_completion_tokens: most, ...entry } = entryOf(provider, model)
    const { type, context_length: context } = entry
    const isKnown = model.names.some((name) => routes.has(endpointId({ provider, model: name })))
    if (isKnown || ids.has(entry.id) || model.contextLength === null || context === undefined) return []
    const uses = { listed: [], native: false }
    const charged = Object.entries(listed).filter(([key]) => !uncharged(type, key, uses))
    const chat = most ?? guessedOutput(familyOf(entry.id), context, null)
    const { entry: row, problems } = parseModelJson({
      ...entry,
      ...(type === 'chat' ? { max_completion_tokens: chat } : {}),
      ...(type === 'chat' && most === undefined ? { guessed: ['max_completion_tokens'] } : {}),
      endpoints: [{ provider, model: model.id, price: { ...Object.fromEntries(charged), currency } }],
    })
    const [endpoint] = row.endpoints
    if (problems.length > 0 || endpoint === undefined) return []
    ids.add(row.id)
    return [{ ...rowChange('new_model', row, endpoint, null), isListed: true }]
  })
  return rows.slice(0, LISTED_MAX)
}
