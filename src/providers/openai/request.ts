import { rawMessagesOf } from '../../kinds/chat/raw-messages.ts'
import type { ChatMessage } from '../../kinds/chat/request.ts'
import { JsonBytes, jsonParts } from '../../lib/json-bytes.ts'
import { CHAT_PARAMETERS } from '../../parameter-table.ts'
import type { ChatCall } from '../ports/call.ts'
import { openaiReasoning } from './reasoning.ts'
import { plainResults } from './tool-results.ts'

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
