import { ApiError } from '../../../base/errors.ts'
import { either, maybe, narrowed, needed, number, object, only, optional, readBy, text } from '../../../base/schema.ts'
import { charactersOf } from '../../../base/text.ts'
import { field, invalidInput, isObject } from '../../../kinds/fields/body-fields.ts'
import { formatField, readPaidBody } from '../../../kinds/fields/paid-body.ts'
import { MODEL, ROUTED, routingOf } from '../../../kinds/fields/routed-request.ts'
import { SPEECH_FORMATS, type SpeechRequest } from '../../../kinds/speech.ts'

const INPUT_CHARACTERS_MAX = 5_000
const INSTRUCTIONS_CHARACTERS_MAX = 4_096

/** `POST /v1/audio/speech` (wire.md D-5.1). The answer is the sound itself. */
export const SpeechBody = object({
  model: MODEL,
  input: needed(
    readBy(text('', { minLength: 1, maxLength: INPUT_CHARACTERS_MAX }), inputOf),
    'missing_input',
    'empty text',
  ),
  stream: optional(readBy(narrowed<unknown>({ not: { const: true } }), refuseStream)),
  stream_format: maybe(readBy(only('audio'), streamFormatOf)),
  instructions: maybe(readBy(text('How to speak.', { maxLength: INSTRUCTIONS_CHARACTERS_MAX }), instructionsOf)),
  ...ROUTED,
  voice: maybe(
    readBy(either(text("One of the model's; its first if absent."), object({ id: maybe(text()) })), voiceOf),
  ),
  response_format: formatField(SPEECH_FORMATS, '`mp3` if absent.'),
  speed: maybe(number('', { minimum: 0.25, maximum: 4 })),
})

export function parseSpeech(json: unknown): SpeechRequest {
  const body = readPaidBody(SpeechBody, json)
  return {
    ...routingOf(json, body),
    ...body.input,
    voice: body.voice || null,
    format: body.response_format ?? 'mp3',
    speed: body.speed ?? null,
    instructions: body.instructions || null,
  }
}

function inputOf(given: unknown, path: string): Pick<SpeechRequest, 'input' | 'characters'> {
  if (typeof given !== 'string') throw invalidInput(path, 'must be a string')
  const characters = charactersOf(given)
  if (characters <= INPUT_CHARACTERS_MAX) return { input: given, characters }
  throw new ApiError('input_too_long', `input is ${characters} characters long, the maximum is ${INPUT_CHARACTERS_MAX}`)
}

function refuseStream(given: unknown): void {
  if (given === true)
    throw new ApiError(
      'streaming_not_supported',
      'Streaming is not supported by audio/speech: the audio itself arrives as it is made',
    )
}

function streamFormatOf(given: unknown, path: string): 'audio' {
  refuseStream(given === 'sse')
  if (given === 'audio') return given
  throw invalidInput(path, 'must be audio')
}

function instructionsOf(given: unknown, path: string): string {
  if (typeof given !== 'string') throw invalidInput(path, 'must be a string')
  if (charactersOf(given) <= INSTRUCTIONS_CHARACTERS_MAX) return given
  throw invalidInput(path, `must be at most ${INSTRUCTIONS_CHARACTERS_MAX} characters long`)
}

function voiceOf(given: unknown, path: string): string {
  // OpenAI's form for the own voice of a customer.
  const named = (isObject(given) ? field(given, 'id') : given) ?? ''
  if (typeof named === 'string') return named
  throw invalidInput(path, 'must be a string')
}
