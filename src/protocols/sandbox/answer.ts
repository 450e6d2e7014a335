import { finishReasonOf } from '../../kinds/answer/end.ts'
import type { FinishReason, UsageReport } from '../../kinds/chat/answer.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import { contentText, lastUserText, plainText, type SandboxScript } from './script.ts'
import { TokenReader } from '../answers/token-reader.ts'
import { listOf, objectOf } from '../wire/raw-json.ts'

/** The most values for one schema: otherwise a branching reference would double them at each level. */
const VALUES_MAX = 500
const DEPTH_MAX = 16
const ITEMS_MAX = 10
/** A text of each form that clients check. */
const FORMATS: ReadonlyMap<unknown, string> = new Map([
  ['date-time', '2026-01-02T03:04:05Z'],
  ['date', '2026-01-02'],
  ['email', 'sandbox@example.com'],
  ['uri', 'https://example.com/'],
  ['uuid', '00000000-0000-4000-8000-000000000000'],
])

/**
 * A value for a JSON Schema: required properties, each of its type, with `const`, `enum`, `format`, `minimum` and the
 * first alternative that is not null. Other keywords are ignored. `text` is used wherever any text is allowed.
 */
export function instanceOf(root: unknown, text: string): unknown {
  let left = VALUES_MAX
  const valueOf = (given: unknown, depth: number): unknown => {
    const schema = objectOf(given)
    left -= 1
    if (schema === null || left < 0 || depth > DEPTH_MAX) return text
    const { $ref: reference, anyOf, oneOf, type, properties } = schema
    if (typeof reference === 'string') return valueOf(named(root, reference), depth + 1)
    if ('const' in schema) return schema['const']
    const choices = listOf(schema['enum'])
    if (choices.length > 0) return choices[0]
    const alternatives = [...listOf(anyOf), ...listOf(oneOf)]
    if (alternatives.length > 0)
      return valueOf(alternatives.find((one) => objectOf(one)?.['type'] !== 'null') ?? alternatives[0], depth + 1)
    switch (
      Array.isArray(type) ? (type.find((name) => name !== 'null') ?? 'null') : (type ?? (properties && 'object'))
    ) {
      case 'object':
        // Made from pairs, so that a property named __proto__ is like any other.
        return Object.fromEntries(
          listOf(schema['required']).map((name) => [name, valueOf(ownOf(properties, String(name)), depth + 1)]),
        )
      case 'array': {
        const items = Math.min(ITEMS_MAX, Number(schema['minItems'] ?? 1))
        return Array.from({ length: left < 0 ? 0 : items }, () => valueOf(schema['items'], depth + 1))
      }
      case 'integer':
      case 'number':
        return schema['minimum'] ?? 1
      case 'boolean':
        return true
      case 'null':
        return null
      default:
        return FORMATS.get(schema['format']) ?? text
    }
  }
  return valueOf(root, 0)
}

/** The part of the root to which a reference such as `#/$defs/city` leads. */
function named(root: unknown, reference: string): unknown {
  const path = reference.startsWith('#') ? reference.split('/').slice(1, DEPTH_MAX) : []
  return path.reduce((node, name) => ownOf(node, name.replaceAll('~1', '/').replaceAll('~0', '~')), root)
}

function ownOf(value: unknown, name: string): unknown {
  const object = objectOf(value)
  return object !== null && Object.hasOwn(object, name) ? object[name] : undefined
}

const WORDS =
  'the sandbox answers every question with the same calm words so that a test can tell what it should see and what it should cost'.split(
    ' ',
  )
/** The number of characters of the answer that fill each text of a schema. */
const SAID_CHARS_MAX = 64
const BYTES_PER_TOKEN = 4
const MESSAGE_TOKENS = 4
const IMAGE_TOKENS = 85

/**
 * The whole answer, before it is cut into events. It depends only on the input, so that a test can know it beforehand.
 */
export interface SandboxAnswer {
  readonly reasoning: string
  /** Each event has one word. */
  readonly words: readonly string[]
  readonly toolCall: { readonly id: string; readonly name: string; readonly arguments: string } | null
  readonly native: string
  readonly finish: FinishReason | null
  readonly usage: UsageReport
}

