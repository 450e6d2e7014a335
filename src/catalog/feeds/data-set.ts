import { fieldsOf } from '../../base/json-text.ts'
import type { ModelEntry, EndpointEntry, PriceEntry, PriceTexts, TieredPrice } from '../document.ts'
import {
  type NamedRow,
  OpenrouterNames,
  constantFees,
  familyOf,
  guessedOutput,
  rowPrices,
  upstreamName,
} from './data-set-prices.ts'
import type { LimitList } from './data-set-limits.ts'
import { KNOWN_PROVIDERS, type KnownProvider } from '../known-providers.ts'
import { uncharged } from '../price-sheet.ts'

/** OpenAI's reasoning models: they take `max_completion_tokens` instead of `max_tokens`, and no sampling parameters. */
const THINKING = /^(o\d|gpt-([5-9]|\d\d)(?!.*-chat))/
/** Older models that make one tool call at a time. */
const ONE_CALL = /^o\d/
const THINKING_PARAMETERS = [
  'max_completion_tokens',
  'seed',
  'tools',
  'tool_choice',
  'response_format',
  'structured_outputs',
  'reasoning_effort',
  'metadata',
  'prompt_cache_key',
  'safety_identifier',
  'user',
  'developer',
]
const CHATTING = /^gpt-([5-9]|\d\d).*-chat/

/** The parameters of an OpenAI model that does not take all of the protocol's; null = all. */
function openaiParameters(model: string): readonly string[] | null {
  if (CHATTING.test(model))
    return [
      'max_completion_tokens',
      'temperature',
      'top_p',
      'frequency_penalty',
      'presence_penalty',
      'stop',
      'n',
      ...THINKING_PARAMETERS.slice(1).filter((name) => name !== 'reasoning_effort'),
    ]
  if (!THINKING.test(model)) return null
  return ONE_CALL.test(model) ? THINKING_PARAMETERS : [...THINKING_PARAMETERS, 'n', 'parallel_tool_calls', 'verbosity']
}

/** Models that are not for chat, or are sold in units that a chat answer does not report. */
const OTHER_KINDS =
  /(^|[-/.])(ocr|tts|transcribe|transcription|whisper|realtime|live|voice|sonic|voxtral|moderation|guard|safeguard|image|imagen|veo|lyria|sora|omni|computer|banana|robotics|safety|instruct-0914|babbage|davinci|audio|batch|free)([-/.:\d]|$)|^ft:|\.ft-|:/
/** Google's rows include models of its cloud, which has another protocol; OpenAI's rows include its open models. */
const OTHER_PLATFORM: ReadonlyMap<string, RegExp> = new Map([
  ['google', /^claude-|-maas$/],
  ['openai', /^gpt-oss/],
])
const GONE = /^(retired|deprecated|shut down)\b|retained for historical/i
/** Models that their providers have shut down; the data set keeps them for old bills, without a mark. */
const NOT_CURRENT =
  /^(gpt-3\.5-(0301|turbo-(0613|16k|instruct))|gpt-4-(32k|vision)|gpt-4\.5-|o1-(mini|preview)|claude-(2|v1|3-opus|3-sonnet|3-5-sonnet)|gemini-(1\.|pro|flash-1)|grok-2|codex-mini)/
/** Models that search the web for every answer; their providers bill each search. */
export const SEARCHES_ALWAYS = /search-preview|search-api|deep-research|(^|[/-])sonar|(^|[/-])compound/
const ROWS_MAX = 20_000
const TEXT_MAX = 200

/** A model of the data set. */
export interface SetModel extends ModelEntry {
  readonly endpoints: readonly SetEndpoint[]
}

interface SetEndpoint extends EndpointEntry {
  /** The page that states its price. */
  readonly source: string
  /** The list of limits, which has prices too, has the same price. */
  readonly isConfirmed: boolean
}

export interface DataSet {
  readonly models: readonly SetModel[]
  /** How many rows are left out, by reason. */
  readonly left: ReadonlyMap<string, number>
}

