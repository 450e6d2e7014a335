import type { ChatRequest, ChatTool } from '../../kinds/chat/request.ts'
import type { ChatCall, CompletionsCall, TakesParameter } from '../../protocols/ports/call.ts'
import { UnsendableError, type JsonRequest } from '../../protocols/ports/upstream-request.ts'
import { objectOf } from '../../protocols/wire/raw-json.ts'
import { reasoningWish } from '../../protocols/answers/reasoning-wish.ts'
import { ollamaMessages } from './messages.ts'
import type { JsonObject } from '../../lib/json-object.ts'
import { bearer } from '../../base/bearer.ts'

/** Our names of parameters that go into `options` unchanged. */
const NUMBERS: readonly (readonly [ours: string, theirs: string])[] = [
  ['temperature', 'temperature'],
  ['top_p', 'top_p'],
  ['min_p', 'min_p'],
  ['repetition_penalty', 'repeat_penalty'],
  ['frequency_penalty', 'frequency_penalty'],
  ['presence_penalty', 'presence_penalty'],
]
/** Levels of the models that have levels; other models read any level as yes. */
const EFFORT_LEVELS: ReadonlyMap<string, string> = new Map([
  ['minimal', 'low'],
  ['low', 'low'],
  ['medium', 'medium'],
  ['high', 'high'],
  ['xhigh', 'high'],
  ['max', 'high'],
])

export function ollamaRequest(call: ChatCall): JsonRequest {
  return {
    path: '/api/chat',
    body: bodyOf(call),
    headers: bearer(call.apiKey),
  }
}

/** One prompt, unchanged. */
export function generateRequest({
  endpoint: { upstreamModel, supportedParameters },
  apiKey,
  request: { chat, suffix },
  prompts,
  sendMaxTokens,
}: CompletionsCall): JsonRequest {
  if (chat.n > 1) throw new UnsendableError('n: this provider gives one answer to a request')
  const takes: TakesParameter = (name) => supportedParameters === null || supportedParameters.includes(name)
  const options = {
    ...(sendMaxTokens === null ? {} : { num_predict: sendMaxTokens }),
    ...optionFields(chat.parameters, takes),
  }
  const body = {
    model: upstreamModel,
    prompt: prompts[0] ?? '',
    stream: chat.stream,
    ...(suffix === null ? {} : { suffix }),
    ...(Object.keys(options).length === 0 ? {} : { options }),
  }
  return { path: '/api/generate', body, headers: bearer(apiKey) }
}

function bodyOf({ endpoint: { upstreamModel, supportedParameters }, request, sendMaxTokens }: ChatCall): JsonObject {
  if (request.n > 1) throw new UnsendableError('n: this provider gives one answer to a request')
  const takes: TakesParameter = (name) => supportedParameters === null || supportedParameters.includes(name)
  const options = {
    ...(sendMaxTokens === null ? {} : { num_predict: sendMaxTokens }),
    ...optionFields(request.parameters, takes),
  }
  return {
    model: upstreamModel,
    messages: ollamaMessages(
      request.messages,
      supportedParameters !== null && supportedParameters.includes('reasoning'),
    ),
    // Its default would be true.
    stream: request.stream,
    ...(takes('tools') ? toolFields(request) : {}),
    ...(takes('response_format') || takes('structured_outputs') ? formatFields(request.responseFormat) : {}),
    ...(takes('reasoning') || takes('reasoning_effort') ? thinkFields(request.parameters) : {}),
    ...(Object.keys(options).length === 0 ? {} : { options }),
  }
}

/** Ollama has no choice of tools. No choice is expressed by sending no tools, a named tool by sending only that one. */
function toolFields({ tools, toolChoice }: ChatRequest): JsonObject {
  if (tools === null || toolChoice === 'none') return {}
  const named = toolChoice !== null && typeof toolChoice !== 'string' ? toolChoice.function.name : null
  const offered = named === null ? tools : tools.filter(({ function: { name } }) => name === named)
  if (offered.length === 0) throw new UnsendableError('tool_choice: names none of the tools')
  return { tools: offered.map(toolOf) }
}

function toolOf({ function: { name, description, parameters = {} } }: ChatTool): JsonObject {
  return {
    type: 'function',
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: Object.keys(parameters).length === 0 ? { type: 'object', properties: {} } : parameters,
    },
  }
}

function formatFields(format: ChatRequest['responseFormat']): JsonObject {
  return format === null ? {} : { format: objectOf(objectOf(format['json_schema'])?.['schema']) ?? 'json' }
}

function thinkFields(parameters: ChatRequest['parameters']): JsonObject {
  const { thinks, effort } = reasoningWish(parameters)
  return thinks === null ? {} : { think: thinks ? (EFFORT_LEVELS.get(effort ?? '') ?? true) : false }
}

function optionFields(parameters: ChatRequest['parameters'], takes: TakesParameter): JsonObject {
  const options: Record<string, unknown> = {}
  for (const [ours, theirs] of NUMBERS) {
    const value = parameters[ours]
    if (typeof value === 'number' && takes(ours)) options[theirs] = value
  }
  const { top_k: topK, seed, stop } = parameters
  if (typeof topK === 'number' && takes('top_k')) options['top_k'] = Math.round(topK)
  // Other seeds would be refused, and no answer depends on one.
  if (Number.isSafeInteger(seed) && takes('seed')) options['seed'] = seed
  if (stop !== undefined && takes('stop')) options['stop'] = Array.isArray(stop) ? stop : [stop]
  return options
}
