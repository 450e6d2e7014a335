import type { Endpoint } from '../../catalog/catalog.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import type { SpeechFormat, SpeechRequest } from '../../kinds/speech.ts'
import type { Transcript } from '../../kinds/transcription/transcript.ts'
import type { TranscriptionRequest } from '../../kinds/transcription/request.ts'
import { type AttemptFailure, failure, garbage } from '../ports/attempt-failure.ts'
import type { ResultSink, RunningCall, UnitCall, UpstreamRequest } from '../ports/call.ts'
import { errorIn, isErrorBody } from '../wire/error-body.ts'
import { parseJson } from '../wire/raw-json.ts'
import { SseDecoder } from '../wire/stream-decoders.ts'
import { headerOf, type Transport, type UpstreamHeaders } from '../wire/transport.ts'
import { eventFailure } from '../wire/upstream-error.ts'
import { ask, whenSendable } from './ask.ts'
import type { ReadsError, ResponseReader, StreamProgress } from './response.ts'

/** One request for speech. */
export interface SpeechCall extends UnitCall<SpeechRequest> {
  /** A format of the endpoint: `pcm` if we make the client's `wav` from it. */
  readonly format: SpeechFormat
  /** null = neither the model's row nor the client names one. */
  readonly voice: string | null
  /** Whether the model is sold by tokens, so that the provider's count is needed. */
  readonly wantsUsage: boolean
}

/**
 * Receives speech from an adapter. Calls come in order and never before `ask` has returned; nothing follows `end` or
 * `fail`.
 */
export interface SpeechSink {
  /**
   * The upstream answered 200 with headers: from here on a cancelled call may be billed. `upstreamId` is its id of the
   * answer.
   */
  headers(upstreamId: string | null): void
  /** Sound in the requested format, not empty. false = the caller should pause until `resume`. */
  push(bytes: Buffer): boolean
  usage(usage: UsageReport): void
  end(): void
  fail(failure: AttemptFailure): void
}

export interface SpeechProtocol {
  /** Formats that an endpoint can produce. */
  formats(endpoint: Endpoint): readonly SpeechFormat[]
  ask(call: SpeechCall, sink: SpeechSink): RunningCall
}

/** The result of a transcription. */
export interface TranscriptionResult {
  readonly transcript: Transcript
  /** The length as the provider counts it; null = it gives none. */
  readonly seconds: number | null
  /** The length that the provider bills, often rounded up; null = it gives none. */
  readonly billedSeconds: number | null
  /** Whether it reported an unreadable length, or one of more than a month. */
  readonly implausible: boolean
  readonly usage: UsageReport | null
  readonly upstreamId: string | null
}

export interface TranscriptionProtocol {
  /** Whether an endpoint gives the times of words and segments. */
  timestamps(endpoint: Endpoint): boolean
  /** Whether it tells who speaks, at the endpoint's price; absent = it does not. */
  speakers?(endpoint: Endpoint): boolean
  /** Names of the client's parameters that a request to an endpoint contains; absent = those of the adapter. */
  carries?(endpoint: Endpoint, request: TranscriptionRequest): readonly string[]
  /** Whether it translates speech of any language into English text. */
  translates(endpoint: Endpoint): boolean
  /** Whether the price per second covers speech in this language; absent = it covers every language. */
  prices?(language: string): boolean
  ask(call: UnitCall<TranscriptionRequest>, sink: ResultSink<TranscriptionResult>): RunningCall
}

/**
 * The most bytes of an accepted sound (guarantees.md F30): 22 minutes of `wav`, several times as much as 5,000
 * characters need.
 */
const SOUND_BYTES_MAX = 64 * 1_048_576

/** Enough bytes to see whether an answer is sound. */
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
  /** Reads an event that contains sound; absent = the body is the sound itself. */
  piece?(data: Buffer): SpeechPiece | AttemptFailure
  /** Called when the body has ended; null = the speech is complete. */
  ended?(): AttemptFailure | null
  /** Reads the failure of an error status whose words are in none of the usual fields (wire/error-body.ts). */
  readonly error?: ReadsError
}

/** How a provider is asked for speech, and how its answer is read. */
interface SpeechAsk extends Pick<SpeechProtocol, 'formats'> {
  /** Throws an `UnsendableError` for a text or a parameter that the provider does not accept. */
  request(call: SpeechCall): UpstreamRequest
  reads(call: SpeechCall): SpeechReading
}

