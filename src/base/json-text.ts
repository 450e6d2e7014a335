import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'

export const JSON_TYPE = 'application/json; charset=utf-8'
/** Bytes encoded in one turn of the event loop: whole groups of three, so that no padding comes in between. */
const TURN_BYTES = 3 * 262_144

/**
 * A JSON value as its original bytes, to be passed on without parsing and writing it again. Its maker has checked that
 * it is JSON.
 */
export class JsonBytes {
  readonly bytes: Buffer
  /** A random placeholder until `jsonParts` inserts the bytes. No other text can contain it. */
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

/** Bytes as a base64 string. Large ones give other work a turn in between. */
export async function base64Json(bytes: Buffer): Promise<JsonBytes> {
  const text = Buffer.alloc(Math.ceil(bytes.length / 3) * 4 + 2, '"')
  for (let at = 0; at < bytes.length; at += TURN_BYTES) {
    text.write(bytes.subarray(at, at + TURN_BYTES).toString('base64'), 1 + (at / 3) * 4, 'latin1')
    if (at > 0) await nextTurn()
  }
  return new JsonBytes(text)
}

/**
 * The JSON of a value, with the bytes of its `lifted` parts inserted unchanged; the parts must be in the order in which
 * the value has them.
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

const QUOTE = 0x22
const BACKSLASH = 0x5c
/**
 * Bytes of a string that are checked one by one before the native search. The search costs ~100 ns a call, so a string
 * of escaped quotes must not need one call for each: 10 MB of `\"` took 0.4 s that way.
 */
export const STEP_BYTES = 64
const STEP_BYTES_MAX = 8_192

/** The index of the closing quote of the JSON string whose inside begins at `start`; -1 without one. */
export function jsonTextEnd(bytes: Buffer, start: number): number {
  const length = bytes.length
  let index = start
  let step = STEP_BYTES
  for (;;) {
    const stepEnd = Math.min(length, index + step)
    while (index < stepEnd) {
      const byte = bytes[index]
      if (byte === QUOTE) return index
      index += byte === BACKSLASH ? 2 : 1
    }
    if (index >= length) return -1
    const quote = bytes.indexOf(QUOTE, index)
    if (quote === -1 || !oddBackslashes(bytes, index, quote)) return quote
    step = nextStep(step, quote - index)
    index = quote + 1
  }
}

/** The step is longer if the search was not worth its call. */
function nextStep(step: number, found: number): number {
  return found < step ? Math.min(STEP_BYTES_MAX, step * 2) : STEP_BYTES
}

/** Whether an odd number of backslashes ends before `end`, counted back to `start` at most. */
export function oddBackslashes(bytes: Buffer, start: number, end: number): boolean {
  let index = end
  while (index > start && bytes[index - 1] === BACKSLASH) index -= 1
  return (end - index) % 2 === 1
}

/** A JSON object whose fields may hold anything. */
export type JsonObject = Readonly<Record<string, unknown>>

/** The fields of an object, or none. */
export function fieldsOf(value: unknown): JsonObject {
  // The fields may hold anything.
  return typeof value === 'object' && value !== null ? (value as JsonObject) : {}
}
