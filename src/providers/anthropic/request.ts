import type { ChatRequest } from '../../kinds/chat/request.ts'
import type { ChatCall } from '../../protocols/ports/call.ts'
import { UnsendableError, type JsonRequest } from '../../protocols/ports/upstream-request.ts'
import { objectOf, textOf } from '../../protocols/wire/raw-json.ts'
import { constrainedSchema } from './constrained-schema.ts'
import type { AnthropicBlock } from '../../protocols/anthropic/provider/content.ts'
import { conversationOf, type AnthropicConversation } from './messages.ts'
import { traitsOf, type ModelTraits } from './model-traits.ts'
import { thinkingOf } from './thinking.ts'

const ANSWER_TOOL = 'give_answer'
const JSON_INSTRUCTION =
  'Answer with one valid JSON object and nothing else: no words before or after it, and no Markdown fence.'

export const MESSAGES_PATH = '/messages'
export const ANTHROPIC_VERSION = '2023-06-01'
/** For a model without a known maximum: every model of the protocol can answer this much. */
const MAX_TOKENS_DEFAULT = 4_096
/** The least top_p that is accepted together with thinking. */
const THINKING_TOP_P_MIN = 0.95
const USER_ID_CHARS_MAX = 256
/** The most tools that can be constrained at once. */
const STRICT_TOOLS_MAX = 20

export function anthropicRequest(call: ChatCall): JsonRequest {
  return { path: MESSAGES_PATH, body: bodyOf(call), headers: anthropicCredentials(call.apiKey) }
}

export function anthropicCredentials(apiKey: string | null): Readonly<Record<string, string>> {
  return { 'anthropic-version': ANTHROPIC_VERSION, ...(apiKey === null ? {} : { 'x-api-key': apiKey }) }
}

/** The form in which the call's answer is asked for; the reader needs it too. */
export function askedFormat(call: ChatCall): OutputFormat {
  const { request, endpoint } = call
  const takes = taken(call)
  if (!takes('response_format') && !takes('structured_outputs')) return { kind: 'text' }
  return outputFormatOf(takes('tools') ? request : { ...request, tools: null }, traitsOf(endpoint.upstreamModel))
}

/** Tells which parameters this endpoint takes. */
function taken({ endpoint: { supportedParameters } }: ChatCall): (name: string) => boolean {
  return (name) => supportedParameters === null || supportedParameters.includes(name)
}

function bodyOf(call: ChatCall): Record<string, unknown> {
  const { endpoint, request } = call
  if (request.n > 1) throw new UnsendableError('n: this provider gives one answer to a request')
  const takes = taken(call)
  const traits = traitsOf(endpoint.upstreamModel)
  const conversation = conversationOf(request.messages)
  const format = askedFormat(call)
  const tools = toolFields(call, format, conversation, traits)
  const maxTokens = call.sendMaxTokens ?? endpoint.maxCompletionTokens ?? MAX_TOKENS_DEFAULT
  const parameters = takes('reasoning') || takes('reasoning_effort') ? request.parameters : {}
  const canThink =
    !tools.isForced &&
    !conversation.isPrefilled &&
    (traits.thinking === 'adaptive' || !conversation.continuesWithoutThinking)
  const { thinking, effort } = thinkingOf(parameters, traits, maxTokens, canThink)
  const system =
    format.kind === 'instruction' ? [...conversation.system, { type: 'text', text: format.text }] : conversation.system
  const output = {
    ...(effort === null ? {} : { effort }),
    ...(format.kind === 'constrained' ? { format: { type: 'json_schema', schema: format.schema } } : {}),
  }
  return {
    model: endpoint.upstreamModel,
    max_tokens: maxTokens,
    ...(system.length === 0 ? {} : { system }),
    messages: conversation.messages,
    ...tools.fields,
    ...(thinking === null ? {} : { thinking }),
    ...(Object.keys(output).length === 0 ? {} : { output_config: output }),
    ...samplingFields(request.parameters, takes, traits, thinking !== null && thinking['type'] !== 'disabled'),
    ...(takes('stop') ? stopFields(request.parameters['stop']) : {}),
    ...(takes('user') ? userFields(request.parameters['user']) : {}),
    ...(request.stream ? { stream: true } : {}),
  }
}

interface ToolFields {
  readonly fields: Readonly<Record<string, unknown>>
  /** The answer must be a tool call, which excludes thinking. */
  readonly isForced: boolean
}

function toolFields(
  call: ChatCall,
  format: OutputFormat,
  { calledTools }: AnthropicConversation,
  traits: ModelTraits,
): ToolFields {
  const { request } = call
  const takes = taken(call)
  const tools = request.tools !== null && takes('tools') ? toolsOf(request.tools, traits) : []
  const choice = takes('tool_choice') ? request.toolChoice : null
  const single =
    request.parameters['parallel_tool_calls'] === false && takes('parallel_tool_calls')
      ? { disable_parallel_tool_use: true }
      : {}
  if (format.kind === 'tool') {
    const { tool } = format
    const forced =
      tools.length === 0 || choice === 'none'
        ? { type: 'tool', name: tool.name }
        : choiceOf(choice === 'auto' || choice === null ? 'required' : choice)
    return {
      fields: { tools: [...tools, tool], tool_choice: { ...forced, disable_parallel_tool_use: true } },
      isForced: true,
    }
  }
  if (tools.length === 0) {
    // Calls in the history need definitions, which the request no longer has.
    const known = [...calledTools].map((name) => ({ name, input_schema: { type: 'object' } }))
    return { fields: known.length === 0 ? {} : { tools: known, tool_choice: { type: 'none' } }, isForced: false }
  }
  if (choice === 'none') return { fields: { tools, tool_choice: { type: 'none' } }, isForced: false }
  if (choice === null && Object.keys(single).length === 0) return { fields: { tools }, isForced: false }
  return {
    fields: { tools, tool_choice: { ...choiceOf(choice ?? 'auto'), ...single } },
    isForced: choice !== null && choice !== 'auto',
  }
}

