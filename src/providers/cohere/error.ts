import type { AttemptFailure } from '../ports/attempt-failure.ts'
import type { UpstreamHeaders } from '../../protocols/wire/transport.ts'
import { upstreamFailure } from '../wire/upstream-error.ts'

/** Cohere's status for words on its deny-list. */
const DENIED_WORDS = 498

/** Errors are `{message}`, newer ones `{id, message}`. */
export function cohereError(status: number, body: unknown, headers: UpstreamHeaders, nowMs: number): AttemptFailure {
  if (status !== DENIED_WORDS) return upstreamFailure(status, body, headers, nowMs)
  return { ...upstreamFailure(400, body, headers, nowMs), refusal: 'moderation' }
}
