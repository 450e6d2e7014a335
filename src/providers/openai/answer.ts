import { eventText, isContent, type AnswerEvent } from '../../kinds/answer/event.ts'
import type { JsonBytes } from '../../lib/json-bytes.ts'
import { logprobsOf } from '../wire/lifted-logprobs.ts'
import { contentEvents, legacyCall, readToolCall, type CompleteToolCall } from './delta.ts'
import { openaiUsage } from './usage.ts'
import { listOf, objectOf, textOf, type RawJson } from '../wire/raw-json.ts'
import { toolCallId } from '../answers/tool-call-id.ts'

/** A complete answer of any OpenAI dialect; null when the body is none. */
export function openaiAnswer(
  body: unknown,
  logprobs: readonly JsonBytes[],
  generationId: string,
): readonly AnswerEvent[] | null {
  const object = objectOf(body)
  if (object === null || !Array.isArray(object['choices'])) return null
  const events: AnswerEvent[] = [
    { type: 'origin', upstreamId: textOf(object['id']), systemFingerprint: textOf(object['system_fingerprint']) },
  ]
  for (const [position, raw] of listOf(object['choices']).entries())
    for (const event of readChoice(objectOf(raw) ?? {}, position, logprobs, generationId)) events.push(event)
  const usage = openaiUsage(object['usage'])
  if (usage !== null) events.push({ type: 'usage', usage })
  return events
}

function readChoice(
  object: RawJson,
  position: number,
  logprobs: readonly JsonBytes[],
  generationId: string,
): readonly AnswerEvent[] {
  const message = objectOf(object['message']) ?? {}
  const choice = typeof object['index'] === 'number' ? object['index'] : position
  const events = [...contentEvents(message, choice, logprobsOf(object['logprobs'], logprobs))]
  const calls: CompleteToolCall[] = listOf(message['tool_calls']).flatMap((call, place) => {
    const read = readToolCall(call, toolCallId(generationId, choice, place))
    return read === null ? [] : [read]
  })
  const legacy = calls.length === 0 ? legacyCall(message) : null
  if (legacy !== null && legacy.name !== '')
    calls.push({ id: toolCallId(generationId, choice, 0), name: legacy.name, arguments: legacy.arguments })
  // An answer without content is the empty text, unless it has a tool call.
  if (
    message['content'] === '' &&
    calls.length === 0 &&
    !events.some((event) => isContent(event) && eventText(event) !== '')
  )
    events.push({ type: 'text', choice, text: '' })
  for (const [index, { id, name, arguments: text }] of calls.entries()) {
    events.push({ type: 'tool_call', choice, index, id, name })
    if (text !== '') events.push({ type: 'tool_arguments', choice, index, text })
  }
  events.push({ type: 'finish', choice, native: textOf(object['finish_reason']) || null })
  return events
}
