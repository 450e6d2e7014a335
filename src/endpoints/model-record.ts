import type { Endpoint, Model, ModelType } from '../catalog/catalog.ts'
import { SPEECH_VOICES } from '../kinds/speech-format.ts'
import { exactCost, type Meter, type PriceSheet, type Usage } from '../meters.ts'
import { compare, decimalText, shift } from '../money.ts'
import { isPriced } from '../plan/parameter-costs.ts'
import { videoFields, videoSecond } from './video-fields.ts'

/** What a record says beyond the model itself. */
export interface RecordFacts {
  /** Names of the calls that serve a model, without `/v1/`. */
  supportedEndpoints(model: Model): readonly string[]
  /** Parameter names that an adapter carries to models of a type, for endpoints that list none of their own. */
  parametersOf(adapterName: string, type: ModelType): readonly string[]
  /** Formats that a model of speech can be asked for. */
  speechFormatsOf(model: Model): readonly string[]
}

/** Measured state of one endpoint; null where nothing is known. */
export interface EndpointState {
  readonly unhealthy: boolean
  readonly uptime5m: number | null
  readonly uptime30m: number | null
  readonly uptime1d: number | null
  readonly latency30m: Percentiles | null
  readonly throughput30m: Percentiles | null
}

interface Percentiles {
  readonly p50: number
  readonly p75: number
  readonly p90: number
  readonly p99: number
}

/** Wire name of each price, the meter it shows, how many of the meter's units it is for, and the price it falls back to. */
const PRICING: readonly {
  readonly name: string
  readonly meter: Meter
  readonly parent?: Meter
  readonly tenfold?: true
}[] = [
  { name: 'request', meter: 'request' },
  { name: 'image', meter: 'image_input' },
  { name: 'input_cache_read', meter: 'cache_read', parent: 'input' },
  { name: 'input_cache_write', meter: 'cache_write', parent: 'input' },
  { name: 'internal_reasoning', meter: 'reasoning', parent: 'output' },
  { name: 'audio', meter: 'audio_input', parent: 'input' },
  { name: 'audio_output', meter: 'audio_output', parent: 'output' },
  { name: 'image_output', meter: 'image_output' },
  { name: 'per_character', meter: 'characters' },
  // The meter counts tenths of a second, the price is shown for a whole one.
  { name: 'per_second', meter: 'deciseconds', tenfold: true },
  { name: 'search', meter: 'search' },
  { name: 'video_second', meter: 'video_seconds' },
]

/** One of everything a call of any type may use, to compare endpoints by price without a request at hand. */
const TYPICAL_USAGE: Usage = {
  input: 1_000,
  output: 1_000,
  audio_output: 100,
  request: 1,
  image_output: 1,
  characters: 1_000,
  deciseconds: 600,
  video_seconds: 1,
  search: 1,
}
/** OpenRouter's name of a tokenizer family, which its SDK lists. */
const TOKENIZER_FAMILY: Readonly<Record<string, string>> = {
  o200k_base: 'GPT',
  o200k_harmony: 'GPT',
  cl100k_base: 'GPT',
}
const IMAGES_PER_CALL_MAX = 10

/** The record of wire.md D-1.1, with the fields that D-1.2 adds for its type. */
export function modelRecord(model: Model, facts: RecordFacts): Record<string, unknown> {
  const top = cheapestEndpoint(model.endpoints)
  return {
    id: model.id,
    object: 'model',
    owned_by: model.id.split('/', 1)[0],
    canonical_slug: model.id,
    name: model.name,
    type: model.type,
    created: model.created,
    description: model.description,
    context_length: model.contextLength,
    architecture: architectureOf(model),
    pricing:
      top === null
        ? { currency: 'RUB', prompt: '0', completion: '0' }
        : pricingOf(model.type === 'video' ? videoSecond(model, top) : top.sell),
    top_provider: {
      context_length: top?.contextLength ?? model.contextLength,
      max_completion_tokens: top?.maxCompletionTokens ?? model.maxCompletionTokens,
      is_moderated: false,
    },
    per_request_limits: null,
    supported_parameters: [...new Set(model.endpoints.flatMap((endpoint) => parametersOf(model, endpoint, facts)))],
    default_parameters: null,
    supported_voices: model.supportedVoices,
    supported_endpoints: facts.supportedEndpoints(model),
    links: { details: detailsPath(model) },
    expiration_date: null,
    knowledge_cutoff: null,
    hugging_face_id: null,
    ...fieldsOfType(model, top, facts),
  }
}

/** The record as `/v1/images/models` alone shows it (wire.md D-1.2). */
export function imageModelRecord(model: Model, facts: RecordFacts): Record<string, unknown> {
  const sizes = model.supportedSizes === null ? {} : { size: { type: 'enum', values: model.supportedSizes } }
  const image = model.inputModalities.includes('image') ? { image: { type: 'boolean' } } : {}
  return {
    ...modelRecord(model, facts),
    supported_parameters: { n: { type: 'range', min: 1, max: IMAGES_PER_CALL_MAX }, ...sizes, ...image },
    supports_streaming: false,
    endpoints: detailsPath(model),
  }
}

