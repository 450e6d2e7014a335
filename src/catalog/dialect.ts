import { defined, type FieldReader } from './field-reader.ts'
import { bearer } from '../base/bearer.ts'

/** The differences of a service from OpenAI's protocol, as in the catalogue file. Only given fields are present. */
export interface DialectEntry {
  readonly auth_header?: string
  readonly query?: Readonly<Record<string, string>>
  readonly stream_usage?: boolean
  readonly reasoning?: ReasoningForm
  readonly names?: Readonly<Record<string, string>>
  readonly videos?: VideoForm
  readonly images?: ImageForm
  readonly vectors?: VectorForm
}

/** `effort` = `reasoning_effort`, `object` = OpenRouter's `reasoning {…}`, `thinking` = `thinking {type}`. */
export type ReasoningForm = 'effort' | 'object' | 'thinking'

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
export interface Dialect {
  /** The header for the bare key; null = `authorization: Bearer`. */
  readonly authHeader: string | null
  /** Appended to every path, with its question mark; empty without one. */
  readonly query: string
  /** Whether it takes `stream_options.include_usage`. */
  readonly streamUsage: boolean
  /** null = decided by the parameters that the endpoint lists; OpenAI's `reasoning_effort` where it lists none. */
  readonly reasoning: ReasoningForm | null
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
  authHeader: null,
  query: '',
  streamUsage: true,
  reasoning: null,
  images: null,
  names: Object.freeze({}),
  videos: null,
  vectors: null,
})
const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
const HEADER = /^[a-z][a-z0-9-]{0,63}$/

export function readDialect(reader: FieldReader): DialectEntry {
  const header = reader.text('auth_header')?.toLowerCase() ?? null
  if (header !== null && !HEADER.test(header))
    reader.problem('auth_header', 'header_name', { given: header }, `must be the name of a header, got '${header}'`)
  const given = reader.map('query')
  const query: Record<string, string> = {}
  for (const name of given?.keys() ?? []) query[name] = given?.text(name) ?? ''
  const names = namesOf(reader)
  const entry = defined({
    auth_header: header,
    query: given === null ? null : query,
    stream_usage: reader.has('stream_usage') ? reader.flag('stream_usage', true) : null,
    reasoning: reader.oneOf<ReasoningForm>('reasoning', ['effort', 'object', 'thinking']),
    names,
    videos: reader.oneOf<VideoForm>('videos', ['openai', 'openrouter', 'xai']),
    images: reader.oneOf<ImageForm>('images', ['size', 'words']),
    vectors: reader.oneOf<VectorForm>('vectors', ['float32', 'int8']),
  })
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

export function dialectOf(entry: DialectEntry | undefined): Dialect {
  if (entry === undefined) return PLAIN_DIALECT
  const query = new URLSearchParams(entry.query).toString()
  return {
    authHeader: entry.auth_header ?? null,
    query: query === '' ? '' : `?${query}`,
    streamUsage: entry.stream_usage ?? true,
    reasoning: entry.reasoning ?? null,
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
