import { isTimezone } from '../ledger/period.ts'
import type { MediaTokens, ModelType, ProviderTimeouts } from './catalog.ts'
import { readDialect, type DialectEntry } from './dialect.ts'
import { defined, FieldReader } from './field-reader.ts'
import { ADAPTER_BASE_URLS } from './known-providers.ts'
import { readModel } from './model-entry.ts'
import type { PriceKey } from './price-keys.ts'
import { readSdkPackage } from './sdk-package.ts'
import { lineOf, readSource, sourceOfJson, type Problem, type SourceNode } from './source-tree.ts'
import { forbiddenUpstream } from './upstream-address.ts'

/**
 * Decimal texts by key, in the file's units; a map for `video_second` by resolution, and for `image_output` by size and
 * quality.
 */
export type PriceTexts = Readonly<Partial<Record<PriceKey, string | Readonly<Record<string, string>>>>>

/** A provider's entry of the file, credentials included. */
export interface ProviderEntry {
  readonly name?: string
  readonly adapter: string
  readonly base_url?: string
  readonly api_key?: readonly string[]
  readonly cancel_stops_billing?: boolean
  readonly timeouts?: Readonly<Partial<ProviderTimeouts>>
  /** For the adapter `openai` alone. */
  readonly dialect?: DialectEntry
  /** Of adapter `ai-sdk` alone: the package to load, and the function of it that makes the provider. */
  readonly package?: string
  readonly factory?: string
}

export interface EndpointEntry {
  readonly provider: string
  readonly model: string
  readonly price: PriceTexts & { readonly currency: string }
  readonly sell?: PriceTexts
  readonly supported_parameters?: readonly string[]
  readonly context_length?: number
  readonly max_completion_tokens?: number
  readonly media_tokens?: MediaTokens
  readonly native_responses?: boolean
  readonly native_completions?: boolean
  /** Its prices are meant, however far they are from what is known of the model. */
  readonly force?: boolean
}

export interface ModelEntry {
  readonly id: string
  readonly type: ModelType
  readonly name?: string
  readonly description?: string
  /** ISO day or UTC time. */
  readonly created?: string
  readonly active?: boolean
  readonly hidden?: boolean
  readonly context_length?: number
  readonly max_completion_tokens?: number
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

export interface SettingsEntry {
  readonly timezone?: string
  /** With a source these are the last known ones. */
  readonly rates?: Readonly<Record<string, string>>
  /** `rates.source` of the file: the Central Bank's daily rates. */
  readonly rates_source?: 'cbr'
  readonly markup?: string
  readonly rate_limit?: { readonly requests: number; readonly window: number }
  readonly ip_block?: { readonly failures: number; readonly window: number; readonly duration: number }
  readonly midstream_error?: 'free' | 'delivered'
  readonly stream_resume?: { readonly grace: number; readonly retention: number }
  readonly fetch_urls?: boolean
  /** Whether anybody may sign up in the console. */
  readonly signup?: 'open' | 'closed'
  /** Not of the file: changed through the admin API alone. */
  readonly maintenance?: { readonly message: string | null; readonly retry_after: number | null } | null
}

/** The catalogue file of operator.md 3, validated. Only what was given is present. */
export interface CatalogDocument {
  readonly bundled: boolean
  readonly settings: SettingsEntry
  readonly providers: Readonly<Record<string, ProviderEntry>>
  readonly models: readonly ModelEntry[]
}

export const EMPTY_DOCUMENT: CatalogDocument = Object.freeze({ bundled: true, settings: {}, providers: {}, models: [] })

const SLUG = /^[a-z0-9][a-z0-9._-]*$/
const SLUG_CHARS_MAX = 64
/** What a client puts behind the base address, and people copy along with it. */
const OPERATION =
  /\/(chat\/completions|completions|responses|messages|embeddings|rerank|images\/generations|audio\/(speech|transcriptions))\/*$/
const SECONDS_MAX = 86_400

export interface DocumentContext {
  readonly adapters: ReadonlySet<string>
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface ParsedDocument {
  readonly document: CatalogDocument
  readonly problems: readonly Problem[]
  /** Where a path stands in the text; 0 = the document is no text. */
  lineOf(path: string): number
}

