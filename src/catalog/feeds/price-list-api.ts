import { fieldsOf, type JsonObject } from '../../lib/json-object.ts'
import { ownValue } from '../../base/own-value.ts'
import type { PriceKey } from '../../tables/meter-table.ts'
import { compare, decimalText, parseDecimal, shift, type Decimal } from '../../base/money.ts'

/** Far above any price of a million tokens. */
const PRICE_MAX: Decimal = { digits: 1_000_000n, scale: 0 }
const MODELS_MAX = 10_000
/** Names of one model in a list of xAI's. */
const ALIASES_MAX = 20

/** Powers of ten between a price of one token and of a million, which is the file's unit. */
const PER_TOKEN = 6
const PER_MILLION = 0
/** Cents for 100 million. */
const CENTS_PER_100_MILLION = -4
/** Not of tokens: of one request or one image, as in the file. */
const EACH = 0

/** Our price, the names of theirs (of several the highest counts), and the powers of ten between their unit and ours. */
type PriceField = readonly [ours: PriceKey, theirs: readonly string[], places: number]

interface PriceListRow {
  /** After the base address. */
  readonly path: string
  /** The models of an answer. */
  readonly models: (body: unknown) => unknown
  /** The part of a model that has its prices. */
  readonly prices: (model: JsonObject) => JsonObject
  readonly fields: readonly PriceField[]
}

const dataOf = (body: unknown): unknown => fieldsOf(body)['data']

/** Providers that publish their prices where their models are listed, in dollars, each by its documentation. */
const PRICE_LIST_APIS = {
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
  // A long prompt has another price there; the file has one for each model.
  xai: {
    path: 'language-models',
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
} as const satisfies Readonly<Record<string, PriceListRow>>

export type PriceListApi = keyof typeof PRICE_LIST_APIS

// The table's own names.
export const PRICE_LIST_API_NAMES = Object.keys(PRICE_LIST_APIS) as readonly PriceListApi[]

/** Decimal texts in the units of the file. */
type ListedPrices = Readonly<Partial<Record<PriceKey, string>>>
/** By the provider's name of the model. */
export type PriceList = ReadonlyMap<string, ListedPrices>

export function priceListUrl(api: PriceListApi, baseUrl: string): string {
  return `${baseUrl}/${PRICE_LIST_APIS[api].path}`
}

/** null = no list. A model with a price that is none, or that is beyond belief, is left out whole. */
export function parsePriceList(api: PriceListApi, body: unknown): PriceList | null {
  const { models, prices, fields }: PriceListRow = PRICE_LIST_APIS[api]
  const data = models(body)
  if (!Array.isArray(data) || data.length > MODELS_MAX) return null
  const list = new Map<string, ListedPrices>()
  for (const each of data as readonly unknown[]) {
    const model = fieldsOf(each)
    const found = pricesOf(prices(model), fields)
    if (found === null) continue
    for (const name of namesOf(model)) if (!list.has(name)) list.set(name, found)
  }
  return list.size === 0 ? null : list
}

function namesOf({ id, aliases }: JsonObject): readonly string[] {
  if (typeof id !== 'string') return []
  const others: readonly unknown[] = Array.isArray(aliases) ? aliases.slice(0, ALIASES_MAX) : []
  return [id, ...others.filter((name) => typeof name === 'string')]
}

function pricesOf(pricing: JsonObject, fields: readonly PriceField[]): ListedPrices | null {
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
    // They write 0 for what is not billed by itself.
    if (highest === null || (highest.digits === 0n && ours !== 'prompt' && ours !== 'completion')) continue
    const text = decimalText(highest)
    // Longer than a catalogue may have it.
    if (parseDecimal(text) === null) return null
    prices[ours] = text
  }
  return prices.prompt === undefined ? null : prices
}
