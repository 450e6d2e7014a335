import { ApiError } from '../../base/errors.ts'
import { imageTypeOf } from '../images/bytes.ts'
import { invalidInput } from './body-fields.ts'

/** The medium as which a provider reads a file and bills it. */
export type Medium = 'image' | 'audio' | 'video' | 'file'

declare const CHECKED: unique symbol
/** An address whose extension does not name another medium than its part. */
export type CheckedAddress = string & { readonly [CHECKED]: true }
/**
 * An address, or a data URL with the type that its bytes have. Only `realMedia` makes one from a client's text, so that
 * a part cannot be held for as a picture and sent as a film.
 */
export type MediaUrl<Kind extends string> = CheckedAddress | `data:${Kind}/${string};base64,${string}`

/** A file with its real medium. */
export type RealMedia =
  | { readonly medium: 'image'; readonly url: MediaUrl<'image'> }
  | { readonly medium: 'video'; readonly url: MediaUrl<'video'> }
  | { readonly medium: 'audio'; readonly url: MediaUrl<'audio'> }
  | { readonly medium: 'file'; readonly url: string }

export interface GivenMedia {
  /** An address, a data URL, or bare base64. */
  readonly url: string
  /** The medium of the part that it came in, used if nothing else names one. */
  readonly as: Medium
  readonly filename?: string | undefined
  /** The type that the client gives next to an address. */
  readonly mediaType?: string | undefined
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
const DATA_URL = /^data:([^;,]*)((?:;[^;,]*)*),/i
const OWN_DATA_URL = /^data:([^;,]*);base64,/
const CONTROL = /\p{Cc}/u
const TYPE = /^[a-z0-9.+-]+\/[a-z0-9.+-]+$/
/** Types that do not name a format. */
const UNTYPED: ReadonlySet<string> = new Set(['application/octet-stream', 'binary/octet-stream'])
const VIDEO_SITE = /(?:^|\.)(?:youtube(?:-nocookie)?\.com|youtu\.be)\.?$/
/** Readers of documents look for the mark of a format in this many first bytes. */
const MARK_BYTES = 1_024
const HEAD_CHARS = 4_096
const NOT_BASE64 = /[^A-Za-z0-9+/_=\s-]|=\s*[^=\s]/
const USUAL = { image: 'image/jpeg', video: 'video/mp4', audio: 'audio/mp3' } as const
/** Pictures whose types are often confused, and that some providers refuse under the wrong type. */
const PLAIN_PICTURE = /^image\/(?:png|jpeg|webp|gif)$/
/** First bytes, in Latin-1, with which no text begins; a dot is any byte. */
const MARKS = Object.entries({
  'audio/mp4': ['\0...ftypM4A ', '\0...ftypM4B '],
  'video/mp4': ['\0...ftyp', '\0...moov', '\0...mdat', '\0...wide', '\0...free', '\0...skip', '\0...pnot'],
  'video/webm': ['\x1aE\xdf\xa3'],
  'video/x-msvideo': ['RIFF....AVI '],
  'video/ogg': ['OggS\0'],
  'video/x-flv': ['FLV\x01'],
  'video/mpeg': ['\0\0\x01\xba', '\0\0\x01\xb3'],
  'video/x-ms-wmv': ['0&\xb2u\x8ef\xcf\x11'],
  'audio/wav': ['RIFF....WAVE', 'RF64....WAVE'],
  'audio/mp3': [
    'ID3\x02',
    'ID3\x03',
    'ID3\x04',
    '\xff\xe2',
    '\xff\xe3',
    '\xff\xf2',
    '\xff\xf3',
    '\xff\xfa',
    '\xff\xfb',
  ],
  'audio/aac': ['\xff\xf1', '\xff\xf9'],
  'audio/flac': ['fLaC\0'],
  'audio/aiff': ['FORM....AIFF', 'FORM....AIFC'],
  'application/zip': ['PK\x03\x04'],
  'application/msword': ['\xd0\xcf\x11\xe0'],
})
const EXTENSIONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'image/jpeg': 'jpg jpeg',
    'image/png': 'png',
    'image/webp': 'webp',
    'image/gif': 'gif',
    'image/heic': 'heic',
    'image/heif': 'heif',
    'image/bmp': 'bmp',
    'image/avif': 'avif',
    'image/tiff': 'tif tiff',
    'image/svg+xml': 'svg',
    'video/mp4': 'mp4 m4v',
    'video/mpeg': 'mpeg mpg',
    'video/quicktime': 'mov',
    'video/x-msvideo': 'avi',
    'video/x-flv': 'flv',
    'video/webm': 'webm',
    'video/x-matroska': 'mkv',
    'video/wmv': 'wmv',
    'video/3gpp': '3gp',
    'video/ogg': 'ogv',
    'audio/mp3': 'mp3',
    'audio/wav': 'wav',
    'audio/aac': 'aac',
    'audio/ogg': 'ogg opus',
    'audio/flac': 'flac',
    'audio/aiff': 'aiff aif',
    'audio/mp4': 'm4a',
    'application/pdf': 'pdf',
    'text/plain': 'txt',
    'text/markdown': 'md',
    'text/html': 'html htm',
    'text/csv': 'csv',
    'text/xml': 'xml',
    'application/json': 'json',
    'application/zip': 'zip',
    'application/rtf': 'rtf',
    'application/epub+zip': 'epub',
    'application/msword': 'doc',
    'application/vnd.ms-excel': 'xls',
    'application/vnd.ms-powerpoint': 'ppt',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
    'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  }).flatMap(([type, names]) => names.split(' ').map((name) => [name, type] as const)),
)

