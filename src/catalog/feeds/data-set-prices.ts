import { type JsonObject, fieldsOf } from '../../base/json-text.ts'
import { type Decimal, compare, decimalText, parseDecimal, shift } from '../../base/money.ts'
import { ownValue } from '../../base/own-value.ts'
import type { Weekday } from '../../base/time.ts'
import { METER_TABLE, PRICED_METERS, PRICE_KEYS, type PriceKey } from '../../tables/meter-table.ts'
import type { HourlyPrice, PriceEntry, TieredPrice } from '../document.ts'
import type { KnownProvider } from '../known-providers.ts'

/** A price key of the data set: our key, and the shift from its unit to ours. */
const KEYS: ReadonlyMap<string, { readonly key: PriceKey; readonly places: number }> = new Map([
  ['input_mtok', { key: 'prompt', places: 0 }],
  ['output_mtok', { key: 'completion', places: 0 }],
  ['cache_read_mtok', { key: 'input_cache_read', places: 0 }],
  ['cache_audio_read_mtok', { key: 'audio_cache_read', places: 0 }],
  ['cache_image_read_mtok', { key: 'image_cache_read', places: 0 }],
  ['cache_write_mtok', { key: 'input_cache_write', places: 0 }],
  ['cache_write_1h_mtok', { key: 'input_cache_write_1h', places: 0 }],
  ['output_reasoning_mtok', { key: 'internal_reasoning', places: 0 }],
  ['input_audio_mtok', { key: 'audio', places: 0 }],
  ['output_audio_mtok', { key: 'audio_output', places: 0 }],
  ['requests_kcount', { key: 'request', places: -3 }],
  ['web_searches_kcount', { key: 'search', places: -3 }],
])
/**
 * Never charged: files that a provider stores and searches; images and video with a separate price, since such a model
 * is offered without them.
 */
const NEVER_USED: ReadonlySet<string> = new Set(['storage_searches_kcount', 'input_image_mtok', 'input_video_mtok'])
const PARENT: Readonly<Partial<Record<PriceKey, PriceKey>>> = Object.fromEntries(
  PRICED_METERS.flatMap(({ priceKey, parent }) => (parent === null ? [] : [[priceKey, METER_TABLE[parent].priceKey]])),
)
/** A double is exact to this many digits; a longer text is a rounding error. */
const DIGITS_MAX = 15
/** Far above any price of a million tokens. */
const PRICE_MAX: Decimal = { digits: 1_000_000n, scale: 0 }
const TIERS_MAX = 8
const TIME = /^([01]\d|2[0-3]):[0-5]\d(?=:00(?:Z|\+00:00)$)/

/** Fees of the data set that come with every request, each with its price key; `citation` has no meter here. */
const FEES: ReadonlyMap<string, string> = new Map([
  ['requests_kcount', 'request'],
  ['output_citation_mtok', 'citation'],
])

export type RowPrices = { readonly price: PriceEntry; readonly ownImagePrice: boolean } | { readonly refused: string }

/** Thrown if a row of the data set has no price that can be charged. */
class Refused extends Error {
  override readonly name = 'Refused'
}

/**
 * The price of a row on a day (ISO): its steps by the length of the input, by the hour, and by service tier. `context`
 * = its context window in tokens; a step that begins there is never reached. `hourDays`: the days on which its hours
 * begin.
 */
export function rowPrices(
  { prices, variants }: { readonly prices: unknown; readonly variants?: unknown },
  day: string,
  context: number,
  hourDays?: readonly Weekday[],
): RowPrices {
  const { base, hours } = inForce(prices, day)
  try {
    const tiers = serviceTiers(base, variants, day, context)
    const timed = hours.map(({ from, to, set }): HourlyPrice => ({
      from,
      to,
      timezone: 'UTC',
      ...(hourDays === undefined ? {} : { days: hourDays }),
      ...priceOf(set, context),
    }))
    return {
      price: {
        ...priceOf(base, context),
        ...(Object.keys(tiers).length === 0 ? {} : { service_tiers: tiers }),
        ...(timed.length === 0 ? {} : { hours: timed }),
      },
      ownImagePrice: base['input_image_mtok'] !== undefined,
    }
  } catch (thrown) {
    if (thrown instanceof Refused) return { refused: thrown.message }
    throw thrown
  }
}

