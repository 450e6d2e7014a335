import { isAbsolute } from 'node:path'
import { defined, type FieldReader } from './field-reader.ts'
import { bearer } from '../base/bearer.ts'
import { quirksOf, readQuirks, REASONING_ECHOES, type Quirks, type QuirksEntry, type ReasoningEcho } from './quirks.ts'

/** The differences of a service from OpenAI's protocol, as in the catalogue file. Only given fields are present. */
export interface DialectEntry extends QuirksEntry {
  /** Names in lower case. Values are secret: where they are not shown, they are masked or empty (`credentials.ts`). */
  readonly headers?: Readonly<Record<string, string>>
  /** The absolute path of a PEM file on the server. */
  readonly ca_file?: string
  readonly service_tier?: string
  readonly auth_header?: string
  readonly query?: Readonly<Record<string, string>>
  readonly stream_usage?: boolean
  readonly names?: Readonly<Record<string, string>>
  readonly videos?: VideoForm
  readonly images?: ImageForm
  readonly vectors?: VectorForm
}

/** The service whose `/videos` it follows. */
export type VideoForm = 'openai' | 'openrouter' | 'xai'
/** `size` = OpenAI's `size` and files, `words` = xAI's `aspect_ratio`, `resolution` and addresses. */
export type ImageForm = 'size' | 'words'

/**
 * How its embeddings encode a vector other than as a list of numbers: 32-bit floats in base64, or 8-bit integers
 * (Perplexity's `base64_int8`).
 */
export type VectorForm = 'float32' | 'int8'

/** The declared differences of an OpenAI-compatible service. */
export interface Dialect extends Quirks {
  /** Sent with every request, over all others of the same name. */
  readonly headers: Readonly<Record<string, string>>
  /** Certificates that its connections trust beside the system's: the path of a PEM file; null = the system's alone. */
  readonly caFile: string | null
  /**
   * Its word for the plain service tier, sent with every chat that is to have no other; null = it is sent none.
   */
  readonly plainTier: string | null
  /** The header for the bare key; null = `authorization: Bearer`. */
  readonly authHeader: string | null
  /** Appended to every path, with its question mark; empty without one. */
  readonly query: string
  /** Whether it takes `stream_options.include_usage`. */
  readonly streamUsage: boolean
  /** null = decided by the address: xAI's own, else OpenAI's. */
  readonly images: ImageForm | null
  /** The service's names for parameters of embeddings and rerank, by OpenAI's names. */
  readonly names: Readonly<Record<string, string>>
  /** null = decided by the address: OpenRouter's or xAI's own, else OpenAI's. */
  readonly videos: VideoForm | null
  /** null = decided by the address: Perplexity's own, else OpenAI's. */
  readonly vectors: VectorForm | null
}

export const PLAIN_DIALECT: Dialect = Object.freeze({
  ...quirksOf({}),
  headers: Object.freeze({}),
  caFile: null,
  plainTier: null,
  authHeader: null,
  query: '',
  streamUsage: true,
  images: null,
  names: Object.freeze({}),
  videos: null,
  vectors: null,
})
const SHARED_KEYS = [
  'headers',
  'ca_file',
  'service_tier',
  'reasoning_echo',
] as const satisfies readonly (keyof DialectEntry)[]
/** Quirks of what is said, which packages of the AI SDK pass on as they are given it. */
const SDK_KEYS: readonly string[] = ['fixed', 'strict', 'schema_words', 'json_word']
/** Begins a secret that is cut for display; sent back it stands for the stored one. */
export const MASK = '…'
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
const HEADER = /^[a-z][a-z0-9-]{0,63}$/
export const HEADER_VALUE = /^[\t\x20-\x7e]{0,4096}$/
const HEADERS_MAX = 32
/** Of the connection or of the body, or set by the adapter. */
export const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
/** Headers that carry the key of a provider with its own adapter. */
const KEY_HEADERS: readonly string[] = ['authorization', 'x-api-key', 'x-goog-api-key', 'xi-api-key']

/** The keys that every adapter has, and those of adapter `ai-sdk`; the others are of adapter `openai` alone. */
export function readDialect(reader: FieldReader, adapter: string): DialectEntry {
  return {
    ...readConnection(reader, adapter),
    ...(adapter === 'openai' ? readProtocol(reader) : othersOf(reader, adapter === 'ai-sdk')),
  }
}

