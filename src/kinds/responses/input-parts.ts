import { ApiError } from '../../base/errors.ts'
import { isBase64 } from '../chat/parts.ts'
import type { ChatPart } from '../chat/request.ts'
import { field, invalidInput, isObject, quoted, type RawObject } from '../fields/json-fields.ts'

const TYPES = ['input_text', 'output_text', 'input_image', 'input_file', 'input_audio', 'input_video', 'refusal']

/** The content parts of an item, in chat's form. */
export function inputParts(parts: readonly unknown[], path: string): readonly ChatPart[] {
  return parts.map((part, index) => partOf(part, `${path}[${index}]`))
}

/** Whether a part has a type that is newer than this reader. */
export function isNewPart(raw: unknown): boolean {
  const type = isObject(raw) ? field(raw, 'type') : undefined
  return typeof type === 'string' && type !== 'text' && !TYPES.includes(type)
}

function partOf(raw: unknown, path: string): ChatPart {
  if (!isObject(raw)) throw invalidInput(path, 'must be an object')
  const type = field(raw, 'type')
  switch (type) {
    case 'input_text':
    case 'output_text':
    // Clients that come from chat use this form.
    case 'text':
      return { type: 'text', text: text(raw, 'text', path) }
    case 'refusal':
      return { type: 'text', text: text(raw, 'refusal', path) }
    case 'input_image':
      return { type: 'image_url', image_url: imageOf(raw, path) }
    case 'input_file':
      return { type: 'file', file: fileOf(raw, path) }
    case 'input_audio':
      return { type, input_audio: audioOf(raw, path) }
    case 'input_video':
      return { type: 'video_url', video_url: { url: filled(raw, 'video_url', path) } }
    case undefined:
      throw invalidInput(`${path}.type`, 'is required')
    default:
      throw invalidInput(`${path}.type`, `'${quoted(type)}' is not allowed. Allowed: ${TYPES.join(', ')}`)
  }
}

function text(raw: RawObject, name: string, path: string): string {
  const value = field(raw, name)
  if (typeof value === 'string') return value
  throw invalidInput(`${path}.${name}`, 'must be a string')
}

function filled(raw: RawObject, name: string, path: string): string {
  const value = text(raw, name, path)
  if (value !== '') return value
  throw invalidInput(`${path}.${name}`, 'must not be empty')
}

function notStored(raw: RawObject, path: string): void {
  if (field(raw, 'file_id') !== undefined)
    throw invalidInput(`${path}.file_id`, 'files are not stored here, send the data or a URL instead')
}

function imageOf(raw: RawObject, path: string): { url: string; detail?: string } {
  const given = field(raw, 'image_url')
  if (given === undefined) notStored(raw, path)
  // The object is chat's form.
  const url = isObject(given) ? filled(given, 'url', `${path}.image_url`) : filled(raw, 'image_url', path)
  const detail = field(raw, 'detail')
  if (detail === undefined) return { url }
  if (typeof detail !== 'string') throw invalidInput(`${path}.detail`, 'must be a string')
  return { url, detail }
}

function fileOf(raw: RawObject, path: string): { filename?: string; file_data: string } {
  const name = field(raw, 'file_data') === undefined && field(raw, 'file_url') !== undefined ? 'file_url' : 'file_data'
  if (field(raw, name) === undefined) notStored(raw, path)
  const data = filled(raw, name, path)
  const filename = field(raw, 'filename')
  if (filename === undefined) return { file_data: data }
  if (typeof filename !== 'string') throw invalidInput(`${path}.filename`, 'must be a string')
  return { filename, file_data: data }
}

function audioOf(raw: RawObject, path: string): { data: string; format: string } {
  const audio = field(raw, 'input_audio')
  if (!isObject(audio)) throw invalidInput(`${path}.input_audio`, 'must be an object')
  const data = filled(audio, 'data', `${path}.input_audio`)
  const format = filled(audio, 'format', `${path}.input_audio`)
  if (!isBase64(data)) throw new ApiError('invalid_base64', 'input_audio.data is not valid base64')
  return { data, format }
}
