import type { ServerResponse } from 'node:http'
import { Bag, type BagItem } from '../lib/bag.ts'
import type { Clock } from '../lib/clock.ts'
import { breakConnection } from './break-connection.ts'
import { STALL_MS, SWEEP_MS } from './slow-readers.ts'

const EVENT_STREAM = 'text/event-stream; charset=utf-8'

/** The answer that a stream sends. */
export interface StreamOwner {
  /** The client has room again after `write` returned false. */
  drained(stream: SseStream): void
  /** The connection ended before `end`, by the client or by the stall limit. Called at most once. */
  detached(stream: SseStream): void
}

/**
 * Opens event streams and watches all of them with one timer. `SlowReaders` watches sockets, and so misses a stream
 * without one, which waits behind another answer of its connection.
 */
export class SseStreams {
  readonly #clock: Clock
  readonly #open = new Bag<SseStream>()
  #ticking = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#open.size
  }

  /**
   * Commits to status 200; the head is sent in one packet with the first write. `headers` are the call's base headers
   * and the handler's own, in lower case. With another `contentType` the body is bytes, which are watched alike.
   */
  open(
    response: ServerResponse,
    headers: Readonly<Record<string, string>>,
    owner: StreamOwner,
    contentType = EVENT_STREAM,
  ): SseStream {
    const stream = new SseStream(response, this.#clock, owner, () => this.#open.delete(stream))
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

/** One client's event stream. Bytes are sent as given: the caller forms the events. */
export class SseStream implements BagItem {
  bagPlace = 0
  readonly #response: ServerResponse
  readonly #clock: Clock
  readonly #owner: StreamOwner
  readonly #forget: () => void
  #ended = false
  #closed: boolean
  /** Monotonic ms since when `pendingBytes` has not shrunk; null while the client keeps up. */
  #stalledSinceMs: number | null = null
  #pendingBytes = 0

  constructor(response: ServerResponse, clock: Clock, owner: StreamOwner, forget: () => void) {
    this.#response = response
    this.#clock = clock
    this.#owner = owner
    this.#forget = forget
    this.#closed = response.destroyed
    response.on('drain', () => this.#drained())
    response.on('close', () => this.#gone())
    if (this.#closed) queueMicrotask(() => this.#owner.detached(this))
  }

  /** True once the client can receive nothing more. */
  get closed(): boolean {
    return this.#closed
  }

  /**
   * Returns false when the caller should pause until the owner is `drained`; the bytes are taken either way. After the
   * close they are dropped.
   */
  write(bytes: Buffer | string): boolean {
    if (this.#closed || this.#ended) return true
    if (this.#response.write(bytes)) return true
    if (this.#stalledSinceMs === null) {
      this.#stalledSinceMs = this.#clock.monotonic()
      this.#pendingBytes = this.#response.writableLength
    }
    return false
  }

  /** Sends the last bytes and ends the body cleanly. The stall limit still holds for buffered bytes. */
  end(bytes?: Buffer | string): void {
    if (this.#closed || this.#ended) return
    this.#ended = true
    if (bytes === undefined) this.#response.end()
    else this.#response.end(bytes)
    this.#stalledSinceMs ??= this.#clock.monotonic()
    this.#pendingBytes = this.#response.writableLength
  }

  /** Breaks the connection with RST, so that a cut answer does not look complete (wire.md C2). */
  reset(): void {
    if (this.#closed) return
    const { socket } = this.#response
    if (socket === null) this.#response.destroy()
    else breakConnection(socket)
  }

  /** The sweep: only bytes that the client has taken count as progress. */
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
    if (!this.#ended && !this.#closed) this.#owner.drained(this)
  }

  #gone(): void {
    if (this.#closed) return
    this.#closed = true
    this.#forget()
    if (!this.#response.writableFinished) this.#owner.detached(this)
  }
}
