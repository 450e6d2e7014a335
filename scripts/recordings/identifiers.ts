import { drawsOf, pick } from './letters.ts'

const HEX = '0123456789abcdef'
const DIGITS = '0123456789'
const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
/** The part that names the kind of identifier: `chatcmpl`, `call`, `toolu`. */
const WORD = /^[a-z]{1,12}$|^[a-z]+(?:[A-Z][a-z]+)+$/
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const PART = /[A-Za-z0-9]+/g
/** Shorter parts are numbers with a meaning. */
const DRAWN_LENGTH_MIN = 6

/** Replaces identifiers by others of the same shape; an identifier has the same replacement in its whole case. */
export class Identifiers {
  readonly #seed: string
  readonly #known = new Map<string, string>()

  constructor(seed: string) {
    this.#seed = seed
  }

  add(value: string): void {
    if (value.length >= DRAWN_LENGTH_MIN) this.#known.set(value, this.of(value))
  }

  of(value: string): string {
    if (value.length < DRAWN_LENGTH_MIN) return value
    const known = this.#known.get(value)
    if (known !== undefined) return known
    const draw = drawsOf(`${this.#seed} ${value}`)
    const parts = value.match(PART) ?? []
    const isUuid = UUID.test(value)
    let at = 0
    return value.replaceAll(PART, (part) => {
      at += 1
      const isLast = at === parts.length
      if (!isLast && !isUuid && WORD.test(part)) return part
      return otherOf(part, isUuid, draw)
    })
  }

  /** The text with the identifiers of its case replaced. */
  within(text: string): string {
    let out = text
    for (const [before, after] of [...this.#known].toSorted(([a], [b]) => b.length - a.length)) {
      if (out.includes(before)) out = out.replaceAll(before, after)
    }
    return out
  }
}

function otherOf(part: string, isUuid: boolean, draw: () => number): string {
  const hex = isUuid || (/\d/.test(part) && /[a-f]/.test(part) && /^[0-9a-f]+$/.test(part))
  return Array.from(part, (letter) => {
    if (hex) return pick(Array.from(HEX), draw())
    if (DIGITS.includes(letter)) return pick(Array.from(DIGITS), draw())
    return pick(Array.from(LOWER.includes(letter) ? LOWER : UPPER), draw())
  }).join('')
}
