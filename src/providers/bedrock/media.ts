/** The protocol's format name for each media type. */
export const IMAGE_FORMATS: ReadonlyMap<string, string> = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpeg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
])

export const VIDEO_FORMATS: ReadonlyMap<string, string> = new Map([
  ['video/mp4', 'mp4'],
  ['video/webm', 'webm'],
  ['video/quicktime', 'mov'],
  ['video/x-matroska', 'mkv'],
  ['video/x-flv', 'flv'],
  ['video/mpeg', 'mpeg'],
  ['video/x-ms-wmv', 'wmv'],
  ['video/3gpp', 'three_gp'],
])

const DOCUMENT_FORMATS: ReadonlyMap<string, string> = new Map([
  ['application/pdf', 'pdf'],
  ['text/csv', 'csv'],
  ['application/msword', 'doc'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
  ['text/html', 'html'],
  ['text/plain', 'txt'],
  ['text/markdown', 'md'],
])
const EXTENSIONS: ReadonlySet<string> = new Set(DOCUMENT_FORMATS.values())
/** Types that say nothing; the file's name says more. */
const UNTYPED: ReadonlySet<string> = new Set(['', 'application/octet-stream'])
const NAME_CHARS_MAX = 200
const NAME_DEFAULT = 'document'

export function documentFormat(mediaType: string, filename: string): string | null {
  if (!UNTYPED.has(mediaType)) return DOCUMENT_FORMATS.get(mediaType) ?? null
  const extension = filename.slice(filename.lastIndexOf('.') + 1).toLowerCase()
  return EXTENSIONS.has(extension) ? extension : null
}

/** A name of characters that the protocol accepts, unique in the request; it is added to `names`. */
export function documentName(filename: string, names: Set<string>): string {
  const plain = filename
    .replace(/\.[a-z0-9]{1,5}$/i, '')
    .replaceAll(/[^a-zA-Z0-9()[\]-]+/g, ' ')
    .trim()
  // Leaves room for a number after a repeated name.
  const base = plain.slice(0, NAME_CHARS_MAX - 10).trimEnd() || NAME_DEFAULT
  let name = base
  for (let count = 2; names.has(name); count += 1) name = `${base} (${count})`
  names.add(name)
  return name
}
