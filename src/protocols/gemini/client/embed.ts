import { maybe, object, text, whole } from '../../../base/schema.ts'
import { ApiError } from '../../../base/errors.ts'
import type { ChargedUsage } from '../../../kinds/answer/writer.ts'
import type { ChunkIdentity } from '../../../kinds/chat/answer.ts'
import type { EmbeddingsRequest } from '../../../kinds/embeddings.ts'
import { bodyObject, sessionIdOf, invalidInput, isObject, type RawObject } from '../../../kinds/fields/body-fields.ts'
import { parseProviderPreferences } from '../../../kinds/fields/routed-request.ts'
import { listMember, member, readMembers } from '../members.ts'
import { vectorList } from '../../openai/client/embeddings.ts'
import { usageMetadata } from './writer.ts'

const REQUESTS_MAX = 2_048
const DIMENSIONS_MAX = 1_000_000
/** The options of a text, also as they are documented. */
export const EMBED_OPTIONS = {
  taskType: maybe(text('Such as `RETRIEVAL_QUERY`.')),
  outputDimensionality: maybe(whole('', { minimum: 1, maximum: DIMENSIONS_MAX })),
} as const
const OPTIONS = object(EMBED_OPTIONS)

/** The options of one text; all requests of a batch must have the same. */
interface Options {
  readonly dimensions: number | null
  readonly inputType: string | null
}

/** Reads the body of `embedContent`. */
export function parseEmbedContent(json: unknown, model: string): EmbeddingsRequest {
  const body = bodyObject(json)
  return requestOf(body, model, [textOf(member(body, 'content'), 'content')], optionsOf(body, ''))
}

/** Reads the body of `batchEmbedContents`, whose requests must have the same model and options. */
export function parseBatchEmbed(json: unknown, model: string): EmbeddingsRequest {
  const body = bodyObject(json)
  const requests = listMember(body, 'requests', 'requests')
  if (requests.length === 0) throw new ApiError('missing_input', "Parameter 'requests' is required")
  if (requests.length > REQUESTS_MAX)
    throw invalidInput('requests', `must hold at most ${REQUESTS_MAX} items, got ${requests.length}`)
  let options: Options | null = null
  const texts = requests.map((raw, index) => {
    const path = `requests[${index}]`
    if (!isObject(raw)) throw invalidInput(path, 'must be an object')
    const own = optionsOf(raw, `${path}.`)
    options ??= own
    if (own.dimensions !== options.dimensions || own.inputType !== options.inputType)
      throw invalidInput(path, 'must have the same taskType and outputDimensionality as the first request')
    return textOf(member(raw, 'content'), `${path}.content`)
  })
  return requestOf(body, model, texts, options ?? { dimensions: null, inputType: null })
}

function requestOf(body: RawObject, model: string, texts: readonly string[], options: Options): EmbeddingsRequest {
  return {
    model,
    fallbackModels: [],
    n: 1,
    input: { type: 'texts', texts },
    encodingFormat: 'float',
    ...options,
    user: null,
    provider: parseProviderPreferences(body),
    sessionId: sessionIdOf(body),
  }
}

function optionsOf(raw: RawObject, path: string): Options {
  const config = member(raw, 'embedContentConfig')
  const place = isObject(config) ? config : raw
  const { taskType: task = '', outputDimensionality: dimensions = null } = readMembers(OPTIONS, place, path)
  return {
    dimensions,
    inputType: task === '' || task === 'TASK_TYPE_UNSPECIFIED' ? null : (INPUT_TYPES.get(task) ?? task.toLowerCase()),
  }
}

/** Task types for which other providers have a name too. */
const INPUT_TYPES: ReadonlyMap<string, string> = new Map([
  ['RETRIEVAL_QUERY', 'search_query'],
  ['RETRIEVAL_DOCUMENT', 'search_document'],
])

function textOf(content: unknown, path: string): string {
  const parts = isObject(content) ? listMember(content, 'parts', `${path}.parts`) : [content]
  const text = parts
    .map((part, index) => {
      const said = isObject(part) ? member(part, 'text') : part
      if (typeof said === 'string') return said
      throw invalidInput(`${path}.parts[${index}]`, 'must hold text: nothing else is embedded here')
    })
    .join('')
  if (text === '') throw new ApiError('missing_input', `${path}: must hold a text`)
  return text
}

/** The answer of `embedContent`, or of `batchEmbedContents` for a batch, in parts. */
export function embedBody(
  isBatch: boolean,
): (identity: ChunkIdentity, vectors: readonly Buffer[], usage: ChargedUsage) => readonly Buffer[] {
  return (_identity, vectors, usage) => {
    const { promptTokenCount, cost, currency } = usageMetadata(usage)
    const counts = JSON.stringify({ promptTokenCount, cost, currency })
    const item = (index: number): string => `${index === 0 ? '' : '},'}{"values":`
    const after = `}${isBatch ? ']' : ''},"usageMetadata":${counts}}`
    return vectorList(isBatch ? '{"embeddings":[' : '{"embedding":', vectors, after, item)
  }
}
