import { ApiError } from '../../../../base/errors.ts'
import { parseMessages } from '../../../../kinds/chat/messages.ts'
import { hidesReasoning, parseMaxTokens, parseN, parseParameters } from '../../../../kinds/chat/parameters.ts'
import { mediumOfPart, textsOf } from '../../../../kinds/chat/parts.ts'
import type { ChatMessage, ChatRequest } from '../../../../kinds/chat/request.ts'
import { parseResponseFormat, parseToolChoice, parseTools } from '../../../../kinds/chat/tools.ts'
import {
  booleanField,
  field,
  invalidInput,
  isObject,
  objectField,
  stringField,
  type RawObject,
  sessionIdOf,
} from '../../../../kinds/fields/body-fields.ts'
import type { Medium } from '../../../../kinds/fields/media.ts'
import { parseProviderPreferences } from '../../../../kinds/fields/routed-request.ts'

const FALLBACK_MODELS_MAX = 5

/**
 * Reads the body of a chat request (wire.md 3.2): required fields first, then types and ranges. Only known fields are
 * copied, each rebuilt, so that the client's own object is not passed on.
 */
export function parseChat(json: unknown): ChatRequest {
  if (!isObject(json))
    throw new ApiError('invalid_json', 'Request body is not valid JSON: the top level must be an object')
  const messages = messagesOf(json)
  const model = stringField(json, 'model')
  const responseFormat = parseResponseFormat(json)
  const stream = booleanField(json, 'stream') ?? false
  const includeUsage = includeUsageOf(json)
  const maxTokens = parseMaxTokens(json)
  const parameters = parseParameters(json)
  const n = parseN(json)
  const tools = parseTools(json)
  const toolChoice = parseToolChoice(json)
  const provider = parseProviderPreferences(json)
  const fallbackModels = fallbackModelsOf(json)
  return {
    model: model === undefined || model === '' ? null : model,
    fallbackModels,
    messages,
    stream,
    includeUsage: stream && includeUsage,
    maxTokens,
    n,
    tools,
    toolChoice,
    responseFormat,
    parameters,
    hidesReasoning: hidesReasoning(parameters),
    provider,
    sessionId: sessionIdOf(json),
    ...inputSize(messages, tools, responseFormat),
  }
}

/** The facts of an input that the plan needs. */
export function inputSize(
  messages: readonly ChatMessage[],
  tools: ChatRequest['tools'],
  responseFormat: ChatRequest['responseFormat'],
): Pick<ChatRequest, 'inputModalities' | 'textBytes'> {
  return {
    inputModalities: modalitiesOf(messages),
    textBytes: textBytesOf(messages) + jsonBytes(tools) + jsonBytes(responseFormat),
  }
}

/** `messages` wins; `prompt` becomes one user message. */
function messagesOf(body: RawObject): readonly ChatMessage[] {
  const messages = field(body, 'messages')
  if (messages !== undefined && !(Array.isArray(messages) && messages.length === 0)) return parseMessages(messages)
  const prompt = field(body, 'prompt')
  if (prompt === undefined || prompt === '')
    throw new ApiError('missing_messages', "Parameter 'messages' or 'prompt' is required")
  if (typeof prompt !== 'string') throw invalidInput('prompt', 'must be a string')
  return [{ role: 'user', content: prompt }]
}

export function includeUsageOf(body: RawObject): boolean {
  const options = objectField(body, 'stream_options')
  return options === undefined
    ? false
    : (booleanField(options, 'include_usage', 'stream_options.include_usage') ?? false)
}

/** `models[]`, tried in order after `model`. */
export function fallbackModelsOf(body: RawObject): readonly string[] {
  const models = field(body, 'models')
  if (models === undefined) return []
  const refusal = invalidInput('models', `must be an array of at most ${FALLBACK_MODELS_MAX} model ids`)
  if (!Array.isArray(models) || models.length > FALLBACK_MODELS_MAX) throw refusal
  return models.map((model: unknown) => {
    if (typeof model !== 'string' || model === '') throw refusal
    return model
  })
}

function modalitiesOf(messages: readonly ChatMessage[]): ReadonlySet<Medium> {
  const modalities = new Set<Medium>()
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue
    for (const part of content) {
      const modality = mediumOfPart(part)
      if (modality !== null) modalities.add(modality)
    }
  }
  return modalities
}

function textBytesOf(messages: readonly ChatMessage[]): number {
  let bytes = 0
  for (const text of textsOf(messages)) bytes += Buffer.byteLength(text)
  return bytes
}

function jsonBytes(value: unknown): number {
  return value === null ? 0 : Buffer.byteLength(JSON.stringify(value))
}
