import { isUtf8 } from 'node:buffer'
import { jsonTextEnd } from '../../base/json-text.ts'

const SPACE = 32
const QUOTE = 34
const ASCII_MAX = 127
const BACKSLASH = 92
const LETTER_U = 117
/** The bytes that may follow a backslash: " \ / b f n r t u */
const ESCAPES: ReadonlySet<number> = new Set([34, 92, 47, 98, 102, 110, 114, 116, 117])
/** A text longer than this is not part of a run; the limits of an event apply to it. */
const RUN_TEXT_BYTES_MAX = 65_536

/**
 * The place of the only text in which messages of one form differ: the indexes after its opening quote and of its
 * closing quote.
 */
export interface TextPlace {
  readonly start: number
  readonly end: number
}

/**
 * The place of a key's text; null unless the key occurs exactly once, since the text of another field could be taken
 * for it.
 */
export function textPlace(data: Buffer, key: string, text: string): TextPlace | null {
  const start = textStart(data, key)
  const end = start === -1 ? -1 : jsonTextEnd(data, start)
  return end === -1 || jsonText(data.subarray(start, end)) !== text ? null : { start, end }
}

/** The index at which a key's text begins; -1 unless the key occurs exactly once. */
export function textStart(data: Buffer, key: string): number {
  const quoted = Buffer.from(`"${key}"`)
  const at = data.indexOf(quoted)
  if (at === -1 || data.indexOf(quoted, at + quoted.length) !== -1) return -1
  const [between] = /^\s*:\s*"/.exec(data.toString('latin1', at + quoted.length, at + quoted.length + 16)) ?? []
  return between === undefined ? -1 : at + quoted.length + between.length
}

/** The decoded text if the bytes are the inside of one JSON string, else null. */
export function jsonText(content: Buffer): string | null {
  return validTextEnd(content, 0, content.length) === content.length ? decoded(content) : null
}

/** The decoded text of bytes from inside JSON strings. Counting needs it: `\u0416` is one letter, not six. */
export function decoded(content: Buffer): string {
  const text = content.toString('utf8')
  return content.includes(BACKSLASH) ? String(JSON.parse(`"${text}"`)) : text
}

/** Consecutive complete events of a stream that differ in one text. */
export interface TextRun {
  /** The start and end index of each text, pair after pair. */
  readonly places: readonly number[]
  /** The index at which the next event begins. */
  readonly end: number
}

/** The run that begins at `start`; `tailEnd` returns where an event ends after its text, or -1 if its rest differs. */
export function textRun(
  bytes: Buffer,
  start: number,
  head: Buffer,
  tailEnd: (bytes: Buffer, at: number) => number,
): TextRun | null {
  const places: number[] = []
  let end = start
  while (isAt(bytes, end, head)) {
    const from = end + head.length
    const to = validTextEnd(bytes, from, Math.min(bytes.length, from + RUN_TEXT_BYTES_MAX))
    // An event with an empty text is parsed: it has no content, and in some protocols that is its only meaning.
    const next = to > from && bytes[to] === QUOTE ? tailEnd(bytes, to) : -1
    if (next === -1) break
    places.push(from, to)
    end = next
  }
  return places.length === 0 ? null : { places, end }
}

/** The texts of a run, one after another, as the bytes of JSON strings. */
export function runText(bytes: Buffer, places: readonly number[]): Buffer {
  let length = 0
  for (let place = 0; place < places.length; place += 2) length += (places[place + 1] ?? 0) - (places[place] ?? 0)
  const texts = Buffer.allocUnsafe(length)
  let written = 0
  // Most texts have a few bytes, for which `copy` costs more than the loop.
  for (let place = 0; place < places.length; place += 2)
    for (let at = places[place] ?? 0, to = places[place + 1] ?? 0; at < to; at += 1) {
      texts[written] = bytes[at] ?? 0
      written += 1
    }
  return texts
}

export function isAt(bytes: Buffer, at: number, wanted: Buffer): boolean {
  return bytes.length - at >= wanted.length && bytes.compare(wanted, 0, wanted.length, at, at + wanted.length) === 0
}

/**
 * The end of a JSON string's inside, at a quote or at `to`; -1 = a control character, a broken escape, which must not
 * reach the client's parser, or broken UTF-8, which a client's decoder might refuse.
 */
function validTextEnd(bytes: Buffer, from: number, to: number): number {
  let isAscii = true
  let at = from
  for (; at < to; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte === QUOTE) break
    if (byte < SPACE) return -1
    if (byte > ASCII_MAX) isAscii = false
    if (byte !== BACKSLASH) continue
    const escaped = at + 1 < to ? (bytes[at + 1] ?? 0) : 0
    if (!ESCAPES.has(escaped)) return -1
    if (escaped === LETTER_U && !/^[0-9a-fA-F]{4}$/.test(bytes.toString('latin1', at + 2, Math.min(to, at + 6))))
      return -1
    at += escaped === LETTER_U ? 5 : 1
  }
  return isAscii || isUtf8(bytes.subarray(from, at)) ? at : -1
}
