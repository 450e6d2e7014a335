import { given } from '../base/objects.ts'
import { MODEL_TYPES, type ModelType } from './catalog.ts'
import {
  ENDPOINT_FIELDS,
  MODEL_FIELDS,
  SUFFIX,
  type EndpointEntry,
  type HourlyPrice,
  type ModelEntry,
  type PriceEntry,
  type PriceTexts,
  type TieredPrice,
} from './document.ts'
import { GivenFields } from './entry-fields.ts'
import type { FieldReader } from './field-reader.ts'
import { missingPrices, uncharged, type EndpointUses } from './price-sheet.ts'
import { WEEKDAYS } from '../base/time.ts'
import { isTimezone } from '../ledger/period.ts'
import { PRICED_METERS, type PriceKey } from '../tables/meter-table.ts'
import { tierNamed } from '../tables/service-tier-table.ts'
import { isPictureKey } from './picture-price.ts'

/** The most conditions of a price: each makes another price sheet. */
const CONDITIONS_MAX = 24
const SERVICE_TIER = /^[a-z0-9][a-z0-9._-]{0,63}$/
const TIME = /^([01]\d|2[0-3]):[0-5]\d$/

type CheckKeys = (given: FieldReader) => void

/** Reads a price of a row with its conditions. `check` is called with each map of price keys after it is read. */
function readPriceEntry(reader: FieldReader, check: CheckKeys): PriceEntry {
  const prices = readTiered(reader, check)
  const named = reader.map('service_tiers')
  const names = named === null ? [] : atMost(reader, 'service_tiers', named.keys())
  const serviceTiers: Record<string, TieredPrice> = {}
  for (const name of names) {
    const given = named?.map(name) ?? null
    // Names that services give their tiers are read as ours, since an answer names the tier in our words.
    const tier = tierNamed(name)
    if (!SERVICE_TIER.test(name) || tier === null || Object.hasOwn(serviceTiers, tier))
      named?.problem(
        name,
        'slug',
        {},
        'must be the name of a service tier in lower case, such as flex or priority, and each tier has one',
      )
    if (given === null || tier === null) continue
    serviceTiers[tier] = readTiered(given, check)
    given.done()
    check(given)
  }
  const hours = atMost(reader, 'hours', reader.items('hours')).map((given) => readHours(given, check))
  reader.done()
  check(reader)
  return {
    ...prices,
    ...(named === null ? {} : { service_tiers: serviceTiers }),
    ...(reader.has('hours') ? { hours } : {}),
  }
}

function readTiered(reader: FieldReader, check: CheckKeys): TieredPrice {
  const prices = readPrices(reader)
  let last = -1
  const tiers = atMost(reader, 'tiers', reader.items('tiers')).map((given) => {
    if (!given.has('above')) given.problem('above', 'required')
    const above = given.whole('above', last + 1) ?? last + 1
    last = above
    const tier = { above, ...readPrices(given) }
    given.done()
    check(given)
    return tier
  })
  return reader.has('tiers') ? { ...prices, tiers } : prices
}

function readHours(reader: FieldReader, check: CheckKeys): HourlyPrice {
  const [from, to] = [readTime(reader, 'from'), readTime(reader, 'to')]
  if (from !== '' && from === to) reader.problem('to', 'time_of_day', { given: to })
  const timezone = reader.text('timezone') ?? 'UTC'
  if (!isTimezone(timezone)) reader.problem('timezone', 'bad_timezone', { given: timezone })
  const days = reader.names('days', WEEKDAYS)
  if (days?.length === 0 && !reader.isWrong('days'))
    reader.problem('days', 'names_of', { known: WEEKDAYS.join(', '), given: '[]' }, 'must name a day, or be left out')
  const prices = readTiered(reader, check)
  reader.done()
  check(reader)
  return { from, to, timezone, ...(days === null ? {} : { days }), ...prices }
}

function readTime(reader: FieldReader, key: 'from' | 'to'): string {
  const time = reader.required(key)
  if (time !== '' && !TIME.test(time))
    reader.problem(key, 'time_of_day', { given: time }, `must be a time of day such as 16:30, got '${time}'`)
  return time
}

function atMost<T>(reader: FieldReader, key: string, items: readonly T[]): readonly T[] {
  if (items.length <= CONDITIONS_MAX) return items
  const message = `must have at most ${CONDITIONS_MAX} items, got ${items.length}`
  reader.problem(key, 'items_most', { most: CONDITIONS_MAX }, message)
  return []
}

function readPrices(reader: FieldReader): PriceTexts {
  const prices: Partial<Record<PriceKey, string | Record<string, string>>> = {}
  for (const { priceKey: key, varies } of PRICED_METERS) {
    const node = reader.node(key)
    if (node === null) continue
    if (varies !== undefined && node.kind === 'map') {
      const sizes = reader.map(key)
      const bySize: Record<string, string> = {}
      for (const size of sizes?.keys() ?? []) {
        if (varies === 'size_and_quality' && !isPictureKey(size)) sizes?.problem(size, 'picture_key')
        bySize[size] = sizes?.decimal(size) ?? '0'
      }
      if (Object.keys(bySize).length === 0) reader.problem(key, 'no_prices')
      prices[key] = bySize
      continue
    }
    const value = reader.decimal(key)
    if (value !== null) prices[key] = value
  }
  return prices
}

