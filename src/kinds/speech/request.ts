import type { RoutedRequest } from '../fields/routed-request.ts'
import type { SpeechFormat } from '../speech.ts'

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
  /** How the text is to be spoken. */
  readonly instructions: string | null
}
