import type { Weekday } from '../base/time.ts'
import type { ModelType } from '../tables/model-types.ts'
import type { PriceKey } from '../tables/meter-table.ts'
import type { Decimal } from '../base/money.ts'
import type { PriceSheet } from '../tables/meters.ts'
import type { ProviderAuth } from './auth.ts'
import type { Dialect } from './dialect.ts'
import type { BalanceEntry, PriceListEntry } from './provider-feeds.ts'
import type { PlainSettings } from '../tables/settings-table.ts'

export { MODEL_TYPES, type ModelType } from '../tables/model-types.ts'

/** All in seconds (operator.md 3). */
export interface ProviderTimeouts {
  readonly connect: number
  readonly first_byte: number
  readonly progress: number
  readonly total: number
}

/** An upstream company and how to reach it. `apiKeys` is a pool of keys; it never leaves the process. */
export interface Provider {
  readonly slug: string
  readonly name: string
  readonly adapter: string
  /** The most web searches that a hold for one chat covers; 0 = chat never asks its adapter for searches. */
  readonly searchesMax: number
  /** The address before each operation's path, without a trailing slash. Empty for `sandbox`. */
  readonly baseUrl: string
  /** Set over the API: only public addresses are connected to. Absent = it may be private. */
  readonly publicOnly?: true
  readonly apiKeys: readonly string[]
  /** How its tokens are obtained, which are sent in place of a key; absent = its keys are sent. */
  readonly auth?: ProviderAuth
  readonly cancelStopsBilling: boolean
  readonly timeouts: ProviderTimeouts
  readonly dialect: Dialect
  /** It serves only the plain service tier and the tier that a request asks for; absent = it may serve any. */
  readonly servesAsAsked?: boolean
  /** Where it reports the balance of a key; absent = it does not. */
  readonly balance?: BalanceEntry
  /** Its own list of prices, which the catalogue follows; absent = none. */
  readonly priceList?: PriceListEntry
  /** Only of adapter `ai-sdk`. `factory` null = the one exported function whose name begins with create. */
  readonly sdkPackage?: { readonly name: string; readonly factory: string | null }
}

/** Minutes of a day in a time zone. Where `to` is not after `from`, the hours end on the next day. */
export interface HoursOfDay {
  /** The hours as the row gives them. */
  readonly named: {
    readonly from: string
    readonly to: string
    readonly timezone: string
    readonly days?: readonly Weekday[]
  }
  readonly from: number
  /** The end, not included. */
  readonly to: number
  readonly minuteAt: (atMs: number) => number
  readonly weekdayAt: (atMs: number) => Weekday
}

/** A price in one service tier or at some hours; null and null = at all others. */
export interface PriceGroup {
  readonly serviceTier: string | null
  readonly hours: HoursOfDay | null
  /**
   * The prices by the length of the input, ascending: the last step whose `above` is less than the input tokens
   * applies. The first step has no bound.
   */
  readonly steps: readonly {
    /** The condition in words, such as `flex, above 200000`; null = none. */
    readonly name: string | null
    readonly above: number
    readonly sheet: PriceSheet
  }[]
}

/** The client's price in µRUB per unit, with rate and markup, and the provider's, with rate. */
export interface Prices {
  readonly sell: PriceSheet
  readonly buy: PriceSheet
  /**
   * Present only if one of the two has conditions; a side without conditions has no groups. Groups of service tiers
   * come first, then those of hours, then the group without either.
   */
  readonly conditions?: { readonly sell: readonly PriceGroup[]; readonly buy: readonly PriceGroup[] }
}

/** The most tokens of one piece of media in a prompt, as the catalogue row states it. */
export interface MediaTokens {
  readonly image?: number
  readonly file?: number
  readonly audio?: number
  readonly video?: number
}

