import type { ServerResponse } from 'node:http'
import { Bag, type BagItem } from '../base/bag.ts'
import type { Clock } from '../base/clock.ts'
import { breakConnection, isTooSlow, ROOMY, STALL_MS, SWEEP_MS, type ReplyRoom } from './slow-readers.ts'

/** Longer bytes are sent in pieces of this size, so that the client's progress can be seen. */
const PIECE_BYTES = 262_144
const EVENT_STREAM = 'text/event-stream; charset=utf-8'

/** The owner of a stream, which writes an answer to it. */
export interface StreamOwner {
  /** The client has room again after `write` returned false. */
  drained(stream: SseStream): void
  /** The connection ended before `end`, by the client or by the stall limit. Called at most once. */
  detached(stream: SseStream): void
}

/**
 * Opens event streams and watches all of them with one timer. `SlowReaders` watches sockets, so it misses a stream
 * without one, which waits behind another answer of its connection.
 */
export class SseStreams {
  readonly #clock: Clock
  readonly #room: ReplyRoom
  readonly #open = new Bag<SseStream>()
  #ticking = false

  constructor(clock: Clock, room: ReplyRoom = ROOMY) {
    this.#clock = clock
    this.#room = room
  }

  get size(): number {
    return this.#open.size
  }

  /**
   * Commits to status 200; the head is sent in one packet with the first write. `headers` are the call's base headers
   * and the handler's own, in lower case. With another `contentType` the body is any bytes, which are watched in the
   * same way.
   */
  open(
    response: ServerResponse,
    headers: Readonly<Record<string, string>>,
    owner: StreamOwner,
    contentType = EVENT_STREAM,
  ): SseStream {
    const stream = new SseStream(response, { clock: this.#clock, room: this.#room }, owner, () =>
      this.#open.delete(stream),
    )
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
      for (const stream of this.#open) stream.resetIfStalled(this.#room.isWanted)
      if (this.#open.size > 0) this.#tick()
      else this.#ticking = false
    })
  }
}

interface Waiting {
  /** The bytes that the connection has not got yet. */
  readonly parts: Buffer[]
  bytes: number
  leftBytes: number
  readonly sinceMs: number
  readonly giveBacks: (() => void)[]
}

/** One client's event stream. Bytes are sent as given: the caller forms the events. */
export class SseStream implements BagItem {
  bagPlace = 0
  readonly #response: ServerResponse
  readonly #clock: Clock
  readonly #room: ReplyRoom
  readonly #owner: StreamOwner
  readonly #forget: () => void
  #ended = false
  #closed: boolean
  /** Monotonic ms since which `pendingBytes` has not shrunk; null while the client keeps up. */
  #stalledSinceMs: number | null = null
  #pendingBytes = 0
  /** Bytes longer than a piece that wait for the client; their memory is counted. */
  #waiting: Waiting | null = null

  constructor(
    response: ServerResponse,
    { clock, room }: { readonly clock: Clock; readonly room: ReplyRoom },
    owner: StreamOwner,
    forget: () => void,
  ) {
    this.#response = response
    this.#clock = clock
    this.#room = room
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
   * Returns false if the caller should pause until the owner is `drained`; the bytes are taken either way. After the
   * close they are dropped.
   */
  write(bytes: Buffer | string): boolean {
    if (this.#closed || this.#ended) return true
    if (this.#waiting === null && bytes.length <= PIECE_BYTES) {
      if (this.#response.write(bytes)) return true
    } else this.#wait(bytes)
    if (this.#stalledSinceMs === null) {
      this.#stalledSinceMs = this.#clock.monotonic()
      this.#pendingBytes = this.#unsentBytes
    }
    return false
  }

  /** Sends the last bytes and ends the body cleanly. The stall limit still holds for buffered bytes. */
  end(bytes?: Buffer | string): void {
    if (this.#closed || this.#ended) return
    this.#ended = true
    if (this.#waiting !== null || (bytes?.length ?? 0) > PIECE_BYTES) this.#wait(bytes ?? '')
    else if (bytes === undefined) this.#response.end()
    else this.#response.end(bytes)
    this.#stalledSinceMs ??= this.#clock.monotonic()
    this.#pendingBytes = this.#unsentBytes
  }

  /** Breaks the connection with RST, so that a cut answer does not look complete (wire.md C2). */
  reset(): void {
    if (this.#closed) return
    const { socket } = this.#response
    if (socket === null) this.#response.destroy()
    else breakConnection(socket)
  }

  /** Called by the sweep: only bytes taken by the client count as progress. `isWanted`: others wait for the memory. */
  resetIfStalled(isWanted: boolean): void {
    if (this.#stalledSinceMs === null) return
    const pendingBytes = this.#unsentBytes
    const nowMs = this.#clock.monotonic()
    if (isWanted && this.#waiting !== null && isTooSlow(this.#waiting.bytes, this.#waiting.sinceMs, nowMs)) this.reset()
    else if (pendingBytes < this.#pendingBytes) this.#stalledSinceMs = nowMs
    else if (nowMs - this.#stalledSinceMs >= STALL_MS) this.reset()
    this.#pendingBytes = pendingBytes
  }

  get #unsentBytes(): number {
    return this.#response.writableLength + (this.#waiting?.leftBytes ?? 0)
  }

  #wait(given: Buffer | string): void {
    const bytes = typeof given === 'string' ? Buffer.from(given) : given
    if (this.#waiting === null) {
      const giveBack = this.#room.unsent(bytes.length)
      const sinceMs = this.#clock.monotonic()
      this.#waiting = { parts: [bytes], bytes: bytes.length, leftBytes: bytes.length, sinceMs, giveBacks: [giveBack] }
      this.#goOn()
    } else {
      this.#waiting.parts.push(bytes)
      this.#waiting.bytes += bytes.length
      this.#waiting.leftBytes += bytes.length
      this.#waiting.giveBacks.push(this.#room.unsent(bytes.length))
    }
  }

  /** Sends the next piece of the waiting bytes; the others follow as the client takes it. */
  #goOn(): void {
    const waiting = this.#waiting
    const [first] = waiting?.parts ?? []
    if (waiting === null || first === undefined || this.#closed) return
    const piece = first.subarray(0, PIECE_BYTES)
    if (piece.length === first.length) waiting.parts.shift()
    else waiting.parts[0] = first.subarray(PIECE_BYTES)
    waiting.leftBytes -= piece.length
    if (waiting.parts.length === 0 && this.#ended) this.#response.end(piece)
    // A client that reads fast must not hold up everybody else.
    else if (this.#response.write(piece)) setImmediate(() => this.#drained())
  }

  #giveBack(): void {
    for (const giveBack of this.#waiting?.giveBacks ?? []) giveBack()
    this.#waiting = null
  }

  #drained(): void {
    if (this.#waiting !== null && this.#waiting.parts.length > 0) {
      setImmediate(() => this.#goOn())
      return
    }
    // The last bytes count until they are sent.
    if (!this.#ended) this.#giveBack()
    this.#stalledSinceMs = null
    if (!this.#ended && !this.#closed) this.#owner.drained(this)
  }

  #gone(): void {
    if (this.#closed) return
    this.#closed = true
    this.#giveBack()
    this.#forget()
    if (!this.#response.writableFinished) this.#owner.detached(this)
  }
}
