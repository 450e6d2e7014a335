import type { IncomingMessage } from 'node:http'
import { ApiError, overloaded } from '../base/errors.ts'
import { Bag, type BagItem } from '../base/bag.ts'
import type { Clock } from '../base/clock.ts'
import { JsonScan } from '../base/json-scan.ts'
import type { BodyHold } from './body-budget.ts'
import { codingOf, CODINGS, DecodedBody, RATIO_MAX, type BadCoding, type Coding } from './decoded-body.ts'
import type { RoutePlane } from './edge.ts'
import { isUtf8 } from 'node:buffer'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** The longest body, in bytes and in words for messages. */
interface BodyLimit {
  readonly bytes: number
  readonly words: string
}

const LARGE: BodyLimit = Object.freeze({ bytes: 10_485_760, words: '10 MB' })
/** For routes without credentials, routes of a person and routes that manage keys: their forms are never longer. */
const SMALL: BodyLimit = Object.freeze({ bytes: 16_384, words: '16 kB' })
const LIMITS: Readonly<Record<RoutePlane, BodyLimit>> = Object.freeze({
  open: SMALL,
  token: SMALL,
  session: SMALL,
  key: LARGE,
  management: SMALL,
  any_key: LARGE,
  playground: LARGE,
  admin: LARGE,
})
const SWEEP_MS = 1_000
/** Pieces smaller than this are copied together: each piece costs the memory of an object, however short it is. */
const PIECE_BYTES_MIN = 4_096
const GATHER_BYTES = 16_384

/** The facts about the body in a request's head. */
export interface BodyHead {
  readonly type: 'json' | 'multipart'
  readonly limit: BodyLimit
  /** null = not compressed. */
  readonly coding: Coding | null
}

/** Thrown if the client left before its body was complete, so that nobody can be answered. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

/** 415 before 413, both before a byte of the body is read (wire.md 7.3, D-7.4). */
export function checkBodyHead(
  request: IncomingMessage,
  allowed: 'json' | 'json-or-multipart',
  plane: RoutePlane,
): BodyHead {
  const { headers } = request
  const type = mediaType(headers['content-type'])
  const coding = codingOf(headers['content-encoding'])
  if (type === null || (type === 'multipart' && allowed === 'json')) throw unsupported(allowed)
  if (coding === undefined)
    throw new ApiError(
      'unsupported_media_type',
      `Unsupported Content-Encoding. Only one of ${CODINGS.join(', ')} and identity is allowed`,
    )
  const limit = LIMITS[plane]
  if (Number(headers['content-length'] ?? 0) > limit.bytes) throw tooLarge(limit)
  return { type, limit, coding }
}

function mediaType(header: string | undefined): 'json' | 'multipart' | null {
  if (header === undefined) return null
  if (header === 'application/json') return 'json'
  const [type = '', ...parameters] = header.toLowerCase().split(';')
  if (type.trim() === 'multipart/form-data') return 'multipart'
  if (type.trim() !== 'application/json') return null
  return parameters.every((parameter) => /^(?:charset=(?:utf-8|"utf-8"))?$/.test(parameter.trim())) ? 'json' : null
}

function unsupported(allowed: 'json' | 'json-or-multipart'): ApiError {
  const types =
    allowed === 'json'
      ? 'Only application/json is allowed'
      : 'Only application/json and multipart/form-data are allowed'
  return new ApiError('unsupported_media_type', `Unsupported Content-Type. ${types}`)
}

function tooLarge({ words }: BodyLimit): ApiError {
  return new ApiError('request_too_large', `Payload Too Large: request body exceeds ${words}`)
}

function undecodable(why: BadCoding, { coding, limit }: BodyHead): ApiError {
  switch (why) {
    case 'long':
      return tooLarge(limit)
    case 'bomb':
      return new ApiError(
        'request_too_large',
        `Payload Too Large: request body decodes to more than ${RATIO_MAX} times its ${coding ?? 'identity'} size. Send it uncompressed`,
      )
    case 'broken':
      return invalidJson(`it is not whole and valid ${coding ?? 'identity'}`)
  }
}

interface Deadline extends BagItem {
  readonly atMs: number
  expire(): void
}

/** One timer for all bodies under way, instead of one for each request. */
export class BodyDeadlines {
  readonly #clock: Clock
  readonly #open = new Bag<Deadline>()
  #ticking = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(deadline: Deadline): void {
    this.#open.add(deadline)
    if (!this.#ticking) this.#tick()
  }

  delete(deadline: Deadline): void {
    this.#open.delete(deadline)
  }

  #tick(): void {
    this.#ticking = true
    this.#clock.after(SWEEP_MS, () => {
      const nowMs = this.#clock.monotonic()
      for (const deadline of this.#open) if (deadline.atMs <= nowMs) deadline.expire()
      if (this.#open.size > 0) this.#tick()
      else this.#ticking = false
    })
  }
}

export interface BodyPorts {
  readonly deadlines: BodyDeadlines
  /** A random number, uniform in [0, 1). */
  readonly random: () => number
}

