import { rawMessagesOf } from '../../kinds/chat/raw-messages.ts'
import type { ChatMessage, ChatPart, ChatRequest } from '../../kinds/chat/request.ts'
import { JsonBytes, jsonParts } from '../../base/json-text.ts'
import { CHAT_PARAMETERS } from '../../tables/parameter-table.ts'
import type { Endpoint } from '../../catalog/catalog.ts'
import type { ReasoningForm } from '../../catalog/dialect.ts'
import type { ChatCall } from '../../protocols/ports/call.ts'
import { objectOf } from '../../protocols/wire/raw-json.ts'

const FAILED = 'Error: '

/** Parameters of the OpenAI chat protocol and its dialects, by OpenRouter's names; an endpoint may list fewer. */
export const OPENAI_PARAMETERS: readonly string[] = Object.freeze([...CHAT_PARAMETERS, 'developer'])
/** Handled by name below, or spelled differently upstream. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  'max_tokens',
  'max_completion_tokens',
  'n',
  'tools',
  'tool_choice',
  'response_format',
  'developer',
  'structured_outputs',
  'reasoning',
  'reasoning_effort',
])

/** The upstream's body; long messages are copied as the client wrote them. */
export function openaiBytes(call: ChatCall): Buffer {
  const raw = rawMessagesOf(call.request)
  if (raw === null) return Buffer.from(JSON.stringify(openaiBody(call)))
  const messages = new JsonBytes(raw)
  return Buffer.concat(
    jsonParts({ ...openaiBody({ ...call, request: { ...call.request, messages: [] } }), messages }, [messages]),
  )
}

/**
 * The upstream's body: the typed allow-list of this endpoint's parameters, and nothing else from the client (wire.md
 * D-3.6).
 */
export function openaiBody(call: ChatCall): Record<string, unknown> {
  const { endpoint, request, sendMaxTokens } = call
  const supported = endpoint.supportedParameters === null ? null : new Set(endpoint.supportedParameters)
  const takes = (name: string): boolean => supported === null || supported.has(name)
  const body: Record<string, unknown> = {
    model: endpoint.upstreamModel,
    messages: plainResults(request.messages).map((message) => upstreamMessage(message, supported)),
  }
  if (request.stream) {
    body['stream'] = true
    if (endpoint.provider.dialect.streamUsage) body['stream_options'] = { include_usage: true }
  }
  if (sendMaxTokens !== null)
    body[
      supported !== null && supported.has('max_completion_tokens') && !supported.has('max_tokens')
        ? 'max_completion_tokens'
        : 'max_tokens'
    ] = sendMaxTokens
  if (request.n > 1) body['n'] = request.n
  if (request.tools !== null && takes('tools')) {
    body['tools'] = request.tools
    if (request.toolChoice !== null && takes('tool_choice')) body['tool_choice'] = request.toolChoice
  }
  if (request.responseFormat !== null && (takes('response_format') || takes('structured_outputs')))
    body['response_format'] = request.responseFormat
  for (const [name, value] of Object.entries(request.parameters)) {
    if (!OWN_FIELDS.has(name) && takes(name)) body[name] = value
  }
  Object.assign(body, openaiReasoning(endpoint, request))
  return body
}

/** `developer` is the newer name of `system`: an endpoint that lists its parameters gets it only if it lists this. */
function upstreamMessage(message: ChatMessage, supported: ReadonlySet<string> | null): Record<string, unknown> {
  const {
    role,
    content,
    name,
    tool_call_id: toolCallId,
    tool_calls: toolCalls,
    reasoning,
    reasoning_details: details,
    refusal,
    audio,
  } = message
  const takesReasoning = supported !== null && supported.has('reasoning')
  return {
    role: role === 'developer' && (supported === null || !supported.has('developer')) ? 'system' : role,
    content,
    ...(name === undefined ? {} : { name }),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
    ...(toolCalls === undefined ? {} : { tool_calls: toolCalls }),
    ...(reasoning === undefined || !takesReasoning ? {} : { reasoning }),
    ...(details === undefined || !takesReasoning ? {} : { reasoning_details: details }),
    ...(refusal === undefined ? {} : { refusal }),
    ...(audio === undefined ? {} : { audio }),
  }
}

/** The client's wish for reasoning in the spelling that the service accepts; empty where it accepts none. */
export function openaiReasoning(endpoint: Endpoint, request: ChatRequest): Readonly<Record<string, unknown>> {
  const { reasoning_effort: given, reasoning: raw } = request.parameters
  const reasoning = objectOf(raw)
  const effort = given ?? reasoning?.['effort'] ?? (reasoning?.['enabled'] === false ? 'none' : undefined)
  if (reasoning === null && effort === undefined) return {}
  switch (formOf(endpoint, reasoning !== null)) {
    case 'effort':
      return effort === undefined ? {} : { reasoning_effort: effort }
    case 'object':
      return { reasoning: reasoning ?? { effort } }
    case 'thinking':
      return { thinking: { type: effort === 'none' ? 'disabled' : 'enabled' } }
    case null:
      return {}
  }
}

/** An endpoint without a list is taken for OpenAI's own, whose API refuses `reasoning`. */
function formOf({ provider, supportedParameters }: Endpoint, asObject: boolean): ReasoningForm | null {
  if (provider.dialect.reasoning !== null) return provider.dialect.reasoning
  if (supportedParameters === null) return 'effort'
  const [object, effort] = [supportedParameters.includes('reasoning'), supportedParameters.includes('reasoning_effort')]
  if (object && (asObject || !effort)) return 'object'
  return effort ? 'effort' : null
}

/**
 * The protocol accepts only text as a tool's result and cannot mark one as failed: pictures follow the results in a
 * user message, and the text says that the tool failed.
 */
export function plainResults(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  if (!messages.some(isRich)) return messages
  const plain: ChatMessage[] = []
  let pictures: ChatPart[] = []
  for (const message of messages) {
    if (message.role !== 'tool') pictures = flushed(plain, pictures)
    if (!isRich(message)) {
      plain.push(message)
      continue
    }
    const parts = partsOf(message)
    const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    const others = parts.filter((part) => part.type !== 'text')
    if (others.length > 0)
      pictures.push({ type: 'text', text: `Result of the call ${message.tool_call_id ?? ''}:` }, ...others)
    const text = texts.length === 0 && others.length > 0 ? 'See the next message.' : texts.join('\n')
    plain.push({ ...message, content: message.is_error === true ? FAILED + text : text })
  }
  flushed(plain, pictures)
  return plain
}

function isRich({ role, content, is_error: failed }: ChatMessage): boolean {
  return (
    role === 'tool' &&
    (failed === true || (Array.isArray(content) && content.some((part: ChatPart) => part.type !== 'text')))
  )
}

function partsOf({ content }: ChatMessage): readonly ChatPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
}

/** Appends waiting pictures as a user message; answers an empty list for the next ones. */
function flushed(plain: ChatMessage[], pictures: ChatPart[]): ChatPart[] {
  if (pictures.length > 0) plain.push({ role: 'user', content: pictures })
  return []
}
