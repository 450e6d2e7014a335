import { ApiError } from '../../../base/errors.ts'
import { rubles } from '../../../base/money.ts'
import { isoTime } from '../../../base/time.ts'
import type { Model } from '../../../catalog/catalog.ts'
import type { ChargedUsage } from '../../../kinds/answer/writer.ts'
import type { ChunkIdentity } from '../../../kinds/chat/answer.ts'
import type { ChatRequest } from '../../../kinds/chat/request.ts'
import type { EmbeddingsRequest } from '../../../kinds/embeddings.ts'
import {
  type RawObject,
  badMessage,
  bodyObject,
  booleanField,
  copyObject,
  field,
  invalidInput,
  isObject,
  objectField,
  quoted,
  stringField,
} from '../../../kinds/fields/body-fields.ts'
import { isBase64 } from '../../../kinds/fields/media.ts'
import { type Read, readFields } from '../../../kinds/fields/paid-body.ts'
import { parseChat } from '../../openai/client/chat/call.ts'
import { parseEmbeddings, vectorList } from '../../openai/client/embeddings.ts'
import type { ClientCall, ClientChat, ClientInput, ClientSide, ClientWords } from '../../ports/client-call.ts'
import { OllamaChatBody, OllamaOptions } from './schema.ts'
import { OllamaWriter, SILENT_LINE } from './writer.ts'

/**
 * The first version of Ollama whose clients know tools and thinking in the form sent here; clients ask for the version
 * to learn what they may send.
 */
const OLLAMA_VERSION = '0.12.0'

/** The list of models for Ollama's clients (clients.md 6), and the answers to their first questions. */
const OLLAMA_READS: NonNullable<ClientSide['reads']> = {
  '/api/tags': (models) => ({ models: models.filter(isCallable).map(ollamaModel) }),
  '/api/version': () => ({ version: OLLAMA_VERSION }),
}

const LINES = 'application/x-ndjson'

const WORDS: ClientWords = {
  temperature: 'options.temperature',
  top_p: 'options.top_p',
  top_k: 'options.top_k',
  min_p: 'options.min_p',
  frequency_penalty: 'options.frequency_penalty',
  presence_penalty: 'options.presence_penalty',
  repetition_penalty: 'options.repeat_penalty',
  seed: 'options.seed',
  stop: 'options.stop',
  response_format: 'format',
  reasoning: 'think',
}

/** The calls of Ollama's clients (clients.md 6). */
const CALLS: readonly ClientCall[] = [
  { paths: ['/api/chat'], protocol: 'ollama', kind: 'chat', read: readOllamaChat },
  {
    paths: ['/api/embed'],
    protocol: 'ollama',
    kind: 'embeddings',
    read: ({ json }) => parseOllamaEmbed(json),
    write: ollamaEmbedBody,
  },
]

export const OLLAMA: ClientSide = { calls: CALLS, reads: OLLAMA_READS }

function readOllamaChat({ json }: ClientInput): ClientChat {
  const { chat, dropped } = parseOllamaChat(json)
  return {
    type: 'chat',
    chat,
    words: WORDS,
    contentType: LINES,
    keepAlive: SILENT_LINE,
    dropped: () => dropped,
    writer: ({ identity }) => new OllamaWriter(identity),
  }
}

/** Whether these clients can call the model at all. */
function isCallable({ type }: Model): boolean {
  return type === 'chat' || type === 'embeddings'
}

function ollamaModel({ id, created }: Model): Record<string, unknown> {
  const family = id.split('/', 1)[0] ?? ''
  return {
    name: id,
    model: id,
    modified_at: isoTime(created * 1_000),
    size: 0,
    digest: '',
    details: {
      parent_model: '',
      format: '',
      family,
      families: [family],
      parameter_size: '',
      quantization_level: '',
    },
  }
}

/** Reads the body of `/api/embed` as an embeddings request. */
export function parseOllamaEmbed(json: unknown): EmbeddingsRequest {
  const body = bodyObject(json)
  const input = field(body, 'input')
  if (Array.isArray(input) && input.some((text) => typeof text !== 'string'))
    throw invalidInput('input', 'must be a text or a list of texts')
  return parseEmbeddings({
    model: modelOf(field(body, 'model')),
    input,
    dimensions: field(body, 'dimensions'),
    provider: field(body, 'provider'),
    session_id: field(body, 'session_id'),
  })
}

