import { setImmediate as nextTurn } from 'node:timers/promises'

const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(.))/gs
/** The beginning of an escape at the end of a piece. */
const CUT_ESCAPE = /\\(?:u[0-9a-fA-F]{0,3})?$/
const ESCAPE_CHARS = 6
const NO_BASE64 = /[^\w+/-]/g
/** Characters of neither alphabet, except white space. */
const FOREIGN = /[^\w+/=\s-]/
const PADDING_MAX = 2
/** The letters of escapes that mean white space. */
const WHITE_SPACE = 'nrtf'
const TURN_BYTES = 262_144

/** Decodes the content of a base64 JSON string as it arrives. */
export class Base64Text {
  #escape = ''
  /** Characters that do not make a whole byte yet. */
  #letters = ''
  #padding = 0
  #isForeign = false

  /** Whether the text so far is no base64. */
  get isBroken(): boolean {
    return this.#isForeign || this.#padding > PADDING_MAX || this.#letters.length === 1
  }

  push(bytes: Buffer): Buffer {
    let text = this.#escape + bytes.toString('latin1')
    this.#escape = CUT_ESCAPE.exec(text.slice(-ESCAPE_CHARS))?.[0] ?? ''
    text = text.slice(0, text.length - this.#escape.length)
    if (text.includes('\\')) text = text.replaceAll(ESCAPE, unescaped)
    this.#look(text)
    const letters = this.#letters + text.replaceAll(NO_BASE64, '')
    const whole = letters.length - (letters.length % 4)
    this.#letters = letters.slice(whole)
    return Buffer.from(letters.slice(0, whole), 'base64')
  }

  end(): Buffer {
    return Buffer.from(this.#letters, 'base64')
  }

  #look(text: string): void {
    const mark = this.#padding > 0 ? 0 : text.indexOf('=')
    this.#isForeign ||= FOREIGN.test(text)
    if (mark === -1) return
    for (const sign of text
      .slice(mark)
      .replaceAll(/\s+/g, '')
      .slice(0, PADDING_MAX + 1)) {
      this.#padding += 1
      this.#isForeign ||= sign !== '='
    }
  }
}

function unescaped(_escape: string, code: string | undefined, sign = ''): string {
  if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16))
  return WHITE_SPACE.includes(sign) ? ' ' : sign === 'b' ? '\b' : sign
}

/**
 * The bytes of a base64 JSON string's content; null = it is not base64, or empty. A long text gives other requests
 * turns in between.
 */
export async function decodedInTurns(inside: Buffer): Promise<Buffer | null> {
  const text = new Base64Text()
  const parts: Buffer[] = []
  for (let at = 0; at < inside.length && !text.isBroken; at += TURN_BYTES) {
    parts.push(text.push(inside.subarray(at, at + TURN_BYTES)))
    await nextTurn()
  }
  if (text.isBroken) return null
  const bytes = Buffer.concat([...parts, text.end()])
  return bytes.length === 0 ? null : bytes
}
