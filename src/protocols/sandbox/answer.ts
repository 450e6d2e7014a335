import { finishReasonOf } from '../../kinds/answer/finish-reason.ts'
import type { FinishReason, UsageReport } from '../../kinds/chat/answer.ts'
import type { ChatRequest } from '../../kinds/chat/request.ts'
import { instanceOf } from '../../providers/sandbox/json.ts'
import { contentText, lastUserText, plainText, type SandboxScript } from './script.ts'

const WORDS =
  'the sandbox answers every question with the same calm words so that a test can tell what it should see and what it should cost'.split(
    ' ',
  )
/** Characters of the answer that fill each text of a schema. */
const SAID_CHARS_MAX = 64
const BYTES_PER_TOKEN = 4
const MESSAGE_TOKENS = 4
const IMAGE_TOKENS = 85
/** More than any honest answer uses. */
export const HUGE_TOKENS = 50_000_000

/**
 * The whole answer, before it is cut into events. It depends only on the input, so that a test can know it beforehand.
 */
export interface SandboxAnswer {
  readonly reasoning: string
  /** One word per event. */
  readonly words: readonly string[]
  readonly toolCall: { readonly id: string; readonly name: string; readonly arguments: string } | null
  readonly native: string
  readonly finish: FinishReason | null
  readonly usage: UsageReport | null
}

export function sandboxAnswer(request: ChatRequest, script: SandboxScript, maxTokens: number | null): SandboxAnswer {
  const toolName = script.tool ?? forcedTool(request)
  const reasoning = wantsReasoning(request) ? 'The sandbox thinks for a moment. ' : ''
  const full = script.empty || toolName !== null ? [] : answerWords(request, script)
  const words = maxTokens === null ? full : full.slice(0, maxTokens)
  const toolCall =
    toolName === null || script.empty
      ? null
      : { id: `call_sandbox_${toolName}`, name: toolName, arguments: toolArguments(request, toolName) }
  const native = script.finish ?? (toolCall === null ? (words.length < full.length ? 'length' : 'stop') : 'tool_calls')
  const blank = script.empty && script.finish === null
  const output =
    words.length + textTokens(reasoning) + (toolCall === null ? 0 : textTokens(toolCall.arguments) + MESSAGE_TOKENS)
  return {
    reasoning: script.empty ? '' : reasoning,
    words,
    toolCall,
    native: blank ? '' : native,
    finish: blank ? null : finishReasonOf(native, toolCall !== null),
    usage: usageOf(request, script, script.empty ? 0 : output, script.empty ? 0 : textTokens(reasoning)),
  }
}

/** Arguments by the tool's schema; for a tool without properties, the input. */
function toolArguments(request: ChatRequest, name: string): string {
  const said = plainText(lastUserText(request)).slice(0, SAID_CHARS_MAX)
  const schema = request.tools?.find((tool) => tool.function.name === name)?.function.parameters
  const given = schema === undefined ? {} : instanceOf(schema, said)
  return JSON.stringify(
    typeof given === 'object' && given !== null && Object.keys(given).length > 0 ? given : { input: said },
  )
}

/** A structured answer by the request's schema, in the pieces of a stream; null where the request asks for text. */
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

/** The tool that the request requires: a named one, or any. */
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

function usageOf(request: ChatRequest, script: SandboxScript, output: number, reasoning: number): UsageReport | null {
  if (script.usage === 'missing') return null
  if (script.usage === 'zero') return report(0, 0, 0)
  if (script.usage === 'huge') return report(HUGE_TOKENS, HUGE_TOKENS, 0)
  if (script.usage !== null) return report(script.usage.input, script.usage.output, 0)
  let input = 0
  for (const message of request.messages) {
    const images =
      typeof message.content === 'string' || message.content === null
        ? 0
        : message.content.filter(({ type }) => type === 'image_url').length
    input += MESSAGE_TOKENS + textTokens(contentText(message)) + images * IMAGE_TOKENS
  }
  if (request.tools !== null) input += textTokens(JSON.stringify(request.tools))
  return report(input, output * request.n, reasoning * request.n)
}

function report(input: number, output: number, reasoning: number): UsageReport {
  return {
    usage: { input, output: output - reasoning, ...(reasoning > 0 ? { reasoning } : {}) },
    inputTokens: input,
    outputTokens: output,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: reasoning,
    implausible: false,
  }
}
