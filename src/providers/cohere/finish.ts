import type { AnswerEvent } from '../../kinds/answer/event.ts'
import type { FinishReason } from '../../kinds/chat/answer.ts'
import { textOf } from '../wire/raw-json.ts'

/** Cohere's own reasons for a bad end; the others are in wire.md D-3.2. */
const BAD_ENDS: ReadonlyMap<string, FinishReason> = new Map([
  ['ERROR', 'error'],
  ['TIMEOUT', 'error'],
  ['USER_CANCEL', 'error'],
  ['ERROR_TOXIC', 'content_filter'],
  ['ERROR_LIMIT', 'length'],
])

export function cohereFinish(raw: unknown): AnswerEvent {
  const native = textOf(raw) || null
  const finish = BAD_ENDS.get(native ?? '')
  return { type: 'finish', choice: 0, native, ...(finish === undefined ? {} : { finish }) }
}
