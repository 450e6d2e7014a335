import type { ChatRequest, ChatTool } from '../../kinds/chat/request.ts'
import { UnsendableError } from '../ports/call.ts'
import { objectOf, textOf, type RawJson } from '../wire/raw-json.ts'
import { wordsTold, isPrefilled, PREFILL } from './turns.ts'
import { type ModelTraits, thinksUnasked } from './claude-traits.ts'

const TYPES: ReadonlySet<unknown> = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'])
const FORMATS: ReadonlySet<unknown> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
])
const LABELS: ReadonlySet<string> = new Set(['title', 'description', 'default', 'const', 'required'])
/** Words without which the rest of a schema would mean something else, so that no description can replace them. */
const NEEDED: ReadonlySet<string> = new Set([
  'type',
  '$ref',
  'items',
  'oneOf',
  'anyOf',
  'allOf',
  'properties',
  '$defs',
  'definitions',
])

/** Collects the words of a schema that its decoder refuses, and that are moved into descriptions. */
type MovedWords = Set<string>

/**
 * The schema in the form that constrained decoding accepts: every object is closed, which only narrows the answer. If
 * `moved` is given, a word that the decoder refuses (bounds, patterns, formats) is moved into the description of its
 * node, and added to `moved`. null = there is no such form: without `moved`, or if no description can replace the word
 * (open maps, references within definitions, schemas of several others).
 */
function constrainedSchema(schema: RawJson, moved: MovedWords | null = null): Record<string, unknown> | null {
  const isObject = schema['type'] === 'object' || (moved !== null && schema['type'] === undefined)
  return isObject ? nodeOf(schema['type'] === undefined ? { type: 'object', ...schema } : schema, true, moved) : null
}

function nodeOf(node: RawJson, refers: boolean, moved: MovedWords | null): Record<string, unknown> | null {
  const rebuilt: Record<string, unknown> = {}
  const told: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(node)) {
    if (keyword === '$schema') continue
    const kept = keywordOf(keyword, value, refers, moved)
    if (kept !== undefined) rebuilt[keyword === 'oneOf' ? 'anyOf' : keyword] = kept
    else if (moved === null || NEEDED.has(keyword)) return null
    else told[keyword] = value
  }
  const { type } = node
  const isObject = type === 'object' || (Array.isArray(type) && type.includes('object'))
  // An object without properties would be empty if it were closed: it was meant as an open map.
  if (isObject && node['properties'] === undefined) return null
  if (isObject || node['properties'] !== undefined) rebuilt['additionalProperties'] = false
  for (const keyword of Object.keys(told)) moved?.add(keyword)
  delete told['additionalProperties']
  return Object.keys(told).length === 0 ? rebuilt : { ...rebuilt, description: wordsTold(node['description'], told) }
}

/** undefined = the word is refused. `refers` is false within definitions, so that no schema is recursive. */
function keywordOf(keyword: string, value: unknown, refers: boolean, moved: MovedWords | null): unknown {
  if (LABELS.has(keyword)) return value
  switch (keyword) {
    case 'type':
      return (Array.isArray(value) ? value : [value]).every((type) => TYPES.has(type)) ? value : undefined
    case 'enum':
      return Array.isArray(value) && value.every((item) => typeof item !== 'object' || item === null)
        ? value
        : undefined
    case 'format':
      return FORMATS.has(value) ? value : undefined
    case 'additionalProperties':
      return value === false ? value : undefined
    case '$ref':
      return refers && typeof value === 'string' && /^#\/(\$defs|definitions)\/[^/]+$/.test(value) ? value : undefined
    case 'items':
      return childOf(value, refers, moved)
    case 'oneOf':
      // An answer that matches one of several closed objects seldom matches another.
      return moved === null ? undefined : childList(value, refers, moved)
    case 'anyOf':
      return childList(value, refers, moved)
    case 'properties':
      return childrenOf(value, refers, moved)
    case '$defs':
    case 'definitions':
      return childrenOf(value, false, moved)
    default:
      return undefined
  }
}