export function parseDocumentText(text: string, context: DocumentContext): ParsedDocument {
  const problems: Problem[] = []
  const source = readSource(text, context.env, problems)
  // What is missing from a text that could not be read is no news.
  const document = problems.some(({ path }) => path === '') ? EMPTY_DOCUMENT : readDocument(source, context, problems)
  return { document, problems, lineOf: (path) => lineOf(source, path) }
}

export function parseDocumentJson(
  value: unknown,
  context: DocumentContext,
): { readonly document: CatalogDocument; readonly problems: readonly Problem[] } {
  const problems: Problem[] = []
  return { document: readDocument(sourceOfJson(value), context, problems), problems }
}

function readDocument(source: SourceNode, context: DocumentContext, problems: Problem[]): CatalogDocument {
  const reader = new FieldReader(source, '', problems)
  const bundled = reader.flag('bundled', true)
  const settings = readSettings(reader)
  const providers: Record<string, ProviderEntry> = {}
  const listed = reader.map('providers')
  for (const slug of listed?.keys() ?? []) {
    const entry = listed?.map(slug)
    const wrong = slugProblem(slug)
    if (wrong !== null) listed?.problem(slug, wrong)
    if (entry !== null && entry !== undefined) providers[slug] = readProvider(entry, context.adapters)
  }
  const models = reader.items('models').map(readModel)
  reader.done()
  return { bundled, settings, providers, models }
}

/** What is wrong with the name of a provider; null = nothing. */
export function slugProblem(slug: string): string | null {
  if (slug.length > SLUG_CHARS_MAX) return `must be at most ${SLUG_CHARS_MAX} characters long, got ${slug.length}`
  return SLUG.test(slug)
    ? null
    : 'must be a slug of lower-case letters, digits, dots, dashes and underscores, which begins with a letter or a digit'
}

/** One provider entry as the admin API takes it. */
export function parseProviderJson(
  value: unknown,
  context: DocumentContext,
): { readonly entry: ProviderEntry; readonly problems: readonly Problem[] } {
  const problems: Problem[] = []
  return { entry: readProvider(new FieldReader(sourceOfJson(value), '', problems), context.adapters), problems }
}

/** One model as the admin API takes it. */
export function parseModelJson(value: unknown): { readonly entry: ModelEntry; readonly problems: readonly Problem[] } {
  const problems: Problem[] = []
  return { entry: readModel(new FieldReader(sourceOfJson(value), '', problems)), problems }
}

/** Settings as the admin API patches them. */
export function parseSettingsJson(value: unknown): {
  readonly settings: SettingsEntry
  readonly problems: readonly Problem[]
} {
  const problems: Problem[] = []
  const reader = new FieldReader(sourceOfJson(value), '', problems)
  const settings = readSettings(reader)
  const given = value !== null && typeof value === 'object' && 'maintenance' in value
  const notice = reader.map('maintenance')
  const maintenance =
    notice === null
      ? null
      : { message: notice.text('message'), retry_after: notice.whole('retry_after', 1, SECONDS_MAX) }
  notice?.done()
  reader.done()
  return { settings: given ? { ...settings, maintenance } : settings, problems }
}

function readSettings(reader: FieldReader): SettingsEntry {
  const timezone = reader.text('timezone')
  if (timezone !== null && !isTimezone(timezone))
    reader.problem('timezone', `must be an IANA time zone such as Europe/Moscow, got '${timezone}'`)
  const rates = reader.map('rates')
  const rateTexts: Record<string, string> = {}
  const ratesSource = rates?.oneOf<'cbr'>('source', ['cbr']) ?? null
  for (const currency of rates?.keys().filter((key) => key !== 'source') ?? []) {
    if (!/^[A-Z]{3}$/.test(currency)) rates?.problem(currency, 'must be a currency code of three capital letters')
    const rate = rates?.decimal(currency)
    if (rate === '0') rates?.problem(currency, 'must be above 0')
    if (rate !== null && rate !== undefined) rateTexts[currency] = rate
  }
  const markup = reader.decimal('markup')
  if (markup === '0') reader.problem('markup', 'must be above 0: it would give everything away')
  const rateLimit = wholes(reader, 'rate_limit', { requests: 100_000, window: SECONDS_MAX })
  const ipBlock = wholes(reader, 'ip_block', { failures: 100_000, window: SECONDS_MAX, duration: SECONDS_MAX })
  const resume = wholes(reader, 'stream_resume', { grace: 600, retention: SECONDS_MAX }, 0)
  return defined({
    timezone,
    rates: rates === null ? null : rateTexts,
    rates_source: ratesSource,
    markup,
    rate_limit: rateLimit,
    ip_block: ipBlock,
    midstream_error: reader.oneOf<'free' | 'delivered'>('midstream_error', ['free', 'delivered']),
    stream_resume: resume,
    fetch_urls: reader.has('fetch_urls') ? reader.flag('fetch_urls', false) : null,
    signup: reader.oneOf<'open' | 'closed'>('signup', ['open', 'closed']),
  })
}