/** Speech whose sound goes to the sink as it arrives. */
export function askSpeech(transport: Transport, { formats, request, reads }: SpeechAsk): SpeechProtocol {
  return { formats, ask: (call, sink) => speak(transport, call, () => request(call), reads(call), sink) }
}

function speak(
  transport: Transport,
  { endpoint }: SpeechCall,
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
  readonly error?: ReadsError
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
    if (reading.error !== undefined) this.error = reading.error
  }

  readonly stream = {
    push: (bytes: Buffer): StreamProgress => this.#push(bytes),
    end: (): AttemptFailure | null => this.#end(),
  }

  answered(headers: UpstreamHeaders): AttemptFailure | null {
    this.#sink.headers(headerOf(headers, this.#reading.idHeader) ?? null)
    const type = headerOf(headers, 'content-type') ?? ''
    if (/^text\/html/i.test(type)) return failure('garbage', null, 'a page instead of a sound')
    if (this.#reading.piece !== undefined && /^text\/event-stream/i.test(type))
      this.#decoder = new SseDecoder({ event: (data) => this.#event(data), errorLine: (data) => this.#broken(data) })
    // Sound has no end mark: without a length or chunked framing, a cut would look like an end (guarantees.md F24).
    if (this.#decoder === null && headers['content-length'] === undefined && headers['transfer-encoding'] === undefined)
      return failure('garbage', null, 'a sound whose end cannot be told from a cut')
    return null
  }

  whole(body: Buffer): AttemptFailure | null {
    const parsed = parseJson(body)
    return isErrorBody(parsed) ? eventFailure(errorIn(parsed)) : garbage('no sound', body)
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
      state: this.#done ? 'done' : 'open',
    }
  }

  #end(): AttemptFailure | null {
    this.#decoder?.end()
    if (this.#head !== null && this.#head.length > 0) this.#failure ??= noSound(this.#head)
    if (this.#failure !== null || this.#done) return this.#failure
    return this.#decoder === null ? null : (this.#reading.ended?.() ?? null)
  }

  #event(data: Buffer): void {
    if (this.#done || this.#failure !== null || this.#reading.piece === undefined) return
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
   * The bytes that can be passed on. Some gateways label every answer as sound, so JSON or a page is refused whatever
   * its type.
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
  return garbage('text in the place of a sound', head)
}

/** 16-bit samples of one channel, without a container. */
interface PcmSound {
  /** Samples per second. */
  readonly rate: number
  readonly bytes: Buffer
}

const RIFF_BYTES = 12
const CHUNK_HEAD_BYTES = 8

/** The samples of a plain WAV; null = any other sound. */
export function pcmInWav(file: Buffer): PcmSound | null {
  if (file.toString('latin1', 0, 4) !== 'RIFF' || file.toString('latin1', 8, RIFF_BYTES) !== 'WAVE') return null
  let rate = 0
  for (let at = RIFF_BYTES; at + CHUNK_HEAD_BYTES <= file.length;) {
    const name = file.toString('latin1', at, at + 4)
    const begin = at + CHUNK_HEAD_BYTES
    const size = file.readUInt32LE(at + 4)
    if (name === 'fmt ' && begin + 16 <= file.length) {
      const isPlain = file.readUInt16LE(begin) === 1 && file.readUInt16LE(begin + 2) === 1
      if (!isPlain || file.readUInt16LE(begin + 14) !== 16) return null
      rate = file.readUInt32LE(begin + 4)
    }
    if (name === 'data') return rate === 0 ? null : { rate, bytes: file.subarray(begin, begin + size) }
    at = begin + size + (size % 2)
  }
  return null
}

/** Speech that a provider returned whole. */
export interface Sound {
  readonly audio: Buffer
  readonly usage: UsageReport | null
  readonly upstreamId: string | null
}

/** Asks for speech that comes whole, and passes it on at once: the client's connection sends and counts the pieces. */
export function wholeSound(sink: SpeechSink, ask: (sink: ResultSink<Sound>) => RunningCall): RunningCall {
  return ask({
    // Nothing is billed before the answer has come; its id comes with it.
    headers: () => sink.headers(null),
    result: ({ audio, usage, upstreamId }) => {
      if (upstreamId !== null) sink.headers(upstreamId)
      if (usage !== null) sink.usage(usage)
      if (audio.length > 0) sink.push(audio)
      sink.end()
    },
    fail: (found) => sink.fail(found),
  })
}
