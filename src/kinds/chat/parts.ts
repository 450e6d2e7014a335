import { ApiError } from '../../base/errors.ts'
import type { ChatPart, ChatMessage, ChatRequest } from './request.ts'
import { badMessage, copyJson, field, invalidInput, isObject, quoted, type RawObject } from '../fields/body-fields.ts'
import { isBase64, dataOf, realMedia, type GivenMedia, type Medium } from '../fields/media.ts'

const TYPES = ['text', 'image_url', 'input_audio', 'file', 'video_url', 'refusal']
/** Sound formats whose names differ from the media subtype. */
const AUDIO_FORMATS: ReadonlyMap<string, string> = new Map([
  ['mpeg', 'mp3'],
  ['x-wav', 'wav'],
  ['wave', 'wav'],
  ['x-m4a', 'm4a'],
  ['l16', 'pcm16'],
])
const MEDIA: Readonly<Record<ChatPart['type'], Medium | null>> = {
  text: null,
  refusal: null,
  image_url: 'image',
  input_audio: 'audio',
  audio_url: 'audio',
  video_url: 'video',
  file: 'file',
}

/** The content of a message: text, a non-empty list of parts, or null where none was given. */
export function contentOf(raw: unknown, path: string): string | readonly ChatPart[] | null {
  if (raw === undefined) return null
  if (typeof raw === 'string') return raw
  if (!Array.isArray(raw)) throw badMessage(path, 'content must be a string or an array of content parts')
  if (raw.length === 0) throw badMessage(path, 'content must not be an empty array')
  return raw.map((part: unknown, index) => partOf(part, `${path}.content[${index}]`))
}

function partOf(raw: unknown, path: string): ChatPart {
  if (!isObject(raw)) throw badMessage(path, 'must be an object')
  const type = field(raw, 'type')
  switch (type) {
    case 'text':
      return { type, text: textIn(raw, 'text', path), ...cacheMark(raw, path) }
    case 'image_url':
      return mediaPart({ url: urlOf(raw, type, path), as: 'image' }, `${path}.image_url.url`, {
        ...detailOf(raw, path),
        ...cacheMark(raw, path),
      })
    case 'input_audio':
      return { type, input_audio: audioOf(raw, path) }
    case 'file':
      return mediaPart({ ...fileOf(raw, path), as: 'file' }, `${path}.file.file_data`)
    case 'video_url':
      return mediaPart({ url: urlOf(raw, type, path), as: 'video' }, `${path}.video_url.url`)
    case 'refusal':
      return { type, refusal: textIn(raw, 'refusal', path) }
    case undefined:
      throw badMessage(path, 'type is required')
    default:
      throw badMessage(path, `type '${quoted(type)}' is not allowed. Allowed: ${TYPES.join(', ')}`)
  }
}

/** The part for a file by the file's real medium, whatever the client calls it (guarantees.md, holds). */
export function mediaPart(
  given: GivenMedia,
  path: string,
  { detail, ...mark }: { readonly detail?: string; readonly cache_control?: unknown } = {},
): ChatPart {
  const real = realMedia(given, path)
  const { filename } = given
  switch (real.medium) {
    case 'image':
      return { type: 'image_url', image_url: { url: real.url, ...(detail === undefined ? {} : { detail }) }, ...mark }
    case 'video':
      return { type: 'video_url', video_url: { url: real.url } }
    case 'audio': {
      const found = dataOf(real.url)
      return found === null
        ? { type: 'audio_url', audio_url: { url: real.url } }
        : { type: 'input_audio', input_audio: { data: found.data, format: audioFormat(found.mediaType) } }
    }
    case 'file':
      return { type: 'file', file: { ...(filename === undefined ? {} : { filename }), file_data: real.url } }
  }
}

/** The medium of a part; null = text. */
export function mediumOfPart({ type }: ChatPart): Medium | null {
  return MEDIA[type]
}

function audioFormat(mimeType: string): string {
  const subtype = mimeType.slice('audio/'.length)
  return AUDIO_FORMATS.get(subtype) ?? subtype
}

export function cacheMark(raw: RawObject, path: string): { cache_control?: unknown } {
  const mark = field(raw, 'cache_control')
  return mark === undefined ? {} : { cache_control: copyJson(mark, path) }
}

