const FLOAT_BYTES = 4
const MINUS = 45
const BACKSLASH = 92
const UNDERSCORE = 95

/**
 * Decodes base64 vectors one after another into the same buffer, since a new one for each would be that much garbage.
 */
export class Base64Floats {
  #place = Buffer.alloc(0)

  /**
   * The float32 bytes of a JSON string in base64, quotes included, valid until the next call; null for other strings.
   */
  read(json: Buffer): Buffer | null {
    // Node also accepts the URL-safe alphabet, and skips characters that are not base64.
    if (json.includes(MINUS) || json.includes(UNDERSCORE)) return null
    const text = plainText(json)
    const length = Buffer.byteLength(text, 'base64')
    if (length === 0 || length % FLOAT_BYTES !== 0) return null
    if (this.#place.length < length) this.#place = Buffer.allocUnsafeSlow(length)
    return this.#place.write(text, 0, length, 'base64') === length ? this.#place.subarray(0, length) : null
  }

  /** The same string, unescaped if needed; null where it is not a vector. */
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