function choiceOf(choice: NonNullable<ChatRequest['toolChoice']>): AnthropicBlock {
  if (typeof choice === 'object') return { type: 'tool', name: choice.function.name }
  return { type: choice === 'required' ? 'any' : choice }
}

/** `strict` where the schema can be enforced; else it is dropped, as for providers that do not know it. */
function toolsOf(tools: NonNullable<ChatRequest['tools']>, traits: ModelTraits): AnthropicBlock[] {
  const canBeStrict =
    traits.constrains && tools.filter((tool) => tool.function.strict === true).length <= STRICT_TOOLS_MAX
  return tools.map(({ function: { name, description, parameters = {}, strict } }) => {
    const schema = objectSchema(parameters)
    const constrained = strict === true && canBeStrict ? constrainedSchema(schema) : null
    return {
      name,
      ...(description === undefined ? {} : { description }),
      input_schema: constrained ?? schema,
      ...(constrained === null ? {} : { strict: true }),
    }
  })
}

function samplingFields(
  parameters: ChatRequest['parameters'],
  takes: (name: string) => boolean,
  { samplingParameters }: ModelTraits,
  isThinking: boolean,
): Record<string, number> {
  if (samplingParameters === 0) return {}
  const number = (name: string): number | null => {
    const value = parameters[name]
    return typeof value === 'number' && takes(name) ? value : null
  }
  const temperature = isThinking ? null : number('temperature')
  const topP = number('top_p')
  const topK = isThinking ? null : number('top_k')
  const fitsTopP =
    topP !== null && (!isThinking || topP >= THINKING_TOP_P_MIN) && (temperature === null || samplingParameters === 2)
  return {
    // The protocol's temperature ends at 1.
    ...(temperature === null ? {} : { temperature: Math.min(temperature, 1) }),
    ...(topP === null || !fitsTopP ? {} : { top_p: topP }),
    ...(topK === null ? {} : { top_k: Math.floor(topK) }),
  }
}

function stopFields(stop: unknown): { stop_sequences?: readonly string[] } {
  if (stop === undefined) return {}
  const sequences = (Array.isArray(stop) ? stop : [stop]).map(String)
  if (sequences.some((sequence) => sequence.trim() === ''))
    throw new UnsendableError('stop: this provider takes no stop sequence of white space alone')
  return { stop_sequences: sequences }
}

/** A longer value is refused, and it is only a label. */
function userFields(user: unknown): { metadata?: AnthropicBlock } {
  return typeof user === 'string' && user !== '' && user.length <= USER_ID_CHARS_MAX
    ? { metadata: { user_id: user } }
    : {}
}

/** The way to ask for a `response_format`; the protocol has none for JSON without a schema. */
type OutputFormat =
  | { readonly kind: 'text' }
  | { readonly kind: 'instruction'; readonly text: string }
  | { readonly kind: 'constrained'; readonly schema: Readonly<Record<string, unknown>> }
  /** A tool that must be called: its input is the answer. Any object schema will do. */
  | {
      readonly kind: 'tool'
      readonly tool: {
        readonly name: string
        readonly description: string
        readonly input_schema: Readonly<Record<string, unknown>>
      }
    }

function outputFormatOf({ responseFormat, tools }: ChatRequest, traits: ModelTraits): OutputFormat {
  if (responseFormat === null) return { kind: 'text' }
  if (responseFormat['type'] !== 'json_schema') return { kind: 'instruction', text: JSON_INSTRUCTION }
  const format = objectOf(responseFormat['json_schema']) ?? {}
  const schema = objectOf(format['schema']) ?? {}
  const constrained = traits.constrains ? constrainedSchema(schema) : null
  if (constrained !== null) return { kind: 'constrained', schema: constrained }
  if ((schema['type'] ?? 'object') !== 'object')
    throw new UnsendableError("response_format.json_schema.schema: this provider needs a schema whose type is 'object'")
  const description = `Gives the final answer${textOf(format['description']) === null ? '' : `: ${textOf(format['description'])}`}`
  return {
    kind: 'tool',
    tool: {
      name: freeName((tools ?? []).map((tool) => tool.function.name)),
      description,
      input_schema: objectSchema(schema),
    },
  }
}

/** A tool's input is always an object, which a client's schema need not state. */
function objectSchema(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return schema['type'] === 'object' ? schema : { type: 'object', ...schema }
}

function freeName(taken: readonly string[]): string {
  let name = ANSWER_TOOL
  while (taken.includes(name)) name += '_'
  return name
}
