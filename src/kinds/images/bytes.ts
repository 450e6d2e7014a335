/** The bytes of a picture, with the type under which they are served. */
export interface Picture {
  readonly bytes: Buffer
  /** One of the types below. */
  readonly mediaType: `image/${string}`
}

const BASE64 = /^[A-Za-z0-9+/_\s-]+$/
const BLANK = /\s/
const PADDING_MAX = 2
const DATA_URL = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+)?((?:;[^;,]*)*),/i
const HEAD_BYTES = 256
/** Types that browsers show. Another type from a provider is replaced by the type of the bytes, or by PNG. */
const SHOWN = [
  'image/png',
  'image/jpeg',
  'image/webp',
  'image/gif',
  'image/avif',
  'image/svg+xml',
  'image/bmp',
  'image/tiff',
  'image/heic',
] as const

/** The length of base64 content, and how its text ends. */
export interface Base64Text {
  readonly bytes: Buffer
  /** Characters of the last group, 0 to 3; a group of one is broken. */
  readonly rest: number
  /** Padding characters of the last group. */
  readonly padding: number
}

/** null for text that is not base64 of either alphabet; blanks are skipped. */
export function readBase64(text: string): Base64Text | null {
  const mark = text.indexOf('=')
  const said = mark === -1 ? text : text.slice(0, mark)
  const marks = mark === -1 ? [''] : text.slice(mark).split('=', PADDING_MAX + 2)
  if (!BASE64.test(said) || marks.length > PADDING_MAX + 1 || marks.some((between) => between.trim() !== ''))
    return null
  const bytes = Buffer.from(said, 'base64')
  return { bytes, rest: BLANK.test(said) ? restOf(said, bytes) : said.length % 4, padding: marks.length - 1 }
}

/**
 * If there are blanks, the length of the last group follows from the decoded bytes: counting the characters one by one
 * takes 0.1 s for 10 MB. A further character adds a byte only if one was left over.
 */
function restOf(said: string, bytes: Buffer): number {
  const left = bytes.length % 3
  if (left > 0) return left + 1
  return Buffer.from(`${said}A`, 'base64').length > bytes.length ? 1 : 0
}

/** The bytes of base64 in either alphabet, blanks ignored; null for invalid or empty text. */
export function decodeBase64(text: string): Buffer | null {
  const read = readBase64(text)
  return read === null || read.rest === 1 || read.bytes.length === 0 ? null : read.bytes
}

/** A base64 data URL, split into parts; null for any other text. `mediaType` is the declared type, in lower case. */
export function readDataUrl(url: string): { readonly mediaType: string | null; readonly base64: string } | null {
  const found = DATA_URL.exec(url)
  if (found === null || !/;base64$/i.test(found[2] ?? '')) return null
  return { mediaType: found[1]?.toLowerCase() ?? null, base64: url.slice(found[0].length) }
}

/** A picture with the type of its bytes or, if they are unknown, the type that its provider named. */
export function pictureOf(bytes: Buffer, named: string | null): Picture {
  const type = named === 'image/jpg' ? 'image/jpeg' : named
  return { bytes, mediaType: imageTypeOf(bytes) ?? SHOWN.find((shown) => shown === type) ?? 'image/png' }
}

/** The type by the first bytes; null for unknown formats. */
export function imageTypeOf(bytes: Buffer): `image/${string}` | null {
  const head = bytes.subarray(0, HEAD_BYTES).toString('latin1')
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (head.startsWith('RIFF') && head.startsWith('WEBP', 8)) return 'image/webp'
  if (head.startsWith('GIF8')) return 'image/gif'
  if (/^....ftypavi[fs]/s.test(head)) return 'image/avif'
  if (/^....ftyp(?:he[iv][cmsx]|mif1|msf1)/s.test(head)) return 'image/heic'
  // In a text that begins with these letters, the reserved bytes are not zero.
  if (head.startsWith('BM') && head.startsWith('\0\0\0\0', 6) && bytes.length > 26) return 'image/bmp'
  if (head.startsWith('II*\0') || head.startsWith('MM\0*')) return 'image/tiff'
  return beginsSvg(head) ? 'image/svg+xml' : null
}

/**
 * Whether a text begins an SVG. It is read step by step: a single expression takes exponential time on a prologue whose
 * comment does not end.
 */
function beginsSvg(head: string): boolean {
  let rest = head.trimStart()
  if (rest.startsWith('<?xml')) rest = after(rest, '>', '<?xml'.length)
  while (rest.startsWith('<!--')) rest = after(rest, '-->', '<!--'.length)
  return /^<svg[\s>]/.test(rest)
}

/** The text after `end` and its blanks; empty if `end` is missing. */
function after(text: string, end: string, from: number): string {
  const at = text.indexOf(end, from)
  return at === -1 ? '' : text.slice(at + end.length).trimStart()
}
