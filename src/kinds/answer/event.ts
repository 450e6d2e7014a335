import { tierNamed } from '../../tables/service-tier-table.ts'
import type { FinishReason, UsageReport } from '../chat/answer.ts'

/** Fields of a message whose lists and objects pass through unchanged. */
export type ExtraField = 'annotations' | 'images' | 'reasoning_details' | 'audio'

/**
 * One step of an answer, in the provider's order; adapters produce only these events. A plain answer is the same events
 * in one batch, so folding a stream gives the provider's plain answer.
 */
export type AnswerEvent =
  /** An empty text still means that there is content: `""` differs from null. */
  | {
      readonly type: 'text' | 'reasoning' | 'refusal'
      readonly choice: number
      readonly text: string
      readonly logprobs?: unknown
      /**
       * The piece is not shown to the client, such as hidden thinking. Without such events the call would count as
       * stalled.
       */
      readonly silent?: true
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
  /** Lists are appended to. `audio` is merged: its texts are appended, other members are replaced. */
  | { readonly type: 'extra'; readonly choice: number; readonly field: ExtraField; readonly value: unknown }
  | ItemEvent
  /**
   * An event in the client's own protocol, as the provider sent it, for the writer of that protocol; other writers
   * ignore it. It repeats the ordinary events next to it. Bytes are sent unchanged. An object, which is a last event or
   * a whole answer, waits for the charge.
   */
  | { readonly type: 'wire'; readonly sent: Buffer | Readonly<Record<string, unknown>> }
  /** Chunks of a chat stream that the client gets unchanged (the fast path); only if the call carried a `splice`. */
  | {
      readonly type: 'spliced'
      readonly bytes: readonly Buffer[]
      readonly field: 'content' | 'reasoning'
      readonly text: string
    }
  /**
   * `native` is the provider's own reason; null = none. `finish` is set if that reason does not decide. With neither,
   * an answer with content has stopped, and one without content is not complete.
   */
  | { readonly type: 'finish'; readonly choice: number; readonly native: string | null; readonly finish?: FinishReason }
  /** If there are several usage events, the last one counts instead of their sum. */
  | { readonly type: 'usage'; readonly usage: UsageReport }
  /**
   * null = the message does not say. `serviceTier`: the tier in which the answer is served, in our word; absent is the
   * same as null.
   */
  | {
      readonly type: 'origin'
      readonly upstreamId: string | null
      readonly systemFingerprint: string | null
      readonly serviceTier?: string | null
    }

/**
 * Events that only the Responses protocol has; other writers leave them out. Its text, reasoning and calls come as
 * ordinary events. The item events mark where an item begins and ends, and carry its other fields.
 */
export type ItemEvent =
  /** The next events belong to a new item of this type; `fields` are members of the item, such as `phase`. */
  | {
      readonly type: 'item'
      readonly choice: number
      readonly step: 'begin'
      readonly of: 'message' | 'reasoning' | 'function_call'
      readonly fields: ItemFields
    }
  /** The reasoning continues in another part. */
  | { readonly type: 'item'; readonly choice: number; readonly step: 'part' }
  /**
   * The newest item of this type, or call `index`, is complete; `fields` are those known only at its end, such as
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
  /** An event of an item that only this protocol has, unchanged; items differ by `key`. */
  | {
      readonly type: 'item'
      readonly choice: number
      readonly step: 'native'
      readonly key: number
      readonly event: ItemFields
    }

export type ItemFields = Readonly<Record<string, unknown>>

/** The event with the tier that a message reports, from the service's word; empty = the message has none. */
export function tierEvents(word: unknown): readonly AnswerEvent[] {
  const serviceTier = tierNamed(word)
  return serviceTier === null ? [] : [{ type: 'origin', upstreamId: null, systemFingerprint: null, serviceTier }]
}

/** Shows progress without content for the client. */
export const SILENT = Object.freeze({ type: 'reasoning', choice: 0, text: '', silent: true } as const)

/** The output text of an event. */
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
    case 'wire':
      return ''
  }
}

/** Whether an event has content for the client. Annotations without text have none. */
export function isContent(event: AnswerEvent): boolean {
  return (
    eventText(event) !== '' ||
    (event.type === 'extra' && event.field !== 'annotations') ||
    (event.type === 'item' && event.step === 'native')
  )
}

/** The events without reasoning, for a client that does not want to see it. The client pays for the reasoning too. */
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
    case 'wire':
      return false
  }
}
