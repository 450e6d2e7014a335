import { isDeepStrictEqual } from 'node:util'
import { fieldsOf, type JsonObject } from '../../base/json-text.ts'
import { ownValue } from '../../base/own-value.ts'
import type { PriceKey } from '../../tables/meter-table.ts'
import { compare, decimalText, parseDecimal, shift, type Decimal } from '../../base/money.ts'
import type { PriceListApi } from '../provider-feeds.ts'
import type { ListedModel } from '../offered-models.ts'

/** Far above any price of a million tokens. */
const PRICE_MAX: Decimal = { digits: 1_000_000n, scale: 0 }
const MODELS_MAX = 10_000
const NAME_CHARS_MAX = 200
/** The most names of one model in xAI's list. */
const ALIASES_MAX = 20

/** Powers of ten between a price of one token and of a million, which is the file's unit. */
const PER_TOKEN = 6
const PER_MILLION = 0
/** The unit is a cent for 100 million tokens. */
const CENTS_PER_100_MILLION = -4
/** The price is for one request or one image, as in the file. */
const EACH = 0

/**
 * Our price key, the names in the list (the highest of several counts), and the powers of ten between the list's unit
 * and ours.
 */
type PriceField = readonly [ours: PriceKey, theirs: readonly string[], places: number]

interface PriceListRow {
  /** The path after the base address. */
  readonly path: string
  /** The models of an answer. */
  readonly models: (body: unknown) => unknown
  /** The part of a model that has its prices. */
  readonly prices: (model: JsonObject) => JsonObject
  readonly fields: readonly PriceField[]
  /** Input tokens above which the highest of several names applies; absent = it always does. */
  readonly longAbove?: number
}

const dataOf = (body: unknown): unknown => fieldsOf(body)['data']

/** Providers that publish their prices where their models are listed, in dollars, each by its documentation. */
const PRICE_LIST_APIS: Readonly<Record<PriceListApi, PriceListRow>> = {
  openrouter: {
    path: 'models',
    models: dataOf,
    prices: ({ pricing }) => fieldsOf(pricing),
    fields: [
      ['prompt', ['prompt'], PER_TOKEN],
      ['completion', ['completion'], PER_TOKEN],
      ['input_cache_read', ['input_cache_read'], PER_TOKEN],
      ['input_cache_write', ['input_cache_write'], PER_TOKEN],
      ['internal_reasoning', ['internal_reasoning'], PER_TOKEN],
      ['request', ['request'], EACH],
      ['image', ['image'], EACH],
    ],
  },
  vercel: {
    path: 'models',
    models: dataOf,
    prices: ({ pricing }) => fieldsOf(pricing),
    fields: [
      ['prompt', ['input'], PER_TOKEN],
      ['completion', ['output'], PER_TOKEN],
      ['input_cache_read', ['input_cache_read'], PER_TOKEN],
      ['input_cache_write', ['input_cache_write'], PER_TOKEN],
    ],
  },
  requesty: {
    path: 'models',
    models: dataOf,
    prices: (model) => model,
    fields: [
      ['prompt', ['input_price'], PER_TOKEN],
      ['completion', ['output_price'], PER_TOKEN],
      ['input_cache_read', ['cached_price'], PER_TOKEN],
      ['input_cache_write', ['caching_price'], PER_TOKEN],
    ],
  },
  together: {
    path: 'models',
    models: (body) => body,
    prices: ({ pricing }) => fieldsOf(pricing),
    fields: [
      ['prompt', ['input'], PER_MILLION],
      ['completion', ['output'], PER_MILLION],
    ],
  },
  deepinfra: {
    path: 'models',
    models: dataOf,
    prices: ({ metadata }) => fieldsOf(fieldsOf(metadata)['pricing']),
    fields: [
      ['prompt', ['input_tokens'], PER_MILLION],
      ['completion', ['output_tokens'], PER_MILLION],
      ['input_cache_read', ['cache_read_tokens'], PER_MILLION],
    ],
  },
  // A prompt of 200,000 tokens or more counts as long there (docs.x.ai/docs/models, by lists of 20 November 2026).
  xai: {
    path: 'language-models',
    longAbove: 199_999,
    models: (body) => fieldsOf(body)['models'],
    prices: (model) => model,
    fields: [
      ['prompt', ['prompt_text_token_price', 'prompt_text_token_price_long_context'], CENTS_PER_100_MILLION],
      [
        'completion',
        ['completion_text_token_price', 'completion_text_token_price_long_context'],
        CENTS_PER_100_MILLION,
      ],
      [
        'input_cache_read',
        ['cached_prompt_text_token_price', 'cached_prompt_text_token_price_long_context'],
        CENTS_PER_100_MILLION,
      ],
    ],
  },
}