/** The model's name without the tag that clients add. */
function modelOf(model: unknown): unknown {
  return typeof model === 'string' ? model.replace(/:latest$/, '') : model
}

/** The answer of `/api/embed`, in parts. */
export function ollamaEmbedBody(
  { model }: ChunkIdentity,
  vectors: readonly Buffer[],
  { report, chargedMicro }: ChargedUsage,
): readonly Buffer[] {
  const counts = { prompt_eval_count: report.inputTokens, cost: rubles(chargedMicro), currency: 'RUB' }
  return vectorList(`{"model":${JSON.stringify(model)},"embeddings":[`, vectors, `],${JSON.stringify(counts).slice(1)}`)
}

const READ: ReadonlySet<string> = new Set([...Object.keys(OllamaChatBody.properties), 'session_id'])
const ROLES = ['system', 'user', 'assistant', 'tool']
const LEVELS = ['low', 'medium', 'high', 'max']
/** The tag that clients add to a name without one. */
const TAG = ':latest'

/** Reads the body of `/api/chat` (clients.md 6) as a chat request, with the same checks. */
export function parseOllamaChat(json: unknown): OllamaChatRequest {
  const body = bodyObject(json)
  const options = objectField(body, 'options') ?? {}
  const messages = field(body, 'messages')
  const calls = new NamedCalls()
  const { stop = [], ...numbers } = readFields(OllamaOptions, options, 'options.')
  const read = parseChat({
    ...namesOf(body),
    ...parametersOf(numbers),
    messages: Array.isArray(messages)
      ? messages.map((message: unknown, index) => messageOf(message, `messages[${index}]`, calls))
      : messages,
    tools: field(body, 'tools'),
    response_format: formatOf(body),
    reasoning: reasoningOf(body),
    stream: booleanField(body, 'stream') ?? true,
    provider: field(body, 'provider'),
    session_id: field(body, 'session_id'),
  })
  return {
    chat: stop.length === 0 ? read : { ...read, parameters: { ...read.parameters, stop } },
    dropped: [
      ...Object.keys(body).filter((name) => !READ.has(name) && field(body, name) !== undefined),
      ...Object.keys(options)
        .filter((name) => !Object.hasOwn(OllamaOptions.properties, name) && field(options, name) !== undefined)
        .map((name) => `options.${name}`),
    ],
  }
}

/** The model as given, and without the tag that clients add. */
export function namesOf(body: RawObject): { readonly model: unknown; readonly models: unknown } {
  const model = field(body, 'model')
  const models = field(body, 'models')
  if (models !== undefined || typeof model !== 'string' || !model.endsWith(TAG)) return { model, models }
  return { model, models: [model.slice(0, -TAG.length)] }
}

/** The options under chat's names. */
function parametersOf({
  top_p: topP,
  top_k: topK,
  repeat_penalty: penalty,
  num_predict: most = 0,
  ...others
}: Omit<Read<typeof OllamaOptions>, 'stop'>): Record<string, unknown> {
  return {
    ...others,
    repetition_penalty: penalty,
    // Zero means only the most likely token, which other protocols express as a top_k of 1.
    top_p: topP === 0 ? undefined : topP,
    top_k: topP === 0 ? 1 : topK === 0 ? undefined : topK,
    max_tokens: most > 0 ? most : undefined,
  }
}

function formatOf(body: RawObject): unknown {
  const format = field(body, 'format')
  if (format === undefined || format === '') return undefined
  if (format === 'json') return { type: 'json_object' }
  if (!isObject(format)) throw invalidInput('format', "must be 'json' or a JSON Schema")
  return { type: 'json_schema', json_schema: { name: 'response', schema: copyObject(format, 'format') } }
}

function reasoningOf(body: RawObject): unknown {
  const think = field(body, 'think')
  if (think === undefined || think === '') return undefined
  if (typeof think === 'boolean') return { enabled: think }
  if (typeof think === 'string' && LEVELS.includes(think)) return { effort: think }
  throw invalidInput('think', `must be true, false or one of ${LEVELS.join(', ')}`)
}

/** Calls that have no result yet. Results name the function; only newer clients also name the call. */
class NamedCalls {
  #made = 0
  #waiting: { readonly id: string; readonly name: string }[] = []