export function textIn(raw: RawObject, name: string, path: string): string {
  const value = field(raw, name)
  if (typeof value === 'string') return value
  throw badMessage(path, `${name} must be a string`)
}

/** The address in `{url}`, or in the plain string that many clients send by mistake. */
function urlOf(raw: RawObject, name: string, path: string): string {
  const given = field(raw, name)
  const url = isObject(given) ? field(given, 'url') : given
  if (typeof url === 'string' && url !== '') return url
  throw badMessage(path, `${name}.url must be a non-empty string`)
}

function detailOf(raw: RawObject, path: string): { detail?: string } {
  const given = field(raw, 'image_url')
  const detail = isObject(given) ? field(given, 'detail') : undefined
  if (detail === undefined) return {}
  if (typeof detail !== 'string') throw badMessage(path, 'image_url.detail must be a string')
  return { detail }
}

function audioOf(raw: RawObject, path: string): { data: string; format: string } {
  const audio = field(raw, 'input_audio')
  if (!isObject(audio)) throw badMessage(path, 'input_audio must be an object')
  const data = field(audio, 'data')
  const format = field(audio, 'format')
  if (typeof data !== 'string' || data === '') throw badMessage(path, 'input_audio.data must be a non-empty string')
  if (typeof format !== 'string' || format === '')
    throw badMessage(path, 'input_audio.format must be a non-empty string')
  if (!isBase64(data)) throw new ApiError('invalid_base64', 'input_audio.data is not valid base64')
  return { data, format }
}

function fileOf(raw: RawObject, path: string): { filename?: string; url: string } {
  const file = field(raw, 'file')
  if (!isObject(file)) throw badMessage(path, 'file must be an object')
  const data = field(file, 'file_data')
  if (data === undefined && field(file, 'file_id') !== undefined)
    throw invalidInput(`${path}.file.file_id`, 'files are not stored here, send file_data instead')
  if (typeof data !== 'string' || data === '') throw badMessage(path, 'file.file_data must be a non-empty string')
  const filename = field(file, 'filename')
  if (filename === undefined) return { url: data }
  if (typeof filename !== 'string') throw badMessage(path, 'file.filename must be a string')
  return { filename, url: data }
}

/** Every text of the messages that a model reads: contents, names, reasoning, refusals and tool calls. */
export function* textsOf(messages: readonly ChatMessage[]): Generator<string> {
  for (const message of messages) {
    if (typeof message.content === 'string') yield message.content
    else for (const part of message.content ?? []) yield partText(part)
    if (message.name !== undefined) yield message.name
    if (message.reasoning !== undefined) yield message.reasoning
    // The details usually repeat the reasoning, but may hold signatures, which a provider also reads as tokens.
    if (message.reasoning_details !== undefined) yield JSON.stringify(message.reasoning_details)
    if (message.refusal !== undefined) yield message.refusal
    if (message.tool_call_id !== undefined) yield message.tool_call_id
    for (const call of message.tool_calls ?? []) yield `${call.id} ${call.function.name} ${call.function.arguments}`
  }
}

function partText(part: ChatPart): string {
  if (part.type === 'text') return part.text
  if (part.type === 'refusal') return part.refusal
  return part.type === 'file' ? (part.file.filename ?? '') : ''
}

/** The facts of an input that the plan needs. */
export function inputSize(
  messages: readonly ChatMessage[],
  tools: ChatRequest['tools'],
  responseFormat: ChatRequest['responseFormat'],
): Pick<ChatRequest, 'inputModalities' | 'textBytes'> {
  return {
    inputModalities: modalitiesOf(messages),
    textBytes: textBytesOf(messages) + jsonBytes(tools) + jsonBytes(responseFormat),
  }
}

function modalitiesOf(messages: readonly ChatMessage[]): ReadonlySet<Medium> {
  const modalities = new Set<Medium>()
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue
    for (const part of content) {
      const modality = mediumOfPart(part)
      if (modality !== null) modalities.add(modality)
    }
  }
  return modalities
}

function textBytesOf(messages: readonly ChatMessage[]): number {
  let bytes = 0
  for (const text of textsOf(messages)) bytes += Buffer.byteLength(text)
  return bytes
}

function jsonBytes(value: unknown): number {
  return value === null ? 0 : Buffer.byteLength(JSON.stringify(value))
}
