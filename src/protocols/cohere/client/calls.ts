import { ApiError } from '../../../base/errors.ts'
import { rubles } from '../../../base/money.ts'
import type { ChargedUsage } from '../../../kinds/answer/writer.ts'
import type { ChunkIdentity } from '../../../kinds/chat/answer.ts'
import type { ChatRequest } from '../../../kinds/chat/request.ts'
import type { EmbeddingsRequest, VectorFormat } from '../../../kinds/embeddings.ts'
import {
  type RawObject,
  bodyObject,
  field,
  invalidInput,
  isObject,
  objectField,
} from '../../../kinds/fields/body-fields.ts'
import { type Read, readFields } from '../../../kinds/fields/paid-body.ts'
import { REQUEST_TYPE_TABLE } from '../../../tables/model-types.ts'
import { parseChat } from '../../openai/client/chat/call.ts'
import { parseEmbeddings, vectorList } from '../../openai/client/embeddings.ts'
import { parseRerank, rerankBody } from '../../openai/client/rerank.ts'
import type { ClientCall, ClientChat, ClientInput, ClientSide, ClientWords } from '../../ports/client-call.ts'
import { CohereFields } from './schema.ts'
import { CohereWriter } from './writer.ts'

/** Reads the body of `/v2/embed` as an embeddings request. */
export function parseCohereEmbed(json: unknown): EmbeddingsRequest {
  const body = bodyObject(json)
  if (field(body, 'images') !== undefined) throw invalidInput('images', 'is not offered: only texts are embedded here')
  return parseEmbeddings({
    model: field(body, 'model'),
    input: textsOf(body),
    encoding_format: formatOf(body),
    dimensions: field(body, 'output_dimension'),
    input_type: field(body, 'input_type'),
    provider: field(body, 'provider'),
    session_id: field(body, 'session_id'),
  })
}

/** `texts`, or `inputs` whose content is text. */
function textsOf(body: RawObject): unknown {
  const texts = field(body, 'texts')
  const inputs = field(body, 'inputs')
  if (texts === undefined && inputs === undefined) throw new ApiError('missing_input', "Parameter 'texts' is required")
  if (inputs !== undefined && !Array.isArray(inputs)) throw invalidInput('inputs', 'must be a list')
  if (texts !== undefined) return listOfTexts(texts)
  return (inputs ?? []).map((input: unknown, index) => {
    const content = isObject(input) ? field(input, 'content') : undefined
    const parts: readonly unknown[] = Array.isArray(content) ? content : []
    const said = parts.map((part) => (isObject(part) ? field(part, 'text') : undefined))
    if (said.length === 0 || said.some((text) => typeof text !== 'string'))
      throw invalidInput(`inputs[${index}].content`, 'must hold text: nothing else is embedded here')
    return said.join('\n')
  })
}

/** The texts as a list; this protocol accepts neither a single text nor tokens. */
function listOfTexts(texts: unknown): readonly unknown[] {
  if (!Array.isArray(texts) || texts.some((text) => typeof text !== 'string'))
    throw invalidInput('texts', 'must be a list of texts')
  return texts
}

function formatOf(body: RawObject): VectorFormat {
  const types = field(body, 'embedding_types') ?? ['float']
  const [only] = Array.isArray(types) ? types : []
  if (Array.isArray(types) && types.length === 1 && (only === 'float' || only === 'base64')) return only
  throw invalidInput('embedding_types', "must be ['float'] or ['base64']")
}

/** The answer of `/v2/embed`, in parts. */
function cohereEmbedBody(
  { id }: ChunkIdentity,
  vectors: readonly Buffer[],
  { report, chargedMicro }: ChargedUsage,
): readonly Buffer[] {
  const type: VectorFormat = vectors[0]?.[0] === QUOTE ? 'base64' : 'float'
  const meta = {
    api_version: { version: '2' },
    billed_units: { input_tokens: report.inputTokens },
    cost: rubles(chargedMicro),
    currency: 'RUB',
  }
  const head = `{"id":${JSON.stringify(id)},"response_type":"embeddings_by_type","embeddings":{"${type}":[`
  return vectorList(head, vectors, `]},"texts":[],"meta":${JSON.stringify(meta)}}`)
}

const QUOTE = 0x22

/** The answer of `/v2/rerank`. */
const cohereRerankBody: typeof rerankBody = (request, results, identity, charge) => {
  const { results: ranked } = rerankBody(request, results, identity, charge)
  const { searches, tokens, chargedMicro } = charge
  return {
    id: identity.id,
    results: ranked,
    meta: {
      api_version: { version: '2' },
      billed_units: {
        ...(searches === null ? {} : { search_units: searches }),
        ...(tokens === null ? {} : { input_tokens: tokens }),
      },
      cost: rubles(chargedMicro),
      currency: 'RUB',
    },
  }
}

const WORDS: ClientWords = { stop: 'stop_sequences', top_k: 'k', top_p: 'p', reasoning: 'thinking' }

