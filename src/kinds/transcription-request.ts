import type { RoutedRequest } from './routed-request.ts'

export const TRANSCRIPT_FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number]
export const GRANULARITIES = ['word', 'segment'] as const
export type Granularity = (typeof GRANULARITIES)[number]

/** An audio file of a client, with what it is. */
export interface AudioFile {
  readonly bytes: Buffer
  /** Its ending, such as `mp3`: lower case, letters and digits. */
  readonly format: string
  readonly contentType: string
  /** By its container; null where that does not tell. */
  readonly seconds: number | null
  /** The most that its bytes can hold, whatever its container says. */
  readonly secondsMax: number
}

/** A validated request for the text of a sound (api.md 4.10 and 4.11, wire.md D-5.2). */
export interface TranscriptionRequest extends RoutedRequest {
  /** `translate` = into English. */
  readonly task: 'transcribe' | 'translate'
  readonly audio: AudioFile
  readonly language: string | null
  readonly format: TranscriptFormat
  /** 0 to 1. */
  readonly temperature: number | null
  readonly prompt: string | null
  /** At least one; without effect on other formats than `verbose_json`. */
  readonly granularities: readonly Granularity[]
}

/** Formats that cannot be written without knowing when what was said. */
export function needsTimestamps(format: TranscriptFormat): boolean {
  return format === 'srt' || format === 'vtt' || format === 'verbose_json'
}
