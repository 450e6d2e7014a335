import type { AnswerEvent } from '../../kinds/answer/event.ts'
import { argumentsText } from '../openai/delta.ts'
import { listOf, objectOf, textOf, type RawJson } from '../wire/raw-json.ts'
import { cohereFinish } from './finish.ts'
import { cohereUsage } from './usage.ts'

/** Takes calls in OpenAI's spelling; null when there are more than any answer has. */
export type ReadCalls = (calls: readonly RawJson[]) => readonly AnswerEvent[] | null

/** Whether a plain answer is one of the first chat protocol, which calls its text `text` and has no `message`. */
export function isOlderAnswer(body: RawJson): boolean {
  return (body['message'] ?? null) === null && textOf(body['text']) !== null
}

/** A plain answer of the first protocol; null when it holds more calls than any answer has. */
export function olderAnswer(body: RawJson, readCalls: ReadCalls): readonly AnswerEvent[] | null {
  const end = olderEnd(body, body['finish_reason'], readCalls)
  return end === null ? null : [...olderText(body), ...end]
}

/** Whether a message of a stream is the last of the first protocol's. */
export function isOlderEnd(line: RawJson): boolean {
  return line['event_type'] === 'stream-end'
}

/** A line of a stream of the first protocol: its searches and citations are dropped, as the newer protocol's are. */
export function olderMessage(line: RawJson, readCalls: ReadCalls): readonly AnswerEvent[] | null {
  if (line['event_type'] === 'text-generation') return olderText(line)
  if (!isOlderEnd(line)) return []
  const response = objectOf(line['response']) ?? {}
  return olderEnd(response, line['finish_reason'] ?? response['finish_reason'], readCalls)
}

function olderText({ text }: RawJson): readonly AnswerEvent[] {
  return typeof text === 'string' ? [{ type: 'text', choice: 0, text }] : []
}

function olderEnd(body: RawJson, finishReason: unknown, readCalls: ReadCalls): readonly AnswerEvent[] | null {
  const calls = readCalls(olderCalls(body))
  if (calls === null) return null
  const usage = cohereUsage(body['meta'])
  return [
    {
      type: 'origin',
      upstreamId: textOf(body['response_id']) ?? textOf(body['generation_id']),
      systemFingerprint: null,
    },
    ...calls,
    ...(usage === null ? [] : [{ type: 'usage' as const, usage }]),
    cohereFinish(finishReason),
  ]
}

/** Calls of the first protocol have no ids, and an object for arguments. */
function olderCalls(body: RawJson): readonly RawJson[] {
  return listOf(body['tool_calls']).map((raw, index) => {
    const call = objectOf(raw)
    return { index, function: { name: call?.['name'], arguments: argumentsText(call?.['parameters']) } }
  })
}
