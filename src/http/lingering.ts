import type { IncomingMessage } from 'node:http'
import type { Clock } from '../lib/clock.ts'

/** The same limit as nginx: a client that sends nothing for this long has gone or waits for us. */
const SILENCE_MS = 5_000
const BYTES_MAX = 64 * 1_048_576

/**
 * Closes a socket after an early answer. With unread bytes the kernel would send RST, and the client would report EPIPE
 * instead of our answer. So we end our side after the answer, and read and drop the client's bytes until it ends, falls
 * silent, or reaches the limit of time or bytes.
 */
export class Lingering {
  readonly #clock: Clock
  readonly #open = new Set<() => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `untilMs` is a time of clock.monotonic(). */
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

  /** A process that ends does not wait for these sockets. */
  close(): void {
    for (const finish of this.#open) finish()
  }
}
