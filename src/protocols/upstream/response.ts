import { setImmediate as nextTurn } from 'node:timers/promises'
import { failure, type AttemptFailure } from '../ports/attempt-failure.ts'
import type { AnswerSink, RunningCall } from '../ports/call.ts'
import { roomFor, type AnswerHold } from '../answer-budget.ts'
import { CollectedBody, type InflatedBody, LARGE_BYTES, inflatedBody } from '../wire/collected-body.ts'
import { ERROR_BYTES_MAX, parseErrorBody } from '../wire/error-body.ts'
import { upstreamFailure } from '../wire/upstream-error.ts'
import {
  headerOf,
  type HttpRequest,
  type SentRequest,
  type Transport,
  type UpstreamHeaders,
} from '../wire/transport.ts'

const BODY_BYTES_MAX = 32 * 1_048_576
/** An answer of this size or more is parsed in its own turn of the loop. */
export const TURN_BYTES = 1_048_576

/**
 * How far an answer has come. `finished`: all of its content has come, so that neither silence nor a cut makes it
 * incomplete; usage and a last message may follow. `done`: nothing after it matters.
 */
export type AnswerState = 'open' | 'finished' | 'done'

const JSON_TYPE = /^$|json/i
/** Some services label JSON as text. No text of speech begins in this way. */
const JSON_START = /^\s*\{\s*"/
const START_BYTES = 64
const EVENTS = /^text\/event-stream/i
/** Blanks that keep a connection alive come a few at a time. */
const HEARTBEAT_BYTES_MAX = 1_024
const BLANKS: ReadonlySet<number> = new Set(Buffer.from(' \t\r\n'))

/** The result of reading a piece of a stream. */
export interface StreamProgress {
  readonly failure: AttemptFailure | null
  /** false = the client asks for a pause. */
  readonly flowing: boolean
  /** Whether an event advanced the answer; after the finish only content does. */
  readonly progressed: boolean
  readonly state: AnswerState
}

export interface StreamReader {
  push(bytes: Buffer): StreamProgress
  /** Called when the body has ended; null = the answer is complete. */
  end(): AttemptFailure | null
}

/** null = the answer is complete. */
type WholeRead = AttemptFailure | null

/**
 * Reads a whole body. A large one is read in several turns of the loop; the promise then resolves to a function that
 * ends it.
 */
type BodyReader = (body: Buffer, headers: UpstreamHeaders) => WholeRead | Promise<() => WholeRead>

/** Reads a whole body as it comes. */
export interface PieceReader {
  push(bytes: Buffer): void
  end(headers: UpstreamHeaders): WholeRead
  /** Whether it is one complete object or array of JSON so far. */
  isWholeJson(): boolean
}

/** Reads an error status. `body` is parsed JSON, its text, or undefined. */
export type ReadsError = (status: number, body: unknown, read: (body: unknown) => AttemptFailure) => AttemptFailure

/** How a protocol reads one answer. Content goes to the sink; the end is returned. */
export interface ResponseReader {
  /** Reads the head of a successful answer before its body; a failure aborts the answer. */
  answered?(headers: UpstreamHeaders): AttemptFailure | null
  /** Reads a streamed body piece by piece; null = the protocol answers this request with a plain answer. */
  readonly stream: StreamReader | null
  /** Reads the whole body of a successful status: of a plain answer, or of JSON that came instead of a stream. */
  readonly whole: BodyReader | PieceReader
  /** Reads the failure of an error status whose words are in none of the usual fields (wire/error-body.ts). */
  readonly error?: ReadsError
  /** The largest body of a plain answer; absent = 32 MiB. */
  readonly bytesMax?: number
}

/**
 * The response to one HTTP request, whatever the protocol: it checks status, encoding, size limits and progress, and
 * ends exactly once. The constructor sends the request.
 */
export class UpstreamResponse implements RunningCall {
  readonly #sink: AnswerSink
  readonly #transport: Transport
  readonly #reader: ResponseReader
  readonly #sent: SentRequest
  readonly #asksStream: boolean
  #status = 0
  #headers: UpstreamHeaders = {}
  #isJson = false
  /** The reader of a streamed body; null = it is collected. */
  #stream: StreamReader | null = null
  #state: AnswerState = 'open'
  /** The failure with which the body broke off. */
  #cut: AttemptFailure | null = null
  #inflated: InflatedBody | null = null
  #body = new CollectedBody(null)
  /** The number of bytes of the body that came. */
  #bytes = 0
  /** Room in the node's budget for a large plain answer. */
  readonly #room: AnswerHold
  #waitsForRoom = false
  #over = false

  constructor(transport: Transport, request: HttpRequest, reader: ResponseReader, sink: AnswerSink) {
    this.#sink = sink
    this.#transport = transport
    this.#reader = reader
    this.#asksStream = request.streaming
    this.#room = transport.answers.hold()
    this.#sent = transport.send(request, {
      headers: (status, headers) => this.#answered(status, headers),
      push: (bytes) => (this.#inflated === null ? this.#received(bytes) : this.#inflated.push(bytes)),
      end: () => this.#bodyEnded(null),
      fail: (found) => this.#bodyEnded(found),
      isComplete: () => this.#isComplete,
    })
  }

  cancel(): void {
    this.#finish()
    this.#sent.cancel()
  }

  resume(): void {
    if (this.#waitsForRoom) return
    if (this.#inflated === null) this.#sent.resume()
    else this.#inflated.resume()
  }

  /** Called by a reader that learns of progress only after it got the bytes. */
  progressed(): void {
    this.#sent.progressed()
  }

  get #bytesMax(): number {
    return this.#reader.bytesMax ?? BODY_BYTES_MAX
  }

  get #ok(): boolean {
    return this.#status >= 200 && this.#status < 300
  }

  #answered(status: number, headers: UpstreamHeaders): void {
    this.#status = status
    this.#headers = headers
    const type = headerOf(headers, 'content-type') ?? ''
    this.#isJson = JSON_TYPE.test(type)
    // Some services answer with events although nobody asked for them.
    const isStream = this.#asksStream ? !type.startsWith('application/json') : EVENTS.test(type)
    this.#stream = this.#ok && isStream ? this.#reader.stream : null
    const encoding = headerOf(headers, 'content-encoding') ?? 'identity'
    if (encoding !== 'identity') {
      this.#inflated = inflatedBody(encoding, {
        data: (bytes) => this.#received(bytes),
        drained: () => this.#sent.resume(),
        end: () => this.#ended(),
        fail: (detail) => this.#giveUp(failure('garbage', null, detail)),
      })
      if (this.#inflated === null)
        return this.#giveUp(failure('garbage', null, `unknown content-encoding ${encoding.slice(0, 40)}`))
    } else if (this.#stream === null) this.#expect(lengthOf(headers, this.#ok ? this.#bytesMax : ERROR_BYTES_MAX))
    if (!this.#ok) return
    this.#sink.headers()
    const found = this.#reader.answered?.(headers) ?? null
    if (found !== null && !this.#over) this.#giveUp(found)
  }

  #received(bytes: Buffer): boolean {
    if (this.#over) return true
    if (this.#stream === null) return this.#collect(bytes)
    const { failure: found, flowing, progressed, state } = this.#stream.push(bytes)
    // The sink may have cancelled the call during the push.
    if (this.#over) return true
    if (progressed || state !== this.#state) this.#sent.progressed()
    this.#state = state
    if (found !== null) this.#giveUp(found)
    else if (state === 'done') {
      this.#sent.release()
      this.#ended()
    }
    return flowing
  }

  #collect(bytes: Buffer): boolean {
    this.#isJson ||= this.#bytes === 0 && JSON_START.test(bytes.toString('latin1', 0, START_BYTES))
    // Some providers keep the connection alive with blanks, before an answer and after it.
    if (!isHeartbeat(bytes) || !this.#isComplete) this.#sent.progressed()
    if (!this.#ok && this.#bytes + bytes.length > ERROR_BYTES_MAX) {
      this.#body.add(bytes.subarray(0, ERROR_BYTES_MAX - this.#bytes))
      this.#giveUp(this.#readError(this.#body.take()))
    } else if (this.#bytes + bytes.length > this.#bytesMax)
      this.#giveUp(failure('too_large', null, `the answer is larger than ${this.#bytesMax / 1_048_576} MiB`))
    else {
      this.#bytes += bytes.length
      const pieces = this.#pieces
      if (pieces === null) this.#body.add(bytes)
      else pieces.push(bytes)
      return (
        this.#bytes < LARGE_BYTES ||
        this.#bytes <= this.#room.bytes ||
        this.#hasRoom(roomFor(this.#bytes), () => undefined)
      )
    }
    return true
  }

  /** The reader that takes the pieces of this body, if it has one. */
  get #pieces(): PieceReader | null {
    const { whole } = this.#reader
    return this.#ok && typeof whole !== 'function' ? whole : null
  }

  /** Takes memory for a large answer only when the node has room for all of it. */
  #expect(bytesTold: number | null): void {
    if (bytesTold === null || bytesTold < LARGE_BYTES) return
    const begin = (): void => {
      if (this.#pieces !== null) return
      const early = this.#body.take()
      this.#body = new CollectedBody(bytesTold)
      this.#body.add(early)
    }
    if (this.#hasRoom(bytesTold, begin)) begin()
  }

  /** false = the socket waits, and resumes in `onRoom`. */
  #hasRoom(bytes: number, onRoom: () => void): boolean {
    if (this.#waitsForRoom) return false
    this.#waitsForRoom = !this.#room.reach(bytes, () => {
      // Room is freed inside the parser of another answer's socket: no other socket may resume before that parser
      // returns.
      setImmediate(() => {
        this.#waitsForRoom = false
        if (this.#over) return
        onRoom()
        this.resume()
      })
    })
    return !this.#waitsForRoom
  }

  /** Whether all content has come although the body has not ended. Texts and sounds do not show this. */
  get #isComplete(): boolean {
    if (this.#stream !== null) return this.#state !== 'open'
    return this.#isJson && (this.#pieces ?? this.#body).isWholeJson()
  }

  /** `cut`: the failure with which it broke off. Bytes that are still being decompressed belong to it. */
  #bodyEnded(cut: AttemptFailure | null): void {
    this.#cut = cut
    if (this.#inflated === null) this.#ended()
    else this.#inflated.end()
  }

  #ended(): void {
    if (this.#over) return
    if (this.#cut !== null && !this.#isComplete) return this.#fail(this.#cut)
    const found = this.#readEnd()
    if (!(found instanceof Promise)) this.#read(found)
    // The reader takes turns of its own and always ends, so nothing waits for it here.
    else void found.then((close) => this.#over || this.#read(close()))
  }

  #read(found: WholeRead): void {
    // While the end was read, a sink may have cancelled the call.
    if (this.#over) return
    if (found !== null) this.#fail(found)
    else {
      this.#finish()
      this.#sink.end()
    }
  }

  #readEnd(): WholeRead | Promise<() => WholeRead> {
    if (this.#stream !== null) return this.#stream.end()
    if (!this.#ok) return this.#readError(this.#body.take())
    const { whole } = this.#reader
    if (typeof whole !== 'function') return whole.end(this.#headers)
    const body = this.#body.take()
    return body.length < TURN_BYTES ? whole.call(this.#reader, body, this.#headers) : this.#readLarge(body, whole)
  }

  /** Pieces of 32 MB are joined in one turn and parsed in another. */
  async #readLarge(body: Buffer, whole: BodyReader): Promise<() => WholeRead> {
    await nextTurn()
    const found = this.#over ? null : await whole.call(this.#reader, body, this.#headers)
    return typeof found === 'function' ? found : () => found
  }

  #readError(body: Buffer): AttemptFailure {
    const read = (found: unknown): AttemptFailure =>
      upstreamFailure(this.#status, found, this.#headers, this.#transport.clock.now())
    const found = parseErrorBody(body)
    return this.#reader.error?.(this.#status, found, read) ?? read(found)
  }

  /** Gives the answer up as useless, and closes the socket. */
  #giveUp(found: AttemptFailure): void {
    this.#sent.cancel()
    // Anything after all of its content, such as a page of a proxy, does not spoil an answer; an error does.
    if (this.#state !== 'open' && found.reason !== 'error_event') this.#ended()
    else this.#fail(found)
  }

  #fail(found: AttemptFailure): void {
    if (this.#over) return
    this.#finish()
    this.#sink.fail(found)
  }

  #finish(): void {
    this.#over = true
    this.#room.release()
    this.#inflated?.destroy()
  }
}

/** Reads a parsed body, at once or in turns. */
export function inTurns<Parsed extends object>(
  parsed: Parsed | Promise<Parsed>,
  read: (parsed: Parsed) => WholeRead,
): WholeRead | Promise<() => WholeRead> {
  return parsed instanceof Promise ? parsed.then((late) => () => read(late)) : read(parsed)
}

function isHeartbeat(bytes: Buffer): boolean {
  return bytes.length <= HEARTBEAT_BYTES_MAX && bytes.every((byte) => BLANKS.has(byte))
}

/** The length of the body that the headers state, if it is within the limit. */
function lengthOf(headers: UpstreamHeaders, bytesMax: number): number | null {
  const told = Number(headerOf(headers, 'content-length') ?? Number.NaN)
  return Number.isSafeInteger(told) && told >= 0 ? Math.min(told, bytesMax) : null
}
