import { withRawMessages, parseMessages } from '../../../../kinds/chat/messages.ts'
import type { ChatRequest, ChatMessage } from '../../../../kinds/chat/request.ts'
import type { ClientChat, ClientInput } from '../../../ports/client-call.ts'
import { textAround, ChatWriter } from './writer.ts'
import { ApiError } from '../../../../base/errors.ts'
import {
  hidesReasoning,
  includeUsageOf,
  parseMaxTokens,
  parseN,
  parseParameters,
} from '../../../../kinds/chat/parameters.ts'
import { inputSize } from '../../../../kinds/chat/parts.ts'
import { parseResponseFormat, parseToolChoice, parseTools } from '../../../../kinds/chat/tools.ts'
import {
  booleanField,
  field,
  invalidInput,
  isObject,
  stringField,
  type RawObject,
  sessionIdOf,
} from '../../../../kinds/fields/body-fields.ts'
import { fallbackModelsOf, parseProviderPreferences } from '../../../../kinds/fields/routed-request.ts'

export function readChat({ json, jsonMember }: ClientInput): ClientChat {
  return chatCall(withRawMessages(parseChat(json), json, jsonMember('messages')))
}

/** `dropped` are the parts of the client's request that the chat leaves out. */
export function chatCall(chat: ChatRequest, dropped: readonly string[] = []): ClientChat {
  const { stream, includeUsage } = chat
  return {
    type: 'chat',
    chat,
    words: {},
    dropped: () => dropped,
    writer: ({ identity }) => new ChatWriter(identity, includeUsage),
    // It lives as long as the answer, which the chat should not.
    splice: (identity) => (stream ? (field) => textAround(identity, field) : null),
    sameNames: 'openai',
  }
}

/**
 * Reads the body of a chat request (wire.md 3.2): required fields first, then types and ranges. Only known fields are
 * copied, and each is rebuilt, so that the client's own object is not passed on.
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

/** `messages` takes precedence; `prompt` becomes one user message. */
function messagesOf(body: RawObject): readonly ChatMessage[] {
  const messages = field(body, 'messages')
  if (messages !== undefined && !(Array.isArray(messages) && messages.length === 0)) return parseMessages(messages)
  const prompt = field(body, 'prompt')
  if (prompt === undefined || prompt === '')
    throw new ApiError('missing_messages', "Parameter 'messages' or 'prompt' is required")
  if (typeof prompt !== 'string') throw invalidInput('prompt', 'must be a string')
  return [{ role: 'user', content: prompt }]
}