export interface DataSetInput {
  /** The body of the price data set, of the form of genai-prices' `data.json`. */
  readonly prices: unknown
  readonly limits: LimitList
  /** ISO day whose prices apply. */
  readonly day: string
  /** The id that a known endpoint has here, by `provider/model`, so that it stays the same. */
  readonly ids: ReadonlyMap<string, string>
}

interface SetRow extends NamedRow {
  readonly comment: string
  readonly isDeprecated: boolean
  readonly prices: unknown
  readonly variants: unknown
}

interface GrowingModel extends Omit<ModelEntry, 'endpoints'> {
  endpoints: SetEndpoint[]
}

/**
 * The models of the known providers; null = the body is no data set. The catalogue's reader checks every row: nothing
 * else of the body is trusted.
 */
export function readDataSet(input: DataSetInput): DataSet | null {
  const providers: readonly unknown[] = Array.isArray(input.prices) ? input.prices : []
  const rows = new Map<string, readonly SetRow[]>()
  const pages = new Map<string, string>()
  for (const each of providers) {
    const { id, models, pricing_urls: urls } = fieldsOf(each)
    if (typeof id !== 'string' || !Array.isArray(models) || models.length > ROWS_MAX) continue
    rows.set(id, models.flatMap(rowOf))
    const [url]: readonly unknown[] = Array.isArray(urls) ? urls : []
    pages.set(id, typeof url === 'string' ? url : '')
  }
  if (!KNOWN_PROVIDERS.some(({ slug }) => rows.has(slug))) return null
  const names = new OpenrouterNames(rows.get('openrouter') ?? [])
  const models = new Map<string, GrowingModel>()
  const left = new Map<string, number>()
  const leave = (reason: string, count = 1): void => void left.set(reason, (left.get(reason) ?? 0) + count)
  for (const provider of KNOWN_PROVIDERS)
    for (const row of rows.get(provider.slug) ?? []) {
      const refused = addRow(models, provider, row, names, pages.get(provider.slug) ?? '', input)
      if (refused !== null) leave(refused)
    }
  endAtSteps(models, input.limits)
  const dropped = dropShortRoutes(models, feesById(rows, names))
  if (dropped > 0) leave('a fee that another route of the model has', dropped)
  return { models: [...models.values()].toSorted((one, other) => (one.id < other.id ? -1 : 1)), left }
}

function rowOf(each: unknown): readonly SetRow[] {
  const { id, name, match, context_window: context, price_comments: comment, deprecated } = fieldsOf(each)
  const { prices, price_variants: variants } = fieldsOf(each)
  if (typeof id !== 'string' || id.length > TEXT_MAX) return []
  return [
    {
      id,
      name: typeof name === 'string' && name.length <= TEXT_MAX && !name.includes('\0') ? name : null,
      match,
      context: typeof context === 'number' && Number.isSafeInteger(context) && context > 0 ? context : null,
      comment: typeof comment === 'string' ? comment : '',
      isDeprecated: deprecated === true,
      prices,
      variants,
    },
  ]
}

/**
 * If a route has one price, and its model has a step at its maker or on another route, the route's window ends at that
 * step: longer requests would probably be sold below their cost.
 */
function endAtSteps(models: ReadonlyMap<string, GrowingModel>, limits: LimitList): void {
  for (const model of models.values()) {
    const steps = model.endpoints.flatMap(({ price }) => price.tiers?.map(({ above }) => above) ?? [])
    const step = Math.min(limits.ofModel(model.id)?.step ?? Infinity, ...steps)
    model.endpoints = model.endpoints.map((endpoint) => {
      const { context_length: context = model.context_length ?? 0, price } = endpoint
      if (price.tiers !== undefined || context <= step) return endpoint
      const most = endpoint.max_completion_tokens ?? model.max_completion_tokens ?? Infinity
      return { ...endpoint, context_length: step, ...(most <= step ? {} : { max_completion_tokens: step }) }
    })
  }
}

