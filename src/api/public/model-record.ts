import type { Endpoint, Model, ModelType, PriceGroup, Prices } from '../../catalog/catalog.ts'
import { cheapestEndpoint, saysMore } from '../../catalog/shown-prices.ts'
import { SPEECH_VOICES } from '../../kinds/speech.ts'
import { PRICED_METERS, PRICE_SCALES } from '../../tables/meter-table.ts'
import { MODEL_TYPE_TABLE } from '../../tables/model-types.ts'
import type { PriceSheet } from '../../tables/meters.ts'
import { decimalText, shift } from '../../base/money.ts'
import { isPriced } from '../../pay/plan/parameter-costs.ts'
import type { HealthReport, Percentiles } from '../../pay/relay/endpoint-health.ts'
import { ownValue } from '../../base/own-value.ts'
import { keyFor, resolutionOf } from '../../catalog/picture-price.ts'

/** The facts of a record that are not in the model itself. */
export interface RecordFacts {
  /** Names of the calls that the model serves, without `/v1/`. */
  supportedEndpoints(model: Model): readonly string[]
  /** Parameters that an adapter carries for a type of model, for endpoints without a list of their own. */
  parametersOf(adapterName: string, type: ModelType): readonly string[]
  /** Formats that a speech model can produce. */
  speechFormatsOf(model: Model): readonly string[]
}

/** Measured state of one endpoint; null = nothing is known. */
export type EndpointState = Omit<HealthReport, 'refused'>

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
    pricing: top === null ? { currency: 'RUB', prompt: '0', completion: '0' } : pricingOf(model, top),
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
    pricing: pricingOf(model, endpoint),
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
 * The client's prices as decimal strings in RUB per unit. Prices by length are in `overrides`, as OpenRouter has them;
 * those of a service tier or of hours are under the names of the catalogue.
 */
function pricingOf(model: Model, endpoint: Endpoint): Record<string, unknown> {
  const { sell, conditions: { sell: groups = [] } = {} } =
    model.type === 'video' ? plainVideo(model, endpoint) : endpoint
  const under = ({ steps: [plain, ...longer] }: PriceGroup): Record<string, unknown> => ({
    ...(plain === undefined ? {} : pricesOf(model.type, plain.sheet, sell)),
    ...(longer.length === 0
      ? {}
      : {
          overrides: longer.map(({ above, sheet }) => ({
            min_prompt_tokens: above + 1,
            ...pricesOf(model.type, sheet, plain?.sheet),
          })),
        }),
  })
  const tiered = groups.flatMap((group) =>
    group.serviceTier === null ? [] : [[group.serviceTier, under(group)] as const],
  )
  const hourly = groups.flatMap((group) => (group.hours === null ? [] : [{ ...group.hours.named, ...under(group) }]))
  const plain = groups.at(-1)
  return {
    currency: 'RUB',
    ...pricesOf(model.type, sell),
    ...(plain === undefined ? {} : under(plain)),
    ...(tiered.length === 0 ? {} : { service_tiers: Object.fromEntries(tiered) }),
    ...(hourly.length === 0 ? {} : { hours: hourly }),
  }
}

/**
 * A price of 0, or equal to its parent's, is left out: clients would show an equal cache price as a discount. The price
 * by which a type is sold is always there. In a condition's prices, a price that the sheet `beside` shows is there too,
 * since it replaces that one.
 */
export function pricesOf(type: ModelType, sheet: PriceSheet, beside = sheet): Record<string, string> {
  const { alwaysShown } = MODEL_TYPE_TABLE[type]
  const shown = SHOWN.filter(
    ({ row, name }) =>
      ALWAYS.includes(name) || alwaysShown.includes(row.priceKey) || saysMore(row, sheet) || saysMore(row, beside),
  )
  return Object.fromEntries(
    shown.map(({ row, name }) => [name, decimalText(shift(sheet[row.meter], PRICE_SCALES[row.scale].wirePlaces))]),
  )
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

/** The fields that wire.md D-1.2 adds for video models. */
function videoFields(model: Model, top: Endpoint | null): Record<string, unknown> {
  const listed = model.endpoints.every(({ supportedParameters }) => supportedParameters !== null)
  const parameters = new Set(model.endpoints.flatMap(({ supportedParameters }) => supportedParameters ?? []))
  const can = (name: string): boolean | null => (listed ? parameters.has(name) : null)
  return {
    supported_sizes: model.supportedSizes,
    supported_resolutions: model.supportedResolutions,
    supported_aspect_ratios: model.supportedAspectRatios,
    supported_durations: model.supportedDurations,
    supported_frame_images:
      model.inputModalities.includes('image') && can('frame_images') === true ? ['first_frame', 'last_frame'] : null,
    generate_audio: can('generate_audio'),
    seed: can('seed'),
    creativity: null,
    upscale_factor: null,
    pricing_skus: top === null ? {} : pricingSkus(model, top),
    allowed_passthrough_parameters: [],
  }
}

/** The prices of a request that names no options. */
function plainVideo(model: Model, endpoint: Endpoint): Prices {
  const { variants } = endpoint
  const [first] = variants?.keys() ?? []
  const asked = model.supportedSizes?.[0] ?? model.supportedResolutions?.[0] ?? null
  const key = asked === null ? null : keyFor(asked, [...(variants?.keys() ?? [])])
  return variants?.get(key ?? first ?? '') ?? endpoint
}

function pricingSkus(model: Model, top: Endpoint): Record<string, string> {
  const base = plainVideo(model, top).sell
  const skus: Record<string, string> = {}
  if (base.video_seconds.digits > 0n) skus['per-video-second'] = rubles(base, 'video_seconds')
  if (base.request.digits > 0n) skus['per-request'] = rubles(base, 'request')
  for (const [key, { sell }] of top.variants ?? []) {
    const name = `per-video-second-${resolutionOf(key)}`
    // Two price keys of one resolution have different sizes.
    if (sell !== base)
      skus[ownValue(skus, name) === undefined ? name : `per-video-second-${key}`] = rubles(sell, 'video_seconds')
  }
  return skus
}

function rubles(sheet: PriceSheet, meter: 'video_seconds' | 'request'): string {
  return decimalText(shift(sheet[meter], -6))
}
