import type { Endpoint } from '../../catalog/catalog.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import type { SpeechFormat } from '../../kinds/speech/format.ts'
import type { SpeechRequest } from '../../kinds/speech/request.ts'
import type { Transcript } from '../../kinds/transcription/transcript.ts'
import type { TranscriptionRequest } from '../../kinds/transcription/request.ts'
import type { AttemptFailure } from './attempt-failure.ts'
import type { ResultSink, RunningCall, UnitCall } from './call.ts'

/** One request for speech. */
export interface SpeechCall extends UnitCall<SpeechRequest> {
  /** One of the endpoint's own: `pcm` where the client gets a `wav` made of it. */
  readonly format: SpeechFormat
  /** null = the model declares none and the client names none. */
  readonly voice: string | null
  /** The model is sold by tokens, so that what the provider counts is of use. */
  readonly wantsUsage: boolean
}

/**
 * Where an adapter puts speech. Calls come in order and never before `ask` has returned; after `end` or `fail` nothing
 * follows.
 */
export interface SpeechSink {
  /**
   * The upstream answered 200 with headers: from here a cancel may be billed. `upstreamId` is its own name for the
   * answer.
   */
  headers(upstreamId: string | null): void
  /** Sound in the format asked for, not empty. false asks for a pause until `resume`. */
  push(bytes: Buffer): boolean
  usage(usage: UsageReport): void
  end(): void
  fail(failure: AttemptFailure): void
}

export interface SpeechProtocol {
  /** What an endpoint can be asked for. */
  formats(endpoint: Endpoint): readonly SpeechFormat[]
  ask(call: SpeechCall, sink: SpeechSink): RunningCall
}

/** What came back for a sound. */
export interface TranscriptionResult {
  readonly transcript: Transcript
  /** How long the provider says the sound is; null = it does not. */
  readonly seconds: number | null
  /** What it says that it bills, often rounded up; null = it does not. */
  readonly billedSeconds: number | null
  /** It told a length that cannot be read, or of more than a month. */
  readonly implausible: boolean
  readonly usage: UsageReport | null
  readonly upstreamId: string | null
}

export interface TranscriptionProtocol {
  /** Whether an endpoint tells when what was said. */
  timestamps(endpoint: Endpoint): boolean
  /** Whether it turns speech of any language into English text. */
  translates(endpoint: Endpoint): boolean
  /** Whether the price of a second covers speech of this language; absent = of every one. */
  prices?(language: string): boolean
  ask(call: UnitCall<TranscriptionRequest>, sink: ResultSink<TranscriptionResult>): RunningCall
}
