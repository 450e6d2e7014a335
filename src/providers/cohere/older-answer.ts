import type { AnswerEvent } from '../../kinds/answer/event.ts'
import { argumentsText } from '../openai/delta.ts'
import { listOf, objectOf, textOf, type RawJson } from '../wire/raw-json.ts'
import { cohereFinish } from './finish.ts'
import { cohereUsage } from './usage.ts'

/** Reads calls in OpenAI's form; null for more calls than in any honest answer. */
export type ReadCalls = (calls: readonly RawJson[]) => readonly AnswerEvent[] | null

/** Whether a plain answer is of the first chat protocol, which has `text` and no `message`. */
export function isOlderAnswer(body: RawJson): boolean {
  return (body['message'] ?? null) === null && textOf(body['text']) !== null
}

/** A plain answer of the first protocol; null for more calls than in any honest answer. */
export function olderAnswer(body: RawJson, readCalls: ReadCalls): readonly AnswerEvent[] | null {
  const end = olderEnd(body, body['finish_reason'], readCalls)
  return end === null ? null : [...olderText(body), ...end]
}

/** Whether a stream's message is the last one of the first protocol. */
export function isOlderEnd(line: RawJson): boolean {
  return line['event_type'] === 'stream-end'
}

/** A line of a stream of the first protocol. Searches and citations are dropped, as in the newer protocol. */
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

/** Calls of the first protocol have no ids, and their arguments are objects. */
function olderCalls(body: RawJson): readonly RawJson[] {
  return listOf(body['tool_calls']).map((raw, index) => {
    const call = objectOf(raw)
    return { index, function: { name: call?.['name'], arguments: argumentsText(call?.['parameters']) } }
  })
}
