import type { AttemptFailure } from '../ports/attempt-failure.ts'
import { listOf, objectOf, textOf, type RawJson } from '../../protocols/wire/raw-json.ts'
import type { UpstreamHeaders } from '../../protocols/wire/transport.ts'
import { eventFailure, upstreamFailure } from '../wire/upstream-error.ts'

const RETRY_AFTER_MAX_SECONDS = 60
const MESSAGE_CHARS_MAX = 65_536
const TOKEN_COUNT = /input token count\b/i
const TOO_MANY = /\b(exceeds|only supports|supports up to)/i

/**
 * An error answer: `{error: {code, message, status, details}}`, or a list with one of them where a stream was asked
 * for.
 */
export function geminiError(status: number, body: unknown, headers: UpstreamHeaders, nowMs: number): AttemptFailure {
  const error = errorOf(body)
  // Caused by the region, billing or terms of our account: another provider may serve the request.
  const isOurs = status === 400 && error['status'] === 'FAILED_PRECONDITION'
  return detailed(upstreamFailure(isOurs ? 403 : status, body, headers, nowMs), error)
}

/** The same object inside a 200, as the body or as an event of a stream. */
export function geminiErrorEvent(body: unknown): AttemptFailure {
  return detailed(eventFailure(rawError(body)), errorOf(body))
}

/** Whether the body is an error, whatever its status. */
export function isErrorBody(body: unknown): boolean {
  return rawError(body) !== null
}

function rawError(body: unknown): unknown {
  return objectOf(Array.isArray(body) ? body[0] : body)?.['error'] ?? null
}

function errorOf(body: unknown): RawJson {
  return objectOf(rawError(body)) ?? {}
}

/** Two searches one after the other: one expression would take time quadratic in the message's length. */
function isContextLength(message: string): boolean {
  const said = message.slice(0, MESSAGE_CHARS_MAX)
  const at = said.search(TOKEN_COUNT)
  return at !== -1 && TOO_MANY.test(said.slice(at))
}

function detailed(found: AttemptFailure, error: RawJson): AttemptFailure {
  const isTooLong = found.refusal === null && isContextLength(textOf(error['message']) ?? '')
  return {
    ...found,
    refusal: isTooLong ? 'context_length' : found.refusal,
    retryAfterSeconds: found.retryAfterSeconds ?? retryDelay(error['details']),
  }
}

/** `RetryInfo` has a duration such as `34.4s`. */
function retryDelay(details: unknown): number | null {
  for (const raw of listOf(details)) {
    const found = /^(\d{1,9}(?:\.\d+)?)s$/.exec(textOf(objectOf(raw)?.['retryDelay']) ?? '')
    if (found !== null) return Math.min(RETRY_AFTER_MAX_SECONDS, Math.ceil(Number(found[1])))
  }
  return null
}
