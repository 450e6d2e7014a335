import type { ApiError } from '../../../base/errors.ts'
import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import type { AnswerWriter, ChargedUsage } from '../../../kinds/answer/writer.ts'
import type { ChatAnswer, StreamEnd } from '../../../kinds/chat/answer.ts'
import { isObject, wordOf } from '../../../kinds/fields/body-fields.ts'
import { messageUsage } from './usage.ts'
import { errorEvent, messageId, MessagesWriter, stopReason, type MessageIdentity } from './writer.ts'
import type { JsonObject } from '../../../base/json-text.ts'

/**
 * Passes on the answer of a provider of the protocol (clients.md D-14.2). Id and model are ours, and the last events
 * wait for the charge.
 */
export class UnfilteredMessages implements AnswerWriter {
  readonly #identity: MessageIdentity
  /** The last events, sent together. */
  #held: JsonObject[] = []

  constructor(identity: MessageIdentity) {
    this.#identity = identity
  }

  write(events: readonly AnswerEvent[]): Buffer {
    const out: Buffer[] = []
    for (const event of events) {
      if (event.type !== 'wire') continue
      const { sent } = event
      const isLast = !Buffer.isBuffer(sent)
      // The held events were not the last ones.
      if (!isLast || sent['type'] === 'message_delta') out.push(...this.#held.splice(0).map(eventBytes))
      if (isLast) this.#held.push(sent)
      else out.push(sent)
    }
    return Buffer.concat(out)
  }

  end(end: StreamEnd, usage: ChargedUsage): Buffer {
    const last = this.#held.findLastIndex(({ type }) => type === 'message_delta')
    // A provider may leave out the last events.
    if (last === -1) return this.#translated(end, usage)
    const stop = this.#held.some(({ type }) => type === 'message_stop') ? [] : [{ type: 'message_stop' }]
    const events = this.#held.map((event, index) => (index === last ? charged(reasoned(event, end), usage) : event))
    return Buffer.concat([...events, ...stop].map(eventBytes))
  }

  fail(error: ApiError): Buffer {
    return errorEvent(error, this.#identity.requestId)
  }

  whole(answer: ChatAnswer, usage: ChargedUsage, events: readonly AnswerEvent[]): Record<string, unknown> {
    const sent = events.findLast((event) => event.type === 'wire')?.sent
    if (sent === undefined || Buffer.isBuffer(sent))
      return new MessagesWriter(this.#identity, false, () => 0).whole(answer, usage, events)
    const message = { ...sent, id: messageId(this.#identity.id), model: this.#identity.model }
    return charged({ ...message, ...reason(sent, answer.choices[0]) }, usage)
  }

  #translated(end: StreamEnd, usage: ChargedUsage): Buffer {
    const text = new MessagesWriter(this.#identity, false, () => 0).end(end, usage).toString('utf8')
    // The start was sent before.
    return Buffer.from(text.slice(text.indexOf('event: message_delta')))
  }
}

/** The head of a streamed message with our id and model. */
export function ownedStart(event: JsonObject, { id, model }: Pick<MessageIdentity, 'id' | 'model'>): Buffer {
  const message = isObject(event['message']) ? event['message'] : {}
  return eventBytes({ ...event, message: { ...message, id: messageId(id), model } })
}

/** A provider may leave out the reason of the end, which clients need. */
function reasoned(event: JsonObject, { finishes }: StreamEnd): JsonObject {
  const delta = isObject(event['delta']) ? event['delta'] : {}
  return { ...event, delta: { ...delta, ...reason(delta, finishes[0]) } }
}

function reason(told: JsonObject, end: StreamEnd['finishes'][number] | undefined): JsonObject {
  return typeof told['stop_reason'] === 'string' ? {} : { stop_reason: stopReason(end?.finish ?? 'stop', null) }
}

/** The counts are those that are charged; fields that only the provider knows stay. */
function charged(event: JsonObject, usage: ChargedUsage): Record<string, unknown> {
  const told = isObject(event['usage']) ? event['usage'] : {}
  return { ...event, usage: { ...told, ...messageUsage(usage) } }
}

export function eventBytes(event: JsonObject): Buffer {
  return Buffer.from(`event: ${wordOf(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`)
}