/** The calls of Cohere's v2 (clients.md 6). */
const CALLS: readonly ClientCall[] = [
  { paths: REQUEST_TYPE_TABLE.cohere_chat.paths, kind: 'chat', read: readCohereChat },
  { paths: ['/v2/embed'], kind: 'embeddings', read: ({ json }) => parseCohereEmbed(json), write: cohereEmbedBody },
  {
    paths: ['/v2/rerank'],
    kind: 'rerank',
    // Clients have the documents, and refer to them by index.
    read: ({ json }) => ({ ...parseRerank(json), returnDocuments: false }),
    write: cohereRerankBody,
  },
]

export const COHERE: ClientSide = { calls: CALLS }

/** `/v2/chat` (clients.md 6). */
function readCohereChat({ json }: ClientInput): ClientChat {
  const { chat, dropped } = parseCohereChat(json)
  return {
    type: 'cohere_chat',
    chat,
    words: WORDS,
    dropped: () => dropped,
    writer: ({ identity }) => new CohereWriter(identity),
  }
}

/** Fields that chat has too, by the same names. */
const SAME: readonly string[] =
  'model models stream tools max_tokens temperature seed frequency_penalty presence_penalty provider session_id'.split(
    ' ',
  )
const READ: ReadonlySet<string> = new Set([
  ...SAME,
  ...Object.keys(CohereFields.properties),
  'messages',
  'response_format',
])

/** Reads the body of `/v2/chat` as a chat request, with the same checks. */
export function parseCohereChat(json: unknown): CohereChatRequest {
  const body = bodyObject(json)
  const { k, p, tool_choice: choice, thinking, stop_sequences: stop = [] } = readFields(CohereFields, body, '')
  const chat: Record<string, unknown> = {}
  for (const name of SAME) chat[name] = field(body, name)
  const messages = field(body, 'messages')
  chat['messages'] = Array.isArray(messages) ? messages.map(messageOf) : messages
  chat['top_k'] = k === 0 ? undefined : k
  chat['top_p'] = p
  chat['tool_choice'] = choice?.toLowerCase()
  chat['response_format'] = responseFormatOf(body)
  chat['reasoning'] = reasoningOf(thinking)
  const read = parseChat(chat)
  return {
    chat: stop.length === 0 ? read : { ...read, parameters: { ...read.parameters, stop } },
    dropped: Object.keys(body).filter((name) => !READ.has(name) && field(body, name) !== undefined),
  }
}

function messageOf(raw: unknown): unknown {
  if (!isObject(raw)) return raw
  const role = field(raw, 'role')
  const given = field(raw, 'content')
  const items: readonly unknown[] | null = Array.isArray(given) ? given : null
  const reasoning = (items ?? []).flatMap((item) =>
    isObject(item) && item['type'] === 'thinking' && typeof item['thinking'] === 'string' ? [item['thinking']] : [],
  )
  const content = items === null ? given : contentOf(items)
  const calls = field(raw, 'tool_calls')
  const message: Record<string, unknown> = { role, content: content ?? plan(raw) }
  if (role === 'tool') message['tool_call_id'] = field(raw, 'tool_call_id')
  if (role === 'assistant' && calls !== undefined) message['tool_calls'] = calls
  if (role === 'assistant' && reasoning.length > 0) message['reasoning'] = reasoning.join('')
  return message
}

/** The model's text before its tool calls. */
function plan(message: RawObject): unknown {
  return field(message, 'role') === 'assistant' ? field(message, 'tool_plan') : undefined
}

/** The text of a result's document, or its content as JSON. */
function contentOf(items: readonly unknown[]): unknown {
  const content = items.flatMap((item: unknown): readonly unknown[] => {
    if (!isObject(item)) return [item]
    if (item['type'] === 'thinking') return []
    return item['type'] === 'document' ? [{ type: 'text', text: documentText(field(item, 'document')) }] : [item]
  })
  return content.length === 0 ? undefined : content
}

function documentText(document: unknown): string {
  const data = isObject(document) ? (field(document, 'data') ?? document) : document
  return typeof data === 'string' ? data : JSON.stringify(data ?? null)
}

function responseFormatOf(body: RawObject): unknown {
  const format = objectField(body, 'response_format')
  const schema = format === undefined ? undefined : (field(format, 'json_schema') ?? field(format, 'schema'))
  if (format === undefined || schema === undefined || field(format, 'type') !== 'json_object') return format
  return { type: 'json_schema', json_schema: { name: 'response', schema } }
}

function reasoningOf(thinking: Read<typeof CohereFields>['thinking']): unknown {
  if (thinking === undefined) return undefined
  const { type, token_budget: budget = null } = thinking
  if (type === 'disabled') return { enabled: false }
  return budget === null ? { enabled: true } : { max_tokens: budget }
}

/** A request of Cohere's `/v2/chat`, with the equivalent chat request. */
export interface CohereChatRequest {
  readonly chat: ChatRequest
  /** Parts of the request that are sent to no provider. */
  readonly dropped: readonly string[]
}
