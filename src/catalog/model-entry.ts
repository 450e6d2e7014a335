import { PRICED_METERS, type PriceKey } from '../tables/meter-table.ts'
import { MODEL_TYPES, type MediaTokens, type ModelType } from './catalog.ts'
import type { EndpointEntry, ModelEntry, PriceTexts } from './document.ts'
import { defined, type FieldReader } from './field-reader.ts'
import { INPUT_MODALITIES, OUTPUT_MODALITIES } from '../tables/model-types.ts'
import { PARAMETER_NAMES } from '../tables/parameter-table.ts'
import { readMarkup } from './markup.ts'
import { isPictureKey } from './picture-price.ts'
import { missingPrices, uncharged, type EndpointUses } from './price-keys.ts'

const MODEL_ID = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,99}\/[A-Za-z0-9][A-Za-z0-9._:@-]{0,99}$/
const ALIAS = /^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}$/
/** A request's `:nitro` and `:floor` choose the order of providers, so no model name may end with them. */
const SUFFIX = /:(nitro|floor)$/
const DATE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z)?$/

/** Reads one model with its endpoints; problems go to the reader. */
export function readModel(reader: FieldReader): ModelEntry {
  const id = reader.required('id')
  if (id !== '' && (!MODEL_ID.test(id) || SUFFIX.test(id)))
    reader.problem(
      'id',
      'model_id',
      { given: id },
      `must be of the form vendor/model_name, without :nitro or :floor, got '${id}'`,
    )
  const aliases = reader.texts('aliases')
  const wrongAlias = aliases?.find((alias) => !ALIAS.test(alias) || SUFFIX.test(alias))
  if (wrongAlias !== undefined)
    reader.problem(
      'aliases',
      'alias',
      { given: wrongAlias },
      `must be names of letters, digits and ._:@/-, without :nitro or :floor, got '${wrongAlias}'`,
    )
  const type = reader.oneOf('type', MODEL_TYPES)
  if (type === null && !reader.has('type')) reader.problem('type', 'required', {}, 'is required')
  const created = reader.text('created')
  if (created !== null && (!DATE.test(created) || Number.isNaN(Date.parse(created))))
    reader.problem('created', 'day', {}, `must be a date such as 2024-07-18, got '${created}'`)
  const contextLength = reader.whole('context_length', 1)
  const maxCompletionTokens = reader.whole('max_completion_tokens', 1)
  if (contextLength !== null && maxCompletionTokens !== null && maxCompletionTokens > contextLength)
    reader.problem(
      'max_completion_tokens',
      'above_context',
      { given: maxCompletionTokens, context: contextLength },
      aboveContext(maxCompletionTokens, contextLength),
    )
  const outputBounded = contextLength !== null || maxCompletionTokens !== null
  const endpoints = reader
    .items('endpoints')
    .map((endpoint) => readEndpoint(endpoint, type, outputBounded, contextLength))
  if (endpoints.length === 0)
    reader.problem('endpoints', 'no_endpoints', {}, 'is required: at least one way to serve the model')
  if (type === 'chat' && !reader.has('context_length'))
    reader.problem('context_length', 'chat_context', {}, 'is required for a chat model')
  const rest = defined({
    name: reader.text('name'),
    description: reader.text('description'),
    created,
    markup: readMarkup(reader),
    active: reader.has('active') ? reader.flag('active', true) : null,
    hidden: reader.has('hidden') ? reader.flag('hidden', false) : null,
    context_length: contextLength,
    max_completion_tokens: maxCompletionTokens,
    max_prompt_length: reader.whole('max_prompt_length', 1),
    input_modalities: readNames(reader, 'input_modalities', INPUT_MODALITIES),
    output_modalities: readNames(reader, 'output_modalities', OUTPUT_MODALITIES),
    tokenizer: reader.text('tokenizer'),
    instruct_type: reader.text('instruct_type'),
    aliases,
    supported_voices: reader.texts('supported_voices'),
    supported_formats: reader.texts('supported_formats'),
    supported_sizes: reader.texts('supported_sizes'),
    supported_durations: reader.wholes('supported_durations'),
    supported_resolutions: reader.texts('supported_resolutions'),
    supported_aspect_ratios: reader.texts('supported_aspect_ratios'),
  })
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
  if (price === null) reader.problem('price', 'required', {}, 'is required')
  const currency = price === null ? '' : readCurrency(price)
  const prices = price === null ? {} : readPrices(price)
  const sell = reader.map('sell')
  if (sell?.has('currency') === true && sell.text('currency') !== 'RUB')
    sell.problem('currency', 'rubles_only', {}, 'must be RUB: what the customer pays is in rubles')
  const sells = sell === null ? null : readPrices(sell)
  const bounded = outputBounded || reader.has('max_completion_tokens')
  const listed = readNames(reader, 'supported_parameters', PARAMETER_NAMES)
  const nativeResponses = reader.has('native_responses') ? reader.flag('native_responses', false) : null
  const nativeMessages = reader.has('native_messages') ? reader.flag('native_messages', true) : null
  const contextLength = reader.whole('context_length', 1)
  const most = reader.whole('max_completion_tokens', 1)
  const context = contextLength ?? modelContext
  if (context !== null && most !== null && most > context)
    reader.problem('max_completion_tokens', 'above_context', { given: most, context }, aboveContext(most, context))
  if (type !== null) {
    const uses = { listed: listed ?? [], native: nativeResponses === true || nativeMessages === true }
    for (const [key, given] of [
      ['price', price],
      ['sell', sell],
    ] as const)
      if (given !== null) checkPrices(reader, key, given, { type, bounded, uses })
  }
  const rest = defined({
    sell: sells,
    supported_parameters: listed,
    context_length: contextLength,
    max_completion_tokens: most,
    media_tokens: readMediaTokens(reader.map('media_tokens')),
    native_responses: nativeResponses,
    native_messages: nativeMessages,
    native_completions: reader.has('native_completions') ? reader.flag('native_completions', false) : null,
    force: reader.has('force') ? reader.flag('force', false) : null,
  })
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
 * There is no default currency: dollars read as rubles would be sold at a hundredth, rubles read as dollars at a
 * hundredfold.
 */
function readCurrency(price: FieldReader): string {
  const currency = price.text('currency') ?? ''
  if (!price.has('currency'))
    price.problem('currency', 'no_currency', {}, 'is required: RUB, or a currency with a rate such as USD')
  else if (!/^[A-Z]{3}$/.test(currency))
    price.problem('currency', 'currency_code', {}, 'must be a currency code of three capital letters')
  return currency
}

/** Problems of an endpoint's prices, in `price` or `sell`: keys that are never charged, and missing keys. */
function checkPrices(
  endpoint: FieldReader,
  key: 'price' | 'sell',
  given: FieldReader,
  { type, bounded, uses }: { readonly type: ModelType; readonly bounded: boolean; readonly uses: EndpointUses },
): void {
  const names = given.keys().filter((name) => given.has(name))
  for (const name of names)
    if (uncharged(type, name, uses))
      given.problem(
        name,
        type === 'chat' && name === 'search' ? 'uncharged_search' : 'uncharged',
        {},
        unchargedText(type, name),
      )
  // A wrong price has its own problem and is not missing.
  const missing = missingPrices(type, new Set(names), bounded)
  if (missing.length > 0)
    endpoint.problem(
      key,
      'incomplete_price',
      { needs: missing.join(' / ') },
      `is not complete for a ${type} model: needs ${missing.join(' or ')}. The endpoint is not routable`,
      true,
    )
}

function aboveContext(tokens: number, context: number): string {
  return `must be at most the context_length of ${context}, got ${tokens}`
}

/** Names outside the known list would have no effect. */
function readNames(reader: FieldReader, key: string, known: readonly string[]): readonly string[] | null {
  const names = reader.texts(key)
  const unknown = names?.find((name) => !known.includes(name))
  if (unknown !== undefined)
    reader.problem(
      key,
      'names_of',
      { known: known.join(', '), given: unknown.slice(0, 100) },
      `must be names of ${known.join(', ')}, got '${unknown.slice(0, 100)}'`,
    )
  return names
}

function unchargedText(type: ModelType, key: string): string {
  if (type === 'chat' && key === 'search')
    return 'would never be charged: only an endpoint with native_responses: true or native_messages: true, or with web_search_options among its supported_parameters, searches'
  return `would never be charged: no answer of ${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type} model is measured by it`
}

/** The most tokens of one picture, document, sound or video in a prompt. */
function readMediaTokens(reader: FieldReader | null): MediaTokens | null {
  if (reader === null) return null
  const tokens = defined({
    image: reader.whole('image', 0),
    file: reader.whole('file', 0),
    audio: reader.whole('audio', 0),
    video: reader.whole('video', 0),
  })
  reader.done()
  return tokens
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
        if (varies === 'size_and_quality' && !isPictureKey(size))
          sizes?.problem(
            size,
            'picture_key',
            {},
            "must be a size such as 1024x1024 or 2K, a quality such as high, or both as '1024x1024/high'",
          )
        bySize[size] = sizes?.decimal(size) ?? '0'
      }
      if (Object.keys(bySize).length === 0) reader.problem(key, 'no_prices', {}, 'must have at least one price')
      prices[key] = bySize
      continue
    }
    const value = reader.decimal(key)
    if (value !== null) prices[key] = value
  }
  reader.done()
  return prices
}
