import { randomBytes } from 'node:crypto'
import type { WebSocket } from 'ws'

/** While a client has this much left to read, its answer is paused. */
const UNREAD_BYTES_MAX = 131_072
/** At half of it the client is asked what it has read, so that one that reads is never waited for. */
const ASK_BYTES = UNREAD_BYTES_MAX / 2
/** A client cannot guess the mark of a ping that it has not read. */
const MARK_BYTES = 8

/**
 * The messages to one client that it may not have read yet. The system's buffers take megabytes for a client that has
 * stopped reading, and all of its answer so far is kept meanwhile. But a client answers a ping only after it has read
 * the messages before it.
 */
export class UnreadMessages {
  readonly #socket: WebSocket
  #bytes = 0
  #asked: { readonly mark: Buffer; readonly bytes: number } | null = null
  #onRead: (() => void) | null = null

  constructor(socket: WebSocket) {
    this.#socket = socket
  }

  send(message: Buffer): void {
    this.#bytes += message.length
    this.#socket.send(message, { binary: false }, ignore)
    this.#ask()
  }

  /** Calls back once the client has read enough for more. After the close of the socket it does not. */
  whenRead(then: () => void): void {
    if (this.#bytes > UNREAD_BYTES_MAX) this.#onRead = then
    else setImmediate(then)
  }

  /** Whether this is the answer to one of our marks. */
  answered(mark: Buffer): boolean {
    if (this.#asked?.mark.equals(mark) !== true) return false
    this.#bytes -= this.#asked.bytes
    this.#asked = null
    this.#ask()
    const then = this.#onRead
    if (then !== null && this.#bytes <= UNREAD_BYTES_MAX) {
      this.#onRead = null
      then()
    }
    return true
  }

  #ask(): void {
    if (this.#asked !== null || this.#bytes < ASK_BYTES) return
    this.#asked = { mark: randomBytes(MARK_BYTES), bytes: this.#bytes }
    this.#socket.ping(this.#asked.mark, undefined, ignore)
  }
}

function ignore(): void {
  return undefined
}