/**
 * What a file really is, whatever the part calls it (guarantees.md, holds). A data URL is judged by its first bytes,
 * else by its type, else by the file's name. An address is judged by its extension, else by the type next to it, else
 * by the part, since that is all that an adapter can send it as. The result names that type if it is a data URL in
 * base64.
 */
export function realMedia({ url, as, filename = '', mediaType }: GivenMedia, path: string): RealMedia {
  const text = url.trim()
  const found = DATA_URL.exec(text)
  if (found !== null) {
    const [head, named = '', attributes = ''] = found
    const declared = named.trim().toLowerCase()
    // Only providers that get it unchanged can read it, by its type.
    if (!/;\s*base64\s*$/i.test(attributes)) return located(text, declared === '' ? 'text/plain' : declared, as)
    return typed(text, { declared, start: head.length, as, filename }, path)
  }
  // Readers of addresses skip control characters, and would find `data:` between them.
  if (/^data:/i.test(text) || CONTROL.test(text.slice(0, text.indexOf(':') + 1)))
    throw invalidInput(path, 'must be an address, or a data URL in base64')
  // Some clients send a picture or a file as bare base64.
  const bare = NOT_BASE64.test(text) ? null : markedType(text, 0, path)
  if (bare !== null && mediumOf(bare) !== as) return typed(text, { declared: '', start: 0, as, filename }, path)
  return located(text, typeOfAddress(text) ?? mediaType ?? null, as)
}

function located(text: string, type: string | null, as: Medium): RealMedia {
  // The check of the medium was made just now.
  return { medium: type === null ? as : mediumOf(type), url: text as CheckedAddress }
}

/** The address of a picture; refuses anything else. */
export function imageUrl(url: string, path: string): MediaUrl<'image'> {
  const real = realMedia({ url, as: 'image' }, path)
  if (real.medium === 'image') return real.url
  throw invalidInput(path, `the ${dataOf(real.url) === null ? 'address' : 'data URL'} is not of an image`)
}

interface Typing extends Omit<GivenMedia, 'url'> {
  readonly declared: string
  /** The index at which its base64 begins. */
  readonly start: number
}

function typed(text: string, { declared, start, as, filename = '' }: Typing, path: string): RealMedia {
  const said = TYPE.test(declared) && !UNTYPED.has(declared) ? declared : typeByName(filename)
  const marked = markedType(text, start, path)
  const isKept = marked === null || (said !== null && keeps(said, marked))
  const found = isKept ? (said ?? (as === 'file' ? declared : USUAL[as])) : marked
  const type = found === 'image/jpg' ? 'image/jpeg' : found
  if (isOf('image', type)) return { medium: 'image', url: dataUrl(type, text, start) }
  if (isOf('video', type)) return { medium: 'video', url: dataUrl(type, text, start) }
  if (isOf('audio', type)) return { medium: 'audio', url: dataUrl(type, text, start) }
  return { medium: 'file', url: dataUrl(type, text, start) }
}

