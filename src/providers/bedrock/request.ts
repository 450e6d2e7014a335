import type { ChatRequest, ChatTool } from '../../kinds/chat/request.ts'
import { thinkingOf } from '../anthropic/thinking.ts'
import type { ChatCall } from '../../protocols/ports/call.ts'
import { UnsendableError, type JsonRequest } from '../../protocols/ports/upstream-request.ts'
import { constrainedSchema } from '../anthropic/constrained-schema.ts'
import { bedrockModelOf, type BedrockModel } from './bedrock-model.ts'
import type { BedrockBlock } from '../../protocols/bedrock/content.ts'
import { credentialHeaders } from './credentials.ts'
import { conversationOf, type BedrockConversation } from './messages.ts'
import { objectSchema, outputFormatOf, type OutputFormat } from './output-format.ts'

/** The most tools that can be constrained at once. */
const STRICT_TOOLS_MAX = 20
const UNKNOWN_TOOL = 'unknown_tool'

/** Every model of the protocol can answer at least this much, so a thinking budget within it fits every default. */
const MAX_TOKENS_LEAST = 4_096
/** The least top_p that is accepted together with thinking. */
const THINKING_TOP_P_MIN = 0.95
const EVENT_STREAM = 'application/vnd.amazon.eventstream'

export function bedrockRequest(call: ChatCall, nowMs: number): JsonRequest {
  const { endpoint, request, apiKey } = call
  const path = `/model/${encodedModel(endpoint.upstreamModel)}/${request.stream ? 'converse-stream' : 'converse'}`
  const credentials = credentialHeaders(apiKey, endpoint.provider.baseUrl, path, nowMs)
  const accept = request.stream ? { accept: EVENT_STREAM } : {}
  return {
    path,
    body: bodyOf(call),
    headers:
      typeof credentials === 'function'
        ? (body) => ({ ...accept, ...credentials(body) })
        : { ...accept, ...credentials },
  }
}

/** The form in which the call's answer is asked for; the reader needs it too. */
export function askedFormat(call: ChatCall): OutputFormat {
  const takes = taken(call)
  if (!takes('response_format') && !takes('structured_outputs')) return { kind: 'text' }
  return outputFormatOf(
    takes('tools') ? call.request : { ...call.request, tools: null },
    bedrockModelOf(call.endpoint.upstreamModel),
  )
}

/**
 * Model ids contain colons and, as ARNs, slashes. RFC 3986 leaves fewer characters unescaped than `encodeURIComponent`.
 */