function readConnection(reader: FieldReader, adapter: string): DialectEntry {
  const path = reader.text('ca_file')
  if (path !== null && !isAbsolute(path))
    reader.problem('ca_file', 'absolute_path', { given: path }, `must be the absolute path of a file, got '${path}'`)
  const tier = reader.text('service_tier')
  if (tier !== null && !NAME.test(tier))
    reader.problem(
      'service_tier',
      'parameter_name',
      { given: tier },
      `must be the name of a service tier, got '${tier}'`,
    )
  return defined({
    headers: headersOf(reader, adapter),
    ca_file: path,
    service_tier: tier,
    reasoning_echo: reader.oneOf<ReasoningEcho>('reasoning_echo', REASONING_ECHOES),
  })
}

function headersOf(reader: FieldReader, adapter: string): Readonly<Record<string, string>> | null {
  const given = reader.map('headers')
  if (given === null) return null
  if (given.keys().length > HEADERS_MAX)
    reader.problem('headers', 'items_most', { most: HEADERS_MAX }, `must have at most ${HEADERS_MAX} headers`)
  const ofKey = adapter === 'openai' ? [reader.text('auth_header')?.toLowerCase() ?? 'authorization'] : KEY_HEADERS
  const headers: Record<string, string> = {}
  for (const written of given.keys()) {
    const name = written.toLowerCase()
    if (!HEADER.test(name) || RESERVED_HEADERS.has(name) || ofKey.includes(name) || Object.hasOwn(headers, name))
      given.problem(
        written,
        'header_name',
        { given: written },
        'must be the name of one header, and not of the connection, the body or the key',
      )
    const value = given.text(written) ?? ''
    if (!HEADER_VALUE.test(value) && !value.startsWith(MASK))
      given.problem(written, 'header_value', {}, 'must be printable ASCII, of at most 4096 characters')
    headers[name] = value
  }
  return headers
}

/** Reports the keys that another adapter does not have. */
function othersOf(reader: FieldReader, isSdk: boolean): DialectEntry {
  for (const key of reader.keys())
    if (!(SHARED_KEYS as readonly string[]).includes(key) && !(isSdk && SDK_KEYS.includes(key)))
      reader.problem(key, 'other_adapter', { adapter: 'openai' }, 'is for the adapter openai alone')
    else reader.node(key)
  return isSdk ? readQuirks(reader) : {}
}

function readProtocol(reader: FieldReader): DialectEntry {
  const header = reader.text('auth_header')?.toLowerCase() ?? null
  if (header !== null && !HEADER.test(header))
    reader.problem('auth_header', 'header_name', { given: header }, `must be the name of a header, got '${header}'`)
  const given = reader.map('query')
  const query: Record<string, string> = {}
  for (const name of given?.keys() ?? []) query[name] = given?.text(name) ?? ''
  const names = namesOf(reader)
  const entry = {
    ...readQuirks(reader),
    ...defined({
      auth_header: header,
      query: given === null ? null : query,
      stream_usage: reader.has('stream_usage') ? reader.flag('stream_usage', true) : null,
      names,
      videos: reader.oneOf<VideoForm>('videos', ['openai', 'openrouter', 'xai']),
      images: reader.oneOf<ImageForm>('images', ['size', 'words']),
      vectors: reader.oneOf<VectorForm>('vectors', ['float32', 'int8']),
    }),
  }
  reader.done()
  return entry
}

function namesOf(reader: FieldReader): Readonly<Record<string, string>> | null {
  const given = reader.map('names')
  if (given === null) return null
  const names: Readonly<Record<string, string>> = defined({
    dimensions: given.text('dimensions'),
    top_n: given.text('top_n'),
  })
  for (const [ours, theirs] of Object.entries(names))
    if (!NAME.test(theirs))
      given.problem(ours, 'parameter_name', { given: theirs }, `must be the name of a parameter, got '${theirs}'`)
  given.done()
  return names
}

/** `known` = what the service's documents say, where the entry says nothing. */
export function dialectOf(given: DialectEntry = {}, known: DialectEntry = {}): Dialect {
  const entry = { ...known, ...given }
  const query = new URLSearchParams(entry.query).toString()
  return {
    ...quirksOf(entry),
    headers: Object.freeze({ ...entry.headers }),
    caFile: entry.ca_file ?? null,
    plainTier: entry.service_tier ?? null,
    authHeader: entry.auth_header ?? null,
    query: query === '' ? '' : `?${query}`,
    streamUsage: entry.stream_usage ?? true,
    images: entry.images ?? null,
    names: Object.freeze({ ...entry.names }),
    videos: entry.videos ?? null,
    vectors: entry.vectors ?? null,
  }
}

/** The header that carries a key of a provider with this dialect; none without a key. */
export function keyHeaders({ authHeader }: Dialect, key: string | null | undefined): Readonly<Record<string, string>> {
  return authHeader === null || key === null || key === undefined ? bearer(key) : { [authHeader]: key }
}