  call(id: string | undefined, name: string): string {
    this.#made += 1
    const own = id === undefined || id === '' ? `call_${this.#made}` : id
    this.#waiting.push({ id: own, name })
    return own
  }

  /** The oldest call of the function, or of any function if the result names none. */
  answer(id: string | undefined, name: string | undefined): string | null {
    const at = this.#waiting.findIndex((call) =>
      id === undefined || id === '' ? name === undefined || name === '' || call.name === name : call.id === id,
    )
    const [found] = at === -1 ? [] : this.#waiting.splice(at, 1)
    return found?.id ?? (id === '' ? null : (id ?? null))
  }
}

function messageOf(raw: unknown, path: string, calls: NamedCalls): unknown {
  if (!isObject(raw)) throw badMessage(path, 'must be an object')
  const role = field(raw, 'role')
  if (typeof role !== 'string') throw badMessage(path, 'role must be a string')
  if (!ROLES.includes(role))
    throw new ApiError(
      'invalid_message_role',
      `${path}.role '${quoted(role)}' is not allowed. Allowed: ${ROLES.join(', ')}`,
    )
  const content = contentOf(raw, path)
  switch (role) {
    case 'assistant': {
      const thinking = stringField(raw, 'thinking', `${path}.thinking`) ?? ''
      const made = callsOf(raw, path, calls)
      return {
        role,
        content: content === '' && made.length > 0 ? null : content,
        ...(thinking === '' ? {} : { reasoning: thinking }),
        ...(made.length === 0 ? {} : { tool_calls: made }),
      }
    }
    case 'tool': {
      const name = stringField(raw, 'tool_name', `${path}.tool_name`) ?? stringField(raw, 'name', `${path}.name`)
      const id = calls.answer(stringField(raw, 'tool_call_id', `${path}.tool_call_id`), name)
      if (id === null) throw badMessage(path, `no call of '${quoted(name ?? '')}' before it waits for a result`)
      return { role, content, tool_call_id: id }
    }
    default:
      return { role, content }
  }
}

/** A text with its pictures, which are base64 without a type. */
function contentOf(raw: RawObject, path: string): unknown {
  const text = stringField(raw, 'content', `${path}.content`) ?? ''
  const images = field(raw, 'images') ?? []
  if (!Array.isArray(images)) throw badMessage(`${path}.images`, 'must be an array of pictures in base64')
  if (images.length === 0) return text
  const parts = images.map((image: unknown, index) => imagePart(image, `${path}.images[${index}]`))
  return [...(text === '' ? [] : [{ type: 'text', text }]), ...parts]
}

function imagePart(image: unknown, path: string): unknown {
  if (typeof image !== 'string' || image === '') throw badMessage(path, 'must be a picture in base64')
  if (/^data:/i.test(image)) return { type: 'image_url', image_url: { url: image } }
  if (!isBase64(image)) throw new ApiError('invalid_base64', `${path} is not valid base64`)
  return { type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } }
}

function callsOf(raw: RawObject, path: string, calls: NamedCalls): readonly unknown[] {
  const list = field(raw, 'tool_calls') ?? []
  if (!Array.isArray(list)) throw badMessage(path, 'tool_calls must be an array')
  return list.map((call: unknown, index) => {
    const place = `${path}.tool_calls[${index}]`
    if (!isObject(call)) throw badMessage(place, 'must be an object')
    const called = objectField(call, 'function', `${place}.function`)
    const name = called === undefined ? undefined : stringField(called, 'name', `${place}.function.name`)
    if (called === undefined || name === undefined || name === '') throw badMessage(place, 'function.name is required')
    const given = field(called, 'arguments') ?? {}
    if (!isObject(given) && typeof given !== 'string') throw badMessage(place, 'function.arguments must be an object')
    return {
      id: calls.call(stringField(call, 'id', `${place}.id`), name),
      type: 'function',
      function: {
        name,
        arguments: typeof given === 'string' ? given : JSON.stringify(copyObject(given, `${place}.function.arguments`)),
      },
    }
  })
}

/** A request of Ollama's `/api/chat`, with the equivalent chat request. */
export interface OllamaChatRequest {
  readonly chat: ChatRequest
  /** Parts of the request that are sent to no provider. */
  readonly dropped: readonly string[]
}
