/**
 * The beginning of an upstream's answer as JSON. It walks only as much as it shows, so an answer of 30 MB costs as
 * little as a short one.
 */
export function excerptOf(value: unknown, charsMax: number): string {
  const excerpt = new Excerpt(charsMax)
  excerpt.add(value)
  return excerpt.text()
}

class Excerpt {
  readonly #charsMax: number
  readonly #parts: string[] = []
  #chars = 0

  constructor(charsMax: number) {
    this.#charsMax = charsMax
  }

  text(): string {
    return this.#parts.join('').slice(0, this.#charsMax)
  }

  /** The depth is bounded with the characters: each level writes one. */
  add(value: unknown): void {
    if (this.#chars >= this.#charsMax) return
    if (typeof value === 'string') this.#write(JSON.stringify(value.slice(0, this.#charsMax)))
    else if (Array.isArray(value)) this.#list(value)
    else if (typeof value === 'object' && value !== null) this.#object(value)
    else this.#write(JSON.stringify(value) ?? '')
  }

  #list(values: readonly unknown[]): void {
    this.#write('[')
    for (const [index, value] of values.entries()) {
      if (this.#chars >= this.#charsMax) return
      if (index > 0) this.#write(',')
      this.add(value)
    }
    this.#write(']')
  }

  #object(value: object): void {
    this.#write('{')
    let separator = ''
    for (const [name, child] of entriesOf(value)) {
      if (this.#chars >= this.#charsMax) return
      this.#write(`${separator}${JSON.stringify(name.slice(0, this.#charsMax))}:`)
      separator = ','
      this.add(child)
    }
    this.#write('}')
  }

  #write(text: string): void {
    this.#parts.push(text)
    this.#chars += text.length
  }
}

/** One entry at a time: `Object.entries` would first list a million of them. */
function* entriesOf(value: object): Generator<readonly [string, unknown]> {
  for (const name in value) {
    // Keys of parsed JSON are strings.
    if (Object.hasOwn(value, name)) yield [name, (value as Readonly<Record<string, unknown>>)[name]]
  }
}
