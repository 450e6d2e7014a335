import type { ChatMessage, ChatPart, ChatRequest, ChatTool } from '../../../kinds/chat/request.ts'
import {
  takesOf,
  type ChatCall,
  type TakesParameter,
  UnsendableError,
  type JsonRequest,
  refuseSeveral,
} from '../../ports/call.ts'
import { objectOf, textOf } from '../../wire/raw-json.ts'
import { effortTokens, reasoningWish } from '../../answers/reasoning-wish.ts'
import type { JsonObject } from '../../../base/json-text.ts'
import { bearer } from '../../../base/http-request.ts'
import type { AnswerEvent } from '../../../kinds/answer/event.ts'

interface Sampling {
  readonly ours: string
  readonly theirs: string
  /** Cohere's range is narrower than ours: a value outside it becomes the nearest end. */
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
    headers: bearer(call.apiKey),
  }
}

function bodyOf(call: ChatCall): JsonObject {
  const { endpoint, request, sendMaxTokens } = call
  refuseSeveral(request)
  const takes = takesOf(endpoint)
  return {
    model: endpoint.upstreamModel,
    messages: cohereMessages(request.messages, endpoint.supportedParameters?.includes('reasoning') === true),
    stream: request.stream,
    ...(sendMaxTokens === null ? {} : { max_tokens: sendMaxTokens }),
    ...(takes('tools') ? toolFields(request.tools, takes('tool_choice') ? request.toolChoice : null) : {}),
    ...(takes('response_format') || takes('structured_outputs') ? formatFields(request.responseFormat) : {}),
    ...samplingFields(request.parameters, takes),
    ...(takes('reasoning') || takes('reasoning_effort') ? thinkingFields(call) : {}),
  }
}

/** Cohere has one type for both formats; its schemas have no name and are always strict. */
function formatFields(format: ChatRequest['responseFormat']): JsonObject {
  if (format === null) return {}
  const schema = objectOf(objectOf(format['json_schema'])?.['schema'])
  return { response_format: { type: 'json_object', ...(schema === null ? {} : { json_schema: schema }) } }
}

function samplingFields(parameters: ChatRequest['parameters'], takes: TakesParameter): JsonObject {
  const fields: Record<string, unknown> = {}
  for (const { ours, theirs, low, high } of SAMPLING) {
    const value = parameters[ours]
    if (typeof value === 'number' && takes(ours)) fields[theirs] = Math.min(high, Math.max(low, value))
  }
  const { top_k: topK, seed, stop } = parameters
  if (typeof topK === 'number' && takes('top_k')) fields['k'] = Math.min(TOP_K_MAX, Math.round(topK))
  // Other seeds would be refused, and no answer depends on a seed.
  if (Number.isSafeInteger(seed) && Number(seed) >= 0 && takes('seed')) fields['seed'] = seed
  if (stop !== undefined && takes('stop')) fields['stop_sequences'] = Array.isArray(stop) ? stop : [stop]
  return fields
}

function thinkingFields({ endpoint, request, sendMaxTokens }: ChatCall): JsonObject {
  const { thinks, effort, budget } = reasoningWish(request.parameters)
  if (thinks === null) return {}
  if (!thinks) return { thinking: { type: 'disabled' } }
  const maxTokens = sendMaxTokens ?? endpoint.maxCompletionTokens
  const share = maxTokens === null ? null : effortTokens(effort, maxTokens)
  const tokens = budget ?? (share === null ? null : Math.max(1, share))
  return { thinking: { type: 'enabled', ...(tokens === null ? {} : { token_budget: tokens }) } }
}

/**
 * `tools`, `strict_tools` and `tool_choice`; empty without tools. Cohere cannot be asked for one tool by name: in that
 * case only that tool is sent, and a call is required.
 */
function toolFields(
  tools: readonly ChatTool[] | null,
  choice: ChatRequest['toolChoice'],
): Readonly<Record<string, unknown>> {
  if (tools === null) return {}
  const named = choice !== null && typeof choice !== 'string' ? choice.function.name : null
  const offered = named === null ? tools : tools.filter(({ function: { name } }) => name === named)
  if (offered.length === 0) throw new UnsendableError('tool_choice: names none of the tools')
  const word = named !== null || choice === 'required' ? 'REQUIRED' : choice === 'none' ? 'NONE' : null
  return {
    tools: offered.map(({ function: { name, description, parameters = {} } }) => ({
      type: 'function',
      function: {
        name,
        ...(description === undefined ? {} : { description }),
        parameters: Object.keys(parameters).length === 0 ? { type: 'object', properties: {} } : parameters,
      },
    })),
    ...(offered.every(isStrict) ? { strict_tools: true } : {}),
    ...(word === null ? {} : { tool_choice: word }),
  }
}

