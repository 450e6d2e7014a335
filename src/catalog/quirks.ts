import { either, flag, nullable, number, oneOf } from '../base/schema.ts'
import { field, NAME as TEXT, type EntryField, type EntryOf } from './entry-fields.ts'
import type { FieldReader } from './field-reader.ts'

/**
 * `effort` = `reasoning_effort`, `object` = OpenRouter's `reasoning {…}`, `thinking` = `thinking {type}`,
 * `enable_thinking` = Qwen's with `thinking_budget`, `template` = the same within `chat_template_kwargs`.
 */
export const REASONING_FORMS = ['effort', 'object', 'thinking', 'enable_thinking', 'template'] as const
export type ReasoningForm = (typeof REASONING_FORMS)[number]
/** In ascending order. */
export const EFFORTS = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
/** The field that carries thoughts of earlier turns; `none` = thoughts are not sent back. */
export const REASONING_ECHOES = ['reasoning_content', 'reasoning', 'none'] as const
export type ReasoningEcho = (typeof REASONING_ECHOES)[number]
/** null = the parameter is never sent. */
export type FixedValue = string | number | boolean | null
/** `all_or_none` = one tool that is not strict makes all tools not strict. */
export type StrictRule = 'each' | 'all_or_none'
/** The treatment of a word of a JSON schema: it is left out, or moved into the description of its node. */
export type WordRule = 'drop' | 'describe'
/** `always` = a plain answer is collected from a stream. */
export type StreamRule = 'as_asked' | 'always'
/** `functions` = `functions` and `function_call` with arguments as an object, as GigaChat has them. */
export type ToolForm = 'tools' | 'functions'
/** `first` = one message of the role `system`, before all others. */
export type SystemPlace = 'anywhere' | 'first'

export interface Quirks {
  /** null = decided by the parameters that the endpoint lists; OpenAI's `reasoning_effort` where it lists none. */
  readonly reasoning: ReasoningForm | null
  /** Tokens for thinking by effort, of forms that know no efforts; null = an effort only switches thinking on. */
  readonly reasoningBudgets: Readonly<Record<string, number>> | null
  /** null = `reasoning` and `reasoning_details` if the endpoint lists `reasoning`. */
  readonly reasoningEcho: ReasoningEcho | null
  /** The text sent for a turn that had no thought. */
  readonly reasoningBlank: string
  /** Fixed values by the parameter's name on the wire; null = none. */
  readonly fixed: Readonly<Record<string, FixedValue>> | null
  readonly strict: StrictRule
  /** null = schemas are sent unchanged. */
  readonly schemaWords: Readonly<Record<string, WordRule>> | null
  /** Whether the service refuses `json_object` unless a message has the word JSON. */
  readonly jsonWord: boolean
  readonly stream: StreamRule
  readonly tools: ToolForm
  readonly system: SystemPlace
  /** Whether messages can be sent as the client wrote them. */
  readonly takesMessages: boolean
}

const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
const WORD = /^[$A-Za-z][A-Za-z0-9$_-]{0,63}$/
const NAMES_MAX = 64
/** Parameters on which our request, its limits and its price depend; they cannot be fixed. */
const OWN: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'n',
  'tools',
  'functions',
  'service_tier',
  'web_search_options',
])

const TOKENS = field.whole(1)
const WORD_RULES: readonly WordRule[] = ['drop', 'describe']

/** The differences of a service or a model from OpenAI's chat, as in the catalogue file. */
export const QUIRK_FIELDS = {
  reasoning: field.oneOf(REASONING_FORMS),
  // The cast is true because each effort has a number of tokens.
  reasoning_budgets: field.map(Object.fromEntries(EFFORTS.map((effort) => [effort, TOKENS]))) as EntryField<
    Readonly<Record<string, number>>
  >,
  reasoning_echo: field.oneOf(REASONING_ECHOES),
  reasoning_blank: field.text(),
  fixed: field.open(nullable(either(number(), either(TEXT, flag()))), fixedOf),
  strict: field.oneOf<StrictRule>(['each', 'all_or_none']),
  schema_words: field.open(nullable(oneOf(WORD_RULES)), wordsOf),
  json_word: field.flag(),
  stream: field.oneOf<StreamRule>(['as_asked', 'always']),
  tools: field.oneOf<ToolForm>(['tools', 'functions']),
  system: field.oneOf<SystemPlace>(['anywhere', 'first']),
}
export type QuirksEntry = EntryOf<typeof QUIRK_FIELDS>

function fixedOf(given: FieldReader): Readonly<Record<string, FixedValue>> {
  const fixed: Record<string, FixedValue> = {}
  for (const name of namesIn(given)) {
    if (!NAME.test(name) || OWN.has(name)) given.problem(name, 'parameter_name', { given: name })
    const node = given.node(name)
    if (node === null) fixed[name] = null
    else if (node.kind === 'boolean') fixed[name] = node.value
    else if (node.kind === 'number') fixed[name] = Number(node.text)
    else fixed[name] = given.text(name) ?? ''
  }
  return fixed
}

function wordsOf(given: FieldReader): Readonly<Record<string, WordRule>> {
  const words: Record<string, WordRule> = {}
  for (const name of namesIn(given)) {
    if (!WORD.test(name) || name === 'properties' || name === 'type')
      given.problem(name, 'parameter_name', { given: name }, `must be a word of JSON Schema, got '${name}'`)
    words[name] = given.oneOf(name, WORD_RULES) ?? 'drop'
  }
  return words
}

function namesIn(given: FieldReader): readonly string[] {
  const names = given.keys()
  if (names.length <= NAMES_MAX) return names
  given.problem('', 'items_most', { most: NAMES_MAX }, `must have at most ${NAMES_MAX} names`)
  return []
}

export function quirksOf(entry: QuirksEntry): Quirks {
  const {
    reasoning_echo: echo = null,
    reasoning_budgets: budgets = {},
    fixed = {},
    schema_words: words = {},
    tools = 'tools',
  } = entry
  const system = entry.system ?? (tools === 'functions' ? 'first' : 'anywhere')
  return {
    reasoning: entry.reasoning ?? null,
    reasoningBudgets: Object.keys(budgets).length === 0 ? null : Object.freeze({ ...budgets }),
    reasoningEcho: echo,
    reasoningBlank: entry.reasoning_blank ?? '',
    fixed: Object.keys(fixed).length === 0 ? null : Object.freeze({ ...fixed }),
    strict: entry.strict ?? 'each',
    schemaWords: Object.keys(words).length === 0 ? null : Object.freeze({ ...words }),
    jsonWord: entry.json_word ?? false,
    stream: entry.stream ?? 'as_asked',
    tools,
    system,
    takesMessages: tools === 'tools' && system === 'anywhere' && (echo === null || echo === 'none'),
  }
}
