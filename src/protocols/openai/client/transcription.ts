import { ApiError } from '../../../base/errors.ts'
import {
  anything,
  either,
  flag,
  list,
  maybe,
  number,
  object,
  oneOf,
  only,
  optional,
  readBy,
  said,
  text,
  turned,
  whole,
} from '../../../base/schema.ts'
import {
  bodyObject,
  field,
  invalidInput,
  isObject,
  objectField,
  quoted,
  stringField,
  type RawObject,
} from '../../../kinds/fields/body-fields.ts'
import { formatField, readFields, readPaidBody, type Read } from '../../../kinds/fields/paid-body.ts'
import { COST, MODEL, ROUTED, routingOf } from '../../../kinds/fields/routed-request.ts'
import { uploadError, type UploadedForm } from '../../../kinds/fields/uploaded-form.ts'
import { readBase64 } from '../../../kinds/images/bytes.ts'
import { AUDIO_CONTAINERS, audioContainer } from '../../../kinds/transcription/audio-container.ts'
import { audioLength } from '../../../kinds/transcription/audio-length.ts'
import {
  GRANULARITIES,
  REFERENCE_CHARS_MAX,
  SPEAKER_CHARS_MAX,
  SPEAKERS_MAX,
  TRANSCRIPT_FORMATS,
  type AudioFile,
  type Chunking,
  type Granularity,
  type KnownSpeakers,
  type TranscriptionRequest,
} from '../../../kinds/transcription/request.ts'

const LIST_FIELD = 'timestamp_granularities'
const CHUNKING = 'chunking_strategy'
/** Characters of base64's URL-safe alphabet, which this request does not accept. */
const FOR_ADDRESSES = /[_-]/
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i
const DATA_URL = /^data:[^,]{0,200},/
/** Media types, each with the endings that clients send; a file with another ending arrives as plain bytes. */
const ENDINGS = Object.entries({
  'audio/wav': 'wav wave',
  'audio/mpeg': 'mp3 mpga mpeg',
  'audio/mp4': 'm4a mp4',
  'audio/ogg': 'ogg oga opus',
  'audio/flac': 'flac',
  'audio/webm': 'webm',
  'audio/aac': 'aac',
  'audio/aiff': 'aiff aif aifc',
  'audio/ac3': 'ac3',
  'audio/amr': 'amr',
})
const TYPES: ReadonlyMap<string, string> = new Map(
  ENDINGS.flatMap(([type, endings]) => endings.split(' ').map((ending) => [ending, type] as const)),
)
/** The endings that clients write for media types. */
const FORMATS: ReadonlyMap<string, string> = new Map([
  ...ENDINGS.map(([type, endings]) => [type, endings.split(' ', 1).join('')] as const),
  ['audio/x-wav', 'wav'],
  ['audio/wave', 'wav'],
  ['audio/vnd.wave', 'wav'],
  ['audio/mp3', 'mp3'],
  ['audio/x-m4a', 'm4a'],
  ['audio/m4a', 'm4a'],
  ['video/mp4', 'mp4'],
  ['application/ogg', 'ogg'],
  ['audio/opus', 'opus'],
  ['audio/x-flac', 'flac'],
  ['video/webm', 'webm'],
  ['audio/x-aiff', 'aiff'],
  ['audio/amr-wb', 'amr'],
])
const NO_SOUND = `is no sound. Allowed: ${Object.keys(AUDIO_CONTAINERS).join(', ')}`
const BASE64 = '^(data:[^,]{0,200},)?([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}(==)?|[A-Za-z0-9+/]{3}=?)?$'
const COMMA_LIST = '^[\\s,]*((word|segment)\\s*(,[\\s,]*|$))*$'

