import { randomOf } from './random-cuts.ts'
import type { Exchange } from './recording.ts'

/**
 * The form of a recorded answer: cut into other pieces, spelled in another way, or broken. Without any, event by event
 * as recorded.
 */
export interface ReplayOptions {
  /**
   * The places at which its bytes are cut into writes: `bytes:7` every seven, `random` by `seed` into pieces of at most
   * `max` (64).
   */
  readonly split?: 'event' | 'whole' | 'line' | 'random' | `bytes:${number}`
  readonly seed?: number
  readonly max?: number
  /**
   * Other spellings of the same server-sent events: line ends, no space after the colon, comments in between, JSON over
   * many lines, a byte order mark, no blank line at the end.
   */
  readonly crlf?: 1
  readonly cr?: 1
  readonly nospace?: 1
  readonly comments?: 1
  readonly multiline?: 1
  readonly bom?: 1
  readonly tail?: 'none'
  readonly gzip?: 1
  /** No Content-Length on a plain body. */
  readonly chunked?: 1
  /** Another status with the same body. */
  readonly status?: number
  readonly 'retry-after'?: number
  /** An empty body, or a page, instead of the body. */
  readonly body?: 'empty' | 'html'
  /** The answer ends after so many events: the connection is reset, or `fin` closes it as if all had been sent. */
  readonly cut?: `events:${number}`
  readonly cutmode?: 'reset' | 'fin'
  /** After so many events nothing follows, and the connection stays open. */
  readonly stall?: `events:${number}`
  /** The request is received and never answered. */
  readonly hang?: 1
}

const PAGE = '<!doctype html>\n<html><head><title>Bad gateway</title></head><body><h1>Bad gateway</h1></body></html>\n'
const EVENT_END = /(?:\r\n){2}|\n\n|\r\r/g
const LINE_END = /\r\n|\n|\r/

/** The body as it is sent. */
export function bodyToSend({ body, framing }: Exchange, options: ReplayOptions): Buffer {
  if (options.body !== undefined) return Buffer.from(options.body === 'html' ? PAGE : '')
  return framing === 'sse' ? respelled(body, options) : body
}

/** The same events spelled in another way; the same bytes without such an option. */
function respelled(body: Buffer, { crlf, cr, nospace, comments, multiline, bom, tail }: ReplayOptions): Buffer {
  if ([crlf, cr, nospace, comments, multiline, bom, tail].every((option) => option === undefined)) return body
  const text = body.toString('utf8')
  const lineEnd = crlf === 1 ? '\r\n' : cr === 1 ? '\r' : (LINE_END.exec(text)?.[0] ?? '\n')
  const events = text
    .split(EVENT_END)
    .filter((event) => event !== '')
    .map((event) => {
      const lines = event.split(LINE_END).flatMap((line) => (multiline === 1 ? manyLines(line) : [line]))
      return [
        ...(comments === 1 ? [': still there'] : []),
        ...(nospace === 1 ? lines.map((line) => line.replace(/^(data|event): /, '$1:')) : lines),
      ].join(lineEnd)
    })
  const end = lineEnd + lineEnd
  return Buffer.from(`${bom === 1 ? '\ufeff' : ''}${events.join(end)}${tail === 'none' ? '' : end}`)
}

/** A line of JSON as several lines with the same meaning. */
function manyLines(line: string): readonly string[] {
  const json = /^data: ?([{[].*)$/.exec(line)?.[1]
  if (json === undefined) return [line]
  try {
    return JSON.stringify(JSON.parse(json), null, 1)
      .split('\n')
      .map((part) => `data: ${part}`)
  } catch {
    // Some recorded events are no JSON.
    return [line]
  }
}

/** The end of each event, in bytes. */
export function eventEnds(body: Buffer, framing: string): readonly number[] {
  const ends: number[] = []
  if (framing === 'eventstream') for (let at = 0; at < body.length;) ends.push((at += body.readUInt32BE(at)))
  // In Latin-1 a byte is a character, so that positions are those of bytes.
  const separator = framing === 'sse' ? EVENT_END : framing === 'ndjson' ? /\n/g : null
  if (separator !== null)
    for (const { index, 0: found } of body.toString('latin1').matchAll(separator)) ends.push(index + found.length)
  return ends.at(-1) === body.length ? ends : [...ends, body.length]
}

/** The number of bytes after which an answer is cut or stalls. */
export function bytesOfEvents(spec: `events:${number}`, ends: readonly number[]): number {
  return ends[Number(spec.slice('events:'.length)) - 1] ?? Infinity
}

/** The writes of a body. */
export function piecesOf(
  body: Buffer,
  ends: readonly number[],
  { split = 'event', seed = 1, max = 64 }: ReplayOptions,
): readonly Buffer[] {
  const cuts =
    split === 'whole'
      ? [body.length]
      : split === 'event'
        ? ends
        : split === 'line'
          ? lineEnds(body)
          : sizes(body.length, split, seed, max)
  return cuts.map((end, index) => body.subarray(cuts[index - 1] ?? 0, end)).filter(({ length }) => length > 0)
}

function lineEnds(body: Buffer): readonly number[] {
  const ends: number[] = []
  for (let at = body.indexOf(10); at !== -1; at = body.indexOf(10, at + 1)) ends.push(at + 1)
  return [...ends, body.length]
}

function sizes(length: number, split: 'random' | `bytes:${number}`, seed: number, max: number): readonly number[] {
  const random = randomOf(seed)
  const ends: number[] = []
  for (let at = 0; at < length;) {
    at = Math.min(
      length,
      at + (split === 'random' ? 1 + Math.floor(random() * max) : Number(split.slice('bytes:'.length))),
    )
    ends.push(at)
  }
  return ends
}
