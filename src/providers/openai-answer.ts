import type { ChatAnswer } from '../kinds/chat-answer.ts'
import { finishReasonOf } from '../kinds/finish-reason.ts'
import { toolCallId } from './chat-chunk.ts'
import { legacyCall, readContent, readToolCall, type CompleteToolCall } from './openai-delta.ts'
import { openaiUsage } from './openai-usage.ts'
import { listOf, objectOf, textOf } from './raw-json.ts'

/** A complete answer of any OpenAI dialect; null when the body is not one. */
export function openaiAnswer(body: unknown, generationId: string): ChatAnswer | null {
  const object = objectOf(body)
  if (object === null || !Array.isArray(object['choices'])) return null
  const read = listOf(object['choices']).map((raw, position) => readChoice(raw, position, generationId))
  return {
    choices: read.map(({ choice }) => choice),
    usage: openaiUsage(object['usage']),
    upstreamId: textOf(object['id']),
    systemFingerprint: textOf(object['system_fingerprint']),
    hasContent: read.some(({ hasContent }) => hasContent),
    text: read.map(({ text }) => text).join(''),
  }
}

function readChoice(raw: unknown, position: number, generationId: string): { readonly choice: ChatAnswer['choices'][number]; readonly hasContent: boolean; readonly text: string } {
  const object = objectOf(raw) ?? {}
  const message = objectOf(object['message']) ?? {}
  const index = typeof object['index'] === 'number' ? object['index'] : position
  const { fields, text } = readContent(message)
  const calls: CompleteToolCall[] = listOf(message['tool_calls']).flatMap((call, place) => {
    const read = readToolCall(call, toolCallId(generationId, index, place))
    return read === null ? [] : [read]
  })
  const legacy = calls.length === 0 ? legacyCall(message) : null
  if (legacy !== null && legacy.name !== '') calls.push({ id: toolCallId(generationId, index, 0), type: 'function', function: legacy })
  const native = textOf(object['finish_reason']) || null
  const hasContent = Object.keys(fields).length > 0 || calls.length > 0
  const { content = null, refusal = null, ...rest } = fields
  return {
    choice: {
      index,
      finish: finishReasonOf(native, calls.length > 0) ?? (hasContent ? 'stop' : null),
      native,
      message: {
        role: 'assistant',
        // An answer that says nothing is the empty text; only a tool call or a refusal stands without one.
        content: content ?? (calls.length > 0 || refusal !== null || message['content'] === null ? null : typeof message['content'] === 'string' ? '' : null),
        refusal,
        ...rest,
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
      },
      logprobs: object['logprobs'] ?? null,
    },
    hasContent,
    // As a stream of the same answer would be counted.
    text: text + calls.map((call) => call.function.name + call.function.arguments).join(''),
  }
}