/** The price keys of the fees that a provider bills with every request to a model. */
export function constantFees(prices: unknown): readonly string[] {
  const names = setsOf(prices).flatMap(({ set }) => Object.keys(set))
  return [...new Set(names.flatMap((name) => FEES.get(name) ?? []))]
}

interface ConditionalSet {
  readonly set: JsonObject
  /** ISO day from which it applies; null = always. */
  readonly from: string | null
  readonly hours: { readonly from: string; readonly to: string } | null
}

function setsOf(prices: unknown): readonly ConditionalSet[] {
  if (!Array.isArray(prices)) return [{ set: fieldsOf(prices), from: null, hours: null }]
  return prices.map((entry) => {
    const { constraint, prices: set } = fieldsOf(entry)
    return { set: fieldsOf(set), ...conditionOf(constraint) }
  })
}

/** The condition of a price. One that is neither a day nor a time of day becomes a day that never comes. */
function conditionOf(constraint: unknown): Pick<ConditionalSet, 'from' | 'hours'> {
  if (constraint === undefined || constraint === null) return { from: null, hours: null }
  const { start_date: day, start_time: start, end_time: end } = fieldsOf(constraint)
  const [from, to] = [start, end].map((time) => (typeof time === 'string' ? (TIME.exec(time)?.[0] ?? null) : null))
  if (typeof from === 'string' && typeof to === 'string') return { from: null, hours: { from, to } }
  return { from: typeof day === 'string' ? day : '9999-12-31', hours: null }
}

/** In the data set a later entry replaces earlier ones while it applies. */
function inForce(
  prices: unknown,
  day: string,
): {
  readonly base: JsonObject
  readonly hours: readonly { readonly from: string; readonly to: string; readonly set: JsonObject }[]
} {
  const sets = setsOf(prices)
  const at = sets.findLastIndex(({ from, hours }) => hours === null && (from === null || from <= day))
  const hours = sets.slice(at + 1).flatMap(({ hours: times, set }) => (times === null ? [] : [{ ...times, set }]))
  // In our entries the first matching hours apply, in the data set the last ones.
  return { base: sets[at]?.set ?? {}, hours: hours.toReversed() }
}

function serviceTiers(
  base: JsonObject,
  variants: unknown,
  day: string,
  context: number,
): Readonly<Record<string, TieredPrice>> {
  const given: readonly unknown[] = Array.isArray(variants) ? variants : []
  return Object.fromEntries(
    given.flatMap((variant) => {
      const { when, constraint, prices } = fieldsOf(variant)
      const { service_tier: name, ...others } = fieldsOf(when)
      const { from, hours } = conditionOf(constraint)
      if ((name !== 'flex' && name !== 'priority') || Object.keys(others).length > 0) return []
      if (hours !== null || (from !== null && from > day)) return []
      return [[name, priceOf({ ...base, ...fieldsOf(prices) }, context)] as const]
    }),
  )
}

/** The prices of one set, with the steps of all its meters. */
function priceOf(set: JsonObject, context: number): TieredPrice {
  const steps = new Set<number>()
  for (const [name, value] of Object.entries(set))
    if (!NEVER_USED.has(name)) for (const { start } of tiersOf(value)) if (start < context) steps.add(start)
  const tiers = [...steps]
    .toSorted((one, other) => one - other)
    .map((above) => ({ above, ...changed(pricesAt(set, 0), pricesAt(set, above + 1)) }))
  return { ...pricesAt(set, 0), ...(tiers.length === 0 ? {} : { tiers }) }
}

