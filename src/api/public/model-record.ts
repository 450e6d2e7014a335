import type { Endpoint, Model, ModelType } from '../../catalog/catalog.ts'
import { cheapestEndpoint, saysMore } from '../../catalog/shown-prices.ts'
import { SPEECH_VOICES } from '../../kinds/speech.ts'
import { PRICED_METERS, PRICE_SCALES } from '../../tables/meter-table.ts'
import { MODEL_TYPE_TABLE } from '../../tables/model-types.ts'
import type { PriceSheet } from '../../tables/meters.ts'
import { decimalText, shift } from '../../base/money.ts'
import { isPriced } from '../../pay/plan/parameter-costs.ts'
import { videoFields, videoSecond } from '../../endpoints/video-fields.ts'
import { ownValue } from '../../base/own-value.ts'

/** The facts of a record that are not in the model itself. */
export interface RecordFacts {
  /** Names of the calls that the model serves, without `/v1/`. */
  supportedEndpoints(model: Model): readonly string[]
  /** Parameters that an adapter carries for a type of model, for endpoints without a list of their own. */
  parametersOf(adapterName: string, type: ModelType): readonly string[]
  /** Formats that a speech model can produce. */
  speechFormatsOf(model: Model): readonly string[]
}

/** Measured state of one endpoint; null where nothing is known. */
export interface EndpointState {
  readonly unhealthy: boolean
  readonly uptime5m: number | null
  readonly uptime30m: number | null
  readonly uptime1d: number | null
  readonly latency30m: HealthPercentiles | null
  readonly throughput30m: HealthPercentiles | null
}

interface HealthPercentiles {
  readonly p50: number
  readonly p75: number
  readonly p90: number
  readonly p99: number
}

/** Prices of a record, in the order in which it shows them. */
const SHOWN = PRICED_METERS.flatMap((row) =>
  row.wire === null ? [] : [{ row, name: row.wire.name, place: row.wire.place }],
).toSorted((left, right) => left.place - right.place)
/** Clients read these fields for every model. */
const ALWAYS: readonly string[] = ['prompt', 'completion']
/** OpenRouter's name for a tokenizer family, which its SDK lists. */
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
        : pricingOf(model.type, model.type === 'video' ? videoSecond(model, top) : top.sell),
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

/** The record as only `/v1/images/models` shows it (wire.md D-1.2). */
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
    pricing: pricingOf(model.type, model.type === 'video' ? videoSecond(model, endpoint) : endpoint.sell),
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
 * The client's prices as decimal strings in RUB per unit. A price of 0, or equal to its parent's, is left out: clients
 * would show an equal cache price as a discount. The price by which a type is sold is always there.
 */
export function pricingOf(type: ModelType, sheet: PriceSheet): Record<string, string> {
  const { alwaysShown } = MODEL_TYPE_TABLE[type]
  const pricing: Record<string, string> = { currency: 'RUB' }
  for (const { row, name } of SHOWN) {
    if (!ALWAYS.includes(name) && !alwaysShown.includes(row.priceKey) && !saysMore(row, sheet)) continue
    pricing[name] = decimalText(shift(sheet[row.meter], PRICE_SCALES[row.scale].wirePlaces))
  }
  return pricing
}

function fieldsOfType(model: Model, top: Endpoint | null, facts: RecordFacts): Record<string, unknown> {
  switch (MODEL_TYPE_TABLE[model.type].recordFields) {
    case 'speech':
      return {
        supported_voices: model.supportedVoices ?? SPEECH_VOICES,
        supported_formats: facts.speechFormatsOf(model),
      }
    case 'video':
      return videoFields(model, top)
    case null:
      return {}
  }
}

function architectureOf(model: Model): Record<string, unknown> {
  return {
    modality: `${model.inputModalities.join('+')}->${model.outputModalities.join('+')}`,
    input_modalities: model.inputModalities,
    output_modalities: model.outputModalities,
    tokenizer: model.tokenizer === null ? 'Other' : (ownValue(TOKENIZER_FAMILY, model.tokenizer) ?? model.tokenizer),
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

function percentiles(values: HealthPercentiles | null): HealthPercentiles | null {
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
