import type { AttemptFailure } from '../ports/attempt-failure.ts'
import { objectOf, textOf } from '../../protocols/wire/raw-json.ts'
import type { UpstreamHeaders } from '../../protocols/wire/transport.ts'
import { upstreamFailure } from '../wire/upstream-error.ts'

/** The status that belongs to each type of error, for errors inside a 200. */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['api_error', 500],
  ['timeout_error', 504],
  ['overloaded_error', 529],
])
/** Problems of the operator's account, which are sent as 400 as if the request were wrong. */
const ACCOUNT = /credit balance|usage limits?|organization has been disabled|billing/i

/** An error status with a body such as `{type: 'error', error: {type, message}}`. */
export function anthropicError(status: number, body: unknown, headers: UpstreamHeaders, nowMs: number): AttemptFailure {
  const message = textOf(objectOf(objectOf(body)?.['error'])?.['message']) ?? ''
  return upstreamFailure(status === 400 && ACCOUNT.test(message) ? 402 : status, body, headers, nowMs)
}

/** The same error inside a 200, as the body or as an event of a stream. */
export function anthropicErrorEvent(body: unknown, nowMs: number): AttemptFailure {
  const type = textOf(objectOf(objectOf(body)?.['error'])?.['type']) ?? ''
  return { ...anthropicError(STATUSES.get(type) ?? 502, body, {}, nowMs), reason: 'error_event' }
}
