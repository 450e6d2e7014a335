import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import type { Adapter } from '../../ports/adapter.ts'
import { garbage, type AttemptFailure } from '../../ports/attempt-failure.ts'
import type { MessagesCall } from '../../ports/call.ts'
import { askEvents, sseMessages, type EventReader, type KnownEvents } from '../../upstream/events.ts'
import type { AnswerState } from '../../upstream/response.ts'
import { objectOf, parseJson, textOf, type RawJson, listOf } from '../../wire/raw-json.ts'
import type { Transport } from '../../wire/transport.ts'
import { signerOf } from '../../models/claude-traits.ts'
import { AnthropicReader } from './reader.ts'
import { ANTHROPIC_VERSION, MESSAGES_PATH } from './request.ts'
import { markedText } from '../../../kinds/answer/provenance.ts'

/**
 * Marks the thoughts of an answer that goes to its client as it came, so that they come back to this provider alone:
 * one without a signature gets one of the mark only. For providers other than Claude's.
 */
class MarkedThinking {
  readonly #provider: string
  /** Open blocks of thinking, and whether their mark is sent. */
  readonly #open = new Map<unknown, boolean>()

  constructor(provider: string) {
    this.#provider = provider
  }

  /** The events in place of one of a stream; null = it stays as it is. */
  events(event: RawJson): readonly RawJson[] | null {
    const { type, index } = event
    if (type === 'content_block_start') {
      const given = objectOf(event['content_block']) ?? {}
      const block = this.#block(given)
      if (given['type'] === 'thinking') this.#open.set(index, given['signature'] !== block['signature'])
      return block === given ? null : [{ ...event, content_block: block }]
    }
    const isMarked = this.#open.get(index)
    if (isMarked === undefined) return null
    if (type === 'content_block_stop') {
      this.#open.delete(index)
      return isMarked ? null : [this.#signature(index, ''), event]
    }
    const signature = textOf(objectOf(event['delta'])?.['signature'])
    if (type !== 'content_block_delta' || signature === null || isMarked) return null
    this.#open.set(index, true)
    return [this.#signature(index, signature)]
  }

  whole(message: RawJson): RawJson {
    const content = listOf(message['content']).map((raw) => {
      const block = objectOf(raw)
      if (block === null) return raw
      return block['type'] === 'thinking' ? this.#signed(block) : this.#block(block)
    })
    return Array.isArray(message['content']) ? { ...message, content } : message
  }

  /** A stream's thinking begins without its signature, which follows. */
  #block(block: RawJson): RawJson {
    const data = block['type'] === 'redacted_thinking' ? textOf(block['data']) : null
    if (data !== null) return { ...block, data: markedText(data, this.#provider) }
    return block['type'] === 'thinking' && (textOf(block['signature']) ?? '') !== '' ? this.#signed(block) : block
  }

  #signed(block: RawJson): RawJson {
    return { ...block, signature: markedText(textOf(block['signature']) ?? '', this.#provider) }
  }

  #signature(index: unknown, signature: string): RawJson {
    const delta = { type: 'signature_delta', signature: markedText(signature, this.#provider) }
    return { type: 'content_block_delta', index, delta }
  }
}

const LF = 0x0a
const EVENT_NAME = /^[a-z_]{1,64}$/

/** Sends the client's own request, and passes the answer on as it came, read on the way (clients.md D-14.2). */
export function anthropicMessages(transport: Transport): NonNullable<Adapter['messages']> {
  return (call, sink) =>
    askEvents(
      transport,
      call,
      {
        request: () => ({ path: MESSAGES_PATH, body: call.body, headers: headersOf(call) }),
        reader: () => new NativeReader(call),
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
  readonly #marks: MarkedThinking | null
  #started = false

  constructor({ generationId, startOf, endpoint }: MessagesCall) {
    const signer = signerOf(endpoint)
    this.#reader = new AnthropicReader({ generationId, answerTool: null, hidesReasoning: false, signer })
    this.#marks = signer === null ? null : new MarkedThinking(signer)
    this.#startOf = startOf
  }

  get state(): AnswerState {
    return this.#reader.state
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
      default: {
        if (!EVENT_NAME.test(type)) return read
        const marked = this.#marks?.events(event) ?? null
        if (marked === null) return [...read, { type: 'wire', sent: eventBytes(type, data, event) }]
        return [...read, ...marked.map((sent) => ({ type: 'wire', sent: ownBytes(sent) }) as const)]
      }
    }
  }

  ended(): AttemptFailure | null {
    return this.#reader.ended()
  }

  whole(body: unknown): readonly AnswerEvent[] | AttemptFailure {
    const read = this.#reader.whole(body)
    const message = objectOf(body)
    return 'reason' in read || message === null
      ? read
      : [...read, { type: 'wire', sent: this.#marks?.whole(message) ?? message }]
  }

  /** A refusal of the request passes whole; one of the operator's account, and a fault, are told in our words. */
  error(_status: number, body: unknown, read: (body: unknown) => AttemptFailure): AttemptFailure {
    const failure = read(body)
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

function ownBytes(event: RawJson): Buffer {
  return Buffer.from(`event: ${textOf(event['type']) ?? ''}\ndata: ${JSON.stringify(event)}\n\n`)
}

/** Data of several lines is written as one line. */
function eventBytes(type: string, data: Buffer, event: unknown): Buffer {
  const line = data.includes(LF) ? Buffer.from(JSON.stringify(event)) : data
  return Buffer.concat([Buffer.from(`event: ${type}\ndata: `), line, Buffer.from('\n\n')])
}
