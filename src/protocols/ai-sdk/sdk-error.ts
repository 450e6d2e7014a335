import { type AttemptFailure, failure } from '../ports/attempt-failure.ts'
import { UnsendableError } from '../ports/upstream-request.ts'
import { objectOf, textOf } from '../wire/raw-json.ts'
import { eventFailure } from '../wire/upstream-error.ts'

const DETAIL_LENGTH_MAX = 2_000
const CAUSES_MAX = 4
/** Names of the packages' errors about a request that their provider cannot express. */
const UNSENDABLE: ReadonlySet<string> = new Set(['AI_UnsupportedFunctionalityError', 'AI_InvalidPromptError'])

/** The failure of a request that was never sent because the provider cannot express it; null = another failure. */
export function refusal(thrown: unknown): AttemptFailure | null {
  const error = objectOf(thrown)
  const message =
    thrown instanceof UnsendableError
      ? thrown.message
      : UNSENDABLE.has(textOf(error?.['name']) ?? '')
        ? 'This provider does not support a part of the request'
        : null
  return message === null
    ? null
    : { ...failure('unsendable', 400, message), publicMessage: message, detail: messageOf(thrown) }
}

/**
 * The failure for an error that a package threw or put into its stream. `sent` is false when no request left: then the
 * provider is not to blame.
 */
export function thrownFailure(thrown: unknown, sent: boolean): AttemptFailure {
  if (!sent) return failure('connect', null, messageOf(thrown))
  const said = upstreamError(thrown, CAUSES_MAX)
  // Its message may repeat the request or the answer.
  const unread = { ...failure('garbage', null, 'its package could not read the answer'), detail: messageOf(thrown) }
  return said === null ? unread : eventFailure(said)
}

/**
 * The provider's error inside a 200, which a package passes on as it came, or as a value that did not fit its schema.
 */
function upstreamError(thrown: unknown, depth: number): unknown {
  const error = objectOf(thrown)
  if (error === null || depth === 0) return null
  for (const name of ['data', 'value']) {
    const value = objectOf(error[name])
    const said = value?.['error'] ?? (value?.['object'] === 'error' ? value : null)
    if (said !== null) return said
  }
  return upstreamError(error['cause'], depth - 1)
}

/** Only name and message: other fields of a package's error hold the request and its address. */
function messageOf(thrown: unknown): string {
  return (
    thrown instanceof Error
      ? `${thrown.name}: ${thrown.message}`
      : typeof thrown === 'string'
        ? thrown
        : 'the package failed'
  ).slice(0, DETAIL_LENGTH_MAX)
}
