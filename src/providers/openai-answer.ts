import type { ChatAnswer } from '../kinds/chat-answer.ts'
import { finishReasonOf } from '../kinds/finish-reason.ts'
import { legacyCall, readContent, readToolCall } from './openai-delta.ts'
import { openaiUsage } from './openai-usage.ts'
import { listOf, objectOf, textOf } from './raw-json.ts'

/** A complete answer of any OpenAI dialect; null when the body is not one. */
export function openaiAnswer(body: unknown): ChatAnswer | null {
  const object = objectOf(body)
  if (object === null || !Array.isArray(object['choices'])) return null
  const read = listOf(object['choices']).map((raw, position) => readChoice(raw, position))
  return {
    choices: read.map(({ choice }) => choice),
    usage: openaiUsage(object['usage']),
    upstreamId: textOf(object['id']),
    systemFingerprint: textOf(object['system_fingerprint']),
    hasContent: read.some(({ hasContent }) => hasContent),
    text: read.map(({ text }) => text).join(''),
  }
}

function readChoice(raw: unknown, position: number): { readonly choice: ChatAnswer['choices'][number]; readonly hasContent: boolean; readonly text: string } {
  const object = objectOf(raw) ?? {}
  const message = objectOf(object['message']) ?? {}
  const { fields, text } = readContent(message)
  const calls: Record<string, unknown>[] = listOf(message['tool_calls']).flatMap((call, index) => {
    const read = readToolCall(call, index)
    return read === null ? [] : [read]
  })
  const legacy = calls.length === 0 ? legacyCall(message) : null
  if (legacy !== null && legacy.name !== '') calls.push({ id: 'call_0', type: 'function', function: legacy })
  const native = textOf(object['finish_reason']) || null
  const { content = null, refusal = null, ...rest } = fields
  const index = typeof object['index'] === 'number' ? object['index'] : position
  return {
    choice: {
      index,
      finish: finishReasonOf(native, calls.length > 0) ?? (text !== '' ? 'stop' : null),
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
    hasContent: Object.keys(fields).length > 0 || calls.length > 0,
    text: text + calls.map((call) => JSON.stringify(call['function'])).join(''),
  }
}
