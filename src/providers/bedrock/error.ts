import type { AttemptFailure } from '../ports/attempt-failure.ts'
import { objectOf, textOf } from '../../protocols/wire/raw-json.ts'
import { headerOf, type UpstreamHeaders } from '../../protocols/wire/transport.ts'
import { upstreamFailure } from '../wire/upstream-error.ts'

/** The status for each type of exception: inside a 200 there is no other, and AWS sends account problems as 400. */
const STATUSES: ReadonlyMap<string, number> = new Map([
  ['validationexception', 400],
  ['accessdeniedexception', 403],
  ['expiredtokenexception', 403],
  ['incompletesignature', 403],
  ['incompletesignatureexception', 403],
  ['invalidsignatureexception', 403],
  ['missingauthenticationtokenexception', 403],
  ['notauthorized', 403],
  ['requestexpired', 403],
  ['unrecognizedclientexception', 403],
  ['resourcenotfoundexception', 404],
  ['modeltimeoutexception', 408],
  ['servicequotaexceededexception', 429],
  ['throttlingexception', 429],
  ['internalserverexception', 500],
  ['modelerrorexception', 502],
  ['modelstreamerrorexception', 502],
  ['modelnotreadyexception', 503],
  ['serviceunavailableexception', 503],
])
/** The operator's account or region lacks the model, which is sent as 400 as if the client could correct it. */
const NO_SUCH_MODEL =
  /model identifier is invalid|on-demand throughput isn.t supported|operation not allowed|reached the end of its life/i
const TOO_LONG = /input is too long|input length and .?max_tokens/i

/** An error status; the body is `{message}`, a header has the type, such as `ValidationException:http://…`. */
export function bedrockError(status: number, body: unknown, headers: UpstreamHeaders, nowMs: number): AttemptFailure {
  const named = textOf(objectOf(body)?.['__type'])?.split('#').at(-1) ?? ''
  const type = headerOf(headers, 'x-amzn-errortype')?.split(':')[0] ?? named
  return failureOf(STATUSES.get(type.toLowerCase()) ?? status, type, body, headers, nowMs)
}

/** The same for an exception inside a stream. */
export function bedrockException(type: string, body: unknown, nowMs: number): AttemptFailure {
  return { ...failureOf(STATUSES.get(type.toLowerCase()) ?? 502, type, body, {}, nowMs), reason: 'error_event' }
}

function failureOf(
  status: number,
  type: string,
  body: unknown,
  headers: UpstreamHeaders,
  nowMs: number,
): AttemptFailure {
  const raw = objectOf(body)
  // Services older than Bedrock capitalise the field.
  const message = textOf(raw?.['message']) ?? textOf(raw?.['Message']) ?? ''
  const isMissing = status === 400 && NO_SUCH_MODEL.test(message)
  const found = upstreamFailure(isMissing ? 404 : status, { error: { type, message } }, headers, nowMs)
  return status === 400 && TOO_LONG.test(message) ? { ...found, refusal: 'context_length' } : found
}
