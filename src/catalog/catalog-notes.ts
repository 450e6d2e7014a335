import { withBundled } from './bundled.ts'
import type { CatalogDocument, ModelEntry } from './document.ts'
import { priceWarnings } from './price-doubts.ts'
import { effectiveDocument, type CatalogState } from './catalog-state.ts'

/**
 * What stands in the catalogue and cannot be sold for want of a rate, one line a currency, and what is sold at a loss:
 * perhaps nobody's mistake, but worth a word.
 */
export function catalogNotes(state: CatalogState): readonly string[] {
  const { own, base } = state
  const effective = effectiveDocument(state)
  const rates = new Set(['RUB', ...Object.keys(effective.settings.rates ?? {})])
  const ids = new Set(own.models.map(({ id }) => id))
  const bundled = own.bundled ? withBundled(own, base).models.filter(({ id }) => !ids.has(id)) : []
  const fetched = own.settings.rates_source !== undefined
  return [
    ...bundledLines(bundled, effective, rates, fetched),
    ...(fetched ? ownLines(own, rates) : []),
    ...priceWarnings(own, effective.settings.rates),
  ]
}

function bundledLines(
  models: readonly ModelEntry[],
  effective: CatalogDocument,
  rates: ReadonlySet<string>,
  fetched: boolean,
): readonly string[] {
  return [...byCurrency(models, rates)].map(([currency, without]) => {
    const slugs = new Set(without.flatMap(({ endpoints }) => endpoints.map(({ provider }) => provider)))
    const names = [...slugs].map((slug) => effective.providers[slug]?.name ?? slug).join(', ')
    return `${without.length} bundled models of ${names} are left out: ${reason(currency, fetched)}`
  })
}

function ownLines(own: CatalogDocument, rates: ReadonlySet<string>): readonly string[] {
  return [...byCurrency(own.models, rates)].map(
    ([currency, without]) =>
      `${without.length} models priced in ${currency} are not routable, ${without[0]?.id ?? ''} among them: ${reason(currency, true)}`,
  )
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
