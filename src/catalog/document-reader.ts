import { given } from '../base/objects.ts'
import { isAccent } from '../base/accent.ts'
import { isTimezone } from '../ledger/period.ts'
import {
  SETTING_ROWS,
  type GivenSettings,
  type NumberFields,
  type TextFields,
  TEXT_FORMS,
  type SettingName,
} from '../tables/settings-table.ts'
import type { KnownAdapters } from './catalog.ts'
import { readAuth } from './auth.ts'
import { readDialect } from './dialect.ts'
import {
  EMPTY_DOCUMENT,
  PROVIDER_FIELDS,
  SECONDS_MAX,
  type CatalogDocument,
  type ModelEntry,
  type ProviderEntry,
  type SettingsEntry,
} from './document.ts'
import { GivenFields } from './entry-fields.ts'
import { FieldReader } from './field-reader.ts'
import { type FileProblem, type Problem, lineOf, readSource, sourceOfJson, type SourceNode } from './source-tree.ts'
import { MARKUP } from './customer-prices.ts'
import { readModel } from './model-entry.ts'
import { readSdkPackage } from './sdk-package.ts'
import { forbiddenUpstream } from './upstream-address.ts'

const SLUG = /^[a-z0-9][a-z0-9._-]*$/
const SLUG_CHARS_MAX = 64
/** Paths of operations that people copy together with the base address by mistake. */
const OPERATION =
  /\/(chat\/completions|completions|responses|messages|embeddings|rerank|moderations|images\/generations|audio\/(speech|transcriptions))\/*$/
const FALLBACKS_MAX = 1_000

export interface DocumentContext {
  readonly adapters: KnownAdapters
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface ParsedDocument {
  readonly document: CatalogDocument
  readonly problems: readonly FileProblem[]
  /** The line of a path in the text; 0 = the document did not come as text. */
  lineOf(path: string): number
}

export function parseDocumentText(text: string, context: DocumentContext): ParsedDocument {
  const unread: FileProblem[] = []
  const source = readSource(text, context.env, unread)
  const problems: Problem[] = []
  // A text that cannot be parsed is one problem; the fields that it lacks are not reported as well.
  const document = unread.some(({ path }) => path === '')
    ? EMPTY_DOCUMENT
    : readDocument(source, context, problems, unread)
  return { document, problems: [...unread, ...problems], lineOf: (path) => lineOf(source, path) }
}

export function parseDocumentJson(
  value: unknown,
  context: DocumentContext,
): { readonly document: CatalogDocument; readonly problems: readonly Problem[] } {
  const problems: Problem[] = []
  return { document: readDocument(sourceOfJson(value), context, problems), problems }
}

function readDocument(
  source: SourceNode,
  context: DocumentContext,
  problems: Problem[],
  before: readonly FileProblem[] = [],
): CatalogDocument {
  const reader = new FieldReader(source, '', problems, before)
  const bundled = reader.flag('bundled', true)
  const except = given({ bundled_except: reader.texts('bundled_except') })
  const settings = readSettings(reader)
  const providers: Record<string, ProviderEntry> = {}
  const listed = reader.map('providers')
  for (const slug of listed?.keys() ?? []) {
    const entry = listed?.map(slug)
    const wrong = slugProblem(slug)
    if (wrong !== null) listed?.problem(slug, 'slug', {}, wrong)
    if (entry !== null && entry !== undefined) providers[slug] = readProvider(entry, context.adapters)
  }
  const models = reader.items('models').map(readModel)
  reader.done()
  return { bundled, ...except, settings, providers, models }
}

/** The problem of a provider's slug; null = none. */
export function slugProblem(slug: string): string | null {
  if (slug.length > SLUG_CHARS_MAX) return `must be at most ${SLUG_CHARS_MAX} characters long, got ${slug.length}`
  return SLUG.test(slug)
    ? null
    : 'must be a slug of lower-case letters, digits, dots, dashes and underscores, which begins with a letter or a digit'
}

/** A provider entry in the admin API's form. */
export function parseProviderJson(
  value: unknown,
  context: DocumentContext,
): { readonly entry: ProviderEntry; readonly problems: readonly Problem[] } {
  const problems: Problem[] = []
  return { entry: readProvider(new FieldReader(sourceOfJson(value), '', problems), context.adapters), problems }
}

/** A model entry in the admin API's form. */
export function parseModelJson(value: unknown): { readonly entry: ModelEntry; readonly problems: readonly Problem[] } {
  const problems: Problem[] = []
  return { entry: readModel(new FieldReader(sourceOfJson(value), '', problems)), problems }
}

/** A patch of settings in the admin API's form. */
export function parseSettingsJson(value: unknown): {
  readonly settings: SettingsEntry
  readonly problems: readonly Problem[]
} {
  const problems: Problem[] = []
  const reader = new FieldReader(sourceOfJson(value), '', problems)
  const settings = readSettings(reader)
  const isNamed = value !== null && typeof value === 'object' && 'maintenance' in value
  const notice = reader.map('maintenance')
  const maintenance =
    notice === null
      ? null
      : { message: notice.text('message'), retry_after: notice.whole('retry_after', 1, SECONDS_MAX) }
  notice?.done()
  reader.done()
  return { settings: isNamed ? { ...settings, maintenance } : settings, problems }
}

