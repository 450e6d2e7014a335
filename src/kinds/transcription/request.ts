import type { RoutedRequest } from '../fields/routed-request.ts'

export const TRANSCRIPT_FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number]
export const GRANULARITIES = ['word', 'segment'] as const
export type Granularity = (typeof GRANULARITIES)[number]

/** A client's audio file, with its type and durations. */
export interface AudioFile {
  readonly bytes: Buffer
  /** Its ending, such as `mp3`: lower case, letters and digits. */
  readonly format: string
  readonly contentType: string
  /** According to its container; null where the container does not say it. */
  readonly seconds: number | null
  /** The longest sound that its bytes can contain, whatever its container says. */
  readonly secondsMax: number
}

/** A validated request for the text of a sound (wire.md D-5.2). */
export interface TranscriptionRequest extends RoutedRequest {
  /** `translate` = into English. */
  readonly task: 'transcribe' | 'translate'
  readonly audio: AudioFile
  readonly language: string | null
  readonly format: TranscriptFormat
  /** The answer as events. */
  readonly stream: boolean
  /** 0 to 1. */
  readonly temperature: number | null
  readonly prompt: string | null
  /** At least one; without effect on other formats than `verbose_json`. */
  readonly granularities: readonly Granularity[]
}

/** Formats that need the times of the words or segments. */
export function needsTimestamps(format: TranscriptFormat): boolean {
  return format === 'srt' || format === 'vtt' || format === 'verbose_json'
}
