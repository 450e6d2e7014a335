import type { FinishReason, UsageReport } from './chat-answer.ts'

/** Lists and objects of a message that pass through as they are. */
export type ExtraField = 'annotations' | 'images' | 'reasoning_details' | 'audio'

/**
 * One step of an answer, in the order the provider took it; the only form in which adapters speak. A plain answer is
 * the same events in one batch, so folding a stream gives what the provider would have said at once.
 */
export type AnswerEvent =
  /** An empty text says that there is one: the difference between `""` and null. */
  | { readonly type: 'text' | 'reasoning' | 'refusal'; readonly choice: number; readonly text: string; readonly logprobs?: unknown }
  /** Opens call `index` of its choice; indexes count from 0 without gaps. */
  | { readonly type: 'tool_call'; readonly choice: number; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: 'tool_arguments'; readonly choice: number; readonly index: number; readonly text: string }
  /** Lists are appended to, `audio` is merged: its texts are appended, other members replaced. */
  | { readonly type: 'extra'; readonly choice: number; readonly field: ExtraField; readonly value: unknown }
  /** Client chunks of a chat stream, ready as they are (the fast path); only where the call carried a `splice`. */
  | { readonly type: 'spliced'; readonly bytes: readonly Buffer[]; readonly field: 'content' | 'reasoning'; readonly text: string }
  /** `native` is the provider's own word; null = it named none. `finish` where the word alone does not decide. */
  | { readonly type: 'finish'; readonly choice: number; readonly native: string | null; readonly finish?: FinishReason }
  /** The last one counts, never the sum. */
  | { readonly type: 'usage'; readonly usage: UsageReport }
  | { readonly type: 'origin'; readonly upstreamId: string | null; readonly systemFingerprint: string | null }

/** What of an event counts as output text. */
export function eventText(event: AnswerEvent): string {
  switch (event.type) {
    case 'text':
    case 'reasoning':
    case 'refusal':
    case 'tool_arguments':
    case 'spliced':
      return event.text
    case 'tool_call':
      return event.name
    case 'extra':
    case 'finish':
    case 'usage':
    case 'origin':
      return ''
  }
}

/** Whether an event says something to the client. Annotations alone say nothing. */
export function isContent(event: AnswerEvent): boolean {
  return eventText(event) !== '' || (event.type === 'extra' && event.field !== 'annotations')
}

/** What is left for a client that does not want to see the reasoning; it is paid for all the same. */
export function withoutReasoning(events: readonly AnswerEvent[]): readonly AnswerEvent[] {
  return events.filter((event) => event.type !== 'reasoning' && !(event.type === 'extra' && event.field === 'reasoning_details') && !(event.type === 'spliced' && event.field === 'reasoning'))
}