export function sandboxAnswer(request: ChatRequest, script: SandboxScript, maxTokens: number | null): SandboxAnswer {
  const toolName = script.tool ?? forcedTool(request)
  const reasoning = wantsReasoning(request) ? 'The sandbox thinks for a moment. ' : ''
  const isEmpty = script.words === 0
  const full = isEmpty || toolName !== null ? [] : answerWords(request, script)
  const words = maxTokens === null ? full : full.slice(0, maxTokens)
  const toolCall =
    toolName === null || isEmpty
      ? null
      : { id: `call_sandbox_${toolName}`, name: toolName, arguments: toolArguments(request, toolName) }
  const native = toolCall === null ? (words.length < full.length ? 'length' : 'stop') : 'tool_calls'
  const output =
    words.length + textTokens(reasoning) + (toolCall === null ? 0 : textTokens(toolCall.arguments) + MESSAGE_TOKENS)
  return {
    reasoning: isEmpty ? '' : reasoning,
    words,
    toolCall,
    native: isEmpty ? '' : native,
    finish: isEmpty ? null : finishReasonOf(native, toolCall !== null),
    usage: usageOf(request, isEmpty ? 0 : output, isEmpty ? 0 : textTokens(reasoning)),
  }
}

/** Arguments that match the tool's schema; for a tool without properties, the input. */
function toolArguments(request: ChatRequest, name: string): string {
  const said = plainText(lastUserText(request)).slice(0, SAID_CHARS_MAX)
  const schema = request.tools?.find((tool) => tool.function.name === name)?.function.parameters
  const given = schema === undefined ? {} : instanceOf(schema, said)
  return JSON.stringify(
    typeof given === 'object' && given !== null && Object.keys(given).length > 0 ? given : { input: said },
  )
}

/** A structured answer by the request's schema, in the pieces of a stream; null = the request asks for text. */
function structuredWords({ responseFormat }: ChatRequest, said: string): string[] | null {
  if (responseFormat === null) return null
  const wish: unknown = responseFormat['json_schema']
  const schema = typeof wish === 'object' && wish !== null && 'schema' in wish ? wish.schema : null
  const text = said.slice(0, SAID_CHARS_MAX) || 'Hello from the sandbox.'
  const json = JSON.stringify(schema === null ? { message: text } : instanceOf(schema, text))
  return json.match(/[^\s,:]{1,12}[\s,:]*|[\s,:]+/g) ?? [json]
}

function answerWords(request: ChatRequest, script: SandboxScript): string[] {
  const structured = script.words === null ? structuredWords(request, plainText(lastUserText(request)).trim()) : null
  if (structured !== null) return structured
  if (script.words !== null)
    return Array.from(
      { length: script.words },
      (_value, index) => `${index === 0 ? '' : ' '}${WORDS[index % WORDS.length] ?? ''}`,
    )
  const said = plainText(lastUserText(request)).trim()
  const text = said === '' ? 'Hello from the sandbox.' : `Hello from the sandbox. You said: ${said.slice(0, 400)}`
  const words: string[] = []
  let end = 0
  for (const { 0: word, index } of text.matchAll(/\S+/g)) {
    words.push(text.slice(end, index + word.length))
    end = index + word.length
  }
  return words
}

/** The tool that the request requires: a named one, or the first. */
function forcedTool({ tools, toolChoice }: ChatRequest): string | null {
  if (tools === null || toolChoice === null) return null
  if (typeof toolChoice === 'object') return toolChoice.function.name
  return toolChoice === 'required' ? (tools[0]?.function.name ?? null) : null
}

function wantsReasoning(request: ChatRequest): boolean {
  const { reasoning, reasoning_effort: effort } = request.parameters
  return reasoning !== undefined || (effort !== undefined && effort !== 'none')
}

/** Tokens of a text as the sandbox counts them. */
export function textTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}

function usageOf(request: ChatRequest, output: number, reasoning: number): UsageReport {
  let input = 0
  for (const message of request.messages) {
    const images =
      typeof message.content === 'string' || message.content === null
        ? 0
        : message.content.filter(({ type }) => type === 'image_url').length
    input += MESSAGE_TOKENS + textTokens(contentText(message)) + images * IMAGE_TOKENS
  }
  if (request.tools !== null) input += textTokens(JSON.stringify(request.tools))
  const [said, thought] = [output * request.n, reasoning * request.n]
  return new TokenReader().report({
    usage: { input, output: said - thought, ...(thought > 0 ? { reasoning: thought } : {}) },
    inputTokens: input,
    outputTokens: said,
    reasoningTokens: thought,
  })
}