/** One provider offering one model at one price. */
export interface Endpoint extends Prices {
  /** `<provider slug>/<upstream model>` unique within its model. */
  readonly id: string
  readonly provider: Provider
  /** The provider's own name of the model. */
  readonly upstreamModel: string
  /** The price keys that its `price` or `sell` names: a price of 0 counts as named, one from a parent does not. */
  readonly priced: ReadonlySet<PriceKey>
  /** Prices by resolution, or by size and quality. If present, `sell` and `buy` are the dearest of them. */
  readonly variants?: ReadonlyMap<string, Prices>
  /** The key of the price that a request has chosen; `sell` and `buy` are then the prices of this key. */
  readonly variant?: string
  readonly contextLength: number | null
  readonly maxCompletionTokens: number | null
  readonly mediaTokens?: MediaTokens
  /** The dialect of its provider, its model's family and its own row together. */
  readonly dialect: Dialect
  /** null = all parameters of the adapter's protocol. */
  readonly supportedParameters: readonly string[] | null
  readonly nativeResponses: boolean
  /** Whether Messages are passed on unchanged; absent = they are if the adapter speaks the protocol. */
  readonly nativeMessages?: boolean
  readonly nativeCompletions: boolean
  /** Prompts without cache marks get them; true only where writing a cache has a price. Absent = no. */
  readonly cacheMarks?: boolean
}

export interface Model {
  readonly id: string
  readonly type: ModelType
  readonly name: string
  readonly description: string
  /** Unix seconds. */
  readonly created: number
  readonly hidden: boolean
  readonly active: boolean
  readonly contextLength: number | null
  readonly maxCompletionTokens: number | null
  readonly inputModalities: readonly string[]
  readonly outputModalities: readonly string[]
  readonly tokenizer: string | null
  readonly instructType: string | null
  readonly aliases: readonly string[]
  readonly maxPromptLength: number | null
  /** Which of `context_length` and `max_completion_tokens` are guesses, since nobody has stated them; absent = none. */
  readonly guessed?: readonly string[]
  readonly supportedVoices: readonly string[] | null
  readonly supportedFormats: readonly string[] | null
  readonly supportedSizes: readonly string[] | null
  readonly supportedDurations: readonly number[] | null
  readonly supportedResolutions: readonly string[] | null
  readonly supportedAspectRatios: readonly string[] | null
  /**
   * Routable endpoints only: each has a complete price for everything it can produce. Never empty for an active model.
   */
  readonly endpoints: readonly Endpoint[]
}

/** Settings of the whole service in the document; the admin API changes them live. */
export interface Settings extends PlainSettings {
  readonly timezone: string
  readonly rates: Readonly<Record<string, Decimal>>
  readonly markup: Decimal
  readonly maintenance: { readonly message: string | null; readonly retryAfter: number | null } | null
}

/** An immutable view of everything for sale; a request keeps the snapshot that it was admitted with. */
export interface Snapshot {
  /** Grows by one with every applied change. */
  readonly priceVersion: number
  /** The markup of the customer, which all the customer's prices include: a decimal; absent = everybody's prices. */
  readonly markup?: string
  readonly settings: Settings
  readonly providers: ReadonlyMap<string, Provider>
  /** By canonical id; inactive models are absent. */
  readonly models: ReadonlyMap<string, Model>
  /** Alias, bare name or stand-in → canonical id. */
  readonly aliases: ReadonlyMap<string, string>
}

/** Holds the current snapshot. */
export interface Catalog {
  current(): Snapshot
  /** Whether the time of a change of prices has come that is not applied yet. */
  isDue(): boolean
  /** Applies it. */
  refresh(): Promise<unknown>
}

/** The facts of an adapter that the catalogue needs. */
export interface AdapterFacts {
  /**
   * The base address of a provider that gives no `base_url`; null = each provider must give one, empty = the adapter
   * uses no network.
   */
  readonly baseUrl: string | null
  /** The most web searches that a hold for one chat covers; absent = chat never asks this adapter for searches. */
  readonly searchesMax?: number
}

/** The adapters of this version, by their names in the catalogue; the rows are in src/protocols/index.ts. */
export type KnownAdapters = ReadonlyMap<string, AdapterFacts>
