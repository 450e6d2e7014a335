import { ownValue } from '../../../base/own-value.ts'
import type { Endpoint } from '../../../catalog/catalog.ts'
import { EFFORTS, type Quirks, type ReasoningForm, type WordRule } from '../../../catalog/quirks.ts'
import type { ChatMessage, ChatRequest, ChatTool, ChatToolCall } from '../../../kinds/chat/request.ts'
import { reasoningWish } from '../../answers/reasoning-wish.ts'
import { functionsState, toolInput } from '../../answers/tool-calls.ts'
import { claudeLeaves, toolWishOf } from '../../models/claude-format.ts'
import { CLAUDE_TRAITS, EFFORT_LEAST, thinksUnasked } from '../../models/claude-traits.ts'
import { GEMINI_TRAITS, geminiLeaves } from '../../models/gemini-traits.ts'
import { CONTINUE, PREFILL, wordsTold } from '../../models/turns.ts'
import { type RawJson, objectOf, parseJson } from '../../wire/raw-json.ts'

/** Forms that have no efforts. */
const SWITCHES: readonly ReasoningForm[] = ['thinking', 'enable_thinking', 'template']
const JSON_INSTRUCTION: ChatMessage = { role: 'system', content: 'Answer with a JSON object and nothing else.' }
/** Words whose value is a map of schemas, keyed by the client's own names. */
const MAPS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
])
/** Words whose value is no schema. */
const DATA: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'example', 'examples', 'required'])

/** A request in the form that a service and its model accept, and the parts that were changed, by chat's names. */
export interface Fitted {
  readonly request: ChatRequest
  readonly changed: ReadonlySet<string>
  /** The messages of `request` before and after the client's own. */
  readonly before: readonly ChatMessage[]
  readonly after: readonly ChatMessage[]
}

/** The request for an endpoint: the same request if neither its service nor its model has a quirk that affects it. */
export function fittedRequest(
  request: ChatRequest,
  { dialect: quirks, upstreamModel }: Pick<Endpoint, 'dialect' | 'upstreamModel'>,
): Fitted {
  const fit = modelFit(request, upstreamModel)
  const changed = new Set(fit?.changed)
  const { before = [], after = [], parameters = request.parameters, toolChoice = request.toolChoice } = fit ?? {}
  const tools = toolsFor(request.tools, quirks, changed)
  const responseFormat = formatFor(request.responseFormat, quirks, changed)
  const leading = [...before]
  if (quirks.jsonWord && responseFormat?.['type'] === 'json_object' && !request.messages.some(saysJson)) {
    leading.unshift(JSON_INSTRUCTION)
    changed.add('messages.system')
  }
  if (quirks.tools === 'functions' && losesChoice(request)) changed.add('tool_choice')
  for (const [name, value] of Object.entries(quirks.fixed ?? {})) {
    const given = givenOf(request, name)
    if (given !== undefined && given !== value) changed.add(name)
  }
  for (const name of lostReasoning(parameters, quirks)) changed.add(name)
  const isSame = fit === null && tools === request.tools && responseFormat === request.responseFormat
  const added = leading.length + after.length
  const messages = added === 0 ? request.messages : [...leading, ...request.messages, ...after]
  return {
    request: isSame && added === 0 ? request : { ...request, tools, responseFormat, messages, parameters, toolChoice },
    changed,
    before: leading,
    after,
  }
}

/** The tokens for thinking that a service is asked for; null = none, so that the service's default applies. */
export function thinkingBudget(
  parameters: ChatRequest['parameters'],
  { reasoning, reasoningBudgets: budgets }: Pick<Quirks, 'reasoning' | 'reasoningBudgets'>,
): number | null {
  const { effort, budget } = reasoningWish(parameters)
  if (reasoning === 'template' || (reasoning === 'thinking' && budgets === null)) return null
  if (budget !== null || effort === null || budgets === null) return budget
  const listed = EFFORTS.filter((name) => ownValue(budgets, name) !== undefined)
  const wanted = EFFORTS.findIndex((name) => name === effort)
  const nearest = listed.findLast((name) => EFFORTS.indexOf(name) <= wanted) ?? listed[0]
  return nearest === undefined ? null : (budgets[nearest] ?? null)
}

/** Parameters that a form which only switches thinking cannot express. */
function lostReasoning(parameters: ChatRequest['parameters'], quirks: Quirks): readonly string[] {
  const { effort, budget } = reasoningWish(parameters)
  const isSwitch = quirks.reasoning !== null && SWITCHES.includes(quirks.reasoning)
  if (!isSwitch || thinkingBudget(parameters, quirks) !== null) return []
  return [...(effort === null ? [] : ['reasoning.effort']), ...(budget === null ? [] : ['reasoning.max_tokens'])]
}