export function encodedModel(model: string): string {
  return encodeURIComponent(model).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Tells which parameters this endpoint takes. */
function taken({ endpoint: { supportedParameters } }: ChatCall): (name: string) => boolean {
  return (name) => supportedParameters === null || supportedParameters.includes(name)
}

function bodyOf(call: ChatCall): Record<string, unknown> {
  const { endpoint, request, sendMaxTokens } = call
  if (request.n > 1) throw new UnsendableError('n: this provider gives one answer to a request')
  const takes = taken(call)
  const model = bedrockModelOf(endpoint.upstreamModel)
  const conversation = conversationOf(request.messages, model)
  const format = askedFormat(call)
  const tools = takes('tools') ? (request.tools ?? []) : []
  const { toolConfig, isForced } = toolConfigOf(
    tools,
    takes('tool_choice') ? request.toolChoice : null,
    format,
    conversation,
    model,
  )
  const thinking = thinkingFields(call, model, !isForced && !conversation.isPrefilled, conversation)
  const sampling = samplingFields(request.parameters, takes, model, thinking?.isOn ?? false)
  const stop = takes('stop') ? stopFields(request.parameters['stop'], model) : {}
  const inferenceConfig = { ...present('maxTokens', sendMaxTokens), ...sampling.inference, ...stop }
  const additional = { ...thinking?.fields, ...sampling.additional }
  const system = format.kind === 'words' ? [...conversation.system, { text: format.text }] : conversation.system
  return {
    messages: conversation.messages,
    ...present('system', system.length === 0 ? null : system),
    ...present('inferenceConfig', filled(inferenceConfig)),
    ...present('toolConfig', toolConfig),
    ...present('additionalModelRequestFields', filled(additional)),
    ...present('outputConfig', format.kind === 'decoding' ? { textFormat: format.textFormat } : null),
  }
}

function present(name: string, value: unknown): BedrockBlock {
  return value === null ? {} : { [name]: value }
}

function filled(fields: BedrockBlock): BedrockBlock | null {
  return Object.keys(fields).length === 0 ? null : fields
}

interface ThinkingFields {
  readonly fields: BedrockBlock
  readonly isOn: boolean
}

/**
 * Claude's own fields, which the protocol passes through. `begins` is false where the beginning of the answer is fixed:
 * a forced call, or a prefill.
 */
function thinkingFields(
  { endpoint, request, sendMaxTokens }: ChatCall,
  { claude }: BedrockModel,
  begins: boolean,
  { continuesWithoutThinking }: BedrockConversation,
): ThinkingFields | null {
  const supported = endpoint.supportedParameters
  const takesReasoning = supported === null || supported.includes('reasoning') || supported.includes('reasoning_effort')
  if (claude === null || !takesReasoning) return null
  const isPossible = begins && (claude.thinking === 'adaptive' || !continuesWithoutThinking)
  const { thinking, effort } = thinkingOf(
    request.parameters,
    claude,
    sendMaxTokens ?? endpoint.maxCompletionTokens ?? MAX_TOKENS_LEAST,
    isPossible,
  )
  const fields = { ...present('thinking', thinking), ...present('output_config', effort === null ? null : { effort }) }
  return { fields, isOn: thinking !== null && thinking['type'] !== 'disabled' }
}

interface SamplingFields {
  readonly inference: BedrockBlock
  readonly additional: BedrockBlock
}

function samplingFields(
  parameters: ChatRequest['parameters'],
  takes: (name: string) => boolean,
  { claude }: BedrockModel,
  isThinking: boolean,
): SamplingFields {
  const count = claude?.samplingParameters ?? 2
  if (count === 0) return { inference: {}, additional: {} }
  const number = (name: string): number | null => {
    const value = parameters[name]
    return typeof value === 'number' && takes(name) ? value : null
  }
  const temperature = isThinking ? null : number('temperature')
  const topP = number('top_p')
  const fitsTopP = topP !== null && (!isThinking || topP >= THINKING_TOP_P_MIN) && (temperature === null || count === 2)
  const topK = isThinking || claude === null ? null : number('top_k')
  return {
    // The protocol's temperature ends at 1.
    inference: {
      ...present('temperature', temperature === null ? null : Math.min(temperature, 1)),
      ...present('topP', fitsTopP ? topP : null),
    },
    additional: present('top_k', topK === null ? null : Math.floor(topK)),
  }
}

function stopFields(stop: unknown, { claude }: BedrockModel): BedrockBlock {
  if (stop === undefined) return {}
  const sequences = (Array.isArray(stop) ? stop : [stop]).map(String)
  if (claude !== null && sequences.some((sequence) => sequence.trim() === ''))
    throw new UnsendableError('stop: this provider takes no stop sequence of white space alone')
  return { stopSequences: sequences }
}

interface ToolConfig {
  /** null = the request has none. */
  readonly toolConfig: BedrockBlock | null
  /** The answer must be a tool call, which excludes thinking. */
  readonly isForced: boolean
}

/** `tools` and `choice` are the client's, as far as the endpoint takes them. */
function toolConfigOf(
  tools: readonly ChatTool[],
  choice: ChatRequest['toolChoice'],
  format: OutputFormat,
  conversation: BedrockConversation,
  model: BedrockModel,
): ToolConfig {
  // The protocol has no choice `none`: tools that must not be called are left out, unless the history needs them.
  const isNone = choice === 'none'
  const specs = isNone && !conversation.holdsToolBlocks ? [] : toolSpecs(tools, model)
  const known = specs.length === 0 && conversation.holdsToolBlocks ? historySpecs(conversation.calledTools) : specs
  if (format.kind === 'tool') {
    const mayCallOthers = !isNone && tools.length > 0
    const toolChoice = mayCallOthers
      ? choiceOf(choice === null || choice === 'auto' ? 'required' : choice)
      : { tool: { name: format.name } }
    return { toolConfig: { tools: [...known, { toolSpec: format.toolSpec }], toolChoice }, isForced: true }
  }
  if (known.length === 0) return { toolConfig: null, isForced: false }
  if (choice === null || isNone || specs.length === 0) return { toolConfig: { tools: known }, isForced: false }
  return { toolConfig: { tools: known, toolChoice: choiceOf(choice) }, isForced: choice !== 'auto' }
}

function choiceOf(choice: NonNullable<ChatRequest['toolChoice']>): BedrockBlock {
  if (typeof choice === 'object') return { tool: { name: choice.function.name } }
  return choice === 'required' ? { any: {} } : { auto: {} }
}

/** `strict` where the schema can be enforced; else it is dropped, as for providers that do not know it. */
function toolSpecs(tools: readonly ChatTool[], { claude }: BedrockModel): BedrockBlock[] {
  const canBeStrict =
    claude !== null &&
    claude.constrains &&
    tools.filter((tool) => tool.function.strict === true).length <= STRICT_TOOLS_MAX
  return tools.map(({ function: { name, description = '', parameters = {}, strict } }) => {
    const schema = objectSchema(parameters)
    const constrained = strict === true && canBeStrict ? constrainedSchema(schema) : null
    return {
      toolSpec: {
        name,
        ...(description === '' ? {} : { description }),
        inputSchema: { json: constrained ?? schema },
        ...(constrained === null ? {} : { strict: true }),
      },
    }
  })
}

/** Calls and results in the history need definitions, even when the client no longer sends any. */
function historySpecs(calledTools: ReadonlySet<string>): BedrockBlock[] {
  const names = calledTools.size === 0 ? [UNKNOWN_TOOL] : [...calledTools]
  return names.map((name) => ({ toolSpec: { name, inputSchema: { json: { type: 'object' } } } }))
}