/** A whole body. */
export interface Body {
  readonly bytes: Buffer
  /** Present only for a JSON body. */
  readonly scan: JsonScan | null
}

/** Reads a whole body. Arriving bytes count in `hold`, which the caller releases. */
export function readBody(
  request: IncomingMessage,
  head: BodyHead,
  hold: BodyHold,
  deadlineMs: number,
  ports: BodyPorts,
): Promise<Body> {
  return new Promise((resolve, reject) => {
    const reading = new BodyReading(head, hold, ports.random)
    const deadline: Deadline = {
      bagPlace: 0,
      atMs: deadlineMs,
      expire: () => stop(new ApiError('request_timeout', 'Request was not received in time')),
    }
    const take = (bytes: Buffer): void => {
      const refusal = reading.push(bytes)
      if (refusal !== null) stop(refusal)
    }
    const finish = (): void => {
      detach()
      resolve(reading.whole())
    }
    const decoded =
      head.coding === null
        ? null
        : new DecodedBody(head.coding, head.limit.bytes, {
            data: take,
            end: finish,
            fail: (why) => stop(undecodable(why, head)),
            drain: () => request.resume(),
          })
    const onData =
      decoded === null
        ? take
        : (chunk: Buffer): void => {
            if (!decoded.push(chunk)) request.pause()
          }
    const onEnd =
      decoded === null
        ? finish
        : (): void => {
            // From here on the client may leave.
            request.off('close', onGone)
            decoded.end()
          }
    const onGone = (): void => stop(new ClientGone('The client closed the connection inside its body.'))
    const stop = (reason: Error): void => {
      detach()
      reject(reason)
    }
    const detach = (): void => {
      ports.deadlines.delete(deadline)
      decoded?.destroy()
      request.off('data', onData).off('end', onEnd).off('close', onGone)
    }
    ports.deadlines.add(deadline)
    request.on('data', onData).on('end', onEnd).on('close', onGone)
  })
}

class BodyReading {
  readonly #chunks: Buffer[] = []
  readonly #scan: JsonScan | null
  readonly #limit: BodyLimit
  readonly #hold: BodyHold
  readonly #random: () => number
  #bytes = 0
  /** The buffer for small pieces, and its fill level. */
  #gathered: Buffer | null = null
  #gatheredBytes = 0

  constructor(head: BodyHead, hold: BodyHold, random: () => number) {
    this.#scan = head.type === 'json' ? new JsonScan() : null
    this.#limit = head.limit
    this.#hold = hold
    this.#random = random
  }

