import { ApiError } from '../../base/errors.ts'
import { bodyObject, requiredModel, responseFormat, sessionIdOf } from '../fields/body-fields.ts'
import { readBase64 } from '../images/bytes.ts'
import {
  booleanField,
  field,
  invalidInput,
  numberField,
  objectField,
  quoted,
  stringField,
  type RawObject,
} from '../fields/json-fields.ts'
import { uploadError, type UploadedForm } from '../fields/uploaded-form.ts'
import { parseProviderPreferences } from '../fields/provider-preferences.ts'
import { audioSecondsMax } from './duration/audio-bound.ts'
import { AUDIO_CONTAINERS, audioContainer, audioSeconds } from './duration/audio-duration.ts'
import {
  GRANULARITIES,
  TRANSCRIPT_FORMATS,
  type AudioFile,
  type Granularity,
  type TranscriptionRequest,
} from './request.ts'

const LIST_FIELD = 'timestamp_granularities'
/** Characters of base64's URL-safe alphabet, which sound does not use. */
const FOR_ADDRESSES = /[_-]/
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i
const DATA_URL = /^data:[^,]{0,200},/
/** Media types of the endings that clients send; a file with another ending is sent with a type of plain bytes. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ['wav', 'audio/wav'],
  ['wave', 'audio/wav'],
  ['mp3', 'audio/mpeg'],
  ['mpga', 'audio/mpeg'],
  ['mpeg', 'audio/mpeg'],
  ['m4a', 'audio/mp4'],
  ['mp4', 'audio/mp4'],
  ['ogg', 'audio/ogg'],
  ['oga', 'audio/ogg'],
  ['opus', 'audio/ogg'],
  ['flac', 'audio/flac'],
  ['webm', 'audio/webm'],
  ['aac', 'audio/aac'],
  ['aif', 'audio/aiff'],
  ['aiff', 'audio/aiff'],
  ['aifc', 'audio/aiff'],
  ['ac3', 'audio/ac3'],
  ['amr', 'audio/amr'],
])
/** Media types as clients write them. */
const FORMATS: ReadonlyMap<string, string> = new Map([
  ['audio/wav', 'wav'],
  ['audio/x-wav', 'wav'],
  ['audio/wave', 'wav'],
  ['audio/vnd.wave', 'wav'],
  ['audio/mpeg', 'mp3'],
  ['audio/mp3', 'mp3'],
  ['audio/mp4', 'm4a'],
  ['audio/x-m4a', 'm4a'],
  ['audio/m4a', 'm4a'],
  ['video/mp4', 'mp4'],
  ['audio/ogg', 'ogg'],
  ['application/ogg', 'ogg'],
  ['audio/opus', 'opus'],
  ['audio/flac', 'flac'],
  ['audio/x-flac', 'flac'],
  ['audio/webm', 'webm'],
  ['video/webm', 'webm'],
  ['audio/aac', 'aac'],
  ['audio/aiff', 'aiff'],
  ['audio/x-aiff', 'aiff'],
  ['audio/ac3', 'ac3'],
  ['audio/amr', 'amr'],
  ['audio/amr-wb', 'amr'],
])
const NO_SOUND = `is no sound. Allowed: ${Object.keys(AUDIO_CONTAINERS).join(', ')}`

/**
 * Reads the JSON body of a transcription or a translation (api.md POST /v1/audio/transcriptions): required fields
 * first, then types and ranges.
 */
export function parseTranscription(json: unknown, task: TranscriptionRequest['task']): TranscriptionRequest {
  const body = bodyObject(json)
  const model = requiredModel(body)
  return requestOf(body, model, task, inputAudio(body))
}

/** Reads a form, whose fields are texts, as if it had come as JSON. */
export function parseTranscriptionForm(
  { fields, files: [file] }: UploadedForm,
  task: TranscriptionRequest['task'],
): TranscriptionRequest {
  const body: Record<string, unknown> = {}
  const granularities: string[] = []
  for (const [name, value] of fields) {
    if (name === LIST_FIELD || name === `${LIST_FIELD}[]`) granularities.push(value)
    else if (name !== '__proto__' && value !== '') body[name] = valueOf(name, value)
  }
  if (granularities.length > 0) body[LIST_FIELD] = granularities.flatMap(listedIn)
  const model = requiredModel(body)
  if (file === undefined || file.field !== 'file') throw uploadError("the form has no file in field 'file'")
  if (file.bytes.length === 0) throw uploadError('the file is empty')
  const audio = audioOf(file.bytes, endingOf(file.fileName) ?? FORMATS.get(file.contentType ?? '') ?? null)
  if (audio === null) throw uploadError(`the file ${NO_SOUND}`)
  return requestOf(body, model, task, audio)
}

