import type { UsageReport } from '../../kinds/chat/answer.ts'
import type { SpeechCall, SpeechSink } from '../../providers/ports/audio-protocol.ts'
import { failure, garbage, type AttemptFailure } from '../../providers/ports/attempt-failure.ts'
import type { RunningCall } from '../ports/call.ts'
import type { UpstreamRequest } from '../ports/upstream-request.ts'
import { isErrorBody } from '../../providers/wire/error-body.ts'
import { parseJson } from '../wire/raw-json.ts'
import { SseDecoder } from '../wire/sse-decoder.ts'
import { headerOf, type Transport, type UpstreamHeaders } from '../wire/transport.ts'
import { eventFailure } from '../../providers/wire/upstream-error.ts'
import { ask, whenSendable } from './ask.ts'
import type { ResponseReader, StreamProgress } from './response.ts'

/**
 * The largest accepted sound (guarantees.md F30): 22 minutes of `wav`, several times as much as 5,000 characters need.
 */
const SOUND_BYTES_MAX = 64 * 1_048_576

/** Enough bytes to tell whether an answer is sound. */
const HEAD_BYTES = 16
const BLANK_OR_PRINTABLE = /^[\t\n\r\x20-\x7e]*$/
const TEXT_START = /^\s*[[{<]/

/** A piece of speech inside an event. */
export interface SpeechPiece {
  readonly audio: Buffer | null
  readonly usage: UsageReport | null
  /** Whether it is the last one. */
  readonly done: boolean
}

/** How to read a provider's speech. */
export interface SpeechReading {
  /** The header with the provider's id of the answer. */
  readonly idHeader: string
  /** Reads an event that contains sound; null where the body is the sound itself. */
  readonly piece: ((data: Buffer) => SpeechPiece | AttemptFailure) | null
  /** The body has ended; null when the speech is complete. */
  ended?(): AttemptFailure | null
  error(status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure
}

/** Asks for speech; the sound goes to the sink as it arrives. */
export function askSpeech(
  transport: Transport,
  { endpoint }: Pick<SpeechCall, 'endpoint'>,
  request: () => UpstreamRequest,
  reading: SpeechReading,
  sink: SpeechSink,
): RunningCall {
  return whenSendable(() => {
    const { path, body, headers } = request()
    const accepting = (bytes: Buffer): Readonly<Record<string, string>> => ({
      accept: '*/*',
      ...(typeof headers === 'function' ? headers(bytes) : headers),
    })
    const sound = { path, body, headers: accepting }
    return ask(transport, { endpoint, streaming: true }, sound, new SoundReader(reading, sink), {
      // The reader reports the headers, together with the id.
      headers: () => undefined,
      push: () => true,
      end: () => sink.end(),
      fail: (found) => sink.fail(found),
    })
  }, sink)
}

class SoundReader implements ResponseReader {
  readonly #reading: SpeechReading
  readonly #sink: SpeechSink
  #decoder: SseDecoder | null = null
  #bytes = 0
  /** First bytes that may still turn out to be text; null once they are known to be sound. */
  #head: Buffer | null = Buffer.alloc(0)
  #failure: AttemptFailure | null = null
  #flowing = true
  #done = false

  constructor(reading: SpeechReading, sink: SpeechSink) {
    this.#reading = reading
    this.#sink = sink
  }

  readonly stream = {
    push: (bytes: Buffer): StreamProgress => this.#push(bytes),
    end: (): AttemptFailure | null => this.#end(),
  }

  answered(headers: UpstreamHeaders): AttemptFailure | null {
    this.#sink.headers(headerOf(headers, this.#reading.idHeader) ?? null)
    const type = headerOf(headers, 'content-type') ?? ''
    if (/^text\/html/i.test(type)) return failure('garbage', null, 'a page instead of a sound')
    if (this.#reading.piece !== null && /^text\/event-stream/i.test(type))
      this.#decoder = new SseDecoder({ event: (data) => this.#event(data), errorLine: (data) => this.#broken(data) })
    // Sound has no end mark: without a length or chunked framing a cut would look like an end (guarantees.md F24).
    if (this.#decoder === null && headers['content-length'] === undefined && headers['transfer-encoding'] === undefined)
      return failure('garbage', null, 'a sound whose end cannot be told from a cut')
    return null
  }

  whole(body: Buffer): AttemptFailure | null {
    const parsed = parseJson(body)
    return isErrorBody(parsed) ? eventFailure(parsed['error']) : garbage('no sound', body)
  }

  error(status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure {
    return this.#reading.error(status, body, headers)
  }

  #push(bytes: Buffer): StreamProgress {
    const before = this.#bytes
    this.#flowing = true
    if (this.#decoder === null) this.#sound(bytes)
    else if (!this.#decoder.push(bytes))
      this.#failure ??= failure('too_large', null, 'an event of the speech is longer than 1 MiB')
    return {
      failure: this.#failure,
      flowing: this.#flowing,
      progressed: this.#bytes > before || this.#done,
      done: this.#done,
    }
  }

  #end(): AttemptFailure | null {
    this.#decoder?.end()
    if (this.#head !== null && this.#head.length > 0) this.#failure ??= noSound(this.#head)
    if (this.#failure !== null || this.#done) return this.#failure
    return this.#decoder === null ? null : (this.#reading.ended?.() ?? null)
  }

  #event(data: Buffer): void {
    if (this.#done || this.#failure !== null || this.#reading.piece === null) return
    const piece = this.#reading.piece(data)
    if ('reason' in piece) {
      this.#failure = piece
      return
    }
    if (piece.usage !== null) this.#sink.usage(piece.usage)
    if (piece.audio !== null) this.#sound(piece.audio)
    this.#done = piece.done
  }

  #broken(data: Buffer): void {
    this.#failure ??= eventFailure(parseJson(data) ?? data.toString('utf8'))
  }

  #sound(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#bytes += bytes.length
    if (this.#bytes > SOUND_BYTES_MAX)
      this.#failure = failure('too_large', null, `the sound is larger than ${SOUND_BYTES_MAX} bytes`)
    else this.#pass(this.#known(bytes))
  }

  #pass(bytes: Buffer | null): void {
    if (bytes !== null && !this.#sink.push(bytes)) this.#flowing = false
  }

  /**
   * The bytes that can be passed on. Some gateways label every answer as sound: JSON or a page is refused whatever its
   * type.
   */
  #known(bytes: Buffer): Buffer | null {
    if (this.#head === null) return bytes
    const all = Buffer.concat([this.#head, bytes])
    const start = all.toString('latin1', 0, HEAD_BYTES)
    const isText = TEXT_START.test(start) && BLANK_OR_PRINTABLE.test(start)
    if (isText && all.length >= HEAD_BYTES) this.#failure = noSound(all)
    this.#head = isText ? all.subarray(0, HEAD_BYTES) : null
    return isText ? null : all
  }
}

function noSound(head: Buffer): AttemptFailure {
  return failure('garbage', null, `text in the place of a sound: ${head.toString('latin1', 0, 200)}`)
}
