import type { IncomingMessage } from 'node:http'
import type { Clock } from '../lib/clock.ts'

/** As nginx does it: a client that sends nothing for this long has gone or waits for us. */
const SILENCE_MS = 5_000
const BYTES_MAX = 64 * 1_048_576

/**
 * Closing a socket with unread bytes makes the kernel send RST, and the client reports EPIPE instead of our answer. So
 * once the answer is out, our side is closed, and what the client still sends is read and dropped: until it has ended,
 * or is silent, or its time or bytes are over.
 */
export class Lingering {
  readonly #clock: Clock
  readonly #open = new Set<() => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `untilMs` is of clock.monotonic(). */
  discard(request: IncomingMessage, untilMs: number): void {
    const { socket } = request
    let leftBytes = BYTES_MAX
    let heardMs = this.#clock.monotonic()
    let cancel = (): void => undefined
    const finish = (): void => {
      if (!this.#open.delete(finish)) return
      cancel()
      socket.destroy()
    }
    const look = (): void => {
      const leftMs = Math.min(untilMs, heardMs + SILENCE_MS) - this.#clock.monotonic()
      if (leftMs <= 0) finish()
      else cancel = this.#clock.after(leftMs, look)
    }
    this.#open.add(finish)
    socket.end()
    request.on('data', (chunk: Buffer) => {
      heardMs = this.#clock.monotonic()
      leftBytes -= chunk.length
      if (leftBytes < 0) finish()
    })
    request.on('end', finish).on('close', finish).resume()
    look()
  }

  /** A process that ends waits for none of them. */
  close(): void {
    for (const finish of this.#open) finish()
  }
}
