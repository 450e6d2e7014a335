import type { AnswerSink, AttemptFailure, RunningCall } from './adapter.ts'
import { CollectedBody } from './collected-body.ts'
import { ERROR_BYTES_MAX, parseErrorBody } from './error-body.ts'
import { InflatedBody } from './inflated-body.ts'
import {
  failure,
  headerOf,
  type Exchange,
  type ExchangeRequest,
  type Transport,
  type UpstreamHeaders,
} from './transport.ts'

const BODY_BYTES_MAX = 32 * 1_048_576

/** What a network read of a stream led to. */
export interface StreamProgress {
  readonly failure: AttemptFailure | null
  /** The client keeps up. */
  readonly flowing: boolean
  /** An event that moves the answer on was among it. */
  readonly progressed: boolean
  /** The terminal marker came: nothing after it matters. */
  readonly done: boolean
}

/** null = the answer is complete. */
type WholeRead = AttemptFailure | null

/** How a protocol reads one answer. What it reads goes to the sink, but for the end. */
export interface AnswerReader {
  /** Looks at the head of a good answer before any of its body; a failure gives the answer up. */
  answered?(headers: UpstreamHeaders): AttemptFailure | null
  /** Reads a piece of a streamed body; null where the protocol answers this request whole. */
  readonly stream: {
    push(bytes: Buffer): StreamProgress
    /** The body is over: null when the answer is complete. */
    end(): AttemptFailure | null
  } | null
  /**
   * Reads a whole body of a good status: of a plain answer, or of JSON that came in a stream's place. A large one takes
   * turns with others, and is over with what it promises.
   */
  whole(body: Buffer, headers: UpstreamHeaders): WholeRead | Promise<() => WholeRead>
  /** Reads an error status; `body` is parsed JSON, or undefined. */
  error(status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure
  /** The largest body of a whole answer, where it is not 32 MiB. */
  readonly bytesMax?: number
}

/** One exchange of any HTTP protocol: status, encoding, size limits, progress, and exactly one end. */
export class UpstreamCall implements RunningCall {
  readonly #sink: AnswerSink
  readonly #reader: AnswerReader
  readonly #exchange: Exchange
  #status = 0
  #headers: UpstreamHeaders = {}
  #streaming = false
  #inflated: InflatedBody | null = null
  #body = new CollectedBody(null)
  #over = false

  constructor(transport: Transport, request: ExchangeRequest, reader: AnswerReader, sink: AnswerSink) {
    this.#sink = sink
    this.#reader = reader
    this.#exchange = transport.send(request, {
      headers: (status, headers) => this.#answered(status, headers),
      data: (bytes) => (this.#inflated === null ? this.#received(bytes) : this.#inflated.push(bytes)),
      ended: () => (this.#inflated === null ? this.#ended() : this.#inflated.end()),
      failed: (found) => this.#fail(found),
    })
  }

  cancel(): void {
    this.#finish()
    this.#exchange.cancel()
  }

  resume(): void {
    if (this.#inflated === null) this.#exchange.resume()
    else this.#inflated.resume()
  }

  /** For a reader that learns of progress later than its bytes come. */
  progressed(): void {
    this.#exchange.progressed()
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
    this.#streaming =
      this.#ok &&
      this.#reader.stream !== null &&
      !(headerOf(headers, 'content-type') ?? '').startsWith('application/json')
    const encoding = headerOf(headers, 'content-encoding') ?? 'identity'
    if (encoding !== 'identity') {
      this.#inflated = InflatedBody.of(encoding, {
        data: (bytes) => this.#received(bytes),
        drained: () => this.#exchange.resume(),
        end: () => this.#ended(),
        fail: (detail) => this.#giveUp(failure('garbage', null, detail)),
      })
      if (this.#inflated === null)
        return this.#giveUp(failure('garbage', null, `unknown content-encoding ${encoding.slice(0, 40)}`))
    } else if (!this.#streaming)
      this.#body = new CollectedBody(lengthOf(headers, this.#ok ? this.#bytesMax : ERROR_BYTES_MAX))
    if (!this.#ok) return
    this.#sink.headers()
    const found = this.#reader.answered?.(headers) ?? null
    if (found !== null && !this.#over) this.#giveUp(found)
  }

  #received(bytes: Buffer): boolean {
    if (this.#over) return true
    if (!this.#streaming || this.#reader.stream === null) return this.#collect(bytes)
    const { failure: found, flowing, progressed, done } = this.#reader.stream.push(bytes)
    // The sink may have cancelled the call within the push.
    if (this.#over) return true
    if (progressed) this.#exchange.progressed()
    if (found !== null) this.#giveUp(found)
    else if (done) {
      this.#exchange.release()
      this.#ended()
    }
    return flowing
  }

  #collect(bytes: Buffer): boolean {
    this.#exchange.progressed()
    if (!this.#ok && this.#body.bytes + bytes.length > ERROR_BYTES_MAX) {
      this.#body.add(bytes.subarray(0, ERROR_BYTES_MAX - this.#body.bytes))
      this.#giveUp(this.#readError(this.#body.take()))
    } else if (this.#body.bytes + bytes.length > this.#bytesMax)
      this.#giveUp(failure('too_large', null, `the answer is larger than ${this.#bytesMax / 1_048_576} MiB`))
    else this.#body.add(bytes)
    return true
  }

  #ended(): void {
    if (this.#over) return
    const found = this.#readEnd()
    if (!(found instanceof Promise)) this.#read(found)
    // Its turns are of its own, and end: nobody has to wait.
    else void found.then((close) => this.#over || this.#read(close()))
  }

  #read(found: WholeRead): void {
    // Reading the end may have pushed to a sink that cancelled the call.
    if (this.#over) return
    if (found !== null) this.#fail(found)
    else {
      this.#finish()
      this.#sink.end()
    }
  }

  #readEnd(): WholeRead | Promise<() => WholeRead> {
    if (this.#streaming && this.#reader.stream !== null) return this.#reader.stream.end()
    const body = this.#body.take()
    return this.#ok ? this.#reader.whole(body, this.#headers) : this.#readError(body)
  }

  #readError(body: Buffer): AttemptFailure {
    return this.#reader.error(this.#status, parseErrorBody(body), this.#headers)
  }

  /** The answer is of no use any more: the socket goes too. */
  #giveUp(found: AttemptFailure): void {
    this.#exchange.cancel()
    this.#fail(found)
  }

  #fail(found: AttemptFailure): void {
    if (this.#over) return
    this.#finish()
    this.#sink.fail(found)
  }

  #finish(): void {
    this.#over = true
    this.#inflated?.destroy()
  }
}

/** Reads what was parsed, at once or in turns. */
export function inTurns<Parsed extends object>(
  parsed: Parsed | Promise<Parsed>,
  read: (parsed: Parsed) => WholeRead,
): WholeRead | Promise<() => WholeRead> {
  return parsed instanceof Promise ? parsed.then((late) => () => read(late)) : read(parsed)
}

/** What the headers tell of the body's length, within what is taken at all. */
function lengthOf(headers: UpstreamHeaders, bytesMax: number): number | null {
  const told = Number(headerOf(headers, 'content-length') ?? Number.NaN)
  return Number.isSafeInteger(told) && told >= 0 ? Math.min(told, bytesMax) : null
}
