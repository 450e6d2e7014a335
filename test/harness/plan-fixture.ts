import { PLAIN_DIALECT } from '../../src/catalog/dialect.ts'
import type { Endpoint, Model, Snapshot } from '../../src/catalog/catalog.ts'
import { parseChat } from '../../src/protocols/openai/client/chat/call.ts'
import type { ChatRequest } from '../../src/kinds/chat/request.ts'
import { METER_TABLE, type Meter } from '../../src/tables/meter-table.ts'
import { METERS, type PriceSheet } from '../../src/tables/meters.ts'
import { parseDecimal, ZERO, type Decimal } from '../../src/base/money.ts'
import type { PlanRequest } from '../../src/pay/plan/chat-plan.ts'
import type { AdapterParameters, EndpointHealth } from '../../src/pay/plan/endpoint-order.ts'
import { plainSettings } from '../../src/tables/settings-table.ts'

/** Test values for the catalogue, each with only the fields that a test needs. */
export function decimal(text: string): Decimal {
  return parseDecimal(text) ?? ZERO
}

/** A price sheet with `input` and `output` in RUB per million tokens; children cost the same, all others 0. */
export function prices(
  input: string,
  output: string,
  others: Readonly<Partial<Record<Meter, string>>> = {},
): PriceSheet {
  const own: Partial<Record<Meter, string>> = { input, output, ...others }
  const priceOf = (meter: Meter): string => {
    const { parent } = METER_TABLE[meter]
    return own[meter] ?? (parent === null ? '0' : priceOf(parent))
  }
  const entries = METERS.map((meter) => [meter, decimal(priceOf(meter))])
  // The entries contain every meter.
  return Object.fromEntries(entries) as PriceSheet
}

export function endpoint(slug: string, fields: Partial<Endpoint> = {}): Endpoint {
  return {
    id: `${slug}/m`,
    provider: {
      slug,
      name: slug.toUpperCase(),
      adapter: 'openai',
      baseUrl: 'http://upstream.test/v1',
      apiKeys: [],
      searchesMax: 1,
      cancelStopsBilling: false,
      timeouts: { connect: 3, first_byte: 60, progress: 60, total: 1_800 },
      dialect: PLAIN_DIALECT,
    },
    dialect: fields.provider?.dialect ?? PLAIN_DIALECT,
    upstreamModel: 'm',
    sell: prices('10', '40'),
    buy: prices('8', '32'),
    priced: new Set(['prompt', 'completion']),
    contextLength: null,
    maxCompletionTokens: null,
    supportedParameters: null,
    nativeResponses: false,
    nativeCompletions: false,
    ...fields,
  }
}

export function model(id: string, fields: Partial<Model> = {}): Model {
  return {
    id,
    type: 'chat',
    name: id,
    description: '',
    created: 1,
    hidden: false,
    active: true,
    contextLength: 128_000,
    maxCompletionTokens: 16_384,
    inputModalities: ['text'],
    outputModalities: ['text'],
    tokenizer: 'o200k_base',
    instructType: null,
    aliases: [],
    maxPromptLength: null,
    supportedVoices: null,
    supportedFormats: null,
    supportedSizes: null,
    supportedDurations: null,
    supportedResolutions: null,
    supportedAspectRatios: null,
    endpoints: [endpoint('alpha')],
    ...fields,
  }
}

export function snapshot(models: readonly Model[], aliases: Readonly<Record<string, string>> = {}): Snapshot {
  return {
    priceVersion: 1,
    settings: {
      timezone: 'UTC',
      rates: {},
      markup: decimal('1'),
      ...plainSettings({}),
      maintenance: null,
    },
    providers: new Map(),
    models: new Map(models.map((one) => [one.id, one])),
    aliases: new Map(Object.entries(aliases)),
  }
}

export function chat(fields: Readonly<Record<string, unknown>> = {}): ChatRequest {
  return parseChat({ model: 'v/m', messages: [{ role: 'user', content: 'Hello' }], ...fields })
}

/** The inputs of a plan besides its request, in the ordinary case. */
export const NO_ADAPTERS: AdapterParameters = new Map()

/** All endpoints are healthy, and nothing is measured. */
export const QUIET: EndpointHealth = {
  ejected: () => false,
  unhealthy: () => false,
  throughput: () => null,
  latency: () => null,
}

/** Enough money for everything. */
export const ENDLESS = { availableMicro: 9_000_000_000_000_000n, keyRoomMicro: null }

/** A request to plan, of an account that may use everything. */
export function planWish(
  request: ChatRequest,
  fields: Partial<PlanRequest> & Pick<PlanRequest, 'tokens'>,
): PlanRequest {
  return {
    request,
    defaultModel: null,
    allowedModels: null,
    snapshot: snapshot([model('v/m')]),
    atMs: 0,
    funds: ENDLESS,
    health: QUIET,
    random: () => 0,
    adapters: NO_ADAPTERS,
    ...fields,
  }
}
