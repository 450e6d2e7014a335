import { ApiError } from '../../base/errors.ts'
import type { ChatPart } from './request.ts'
import { copyJson, field, invalidInput, isObject, quoted, type RawObject } from '../fields/json-fields.ts'

const TYPES = ['text', 'image_url', 'input_audio', 'file', 'video_url', 'refusal']
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** The content of a message: text, a non-empty list of parts, or null where none was given. */
export function contentOf(raw: unknown, path: string): string | readonly ChatPart[] | null {
  if (raw === undefined) return null
  if (typeof raw === 'string') return raw
  if (!Array.isArray(raw)) throw bad(path, 'content must be a string or an array of content parts')
  if (raw.length === 0) throw bad(path, 'content must not be an empty array')
  return raw.map((part: unknown, index) => partOf(part, `${path}.content[${index}]`))
}

function bad(path: string, what: string): ApiError {
  return new ApiError('invalid_message_format', `${path}: ${what}`)
}

function partOf(raw: unknown, path: string): ChatPart {
  if (!isObject(raw)) throw bad(path, 'must be an object')
  const type = field(raw, 'type')
  switch (type) {
    case 'text':
      return { type, text: textIn(raw, 'text', path), ...cacheMark(raw, path) }
    case 'image_url':
      return { type, image_url: imageOf(raw, path), ...cacheMark(raw, path) }
    case 'input_audio':
      return { type, input_audio: audioOf(raw, path) }
    case 'file':
      return { type, file: fileOf(raw, path) }
    case 'video_url':
      return { type, video_url: { url: urlOf(raw, 'video_url', path) } }
    case 'refusal':
      return { type, refusal: textIn(raw, 'refusal', path) }
    case undefined:
      throw bad(path, 'type is required')
    default:
      throw bad(path, `type '${quoted(type)}' is not allowed. Allowed: ${TYPES.join(', ')}`)
  }
}

function cacheMark(raw: RawObject, path: string): { cache_control?: unknown } {
  const mark = field(raw, 'cache_control')
  return mark === undefined ? {} : { cache_control: copyJson(mark, path) }
}

function textIn(raw: RawObject, name: string, path: string): string {
  const value = field(raw, name)
  if (typeof value === 'string') return value
  throw bad(path, `${name} must be a string`)
}

/** `{url}`, or the plain string that many clients send by mistake. */
function urlOf(raw: RawObject, name: string, path: string): string {
  const given = field(raw, name)
  const url = isObject(given) ? field(given, 'url') : given
  if (typeof url === 'string' && url !== '') return url
  throw bad(path, `${name}.url must be a non-empty string`)
}

function imageOf(raw: RawObject, path: string): { url: string; detail?: string } {
  const url = urlOf(raw, 'image_url', path)
  const given = field(raw, 'image_url')
  const detail = isObject(given) ? field(given, 'detail') : undefined
  if (detail === undefined) return { url }
  if (typeof detail !== 'string') throw bad(path, 'image_url.detail must be a string')
  return { url, detail }
}

function audioOf(raw: RawObject, path: string): { data: string; format: string } {
  const audio = field(raw, 'input_audio')
  if (!isObject(audio)) throw bad(path, 'input_audio must be an object')
  const data = field(audio, 'data')
  const format = field(audio, 'format')
  if (typeof data !== 'string' || data === '') throw bad(path, 'input_audio.data must be a non-empty string')
  if (typeof format !== 'string' || format === '') throw bad(path, 'input_audio.format must be a non-empty string')
  if (!isBase64(data)) throw new ApiError('invalid_base64', 'input_audio.data is not valid base64')
  return { data, format }
}

/** Padding is optional, but the last group must make whole bytes. */
export function isBase64(text: string): boolean {
  if (!BASE64.test(text)) return false
  return text.endsWith('=') ? text.length % 4 === 0 : text.length % 4 !== 1
}

function fileOf(raw: RawObject, path: string): { filename?: string; file_data: string } {
  const file = field(raw, 'file')
  if (!isObject(file)) throw bad(path, 'file must be an object')
  const data = field(file, 'file_data')
  if (data === undefined && field(file, 'file_id') !== undefined)
    throw invalidInput(`${path}.file.file_id`, 'files are not stored here, send file_data instead')
  if (typeof data !== 'string' || data === '') throw bad(path, 'file.file_data must be a non-empty string')
  const filename = field(file, 'filename')
  if (filename === undefined) return { file_data: data }
  if (typeof filename !== 'string') throw bad(path, 'file.filename must be a string')
  return { filename, file_data: data }
}
