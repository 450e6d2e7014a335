import { ApiError } from '../../base/errors.ts'
import { charactersOf } from '../../lib/characters.ts'
import { bodyObject, requiredModel, responseFormat, sessionIdOf } from '../fields/body-fields.ts'
import { field, invalidInput, isObject, numberField, stringField, type RawObject } from '../fields/json-fields.ts'
import { parseProviderPreferences } from '../fields/provider-preferences.ts'
import { SPEECH_FORMATS } from '../speech.ts'
import type { SpeechRequest } from './request.ts'

const INPUT_CHARACTERS_MAX = 5_000
const INSTRUCTIONS_CHARACTERS_MAX = 4_096
const SPEED_MIN = 0.25
const SPEED_MAX = 4

/** Reads the body of a speech request: required fields first, then types and ranges (wire.md 7.3). */
export function parseSpeech(json: unknown): SpeechRequest {
  const body = bodyObject(json)
  const model = requiredModel(body)
  const input = inputOf(body)
  const characters = charactersOf(input)
  if (characters > INPUT_CHARACTERS_MAX)
    throw new ApiError(
      'input_too_long',
      `input is ${characters} characters long, the maximum is ${INPUT_CHARACTERS_MAX}`,
    )
  refuseStreaming(body)
  const instructions = stringField(body, 'instructions') ?? null
  if (instructions !== null && charactersOf(instructions) > INSTRUCTIONS_CHARACTERS_MAX)
    throw invalidInput('instructions', `must be at most ${INSTRUCTIONS_CHARACTERS_MAX} characters long`)
  return {
    model,
    fallbackModels: [],
    provider: parseProviderPreferences(body),
    n: 1,
    sessionId: sessionIdOf(body),
    input,
    characters,
    voice: voiceOf(body),
    format: responseFormat(body, SPEECH_FORMATS, 'mp3'),
    speed:
      numberField(
        body,
        'speed',
        (value) => value >= SPEED_MIN && value <= SPEED_MAX,
        `must be between ${SPEED_MIN} and ${SPEED_MAX}`,
      ) ?? null,
    instructions: instructions === '' ? null : instructions,
  }
}

function inputOf(body: RawObject): string {
  const input = stringField(body, 'input')
  if (input === undefined || input === '') throw new ApiError('missing_input', "Parameter 'input' is required")
  return input
}

function refuseStreaming(body: RawObject): void {
  const streamFormat = field(body, 'stream_format')
  if (field(body, 'stream') === true || streamFormat === 'sse')
    throw new ApiError(
      'streaming_not_supported',
      'Streaming is not supported by audio/speech: the audio itself arrives as it is made',
    )
  if (streamFormat !== undefined && streamFormat !== 'audio') throw invalidInput('stream_format', 'must be audio')
}

function voiceOf(body: RawObject): string | null {
  const voice = field(body, 'voice')
  // OpenAI's form for a customer's own voice.
  const named = isObject(voice) ? field(voice, 'id') : voice
  if (named === undefined || named === '') return null
  if (typeof named !== 'string') throw invalidInput('voice', 'must be a string')
  return named
}