function readSettings(reader: FieldReader): SettingsEntry {
  const timezone = reader.text('timezone')
  if (timezone !== null && !isTimezone(timezone)) reader.problem('timezone', 'bad_timezone', { given: timezone })
  const rates = reader.map('rates')
  const rateTexts: Record<string, string> = {}
  const ratesSource = rates?.oneOf<'cbr'>('source', ['cbr']) ?? null
  for (const currency of rates?.keys().filter((key) => key !== 'source') ?? []) {
    if (!/^[A-Z]{3}$/.test(currency)) rates?.problem(currency, 'currency_code')
    const rate = rates?.decimal(currency)
    if (rate === '0') rates?.problem(currency, 'above_zero')
    if (rate !== null && rate !== undefined) rateTexts[currency] = rate
  }
  const markup = MARKUP.read(reader, 'markup')
  return {
    ...given({ timezone, rates: rates === null ? null : rateTexts, rates_source: ratesSource, markup }),
    ...given({ model_fallbacks: readFallbacks(reader) }),
    ...readPlain(reader),
  }
}

function readFallbacks(reader: FieldReader): Readonly<Record<string, string>> | null {
  const map = reader.map('model_fallbacks')
  if (map === null) return null
  const names = map.keys()
  if (names.length > FALLBACKS_MAX) {
    const message = `must have at most ${FALLBACKS_MAX} items, got ${names.length}`
    reader.problem('model_fallbacks', 'items_most', { most: FALLBACKS_MAX }, message)
    return null
  }
  return Object.fromEntries(names.map((name) => [name, map.required(name)]))
}

function readPlain(reader: FieldReader): GivenSettings {
  const named: Partial<Record<SettingName, unknown>> = {}
  for (const [name, row] of SETTING_ROWS) {
    const value =
      row.kind === 'numbers'
        ? wholes(reader, name, row.fields)
        : row.kind === 'choice'
          ? reader.oneOf(name, Object.keys(row.options))
          : row.kind === 'texts'
            ? texts(reader, name, row.fields)
            : reader.has(name)
              ? reader.flag(name, row.fallback)
              : null
    if (value !== null) named[name] = value
  }
  // Each setting was read by its row's rules.
  return named as GivenSettings
}

/** A map of required whole numbers, each within its bounds. */
function wholes(reader: FieldReader, key: string, fields: NumberFields): Readonly<Record<string, number>> | null {
  const map = reader.map(key)
  if (map === null) return null
  const result: Record<string, number> = {}
  for (const [name, { least, most }] of Object.entries(fields)) {
    if (!map.has(name)) map.problem(name, 'required')
    result[name] = map.whole(name, least, most) ?? least
  }
  map.done()
  return result
}

/** A map of texts; what is not given is as if nobody had set it. */
function texts(reader: FieldReader, key: string, fields: TextFields): Readonly<Record<string, string>> | null {
  const map = reader.map(key)
  if (map === null) return null
  const result: Record<string, string> = {}
  for (const [name, { most, form, fallback }] of Object.entries(fields)) {
    const given = map.text(name) ?? fallback
    if (given.length > most) map.problem(name, 'length', { least: 0, most, given: given.length })
    else if (!TEXT_FORMS[form].test(given) || (form === 'colour' && given !== '' && !isAccent(given)))
      map.problem(name, form)
    result[name] = given === '' ? fallback : given
  }
  map.done()
  return result
}

function readProvider(reader: FieldReader, adapters: KnownAdapters): ProviderEntry {
  const adapter = reader.required('adapter')
  if (adapter !== '' && !adapters.has(adapter))
    reader.problem(
      'adapter',
      'one_of',
      { allowed: [...adapters.keys()].toSorted().join(', ') },
      `must be one of ${[...adapters.keys()].toSorted().join(', ')}, got '${adapter}'`,
    )
  const baseUrl = reader.text('base_url')
  if (baseUrl !== null && !isHttpUrl(baseUrl)) reader.problem('base_url', 'http_address', { given: baseUrl })
  else if (baseUrl !== null && forbiddenUpstream(baseUrl))
    reader.problem('base_url', 'metadata_address', { given: baseUrl })
  const operation = baseUrl === null ? undefined : OPERATION.exec(baseUrl)?.[0]
  if (operation !== undefined) reader.problem('base_url', 'operation_path', { path: operation })
  if (baseUrl === null && adapters.get(adapter)?.baseUrl === null) reader.problem('base_url', 'required')
  const single = reader.node('api_key')
  const keys =
    single?.kind === 'list' ? reader.texts('api_key') : single === null ? null : [reader.text('api_key') ?? '']
  if (!reader.isWrong('api_key') && (keys?.length === 0 || keys?.some((key) => key.trim() === '') === true))
    reader.problem('api_key', 'empty_key')
  const fields = new GivenFields(reader, PROVIDER_FIELDS)
  fields.read('timeouts')
  const quirks = reader.map('dialect')
  const entry = {
    ...given({
      name: reader.text('name'),
      base_url: baseUrl,
      api_key: keys?.filter((key) => key !== '') ?? null,
      auth: readAuth(reader, adapter),
    }),
    ...fields.all(),
    ...given({ dialect: quirks === null ? null : readDialect(quirks, adapter) }),
  }
  const sdkPackage = readSdkPackage(reader, adapter, adapters)
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
