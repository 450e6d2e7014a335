import type { ServerResponse } from 'node:http'
import type { Clock } from '../lib/clock.ts'

/** A client that takes nothing for this long is taken for dead (reliability.md F41). */
const STALL_MS = 60_000
const SWEEP_MS = 5_000
const EVENT_STREAM = 'text/event-stream; charset=utf-8'

export interface SseEvents {
  /** The client has room again after `write` answered false. */
  onDrain(): void
  /** The connection ended before `end`, by the client or by the stall limit. Called at most once. */
  onClose(): void
}

/** Opens event streams and watches all of them with one timer. */
export class SseStreams {
  readonly #clock: Clock
  readonly #open = new Set<SseStream>()
  #ticking = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#open.size
  }

  /**
   * Commits to 200; the head leaves in one packet with the first write. `headers` are the call's base headers and the
   * handler's own, in lower case. Another `contentType` is a body of bytes, watched like the events.
   */
  open(
    response: ServerResponse,
    headers: Readonly<Record<string, string>>,
    events: SseEvents,
    contentType = EVENT_STREAM,
  ): SseStream {
    const stream = new SseStream(response, this.#clock, events, () => this.#open.delete(stream))
    response.writeHead(200, {
      ...headers,
      'content-type': contentType,
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    })
    if (stream.closed) return stream
    this.#open.add(stream)
    if (!this.#ticking) this.#tick()
    return stream
  }

  #tick(): void {
    this.#ticking = true
    this.#clock.after(SWEEP_MS, () => {
      for (const stream of this.#open) stream.resetIfStalled()
      if (this.#open.size > 0) this.#tick()
      else this.#ticking = false
    })
  }
}

/** One client's event stream. Bytes go out as they are given: the caller forms the events. */
export class SseStream {
  readonly #response: ServerResponse
  readonly #clock: Clock
  readonly #events: SseEvents
  readonly #forget: () => void
  #ended = false
  #closed: boolean
  /** Monotonic ms since when `pendingBytes` has not shrunk; null while the client keeps up. */
  #stalledSinceMs: number | null = null
  #pendingBytes = 0

  constructor(response: ServerResponse, clock: Clock, events: SseEvents, forget: () => void) {
    this.#response = response
    this.#clock = clock
    this.#events = events
    this.#forget = forget
    this.#closed = response.destroyed
    response.on('drain', () => this.#drained())
    response.on('close', () => this.#gone())
    if (this.#closed) queueMicrotask(() => this.#events.onClose())
  }

  /** True once the client can receive nothing more. */
  get closed(): boolean {
    return this.#closed
  }

  /** false asks the caller to pause until `onDrain`; the bytes are taken either way. After the close they are dropped. */
  write(bytes: Buffer | string): boolean {
    if (this.#closed || this.#ended) return true
    if (this.#response.write(bytes)) return true
    if (this.#stalledSinceMs === null) {
      this.#stalledSinceMs = this.#clock.monotonic()
      this.#pendingBytes = this.#response.writableLength
    }
    return false
  }

  /** Sends the last bytes and ends the body cleanly. The stall limit still holds for what is buffered. */
  end(bytes?: Buffer | string): void {
    if (this.#closed || this.#ended) return
    this.#ended = true
    if (bytes === undefined) this.#response.end()
    else this.#response.end(bytes)
    this.#stalledSinceMs ??= this.#clock.monotonic()
    this.#pendingBytes = this.#response.writableLength
  }

  /** Breaks the connection with RST, so that no client takes a cut answer for a whole one (wire.md F2). */
  reset(): void {
    if (this.#closed) return
    const { socket } = this.#response
    if (socket === null) this.#response.destroy()
    else socket.resetAndDestroy()
  }

  /** The sweep: progress is what the client took, not what we wrote. */
  resetIfStalled(): void {
    if (this.#stalledSinceMs === null) return
    const pendingBytes = this.#response.writableLength
    const nowMs = this.#clock.monotonic()
    if (pendingBytes < this.#pendingBytes) this.#stalledSinceMs = nowMs
    else if (nowMs - this.#stalledSinceMs >= STALL_MS) this.reset()
    this.#pendingBytes = pendingBytes
  }

  #drained(): void {
    this.#stalledSinceMs = null
    if (!this.#ended && !this.#closed) this.#events.onDrain()
  }

  #gone(): void {
    if (this.#closed) return
    this.#closed = true
    this.#forget()
    if (!this.#response.writableFinished) this.#events.onClose()
  }
}
