import { isAbsolute } from 'node:path'
import { bearer } from '../base/http-request.ts'
import { nullable, text } from '../base/schema.ts'
import { field, fieldSchemas, GivenFields, judged, NAME as TEXT, readFields, type EntryOf } from './entry-fields.ts'
import type { FieldReader } from './field-reader.ts'
import { QUIRK_FIELDS, quirksOf, type Quirks, type QuirksEntry } from './quirks.ts'

/** The service whose form of `/videos` the provider follows. */
export type VideoForm = 'openai' | 'openrouter' | 'xai'
/** `size` = OpenAI's `size` and files, `words` = xAI's `aspect_ratio`, `resolution` and addresses. */
export type ImageForm = 'size' | 'words'

/**
 * How the provider's embeddings encode a vector, if not as a list of numbers: 32-bit floats in base64, or 8-bit
 * integers (Perplexity's `base64_int8`).
 */
export type VectorForm = 'float32' | 'int8'

/** The declared differences of an OpenAI-compatible service. */
export interface Dialect extends Quirks {
  /** Sent with every request; they replace other headers of the same name. */
  readonly headers: Readonly<Record<string, string>>
  /** The path of a PEM file with certificates that its connections trust besides the system's; null = none. */
  readonly caFile: string | null
  /**
   * The service's word for the plain service tier, sent with every chat that must have no other tier; null = no word is
   * sent.
   */
  readonly plainTier: string | null
  /** The header for the bare key; null = `authorization: Bearer`. */
  readonly authHeader: string | null
  /** Appended to every path, including its question mark; empty = nothing is appended. */
  readonly query: string
  /** Whether the service takes `stream_options.include_usage`. */
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
/** Quirks of a body's contents: packages of the AI SDK pass these contents on unchanged. */
const SDK_KEYS: readonly string[] = ['fixed', 'strict', 'schema_words', 'json_word']
/** The first character of a secret that is cut for display; one sent back in this form stands for the stored secret. */
export const MASK = '…'
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
const HEADER = /^[a-z][a-z0-9-]{0,63}$/
export const HEADER_VALUE = /^[\t\x20-\x7e]{0,4096}$/
const HEADERS_MAX = 32
/** Headers of the connection or of the body, or set by the adapter. */
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

const PARAMETER = judged(field.text(), (given, reader, key) => {
  if (!NAME.test(given)) reader.problem(key, 'parameter_name', { given })
})

/** Fields of every adapter, besides `headers`. */
const CONNECTION_FIELDS = {
  /** The absolute path of a PEM file on the server. */
  ca_file: {
    ...judged(field.text(), (given, reader, key) => {
      if (!isAbsolute(given)) reader.problem(key, 'absolute_path', { given })
    }),
    schema: text('', { pattern: '^/' }),
  },
  service_tier: judged(field.text(), (given, reader, key) => {
    if (!NAME.test(given))
      reader.problem(key, 'parameter_name', { given }, `must be the name of a service tier, got '${given}'`)
  }),
  reasoning_echo: QUIRK_FIELDS.reasoning_echo,
}

/** Fields of the adapter `openai` only, besides the quirks. */
const PROTOCOL_FIELDS = {
  auth_header: {
    schema: TEXT,
    read: (reader: FieldReader, key: string): string | null => {
      const header = reader.text(key)?.toLowerCase() ?? null
      if (header !== null && !HEADER.test(header))
        reader.problem(key, 'header_name', { given: header }, `must be the name of a header, got '${header}'`)
      return header
    },
  },
  query: field.open(nullable(TEXT), (given) =>
    Object.fromEntries(given.keys().map((name) => [name, given.text(name) ?? ''])),
  ),
  stream_usage: field.flag(),
  names: field.map({ dimensions: PARAMETER, top_n: PARAMETER }),
  videos: field.oneOf<VideoForm>(['openai', 'openrouter', 'xai']),
  images: field.oneOf<ImageForm>(['size', 'words']),
  vectors: field.oneOf<VectorForm>(['float32', 'int8']),
}

/** The differences of a service from OpenAI's protocol, as in the catalogue file. Only given fields are present. */
export interface DialectEntry extends QuirksEntry, EntryOf<typeof CONNECTION_FIELDS>, EntryOf<typeof PROTOCOL_FIELDS> {
  /**
   * Header names are in lower case. Values are secret: in documents for display they are masked or empty
   * (`credentials.ts`).
   */
  readonly headers?: Readonly<Record<string, string>>
}

export const DIALECT_SCHEMAS = fieldSchemas({
  ...PROTOCOL_FIELDS,
  ...QUIRK_FIELDS,
  headers: field.open(nullable(TEXT), (given) => given),
  ...CONNECTION_FIELDS,
})
const SHARED_KEYS: readonly string[] = ['headers', ...Object.keys(CONNECTION_FIELDS)]

/** Reads the keys that every adapter has, and those of adapter `ai-sdk`; the others belong only to adapter `openai`. */
export function readDialect(reader: FieldReader, adapter: string): DialectEntry {
  const connection = new GivenFields(reader, CONNECTION_FIELDS)
  connection.read('ca_file', 'service_tier')
  const headers = reader.map('headers')
  return {
    ...(headers === null ? {} : { headers: headersOf(headers, reader, adapter) }),
    ...connection.all(),
    ...(adapter === 'openai' ? readProtocol(reader) : othersOf(reader, adapter === 'ai-sdk')),
  }
}

function headersOf(given: FieldReader, reader: FieldReader, adapter: string): Readonly<Record<string, string>> {
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
    if (!HEADER_VALUE.test(value) && !value.startsWith(MASK)) given.problem(written, 'header_value')
    headers[name] = value
  }
  return headers
}

/** Reports the keys that only another adapter has. */
function othersOf(reader: FieldReader, isSdk: boolean): DialectEntry {
  for (const key of reader.keys())
    if (!SHARED_KEYS.includes(key) && !(isSdk && SDK_KEYS.includes(key)))
      reader.problem(key, 'other_adapter', { adapter: 'openai' }, 'is for the adapter openai alone')
    else reader.node(key)
  return isSdk ? readFields(reader, QUIRK_FIELDS) : {}
}

function readProtocol(reader: FieldReader): DialectEntry {
  const protocol = new GivenFields(reader, PROTOCOL_FIELDS)
  protocol.read('auth_header', 'query', 'names')
  const entry = { ...readFields(reader, QUIRK_FIELDS), ...protocol.all() }
  reader.done()
  return entry
}

/** `known` = what the service's documents say; it applies to fields that the entry does not give. */
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
