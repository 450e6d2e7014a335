import type { Clock } from '../../base/clock.ts'
import type { EventBuffer } from './event-buffer.ts'

const SILENCE_MS = 10_000
const KEEP_ALIVE = Buffer.from(': PROCESSING\n\n')
/** After an event with a number, some decoders take a blank line for another, empty event (wire.md C9). */
const NUMBERED_KEEP_ALIVE = Buffer.from(': PROCESSING\n')

/** One client's connection as the relay uses it; the details of sockets stay in src/http. */
export interface ClientStream {
  /** Sends whole SSE events; false asks for a pause until `Generation.drained` is called. */
  write(bytes: Buffer): boolean
  /** Sends the last events and ends the body cleanly. */
  end(bytes: Buffer): void
  /** Breaks the connection, so that a cut answer does not look complete (wire.md C2). */
  reset(): void
}

/** Commits the response headers; null = the client has left. Called at most once, for streams only. */
export type OpenStream = () => ClientStream | null

type State =
  /** Nothing has been sent, so the answer may still become an HTTP error. */
  | { readonly at: 'waiting'; readonly open: OpenStream }
  | { readonly at: 'reading'; readonly stream: ClientStream }
  /** The client has left. It may come back to a buffered answer. */
  | { readonly at: 'gone' }
  /** The last bytes have been sent, or the connection is broken. */
  | { readonly at: 'over' }

const NOT_STARTED: State = { at: 'waiting', open: () => null }
const GONE: State = { at: 'gone' }
const OVER: State = { at: 'over' }

/** The client's side of one answer: the current reader, and the events stored for a client that returns. */
export class ClientEnd {
  readonly #buffer: EventBuffer | null
  readonly #clock: Clock
  readonly #keepAlive: Buffer
  #state: State = NOT_STARTED
  #lastSentMs: number
  #isSlow = false

  constructor(buffer: EventBuffer | null, clock: Clock, keepAlive?: Buffer) {
    this.#buffer = buffer
    this.#clock = clock
    this.#keepAlive = keepAlive ?? (buffer === null ? KEEP_ALIVE : NUMBERED_KEEP_ALIVE)
    this.#lastSentMs = clock.monotonic()
  }

  /** Whether the provider has had to wait for a reader. */
  get isSlow(): boolean {
    return this.#isSlow
  }

  get isGone(): boolean {
    return this.#state.at === 'gone'
  }

  /** Whether a client reads the answer, or may return to read it. */
  get isShown(): boolean {
    return this.#state.at === 'reading' || this.#buffer !== null
  }

  /** Whether `stream` is the current reader; null = whether there is none. */
  isReading(stream: ClientStream | null): boolean {
    return this.#stream === stream
  }

  /** Waits for the client of the request itself: its response is opened with the first bytes. */
  wait(open: OpenStream): void {
    this.#state = { at: 'waiting', open }
  }

  /** Another connection takes over; events up to number `after` are not sent again. false asks for a pause. */
  attach(stream: ClientStream, after: number): boolean {
    const previous = this.#stream
    this.#state = { at: 'reading', stream }
    previous?.reset()
    const missed = this.#since(after)
    return missed.length === 0 || stream.write(missed)
  }

  /**
   * Sends a connection, after the answer's end, the events that it missed. The end is clean only if the answer is
   * complete.
   */
  replay(stream: ClientStream, after: number): void {
    const missed = this.#since(after)
    if (this.#buffer?.whole === true) return stream.end(missed)
    stream.write(missed)
    stream.reset()
  }

  /** false asks for a pause. */
  send(bytes: Buffer): boolean {
    const numbered = this.#buffer === null ? bytes : this.#buffer.add(bytes)
    if (this.isGone) return true
    const stream = this.#open()
    this.#lastSentMs = this.#clock.monotonic()
    const goesOn = stream === null || stream.write(numbered)
    this.#isSlow ||= !goesOn
    return goesOn
  }

  /** Sends the keep-alive after ten seconds without an event. */
  keepAlive(nowMs: number): void {
    if (this.isGone || nowMs - this.#lastSentMs < SILENCE_MS) return
    const stream = this.#open()
    this.#lastSentMs = nowMs
    stream?.write(this.#keepAlive)
  }

  /** Sends the last bytes of a complete answer. */
  end(tail: Buffer): void {
    this.#open()
    this.#finish(tail)
  }

  /**
   * Sends the last bytes of a failed answer; null = it has no form for an error, and the connection is broken. A client
   * that still waits gets an HTTP error instead.
   */
  fail(tail: Buffer | null): void {
    if (tail === null) this.break()
    else this.#finish(tail)
  }

  /** The client's connection has closed. */
  leave(): void {
    this.#state = GONE
  }

  /** Its owner no longer wants the answer. */
  dismiss(): void {
    const stream = this.#stream
    this.#state = GONE
    stream?.reset()
  }

  /** Breaks the connection that still reads, if any. */
  break(): void {
    const stream = this.#stream
    this.#state = OVER
    stream?.reset()
  }

  get #stream(): ClientStream | null {
    return this.#state.at === 'reading' ? this.#state.stream : null
  }

  #open(): ClientStream | null {
    if (this.#state.at !== 'waiting') return this.#stream
    const stream = this.#state.open()
    this.#state = stream === null ? GONE : { at: 'reading', stream }
    return stream
  }

  #finish(tail: Buffer): void {
    const bytes = this.#buffer === null ? tail : this.#buffer.finish(tail)
    const stream = this.#stream
    this.#state = OVER
    stream?.end(bytes)
  }

  #since(after: number): Buffer {
    return this.#buffer?.since(after) ?? Buffer.alloc(0)
  }
}