/** By the model's id, the fees that its providers bill with every request, including fees of rows that are left out. */
function feesById(
  rows: ReadonlyMap<string, readonly SetRow[]>,
  names: OpenrouterNames,
): ReadonlyMap<string, ReadonlySet<string>> {
  const fees = new Map<string, Set<string>>()
  for (const provider of KNOWN_PROVIDERS) {
    for (const row of rows.get(provider.slug) ?? []) {
      const id = names.idOf(provider, row, () => false)
      const found = constantFees(row.prices)
      if (id !== null && found.length > 0) fees.set(id, new Set([...(fees.get(id) ?? []), ...found]))
    }
  }
  return fees
}

/**
 * Drops a route that lacks a fee which another route of the model has: at a price below its cost it would draw all
 * traffic.
 */
function dropShortRoutes(models: Map<string, GrowingModel>, fees: ReadonlyMap<string, ReadonlySet<string>>): number {
  let dropped = 0
  for (const model of models.values()) {
    const owed = fees.get(model.id)
    if (owed === undefined) continue
    const whole = model.endpoints.filter(({ price }) => [...owed].every((key) => Object.hasOwn(price, key)))
    dropped += model.endpoints.length - whole.length
    model.endpoints = whole
    if (whole.length === 0) models.delete(model.id)
  }
  return dropped
}

