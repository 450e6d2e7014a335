import type { AnswerEvent } from '../../kinds/answer/event.ts'
import type { Adapter } from '../../protocols/ports/adapter.ts'
import { garbage, type AttemptFailure } from '../ports/attempt-failure.ts'
import type { MessagesCall } from '../../protocols/ports/call.ts'
import { askEvents, sseMessages, type EventReader, type KnownEvents } from '../../protocols/upstream/events.ts'
import { objectOf, parseJson, textOf, type RawJson } from '../../protocols/wire/raw-json.ts'
import type { Transport, UpstreamHeaders } from '../../protocols/wire/transport.ts'
import { AnthropicReader } from '../../protocols/anthropic/provider/reader.ts'
import { ANTHROPIC_VERSION, MESSAGES_PATH } from './request.ts'

const LF = 0x0a
const EVENT_NAME = /^[a-z_]{1,64}$/

/** Sends the client's own request, and passes the answer on as it came, read on the way (clients.md D-14.2). */
export function anthropicMessages(transport: Transport, now: () => number): NonNullable<Adapter['messages']> {
  return (call, sink) =>
    askEvents(
      transport,
      call,
      {
        request: () => ({ path: MESSAGES_PATH, body: call.body, headers: headersOf(call) }),
        reader: () => new NativeReader(call, now),
        decoder: sseMessages,
      },
      sink,
    )
}

function headersOf({ apiKey, headers }: MessagesCall): Record<string, string> {
  return {
    'anthropic-version': ANTHROPIC_VERSION,
    ...headers,
    ...(apiKey === null ? {} : { 'x-api-key': apiKey }),
  }
}

/** The ordinary events, with the provider's own event beside them. */
export class NativeReader implements EventReader {
  readonly #reader: AnthropicReader
  readonly #startOf: MessagesCall['startOf']
  #started = false

  constructor({ generationId, startOf }: MessagesCall, now: () => number) {
    this.#reader = new AnthropicReader({ generationId, answerTool: null, hidesReasoning: false }, now)
    this.#startOf = startOf
  }

  get done(): boolean {
    return this.#reader.done
  }

  known(bytes: Buffer, start: number): KnownEvents | null {
    const known = this.#reader.known(bytes, start)
    if (known === null || 'reason' in known.read) return known
    const { read, end } = known
    return { read: [...read, { type: 'wire', sent: bytes.subarray(start, end) }], end }
  }

  message(data: Buffer): readonly AnswerEvent[] | AttemptFailure {
    const event = objectOf(parseJson(data))
    if (event === null) return garbage('not a JSON object', data)
    const read = this.#reader.parsed(data, event)
    if ('reason' in read) return read
    const type = textOf(event['type']) ?? ''
    switch (type) {
      case 'ping':
        // We send pings ourselves; the provider's are no progress.
        return read
      case 'message_start':
        // Some proxies send the start twice.
        if (this.#started) return read
        this.#started = true
        return [...read, { type: 'wire', sent: this.#startOf(event) }]
      case 'message_delta':
      case 'message_stop':
        return [...read, { type: 'wire', sent: event }]
      default:
        return EVENT_NAME.test(type) ? [...read, { type: 'wire', sent: eventBytes(type, data, event) }] : read
    }
  }

  ended(): AttemptFailure | null {
    return this.#reader.ended()
  }

  whole(body: unknown): readonly AnswerEvent[] | AttemptFailure {
    const read = this.#reader.whole(body)
    const message = objectOf(body)
    return 'reason' in read || message === null ? read : [...read, { type: 'wire', sent: message }]
  }

  /** A refusal of the request passes whole; one of the operator's account, and a fault, are told in our words. */
  error(status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure {
    const failure = this.#reader.error(status, body, headers)
    const refusal = objectOf(body)
    return failure.publicMessage === null || refusal === null || !isError(refusal)
      ? failure
      : { ...failure, body: refusal }
  }
}

function isError({ type, error }: RawJson): boolean {
  const said = objectOf(error)
  return type === 'error' && typeof said?.['type'] === 'string' && typeof said['message'] === 'string'
}

/** Data of several lines is written as one line. */
function eventBytes(type: string, data: Buffer, event: unknown): Buffer {
  const line = data.includes(LF) ? Buffer.from(JSON.stringify(event)) : data
  return Buffer.concat([Buffer.from(`event: ${type}\ndata: `), line, Buffer.from('\n\n')])
}
