/** Bytes of a picture with the type that they are served under. */
export interface Picture {
  readonly bytes: Buffer
  /** `image/…`, one of those below. */
  readonly mediaType: string
}

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/
const DATA_URL = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+)?((?:;[^;,]*)*),/i
const HEAD_BYTES = 256
/** Types a browser shows. What else a provider names is served as what its bytes are, or as PNG. */
const SHOWN: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif', 'image/svg+xml', 'image/bmp', 'image/tiff', 'image/heic'])

/** The bytes of base64 in either alphabet, blanks ignored; null for what is none, and for nothing. */
export function decodeBase64(text: string): Buffer | null {
  const bare = /\s/.test(text) ? text.replaceAll(/\s+/g, '') : text
  if (!BASE64.test(bare)) return null
  const padding = bare.indexOf('=')
  if ((padding === -1 ? bare.length : padding) % 4 === 1) return null
  const bytes = Buffer.from(bare, 'base64')
  return bytes.length === 0 ? null : bytes
}

/** A data URL in base64, taken apart; null for any other text. `mediaType` is what it names, in lower case. */
export function readDataUrl(url: string): { readonly mediaType: string | null; readonly base64: string } | null {
  const found = DATA_URL.exec(url)
  if (found === null || !/;base64$/i.test(found[2] ?? '')) return null
  return { mediaType: found[1]?.toLowerCase() ?? null, base64: url.slice(found[0].length) }
}

/** A picture by its bytes and, where they say nothing, by what its provider called it. */
export function pictureOf(bytes: Buffer, named: string | null): Picture {
  const type = named === 'image/jpg' ? 'image/jpeg' : named
  return { bytes, mediaType: imageTypeOf(bytes) ?? (type !== null && SHOWN.has(type) ? type : 'image/png') }
}

/** What the first bytes say; null where they are of no format of pictures known here. */
export function imageTypeOf(bytes: Buffer): string | null {
  const head = bytes.subarray(0, HEAD_BYTES).toString('latin1')
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (head.startsWith('RIFF') && head.startsWith('WEBP', 8)) return 'image/webp'
  if (head.startsWith('GIF8')) return 'image/gif'
  if (/^....ftypavi[fs]/s.test(head)) return 'image/avif'
  if (/^....ftyp(?:hei[cx]|mif1)/s.test(head)) return 'image/heic'
  if (head.startsWith('BM') && bytes.length > 26) return 'image/bmp'
  if (head.startsWith('II*\0') || head.startsWith('MM\0*')) return 'image/tiff'
  return beginsSvg(head) ? 'image/svg+xml' : null
}

/** Step by step: one expression over a prologue of comments takes exponential time where a comment does not end. */
function beginsSvg(head: string): boolean {
  let rest = head.trimStart()
  if (rest.startsWith('<?xml')) rest = after(rest, '>', '<?xml'.length)
  while (rest.startsWith('<!--')) rest = after(rest, '-->', '<!--'.length)
  return /^<svg[\s>]/.test(rest)
}

/** What follows `end` and the blanks behind it; nothing where it is missing. */
function after(text: string, end: string, from: number): string {
  const at = text.indexOf(end, from)
  return at === -1 ? '' : text.slice(at + end.length).trimStart()
}
