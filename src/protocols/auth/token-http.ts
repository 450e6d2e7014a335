import { readFile, stat } from 'node:fs/promises'
import type { Dispatcher } from 'undici'
import type { Clock } from '../../base/clock.ts'
import { bodyBytes, request } from '../../base/http-request.ts'
import type { Environment } from '../../base/setting-reader.ts'
import { wholeWords } from '../wire/redaction.ts'
import { LISTING_LIMITS, objectOf, parseJson, textOf, type RawJson } from '../wire/raw-json.ts'

const TIMEOUT_MS = 10_000
const BYTES_MAX = 65_536
/** A token that ends sooner than this is not sent. */
export const LEAST_LEFT_MS = 5_000
/** The life of a token whose answer does not state one. */
const LIFE_MS_DEFAULT = 300_000

/** A token, or the parts of a signing key as `ID:SECRET[:SESSION_TOKEN]`. Times are Unix ms. */
export interface Token {
  readonly value: string
  readonly gotAtMs: number
  readonly endsAtMs: number
}

/**
 * A new token. `endsAtMs` is the end that the answer states, NaN = none. An end that has already come counts as none:
 * with it each request would get a token of its own.
 */
export function newlyGot(value: string, endsAtMs: number, nowMs: number): Token {
  return { value, gotAtMs: nowMs, endsAtMs: endsAtMs > nowMs + LEAST_LEFT_MS ? endsAtMs : nowMs + LIFE_MS_DEFAULT }
}

export interface SourcePorts {
  readonly clock: Clock
  readonly env: Environment
  /** Connects to addresses that the provider's row names, as requests to the provider do. */
  readonly toProvider: Dispatcher
  /** Connects to the machine's own addresses. */
  readonly toMachine: Dispatcher
  readonly stop: AbortSignal
}

/** Thrown if a token could not be obtained. The message may quote the token service. */
export class TokenError extends Error {
  override readonly name = 'TokenError'
  /** The status of its answer; null = there was none. */
  readonly status: number | null

  constructor(message: string, status: number | null) {
    super(message)
    this.status = status
  }
}

/** The text of a file; the message of an error does not contain it. */
export async function fileText(path: string, name: string): Promise<string> {
  try {
    const file = await stat(path)
    // A device or a pipe is refused: reading one may never end.
    if (file.isFile() && file.size <= BYTES_MAX) return await readFile(path, 'utf8')
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unreadable'
    throw new TokenError(`the file of ${name} cannot be read: ${code}`, null)
  }
  throw new TokenError(`the file of ${name} is none, or too long`, null)
}

/** The text of a token service's answer. */
export async function askText(
  url: string,
  options: {
    readonly method: 'GET' | 'POST' | 'PUT'
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: string
  },
  dispatcher: Dispatcher,
  { stop }: Pick<SourcePorts, 'stop'>,
): Promise<Buffer> {
  const { statusCode, body } = await request(url, {
    method: options.method,
    headers: {
      accept: 'application/json',
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(options.body === undefined ? {} : { body: options.body }),
    dispatcher,
    signal: AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT_MS)]),
  })
  const whole = await bodyBytes(body, BYTES_MAX)
  if (whole === null) throw new TokenError('the answer is too long', null)
  if (statusCode >= 300) throw new TokenError(`token refused: ${statusCode} ${wordsIn(whole)}`.trim(), statusCode)
  return whole
}

/** The same answer as a JSON object. */
export async function askJson(...asked: Parameters<typeof askText>): Promise<RawJson> {
  const body = objectOf(parseJson(await askText(...asked), LISTING_LIMITS))
  if (body === null) throw new TokenError('the answer is not a JSON object', null)
  return body
}

/** The service's words about its refusal, cut to the length to which they are compared with each refused request. */
function wordsIn(bytes: Buffer): string {
  const body = objectOf(parseJson(bytes, LISTING_LIMITS))
  const inner = objectOf(body?.['error']) ?? body
  const words = [textOf(inner?.['error']), textOf(inner?.['error_description']), textOf(inner?.['message'])]
  return wholeWords(words.filter((text) => text !== null).join(' '))
}