/** Cohere's strict mode covers all tools or none, and requires that each has a required parameter. */
function isStrict({ function: { strict, parameters = {} } }: ChatTool): boolean {
  const { required } = parameters
  return strict === true && Array.isArray(required) && required.length > 0
}

/** The conversation in Cohere's form. `takesReasoning`: whether the model reads its earlier thinking. */
function cohereMessages(messages: readonly ChatMessage[], takesReasoning: boolean): readonly JsonObject[] {
  return messages.flatMap((message, index) => {
    const path = `messages[${index}]`
    switch (message.role) {
      case 'system':
      case 'developer':
        return [{ role: 'system', content: contentOf(message, path) }]
      case 'user':
        return [{ role: 'user', content: contentOf(message, path) }]
      case 'tool':
        return [{ role: 'tool', tool_call_id: message.tool_call_id, content: contentOf(message, path) }]
      case 'assistant':
        return assistantMessages(message, path, takesReasoning)
    }
  })
}

/** One message, or none if nothing is left that Cohere can read. */
function assistantMessages(message: ChatMessage, path: string, takesReasoning: boolean): readonly JsonObject[] {
  const { content, refusal = '', reasoning = '', reasoning_details: details = [], tool_calls: calls = [] } = message
  const said = content === null || content === '' ? refusal : contentOf(message, path)
  const thinking = takesReasoning && reasoning !== '' ? [{ type: 'thinking', thinking: reasoning }] : []
  const blocks = typeof said === 'string' ? (said === '' ? [] : [{ type: 'text', text: said }]) : said
  const plan = calls.length === 0 ? '' : toolPlanOf(details)
  if (blocks.length + thinking.length + calls.length === 0) return []
  return [
    {
      role: 'assistant',
      ...(blocks.length + thinking.length === 0
        ? {}
        : { content: thinking.length === 0 ? said : [...thinking, ...blocks] }),
      ...(plan === '' ? {} : { tool_plan: plan }),
      ...(calls.length === 0
        ? {}
        : {
            tool_calls: calls.map(({ id, function: { name, arguments: text } }) => ({
              id,
              type: 'function',
              function: { name, arguments: text === '' ? '{}' : text },
            })),
          }),
    },
  ]
}

function contentOf({ content, role }: ChatMessage, path: string): string | readonly JsonObject[] {
  if (content === null || typeof content === 'string') return content ?? ''
  return content.map((part, index) => partOf(part, role, `${path}.content[${index}]`))
}

function partOf(part: ChatPart, role: ChatMessage['role'], path: string): JsonObject {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'refusal':
      return { type: 'text', text: part.refusal }
    case 'image_url': {
      const { url, detail } = part.image_url
      if (role !== 'user') throw new UnsendableError(`${path}: this provider takes images in user messages only`)
      return { type: 'image_url', image_url: { url, ...(detail === undefined ? {} : { detail }) } }
    }
    case 'input_audio':
    case 'audio_url':
    case 'file':
    case 'video_url':
      throw new UnsendableError(`${path}: this provider takes no part of type ${part.type}`)
  }
}

const FORMAT = 'cohere-tool-plan-v1'

/** The model's text before tool calls is neither answer nor thinking, so the client gets it as a reasoning detail. */
export function toolPlanEvents(plan: string): readonly AnswerEvent[] {
  return plan === ''
    ? []
    : [
        {
          type: 'extra',
          choice: 0,
          field: 'reasoning_details',
          value: [{ type: 'reasoning.summary', summary: plan, format: FORMAT, index: 0 }],
        },
      ]
}

/**
 * The plan among the details that a client sends back; '' = there is none. Cohere does not read the details of other
 * providers.
 */
function toolPlanOf(details: readonly unknown[]): string {
  let plan = ''
  for (const raw of details) {
    const detail = objectOf(raw)
    if (detail?.['format'] === FORMAT) plan += textOf(detail['summary']) ?? ''
  }
  return plan
}
