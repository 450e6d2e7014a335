import { withBundled } from './bundled.ts'
import { warningOf, type CatalogWarning } from './catalog-warning.ts'
import { endpointId, type CatalogDocument, type ModelEntry } from './document.ts'
import { sharedNames, buildSnapshot } from './snapshot.ts'
import type { KnownAdapters } from './catalog.ts'
import { priceWarnings } from './price-doubts.ts'
import { missingSteps } from './known-providers.ts'
import { missingPrices } from './price-sheet.ts'
import { effectiveDocument, type CatalogState } from './catalog-state.ts'
import { ownValue } from '../base/own-value.ts'

/**
 * Warnings of the catalogue: models that cannot be sold because a currency has no rate (one warning for each currency),
 * and models that are sold at a loss. Neither need be a mistake. `known`: models with known prices.
 */
export function catalogNotes(state: CatalogState, known: readonly ModelEntry[]): readonly CatalogWarning[] {
  const { own, base } = state
  const effective = effectiveDocument(state)
  const rates = new Set(['RUB', ...Object.keys(effective.settings.rates ?? {})])
  const ids = new Set(own.models.map(({ id }) => id))
  const bundled = own.bundled ? withBundled(own, base).models.filter(({ id }) => !ids.has(id)) : []
  const fetched = own.settings.rates_source !== undefined
  return [
    ...bundledLines(bundled, effective, rates, fetched),
    ...(fetched ? ownLines(own, rates) : []),
    ...nameLines(effective),
    ...priceWarnings(own, effective.settings.rates),
    ...missingSteps(own, known),
  ]
}

/** Adapters do not affect which names lead to which model. */
const NO_ADAPTERS: KnownAdapters = new Map()

/** Short names that lead to no model, because several models share them or their target is not sold. */
function nameLines(effective: CatalogDocument): readonly CatalogWarning[] {
  const { models, aliases } = buildSnapshot(effective, NO_ADAPTERS, 0, 0)
  const shared = sharedNames(models, aliases)
  const fallbacks = Object.entries(effective.settings.model_fallbacks ?? {})
  const [first] = shared
  return [
    ...(first === undefined ? [] : [sharedLine(shared.length, first.name, first.ids.join(', '))]),
    ...fallbacks.flatMap(([name, model]) =>
      models.has(model) || aliases.has(model)
        ? []
        : [
            warningOf(
              'fallback_unknown',
              { name, model },
              `model_fallbacks: ${name}: no model '${model}' is sold, so '${name}' stays unknown`,
            ),
          ],
    ),
  ]
}

function sharedLine(count: number, name: string, models: string): CatalogWarning {
  return warningOf(
    'names_shared',
    { count, name, models },
    `${count} short model names lead nowhere, because several models have them: '${name}' is ${models}. An alias or model_fallbacks gives it to one`,
  )
}

/** Endpoints that cannot be routed to, because a price is missing that models of their type need. */
export function unroutableWarnings({ models }: Pick<CatalogDocument, 'models'>): readonly CatalogWarning[] {
  return models.flatMap(({ id, type, endpoints, ...bounds }) =>
    endpoints.flatMap(({ provider, model, price, sell, max_completion_tokens: most }) => {
      const bounded = (most ?? bounds.max_completion_tokens ?? bounds.context_length) !== undefined
      const endpoint = endpointId({ provider, model })
      return Object.entries({ price, ...(sell === undefined ? {} : { sell }) }).flatMap(([field, given]) => {
        const missing = missingPrices(type, new Set(Object.keys(given)), bounded)
        return missing.length === 0
          ? []
          : [
              warningOf(
                'unroutable',
                { model: id, endpoint, field, needs: missing.join(' / ') },
                `${id} at ${endpoint}: ${field} is not complete for a ${type} model: needs ${missing.join(' or ')}. The endpoint is not routable`,
              ),
            ]
      })
    }),
  )
}

function bundledLines(
  models: readonly ModelEntry[],
  effective: CatalogDocument,
  rates: ReadonlySet<string>,
  fetched: boolean,
): readonly CatalogWarning[] {
  return [...byCurrency(models, rates)].map(([currency, without]) => {
    const slugs = new Set(without.flatMap(({ endpoints }) => endpoints.map(({ provider }) => provider)))
    const providers = [...slugs].map((slug) => ownValue(effective.providers, slug)?.name ?? slug).join(', ')
    const params = { count: without.length, providers, currency }
    return warningOf(
      fetched ? 'bundled_waiting' : 'bundled_unrated',
      params,
      `${without.length} bundled models of ${providers} are left out: ${reason(currency, fetched)}`,
    )
  })
}

function ownLines(own: CatalogDocument, rates: ReadonlySet<string>): readonly CatalogWarning[] {
  return [...byCurrency(own.models, rates)].map(([currency, without]) => {
    const model = without[0]?.id ?? ''
    return warningOf(
      'models_waiting',
      { count: without.length, model, currency },
      `${without.length} models priced in ${currency} are not routable, ${model} among them: ${reason(currency, true)}`,
    )
  })
}

function reason(currency: string, fetched: boolean): string {
  if (fetched)
    return `the Central Bank's rate of ${currency} is not known yet; rates: { source: cbr, ${currency}: … } gives a last known one`
  return `there is no rate for ${currency}; add rates: { ${currency}: … } in RUB, or rates: { source: cbr }`
}

/** Models with an endpoint whose currency has no rate. */
function byCurrency(
  models: readonly ModelEntry[],
  rates: ReadonlySet<string>,
): ReadonlyMap<string, readonly ModelEntry[]> {
  const missing = models.flatMap((model) =>
    [...new Set(model.endpoints.map(({ price }) => price.currency))]
      .filter((currency) => !rates.has(currency))
      .map((currency) => ({ currency, model })),
  )
  return new Map(
    [...Map.groupBy(missing, ({ currency }) => currency)].map(([currency, found]) => [
      currency,
      found.map(({ model }) => model),
    ]),
  )
}
