import type { PriceKey } from '../tables/meter-table.ts'
import type { Weekday } from '../base/time.ts'
import type { GivenSettings } from '../tables/settings-table.ts'
import type { AuthEntry } from './auth.ts'
import type { DialectEntry } from './dialect.ts'
import { field, judged, type EntryOf } from './entry-fields.ts'
import { MARKUP } from './customer-prices.ts'
import { BALANCE, PRICE_LIST } from './provider-feeds.ts'
import { QUIRK_FIELDS } from './quirks.ts'
import type { SDK_FIELDS } from './sdk-package.ts'
import { INPUT_MODALITIES, OUTPUT_MODALITIES, type ModelType } from '../tables/model-types.ts'
import { PARAMETER_NAMES } from '../tables/parameter-table.ts'

export const SECONDS_MAX = 86_400

/**
 * Decimal texts by price key, in the file's units; a map for `video_second` by resolution, and for `image_output` by
 * size and quality.
 */
export type PriceTexts = Readonly<Partial<Record<PriceKey, string | Readonly<Record<string, string>>>>>

/** A price that depends on the length of the input. */
export type TieredPrice = PriceTexts & {
  /**
   * In ascending order. Each names only the prices that it changes; a request gets the last one whose `above` is less
   * than its input tokens.
   */
  readonly tiers?: readonly (PriceTexts & { readonly above: number })[]
}

/**
 * From `from` up to, not including, `to`: `HH:MM` in an IANA time zone. `days`: the days on which the hours begin;
 * absent = all days.
 */
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
  /** By the time of day; the first one that matches applies. */
  readonly hours?: readonly HourlyPrice[]
}

const WAIT = field.whole(1, 3_600, 'Seconds.')

/** Fields of a provider that are read alike for every adapter. */
export const PROVIDER_FIELDS = {
  cancel_stops_billing: field.flag(),
  timeouts: field.map({
    connect: field.whole(1, 60, 'Seconds.'),
    first_byte: WAIT,
    progress: WAIT,
    total: field.whole(1, SECONDS_MAX, 'Seconds.'),
  }),
  balance: BALANCE,
  /** The markup of everything that it serves, in place of the service's. */
  markup: MARKUP,
  /** Ids of the bundled models that this provider serves; absent = all of them. */
  bundled_models: field.texts(),
  price_list: PRICE_LIST,
}

/** A provider's entry of the file, credentials included. */
export interface ProviderEntry extends EntryOf<typeof PROVIDER_FIELDS>, EntryOf<typeof SDK_FIELDS> {
  readonly name?: string
  readonly adapter: string
  readonly base_url?: string
  readonly api_key?: readonly string[]
  /** How its tokens are obtained, in place of `api_key`. */
  readonly auth?: AuthEntry
  /** Most of its fields are only for the adapter `openai`. */
  readonly dialect?: DialectEntry
}

/** The id of an endpoint: its provider and the provider's name of the model. */
export function endpointId({ provider, model }: Pick<EndpointEntry, 'provider' | 'model'>): string {
  return `${provider}/${model}`
}

const TOKENS = field.whole(1)
const MEDIA = field.whole(0, undefined, 'Tokens.')

export const ENDPOINT_FIELDS = {
  supported_parameters: field.names<string>(PARAMETER_NAMES),
  context_length: TOKENS,
  max_completion_tokens: TOKENS,
  /** The most tokens of one picture, document, sound or video in a prompt. */
  media_tokens: field.map({ image: MEDIA, file: MEDIA, audio: MEDIA, video: MEDIA }),
  native_responses: field.flag(),
  native_messages: field.flag('', true),
  dialect: field.map(QUIRK_FIELDS, 'Over those of its provider.'),
  native_completions: field.flag(),
  cache_marks: field.flag('Prompts without cache marks get them, where writing a cache has a price.'),
  force: field.flag('Its prices are meant, however far they are from what is known of the model.'),
}

export interface EndpointEntry extends EntryOf<typeof ENDPOINT_FIELDS> {
  readonly provider: string
  readonly model: string
  readonly price: PriceEntry & { readonly currency: string }
  readonly sell?: PriceEntry
}

const ALIAS = /^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}$/
/** A request's `:nitro` and `:floor` choose the order of providers, so no model name may end with them. */
export const SUFFIX = /:(nitro|floor)$/
const DATE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z)?$/

export const MODEL_FIELDS = {
  name: field.text(),
  description: field.text(),
  /** ISO day or UTC time. */
  created: judged(field.text(), (given, reader, key) => {
    if (!DATE.test(given) || Number.isNaN(Date.parse(given)))
      reader.problem(key, 'day', {}, `must be a date such as 2024-07-18, got '${given}'`)
  }),
  /** In place of the markups of its providers and of the service. */
  markup: MARKUP,
  active: field.flag(),
  hidden: field.flag(),
  context_length: TOKENS,
  max_completion_tokens: TOKENS,
  /** Fields whose values nobody has stated: they are guessed from the model's family. */
  guessed: field.names<string>(['context_length', 'max_completion_tokens']),
  max_prompt_length: TOKENS,
  input_modalities: field.names<string>(INPUT_MODALITIES),
  output_modalities: field.names<string>(OUTPUT_MODALITIES),
  tokenizer: field.text(),
  instruct_type: field.text(),
  aliases: judged(field.texts(), (aliases, reader, key) => {
    const given = aliases.find((alias) => !ALIAS.test(alias) || SUFFIX.test(alias))
    if (given === undefined) return
    const message = `must be names of letters, digits and ._:@/-, without :nitro or :floor, got '${given}'`
    reader.problem(key, 'alias', { given }, message)
  }),
  supported_voices: field.texts(),
  supported_formats: field.texts(),
  supported_sizes: field.texts(),
  supported_durations: field.wholes(),
  supported_resolutions: field.texts(),
  supported_aspect_ratios: field.texts(),
}

export interface ModelEntry extends EntryOf<typeof MODEL_FIELDS> {
  readonly id: string
  readonly type: ModelType
  readonly endpoints: readonly EndpointEntry[]
}

export interface SettingsEntry extends GivenSettings {
  readonly timezone?: string
  /** If the rates have a source, these are the last known ones. */
  readonly rates?: Readonly<Record<string, string>>
  /** `rates.source` of the file: the Central Bank's daily rates. */
  readonly rates_source?: 'cbr'
  readonly markup?: string
  /** Names that no model has, each with the model that takes its requests. */
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
