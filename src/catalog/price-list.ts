import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { PRICE_KEYS, type PriceKey } from '../tables/meter-table.ts'
import { compare, multiply, parseDecimal, ZERO, type Decimal } from '../base/money.ts'
import type { CatalogDocument, EndpointEntry, ModelEntry, PriceEntry, PriceTexts } from './document.ts'
import { conditionalPrices } from './price-sheet.ts'
import { priceWarnings } from './price-doubts.ts'
import { ownValue } from '../base/own-value.ts'

const ID_CHARACTERS = 24

const CONDITIONS = ['tiers', 'service_tiers', 'hours'] as const
/** The meter whose price applies to a meter without a price of its own; other meters cost nothing without one. */
const PARENTS: Readonly<Partial<Record<PriceKey, PriceKey>>> = {
  input_cache_read: 'prompt',
  input_cache_write: 'prompt',
  internal_reasoning: 'completion',
}

/** The rise in percent, over the price that a person approved last, above which a change waits for one. */
const APPROVED_RISE_PERCENT = 25

/** Why a change waits for a person's decision; null = it does not wait. */
export const HOLD_REASONS = [
  'rise',
  'fall',
  'free',
  'new_fee',
  'currency',
  'unit',
  'below_cost',
  'new_model',
  'limits',
  'gone',
  'unasked',
] as const
export type HoldReason = (typeof HOLD_REASONS)[number]

/** A change of an endpoint's price or row. */
export interface PriceChange {
  /** Equal changes have equal ids. */
  readonly id: string
  readonly model: string
  readonly provider: string
  /** The provider's name of the model. */
  readonly endpoint: string
  /** null = the route is new. */
  readonly before: EndpointEntry['price'] | null
  readonly after: EndpointEntry['price']
  readonly reason: HoldReason | null
  /** For `new_model`, `limits` and `gone`: the model with the routes that the change concerns. */
  readonly row?: ModelEntry
  /** The change is a new model from its provider's own list. */
  readonly isListed?: true
}

/** A source of prices. */
export interface PriceSource {
  /** null = the source does not name this endpoint. */
  readonly priceOf: (model: ModelEntry, endpoint: EndpointEntry) => EndpointEntry['price'] | null
  /** The rise in percent above which a change waits. */
  readonly risePercent: number
  /** Conditions that the source does not name stay as they are in the row. */
  readonly keepsConditions?: true
}

/** The bundled models of a release. `follows` = providers that take their prices from a list of their own. */
export function releaseSource(
  release: readonly ModelEntry[],
  follows: ReadonlySet<string>,
  risePercent: number,
): PriceSource {
  const models = new Map(release.map((model) => [model.id, model.endpoints]))
  return {
    risePercent,
    priceOf: ({ id }, { provider, model }) =>
      follows.has(provider)
        ? null
        : (models.get(id)?.find((one) => one.provider === provider && one.model === model)?.price ?? null),
  }
}

/** The changes that a source makes to the prices of a document. Prices that the source does not name stay. */
export function priceChanges(
  { models, settings }: Pick<CatalogDocument, 'models' | 'settings'>,
  { priceOf, risePercent, keepsConditions }: PriceSource,
  approved: ApprovedPrices = {},
): readonly PriceChange[] {
  return models.flatMap((model) =>
    model.endpoints.flatMap((endpoint): readonly PriceChange[] => {
      const listed = priceOf(model, endpoint)
      if (listed === null) return []
      const { price: before, provider } = endpoint
      const last = ownValue(approved, rowKey(model.id, endpoint)) ?? before
      const { currency } = listed
      const reasons = new Set<HoldReason>(before.currency === currency ? [] : ['currency'])
      const after: Record<string, unknown> = { ...before, currency }
      for (const key of PRICE_KEYS) {
        const [own, given] = [before[key], listed[key]]
        if (given === undefined || isDeepStrictEqual(own, given)) continue
        if (own === undefined && typeof given === 'string' && !isNewFee(before, listed, key, given)) continue
        after[key] = given
        const found: readonly HoldReason[] =
          own === undefined
            ? ['new_fee']
            : [
                ...reasonsOf(own, given, risePercent),
                // If the operator allows larger steps, the sum of all steps may be as large.
                ...reasonsOf(last[key] ?? own, given, Math.max(risePercent, APPROVED_RISE_PERCENT)),
              ]
        for (const reason of found) reasons.add(reason)
      }
      // A list has plain prices, and may have steps; a release has all conditions of its prices.
      for (const key of CONDITIONS) {
        if (keepsConditions === true && listed[key] === undefined) continue
        delete after[key]
        if (listed[key] !== undefined) after[key] = listed[key]
      }
      // The keys and their texts come from the row and the source.
      const changed = after as unknown as EndpointEntry['price']
      if (isDeepStrictEqual(changed, before)) return []
      if (risesUnder(before, changed, risePercent)) reasons.add('rise')
      if (isSoldBelow(model, endpoint, changed, settings.rates ?? {})) reasons.add('below_cost')
      const [reason = null] = reasons
      const named = { model: model.id, provider, endpoint: endpoint.model, before }
      return [{ ...named, id: changeId(model.id, endpoint.model, changed), after: changed, reason }]
    }),
  )
}