/** A map of required whole numbers, each from `least` to its bound. */
function wholes<K extends string>(
  reader: FieldReader,
  key: string,
  bounds: Readonly<Record<K, number>>,
  least = 1,
): Readonly<Record<K, number>> | null {
  const map = reader.map(key)
  if (map === null) return null
  const result: Partial<Record<K, number>> = {}
  // The keys of the record are exactly K.
  for (const name of Object.keys(bounds) as K[]) {
    if (!map.has(name)) map.problem(name, 'is required')
    result[name] = map.whole(name, least, bounds[name]) ?? least
  }
  map.done()
  // Every key of K was set above.
  return result as Record<K, number>
}

function readProvider(reader: FieldReader, adapters: ReadonlySet<string>): ProviderEntry {
  const adapter = reader.required('adapter')
  if (adapter !== '' && !adapters.has(adapter))
    reader.problem('adapter', `must be one of ${[...adapters].toSorted().join(', ')}, got '${adapter}'`)
  const baseUrl = reader.text('base_url')
  if (baseUrl !== null && !isHttpUrl(baseUrl))
    reader.problem('base_url', `must be an http or https address, got '${baseUrl}'`)
  else if (baseUrl !== null && forbiddenUpstream(baseUrl))
    reader.problem('base_url', `must not be a link-local or metadata address, got '${baseUrl}'`)
  const operation = baseUrl === null ? undefined : OPERATION.exec(baseUrl)?.[0]
  if (operation !== undefined)
    reader.problem('base_url', `must be what stands before the operation's path: leave out '${operation}'`)
  if (baseUrl === null && adapter !== 'sandbox' && adapters.has(adapter) && ADAPTER_BASE_URLS[adapter] === undefined)
    reader.problem('base_url', 'is required')
  const single = reader.node('api_key')
  const keys =
    single?.kind === 'list' ? reader.texts('api_key') : single === null ? null : [reader.text('api_key') ?? '']
  if (!reader.isWrong('api_key') && (keys?.length === 0 || keys?.some((key) => key.trim() === '') === true))
    reader.problem('api_key', 'must not be empty; a provider without a key has none of it')
  const limits = reader.map('timeouts')
  const timeouts =
    limits === null
      ? null
      : defined({
          connect: limits.whole('connect', 1, 60),
          first_byte: limits.whole('first_byte', 1, 3_600),
          progress: limits.whole('progress', 1, 3_600),
          total: limits.whole('total', 1, SECONDS_MAX),
        })
  limits?.done()
  const quirks = reader.map('dialect')
  if (quirks !== null && adapter !== 'openai')
    reader.problem('dialect', `is for the adapter openai alone, got '${adapter}'`)
  const entry = defined({
    name: reader.text('name'),
    base_url: baseUrl,
    api_key: keys?.filter((key) => key !== '') ?? null,
    cancel_stops_billing: reader.has('cancel_stops_billing') ? reader.flag('cancel_stops_billing', false) : null,
    timeouts,
    dialect: quirks === null ? null : readDialect(quirks),
  })
  const sdkPackage = readSdkPackage(reader, adapter)
  reader.done()
  return { adapter, ...entry, ...sdkPackage }
}

function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  return (
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.username === '' &&
    url.hash === '' &&
    url.search === ''
  )
}
