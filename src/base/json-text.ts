import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'

export const JSON_TYPE = 'application/json; charset=utf-8'
/** Whole groups of three bytes. */
const TURN_BYTES = 3 * 262_144

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

/** Bytes as a base64 string. Many of them take turns with others. */
export async function base64Json(bytes: Buffer): Promise<JsonBytes> {
  const text = Buffer.alloc(Math.ceil(bytes.length / 3) * 4 + 2, '"')
  for (let at = 0; at < bytes.length; at += TURN_BYTES) {
    text.write(bytes.subarray(at, at + TURN_BYTES).toString('base64'), 1 + (at / 3) * 4, 'latin1')
    if (at > 0) await nextTurn()
  }
  return new JsonBytes(text)
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