/** Adds one row of the data set; returns the reason if it is left out, else null. */
function addRow(
  models: Map<string, GrowingModel>,
  provider: KnownProvider,
  row: SetRow,
  names: OpenrouterNames,
  source: string,
  { limits, day, ids }: DataSetInput,
): string | null {
  const { slug } = provider
  if (row.isDeprecated || GONE.test(row.comment) || NOT_CURRENT.test(row.id)) return 'deprecated or retired'
  const embeddings = row.id.includes('embed')
  if (!embeddings && OTHER_KINDS.test(slug === 'openrouter' ? row.id.replace(/^[^/]*\//, '') : row.id))
    return 'another kind than chat'
  if (OTHER_PLATFORM.get(slug)?.test(row.id) === true) return 'another platform of the provider'
  const upstream = upstreamName(provider, row)
  const own = limits.ofEndpoint(provider, upstream)
  if (own !== null && own.gone !== null && own.gone <= day) return 'deprecated or retired'
  if (own?.isOtherKind === true) return 'another kind than chat'
  const kept = ids.get(`${slug}/${upstream}`)
  // The model is shut down, or so new that it will come with the next list.
  if (own === null && limits.covers(provider)) return 'not in the list of limits'
  const path = embeddings ? '/v1/embeddings' : '/v1/chat/completions'
  if (slug === 'openai' && own !== null && own.endpoints?.includes(path) === false)
    return 'not served by chat completions'
  const isTaken = (id: string): boolean => models.get(id)?.endpoints.some(({ provider: by }) => by === slug) ?? false
  const id = kept !== undefined && !isTaken(kept) ? kept : names.idOf(provider, row, isTaken)
  if (id === null) return 'no id of the form author/slug, or a second name of a model'
  const known = own ?? limits.ofModel(id)
  // OpenRouter's and other hosts' rows without a window belong to models that are gone.
  const context = row.context ?? (provider.author === null ? null : (own?.context ?? names.contextOf(id)))
  if (!embeddings && context === null) return 'context window unknown'
  const read = rowPrices(row, day, context ?? Infinity, provider.hourDays)
  if ('refused' in read) return read.refused
  const { prompt, completion, request } = read.price
  const listed = agreement(own?.price ?? null, read.price)
  if (listed === 'another') return 'another price in the list of limits'
  if (prompt === undefined || (!embeddings && completion === undefined)) return 'no price'
  if (SEARCHES_ALWAYS.test(row.id) && request === undefined) return 'a fee for searches that the data set does not have'
  const type = embeddings ? 'embeddings' : 'chat'
  const elsewhere = limits.outputAnywhere(id)
  // If a model's own row states nothing, the output that other hosts state is a guess.
  const output = known === null ? elsewhere : known.output
  const seesImages = known?.seesImages ?? null
  const name = names.displayName(id) ?? row.name ?? id
  const model =
    models.get(id) ?? modelRow({ id, type, name, context, output, elsewhere, seesImages }, read.ownImagePrice)
  if (model.type !== type) return 'another kind than the model of that name'
  models.set(id, model)
  const tiers = { ...own?.serviceTiers, ...read.price.service_tiers }
  const price = { ...read.price, ...(Object.keys(tiers).length === 0 ? {} : { service_tiers: tiers }) }
  const endpoint = endpointRow(model, provider, upstream, charged(type, price), context)
  model.endpoints.push({ ...endpoint, source, isConfirmed: listed === 'same' })
  return null
}

interface Facts {
  readonly id: string
  readonly type: 'chat' | 'embeddings'
  readonly name: string
  /** The context window, and the longest answer, in tokens; null = unknown. */
  readonly context: number | null
  readonly output: number | null
  /** The shortest of the longest answers that hosts state. */
  readonly elsewhere: number | null
  readonly seesImages: boolean | null
}

function modelRow(
  { id, type, name, context, output, elsewhere, seesImages }: Facts,
  ownImagePrice: boolean,
): GrowingModel {
  const family = familyOf(id)
  const takesImages = !ownImagePrice && (seesImages ?? family.inputModalities.includes('image'))
  return {
    id,
    type,
    name,
    ...(context === null ? {} : { context_length: context }),
    ...(type === 'embeddings'
      ? {}
      : {
          max_completion_tokens: Math.min(
            output ?? guessedOutput(family, context ?? 0, elsewhere),
            context ?? Infinity,
          ),
        }),
    ...(type === 'embeddings' || output !== null ? {} : { guessed: ['max_completion_tokens'] }),
    input_modalities: type !== 'embeddings' && takesImages ? ['text', 'image'] : ['text'],
    endpoints: [],
  }
}

function endpointRow(
  model: GrowingModel,
  provider: KnownProvider,
  upstream: string,
  price: PriceEntry,
  context: number | null,
): EndpointEntry {
  const most = model.max_completion_tokens
  const parameters = provider.slug === 'openai' && model.type === 'chat' ? openaiParameters(upstream) : null
  return {
    provider: provider.slug,
    model: upstream,
    price: { currency: 'USD', ...price },
    ...(context === null || context === model.context_length ? {} : { context_length: context }),
    ...(context === null || most === undefined || context >= most ? {} : { max_completion_tokens: context }),
    ...(parameters === null ? {} : { supported_parameters: parameters }),
  }
}

/** Whether the list of limits has the same price at some hour of the day; null = it has no price. */
function agreement(listed: TieredPrice | null, { hours = [], ...price }: PriceEntry): 'same' | 'another' | null {
  if (listed === null) return null
  const isSame = ({ prompt, completion }: PriceTexts): boolean =>
    prompt === listed.prompt &&
    (completion === undefined || listed.completion === undefined || completion === listed.completion)
  return isSame(price) || hours.some(isSame) ? 'same' : 'another'
}

/** The prices that can be charged: rows of the data set never search the web, and embeddings have no output. */
function charged(type: ModelEntry['type'], { service_tiers: named, hours, ...rest }: PriceEntry): PriceEntry {
  const uses = { listed: [], native: false }
  // Only price keys are removed, and every form of a price may lack them.
  const kept = <T extends PriceTexts>(prices: T): T =>
    Object.fromEntries(Object.entries(prices).filter(([key]) => !uncharged(type, key, uses))) as T
  const tiered = <T extends TieredPrice>(price: T): T => {
    const most = kept(price)
    return most.tiers === undefined ? most : { ...most, tiers: most.tiers.map((tier) => kept(tier)) }
  }
  return {
    ...tiered(rest),
    ...(named === undefined
      ? {}
      : { service_tiers: Object.fromEntries(Object.entries(named).map(([name, one]) => [name, tiered(one)])) }),
    ...(hours === undefined ? {} : { hours: hours.map((one) => tiered(one)) }),
  }
}