const FROM_ZERO = 'must be a number from 0 on'
const SOUND = object({
  data: text('The file.', { minLength: 1, pattern: BASE64, contentEncoding: 'base64' }),
  format: text('`mp3`, `wav`, …', { minLength: 1 }),
})
const VAD = object({
  type: only('server_vad'),
  prefix_padding_ms: maybe(said(number('', { minimum: 0 }), FROM_ZERO)),
  silence_duration_ms: maybe(said(number('', { minimum: 0 }), FROM_ZERO)),
  threshold: maybe(said(number('', { minimum: 0 }), FROM_ZERO)),
})
const VOICES = list(
  text('', {
    minLength: 1,
    maxLength: REFERENCE_CHARS_MAX,
    pattern: '^[dD][aA][tT][aA]:[^,]{0,200};[bB][aA][sS][eE]64,',
  }),
  'Clips of their voices, as data URLs.',
  { maxItems: SPEAKERS_MAX },
)

function atMost(characters: number): string {
  return `must be at most ${SPEAKERS_MAX} texts of at most ${characters} characters`
}

/** Fields that a form repeats, each with or without brackets or an index; some clients send brackets in JSON too. */
const LISTED = object({
  timestamp_granularities: maybe(
    readBy(
      either(
        text('Both names, with commas.', { pattern: COMMA_LIST }),
        list(oneOf(GRANULARITIES), 'For `verbose_json`; `segment` if absent.'),
      ),
      granularitiesOf,
    ),
  ),
  known_speaker_names: maybe(
    said(
      list(text('', { minLength: 1, maxLength: SPEAKER_CHARS_MAX }), 'For `diarized_json`.', {
        maxItems: SPEAKERS_MAX,
      }),
      atMost(SPEAKER_CHARS_MAX),
    ),
  ),
  known_speaker_references: maybe(said(turned(VOICES, refuseOthers), atMost(REFERENCE_CHARS_MAX))),
  include: maybe(said(list(only('logprobs'), 'With `json`.'), "may hold only 'logprobs'")),
})
const LISTS = Object.keys(LISTED.fields)

/** The other fields; a translation allows fewer formats. */
function fieldsOf(formats: readonly TranscriptionRequest['format'][]) {
  return object({
    model: MODEL,
    response_format: formatField(formats, '`json` if absent.'),
    ...ROUTED,
    language: maybe(text('Of the speech.')),
    stream: maybe(flag('The text as events, with `json` and `diarized_json`; not of a translation.')),
    temperature: maybe(number('', { minimum: 0, maximum: 1 })),
    prompt: maybe(text('Words to expect.')),
    chunking_strategy: maybe(readBy(either(only('auto'), VAD), chunkingOf)),
  })
}
const FIELDS = {
  transcribe: fieldsOf(TRANSCRIPT_FORMATS),
  translate: fieldsOf(TRANSCRIPT_FORMATS.filter((name) => name !== 'diarized_json')),
}
const { model: MODEL_FIELD, ...OTHERS } = FIELDS.transcribe.fields
type Fields = Read<typeof LISTED> & Read<typeof FIELDS.transcribe>

/** `POST /v1/audio/transcriptions` and `translations` as JSON; a form has the same fields. */
export const TranscriptionBody = object({
  model: MODEL_FIELD,
  input_audio: SOUND,
  ...OTHERS,
  ...LISTED.fields,
})

/** The answer in `json`, `verbose_json` and `diarized_json`; the other formats are plain text. */
export const TranscriptionAnswer = object({
  text: text(),
  task: optional(oneOf(['transcribe', 'translate'])),
  language: optional(text()),
  duration: optional(number('Seconds.')),
  segments: optional(list(anything())),
  logprobs: optional(list(anything())),
  words: optional(list(object({ word: text(), start: number(), end: number() }))),
  usage: either(
    object({ type: only('duration'), seconds: number(), ...COST }),
    object({
      type: only('tokens'),
      input_tokens: whole(),
      output_tokens: whole(),
      total_tokens: whole(),
      seconds: number(),
      ...COST,
    }),
  ),
})

