import type { ChatRequest } from '../../kinds/chat/request.ts'
import type { ChatCall } from '../ports/call.ts'
import { UnsendableError, type JsonRequest } from '../ports/upstream-request.ts'
import { objectOf } from '../wire/raw-json.ts'
import { effortTokens, reasoningWish } from '../answers/reasoning-wish.ts'
import { cohereMessages } from './messages.ts'
import { toolFields } from './tools.ts'

type Takes = (name: string) => boolean
type Fields = Readonly<Record<string, unknown>>

interface Sampling {
  readonly ours: string
  readonly theirs: string
  /** Cohere's range is narrower than ours: a value outside becomes the nearest end. */
  readonly low: number
  readonly high: number
}

const SAMPLING: readonly Sampling[] = [
  { ours: 'temperature', theirs: 'temperature', low: 0, high: 1 },
  { ours: 'top_p', theirs: 'p', low: 0.01, high: 0.99 },
  { ours: 'frequency_penalty', theirs: 'frequency_penalty', low: 0, high: 1 },
  { ours: 'presence_penalty', theirs: 'presence_penalty', low: 0, high: 1 },
]
const TOP_K_MAX = 500

export function cohereRequest(call: ChatCall): JsonRequest {
  return {
    path: '/v2/chat',
    body: bodyOf(call),
    headers: call.apiKey === null ? {} : { authorization: `Bearer ${call.apiKey}` },
  }
}

function bodyOf(call: ChatCall): Fields {
  const {
    endpoint: { upstreamModel, supportedParameters },
    request,
    sendMaxTokens,
  } = call
  if (request.n > 1) throw new UnsendableError('n: this provider gives one answer to a request')
  const takes: Takes = (name) => supportedParameters === null || supportedParameters.includes(name)
  return {
    model: upstreamModel,
    messages: cohereMessages(
      request.messages,
      supportedParameters !== null && supportedParameters.includes('reasoning'),
    ),
    stream: request.stream,
    ...(sendMaxTokens === null ? {} : { max_tokens: sendMaxTokens }),
    ...(takes('tools') ? toolFields(request.tools, takes('tool_choice') ? request.toolChoice : null) : {}),
    ...(takes('response_format') || takes('structured_outputs') ? formatFields(request.responseFormat) : {}),
    ...samplingFields(request.parameters, takes),
    ...(takes('reasoning') || takes('reasoning_effort') ? thinkingFields(call) : {}),
  }
}

/** Cohere has one type for both formats; its schemas have no name and are always strict. */
function formatFields(format: ChatRequest['responseFormat']): Fields {
  if (format === null) return {}
  const schema = objectOf(objectOf(format['json_schema'])?.['schema'])
  return { response_format: { type: 'json_object', ...(schema === null ? {} : { json_schema: schema }) } }
}

function samplingFields(parameters: ChatRequest['parameters'], takes: Takes): Fields {
  const fields: Record<string, unknown> = {}
  for (const { ours, theirs, low, high } of SAMPLING) {
    const value = parameters[ours]
    if (typeof value === 'number' && takes(ours)) fields[theirs] = Math.min(high, Math.max(low, value))
  }
  const { top_k: topK, seed, stop } = parameters
  if (typeof topK === 'number' && takes('top_k')) fields['k'] = Math.min(TOP_K_MAX, Math.round(topK))
  // Other seeds would be refused, and no answer depends on one.
  if (Number.isSafeInteger(seed) && Number(seed) >= 0 && takes('seed')) fields['seed'] = seed
  if (stop !== undefined && takes('stop')) fields['stop_sequences'] = Array.isArray(stop) ? stop : [stop]
  return fields
}

function thinkingFields({ endpoint, request, sendMaxTokens }: ChatCall): Fields {
  const { thinks, effort, budget } = reasoningWish(request.parameters)
  if (thinks === null) return {}
  if (!thinks) return { thinking: { type: 'disabled' } }
  const maxTokens = sendMaxTokens ?? endpoint.maxCompletionTokens
  const share = maxTokens === null ? null : effortTokens(effort, maxTokens)
  const tokens = budget ?? (share === null ? null : Math.max(1, share))
  return { thinking: { type: 'enabled', ...(tokens === null ? {} : { token_budget: tokens }) } }
}