/** `data` of `GET /v1/models/{author}/{slug}/endpoints` (wire.md 12). */
export function endpointsRecord(
  model: Model,
  facts: RecordFacts,
  stateOf: (endpointId: string) => EndpointState,
): Record<string, unknown> {
  return {
    id: model.id,
    name: model.name,
    created: model.created,
    description: model.description,
    architecture: architectureOf(model),
    endpoints: model.endpoints.map((endpoint) => endpointRecord(model, endpoint, facts, stateOf(endpoint.id))),
  }
}

function endpointRecord(
  model: Model,
  endpoint: Endpoint,
  facts: RecordFacts,
  state: EndpointState,
): Record<string, unknown> {
  const parameters = parametersOf(model, endpoint, facts)
  const toolChoice = parameters.includes('tool_choice')
  return {
    name: `${endpoint.provider.name} | ${model.id}`,
    model_id: model.id,
    model_name: model.name,
    provider_name: endpoint.provider.name,
    tag: endpoint.provider.slug,
    context_length: endpoint.contextLength ?? model.contextLength,
    max_completion_tokens: endpoint.maxCompletionTokens ?? model.maxCompletionTokens,
    max_prompt_tokens: null,
    quantization: 'unknown',
    status: state.unhealthy ? -2 : 0,
    pricing: pricingOf(model.type === 'video' ? videoSecond(model, endpoint) : endpoint.sell),
    supported_parameters: parameters,
    supports_implicit_caching: false,
    supports_voice_cloning: false,
    supports_tool_choice: { auto: toolChoice, function: toolChoice, none: toolChoice, required: toolChoice },
    uptime_last_5m: rounded(state.uptime5m),
    uptime_last_30m: rounded(state.uptime30m),
    uptime_last_1d: rounded(state.uptime1d),
    latency_last_30m: percentiles(state.latency30m),
    throughput_last_30m: percentiles(state.throughput30m),
  }
}

/**
 * What the client pays, as decimal strings in RUB per unit. A price is left out when it is 0 or when it is only its
 * parent's (a cache read at the price of the prompt says nothing new, and clients read its presence as a discount).
 */
export function pricingOf(sheet: PriceSheet): Record<string, string> {
  const pricing: Record<string, string> = {
    currency: 'RUB',
    prompt: rublesText(sheet, 'input'),
    completion: rublesText(sheet, 'output'),
  }
  for (const { name, meter, parent, tenfold } of PRICING) {
    const price = sheet[meter]
    if (price.digits === 0n || (parent !== undefined && compare(price, sheet[parent]) === 0)) continue
    pricing[name] = rublesText(sheet, meter, tenfold === true ? 1 : 0)
  }
  return pricing
}

/** null only where there is no endpoint; among equals the first of the catalogue. */
export function cheapestEndpoint(endpoints: readonly Endpoint[]): Endpoint | null {
  let cheapest: Endpoint | null = null
  for (const endpoint of endpoints) {
    if (
      cheapest === null ||
      compare(exactCost(TYPICAL_USAGE, endpoint.sell), exactCost(TYPICAL_USAGE, cheapest.sell)) < 0
    )
      cheapest = endpoint
  }
  return cheapest
}

function rublesText(sheet: PriceSheet, meter: Meter, places = 0): string {
  return decimalText(shift(sheet[meter], places - 6))
}

function fieldsOfType(model: Model, top: Endpoint | null, facts: RecordFacts): Record<string, unknown> {
  const type: ModelType = model.type
  switch (type) {
    case 'tts':
      return {
        supported_voices: model.supportedVoices ?? SPEECH_VOICES,
        supported_formats: facts.speechFormatsOf(model),
      }
    case 'video':
      return videoFields(model, top)
    case 'chat':
    case 'embeddings':
    case 'image':
    case 'transcription':
    case 'rerank':
      return {}
  }
}

function architectureOf(model: Model): Record<string, unknown> {
  return {
    modality: `${model.inputModalities.join('+')}->${model.outputModalities.join('+')}`,
    input_modalities: model.inputModalities,
    output_modalities: model.outputModalities,
    tokenizer: model.tokenizer === null ? 'Other' : (TOKENIZER_FAMILY[model.tokenizer] ?? model.tokenizer),
    instruct_type: model.instructType,
  }
}

function parametersOf({ type }: Model, endpoint: Endpoint, facts: RecordFacts): readonly string[] {
  return (endpoint.supportedParameters ?? facts.parametersOf(endpoint.provider.adapter, type)).filter((name) =>
    isPriced(endpoint, name),
  )
}

function detailsPath(model: Model): string {
  return `/v1/models/${model.id}/endpoints`
}

function percentiles(values: Percentiles | null): Percentiles | null {
  return values === null
    ? null
    : { p50: round(values.p50), p75: round(values.p75), p90: round(values.p90), p99: round(values.p99) }
}

function rounded(value: number | null): number | null {
  return value === null ? null : round(value)
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