/** Reads the JSON body of a transcription or a translation (api.md POST /v1/audio/transcriptions). */
export async function parseTranscription(
  json: unknown,
  task: TranscriptionRequest['task'],
): Promise<TranscriptionRequest> {
  const body = bodyObject(json)
  const read = readForm(body, task)
  return requestOf(body, read, task, await inputAudio(body))
}

function readForm(body: RawObject, task: TranscriptionRequest['task']): Fields {
  const listed = LISTS.map((name) => [name, field(body, name) ?? field(body, `${name}[]`)])
  return { ...readPaidBody(FIELDS[task], body), ...readFields(LISTED, Object.fromEntries(listed), '') }
}

/** Reads a form, whose fields are texts, as if it had come as JSON. */
export async function parseTranscriptionForm(
  { fields, files: [file] }: UploadedForm,
  task: TranscriptionRequest['task'],
): Promise<TranscriptionRequest> {
  const body: Record<string, unknown> = {}
  const lists = new Map<string, string[]>()
  const chunking: Record<string, unknown> = {}
  for (const [name, value] of fields) {
    const list = LISTS.find((known) => name === known || name.startsWith(`${known}[`))
    if (list !== undefined) lists.set(list, [...(lists.get(list) ?? []), value])
    else if (name.startsWith(`${CHUNKING}[`)) chunking[name.slice(CHUNKING.length + 1, -1)] = numberIn(value)
    else if (name !== '__proto__' && value !== '') body[name] = valueOf(name, value)
  }
  for (const [name, values] of lists)
    body[name] = name === LIST_FIELD || name === 'include' ? values.flatMap(listedIn) : values.flatMap(arrayIn)
  if (Object.keys(chunking).length > 0) body[CHUNKING] = chunking
  const read = readForm(body, task)
  if (file === undefined || file.field !== 'file') throw uploadError("the form has no file in field 'file'")
  if (file.bytes.length === 0) throw uploadError('the file is empty')
  const audio = await audioOf(file.bytes, endingOf(file.fileName) ?? FORMATS.get(file.contentType ?? '') ?? null)
  if (audio === null) throw uploadError(`the file ${NO_SOUND}`)
  return requestOf(body, read, task, audio)
}

async function requestOf(
  body: RawObject,
  read: Fields,
  task: TranscriptionRequest['task'],
  audio: AudioFile,
): Promise<TranscriptionRequest> {
  const format = read.response_format ?? 'json'
  return {
    ...routingOf(body, read),
    task,
    audio,
    language: read.language || null,
    format,
    stream: read.stream === true && canStream(task, format),
    temperature: read.temperature ?? null,
    prompt: read.prompt || null,
    granularities: read.timestamp_granularities ?? ['segment'],
    speakers: await speakersOf(read),
    chunking: read.chunking_strategy ?? null,
    logprobs: (read.include ?? []).length > 0,
  }
}

/** Whether the answer can be a stream: only JSON formats can. */
function canStream(task: TranscriptionRequest['task'], format: TranscriptionRequest['format']): true {
  if (task === 'translate')
    throw new ApiError('streaming_not_supported', 'Streaming is not supported by audio/translations')
  if (format === 'json' || format === 'diarized_json') return true
  throw new ApiError(
    'invalid_response_format',
    `Invalid response_format: ${format} is not streamed. Allowed with stream: json, diarized_json`,
  )
}

/** The value of a form's text, for a field that is no text. */
function valueOf(name: string, value: string): unknown {
  if (name === 'temperature') return numberIn(value)
  if (name === 'stream') return value === 'true' || value === '1'
  return name === 'provider' || (name === CHUNKING && value.trimStart().startsWith('{')) ? objectIn(value) : value
}

function numberIn(text: string): unknown {
  return NUMBER.test(text.trim()) ? Number(text) : text
}

function objectIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/**
 * The granularities, given as a comma-separated list, a repeated field, the field with brackets, or an array; clients
 * also nest these.
 */
