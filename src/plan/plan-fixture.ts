import { PLAIN_DIALECT } from '../catalog/dialect.ts'
import type { Endpoint, Model, Snapshot } from '../catalog/catalog.ts'
import { parseChat } from '../kinds/chat-parse.ts'
import type { ChatRequest } from '../kinds/chat-request.ts'
import { METERS, type Meter, type PriceSheet } from '../meters.ts'
import { parseDecimal, ZERO, type Decimal } from '../money.ts'
import type { AdapterParameters } from './endpoint-filter.ts'
import type { EndpointHealth } from './endpoint-order.ts'

/** Test values of the catalogue: each needs only what its test is about. */
export function decimal(text: string): Decimal {
  return parseDecimal(text) ?? ZERO
}

/** A sheet with `input` and `output` in RUB per 1M tokens, their children priced like them, all else 0. */
export function prices(
  input: string,
  output: string,
  others: Readonly<Partial<Record<Meter, string>>> = {},
): PriceSheet {
  const parents: Partial<Record<Meter, string>> = {
    input,
    cache_read: input,
    cache_write: input,
    cache_write_1h: input,
    audio_input: input,
    output,
    reasoning: output,
    audio_output: output,
    ...others,
  }
  const entries = METERS.map((meter) => [meter, decimal(parents[meter] ?? '0')])
  // Every meter is among the entries.
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
      cancelStopsBilling: false,
      timeouts: { connect: 3, first_byte: 60, progress: 60, total: 1_800 },
      dialect: PLAIN_DIALECT,
    },
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
      rateLimit: { requests: 300, window: 60 },
      ipBlock: { failures: 20, window: 60, duration: 600 },
      midstreamError: 'free',
      streamResume: { grace: 15, retention: 300 },
      fetchUrls: false,
      signup: null,
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

/** What a plan looks at besides its request, where nothing special is the matter. */
export const NO_ADAPTERS: AdapterParameters = new Map()

/** Everyone is healthy and nothing is measured. */
export const QUIET: EndpointHealth = {
  ejected: () => false,
  unhealthy: () => false,
  throughput: () => null,
  latency: () => null,
}
