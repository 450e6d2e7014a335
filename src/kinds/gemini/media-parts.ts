import { ApiError } from '../../base/errors.ts'
import { isBase64 } from '../chat/parts.ts'
import type { ChatPart } from '../chat/request.ts'
import type { RawObject } from '../fields/json-fields.ts'
import { badContent, textMember } from '../../protocols/gemini/client/members.ts'

const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+(?:;[\w.=+; -]+)?$/
/** Sound formats whose names differ from the media subtype. */
const AUDIO_FORMATS: ReadonlyMap<string, string> = new Map([
  ['mpeg', 'mp3'],
  ['x-wav', 'wav'],
  ['wave', 'wav'],
  ['x-m4a', 'm4a'],
  ['l16', 'pcm16'],
])

/** `inlineData`: bytes in base64; some clients use the URL-safe alphabet. */
export function inlinePart(raw: RawObject, path: string): ChatPart {
  const mimeType = mimeTypeOf(raw, path)
  const given = textMember(raw, 'data', `${path}.data`) ?? ''
  const data = given.replaceAll('-', '+').replaceAll('_', '/')
  if (data === '') throw badContent(path, 'data is required')
  if (!isBase64(data)) throw new ApiError('invalid_base64', `${path}.data is not valid base64`)
  if (mimeType.startsWith('audio/'))
    return { type: 'input_audio', input_audio: { data, format: audioFormat(mimeType) } }
  return locatedPart(raw, mimeType, `data:${mimeType};base64,${data}`, path)
}

/** `fileData`: the address of a file. */
export function filePart(raw: RawObject, path: string): ChatPart {
  const uri = textMember(raw, 'fileUri', `${path}.fileUri`) ?? ''
  if (uri === '') throw badContent(path, 'fileUri is required')
  const isGiven = textMember(raw, 'mimeType', `${path}.mimeType`) !== undefined
  return locatedPart(raw, isGiven ? mimeTypeOf(raw, path) : typeOfAddress(uri), uri, path)
}

function locatedPart(raw: RawObject, mimeType: string, url: string, path: string): ChatPart {
  if (mimeType.startsWith('image/')) return { type: 'image_url', image_url: { url } }
  if (mimeType.startsWith('video/')) return { type: 'video_url', video_url: { url } }
  const filename = textMember(raw, 'displayName', `${path}.displayName`)
  return { type: 'file', file: { ...(filename === undefined ? {} : { filename }), file_data: url } }
}

/** An address without a type is usually one of a video site. */
function typeOfAddress(uri: string): string {
  if (/\.(?:png|jpe?g|gif|webp|heic)(?:[?#]|$)/i.test(uri)) return 'image/*'
  return /\.(?:pdf|txt|md|csv|html|json|mp3|wav)(?:[?#]|$)/i.test(uri) ? 'application/octet-stream' : 'video/*'
}

function mimeTypeOf(raw: RawObject, path: string): string {
  const mimeType = textMember(raw, 'mimeType', `${path}.mimeType`) ?? ''
  if (MEDIA_TYPE.test(mimeType)) return mimeType.toLowerCase()
  throw badContent(`${path}.mimeType`, "must be a media type, such as 'image/png'")
}

function audioFormat(mimeType: string): string {
  const subtype = (mimeType.split(';')[0] ?? '').slice('audio/'.length)
  return AUDIO_FORMATS.get(subtype) ?? subtype
}
