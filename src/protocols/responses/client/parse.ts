import { ApiError } from '../../../base/errors.ts'
import { includeUsageOf, parseParameters, parseMaxTokens } from '../../../kinds/chat/parameters.ts'
import { inputSize } from '../../../kinds/chat/parts.ts'
import {
  sessionIdOf,
  booleanField,
  copyObject,
  field,
  isObject,
  numberField,
  objectField,
  stringField,
  type RawObject,
  wordOf,
  copyJson,
  invalidInput,
  quoted,
} from '../../../kinds/fields/body-fields.ts'
import type { ChatRequest, ChatTool } from '../../../kinds/chat/request.ts'
import { parseResponseFormat, functionOf } from '../../../kinds/chat/tools.ts'
import { fallbackModelsOf, parseProviderPreferences } from '../../../kinds/fields/routed-request.ts'
import { conversationOf, keepingOf } from './keeping.ts'
import { inputMessages } from './input-items.ts'
import { flatTools, choiceAsTool, originOf } from './flat-tools.ts'
import { isPartial, isHosted } from '../hosted-tools.ts'
import type {
  InputItem,
  Keeping,
  RequestEcho,
  ResponsesDoor,
  ResponsesInput,
  ResponsesRequest,
  DemandedTool,
} from '../request.ts'
import { SAMPLING_PARAMETERS } from '../../../tables/parameter-table.ts'
import { nativeCopy } from '../native-parts.ts'

/**
 * Fields that are read here, or on which this service decides: those that cost money, that decide what is stored, or
 * that name an account (clients.md D-14.2).
 */
const OURS: ReadonlySet<string> = new Set([
  'model',
  'models',
  'input',
  'messages',
  'instructions',
  'tools',
  'tool_choice',
  'text',
  'reasoning',
  'include',
  'stream',
  'max_output_tokens',
  'max_tool_calls',
  'max_tokens',
  'max_completion_tokens',
  ...SAMPLING_PARAMETERS,
  'user',
  'parallel_tool_calls',
  'provider',
  'session_id',
  'metadata',
  'store',
  'background',
  'previous_response_id',
  'conversation',
  'prompt',
  // Fields of a message over a WebSocket.
  'type',
  'generate',
  'service_tier',
  'context_management',
  'n',
])

/** Fields of chat and of routers, which Responses does not have: a strict provider refuses them. */
const OF_CHAT: ReadonlySet<string> = new Set([
  'response_format',
  'reasoning_effort',
  'include_reasoning',
  'verbosity',
  'logprobs',
  'logit_bias',
  'prediction',
  'modalities',
  'audio',
  'usage',
  'transforms',
  'route',
])

/**
 * Fields that may name an address or an account for the provider to use, or a tool or a speed that it bills: the
 * catalogue has no price for these.
 */
const FOREIGN =
  /webhook|callback|api_key|authorization|organization|project|search|plugin|mcp|tool|tier|speed|priority/i

const FIELDS_MAX = 64
const CHOICE = "must be 'none', 'auto', 'required', {type: 'function', name} or {type} of another tool"

/** Other fields, known to us or not, for a provider that speaks the client's protocol (clients.md D-14.2). */
function passedFields(body: RawObject): RawObject {
  const names = Object.keys(body).filter(
    (name) => !OURS.has(name) && !OF_CHAT.has(name) && !FOREIGN.test(name) && name !== '__proto__',
  )
  return Object.fromEntries(
    names.slice(0, FIELDS_MAX).flatMap((name) => (body[name] === null ? [] : [[name, copyJson(body[name], name)]])),
  )
}

/**
 * Parameters that Responses shares with chat, with the same name and rule. `metadata` is a label that is only sent
 * back.
 */
const SHARED = [
  'temperature',
  'top_p',
  'top_k',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'min_p',
  'top_a',
  'seed',
  'stop',
  'user',
  'service_tier',
  'parallel_tool_calls',
]

const ENCRYPTED = 'reasoning.encrypted_content'

const INCLUDES: ReadonlySet<string> = new Set([
  ENCRYPTED,
  'web_search_call.action.sources',
  'web_search_call.results',
  'code_interpreter_call.outputs',
  'computer_call_output.output.image_url',
  'message.input_image.image_url',
  'file_search_call.results',
])

