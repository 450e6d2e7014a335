import type { RoutedRequest } from './fields/routed-request.ts'

/** Audio formats of speech, by their names in the API. */
export const SPEECH_FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const
export type SpeechFormat = (typeof SPEECH_FORMATS)[number]

/** Voices of models that declare none. */
export const SPEECH_VOICES = ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer'] as const

/** Samples per second of `pcm`: 16-bit little-endian, mono (wire.md D-5.1). */
export const PCM_RATE = 24_000
const SAMPLE_BYTES = 2
/** The size of a stream is not known when its head is sent; with this value decoders read to its end. */
const UNKNOWN_SIZE = 0xffff_ffff

export const CONTENT_TYPES: Readonly<Record<SpeechFormat, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
}

/** The header that makes a `wav` of `pcm`; `bytes` of sound follow, null = not known yet. */
export function wavHead(bytes: number | null): Buffer {
  const head = Buffer.alloc(44)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(bytes === null ? UNKNOWN_SIZE : bytes + 36, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(PCM_RATE, 24)
  head.writeUInt32LE(PCM_RATE * SAMPLE_BYTES, 28)
  head.writeUInt16LE(SAMPLE_BYTES, 32)
  head.writeUInt16LE(SAMPLE_BYTES * 8, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(bytes ?? UNKNOWN_SIZE, 40)
  return head
}

/** A validated request for speech (wire.md D-5.1). */
export interface SpeechRequest extends RoutedRequest {
  readonly input: string
  /** Unicode code points of the input, which are charged. */
  readonly characters: number
  /** null = the model's first voice. */
  readonly voice: string | null
  readonly format: SpeechFormat
  /** 0.25 to 4; null = the model's own speed. */
  readonly speed: number | null
  /** How the text should be spoken. */
  readonly instructions: string | null
}
