import { jsonTextEnd } from '../../lib/json-text.ts'
import { objectOf, parseJson, type RawJson } from '../../protocols/wire/raw-json.ts'

/** The bytes that are read of an error status's body. */
export const ERROR_BYTES_MAX = 65_536
const MESSAGE = /"(?:message|detail|msg|err_msg)"\s{0,8}:\s{0,8}"/

/** Whether a 200 body is an error, as several providers send it. */
export function isErrorBody(body: unknown): body is RawJson {
  return (objectOf(body)?.['error'] ?? null) !== null
}

/**
 * The body of an error status as parsed JSON, or undefined. A cut body still gives the message that it begins, since
 * some repeat the whole prompt in it.
 */
export function parseErrorBody(bytes: Buffer): unknown {
  if (bytes.length < ERROR_BYTES_MAX) return parseJson(bytes)
  const cut = bytes.subarray(0, ERROR_BYTES_MAX)
  const found = MESSAGE.exec(cut.toString('latin1'))
  if (found === null) return undefined
  const start = found.index + found[0].length
  const end = jsonTextEnd(cut, start)
  return { error: { message: spelledOut(cut.subarray(start, end === -1 ? cut.length : end)) } }
}

/** The inside of a JSON string, without an escape that was cut at its end. */
function spelledOut(inside: Buffer): string {
  for (let end = inside.length; end > Math.max(0, inside.length - 12); end -= 1) {
    const text = parseJson(Buffer.concat([Buffer.from('"'), inside.subarray(0, end), Buffer.from('"')]))
    if (typeof text === 'string') return text
  }
  return ''
}
