const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN = 0x7b
const CLOSE = 0x7d

/** Finds the end of a JSON object that comes in pieces, without keeping them. */
export class ObjectEnd {
  #depth = 0
  #inString = false
  #escaped = false
  #reached = false

  /** Whether the closing brace has come. */
  get reached(): boolean {
    return this.#reached
  }

  add(piece: string): void {
    for (let at = 0; at < piece.length && !this.#reached; at += 1) this.#step(piece.charCodeAt(at))
  }

  #step(char: number): void {
    if (this.#escaped) this.#escaped = false
    else if (this.#inString && char === BACKSLASH) this.#escaped = true
    else if (char === QUOTE) this.#inString = !this.#inString
    else if (this.#inString) return
    else if (char === OPEN) this.#depth += 1
    else if (char === CLOSE) {
      this.#depth -= 1
      this.#reached = this.#depth <= 0
    }
  }
}
