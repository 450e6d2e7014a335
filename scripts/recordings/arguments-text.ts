import type { Letters } from './letters.ts'

const JSON_START = /^\s*[{["]/
const LITERAL = /^\s*(?:true|false|null|-?\d[\d.eE+-]*)?\s*$/
const ESCAPE_LENGTH = 6

/**
 * The arguments of a tool call, which come in pieces of JSON text: names, numbers and punctuation stay, letters within
 * values are replaced. Text that is not JSON, such as the input of a custom tool, is replaced as plain text.
 */
export class ArgumentsText {
  readonly #letters: Letters
  /** The open `{` and `[`. */
  #levels: string[] = []
  #mode: 'start' | 'json' | 'text' = 'start'
  #isInString = false
  #expectsKey = false
  #isEscaped = false

  constructor(letters: Letters) {
    this.#letters = letters
  }

  push(piece: string): string {
    if (this.#mode === 'start') {
      if (LITERAL.test(piece)) return piece
      this.#mode = JSON_START.test(piece) ? 'json' : 'text'
    }
    if (this.#mode === 'text') return this.#letters.text(piece)
    const letters = Array.from(piece)
    let out = ''
    for (let at = 0; at < letters.length; at += 1) {
      const letter = letters[at] ?? ''
      if (this.#isInString && this.#isEscaped && letter === 'u') {
        const hex = letters.slice(at + 1, at + ESCAPE_LENGTH - 1).join('')
        if (hex.length < ESCAPE_LENGTH - 2) throw new Error('an escape that is cut in two within arguments')
        out += `u${this.#hex(hex)}`
        at += hex.length
        this.#isEscaped = false
      } else out += this.#isInString ? this.#within(letter) : this.#between(letter)
    }
    return out
  }

  #hex(hex: string): string {
    if (this.#expectsKey) return hex
    const next = this.#letters.letter(String.fromCharCode(Number.parseInt(hex, 16)))
    return next.charCodeAt(0).toString(16).padStart(hex.length, '0')
  }

  #within(letter: string): string {
    if (this.#isEscaped) {
      this.#isEscaped = false
      return letter
    }
    if (letter === '\\') this.#isEscaped = true
    else if (letter === '"') this.#closeString()
    else return this.#expectsKey ? letter : this.#letters.letter(letter)
    return letter
  }

  #closeString(): void {
    this.#isInString = false
    if (this.#levels.length === 0) this.#mode = 'start'
  }

  #between(letter: string): string {
    if (letter === '"') this.#isInString = true
    else if (letter === '{' || letter === '[') {
      this.#levels.push(letter)
      this.#expectsKey = letter === '{'
    } else if (letter === '}' || letter === ']') {
      this.#levels.pop()
      this.#expectsKey = false
      // Another value may follow a complete one: some providers repeat it, some send the next call.
      if (this.#levels.length === 0) this.#mode = 'start'
    } else if (letter === ':') this.#expectsKey = false
    else if (letter === ',') this.#expectsKey = this.#levels.at(-1) === '{'
    return letter
  }
}
