import type { MessageDecoder } from '../upstream/events.ts'
import { NdjsonDecoder } from '../wire/ndjson-decoder.ts'
import { SseDecoder } from '../wire/sse-decoder.ts'

const BRACE = 0x7b

/**
 * Decodes server-sent events, or the older protocol's lines of JSON: those begin with a brace, which no event field
 * does.
 */
export class CohereDecoder implements MessageDecoder {
  readonly #events: { readonly message: (data: Buffer) => void; readonly error: (data: Buffer) => void }
  #chosen: MessageDecoder | null = null

  constructor(events: { readonly message: (data: Buffer) => void; readonly error: (data: Buffer) => void }) {
    this.#events = events
  }

  push(bytes: Buffer): boolean {
    if (bytes.length === 0) return true
    const { message, error } = this.#events
    this.#chosen ??=
      bytes[0] === BRACE ? new NdjsonDecoder(message) : new SseDecoder({ event: message, errorLine: error })
    return this.#chosen.push(bytes)
  }

  end(): void {
    this.#chosen?.end()
  }
}
