import type { PriceKey } from '../tables/meter-table.ts'
import type { Weekday } from '../base/time.ts'
import type { GivenSettings } from '../tables/settings-table.ts'
import type { MediaTokens, ModelType, ProviderTimeouts } from './catalog.ts'
import type { AuthEntry } from './auth.ts'
import type { DialectEntry } from './dialect.ts'
import type { QuirksEntry } from './quirks.ts'
import type { BalanceEntry, PriceListEntry } from './provider-feeds.ts'

/**
 * Decimal texts by price key, in the file's units; a map for `video_second` by resolution, and for `image_output` by
 * size and quality.
 */
export type PriceTexts = Readonly<Partial<Record<PriceKey, string | Readonly<Record<string, string>>>>>

/** A price that depends on the length of the input. */
export type TieredPrice = PriceTexts & {
  /** In ascending order. Each names what it changes; a request has the last one that its input tokens are above. */
  readonly tiers?: readonly (PriceTexts & { readonly above: number })[]
}

/** From `from` up to, not including, `to`: `HH:MM` in an IANA time zone. `days`: on which they begin; absent = on all. */
export type HourlyPrice = TieredPrice & {
  readonly from: string
  readonly to: string
  readonly timezone: string
  readonly days?: readonly Weekday[]
}

/** A price of an endpoint's row, in `price` or `sell`, with its conditions (docs/catalog.md, "Prices with conditions"). */
export type PriceEntry = TieredPrice & {
  /** By the name of the service tier that the provider says it has served. */
  readonly service_tiers?: Readonly<Record<string, TieredPrice>>
  /** By the time of day; the first that holds. */
  readonly hours?: readonly HourlyPrice[]
}

/** A provider's entry of the file, credentials included. */
export interface ProviderEntry {
  readonly name?: string
  readonly adapter: string
  readonly base_url?: string
  readonly api_key?: readonly string[]
  /** In place of `api_key`: how its tokens are got. */
  readonly auth?: AuthEntry
  readonly cancel_stops_billing?: boolean
  readonly timeouts?: Readonly<Partial<ProviderTimeouts>>
  readonly balance?: BalanceEntry
  /** Of everything that it serves, in place of the service's. */
  readonly markup?: string
  /** Ids of the bundled models that this provider serves; absent = all of them. */
  readonly bundled_models?: readonly string[]
  readonly price_list?: PriceListEntry
  /** Most of it is only for the adapter `openai`. */
  readonly dialect?: DialectEntry
  /** Only of adapter `ai-sdk`: the package to load, and its function that makes the provider. */
  readonly package?: string
  readonly factory?: string
}

/** The id of an endpoint: its provider and the provider's name of the model. */
export function endpointId({ provider, model }: Pick<EndpointEntry, 'provider' | 'model'>): string {
  return `${provider}/${model}`
}

export interface EndpointEntry {
  readonly provider: string
  readonly model: string
  readonly price: PriceEntry & { readonly currency: string }
  readonly sell?: PriceEntry
  readonly supported_parameters?: readonly string[]
  readonly context_length?: number
  readonly max_completion_tokens?: number
  readonly media_tokens?: MediaTokens
  readonly native_responses?: boolean
  readonly native_messages?: boolean
  readonly native_completions?: boolean
  /** Over its provider's. */
  readonly dialect?: QuirksEntry
  /** Prompts without cache marks get them, where writing a cache has a price. */
  readonly cache_marks?: boolean
  /** The prices are intended, however far they are from the known ones. */
  readonly force?: boolean
}

export interface ModelEntry {
  readonly id: string
  readonly type: ModelType
  readonly name?: string
  readonly description?: string
  /** ISO day or UTC time. */
  readonly created?: string
  /** In place of its providers' and the service's. */
  readonly markup?: string
  readonly active?: boolean
  readonly hidden?: boolean
  readonly context_length?: number
  readonly max_completion_tokens?: number
  /** Fields among these whose values nobody has stated: guesses by the model's family. */
  readonly guessed?: readonly string[]
  readonly max_prompt_length?: number
  readonly input_modalities?: readonly string[]
  readonly output_modalities?: readonly string[]
  readonly tokenizer?: string
  readonly instruct_type?: string
  readonly aliases?: readonly string[]
  readonly supported_voices?: readonly string[]
  readonly supported_formats?: readonly string[]
  readonly supported_sizes?: readonly string[]
  readonly supported_durations?: readonly number[]
  readonly supported_resolutions?: readonly string[]
  readonly supported_aspect_ratios?: readonly string[]
  readonly endpoints: readonly EndpointEntry[]
}

export interface SettingsEntry extends GivenSettings {
  readonly timezone?: string
  /** With a source these are the last known rates. */
  readonly rates?: Readonly<Record<string, string>>
  /** `rates.source` of the file: the Central Bank's daily rates. */
  readonly rates_source?: 'cbr'
  readonly markup?: string
  /** Names that no model has, each with the model that stands in. */
  readonly model_fallbacks?: Readonly<Record<string, string>>
  /** Not in the file: only the admin API changes it. */
  readonly maintenance?: { readonly message: string | null; readonly retry_after: number | null } | null
}

/** The validated catalogue file of operator.md 3. Only given fields are present. */
export interface CatalogDocument {
  readonly bundled: boolean
  /** Slugs and ids of the bundled providers and models that are left out. */
  readonly bundled_except?: readonly string[]
  readonly settings: SettingsEntry
  readonly providers: Readonly<Record<string, ProviderEntry>>
  readonly models: readonly ModelEntry[]
}

export const EMPTY_DOCUMENT: CatalogDocument = Object.freeze({ bundled: true, settings: {}, providers: {}, models: [] })
