import { isDeepStrictEqual } from 'node:util'
import type { CatalogDocument, EndpointEntry, ModelEntry } from './document.ts'

type Price = EndpointEntry['price']

/**
 * What a person approved last for a row whose price a list or a release has changed since, or that is gone: changes are
 * measured by it, or many small ones would lead anywhere.
 */
export type ApprovedPrices = Readonly<Record<string, Price>>

/** Rows that are gone are forgotten beyond this. */
const ROWS_MAX = 5_000

export function rowKey(
  model: string,
  { provider, model: endpoint }: Pick<EndpointEntry, 'provider' | 'model'>,
): string {
  return JSON.stringify([model, provider, endpoint])
}

/**
 * The approved prices once `before` becomes `after`. `named`: the models that a person has given just now, whose new
 * prices count as approved; null = no person has.
 */
export function approvedAfter(
  approved: ApprovedPrices,
  before: CatalogDocument,
  after: CatalogDocument,
  named: readonly ModelEntry[] | null,
): ApprovedPrices {
  const [was, now] = [pricesOf(before.models), pricesOf(after.models)]
  const next = new Map(Object.entries(approved))
  for (const [row, price] of was) if (!next.has(row) && !isDeepStrictEqual(now.get(row), price)) next.set(row, price)
  for (const [row, price] of pricesOf(named ?? [])) if (!isDeepStrictEqual(was.get(row), price)) next.delete(row)
  return Object.fromEntries([...next].slice(-ROWS_MAX))
}

/** A row that comes back has the price that was approved last: another one is a change. */
export function withApproved(
  models: readonly ModelEntry[],
  before: readonly ModelEntry[],
  approved: ApprovedPrices,
): readonly ModelEntry[] {
  const was = pricesOf(before)
  const known = new Map(Object.entries(approved))
  return models.map((model) => ({
    ...model,
    endpoints: model.endpoints.map((endpoint) => {
      const row = rowKey(model.id, endpoint)
      const price = was.has(row) ? undefined : known.get(row)
      return price === undefined ? endpoint : { ...endpoint, price }
    }),
  }))
}

function pricesOf(models: readonly ModelEntry[]): ReadonlyMap<string, Price> {
  return new Map(
    models.flatMap(({ id, endpoints }) => endpoints.map((endpoint) => [rowKey(id, endpoint), endpoint.price] as const)),
  )
}