/** Decimal texts in the units of the file. */
type PlainPrices = Readonly<Partial<Record<PriceKey, string>>>
interface ListedPrices extends PlainPrices {
  readonly tiers?: readonly (PlainPrices & { readonly above: number })[]
}
/** By the provider's name of the model. */
export type PriceList = ReadonlyMap<string, ListedPrices>

export function priceListUrl(api: PriceListApi, baseUrl: string): string {
  return `${baseUrl}/${PRICE_LIST_APIS[api].path}`
}

/** null = the body is no list. A model is left out if one of its prices is unreadable or far above any price. */
export function parsePriceList(api: PriceListApi, body: unknown): PriceList | null {
  const { models, prices, fields, longAbove } = PRICE_LIST_APIS[api]
  const data = models(body)
  if (!Array.isArray(data) || data.length > MODELS_MAX) return null
  const list = new Map<string, ListedPrices>()
  for (const each of data as readonly unknown[]) {
    const model = fieldsOf(each)
    const found = pricesOf(prices(model), fields)
    if (found === null) continue
    const plain = longAbove === undefined ? null : pricesOf(prices(model), plainOf(fields))
    const isStep = plain !== null && longAbove !== undefined && !isDeepStrictEqual(plain, found)
    const listed = isStep ? { ...plain, tiers: [{ above: longAbove, ...found }] } : found
    for (const name of namesOf(model)) if (!list.has(name)) list.set(name, listed)
  }
  return list.size === 0 ? null : list
}

/** A model of a list, with the other names that it has there. */
export interface NamedModel extends ListedModel {
  readonly names: readonly string[]
}

/** The models of the same answer, the newest first if it says when they were made. */
export function listedModels(api: PriceListApi, body: unknown): readonly NamedModel[] {
  const data = PRICE_LIST_APIS[api].models(body)
  if (!Array.isArray(data) || data.length > MODELS_MAX) return []
  const found = (data as readonly unknown[]).flatMap((each) => {
    const model = fieldsOf(each)
    const { id, name, created } = model
    if (!isName(id)) return []
    const parts = [model, fieldsOf(model['top_provider']), fieldsOf(model['metadata'])]
    const tokens = (...keys: readonly string[]): number | null => {
      const all = parts.flatMap((part) => keys.map((key) => ownValue(part, key)))
      return all.find((one): one is number => Number.isSafeInteger(one) && Number(one) > 0) ?? null
    }
    const shown = isName(name) && name !== '' ? name : null
    const listed: NamedModel = {
      id,
      name: shown,
      names: namesOf(model),
      contextLength: tokens('context_length', 'context_window'),
      maxCompletionTokens: tokens('max_completion_tokens', 'max_output_tokens', 'max_tokens'),
    }
    return [{ listed, created: typeof created === 'number' ? created : 0 }]
  })
  return found.toSorted((one, other) => other.created - one.created).map(({ listed }) => listed)
}

/** PostgreSQL cannot store a text with NUL. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= NAME_CHARS_MAX && !value.includes('\0')
}

/** The fields with only the first name of each: the price of a short prompt. */
function plainOf(fields: readonly PriceField[]): readonly PriceField[] {
  return fields.map(([ours, theirs, places]) => [ours, theirs.slice(0, 1), places])
}

function namesOf({ id, aliases }: JsonObject): readonly string[] {
  if (typeof id !== 'string') return []
  const others: readonly unknown[] = Array.isArray(aliases) ? aliases.slice(0, ALIASES_MAX) : []
  return [id, ...others.filter((name) => typeof name === 'string')]
}

function pricesOf(pricing: JsonObject, fields: readonly PriceField[]): PlainPrices | null {
  const prices: Partial<Record<PriceKey, string>> = {}
  for (const [ours, theirs, places] of fields) {
    let highest: Decimal | null = null
    for (const name of theirs) {
      const given = ownValue(pricing, name)
      if (given === undefined || given === null) continue
      const value = typeof given === 'string' || typeof given === 'number' ? parseDecimal(String(given)) : null
      if (value === null || value.digits < 0n) return null
      const price = shift(value, places)
      if (compare(price, PRICE_MAX) > 0) return null
      if (highest === null || compare(price, highest) > 0) highest = price
    }
    // The services write 0 for a meter that they do not bill separately.
    if (highest === null || (highest.digits === 0n && ours !== 'prompt' && ours !== 'completion')) continue
    const text = decimalText(highest)
    // The text is longer than the catalogue allows.
    if (parseDecimal(text) === null) return null
    prices[ours] = text
  }
  return prices.prompt === undefined ? null : prices
}