/** The keys of `now` whose values differ from `before`, as texts. */
function changed(before: Readonly<Record<string, string>>, now: Readonly<Record<string, string>>): object {
  return Object.fromEntries(Object.entries(now).filter(([key, text]) => ownValue(before, key) !== text))
}

/** The prices of a request with so many input tokens; of several keys for one meter, the dearest applies. */
function pricesAt(set: JsonObject, tokens: number): Readonly<Record<string, string>> {
  const dearest = new Map<PriceKey, Decimal>()
  const lost: (readonly [PriceKey, number])[] = []
  for (const [name, value] of Object.entries(set)) {
    if (value === undefined || value === null || NEVER_USED.has(name)) continue
    const known = KEYS.get(name)
    if (known === undefined) throw new Refused(`no meter for ${name.slice(0, 50)}`)
    const number = numberAt(value, tokens)
    const price = exactDecimal(number)
    if (price === null) lost.push([known.key, number])
    else raise(dearest, known.key, shift(price, known.places))
  }
  for (const [key, number] of lost) {
    const stands = dearest.get(key) ?? inherited(dearest, key)
    if (stands === null || !(Number(decimalText(stands)) >= number)) throw new Refused(`${key} is not an exact decimal`)
  }
  return Object.fromEntries(
    PRICE_KEYS.flatMap((key) => {
      const price = dearest.get(key)
      return price === undefined ? [] : [[key, decimalText(price)] as const]
    }),
  )
}

function tiersOf(value: unknown): readonly { readonly start: number; readonly price: unknown }[] {
  const { tiers } = fieldsOf(value)
  if (!Array.isArray(tiers)) return []
  return tiers.slice(0, TIERS_MAX).map((tier) => {
    const { start, price } = fieldsOf(tier)
    if (typeof start !== 'number' || !Number.isSafeInteger(start) || start < 0) throw new Refused('a step of no length')
    return { start, price }
  })
}

function numberAt(value: unknown, tokens: number): number {
  const { base } = fieldsOf(value)
  const step = tiersOf(value)
    .filter(({ start }) => tokens > start)
    .toSorted((one, other) => one.start - other.start)
    .at(-1)
  const number = typeof value === 'number' ? value : (step?.price ?? base)
  return typeof number === 'number' ? number : Number.NaN
}

/**
 * The exact decimal of the source. The shortest text of a double equals it if the source had no more digits than a
 * double holds. null = it is no such number, or is far above any price.
 */
export function exactDecimal(value: number): Decimal | null {
  const text = String(value)
  const digits = (text.split('e', 1)[0] ?? '').replace('.', '').replace(/^0+/, '')
  const price = digits.length > DIGITS_MAX ? null : parseDecimal(text)
  return price === null || price.digits < 0n || compare(price, PRICE_MAX) > 0 ? null : price
}

function raise(dearest: Map<PriceKey, Decimal>, key: PriceKey, price: Decimal): void {
  const before = dearest.get(key)
  if (before === undefined || compare(before, price) < 0) dearest.set(key, price)
}

function inherited(dearest: ReadonlyMap<PriceKey, Decimal>, key: PriceKey): Decimal | null {
  const parent = PARENT[key]
  return parent === undefined ? null : (dearest.get(parent) ?? inherited(dearest, parent))
}

const MODEL_ID = /^[a-z0-9][a-z0-9._-]{0,99}\/[a-z0-9][a-z0-9._-]{0,99}$/
/** The most names of one model in the data set, and the depth of its conditions on a name. */
const NAMES_MAX = 50
const DEPTH_MAX = 4

/** The names of a row of the data set. */
export interface NamedRow {
  readonly id: string
  readonly name: string | null
  /** Tokens; null = unknown. */
  readonly context: number | null
  /** A condition on names: `equals`, `starts_with`, `ends_with`, `contains`, `regex`, or `and`, `or` of them. */
  readonly match: unknown
}

