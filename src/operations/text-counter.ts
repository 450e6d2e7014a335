import { GrownText } from '../kinds/answer/grown-text.ts'

/**
 * Characters kept before they are counted: bounds the memory of a long answer, while an ordinary one is never counted.
 */
const PENDING_CHARS_MAX = 32_768

/**
 * Counts the tokens of a text that arrives in pieces, in O(1) memory; nothing is tokenised unless the count is asked
 * for or the text is long.
 */
export class TextCounter {
  readonly #count: (text: string) => number
  #pending = new GrownText()
  #counted = 0

  constructor(count: (text: string) => number) {
    this.#count = count
  }

  add(text: string): void {
    this.#pending.add(text)
    if (this.#pending.length > PENDING_CHARS_MAX) this.#fold()
  }

  /** Tokens of everything added so far. */
  tokens(): number {
    this.#fold()
    return this.#counted
  }

  #fold(): void {
    if (this.#pending.length === 0) return
    this.#counted += this.#count(this.#pending.toString())
    this.#pending = new GrownText()
  }
}
