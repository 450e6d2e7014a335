import { isUtf8 } from 'node:buffer'
import { ApiError } from '../base/errors.ts'
import { refuseNulInValue } from '../base/refusals.ts'

/** The limits of guarantees.md F53; each file beyond the first allows one more part. */
const PARTS_MAX = 20
const PART_HEADER_BYTES_MAX = 8_192
const BOUNDARY_CHARS_MAX = 70
/** A field is a model, a language or a prompt; longer content belongs in the file. */
const FIELD_BYTES_MAX = 262_144
/** Clips of voices, which are data URLs, are fields that may be longer. */
const LONG_FIELD = /^known_speaker_references(?:\[|$)/
const LONG_FIELD_BYTES_MAX = 4_194_304
const CRLF = Buffer.from('\r\n')
const BLANK_LINE = Buffer.from('\r\n\r\n')
const DASH = 0x2d
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]*[0-9A-Za-z'()+_,\-./:=?]$/
/**
 * `name="value"` or `name=value`, after a semicolon. Sticky, so that a header full of opening quotes is not read again
 * from each of them.
 */
const PARAMETER = /;[ \t]*(?:([!#$%&'*+\-.^_`|~0-9A-Za-z]+)=(?:"((?:[^"\\]|\\[^])*)"|([^;"\s]*)))?[ \t]*/gy
/**
 * The most near-boundaries in a file. A boundary chosen at random does not occur in its file; many near matches only
 * cost time.
 */
const LOOKALIKES_MAX = 1_000

export interface MultipartFile {
  /** Name of the form's field. */
  readonly field: string
  readonly fileName: string
  /** The media type in lower case, without parameters; null = the part names none. */
  readonly contentType: string | null
  readonly bytes: Buffer
}

export interface MultipartForm {
  /** Text fields in their order; a name may occur several times. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  /** Files in their order; a name may occur several times. */
  readonly files: readonly MultipartFile[]
}

interface FormPart {
  readonly name: string
  readonly fileName: string | null
  readonly contentType: string | null
  readonly content: Buffer
}

/**
 * Reads a whole `multipart/form-data` body: strict, with at most `filesMax` files, which are never unpacked
 * (guarantees.md F53). Throws ApiError.
 */
export function parseMultipart(contentType: string | undefined, body: Buffer, filesMax = 1): MultipartForm {
  const fields: [string, string][] = []
  const files: MultipartFile[] = []
  for (const part of partsOf(body, boundaryOf(contentType ?? ''), PARTS_MAX + filesMax - 1)) {
    if (part.fileName === null) {
      fields.push([part.name, textOf(part)])
      continue
    }
    if (files.length === filesMax)
      throw broken(`more than ${filesMax === 1 ? 'one file was' : `${filesMax} files were`} sent`)
    files.push({ field: part.name, fileName: part.fileName, contentType: part.contentType, bytes: part.content })
  }
  return { fields, files }
}

function broken(what: string): ApiError {
  return new ApiError('file_upload_error', `File upload failed: ${what}`)
}

function boundaryOf(contentType: string): string {
  const boundary = parametersOf(contentType).get('boundary') ?? ''
  if (boundary === '') throw broken('the Content-Type names no boundary')
  if (boundary.length > BOUNDARY_CHARS_MAX || !BOUNDARY.test(boundary))
    throw broken(`the boundary must be at most ${BOUNDARY_CHARS_MAX} plain characters`)
  return boundary
}

/** Cuts the body at its delimiter lines. Bytes before the first and after the last one have no meaning (RFC 2046). */
function* partsOf(body: Buffer, boundary: string, partsMax: number): Generator<FormPart> {
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  const opening = delimiter.subarray(CRLF.length)
  let at = body.subarray(0, opening.length).equals(opening) ? opening.length : afterDelimiter(body, delimiter, 0)
  for (let count = 1; ; count += 1) {
    if (body[at] === DASH && body[at + 1] === DASH) return
    if (count > partsMax) throw broken(`more than ${partsMax} parts were sent`)
    const lineEnd = body.indexOf(CRLF, at)
    if (lineEnd === -1) throw broken('the body ends inside a part')
    const end = delimiterAt(body, delimiter, lineEnd)
    if (end === -1) throw broken('the final boundary is missing')
    yield partOf(body.subarray(lineEnd, end))
    at = end + delimiter.length
  }
}

function afterDelimiter(body: Buffer, delimiter: Buffer, from: number): number {
  const found = delimiterAt(body, delimiter, from)
  if (found === -1) throw broken('the body does not hold its boundary')
  return found + delimiter.length
}

/** The next delimiter that fills its line: bytes of a file may look like the start of one. */
function delimiterAt(body: Buffer, delimiter: Buffer, from: number): number {
  let found = body.indexOf(delimiter, from)
  for (let lookalikes = 0; found !== -1 && !endsLine(body, found + delimiter.length); lookalikes += 1) {
    if (lookalikes === LOOKALIKES_MAX) throw broken('the file holds the boundary')
    found = body.indexOf(delimiter, found + CRLF.length)
  }
  return found
}

function endsLine(body: Buffer, at: number): boolean {
  if (body[at] === DASH && body[at + 1] === DASH) return true
  let end = at
  while (body[end] === 0x20 || body[end] === 0x09) end += 1
  return body[end] === 0x0d && body[end + 1] === 0x0a
}

/** A part from the line end of its delimiter to the one before the next. */
function partOf(bytes: Buffer): FormPart {
  const window = bytes.subarray(0, PART_HEADER_BYTES_MAX + BLANK_LINE.length)
  const end = window.indexOf(BLANK_LINE)
  if (end === -1) throw broken(`the header of a part is not complete within ${PART_HEADER_BYTES_MAX} bytes`)
  const headers = headersOf(window.subarray(CRLF.length, Math.max(end, CRLF.length)))
  const disposition = headers.get('content-disposition') ?? ''
  if (!/^form-data[ \t]*(?:;|$)/i.test(disposition)) throw broken('a part has no Content-Disposition: form-data')
  const parameters = parametersOf(disposition)
  const name = parameters.get('name')
  if (name === undefined || name === '') throw broken('a part has no name')
  const contentType = headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? null
  if (contentType?.startsWith('multipart/') === true) throw broken('parts inside a part are not allowed')
  const encoding = headers.get('content-transfer-encoding')?.toLowerCase() ?? 'binary'
  if (!['binary', '8bit', '7bit'].includes(encoding))
    throw broken('a part with a Content-Transfer-Encoding is not allowed')
  const fileName =
    parameters.get('filename') ?? (parameters.has('filename*') ? decodedName(parameters.get('filename*') ?? '') : null)
  refuseNulInValue([name, fileName, contentType], 'form')
  return { name, fileName, contentType, content: bytes.subarray(end + BLANK_LINE.length) }
}

function headersOf(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  for (const line of textIn(bytes).split('\r\n')) {
    if (line === '') continue
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    if (colon < 1 || !/^[a-z0-9-]+$/.test(name) || headers.has(name))
      throw broken('the header of a part cannot be read')
    headers.set(name, line.slice(colon + 1).trim())
  }
  return headers
}

function parametersOf(header: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>()
  const start = header.indexOf(';')
  for (const [, name = '', quoted, plain = ''] of start === -1 ? [] : header.slice(start).matchAll(PARAMETER)) {
    const key = name.toLowerCase()
    // Browsers put a backslash only before a quote, and file names of Windows contain backslashes: only `\"` is
    // unescaped.
    if (!parameters.has(key)) parameters.set(key, quoted === undefined ? plain : quoted.replaceAll('\\"', '"'))
  }
  return parameters
}

/**
 * The file name in the form `UTF-8''na%C3%AFve.mp3` of RFC 8187. Only its ending is used, so a name that cannot be
 * decoded stays as it is.
 */
function decodedName(value: string): string {
  const text = value.slice(value.lastIndexOf("'") + 1)
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function textOf({ name, content }: FormPart): string {
  const bytesMax = LONG_FIELD.test(name) ? LONG_FIELD_BYTES_MAX : FIELD_BYTES_MAX
  if (content.length > bytesMax) throw broken(`field '${name.slice(0, 100)}' is longer than ${bytesMax} bytes`)
  return textIn(content)
}

function textIn(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw broken('a part holds text that is not UTF-8')
  return bytes.toString('utf8')
}