const MAX_TOKENS = 'must be an integer of at least 1, or -1 for no limit'

/**
 * Reads the body of a Responses request (wire.md D-2.4): required fields first, then types and ranges. `door`: null =
 * the route keeps no answers. `given`: the body with the client's own names, which the answer repeats.
 */
export function parseResponses(json: unknown, door: ResponsesDoor | null = null, given = json): ResponsesRequest {
  if (!isObject(json))
    throw new ApiError('invalid_json', 'Request body is not valid JSON: the top level must be an object')
  const keeping = keepingOf(json, door)
  const { added, items, row } = conversationOf(json, door, keeping)
  const model = stringField(json, 'model')
  const instructions = stringField(json, 'instructions') ?? null
  const text = textOf(json)
  const stream = door?.socket === true || (booleanField(json, 'stream') ?? false)
  const maxTokens = numberField(json, 'max_output_tokens', isMaxTokens, MAX_TOKENS) ?? null
  const parameters = parametersOf(json, text.verbosity)
  const tools = parseInputTools(json)
  const toolChoice = parseInputToolChoice(json)
  const provider = parseProviderPreferences(json)
  const flat = flatTools(tools, items, toolChoice)
  const messages = inputMessages(instructions, items, flat.names)
  const include = includeOf(json, keeping.store || door?.socket === true)
  const echo = echoOf(isObject(given) ? given : json, {
    keeping,
    include,
    instructions,
    maxTokens,
    parameters,
    text: text.echo,
    tools,
    toolChoice,
  })
  const input: ResponsesInput = {
    instructions,
    items,
    tools,
    toolChoice,
    include,
    maxToolCalls: echo.maxToolCalls,
    passed: passedFields(json),
  }
  const { inputModalities, textBytes } = inputSize(messages, flat.functions, text.format)
  const unreadBytes = nativeBytes(input) + flat.unreadBytes
  return {
    chat: {
      model: model === undefined || model === '' ? null : model,
      fallbackModels: fallbackModelsOf(json),
      messages,
      stream,
      includeUsage: false,
      maxTokens,
      n: 1,
      tools: flat.functions,
      toolChoice: flat.choice,
      responseFormat: text.format,
      parameters,
      hidesReasoning: isObject(parameters['reasoning']) && parameters['reasoning']['exclude'] === true,
      provider,
      sessionId: sessionIdOf(json),
      inputModalities,
      textBytes: textBytes + unreadBytes,
      unreadBytes,
    },
    input,
    echo,
    names: flat.names,
    dropped: [...flat.dropped.map((type) => `tools.${type}`), ...items.flatMap(droppedItem)],
    demanded: demandedTool(toolChoice, tools),
    added,
    row,
  }
}

function isMaxTokens(value: number): boolean {
  return Number.isSafeInteger(value) && (value >= 1 || value === -1)
}

function parametersOf(body: RawObject, verbosity: string | undefined): Readonly<Record<string, unknown>> {
  const shared: Record<string, unknown> = {}
  for (const name of SHARED) shared[name] = field(body, name)
  const reasoning = objectField(body, 'reasoning')
  // Clients send an empty object, which has no effect.
  if (reasoning !== undefined && Object.keys(reasoning).some((name) => field(reasoning, name) !== undefined))
    shared['reasoning'] = reasoning
  if (verbosity !== undefined) shared['verbosity'] = verbosity
  return parseParameters(shared)
}

interface TextOptions {
  readonly format: ChatRequest['responseFormat']
  readonly verbosity: string | undefined
  readonly echo: RawObject
}

/** The text options: `text.format` is chat's `response_format` without the inner object. */
function textOf(body: RawObject): TextOptions {
  const text = objectField(body, 'text') ?? {}
  const flat = field(text, 'format')
  const format = parseResponseFormat({
    response_format: isObject(flat) ? { type: field(flat, 'type'), json_schema: flat } : flat,
  })
  const verbosity = stringField(text, 'verbosity', 'text.verbosity')
  return { format, verbosity, echo: { format: flatFormat(format), ...(verbosity === undefined ? {} : { verbosity }) } }
}

