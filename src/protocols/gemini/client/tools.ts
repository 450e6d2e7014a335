import { list, maybe, object, said, text } from '../../../base/schema.ts'
import type { ChatRequest, ChatTool } from '../../../kinds/chat/request.ts'
import {
  copyObject,
  invalidInput,
  isObject,
  quoted,
  type RawObject,
  copyJson,
} from '../../../kinds/fields/body-fields.ts'
import { listMember, member, objectMember, readMembers, textMember } from '../members.ts'

/** Names of the tools with which the provider searches the web. */
const SEARCHES: ReadonlySet<string> = new Set([
  'googleSearch',
  'google_search',
  'googleSearchRetrieval',
  'google_search_retrieval',
])

export function isSearch(name: string): boolean {
  return SEARCHES.has(name)
}

export interface GeminiTools {
  readonly tools: readonly ChatTool[] | null
  /** The bytes of declarations that only a provider of the protocol gets, besides those tools. */
  readonly unreadBytes: number
  readonly choice: ChatRequest['toolChoice']
  /** The name of the web search tool; null = none. */
  readonly search: string | null
  /** Other tools that the provider runs, which have no price. */
  readonly hosted: readonly string[]
}

export function toolsOf(body: RawObject): GeminiTools {
  const functions: ChatTool[] = []
  const hosted = new Set<string>()
  let declaredBytes = 0
  for (const [index, raw] of listMember(body, 'tools', 'tools').entries()) {
    const path = `tools[${index}]`
    if (!isObject(raw)) throw invalidInput(path, 'must be an object')
    for (const [place, declared] of listMember(raw, 'functionDeclarations', `${path}.functionDeclarations`).entries()) {
      functions.push(functionOf(declared, `${path}.functionDeclarations[${place}]`))
      declaredBytes += Buffer.byteLength(JSON.stringify(declared))
    }
    for (const name of hostedNames(raw)) hosted.add(name)
  }
  const { choice, allowed } = choiceOf(body)
  const offered = allowed === null ? functions : functions.filter(({ function: { name } }) => allowed.has(name))
  if (allowed !== null && offered.length === 0)
    throw invalidInput('toolConfig.functionCallingConfig.allowedFunctionNames', 'must name a declared function')
  return {
    tools: offered.length === 0 ? null : offered,
    unreadBytes: Math.max(0, declaredBytes - Buffer.byteLength(JSON.stringify(offered))),
    choice: offered.length === 0 ? null : choice,
    search: [...hosted].find(isSearch) ?? null,
    hosted: [...hosted].filter((name) => !isSearch(name)),
  }
}

function hostedNames(tool: RawObject): readonly string[] {
  return Object.keys(tool)
    .map((key) => key.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()))
    .filter((name) => name !== 'functionDeclarations' && member(tool, name) !== undefined)
}

function functionOf(raw: unknown, path: string): ChatTool {
  if (!isObject(raw)) throw invalidInput(path, 'must be an object')
  const name = textMember(raw, 'name', `${path}.name`) ?? ''
  if (name === '') throw invalidInput(`${path}.name`, 'is required')
  const description = textMember(raw, 'description', `${path}.description`)
  return {
    type: 'function',
    function: { name, ...(description === undefined ? {} : { description }), parameters: parametersOf(raw, path) },
  }
}

function parametersOf(raw: RawObject, path: string): Readonly<Record<string, unknown>> {
  const plain = objectMember(raw, 'parametersJsonSchema', `${path}.parametersJsonSchema`)
  if (plain !== undefined) return copyObject(plain, `${path}.parametersJsonSchema`)
  const schema = objectMember(raw, 'parameters', `${path}.parameters`)
  return schema === undefined ? {} : jsonSchemaOf(schema, `${path}.parameters`)
}

const CALLING = object({
  mode: maybe(text()),
  allowedFunctionNames: maybe(said(list(text()), 'must be an array of strings')),
})

/** `toolConfig`: if several functions are allowed, only those are offered. */
function choiceOf(body: RawObject): {
  readonly choice: ChatRequest['toolChoice']
  readonly allowed: ReadonlySet<string> | null
} {
  const path = 'toolConfig.functionCallingConfig'
  const config = objectMember(body, 'toolConfig', 'toolConfig')
  const calling = config === undefined ? undefined : objectMember(config, 'functionCallingConfig', path)
  if (calling === undefined) return { choice: null, allowed: null }
  const read = readMembers(CALLING, calling, `${path}.`)
  const mode = (read.mode ?? 'MODE_UNSPECIFIED').toUpperCase()
  const names = read.allowedFunctionNames ?? []
  const allowed = names.length === 0 ? null : new Set(names)
  const [only] = names
  switch (mode) {
    case 'ANY':
      return names.length === 1 && only !== undefined
        ? { choice: { type: 'function', function: { name: only } }, allowed: null }
        : { choice: 'required', allowed }
    case 'NONE':
      return { choice: 'none', allowed: null }
    case 'AUTO':
      return { choice: 'auto', allowed: null }
    case 'VALIDATED':
      return { choice: 'auto', allowed }
    case 'MODE_UNSPECIFIED':
      return { choice: null, allowed: null }
    default:
      throw invalidInput(`${path}.mode`, `'${quoted(mode)}' is not allowed. Allowed: AUTO, ANY, NONE, VALIDATED`)
  }
}

const DEPTH_MAX = 64
/** Keywords whose value is one schema, a list of schemas, or a map of schemas. */
const ONE = new Set(['items', 'additionalProperties', 'not', 'contains'])
const MANY = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions'])
/** Google's own keywords, which JSON Schema does not have. */
const DROPPED = new Set(['nullable', 'propertyOrdering', 'example'])
const COUNTS = new Set(['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'])

/** Converts a schema in Google's dialect (`type: OBJECT`, `nullable`) to JSON Schema. */
export function jsonSchemaOf(schema: RawObject, path: string, depth = 0): Record<string, unknown> {
  if (depth > DEPTH_MAX) throw invalidInput(path, `is nested deeper than ${DEPTH_MAX} levels`)
  const made: Record<string, unknown> = {}
  for (const key of Object.keys(schema)) {
    const name = key.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase())
    if (name === '__proto__' || DROPPED.has(name)) continue
    made[name] = valueOf(name, schema[key], path, depth + 1)
  }
  return schema['nullable'] === true ? orNull(made) : made
}

function valueOf(name: string, value: unknown, path: string, depth: number): unknown {
  const inner = (item: unknown): unknown => (isObject(item) ? jsonSchemaOf(item, path, depth) : copyJson(item, path))
  if (name === 'type') return typeof value === 'string' ? value.toLowerCase() : copyJson(value, path)
  // Counts are strings in Google's JSON.
  if (COUNTS.has(name) && typeof value === 'string' && /^\d{1,9}$/.test(value)) return Number(value)
  if (ONE.has(name)) return inner(value)
  if (MANY.has(name) && Array.isArray(value)) return value.map(inner)
  if (NAMED.has(name) && isObject(value)) {
    const named = Object.keys(value).filter((key) => key !== '__proto__')
    return Object.fromEntries(named.map((key) => [key, inner(value[key])]))
  }
  return copyJson(value, path)
}

function orNull(schema: Record<string, unknown>): Record<string, unknown> {
  const { type, enum: values } = schema
  if (typeof type !== 'string') return { anyOf: [schema, { type: 'null' }] }
  return { ...schema, type: [type, 'null'], ...(Array.isArray(values) ? { enum: [...values, null] } : {}) }
}
