import type { FinishReason, UsageReport } from './chat-answer.ts'

/** Lists and objects of a message that pass through as they are. */
export type ExtraField = 'annotations' | 'images' | 'reasoning_details' | 'audio'

/**
 * One step of an answer, in the order the provider took it; the only form in which adapters speak. A plain answer is
 * the same events in one batch, so folding a stream gives what the provider would have said at once.
 */
export type AnswerEvent =
  /** An empty text says that there is one: the difference between `""` and null. */
  | {
      readonly type: 'text' | 'reasoning' | 'refusal'
      readonly choice: number
      readonly text: string
      readonly logprobs?: unknown
    }
  /** Opens call `index` of its choice; indexes count from 0 without gaps. */
  | {
      readonly type: 'tool_call'
      readonly choice: number
      readonly index: number
      readonly id: string
      readonly name: string
    }
  | { readonly type: 'tool_arguments'; readonly choice: number; readonly index: number; readonly text: string }
  /** Lists are appended to, `audio` is merged: its texts are appended, other members replaced. */
  | { readonly type: 'extra'; readonly choice: number; readonly field: ExtraField; readonly value: unknown }
  | ItemEvent
  /** Client chunks of a chat stream, ready as they are (the fast path); only where the call carried a `splice`. */
  | {
      readonly type: 'spliced'
      readonly bytes: readonly Buffer[]
      readonly field: 'content' | 'reasoning'
      readonly text: string
    }
  /** `native` is the provider's own word; null = it named none. `finish` where the word alone does not decide. */
  | { readonly type: 'finish'; readonly choice: number; readonly native: string | null; readonly finish?: FinishReason }
  /** The last one counts, never the sum. */
  | { readonly type: 'usage'; readonly usage: UsageReport }
  | { readonly type: 'origin'; readonly upstreamId: string | null; readonly systemFingerprint: string | null }

/**
 * What only an answer in the Responses protocol says; other formats leave it out. Its text, reasoning and calls come as
 * everybody's do, these events tell where an item begins and ends and what it has beyond them.
 */
export type ItemEvent =
  /** What follows belongs to a new item of that type; `fields` are members of it, such as `phase`. */
  | {
      readonly type: 'item'
      readonly choice: number
      readonly step: 'begin'
      readonly of: 'message' | 'reasoning' | 'function_call'
      readonly fields: ItemFields
    }
  /** The reasoning goes on in another part. */
  | { readonly type: 'item'; readonly choice: number; readonly step: 'part' }
  /**
   * The newest item of that type is complete, or call `index`; `fields` are what only its end knows, such as
   * `encrypted_content`.
   */
  | {
      readonly type: 'item'
      readonly choice: number
      readonly step: 'end'
      readonly of: 'message' | 'reasoning' | 'function_call'
      readonly index: number
      readonly fields: ItemFields
    }
  /** An event, as it came, of an item that only this protocol knows; `key` tells the items apart. */
  | {
      readonly type: 'item'
      readonly choice: number
      readonly step: 'native'
      readonly key: number
      readonly event: ItemFields
    }

export type ItemFields = Readonly<Record<string, unknown>>

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
    case 'item':
      return event.step === 'native' && typeof event.event['delta'] === 'string' ? event.event['delta'] : ''
    case 'extra':
    case 'finish':
    case 'usage':
    case 'origin':
      return ''
  }
}

/** Whether an event says something to the client. Annotations alone say nothing. */
export function isContent(event: AnswerEvent): boolean {
  return (
    eventText(event) !== '' ||
    (event.type === 'extra' && event.field !== 'annotations') ||
    (event.type === 'item' && event.step === 'native')
  )
}

/** What is left for a client that does not want to see the reasoning; it is paid for all the same. */
export function withoutReasoning(events: readonly AnswerEvent[]): readonly AnswerEvent[] {
  return events.filter((event) => !isReasoning(event))
}

function isReasoning(event: AnswerEvent): boolean {
  switch (event.type) {
    case 'reasoning':
      return true
    case 'extra':
      return event.field === 'reasoning_details'
    case 'spliced':
      return event.field === 'reasoning'
    case 'item':
      return event.step === 'part' || (event.step !== 'native' && event.of === 'reasoning')
    case 'text':
    case 'refusal':
    case 'tool_call':
    case 'tool_arguments':
    case 'finish':
    case 'usage':
    case 'origin':
      return false
  }
}