/** A response format in the form of Responses. */
function flatFormat(format: ChatRequest['responseFormat']): RawObject {
  if (format === null) return { type: 'text' }
  const schema = format['json_schema']
  return isObject(schema) ? { type: 'json_schema', ...schema } : { type: format['type'] }
}

interface EchoParts {
  readonly keeping: Keeping
  readonly include: readonly string[]
  readonly instructions: string | null
  readonly maxTokens: number | null
  readonly parameters: Readonly<Record<string, unknown>>
  readonly text: RawObject
  readonly tools: readonly RawObject[]
  readonly toolChoice: string | RawObject | null
}

function echoOf(
  body: RawObject,
  { keeping, include, instructions, maxTokens, parameters, text, tools, toolChoice }: EchoParts,
): RequestEcho {
  const reasoning = isObject(parameters['reasoning']) ? parameters['reasoning'] : {}
  const metadata = objectField(body, 'metadata')
  return {
    ...keeping,
    instructions,
    maxOutputTokens: maxTokens,
    maxToolCalls: ignored(body, 'max_tool_calls', (value): value is number => Number.isSafeInteger(value)),
    metadata: metadata === undefined ? {} : copyObject(metadata, 'metadata'),
    parallelToolCalls: parameters['parallel_tool_calls'] !== false,
    promptCacheKey: ignored(body, 'prompt_cache_key', isText),
    reasoning: { effort: textIn(reasoning['effort']), summary: textIn(reasoning['summary']) },
    safetyIdentifier: ignored(body, 'safety_identifier', isText),
    temperature: numberIn(parameters['temperature'], 1),
    text,
    toolChoice: toolChoice ?? 'auto',
    tools,
    topP: numberIn(parameters['top_p'], 1),
    frequencyPenalty: numberIn(parameters['frequency_penalty'], 0),
    presencePenalty: numberIn(parameters['presence_penalty'], 0),
    user: textIn(field(body, 'user')),
    keepsDetails: include.includes(ENCRYPTED),
  }
}