/** Whether the service is asked for a stream. Qwen's thinking models refuse to think in a plain answer. */
export function asksStream({ stream, parameters }: ChatRequest, quirks: Quirks): boolean {
  if (stream || quirks.stream === 'always') return true
  return quirks.reasoning === 'enable_thinking' && reasoningWish(parameters).thinks !== false
}

function givenOf({ parameters, toolChoice, responseFormat }: ChatRequest, name: string): unknown {
  if (name === 'tool_choice') return toolChoice ?? undefined
  if (name === 'response_format') return responseFormat ?? undefined
  return ownValue(parameters, name)
}

function saysJson(message: ChatMessage): boolean {
  return /json/i.test(textContent(message))
}

function toolsFor(tools: ChatRequest['tools'], quirks: Quirks, changed: Set<string>): ChatRequest['tools'] {
  if (tools === null || (quirks.strict === 'each' && quirks.schemaWords === null)) return tools
  const given = tools.map((tool) => tool.function)
  const fitted = fittedFunctions(given, quirks, changed)
  // Only `strict` and the words of schemas differ.
  return fitted === given ? tools : tools.map((tool, at) => ({ ...tool, function: fitted[at] as typeof tool.function }))
}

/** Declarations of functions in the form that a service accepts; the same list if the service has no such quirk. */
export function fittedFunctions(
  declared: readonly RawJson[],
  { strict, schemaWords }: Pick<Quirks, 'strict' | 'schemaWords'>,
  changed: Set<string>,
): readonly RawJson[] {
  const count = declared.filter((one) => one['strict'] === true).length
  let fitted = declared
  if (strict === 'all_or_none' && count < declared.length) {
    if (count > 0) changed.add('tools.strict')
    fitted = fitted.map(({ strict: _one, ...rest }) => rest)
  }
  if (schemaWords === null) return fitted
  return fitted.map((one) => {
    const schema = objectOf(one['parameters'])
    return schema === null ? one : { ...one, parameters: schemaWithout(schema, schemaWords, noted(changed, 'tools')) }
  })
}

type WordRules = Readonly<Record<string, WordRule>>

function formatFor(
  format: ChatRequest['responseFormat'],
  quirks: Quirks,
  changed: Set<string>,
): ChatRequest['responseFormat'] {
  const described = objectOf(format?.['json_schema'])
  if (format === null || described === null) return format
  const fitted = fittedFormat(described, quirks, changed)
  return fitted === described ? format : { ...format, json_schema: fitted }
}

/** The description of an answer's form, with its `schema`, in the form that a service accepts. */
export function fittedFormat(
  described: RawJson,
  { schemaWords }: Pick<Quirks, 'schemaWords'>,
  changed: Set<string>,
): RawJson {
  const schema = objectOf(described['schema'])
  if (schemaWords === null || schema === null) return described
  return { ...described, schema: schemaWithout(schema, schemaWords, noted(changed, 'response_format')) }
}

function noted(changed: Set<string>, of: string): (word: string) => void {
  return (word) => changed.add(`${of}.${word}`)
}

/** A schema without the words that a service refuses; words with the rule `describe` are moved into the description. */
function schemaWithout(schema: RawJson, words: WordRules, note: (word: string) => void): RawJson {
  const kept: Record<string, unknown> = {}
  const told: Record<string, unknown> = {}
  for (const [word, value] of Object.entries(schema)) {
    const rule = ownValue(words, word)
    if (rule !== undefined) note(word)
    if (rule === 'describe') told[word] = value
    if (rule === undefined) kept[word] = within(word, value, words, note)
  }
  if (Object.keys(told).length === 0) return kept
  return { ...kept, description: wordsTold(kept['description'], told) }
}

function within(word: string, value: unknown, words: WordRules, note: (word: string) => void): unknown {
  if (DATA.has(word)) return value
  if (Array.isArray(value)) return value.map((item: unknown) => within('', item, words, note))
  const object = objectOf(value)
  if (object === null) return value
  if (!MAPS.has(word)) return schemaWithout(object, words, note)
  return Object.fromEntries(Object.entries(object).map(([name, inner]) => [name, within('', inner, words, note)]))
}

/** The changes of a request for a model, whichever service of this protocol serves it. */
interface ModelFit extends Pick<ChatRequest, 'parameters' | 'toolChoice'> {
  /** The changed parts, by chat's names. */
  readonly changed: readonly string[]
  /** Messages before and after the client's. */
  readonly before: readonly ChatMessage[]
  readonly after: readonly ChatMessage[]
}