const MODEL_ID = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}\/[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}$/

/** Reads one model with its endpoints; problems go to the reader. */
export function readModel(reader: FieldReader): ModelEntry {
  const id = reader.required('id')
  if (id !== '' && (!MODEL_ID.test(id) || SUFFIX.test(id))) reader.problem('id', 'model_id', { given: id })
  const fields = new GivenFields(reader, MODEL_FIELDS)
  fields.read('aliases')
  const type = reader.oneOf('type', MODEL_TYPES)
  if (type === null && !reader.has('type')) reader.problem('type', 'required')
  fields.read('created')
  const contextLength = fields.get('context_length')
  const maxCompletionTokens = fields.get('max_completion_tokens')
  if (contextLength !== null && maxCompletionTokens !== null && maxCompletionTokens > contextLength)
    reader.problem('max_completion_tokens', 'above_context', { given: maxCompletionTokens, context: contextLength })
  const outputBounded = contextLength !== null || maxCompletionTokens !== null
  const endpoints = reader
    .items('endpoints')
    .map((endpoint) => readEndpoint(endpoint, type, outputBounded, contextLength))
  if (endpoints.length === 0) reader.problem('endpoints', 'no_endpoints')
  if (type === 'chat' && !reader.has('context_length')) reader.problem('context_length', 'chat_context')
  const rest = fields.all()
  reader.done()
  return { id, type: type ?? 'chat', endpoints, ...rest }
}

function readEndpoint(
  reader: FieldReader,
  type: ModelType | null,
  outputBounded: boolean,
  modelContext: number | null,
): EndpointEntry {
  const price = reader.map('price')
  if (price === null) reader.problem('price', 'required')
  const currency = price === null ? '' : readCurrency(price)
  const sell = reader.map('sell')
  if (sell?.has('currency') === true && sell.text('currency') !== 'RUB') sell.problem('currency', 'rubles_only')
  const fields = new GivenFields(reader, ENDPOINT_FIELDS)
  const listed = fields.get('supported_parameters')
  const native = [fields.get('native_responses'), fields.get('native_messages')].includes(true)
  const contextLength = fields.get('context_length')
  const most = fields.get('max_completion_tokens')
  const context = contextLength ?? modelContext
  if (context !== null && most !== null && most > context)
    reader.problem('max_completion_tokens', 'above_context', { given: most, context })
  const uses = { listed: listed ?? [], native }
  const check = type === null ? (): void => undefined : (entry: FieldReader): void => checkCharged(entry, type, uses)
  const prices = price === null ? {} : readPriceEntry(price, check)
  const sells = sell === null ? null : readPriceEntry(sell, check)
  const bounded = outputBounded || reader.has('max_completion_tokens')
  for (const [key, map] of [
    ['price', price],
    ['sell', sell],
  ] as const)
    if (type !== null && map !== null) checkComplete(reader, key, map, type, bounded)
  const rest = { ...given({ sell: sells }), ...fields.all() }
  const entry = {
    provider: reader.required('provider'),
    model: reader.required('model'),
    price: { currency, ...prices },
    ...rest,
  }
  reader.done()
  return entry
}

/**
 * There is no default currency: dollars read as rubles would be sold at a hundredth of their price, rubles read as
 * dollars at a hundred times.
 */
function readCurrency(price: FieldReader): string {
  const currency = price.text('currency') ?? ''
  if (!price.has('currency')) price.problem('currency', 'no_currency')
  else if (!/^[A-Z]{3}$/.test(currency)) price.problem('currency', 'currency_code')
  return currency
}

/** Reports keys that are never charged. */
function checkCharged(given: FieldReader, type: ModelType, uses: EndpointUses): void {
  for (const name of given.keys())
    if (given.has(name) && uncharged(type, name, uses))
      given.problem(
        name,
        type === 'chat' && name === 'search' ? 'uncharged_search' : 'uncharged',
        {},
        unchargedText(type, name),
      )
}

/**
 * Reports an endpoint's `price` or `sell` that lacks keys. A wrong price has a problem of its own and does not count as
 * missing.
 */
function checkComplete(
  endpoint: FieldReader,
  key: 'price' | 'sell',
  given: FieldReader,
  type: ModelType,
  bounded: boolean,
): void {
  const missing = missingPrices(type, new Set(given.keys().filter((name) => given.has(name))), bounded)
  if (missing.length > 0)
    endpoint.problem(
      key,
      'incomplete_price',
      { needs: missing.join(' / ') },
      `is not complete for a ${type} model: needs ${missing.join(' or ')}. The endpoint is not routable`,
    )
}

function unchargedText(type: ModelType, key: string): string {
  if (type === 'chat' && key === 'search')
    return 'would never be charged: only an endpoint with native_responses: true or native_messages: true, or with web_search_options among its supported_parameters, searches'
  return `would never be charged: no answer of ${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type} model is measured by it`
}