  push(chunk: Buffer): ApiError | null {
    this.#bytes += chunk.length
    if (this.#bytes > this.#limit.bytes) return tooLarge(this.#limit)
    const refusal = this.#hold.take(chunk.length)
    if (refusal !== null) return refusal === 'node' ? overloaded(this.#random(), 'body_budget') : shareTaken()
    const excess = this.#scan?.push(chunk) ?? null
    if (excess !== null) return invalidJson(excess)
    // Most bodies come in one piece, which is not copied.
    if (this.#chunks.length === 0 && this.#gathered === null) this.#chunks.push(chunk)
    else this.#keep(chunk)
    return null
  }

  whole(): Body {
    this.#flush()
    const [first] = this.#chunks
    const isOne = first !== undefined && this.#chunks.length === 1
    return { bytes: isOne ? first : Buffer.concat(this.#chunks, this.#bytes), scan: this.#scan }
  }

  #keep(chunk: Buffer): void {
    if (chunk.length >= PIECE_BYTES_MIN) {
      this.#flush()
      this.#chunks.push(chunk)
      return
    }
    if (this.#gathered !== null && this.#gatheredBytes + chunk.length > GATHER_BYTES) this.#flush()
    this.#gathered ??= Buffer.allocUnsafeSlow(GATHER_BYTES)
    this.#gatheredBytes += chunk.copy(this.#gathered, this.#gatheredBytes)
  }

  #flush(): void {
    if (this.#gathered === null) return
    const filled = this.#gathered.subarray(0, this.#gatheredBytes)
    // The buffer may be mostly empty when large pieces follow small ones.
    this.#chunks.push(filled.length * 2 < GATHER_BYTES ? Buffer.copyBytesFrom(filled) : filled)
    this.#gathered = null
    this.#gatheredBytes = 0
  }
}

function shareTaken(): ApiError {
  return new ApiError(
    'rate_limit_exceeded',
    'Request bodies of your address or account already take their share of this node. Retry after 1 seconds',
    { retryAfterSeconds: 1 },
  )
}

const BACKSLASH = 0x5c
const DIGIT_8 = 0x38
const DIGIT_9 = 0x39
const LETTER_A = 0x61
const LETTER_B = 0x62
const LETTER_C = 0x63
const LETTER_D = 0x64
const LETTER_F = 0x66
const LETTER_U = 0x75
/** The bit that turns a letter into lower case. */
const LOWER_CASE = 0x20
/** The length of `\uXXXX`. */
const ESCAPE_CHARS = 6
/** The beginning of an escaped surrogate. One pass of this expression costs about as much as a native search. */
const SURROGATE = /\\u[dD][89a-fA-F]/g
const SURROGATE_CHARS = 4
/** The characters checked before other requests get a turn: ~10 ms at most, if all are surrogates. */
const PART_CHARS = 1_048_576

/** A body longer than this is read in parts, so that other requests run between them. */
const MOMENT_BYTES = 524_288
/** A longer body is kept as it was read: it is read again all at once, which takes at most ~60 ms. */
const AGAIN_BYTES_MAX = 1_048_576

/** Parses a scanned body; a bad one gives `invalid_json` with one sentence that says why. */
export function parseJsonObject(body: Buffer): Record<string, unknown> {
  const text = jsonText(body)
  for (const _part of surrogateCheck(text)) continue
  return objectIn(text)
}

export function isLong(body: Buffer): boolean {
  return body.length > MOMENT_BYTES
}

/** Whether what was read of a body may be dropped, to be read again if it is asked for. */
export function isReadAgain(body: Buffer): boolean {
  return body.length <= AGAIN_BYTES_MAX
}

/** The same for a long body, with turns for other requests in between. */
export async function parseInTurns(body: Buffer): Promise<Record<string, unknown>> {
  const text = jsonText(body)
  for (const _part of surrogateCheck(text)) await nextTurn()
  await nextTurn()
  const value = objectIn(text)
  await nextTurn()
  return value
}

function jsonText(body: Buffer): string {
  if (body.length === 0) throw invalidJson('the body is empty')
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf)
    throw invalidJson('it starts with a byte order mark; send UTF-8 without one')
  if (!isUtf8(body)) throw invalidJson('it is not valid UTF-8')
  return body.toString('utf8')
}

function objectIn(text: string): Record<string, unknown> {
  const value = parsed(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidJson('the top level must be an object')
  // A non-null, non-array object from JSON.parse has string keys and unknown values.
  return value as Record<string, unknown>
}

export function invalidJson(detail: string): ApiError {
  return new ApiError('invalid_json', `Request body is not valid JSON: ${detail}`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    throw invalidJson(thrown instanceof SyntaxError ? syntaxDetail(thrown.message) : 'it cannot be read')
  }
}

/** V8's sentence without its excerpt of the body, which must not reach logs. */
function syntaxDetail(message: string): string {
  const position = / at position (\d+)/.exec(message)?.[1]
  if (message.startsWith('Unexpected end')) return 'it ends too early'
  const token = /^Unexpected token '(.{1,2})'/u.exec(message)?.[1]
  const what =
    token !== undefined
      ? `unexpected '${token}'`
      : (/^[A-Z][^"“]*? in JSON/.exec(message)?.[0].replace(/ in JSON$/, '') ?? 'unexpected text')
  return position === undefined ? what : `${what} at position ${position}`
}

/** Finds lone surrogates, which pass the UTF-8 check only as JSON escapes. Makes one pass over the text, in parts. */
function* surrogateCheck(text: string): Generator<void> {
  // Most texts have no escape at all, which a native search shows at almost no cost.
  for (let at = text.indexOf('\\'); at !== -1 && at < text.length;) {
    at = checkedUpTo(text, at)
    yield
  }
}

/** Returns the index from which to continue, or -1 if no escaped surrogate follows. */
function checkedUpTo(text: string, from: number): number {
  const end = Math.min(text.length, from + PART_CHARS)
  let at = from
  while (at < end) {
    SURROGATE.lastIndex = at
    if (!SURROGATE.test(text)) return -1
    at = SURROGATE.lastIndex
    const start = at - SURROGATE_CHARS
    if (isEscaped(text, start)) continue
    const half = surrogateAt(text, start)
    if (half === 'low' || (half === 'high' && surrogateAt(text, start + ESCAPE_CHARS) !== 'low'))
      throw invalidJson('it has an unpaired surrogate escape')
    at = start + 2 * ESCAPE_CHARS
  }
  return at
}

/** Whether the character at `index` follows a backslash that is not itself escaped. */
function isEscaped(text: string, index: number): boolean {
  let before = index - 1
  while (before >= 0 && text.charCodeAt(before) === BACKSLASH) before -= 1
  return (index - before) % 2 === 0
}

/**
 * Which half of a surrogate pair `\uDxxx` at `index` is: D8 to DB begin a pair, DC to DF end it. A broken escape is
 * neither; such a text is not JSON.
 */
function surrogateAt(text: string, index: number): 'high' | 'low' | null {
  if (text.charCodeAt(index) !== BACKSLASH || text.charCodeAt(index + 1) !== LETTER_U) return null
  if ((text.charCodeAt(index + 2) | LOWER_CASE) !== LETTER_D) return null
  const digit = text.charCodeAt(index + 3)
  if (digit === DIGIT_8 || digit === DIGIT_9) return 'high'
  const letter = digit | LOWER_CASE
  if (letter === LETTER_A || letter === LETTER_B) return 'high'
  return letter >= LETTER_C && letter <= LETTER_F ? 'low' : null
}