/** null = the model accepts the request unchanged, as do all models without a row of traits. */
function modelFit(request: ChatRequest, upstreamModel: string): ModelFit | null {
  const claude = CLAUDE_TRAITS.of(upstreamModel)
  const gemini = claude === null ? GEMINI_TRAITS.of(upstreamModel) : null
  const { parameters, toolChoice } = request
  const left =
    claude !== null
      ? // The service itself decides on forms of answers here.
        claudeLeaves(request, claude, { decodes: 'all', forcesTools: claude.forcesTools })
      : gemini !== null
        ? geminiLeaves(request, gemini)
        : []
  const changed = left.filter((name) => name === PREFILL || name === 'tool_choice' || parameters[name] !== undefined)
  if (changed.length === 0) return null
  const kept = Object.entries(parameters).filter(([name]) => !changed.includes(name))
  const least = claude !== null && thinksUnasked(parameters, claude) ? [['reasoning_effort', EFFORT_LEAST]] : []
  const { choice, words } = toolWishOf(toolChoice, claude ?? { forcesTools: true })
  return {
    changed,
    parameters: Object.fromEntries([...kept, ...least]),
    toolChoice: choice,
    before: words === null ? [] : [{ role: 'system', content: words }],
    after: changed.includes(PREFILL) ? [{ role: 'user', content: CONTINUE }] : [],
  }
}

/**
 * A conversation for a service of the older protocol (`dialect.tools: functions`). There a message has one call, whose
 * arguments are an object; its result, which is also an object, must follow directly.
 */
export function functionMessages(messages: readonly ChatMessage[]): readonly Record<string, unknown>[] {
  const results = new Map<string, ChatMessage>()
  for (const message of messages) if (message.tool_call_id !== undefined) results.set(message.tool_call_id, message)
  const taken = new Set<ChatMessage>()
  return messages.flatMap((message) => {
    const { role, content, name, tool_calls: calls = [] } = message
    if (taken.has(message)) return []
    // The result of a call that is not in the conversation.
    if (role === 'tool') return [resultOf(message, name ?? message.tool_call_id ?? '')]
    if (calls.length === 0) return [{ role, content: content ?? '', ...(name === undefined ? {} : { name }) }]
    return calls.flatMap((call, index) => {
      const result = results.get(call.id)
      if (result !== undefined) taken.add(result)
      const state = functionsState(call.id)
      return [
        {
          role,
          content: index === 0 ? (content ?? '') : '',
          function_call: calledFunction(call),
          ...(state === null ? {} : { functions_state_id: state }),
        },
        ...(result === undefined ? [] : [resultOf(result, call.function.name)]),
      ]
    })
  })
}

function calledFunction({ function: { name, arguments: text } }: ChatToolCall): Record<string, unknown> {
  return { name, arguments: toolInput(text, `messages: the arguments of ${name}`) }
}

function resultOf(message: ChatMessage, name: string): Record<string, unknown> {
  const text = textContent(message)
  const isObject = objectOf(parseJson(Buffer.from(text))) !== null
  return { role: 'function', name, content: isObject ? text : JSON.stringify({ result: text }) }
}

/** The text of a message; its parts become lines. */
export function textContent({ content }: ChatMessage): string {
  return typeof content === 'string'
    ? content
    : (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('\n')
}

/**
 * The functions and the choice. The protocol cannot require a call of any function; if there is only one, a call of
 * that one is required.
 */
export function functionFields({ tools, toolChoice }: ChatRequest, takesChoice: boolean): Record<string, unknown> {
  const [only, ...others] = tools ?? []
  if (tools === null || only === undefined) return {}
  const named = typeof toolChoice === 'string' ? null : (toolChoice?.function.name ?? null)
  const demanded = named ?? (toolChoice === 'required' && others.length === 0 ? only.function.name : null)
  return {
    functions: tools.map(asFunction),
    ...(takesChoice && toolChoice !== null
      ? { function_call: demanded === null ? (toolChoice === 'none' ? 'none' : 'auto') : { name: demanded } }
      : {}),
  }
}

function asFunction({ function: { name, description, parameters } }: ChatTool): Record<string, unknown> {
  return {
    name,
    ...(description === undefined ? {} : { description }),
    parameters: parameters ?? { type: 'object', properties: {} },
  }
}

/** Whether the choice of tools that is sent is weaker than the client's. */
function losesChoice({ tools, toolChoice }: ChatRequest): boolean {
  return toolChoice === 'required' && (tools?.length ?? 0) > 1
}
