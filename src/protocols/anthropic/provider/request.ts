import { withCacheMarks } from '../../models/claude-cache-marks.ts'
import type { ChatRequest } from '../../../kinds/chat/request.ts'
import {
  askedFormat,
  askedThinking,
  isOn,
  MAX_TOKENS_LEAST,
  samplingOf,
  stopSequences,
} from '../../models/claude-request.ts'
import { takesOf, type ChatCall } from '../../ports/call.ts'
import { type JsonRequest, refuseSeveral } from '../../ports/upstream-request.ts'
import { declaredTools, toolWishOf, type AnswerFormat, type AnswerMeans } from '../../models/claude-format.ts'
import type { AnthropicBlock } from './content.ts'
import { conversationOf, type AnthropicConversation } from './messages.ts'
import { signerOf, traitsOf, type ModelTraits } from '../../models/claude-traits.ts'
import { bindingOf } from './thinking-binding.ts'

export const MESSAGES_PATH = '/messages'
const BETAS = 'anthropic-beta'
export const ANTHROPIC_VERSION = '2023-06-01'

export function anthropicRequest(call: ChatCall): JsonRequest {
  const { body, betas } = bodyOf(call)
  const headers = { ...anthropicCredentials(call.apiKey), ...(betas.length === 0 ? {} : { [BETAS]: betas.join(',') }) }
  return { path: MESSAGES_PATH, body, headers }
}

export function anthropicCredentials(apiKey: string | null): Readonly<Record<string, string>> {
  return { 'anthropic-version': ANTHROPIC_VERSION, ...(apiKey === null ? {} : { 'x-api-key': apiKey }) }
}

export function meansOf({ constrains, forcesTools }: ModelTraits): AnswerMeans {
  return { decodes: constrains ? 'closed' : 'none', forcesTools }
}

function bodyOf(call: ChatCall): Pick<JsonRequest, 'body'> & { readonly betas: readonly string[] } {
  const { endpoint, request } = call
  refuseSeveral(request)
  const takes = takesOf(endpoint)
  const traits = traitsOf(endpoint.upstreamModel)
  const conversation = conversationOf(request.messages, traits, signerOf(endpoint))
  const format = askedFormat(call, meansOf(traits))
  const tools = toolFields(call, format, conversation, traits)
  const wished = askedThinking(call, traits, conversation, tools.isForced)
  const { effort } = wished
  const { thinking, messages, betas } = bindingOf(wished.thinking, conversation.messages, traits)
  const { temperature, topP, topK } = samplingOf(request.parameters, takes, traits.samplingParameters, isOn(wished))
  const stop = takes('stop') ? stopSequences(request.parameters['stop'], true) : null
  const words = [...(format.kind === 'words' ? [format.text] : []), ...(tools.words === null ? [] : [tools.words])]
  const system = [...conversation.system, ...words.map((text) => ({ type: 'text', text }))]
  const output = {
    ...(effort === null ? {} : { effort }),
    ...(format.kind === 'decoding' ? { format: { type: 'json_schema', schema: format.schema } } : {}),
  }
  const body = {
    model: endpoint.upstreamModel,
    max_tokens: call.sendMaxTokens ?? endpoint.maxCompletionTokens ?? MAX_TOKENS_LEAST,
    ...(system.length === 0 ? {} : { system }),
    messages,
    ...tools.fields,
    ...(thinking === null ? {} : { thinking }),
    ...(Object.keys(output).length === 0 ? {} : { output_config: output }),
    ...(temperature === null ? {} : { temperature }),
    ...(topP === null ? {} : { top_p: topP }),
    ...(topK === null ? {} : { top_k: topK }),
    ...(stop === null ? {} : { stop_sequences: stop }),
    ...(takes('user') ? userFields(request.parameters['user']) : {}),
    // Only in the tier that is paid for.
    ...(request.parameters['service_tier'] === undefined ? {} : { service_tier: request.parameters['service_tier'] }),
    ...(request.stream ? { stream: true } : {}),
  }
  return { body: endpoint.cacheMarks === true ? withCacheMarks(body, traits.cacheMin) : body, betas }
}

interface ToolFields {
  readonly fields: Readonly<Record<string, unknown>>
  /** The answer must be a tool call, which excludes thinking. */
  readonly isForced: boolean
  /** For the system text; null = none. */
  readonly words: string | null
}

function toolFields(
  call: ChatCall,
  format: AnswerFormat,
  { calledTools }: AnthropicConversation,
  traits: ModelTraits,
): ToolFields {
  const { request } = call
  const takes = takesOf(call.endpoint)
  const tools = request.tools !== null && takes('tools') ? toolsOf(request.tools, traits) : []
  const { choice, words } = toolWishOf(takes('tool_choice') ? request.toolChoice : null, traits)
  const single =
    request.parameters['parallel_tool_calls'] === false && takes('parallel_tool_calls')
      ? { disable_parallel_tool_use: true }
      : {}
  if (format.kind === 'tool') {
    const tool = { name: format.name, description: format.description, input_schema: format.schema }
    const forced =
      tools.length === 0 || choice === 'none'
        ? { type: 'tool', name: tool.name }
        : choiceOf(choice === 'auto' || choice === null ? 'required' : choice)
    return {
      fields: { tools: [...tools, tool], tool_choice: { ...forced, disable_parallel_tool_use: true } },
      isForced: true,
      words: null,
    }
  }
  const free = { isForced: false, words: null }
  if (tools.length === 0) {
    // Calls in the history need definitions, which the request no longer has.
    const known = [...calledTools].map((name) => ({ name, input_schema: { type: 'object' } }))
    return { fields: known.length === 0 ? {} : { tools: known, tool_choice: { type: 'none' } }, ...free }
  }
  if (choice === 'none') return { fields: { tools, tool_choice: { type: 'none' } }, ...free }
  if (choice === null && Object.keys(single).length === 0) return { fields: { tools }, ...free }
  return {
    fields: { tools, tool_choice: { ...choiceOf(choice ?? 'auto'), ...single } },
    isForced: choice !== null && choice !== 'auto',
    words,
  }
}

function choiceOf(choice: NonNullable<ChatRequest['toolChoice']>): AnthropicBlock {
  if (typeof choice === 'object') return { type: 'tool', name: choice.function.name }
  return { type: choice === 'required' ? 'any' : choice }
}

function toolsOf(tools: NonNullable<ChatRequest['tools']>, traits: ModelTraits): AnthropicBlock[] {
  return declaredTools(tools, meansOf(traits)).map(({ name, description, schema, strict }) => ({
    name,
    ...(description === undefined ? {} : { description }),
    input_schema: schema,
    ...(strict ? { strict } : {}),
  }))
}

function userFields(user: unknown): { metadata?: AnthropicBlock } {
  return typeof user === 'string' && user !== '' ? { metadata: { user_id: user } } : {}
}
