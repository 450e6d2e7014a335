import { randomUUID } from 'node:crypto'

/**
 * A JSON value as its original bytes, to be passed on without parsing and writing it again. Its maker has checked that
 * it is JSON.
 */
export class JsonBytes {
  readonly bytes: Buffer
  /** A placeholder until `jsonParts` inserts the bytes; nobody else knows it. */
  readonly #mark = randomUUID()

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  /** The parts of a written text before and after this value; null if the text does not contain it. */
  split(text: string): readonly [before: string, after: string] | null {
    const quoted = `"${this.#mark}"`
    const at = text.indexOf(quoted)
    return at === -1 ? null : [text.slice(0, at), text.slice(at + quoted.length)]
  }

  toJSON(): string {
    return this.#mark
  }
}

/**
 * The JSON of a value with its `lifted` parts inserted as they are; they must be in the order in which the value holds
 * them.
 */
export function jsonParts(written: object, lifted: readonly JsonBytes[]): readonly Buffer[] {
  let rest = JSON.stringify(written)
  const parts: Buffer[] = []
  for (const value of lifted) {
    const around = value.split(rest)
    if (around === null) continue
    parts.push(Buffer.from(around[0]), value.bytes)
    rest = around[1]
  }
  return [...parts, Buffer.from(rest)]
}
