import { setImmediate as nextTurn } from 'node:timers/promises'
import type { VectorFormat } from '../../kinds/embeddings.ts'
import type { VectorBytes } from '../wire/lifted-json.ts'

const FLOAT_BYTES = 4
/** Enough digits to tell every float32 from its neighbours. */
const FLOAT_DIGITS = 9
/** The bytes written before other requests get a turn: 2 ms, or 20 ms if base64 becomes numbers. */
const TURN_BYTES = 262_144

/** The JSON of each vector in the client's form; null if one of them is not a vector. */
export async function vectorTexts(
  vectors: readonly VectorBytes[],
  format: VectorFormat,
): Promise<readonly Buffer[] | null> {
  const floats = new Base64Floats()
  const texts: Buffer[] = []
  let bytes = 0
  for (const vector of vectors) {
    const text = vectorText(vector, format, floats)
    if (text === null) return null
    texts.push(text)
    bytes += vector.bytes.length
    if (bytes < TURN_BYTES) continue
    bytes = 0
    await nextTurn()
  }
  return texts
}

/** A vector that is already in the client's form is checked and passed on unchanged. */
export function vectorText(vector: VectorBytes, format: VectorFormat, floats: Base64Floats): Buffer | null {
  if (vector.form === 'base64')
    return format === 'base64' ? floats.checked(vector.bytes) : numbersText(floats.read(vector.bytes))
  const numbers = numbersOf(vector.bytes)
  if (numbers === null) return null
  return format === 'float' ? vector.bytes : Buffer.from(`"${floatBytes(numbers).toString('base64')}"`)
}

/** Little-endian float32 values (wire.md D-2.1). */
export function floatBytes(numbers: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(numbers.length * FLOAT_BYTES)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (const [index, number] of numbers.entries()) view.setFloat32(index * FLOAT_BYTES, number, true)
  return bytes
}

function numbersText(floats: Buffer | null): Buffer | null {
  if (floats === null) return null
  const view = new DataView(floats.buffer, floats.byteOffset, floats.byteLength)
  const numbers: number[] = []
  for (let at = 0; at < floats.length; at += FLOAT_BYTES) {
    const value = view.getFloat32(at, true)
    if (!Number.isFinite(value)) return null
    numbers.push(Number(value.toPrecision(FLOAT_DIGITS)))
  }
  return Buffer.from(JSON.stringify(numbers))
}

function numbersOf(bytes: Buffer): readonly number[] | null {
  try {
    const values: unknown = JSON.parse(bytes.toString('latin1'))
    return Array.isArray(values) && values.every((value) => Number.isFinite(value)) ? values : null
  } catch {
    return null
  }
}

const MINUS = 45
const BACKSLASH = 92
const UNDERSCORE = 95

/**
 * Decodes base64 vectors one after another into the same buffer, since a new buffer for each would be garbage at once.
 */
export class Base64Floats {
  #place = Buffer.alloc(0)

  /**
   * The float32 bytes of a JSON string in base64, including its quotes, valid until the next call; null = another
   * string.
   */
  read(json: Buffer): Buffer | null {
    // Node also accepts the URL-safe alphabet, and skips characters that are no base64.
    if (json.includes(MINUS) || json.includes(UNDERSCORE)) return null
    const text = plainText(json)
    const length = Buffer.byteLength(text, 'base64')
    if (length === 0 || length % FLOAT_BYTES !== 0) return null
    if (this.#place.length < length) this.#place = Buffer.allocUnsafeSlow(length)
    return this.#place.write(text, 0, length, 'base64') === length ? this.#place.subarray(0, length) : null
  }

  /** The same string, unescaped if needed; null = it is no vector. */
  checked(json: Buffer): Buffer | null {
    if (this.read(json) === null) return null
    return json.includes(BACKSLASH) ? Buffer.from(`"${plainText(json)}"`) : json
  }
}

/** The string without its quotes; some servers escape the slash. */
function plainText(json: Buffer): string {
  const text = json.toString('latin1', 1, json.length - 1)
  return json.includes(BACKSLASH) ? text.replaceAll('\\/', '/') : text
}
