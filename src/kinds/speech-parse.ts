import { ApiError } from '../errors.ts'
import { field, invalidInput, isObject, numberField, quoted, stringField, type RawObject } from './json-fields.ts'
import { parseRouting } from './routing-parse.ts'
import { SPEECH_FORMATS, type SpeechFormat } from './speech-format.ts'
import type { SpeechRequest } from './speech-request.ts'

const INPUT_CHARACTERS_MAX = 5_000
const INSTRUCTIONS_CHARACTERS_MAX = 4_096
const SPEED_MIN = 0.25
const SPEED_MAX = 4

/** Reads the body of a speech request: required fields first, then types and ranges (wire.md 7.3). */
export function parseSpeech(json: unknown): SpeechRequest {
  if (!isObject(json)) throw new ApiError('invalid_json', 'Request body is not valid JSON: the top level must be an object')
  const routing = parseRouting(json)
  const input = inputOf(json)
  const characters = codePoints(input)
  if (characters > INPUT_CHARACTERS_MAX) throw new ApiError('input_too_long', `input is ${characters} characters long, the maximum is ${INPUT_CHARACTERS_MAX}`)
  refuseStreaming(json)
  const instructions = stringField(json, 'instructions') ?? null
  if (instructions !== null && codePoints(instructions) > INSTRUCTIONS_CHARACTERS_MAX) throw invalidInput('instructions', `must be at most ${INSTRUCTIONS_CHARACTERS_MAX} characters long`)
  return {
    ...routing,
    input,
    characters,
    voice: voiceOf(json),
    format: formatOf(json),
    speed: numberField(json, 'speed', (value) => value >= SPEED_MIN && value <= SPEED_MAX, `must be between ${SPEED_MIN} and ${SPEED_MAX}`) ?? null,
    instructions: instructions === '' ? null : instructions,
  }
}

function inputOf(body: RawObject): string {
  const input = stringField(body, 'input')
  if (input === undefined || input === '') throw new ApiError('missing_input', "Parameter 'input' is required")
  return input
}

/** A pair of surrogates is one character. */
function codePoints(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) count += 1
  return count
}

function refuseStreaming(body: RawObject): void {
  const streamFormat = field(body, 'stream_format')
  if (field(body, 'stream') === true || streamFormat === 'sse') throw new ApiError('streaming_not_supported', 'Streaming is not supported by audio/speech: the audio itself arrives as it is made')
  if (streamFormat !== undefined && streamFormat !== 'audio') throw invalidInput('stream_format', 'must be audio')
}

function voiceOf(body: RawObject): string | null {
  const voice = field(body, 'voice')
  // OpenAI's form of a voice of the customer's own.
  const named = isObject(voice) ? field(voice, 'id') : voice
  if (named === undefined || named === '') return null
  if (typeof named !== 'string') throw invalidInput('voice', 'must be a string')
  return named
}

function formatOf(body: RawObject): SpeechFormat {
  const given = field(body, 'response_format')
  if (given === undefined) return 'mp3'
  const format = SPEECH_FORMATS.find((name) => name === given)
  if (format === undefined) throw new ApiError('invalid_response_format', `Invalid response_format: must be one of ${SPEECH_FORMATS.join(', ')}${typeof given === 'string' ? `, got '${quoted(given)}'` : ''}`)
  return format
}