function granularitiesOf(given: unknown): readonly Granularity[] {
  const listed: unknown[] = typeof given === 'string' ? listedIn(given) : Array.isArray(given) ? given : [given]
  const found = listed.map((name) => {
    const granularity = GRANULARITIES.find((known) => known === name)
    if (granularity !== undefined) return granularity
    const got = typeof name === 'string' ? `, got '${quoted(name)}'` : ''
    throw invalidInput(LIST_FIELD, `must be word, segment or both${got}`)
  })
  return found.length === 0 ? ['segment'] : GRANULARITIES.filter((name) => found.includes(name))
}

function refuseOthers(clips: readonly string[]): readonly string[] {
  if (clips.every((clip) => /^data:[^,]{0,200};base64,/i.test(clip))) return clips
  throw invalidInput('known_speaker_references', 'must be data URLs of audio in base64')
}

/** The people whose clips come with the sound. Only the provider can judge whether a clip is one of them. */
async function speakersOf({
  known_speaker_names: names,
  known_speaker_references: references,
}: Fields): Promise<KnownSpeakers> {
  let heldSeconds = 0
  let secondsMax = 0
  for (const clip of references ?? []) {
    const bytes = Buffer.from(clip.slice(clip.indexOf(',') + 1), 'base64')
    const length = await audioLength(bytes, audioContainer(bytes))
    heldSeconds += length.heldSeconds
    secondsMax += length.secondsMax
  }
  return { names: names ?? [], references: references ?? [], heldSeconds, secondsMax }
}

function chunkingOf(given: unknown, path: string): Chunking {
  if (given === 'auto') return given
  if (!isObject(given) || given['type'] !== 'server_vad')
    throw invalidInput(path, "must be 'auto' or an object of type 'server_vad'")
  return readFields(VAD, given, `${path}.`)
}

function listedIn(text: string): unknown[] {
  const items = arrayIn(text)
  return items.length === 1 && items[0] === text
    ? text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '')
    : items
}

/** The items of an array written as JSON; any other text is one item. */
function arrayIn(text: string): unknown[] {
  const parsed = text.trimStart().startsWith('[') ? objectIn(text) : null
  return Array.isArray(parsed) ? parsed : text === '' ? [] : [text]
}

async function inputAudio(body: RawObject): Promise<AudioFile> {
  const audio = objectField(body, 'input_audio') ?? {}
  const data = filledIn(audio, 'data')
  const format = filledIn(audio, 'format')
  const read = await audioOf(decoded(data), FORMATS.get(format.toLowerCase()) ?? ending(format) ?? null)
  if (read === null) throw invalidInput('input_audio.data', NO_SOUND)
  return read
}

function filledIn(audio: RawObject, name: string): string {
  const path = `input_audio.${name}`
  const value = stringField(audio, name, path) ?? ''
  if (value === '') throw new ApiError('missing_input', `Parameter '${path}' is required`)
  return value
}

/** Decodes base64 strictly: Buffer.from accepts any text, so a bad text would become a shorter, wrong sound. */
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
 * The format by the ending of the file name, then by the part's media type, then by the bytes themselves (wire.md
 * D-5.2). null = the bytes are no sound, whatever they are called: nobody can say how long they are, and so what they
 * cost.
 */
async function audioOf(bytes: Buffer, named: string | null): Promise<AudioFile | null> {
  const container = audioContainer(bytes)
  if (container === null) return null
  const format = (named !== null && TYPES.has(named) ? named : null) ?? container
  return {
    bytes,
    format,
    contentType: TYPES.get(format) ?? AUDIO_CONTAINERS[container],
    ...(await audioLength(bytes, container)),
  }
}

function endingOf(fileName: string): string | null {
  const dot = fileName.lastIndexOf('.')
  return dot === -1 ? null : ending(fileName.slice(dot + 1))
}

/** The ending as a part of a file name, so only letters and digits. */
function ending(text: string): string | null {
  const format = text.toLowerCase()
  return /^[a-z0-9]{1,8}$/.test(format) ? format : null
}
