import { multiply, ONE, parseDecimal, type Decimal } from '../money.ts'
import type { Endpoint, Model, ModelType, Provider, Settings, Snapshot } from './catalog.ts'
import type { CatalogDocument, EndpointEntry, ModelEntry, ProviderEntry, SettingsEntry } from './document.ts'
import { missingPrices } from './price-keys.ts'
import { priceSheet } from './price-sheet.ts'

const DEFAULT_BASE_URLS: Readonly<Record<string, string>> = { openai: 'https://api.openai.com/v1' }
const TIMEOUTS = { connect: 3, first_byte: 60, progress: 60, total: 1_800 }
const MODALITIES: Readonly<Record<ModelType, { readonly input: readonly string[]; readonly output: readonly string[] }>> = {
  chat: { input: ['text'], output: ['text'] },
  embeddings: { input: ['text'], output: ['embeddings'] },
  image: { input: ['text'], output: ['image'] },
  tts: { input: ['text'], output: ['audio'] },
  transcription: { input: ['audio'], output: ['text'] },
  rerank: { input: ['text'], output: ['rerank'] },
  video: { input: ['text'], output: ['video'] },
}

export function settingsOf(entry: SettingsEntry): Settings {
  const rates: Record<string, Decimal> = { RUB: ONE }
  for (const [currency, text] of Object.entries(entry.rates ?? {})) rates[currency] = parseDecimal(text) ?? ONE
  return Object.freeze({
    timezone: entry.timezone ?? 'UTC',
    rates: Object.freeze(rates),
    markup: (entry.markup === undefined ? null : parseDecimal(entry.markup)) ?? ONE,
    rateLimit: entry.rate_limit ?? { requests: 300, window: 60 },
    ipBlock: entry.ip_block ?? { failures: 20, window: 60, duration: 600 },
    midstreamError: entry.midstream_error ?? 'free',
    streamResume: entry.stream_resume ?? { grace: 15, retention: 300 },
    fetchUrls: entry.fetch_urls ?? false,
    maintenance: entry.maintenance === undefined || entry.maintenance === null ? null : { message: entry.maintenance.message, retryAfter: entry.maintenance.retry_after },
  })
}

/** The immutable view of a document. What cannot be sold (inactive, unpriced, without a rate or a provider) is not in it. */
export function buildSnapshot(document: CatalogDocument, priceVersion: number, appliedAtMs: number): Snapshot {
  const settings = settingsOf(document.settings)
  const providers = new Map<string, Provider>()
  for (const [slug, entry] of Object.entries(document.providers)) providers.set(slug, providerOf(slug, entry))
  const models = new Map<string, Model>()
  const aliases = new Map<string, string>()
  for (const entry of document.models) {
    const model = modelOf(entry, providers, settings, appliedAtMs)
    if (model === null) continue
    models.set(model.id, model)
    for (const alias of model.aliases) aliases.set(alias, model.id)
  }
  return Object.freeze({ priceVersion, settings, providers, models, aliases })
}

function providerOf(slug: string, entry: ProviderEntry): Provider {
  return Object.freeze({
    slug,
    name: entry.name ?? slug,
    adapter: entry.adapter,
    baseUrl: (entry.base_url ?? DEFAULT_BASE_URLS[entry.adapter] ?? '').replace(/\/+$/, ''),
    apiKeys: entry.api_key ?? [],
    cancelStopsBilling: entry.cancel_stops_billing ?? false,
    timeouts: Object.freeze({ ...TIMEOUTS, ...entry.timeouts }),
  })
}

function modelOf(entry: ModelEntry, providers: ReadonlyMap<string, Provider>, settings: Settings, appliedAtMs: number): Model | null {
  if (entry.active === false) return null
  const endpoints = entry.endpoints.flatMap((endpoint) => {
    const routable = endpointOf(endpoint, entry, providers, settings)
    return routable === null ? [] : [routable]
  })
  if (endpoints.length === 0) return null
  const contextLength = entry.context_length ?? null
  return Object.freeze({
    id: entry.id,
    type: entry.type,
    name: entry.name ?? entry.id,
    description: entry.description ?? '',
    created: Math.floor((entry.created === undefined ? appliedAtMs : Date.parse(entry.created)) / 1_000),
    hidden: entry.hidden ?? false,
    active: true,
    contextLength,
    maxCompletionTokens: entry.max_completion_tokens ?? contextLength,
    inputModalities: entry.input_modalities ?? MODALITIES[entry.type].input,
    outputModalities: entry.output_modalities ?? MODALITIES[entry.type].output,
    tokenizer: entry.tokenizer ?? null,
    instructType: entry.instruct_type ?? null,
    aliases: entry.aliases ?? [],
    maxPromptLength: entry.max_prompt_length ?? null,
    supportedVoices: entry.supported_voices ?? null,
    supportedFormats: entry.supported_formats ?? null,
    supportedSizes: entry.supported_sizes ?? null,
    supportedDurations: entry.supported_durations ?? null,
    supportedResolutions: entry.supported_resolutions ?? null,
    supportedAspectRatios: entry.supported_aspect_ratios ?? null,
    endpoints,
  })
}

/** null = not routable: no such provider, no rate for its currency, or a price that is not complete. */
function endpointOf(entry: EndpointEntry, model: ModelEntry, providers: ReadonlyMap<string, Provider>, settings: Settings): Endpoint | null {
  const provider = providers.get(entry.provider)
  const rate = settings.rates[entry.price.currency]
  if (provider === undefined || rate === undefined || missingPrices(model.type, new Set(Object.keys(entry.price))).length > 0) return null
  return Object.freeze({
    id: `${entry.provider}/${entry.model}`,
    provider,
    upstreamModel: entry.model,
    sell: entry.sell === undefined ? priceSheet(entry.price, multiply(rate, settings.markup)) : priceSheet(entry.sell, ONE),
    buy: priceSheet(entry.price, rate),
    contextLength: entry.context_length ?? model.context_length ?? null,
    maxCompletionTokens: entry.max_completion_tokens ?? model.max_completion_tokens ?? model.context_length ?? null,
    supportedParameters: entry.supported_parameters ?? null,
    nativeResponses: entry.native_responses ?? false,
    nativeCompletions: entry.native_completions ?? false,
  })
}

/** Faults between the entries of a document: references that lead nowhere, ids used twice. */
export function crossProblems(document: CatalogDocument): readonly { readonly path: string; readonly message: string }[] {
  const problems: { path: string; message: string }[] = []
  const names = new Set<string>()
  const rates = new Set(['RUB', ...Object.keys(document.settings.rates ?? {})])
  for (const [index, model] of document.models.entries()) {
    for (const name of [model.id, ...(model.aliases ?? [])]) {
      if (names.has(name)) problems.push({ path: `models[${index}].id`, message: `'${name}' is used by another model or alias` })
      names.add(name)
    }
    for (const [place, endpoint] of model.endpoints.entries()) {
      const path = `models[${index}].endpoints[${place}]`
      if (document.providers[endpoint.provider] === undefined) problems.push({ path: `${path}.provider`, message: `no provider '${endpoint.provider}' is defined` })
      if (!rates.has(endpoint.price.currency)) problems.push({ path: `${path}.price.currency`, message: `no rate is given for ${endpoint.price.currency}` })
    }
  }
  return problems
}
