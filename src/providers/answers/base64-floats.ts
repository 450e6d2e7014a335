const FLOAT_BYTES = 4
const MINUS = 45
const BACKSLASH = 92
const UNDERSCORE = 95

/**
 * Reads vectors in base64 one after another, all into the same place: a list of them would else be that much garbage
 * again.
 */
export class Base64Floats {
  #place = Buffer.alloc(0)

  /** The float32 values of a JSON text in base64, quotes included, until the next is read; null where it is none. */
  read(json: Buffer): Buffer | null {
    // Node reads the alphabet of addresses as well, and passes over what is no base64 at all.
    if (json.includes(MINUS) || json.includes(UNDERSCORE)) return null
    const text = plainText(json)
    const length = Buffer.byteLength(text, 'base64')
    if (length === 0 || length % FLOAT_BYTES !== 0) return null
    if (this.#place.length < length) this.#place = Buffer.allocUnsafeSlow(length)
    return this.#place.write(text, 0, length, 'base64') === length ? this.#place.subarray(0, length) : null
  }

  /** The same text, as it came where that is plain; null where it is no vector. */
  checked(json: Buffer): Buffer | null {
    if (this.read(json) === null) return null
    return json.includes(BACKSLASH) ? Buffer.from(`"${plainText(json)}"`) : json
  }
}

/** Without its quotes; some servers escape the slash. */
function plainText(json: Buffer): string {
  const text = json.toString('latin1', 1, json.length - 1)
  return json.includes(BACKSLASH) ? text.replaceAll('\\/', '/') : text
}
