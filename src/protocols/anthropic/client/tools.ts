import type { ChatRequest, ChatTool } from '../../../kinds/chat/request.ts'
import {
  booleanField,
  copyObject,
  field,
  invalidInput,
  isObject,
  objectField,
  quoted,
  stringField,
  type RawObject,
  wordOf,
} from '../../../kinds/fields/body-fields.ts'
import type { ReadingNotes, ServerTools } from './request.ts'

/** Tools that the client runs and Anthropic describes: other models get functions with these parameters. */
const KNOWN: readonly { readonly prefix: string; readonly description: string; readonly parameters: RawObject }[] = [
  {
    prefix: 'bash_',
    description: 'Runs a command in a shell that stays open.',
    parameters: {
      type: 'object',
      properties: { command: { type: 'string' }, restart: { type: 'boolean', description: 'Starts a new shell.' } },
    },
  },
  {
    prefix: 'text_editor_',
    description: 'Views, creates and edits files.',
    parameters: {
      type: 'object',
      properties: {
        command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert'] },
        path: { type: 'string' },
        file_text: { type: 'string', description: 'For create.' },
        old_str: { type: 'string', description: 'For str_replace: occurs once in the file.' },
        new_str: { type: 'string', description: 'For str_replace.' },
        insert_line: { type: 'integer', description: 'For insert: the line after which the text goes.' },
        insert_text: { type: 'string', description: 'For insert.' },
        view_range: { type: 'array', items: { type: 'integer' }, description: 'For view: first and last line.' },
      },
      required: ['command', 'path'],
    },
  },
]
/** Other tools that the client runs; they have no form for another provider. */
const CLIENT_RUN = /^(?:memory|computer|browser)_/
/** The most tokens with which a provider describes each such tool to the model. */
const DESCRIPTION_TOKENS_MAX = 8_192
/** The number of calls that a provider-run tool may make if the request gives none. */
const CALLS_MAX_DEFAULT = 8
const CALLS_MAX = 128
const CHOICES = "must be {type: 'auto' | 'any' | 'none'} or {type: 'tool', name}"

export interface ReadTools {
  readonly functions: readonly ChatTool[] | null
  readonly server: ServerTools | null
}

/** Reads `tools`: functions, tools that Anthropic describes, and tools that Anthropic runs. */
export function parseTools(body: RawObject, notes: ReadingNotes): ReadTools {
  const list = field(body, 'tools') ?? []
  if (!Array.isArray(list)) throw invalidInput('tools', 'must be an array')
  const functions: ChatTool[] = []
  const types: string[] = []
  let callsMax = 0
  let searchesMax = 0
  for (const [index, tool] of list.entries()) {
    const path = `tools[${index}]`
    if (!isObject(tool)) throw invalidInput(path, 'must be an object')
    const type = stringField(tool, 'type', `${path}.type`) ?? 'custom'
    if (type === 'custom') functions.push(functionOf(tool, path, notes))
    else {
      const known = KNOWN.find(({ prefix }) => type.startsWith(prefix))
      notes.toolTokens += DESCRIPTION_TOKENS_MAX
      if (known !== undefined) functions.push(knownFunction(tool, path, known))
      else {
        notes.nativeOnly ??= { path, type: quoted(type) }
        if (CLIENT_RUN.test(type)) continue
        types.push(type)
        const most = Math.min(wholeOf(field(tool, 'max_uses')) ?? CALLS_MAX_DEFAULT, CALLS_MAX)
        callsMax += most
        if (isWebSearch(type)) searchesMax += most
      }
    }
  }
  return {
    functions: functions.length === 0 ? null : functions,
    server: types.length === 0 ? null : { callsMax, searchesMax, types: [...new Set(types)] },
  }
}

export function isWebSearch(type: string): boolean {
  return type.startsWith('web_search_')
}

/** Whether a tool of this type costs only its tokens, because the client runs it. */
export function isRunByClient(type: unknown): boolean {
  if (type === undefined || type === 'custom') return true
  return typeof type === 'string' && (CLIENT_RUN.test(type) || KNOWN.some(({ prefix }) => type.startsWith(prefix)))
}

/** The most calls of a provider-run tool, as sent; null = this tool has no such field. */
export function usesMax(tool: RawObject): number | null {
  const type = wordOf(field(tool, 'type'))
  if (!/^web_(?:search|fetch)_/.test(type)) return null
  return Math.min(wholeOf(field(tool, 'max_uses')) ?? CALLS_MAX_DEFAULT, CALLS_MAX)
}

function functionOf(tool: RawObject, path: string, notes: ReadingNotes): ChatTool {
  const name = nameOf(tool, path)
  const description = stringField(tool, 'description', `${path}.description`)
  const schema = objectField(tool, 'input_schema', `${path}.input_schema`)
  if (schema === undefined) throw invalidInput(`${path}.input_schema`, 'is required')
  const strict = booleanField(tool, 'strict', `${path}.strict`)
  for (const hint of ['defer_loading', 'input_examples', 'allowed_callers', 'cache_control'])
    if (field(tool, hint) !== undefined) notes.untranslated.add(`tools.${hint}`)
  return {
    type: 'function',
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: copyObject(schema, `${path}.input_schema`),
      ...(strict === undefined ? {} : { strict }),
    },
  }
}

function knownFunction(
  tool: RawObject,
  path: string,
  { description, parameters }: { readonly description: string; readonly parameters: RawObject },
): ChatTool {
  return { type: 'function', function: { name: nameOf(tool, path), description, parameters } }
}

function nameOf(tool: RawObject, path: string): string {
  const name = stringField(tool, 'name', `${path}.name`)
  if (name === undefined || name === '') throw invalidInput(`${path}.name`, 'is required')
  return name
}

function wholeOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 ? value : null
}

export interface ReadChoice {
  readonly choice: ChatRequest['toolChoice']
  /** false = one call at a time; null = not given. */
  readonly parallel: false | null
}

/** Reads `tool_choice`. */
export function parseToolChoice(body: RawObject, notes: ReadingNotes): ReadChoice {
  const raw = objectField(body, 'tool_choice')
  if (raw === undefined) return { choice: null, parallel: null }
  const single = booleanField(raw, 'disable_parallel_tool_use', 'tool_choice.disable_parallel_tool_use')
  const parallel = single === true ? false : null
  const type = field(raw, 'type')
  switch (type) {
    case 'auto':
      return { choice: 'auto', parallel }
    case 'none':
      return { choice: 'none', parallel }
    case 'any':
      return { choice: 'required', parallel }
    case 'tool': {
      const name = field(raw, 'name')
      if (typeof name !== 'string' || name === '') throw invalidInput('tool_choice.name', 'is required')
      return { choice: { type: 'function', function: { name } }, parallel }
    }
    default:
      if (typeof type !== 'string') throw invalidInput('tool_choice', CHOICES)
      notes.nativeOnly ??= { path: 'tool_choice.type', type: quoted(type) }
      return { choice: null, parallel }
  }
}