function childList(value: unknown, refers: boolean, moved: MovedWords | null): readonly unknown[] | undefined {
  return Array.isArray(value) ? listOrRefused(value.map((child) => childOf(child, refers, moved))) : undefined
}

function childOf(value: unknown, refers: boolean, moved: MovedWords | null): unknown {
  const child = objectOf(value)
  return child === null ? undefined : (nodeOf(child, refers, moved) ?? undefined)
}

function childrenOf(value: unknown, refers: boolean, moved: MovedWords | null): unknown {
  const children = objectOf(value)
  if (children === null) return undefined
  const rebuilt: Record<string, unknown> = {}
  for (const [name, child] of Object.entries(children)) {
    const kept = childOf(child, refers, moved)
    if (kept === undefined) return undefined
    rebuilt[name] = kept
  }
  return rebuilt
}

function listOrRefused(list: readonly unknown[]): readonly unknown[] | undefined {
  return list.includes(undefined) ? undefined : list
}

/** How a model can be held to a form of its answer. */
export interface AnswerMeans {
  /** Schemas that its decoder accepts: all, those of `constrainedSchema`, or none. */
  readonly decodes: 'all' | 'closed' | 'none'
  /** Whether the model can be made to call a tool. */
  readonly forcesTools: boolean
}

/** The way in which a `response_format` is requested; the protocols have none for JSON without a schema. */
export type AnswerFormat =
  | { readonly kind: 'text' }
  | { readonly kind: 'words'; readonly text: string }
  | {
      readonly kind: 'decoding'
      readonly name: string
      readonly description: string
      readonly schema: RawJson
      /** Words of the client's schema that are only in descriptions. */
      readonly moved: ReadonlySet<string>
    }
  /** A tool that must be called, whose input is the answer. Any object schema will do. */
  | { readonly kind: 'tool'; readonly name: string; readonly description: string; readonly schema: RawJson }

const ANSWER_TOOL = 'give_answer'
export const JSON_ONLY =
  'Answer with one valid JSON object and nothing else: no words before or after it, and no Markdown fence.'
/** The most tools that can be constrained at once. */
const STRICT_TOOLS_MAX = 20
const NOTHING_MOVED: ReadonlySet<string> = new Set()

export function answerFormatOf(
  { responseFormat, tools }: Pick<ChatRequest, 'responseFormat' | 'tools'>,
  { decodes, forcesTools }: AnswerMeans,
): AnswerFormat {
  if (responseFormat === null) return { kind: 'text' }
  if (responseFormat['type'] !== 'json_schema') return { kind: 'words', text: JSON_ONLY }
  const format = objectOf(responseFormat['json_schema']) ?? {}
  const schema = objectOf(format['schema']) ?? {}
  const description = textOf(format['description']) ?? ''
  const decoded = (accepted: RawJson, moved: ReadonlySet<string>): AnswerFormat => ({
    kind: 'decoding',
    name: textOf(format['name']) ?? '',
    description,
    schema: accepted,
    moved,
  })
  if (decodes === 'all') return decoded(schema, NOTHING_MOVED)
  const exact = decodes === 'none' ? null : constrainedSchema(schema)
  if (exact !== null) return decoded(exact, NOTHING_MOVED)
  if (!forcesTools) {
    const moved: MovedWords = new Set()
    const told = decodes === 'none' ? null : constrainedSchema(schema, moved)
    if (told !== null) return decoded(told, moved)
    return { kind: 'words', text: `${JSON_ONLY} It must fit this JSON schema: ${JSON.stringify(schema)}` }
  }
  if ((schema['type'] ?? 'object') !== 'object')
    throw new UnsendableError("response_format.json_schema.schema: this provider needs a schema whose type is 'object'")
  return {
    kind: 'tool',
    name: freeName((tools ?? []).map((tool) => tool.function.name)),
    description: `Gives the final answer${description === '' ? '' : `: ${description}`}`,
    schema: objectSchema(schema),
  }
}

