import { isUtf8 } from 'node:buffer'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { JsonBytes, jsonTextEnd, oddBackslashes } from '../../base/json-text.ts'
import { listOf, objectOf, parseJson, type RawJson } from './raw-json.ts'

const COMMA = 0x2c
const COLON = 0x3a
const QUOTE = 0x22
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
/** Answers smaller than this are parsed whole. */
const LIFTED_BYTES_MIN = 262_144
/** The bytes checked before other requests get a turn: a few ms. */
const PIECE_BYTES = 262_144
/** The most bytes of a token with its alternatives, which are usually some kB. */
const ENTRY_BYTES_MAX = 1_048_576
const DEPTH_MAX = 64
const NOTHING = Buffer.alloc(0)
/** The name for the continuation of the list before. */
export const MORE = 'more'
const BEFORE = Buffer.from(`{"${MORE}":[0,`)
const AFTER = Buffer.from(',0]}')
/** More than the choices of any answer. */
const LIFTED_MAX = 256

/** The place of the probabilities in a protocol's answer, and how they are rewritten for the client. */
export interface LogprobsPlace {
  /** The member of the body that lists the answers. */
  readonly answers: string
  /** The member of an answer. */
  readonly member: string
  /** Absent = they are passed on unchanged. */
  readonly writer?: () => LogprobsWriter
}

/** Rewrites another protocol's probabilities for the client. */
export interface LogprobsWriter {
  /**
   * Adds a part of the object: lists with some of the entries each, where `MORE` continues the last list of the part
   * before. A number in a list is not an entry. false = more than any real answer has.
   */
  add(piece: RawJson): boolean
  /** The JSON of all parts; null = there are none. */
  end(): Promise<Buffer | null>
}

export const OPENAI_LOGPROBS: LogprobsPlace = Object.freeze({ answers: 'choices', member: 'logprobs' })

/** A parsed answer. The probabilities of a large answer are replaced by their index in `logprobs`. */
export interface LogprobsAnswer {
  /** undefined = the body is not JSON. */
  readonly json: unknown
  readonly logprobs: readonly JsonBytes[]
}

/**
 * Parses an answer whose size the client decides: 16,000 tokens with 20 alternatives each are 25 MB, almost all of it
 * probabilities, which took 120 ms to parse and 90 ms to write again. They are checked in pieces, with turns for other
 * requests in between, and passed on unparsed.
 */
export function parseWithLogprobs(body: Buffer, place = OPENAI_LOGPROBS): LogprobsAnswer | Promise<LogprobsAnswer> {
  return body.length >= LIFTED_BYTES_MIN && body.includes(keyOf(place))
    ? liftLogprobs(body, place)
    : { json: parseJson(body), logprobs: [] }
}

function keyOf({ member }: LogprobsPlace): Buffer {
  return Buffer.from(`"${member}"`)
}

/** The probabilities of an answer; null = it has none. */
export function logprobsOf(value: unknown, logprobs: readonly JsonBytes[]): unknown {
  return (typeof value === 'number' ? logprobs[value] : undefined) ?? value ?? null
}

/** The same for an answer of any size. */
export async function liftLogprobs(body: Buffer, place = OPENAI_LOGPROBS): Promise<LogprobsAnswer> {
  const key = keyOf(place)
  const kept: Buffer[] = []
  const logprobs: JsonBytes[] = []
  let from = 0
  let seen = 0
  for (let at = body.indexOf(key); at !== -1; at = body.indexOf(key, Math.max(from, at + key.length))) {
    seen += 1
    const start = oddBackslashes(body, 0, at) ? -1 : objectAfter(body, at + key.length)
    if (start === -1 && seen <= LIFTED_MAX) continue
    const writer = place.writer?.() ?? null
    const end = seen > LIFTED_MAX ? -1 : await checkedEnd(body, start, writer)
    if (end === -1) return { json: undefined, logprobs: [] }
    const written = writer === null ? body.subarray(start, end) : await writer.end()
    kept.push(body.subarray(from, start), Buffer.from(written === null ? 'null' : String(logprobs.length)))
    if (written !== null) logprobs.push(new JsonBytes(written))
    from = end
    await nextTurn()
  }
  const json = parseJson(Buffer.concat([...kept, body.subarray(from)]))
  const answers = listOf(objectOf(json)?.[place.answers]).filter(
    (answer) => typeof objectOf(answer)?.[place.member] === 'number',
  )
  // If the same name occurs elsewhere, as in a tool's arguments, there are more parts than answers: then nothing is
  // lifted.
  return answers.length === logprobs.length ? { json, logprobs } : { json: parseJson(body), logprobs: [] }
}

/** The start of the object that follows the key at `at`; -1 = there is none. */
function objectAfter(body: Buffer, at: number): number {
  const colon = pastBlanks(body, at)
  if (body[colon] !== COLON) return -1
  const start = pastBlanks(body, colon + 1)
  return body[start] === OPEN_OBJECT ? start : -1
}

function pastBlanks(body: Buffer, from: number): number {
  let at = from
  while (at < body.length && (body[at] ?? 0) <= 0x20) at += 1
  return at
}

/**
 * The end of the object that begins at `start`; -1 = it is not JSON, or not lists of entries that a real answer could
 * have.
 */
async function checkedEnd(body: Buffer, start: number, writer: LogprobsWriter | null): Promise<number> {
  let from = start
  let depth = 0
  let inList = false
  for (let at = start; at < body.length && at - from <= ENTRY_BYTES_MAX;) {
    const byte = body[at]
    if (byte === QUOTE) {
      at = jsonTextEnd(body, at + 1) + 1
      if (at === 0) return -1
      continue
    }
    at += 1
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth += 1
      if (depth > DEPTH_MAX) return -1
      if (depth === 2) inList = byte === OPEN_ARRAY
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth -= 1
      if (depth === 0) return isPiece(body.subarray(from, at), from === start, true, writer) ? at : -1
    } else if (byte === COMMA && depth === 2 && inList && at - from > PIECE_BYTES) {
      if (!isPiece(body.subarray(from, at - 1), from === start, false, writer)) return -1
      from = at
      await nextTurn()
    }
  }
  return -1
}

/**
 * Whether the bytes are a part of an object of lists, cut at a comma between entries: completed with the rest of a list
 * on either side, each part is an object.
 */
function isPiece(bytes: Buffer, isFirst: boolean, isLast: boolean, writer: LogprobsWriter | null): boolean {
  if (!isUtf8(bytes)) return false
  const piece = objectOf(parseJson(Buffer.concat([isFirst ? NOTHING : BEFORE, bytes, isLast ? NOTHING : AFTER])))
  return piece !== null && writer?.add(piece) !== false
}
