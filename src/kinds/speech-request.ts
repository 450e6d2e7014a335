import type { RoutedRequest } from './routed-request.ts'
import type { SpeechFormat } from './speech-format.ts'

/** A validated request for speech (api.md 4.9, wire.md D-5.1). */
export interface SpeechRequest extends RoutedRequest {
  readonly input: string
  /** Unicode code points of the input: what is charged. */
  readonly characters: number
  /** null = the model's first. */
  readonly voice: string | null
  readonly format: SpeechFormat
  /** 0.25 to 4; null = as the model speaks. */
  readonly speed: number | null
  /** How to speak. */
  readonly instructions: string | null
}