/** A schema for the input of a tool, which is always an object; a client's schema need not say so. */
function objectSchema(schema: RawJson): RawJson {
  return schema['type'] === 'object' ? schema : { type: 'object', ...schema }
}

function freeName(taken: readonly string[]): string {
  let name = ANSWER_TOOL
  while (taken.includes(name)) name += '_'
  return name
}

/** A tool as both protocols of these models declare it. */
export interface DeclaredTool {
  readonly name: string
  readonly description: string | undefined
  readonly schema: RawJson
  /** Whether its input is constrained to the schema. */
  readonly strict: boolean
  readonly moved: ReadonlySet<string>
}

/**
 * Declares tools. `strict` stays if the schema can be enforced; otherwise it is dropped, as for providers that do not
 * know it.
 */
export function declaredTools(tools: readonly ChatTool[], { decodes, forcesTools }: AnswerMeans): DeclaredTool[] {
  const canBeStrict =
    decodes === 'closed' && tools.filter((tool) => tool.function.strict === true).length <= STRICT_TOOLS_MAX
  return tools.map(({ function: { name, description, parameters = {}, strict } }) => {
    const schema = objectSchema(parameters)
    const moved: MovedWords = new Set()
    const constrained = strict === true && canBeStrict ? constrainedSchema(schema, forcesTools ? null : moved) : null
    return {
      name,
      description,
      schema: constrained ?? schema,
      strict: constrained !== null,
      moved: constrained === null ? NOTHING_MOVED : moved,
    }
  })
}

/** The choice of tools that is sent, and the words for a model that cannot be forced; null = none. */
export interface ToolWish {
  readonly choice: ChatRequest['toolChoice']
  readonly words: string | null
}

export function toolWishOf(
  choice: ChatRequest['toolChoice'],
  { forcesTools }: Pick<AnswerMeans, 'forcesTools'>,
): ToolWish {
  if (forcesTools || choice === null || choice === 'auto' || choice === 'none') return { choice, words: null }
  const call = typeof choice === 'object' ? `the tool ${JSON.stringify(choice.function.name)}` : 'one of the tools'
  return { choice: 'auto', words: `Call ${call} now: your next message must be this call, with no words before it.` }
}

/** Parts of a request that a Claude model does not get unchanged, for `Adapter.leaves`. */
export function claudeLeaves(request: ChatRequest, traits: ModelTraits, means: AnswerMeans): readonly string[] {
  const { parameters, toolChoice, messages } = request
  const { thinking, samplingParameters, takesPrefill } = traits
  return [
    ...(thinking === 'none' || thinksUnasked(parameters, traits) ? ['reasoning', 'reasoning_effort'] : []),
    ...(samplingParameters === 0 ? ['temperature', 'top_p', 'top_k'] : []),
    ...(samplingParameters === 1 && parameters['temperature'] !== undefined ? ['top_p'] : []),
    ...(toolWishOf(toolChoice, means).words === null ? [] : ['tool_choice']),
    ...(!takesPrefill && isPrefilled(messages) ? [PREFILL] : []),
    ...(means.forcesTools ? [] : movedWords(request, means)),
  ]
}

/**
 * The parts of schemas that are sent in words: a whole schema that no decoder accepts, and single words, also of strict
 * tools, in descriptions.
 */
function movedWords(request: ChatRequest, means: AnswerMeans): readonly string[] {
  const format = answerFormatOf(request, means)
  const left = format.kind === 'decoding' ? [...format.moved].map((word) => `response_format.${word}`) : []
  if (format.kind === 'words' && request.responseFormat?.['type'] === 'json_schema') left.push('response_format')
  for (const { moved } of declaredTools(request.tools ?? [], means))
    for (const word of moved) left.push(`tools.${word}`)
  return left
}
