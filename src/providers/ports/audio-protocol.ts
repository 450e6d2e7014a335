import type { Endpoint } from '../../catalog/catalog.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import type { SpeechFormat } from '../../kinds/speech.ts'
import type { SpeechRequest } from '../../kinds/speech/request.ts'
import type { Transcript } from '../../kinds/transcription/transcript.ts'
import type { TranscriptionRequest } from '../../kinds/transcription/request.ts'
import type { AttemptFailure } from './attempt-failure.ts'
import type { ResultSink, RunningCall, UnitCall } from '../../protocols/ports/call.ts'

/** One request for speech. */
export interface SpeechCall extends UnitCall<SpeechRequest> {
  /** A format of the endpoint: `pcm` where we make the client's `wav` from it. */
  readonly format: SpeechFormat
  /** null = neither the model's row nor the client names one. */
  readonly voice: string | null
  /** The model is sold by tokens, so the provider's count is needed. */
  readonly wantsUsage: boolean
}

/**
 * Receives speech from an adapter. Calls come in order and never before `ask` has returned; nothing follows `end` or
 * `fail`.
 */
export interface SpeechSink {
  /** The upstream answered 200 with headers: from here a cancel may be billed. `upstreamId` is its id of the answer. */
  headers(upstreamId: string | null): void
  /** Sound in the requested format, not empty. false asks for a pause until `resume`. */
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
  /** The length by the provider's count; null = it gives none. */
  readonly seconds: number | null
  /** The length that it bills, often rounded up; null = it gives none. */
  readonly billedSeconds: number | null
  /** It reported an unreadable length, or more than a month. */
  readonly implausible: boolean
  readonly usage: UsageReport | null
  readonly upstreamId: string | null
}

export interface TranscriptionProtocol {
  /** Whether an endpoint gives the times of words and segments. */
  timestamps(endpoint: Endpoint): boolean
  /** Whether it translates speech of any language into English text. */
  translates(endpoint: Endpoint): boolean
  /** Whether the price per second covers speech in this language; absent = it covers every language. */
  prices?(language: string): boolean
  ask(call: UnitCall<TranscriptionRequest>, sink: ResultSink<TranscriptionResult>): RunningCall
}