type PriceValue = NonNullable<PriceTexts[PriceKey]>

/** Why a changed price is doubtful; prices by size are compared size by size. */
function reasonsOf(before: PriceValue, after: PriceValue, risePercent: number): readonly HoldReason[] {
  const [old, now] = [sizesOf(before), sizesOf(after)]
  if (!isDeepStrictEqual(new Set(old.keys()), new Set(now.keys()))) return ['unit']
  return [...now].flatMap(([size, text]) => {
    const reason = text === old.get(size) ? null : reasonOf(old.get(size) ?? '', text, risePercent)
    return reason === null ? [] : [reason]
  })
}

/** Whether the dearest price of a key, under all conditions, rises by more than the percentage. */
function risesUnder(before: PriceEntry, after: PriceEntry, risePercent: number): boolean {
  const dearest = (price: PriceEntry, key: PriceKey): string =>
    conditionalPrices(price)
      .flatMap((own) => [...sizesOf(own[key] ?? '0').values()])
      .reduce((most, text) => (compare(parseDecimal(text) ?? ZERO, parseDecimal(most) ?? ZERO) > 0 ? text : most), '0')
  const hasConditions = (price: PriceEntry): boolean => CONDITIONS.some((key) => price[key] !== undefined)
  return (
    (hasConditions(before) || hasConditions(after)) &&
    PRICE_KEYS.some((key) => reasonOf(dearest(before, key), dearest(after, key), risePercent) === 'rise')
  )
}

function sizesOf(value: PriceValue): ReadonlyMap<string, string> {
  return new Map(typeof value === 'string' ? [['', value]] : Object.entries(value))
}

/** Whether a price that the row lacks is above the one that applies in its place. */
function isNewFee(before: PriceTexts, listed: PriceTexts, key: PriceKey, text: string): boolean {
  const parent = PARENTS[key]
  const taken = parent === undefined ? '0' : (listed[parent] ?? before[parent] ?? '0')
  const inPlace = typeof taken === 'string' ? parseDecimal(taken) : null
  const value = parseDecimal(text)
  return inPlace !== null && value !== null && compare(value, inPlace) > 0
}

function reasonOf(before: string, after: string, risePercent: number): HoldReason | null {
  const old = parseDecimal(before)
  const now = parseDecimal(after)
  if (old === null || now === null) return 'rise'
  if (now.digits === 0n) return 'free'
  const percent = (value: Decimal, of: number): Decimal => multiply(value, { digits: BigInt(of), scale: 0 })
  if (compare(percent(now, 100), percent(old, 100 + risePercent)) > 0) return 'rise'
  // A fall to half or less is more likely another unit, or a mistake, than a real price.
  return compare(percent(now, 100), percent(old, 50)) <= 0 ? 'fall' : null
}

/** Whether the new price is above a fixed price for customers. */
function isSoldBelow(
  model: ModelEntry,
  endpoint: EndpointEntry,
  price: EndpointEntry['price'],
  rates: Readonly<Record<string, string>>,
): boolean {
  if (endpoint.sell === undefined) return false
  const models = [{ ...model, endpoints: [{ ...endpoint, price }] }]
  const document = { bundled: false, settings: {}, providers: {}, models }
  return priceWarnings(document, rates).some(({ warning }) => warning.startsWith('sells_below_cost'))
}

/** The document with the changes whose endpoints still have the price before. */
export function withPrices(
  document: CatalogDocument,
  changes: readonly PriceChange[],
): readonly [readonly PriceChange[], CatalogDocument] {
  const wanted = new Map(
    changes.map((change) => [rowKey(change.model, { provider: change.provider, model: change.endpoint }), change]),
  )
  const made: PriceChange[] = []
  const models = document.models.map((model) => {
    const endpoints = model.endpoints.map((endpoint) => {
      const change = wanted.get(rowKey(model.id, endpoint))
      if (change === undefined || !isDeepStrictEqual(change.before, endpoint.price)) return endpoint
      made.push(change)
      return { ...endpoint, price: change.after }
    })
    return { ...model, endpoints }
  })
  return [made, made.length === 0 ? document : { ...document, models }]
}

/** Equal changes have equal ids. */
export function changeId(model: string, endpoint: string, what: unknown): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([model, endpoint, what]))
    .digest('base64url')
  return `prc_${digest.replaceAll(/[-_]/g, '').slice(0, ID_CHARACTERS)}`
}

type Price = EndpointEntry['price']

/**
 * For a row whose price a list or a release has changed, or that is gone: the price that a person approved last.
 * Changes are measured against it; otherwise many small ones could add up to any price.
 */
export type ApprovedPrices = Readonly<Record<string, Price>>

/** The most rows: beyond this the oldest are forgotten. */
const ROWS_MAX = 5_000

export function rowKey(
  model: string,
  { provider, model: endpoint }: Pick<EndpointEntry, 'provider' | 'model'>,
): string {
  return JSON.stringify([model, provider, endpoint])
}

/**
 * The approved prices after `before` becomes `after`. `named`: the models that a person has given now, whose new prices
 * count as approved; null = no person gave any.
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

/** A row that comes back has the price that was approved last: any other price is a change. */
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