function requestOf(
  body: RawObject,
  model: string,
  task: TranscriptionRequest['task'],
  audio: AudioFile,
): TranscriptionRequest {
  const format = responseFormat(body, TRANSCRIPT_FORMATS, 'json')
  return {
    model,
    fallbackModels: [],
    provider: parseProviderPreferences(body),
    n: 1,
    sessionId: sessionIdOf(body),
    task,
    audio,
    language: textField(body, 'language'),
    format,
    stream: streamOf(body, task, format),
    temperature:
      numberField(body, 'temperature', (value) => value >= 0 && value <= 1, 'must be between 0 and 1') ?? null,
    prompt: textField(body, 'prompt'),
    granularities: granularitiesOf(body),
  }
}

/** Streams are answered only in JSON. */
function streamOf(
  body: RawObject,
  task: TranscriptionRequest['task'],
  format: TranscriptionRequest['format'],
): boolean {
  if (booleanField(body, 'stream') !== true) return false
  if (task === 'translate')
    throw new ApiError('streaming_not_supported', 'Streaming is not supported by audio/translations')
  if (format !== 'json')
    throw new ApiError(
      'invalid_response_format',
      `Invalid response_format: ${format} is not streamed. Allowed with stream: json`,
    )
  return true
}

/** The value of a form's text where the field is not a text. */
function valueOf(name: string, value: string): unknown {
  if (name === 'temperature') return NUMBER.test(value.trim()) ? Number(value) : value
  if (name === 'stream') return value === 'true' || value === '1'
  return name === 'provider' ? objectIn(value) : value
}

function objectIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function textField(body: RawObject, name: string): string | null {
  const text = stringField(body, name) ?? ''
  return text === '' ? null : text
}

/** A comma list, a repeated field, the field with brackets, or an array; clients also nest one in another. */
function granularitiesOf(body: RawObject): readonly Granularity[] {
  const given = field(body, LIST_FIELD) ?? field(body, `${LIST_FIELD}[]`)
  if (given === undefined) return ['segment']
  const listed: unknown[] = typeof given === 'string' ? listedIn(given) : Array.isArray(given) ? given : [given]
  const found = listed.map((name) => {
    const granularity = GRANULARITIES.find((known) => known === name)
    if (granularity === undefined)
      throw invalidInput(
        LIST_FIELD,
        `must be word, segment or both${typeof name === 'string' ? `, got '${quoted(name)}'` : ''}`,
      )
    return granularity
  })
  return found.length === 0 ? ['segment'] : GRANULARITIES.filter((name) => found.includes(name))
}

function listedIn(text: string): unknown[] {
  const parsed = text.trimStart().startsWith('[') ? objectIn(text) : null
  return Array.isArray(parsed)
    ? parsed
    : text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '')
}

function inputAudio(body: RawObject): AudioFile {
  const audio = objectField(body, 'input_audio') ?? {}
  const data = stringField(audio, 'data', 'input_audio.data')
  if (data === undefined || data === '') throw new ApiError('missing_input', "Parameter 'input_audio.data' is required")
  const format = stringField(audio, 'format', 'input_audio.format')
  if (format === undefined || format === '')
    throw new ApiError('missing_input', "Parameter 'input_audio.format' is required")
  const read = audioOf(decoded(data), FORMATS.get(format.toLowerCase()) ?? ending(format) ?? null)
  if (read === null) throw invalidInput('input_audio.data', NO_SOUND)
  return read
}

/** Buffer.from accepts any text, so a bad text would become a shorter, wrong sound. */
function decoded(data: string): Buffer {
  const text = data.replace(DATA_URL, '')
  const read = readBase64(text)
  if (
    read === null ||
    read.bytes.length === 0 ||
    read.rest === 1 ||
    (read.padding > 0 && (read.rest + read.padding) % 4 !== 0) ||
    FOR_ADDRESSES.test(text)
  ) {
    throw new ApiError('invalid_base64', 'input_audio.data is not valid base64')
  }
  return read.bytes
}

/**
 * File name ending first, then the part's media type, then the bytes themselves (wire.md D-5.2). null where the bytes
 * are no sound, whatever they are called: no one can say how long it is, and so what it costs.
 */
function audioOf(bytes: Buffer, named: string | null): AudioFile | null {
  const container = audioContainer(bytes)
  const seconds = audioSeconds(bytes)
  const secondsMax = audioSecondsMax(bytes)
  if (container === null || Math.max(seconds ?? 0, secondsMax) <= 0) return null
  const format = (named !== null && TYPES.has(named) ? named : null) ?? container
  return { bytes, format, contentType: TYPES.get(format) ?? AUDIO_CONTAINERS[container], seconds, secondsMax }
}

function endingOf(fileName: string): string | null {
  const dot = fileName.lastIndexOf('.')
  return dot === -1 ? null : ending(fileName.slice(dot + 1))
}

/** It becomes part of a file name, so it has only letters and digits. */
function ending(text: string): string | null {
  const format = text.toLowerCase()
  return /^[a-z0-9]{1,8}$/.test(format) ? format : null
}
