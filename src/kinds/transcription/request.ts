import type { RoutedRequest } from '../fields/routed-request.ts'
import type { AudioLength } from './audio-length.ts'

export const TRANSCRIPT_FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json'] as const
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number]
export const GRANULARITIES = ['word', 'segment'] as const
export type Granularity = (typeof GRANULARITIES)[number]

/** A client's audio file, with its type and lengths. */
export interface AudioFile extends AudioLength {
  readonly bytes: Buffer
  /** The ending of its name, such as `mp3`: lower case, letters and digits. */
  readonly format: string
  readonly contentType: string
}

/** The most known speakers of one request. */
export const SPEAKERS_MAX = 4
export const SPEAKER_CHARS_MAX = 100
/** The most characters of a data URL; the same limit as for a field of a form (`multipart.ts`). */
export const REFERENCE_CHARS_MAX = 4_194_304

/** Clips of people whose names are to be the speakers of a `diarized_json`. */
export interface KnownSpeakers {
  readonly names: readonly string[]
  /** Data URLs. */
  readonly references: readonly string[]
  /** The sums of the clips' `AudioLength`. */
  readonly heldSeconds: number
  readonly secondsMax: number
}

/** How the provider is to cut the sound: by itself, or by the members of OpenAI's `server_vad`. */
export type Chunking = 'auto' | Readonly<Record<string, string | number>>

/** A validated request for the text of a sound (wire.md D-5.2). */
export interface TranscriptionRequest extends RoutedRequest {
  /** `translate` = into English. */
  readonly task: 'transcribe' | 'translate'
  readonly audio: AudioFile
  readonly language: string | null
  readonly format: TranscriptFormat
  /** Whether the answer is sent as events. */
  readonly stream: boolean
  /** 0 to 1. */
  readonly temperature: number | null
  readonly prompt: string | null
  /** At least one; used only with the format `verbose_json`. */
  readonly granularities: readonly Granularity[]
  readonly speakers: KnownSpeakers
  /** null = the client leaves it to the provider. */
  readonly chunking: Chunking | null
  /** Whether the probabilities of tokens are wanted too, if the provider has them. */
  readonly logprobs: boolean
}

/** Whether a format needs the times of words or segments. */
export function needsTimestamps(format: TranscriptFormat): boolean {
  return format === 'srt' || format === 'vtt' || format === 'verbose_json'
}
