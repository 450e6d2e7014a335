import { randomUUID } from 'node:crypto'

/**
 * A JSON value as the bytes it came in, to be passed on without being parsed and written again. Its maker has
 * checked that it is JSON.
 */
export class JsonBytes {
  readonly bytes: Buffer
  /** Stands for it until `jsonParts` puts the bytes there: nobody outside knows it. */
  readonly #mark = randomUUID()

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  /** What of a written text stands before this value, and what after it; null where the value is not in it. */
  split(text: string): readonly [before: string, after: string] | null {
    const quoted = `"${this.#mark}"`
    const at = text.indexOf(quoted)
    return at === -1 ? null : [text.slice(0, at), text.slice(at + quoted.length)]
  }

  toJSON(): string {
    return this.#mark
  }
}

/** The JSON of a value, with those of the `lifted` as they are that it holds, in the order in which it holds them. */
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