/** The data URL; the client's own text if it has this type, so that megabytes are not copied. */
function dataUrl<Type extends string>(type: Type, text: string, start: number): `data:${Type};base64,${string}` {
  const head = `data:${type};base64,` as const
  return text.startsWith(head) && head.length === start
    ? (text as `${typeof head}${string}`)
    : `${head}${text.slice(start)}`
}

/**
 * Whether the stated type is used although the first bytes have another: containers may hold only sound, and a picture
 * is billed least.
 */
function keeps(said: string, marked: string): boolean {
  const [medium, other] = [mediumOf(said), mediumOf(marked)]
  if (medium === other) return !PLAIN_PICTURE.test(marked)
  return other === 'image' || (other !== 'file' && (medium === 'audio' || medium === 'video'))
}

/** The type by the first bytes; null = they show none. */
function markedType(text: string, start: number, path: string): string | null {
  const head = text.slice(start, start + HEAD_CHARS)
  const bytes = Buffer.from(head, 'base64').subarray(0, MARK_BYTES)
  // Otherwise a reader that skips other characters would see different first bytes.
  if (NOT_BASE64.test(head) || (head.length === HEAD_CHARS && bytes.length < MARK_BYTES))
    throw new ApiError('invalid_base64', `${path} is not valid base64`)
  return typeOfBytes(bytes)
}

export function typeOfBytes(bytes: Buffer): string | null {
  const image = imageTypeOf(bytes)
  if (image !== null) return image
  const head = bytes.toString('latin1', 0, MARK_BYTES)
  const found = MARKS.find(([, marks]) => marks.some((mark) => begins(head, mark)))
  return found?.[0] ?? (head.includes('%PDF-') ? 'application/pdf' : null)
}

function begins(head: string, mark: string): boolean {
  return [...mark].every((byte, at) => byte === '.' || byte === head[at])
}

export function mediumOf(type: string): Medium {
  return isOf('image', type) ? 'image' : isOf('video', type) ? 'video' : isOf('audio', type) ? 'audio' : 'file'
}

function isOf<Kind extends string>(kind: Kind, type: string): type is `${Kind}/${string}` {
  return type.startsWith(`${kind}/`)
}

/** Whether a text is base64: padding is optional, but the last group must make whole bytes. */
export function isBase64(text: string): boolean {
  if (!BASE64.test(text)) return false
  return text.endsWith('=') ? text.length % 4 === 0 : text.length % 4 !== 1
}

/** The type of an address by its extension; null = it has no known one. */
export function typeOfAddress(address: string): string | null {
  const url = URL.parse(address)
  if (url === null) return null
  if (VIDEO_SITE.test(url.hostname)) return 'video/mp4'
  const name = url.pathname.split('/').findLast((part) => part !== '') ?? ''
  try {
    return typeByName(decodeURIComponent(name))
  } catch {
    return typeByName(name)
  }
}

export function isVideoSite(address: string): boolean {
  return VIDEO_SITE.test(URL.parse(address)?.hostname ?? '')
}

/** The same for a known medium, for a provider that needs the type. */
export function typeWithin<Kind extends string>(kind: Kind, address: string): `${Kind}/${string}` | null {
  const type = typeOfAddress(address)
  return type !== null && isOf(kind, type) ? type : null
}

function typeByName(name: string): string | null {
  const dot = name.lastIndexOf('.')
  const [extension = ''] = name.slice(dot + 1).split(/[^a-z0-9]/i, 1)
  return dot === -1 ? null : (EXTENSIONS.get(extension.toLowerCase()) ?? null)
}

/** The content of a data URL. */
export interface DataUrl<Type extends string = string> {
  readonly mediaType: Type
  readonly data: string
}

/** Reads a data URL that `realMedia` has made; null = an address. */
export function dataOf<Kind extends string>(url: MediaUrl<Kind>): DataUrl<`${Kind}/${string}`> | null
export function dataOf(url: string): DataUrl | null
export function dataOf(url: string): DataUrl | null {
  const found = OWN_DATA_URL.exec(url)
  return found === null ? null : { mediaType: found[1] ?? '', data: url.slice(found[0].length) }
}