/** Finds the id that OpenRouter has for a provider's model, so that a model of several providers has one id here. */
export class OpenrouterNames {
  readonly #rows = new Map<string, NamedRow>()
  /** By comparable form; null = models of several authors have this form. */
  readonly #byForm = new Map<string, string | null>()

  constructor(rows: readonly NamedRow[]) {
    for (const row of rows) {
      if (!MODEL_ID.test(row.id)) continue
      this.#rows.set(row.id, row)
      const form = comparable(slugOf(row.id))
      this.#byForm.set(form, this.#byForm.has(form) ? null : row.id)
    }
  }

  /** null = the model has no free id of the form author/slug. */
  idOf(provider: KnownProvider, row: NamedRow, isTaken: (id: string) => boolean): string | null {
    const own = row.id.toLowerCase()
    if (provider.slug === 'openrouter') return this.#rows.has(row.id) && !isTaken(row.id) ? row.id : null
    const plain = own.includes('/') ? own : `${provider.author ?? provider.slug}/${own}`
    const names = [row.id, ...equalNames(row.match)]
    const known = names.map((name) => this.#known(provider, name)).find((id) => id !== null && !isTaken(id))
    return known ?? [plain].find((id) => MODEL_ID.test(id) && !isTaken(id)) ?? null
  }

  contextOf(id: string): number | null {
    return this.#rows.get(id)?.context ?? null
  }

  displayName(id: string): string | null {
    return this.#rows.get(id)?.name ?? null
  }

  #known(provider: KnownProvider, name: string): string | null {
    const lower = name.toLowerCase()
    if (this.#rows.has(lower)) return lower
    const slug = slugOf(lower)
    if (provider.author !== null && this.#rows.has(`${provider.author}/${slug}`)) return `${provider.author}/${slug}`
    const id = this.#byForm.get(comparable(slug)) ?? null
    return id !== null && (provider.author === null || id.startsWith(`${provider.author}/`)) ? id : null
  }
}

/**
 * The model's name in the provider's API: the row's own id if the row matches it, else the first name that it matches.
 */
export function upstreamName(provider: KnownProvider, { id, match }: NamedRow): string {
  const names = equalNames(match)
  // Cohere's API accepts only dated names.
  const dated = provider.slug === 'cohere' ? names.find((name) => /-\d{2}-\d{4}$/.test(name)) : undefined
  return dated ?? (matchesName(match, id) ? id : (names[0] ?? id))
}

/**
 * The pattern of a `regex` comes from outside, so it is not run: it counts as fulfilled inside `and`, and as not
 * fulfilled elsewhere.
 */
function matchesName(match: unknown, name: string, inAll = false, depth = 0): boolean {
  if (depth > DEPTH_MAX) return false
  const { or, and, equals, starts_with: start, ends_with: end, contains } = fieldsOf(match)
  if (Array.isArray(or)) return or.slice(0, NAMES_MAX).some((part) => matchesName(part, name, false, depth + 1))
  if (Array.isArray(and)) return and.slice(0, NAMES_MAX).every((part) => matchesName(part, name, true, depth + 1))
  if (typeof equals === 'string') return name === equals
  if (typeof start === 'string') return name.startsWith(start)
  if (typeof end === 'string') return name.endsWith(end)
  return typeof contains === 'string' ? name.includes(contains) : inAll
}

function equalNames(match: unknown, depth = 0): readonly string[] {
  const { or, equals } = fieldsOf(match)
  if (Array.isArray(or) && depth <= DEPTH_MAX)
    return or.slice(0, NAMES_MAX).flatMap((part) => equalNames(part, depth + 1))
  return typeof equals === 'string' ? [equals] : []
}

export function slugOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1)
}

/** `claude-3-5-haiku-latest` and `claude-3.5-haiku`, `kimi-k2p5` and `kimi-k2.5` are one name. */
export function comparable(slug: string): string {
  return slug
    .toLowerCase()
    .replaceAll(/(\d)p(\d)/g, '$1-$2')
    .replaceAll('.', '-')
    .replace(/-latest$/, '')
    .replace(/-0$/, '')
}

