import { either, maybe, narrowed, number, object, oneOf, only, optional, text } from '../../base/schema.ts'
import { MODEL, ROUTED } from '../fields/schema.ts'
import { SPEECH_FORMATS } from '../speech.ts'

/** `POST /v1/audio/speech`. The reader is `parse.ts`. The answer is the sound itself. */
export const SpeechBody = object({
  model: MODEL,
  input: text('', { minLength: 1, maxLength: 5_000 }),
  voice: maybe(either(text("One of the model's; its first if absent."), object({ id: maybe(text()) }))),
  response_format: maybe(oneOf(SPEECH_FORMATS, '`mp3` if absent.')),
  speed: maybe(number('', { minimum: 0.25, maximum: 4 })),
  instructions: maybe(text('How to speak.', { maxLength: 4_096 })),
  stream: optional(narrowed<unknown>({ not: { const: true } })),
  stream_format: maybe(only('audio')),
  ...ROUTED,
})
