import { crc32 } from 'node:zlib'
import { CollectedBody } from '../wire/collected-body.ts'
import type { MessageDecoder } from '../upstream/events.ts'

const PRELUDE_BYTES = 12
const MESSAGE_BYTES_MIN = PRELUDE_BYTES + 4
const MESSAGE_BYTES_MAX = 16 * 1_048_576

/**
 * Called with each message as the JSON `{"<event type>": payload}`; for an exception, its type replaces that of the
 * event.
 */
export interface EventStreamEvents {
  readonly message: (data: Buffer) => void
  /** An error without a payload, as the JSON `{type, message}`. */
  readonly error: (data: Buffer) => void
}

/**
 * Splits `application/vnd.amazon.eventstream` into messages, whatever the size of the reads, and checks both checksums
 * of each.
 */
export class EventStreamDecoder implements MessageDecoder {
  readonly #events: EventStreamEvents
  #body = new CollectedBody(null)
  /** The number of bytes that the next step needs: a prelude, then the message that the prelude announces. */
  #needed = PRELUDE_BYTES
  #broken = false

  constructor(events: EventStreamEvents) {
    this.#events = events
  }

  push(bytes: Buffer): boolean {
    if (this.#broken) return false
    this.#body.add(bytes)
    // A long message from small reads is joined once, instead of with every read.
    if (this.#body.bytes >= this.#needed) this.#take(this.#body.take())
    return !this.#broken
  }

  /** The rest is half a message; the reader knows from earlier messages whether the answer is complete. */
  end(): void {
    this.#body = new CollectedBody(null)
  }

  #take(bytes: Buffer): void {
    let start = 0
    this.#needed = PRELUDE_BYTES
    while (bytes.length - start >= PRELUDE_BYTES) {
      const length = messageLength(bytes, start)
      if (length === null) return this.#break()
      if (bytes.length - start < length) {
        this.#needed = length
        break
      }
      if (!this.#message(bytes.subarray(start, start + length))) return this.#break()
      start += length
    }
    this.#body = new CollectedBody(null)
    if (start < bytes.length) this.#body.add(bytes.subarray(start))
  }

  #break(): void {
    this.#broken = true
    this.end()
  }

  #message(message: Buffer): boolean {
    const payloadEnd = message.length - 4
    const payloadStart = PRELUDE_BYTES + message.readUInt32BE(4)
    if (crc32(message.subarray(0, payloadEnd)) !== message.readUInt32BE(payloadEnd)) return false
    const headers = textHeaders(message.subarray(PRELUDE_BYTES, payloadStart))
    if (headers === null) return false
    if (headers.get(':message-type') === 'error') {
      this.#events.error(
        Buffer.from(
          JSON.stringify({ type: headers.get(':error-code') ?? '', message: headers.get(':error-message') ?? '' }),
        ),
      )
      return true
    }
    const type = headers.get(':exception-type') ?? headers.get(':event-type') ?? ''
    const payload = payloadStart === payloadEnd ? Buffer.from('{}') : message.subarray(payloadStart, payloadEnd)
    this.#events.message(Buffer.concat([Buffer.from(`{${JSON.stringify(type)}:`), payload, Buffer.from('}')]))
    return true
  }
}

/** null = the bytes are no prelude of this framing, or announce more bytes than any real message has. */
function messageLength(bytes: Buffer, start: number): number | null {
  const length = bytes.readUInt32BE(start)
  const isFramed = crc32(bytes.subarray(start, start + 8)) === bytes.readUInt32BE(start + 8)
  const fits =
    length >= MESSAGE_BYTES_MIN &&
    length <= MESSAGE_BYTES_MAX &&
    bytes.readUInt32BE(start + 4) <= length - MESSAGE_BYTES_MIN
  return isFramed && fits ? length : null
}

/** The bytes of each value type with a fixed length; types 6 and 7 have a length of their own. */
const VALUE_BYTES: readonly (number | null)[] = [0, 0, 1, 2, 4, 8, null, null, 8, 16]
const TEXT = 7

/** The headers with text values; null = they are cut. */
function textHeaders(bytes: Buffer): ReadonlyMap<string, string> | null {
  const headers = new Map<string, string>()
  let at = 0
  while (at < bytes.length) {
    const nameEnd = at + 1 + (bytes[at] ?? 0)
    const type = bytes[nameEnd]
    const fixed = type === undefined ? undefined : VALUE_BYTES[type]
    if (fixed === undefined) return null
    const valueStart = nameEnd + (fixed === null ? 3 : 1)
    if (valueStart > bytes.length) return null
    const valueEnd = valueStart + (fixed ?? bytes.readUInt16BE(nameEnd + 1))
    if (valueEnd > bytes.length) return null
    if (type === TEXT)
      headers.set(bytes.toString('utf8', at + 1, nameEnd), bytes.toString('utf8', valueStart, valueEnd))
    at = valueEnd
  }
  return headers
}