/** What a model of a family probably takes and returns. */
export interface Family {
  readonly inputModalities: readonly string[]
  /**
   * The longest answer in tokens; null = what another host states, else a quarter of the context window, at least 8,192
   * and at most 32,768.
   */
  readonly maxCompletionTokens: number | null
}

/**
 * For models whose limits the data set does not say: a guess for each family, rather too low than too high, since a
 * provider refuses a larger limit. A row with a guessed limit says so in `guessed`. The first matching row applies.
 */
const FAMILIES: readonly (readonly [RegExp, Family])[] = [
  [/^anthropic\/claude-(2|3-|v)/, { inputModalities: ['text'], maxCompletionTokens: 4_096 }],
  [/^anthropic\/claude-3\.5-/, { inputModalities: ['text', 'image'], maxCompletionTokens: 8_192 }],
  [/^anthropic\/claude-/, { inputModalities: ['text', 'image'], maxCompletionTokens: 32_000 }],
  [/^google\/gemini-(1|2\.0|pro|flash)/, { inputModalities: ['text', 'image'], maxCompletionTokens: 8_192 }],
  [/^google\/gemini-/, { inputModalities: ['text', 'image'], maxCompletionTokens: 65_535 }],
  [/^openai\/gpt-(5|6)/, { inputModalities: ['text', 'image'], maxCompletionTokens: 128_000 }],
  [/^openai\/(gpt-4\.1|o[134])/, { inputModalities: ['text', 'image'], maxCompletionTokens: 32_768 }],
  [/^openai\/gpt-4o/, { inputModalities: ['text', 'image'], maxCompletionTokens: 16_384 }],
  [/^openai\/gpt-oss/, { inputModalities: ['text'], maxCompletionTokens: 32_768 }],
  [/^openai\/(gpt-3|chatgpt)/, { inputModalities: ['text'], maxCompletionTokens: 4_096 }],
  [/^x-ai\/grok-(3|code)/, { inputModalities: ['text'], maxCompletionTokens: 16_384 }],
  // "No text output limit": https://docs.x.ai/developers/grok-4-6 (seen on 27 November 2026). A hold needs a limit all
  // the same.
  [/^x-ai\/grok-4\.([2-9]|1\d)/, { inputModalities: ['text', 'image'], maxCompletionTokens: 128_000 }],
  [/^x-ai\/grok-/, { inputModalities: ['text', 'image'], maxCompletionTokens: 32_768 }],
  [
    /^mistralai\/(pixtral|mistral-(small|medium)-(2[5-9]|3|latest)|mistral-large-2512|ministral-\w+-2512)/,
    { inputModalities: ['text', 'image'], maxCompletionTokens: 16_384 },
  ],
  [/^meta-llama\/llama-4/, { inputModalities: ['text', 'image'], maxCompletionTokens: 8_192 }],
  [/[-/](vl|vision)\b|-vl-|\d[vV]$/, { inputModalities: ['text', 'image'], maxCompletionTokens: null }],
  [/^cohere\//, { inputModalities: ['text'], maxCompletionTokens: 4_096 }],
  [/^perplexity\//, { inputModalities: ['text'], maxCompletionTokens: 8_192 }],
]
const OTHERS: Family = { inputModalities: ['text'], maxCompletionTokens: null }
const LEAST = 8_192
const MOST = 32_768

/** `id` in OpenRouter's form. */
export function familyOf(id: string): Family {
  return FAMILIES.find(([pattern]) => pattern.test(id))?.[1] ?? OTHERS
}

/**
 * The longest answer of a model of this family and window, in tokens. `elsewhere`: the longest answer that another host
 * states.
 */
export function guessedOutput({ maxCompletionTokens }: Family, context: number, elsewhere: number | null): number {
  const guess = maxCompletionTokens ?? elsewhere ?? Math.max(LEAST, Math.min(MOST, Math.floor(context / 4)))
  return Math.min(guess, context)
}