/** A field that is accepted with any value and ignored. */
function ignored<T>(body: RawObject, name: string, holds: (value: unknown) => value is T): T | null {
  const value = field(body, name)
  return holds(value) ? value : null
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function numberIn(value: unknown, absent: number): number {
  return typeof value === 'number' ? value : absent
}

/** The value of `include`. A kept conversation needs its encrypted reasoning, which no provider stores for us. */
function includeOf(body: RawObject, isKept: boolean): readonly string[] {
  const include = field(body, 'include')
  const given = Array.isArray(include)
    ? include.filter((name: unknown): name is string => isText(name) && INCLUDES.has(name))
    : []
  return isKept && !given.includes(ENCRYPTED) ? [...given, ENCRYPTED] : given
}

/** The name of an item for which chat has no form. */
function droppedItem(item: InputItem): readonly string[] {
  if (item.type === 'reasoning') return item.encryptedContent === null ? [] : ['input.reasoning']
  if (item.type !== 'native') return []
  const type = wordOf(item.value['type'])
  if (item.chat !== null) return isPartial(item) ? [`input.${type}.output`] : []
  return type === 'image_generation_call' || type === 'additional_tools' ? [] : [`input.${type}`]
}

/** The bytes that a native provider reads besides the messages: an upper bound of their tokens. */
function nativeBytes({ items, tools }: ResponsesInput): number {
  let bytes = 0
  for (const item of items) {
    // The chat form of an item is counted with the messages.
    if (item.type === 'native' && (item.chat === null || isPartial(item)))
      bytes += Buffer.byteLength(JSON.stringify(item.value))
    if (item.type === 'reasoning') bytes += Buffer.byteLength(item.encryptedContent ?? '')
  }
  for (const tool of tools) if (tool['type'] !== 'function') bytes += Buffer.byteLength(JSON.stringify(tool))
  return bytes
}

interface MixedChat {
  readonly chat: ChatRequest
  /** Parts that are left out, by the names of `X-Tollgate-Dropped`. */
  readonly dropped: readonly string[]
}

/**
 * A Responses body that was posted to chat, as Cursor does; its answer is a chat answer (clients.md 6). null = it is a
 * chat body.
 */
export function parseMixedChat(json: unknown): MixedChat | null {
  if (!isObject(json) || field(json, 'input') === undefined) return null
  if (field(json, 'messages') !== undefined || field(json, 'prompt') !== undefined) return null
  const { chat, dropped, demanded } = parseResponses(json)
  if (demanded !== null)
    throw invalidInput(demanded.path, `'${demanded.type}' is not offered in chat. Only functions of your own are`)
  return {
    chat: {
      ...chat,
      maxTokens: chat.maxTokens ?? parseMaxTokens(json),
      includeUsage: chat.stream && includeUsageOf(json),
    },
    dropped,
  }
}

/** `tools` of a Responses request in the given order: functions are rebuilt, other types are copied. */
function parseInputTools(body: RawObject): readonly RawObject[] {
  const list = field(body, 'tools') ?? []
  if (!Array.isArray(list)) throw invalidInput('tools', 'must be an array')
  return list.map((raw: unknown, index) => toolOf(raw, `tools[${index}]`))
}

function toolOf(raw: unknown, path: string): RawObject {
  if (!isObject(raw)) throw invalidInput(path, 'must be an object')
  const type = field(raw, 'type')
  if (typeof type !== 'string' || type === '') throw invalidInput(`${path}.type`, 'must be a non-empty string')
  if (type === 'function') return flatFunction(functionOf(raw, path), raw, path)
  refuseStored(raw, path)
  if ((type === 'custom' || type === 'namespace') && !isFilled(field(raw, 'name')))
    throw invalidInput(`${path}.name`, 'must be a non-empty string')
  return nativeCopy(raw, path)
}

function isFilled(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function flatFunction(
  { function: { name, description, parameters, strict } }: ChatTool,
  raw: RawObject,
  path: string,
): RawObject {
  const deferred = booleanField(raw, 'defer_loading', `${path}.defer_loading`)
  return {
    type: 'function',
    name,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
    ...(deferred === undefined ? {} : { defer_loading: deferred }),
  }
}

/**
 * Files, vector stores and containers belong to the operator's account at the provider: a client must not use their
 * ids.
 */
function refuseStored(raw: RawObject, path: string): void {
  const container = field(raw, 'container')
  const stored =
    field(raw, 'vector_store_ids') !== undefined
      ? 'vector_store_ids'
      : typeof container === 'string'
        ? 'container'
        : isObject(container) && field(container, 'file_ids') !== undefined
          ? 'container.file_ids'
          : null
  if (stored !== null) throw invalidInput(`${path}.${stored}`, 'nothing is stored here that an id could name')
}

/** `tool_choice` of a Responses request, in the form of Responses; null = not given. */
function parseInputToolChoice(body: RawObject): string | RawObject | null {
  const choice = field(body, 'tool_choice')
  if (choice === undefined) return null
  if (choice === 'none' || choice === 'auto' || choice === 'required') return choice
  const type = isObject(choice) ? field(choice, 'type') : undefined
  if (!isObject(choice) || typeof type !== 'string' || type === '') throw invalidInput('tool_choice', CHOICE)
  if (type !== 'function') return copyObject(choice, 'tool_choice')
  const name = field(choice, 'name')
  const namespace = field(choice, 'namespace')
  if (typeof name !== 'string' || name === '') throw invalidInput('tool_choice', CHOICE)
  return { type, name, ...(typeof namespace === 'string' ? { namespace } : {}) }
}

/** The tool that must be called, if a model that knows only functions cannot call it. */
function demandedTool(choice: string | RawObject | null, tools: readonly RawObject[]): DemandedTool | null {
  if (choice === null || choice === 'none' || choice === 'auto') return null
  if (choice === 'required') return onlyHosted(tools, 'tool_choice')
  if (typeof choice === 'string') return null
  if (choice['type'] !== 'allowed_tools')
    return originOf(choiceAsTool(choice), null) === null
      ? { path: 'tool_choice.type', type: quoted(choice['type']) }
      : null
  const allowed: readonly unknown[] = Array.isArray(choice['tools']) ? choice['tools'] : []
  return choice['mode'] === 'required' ? onlyHosted(allowed.filter(isObject), 'tool_choice.tools') : null
}

function onlyHosted(tools: readonly RawObject[], path: string): DemandedTool | null {
  const [first] = tools
  return first !== undefined && tools.every(isHosted) ? { path, type: quoted(first['type']) } : null
}
