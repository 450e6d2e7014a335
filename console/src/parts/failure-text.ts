import i18n from 'i18next'
import { ApiFailure } from '../api/call.ts'

/** What went wrong, in the reader's language where we have words for it, else in the server's. */
export function failureText(failure: unknown): string {
  if (!(failure instanceof ApiFailure)) return i18n.t('failure.unknown')
  const key = `failure.types.${failure.errorType}`
  if (failure.errorType === 'rate_limit_exceeded' && failure.retryAfterSeconds !== null) return i18n.t('failure.retry_after', { count: failure.retryAfterSeconds })
  // The key is built from what the server says, and looked up before it is used.
  return i18n.exists(key) ? i18n.t(key as 'failure.types.unreachable') : failure.message
}

/** The field that an `invalid_input` message names at its start, and what it says of it. */
export function fieldFailure(failure: unknown): { readonly field: string; readonly message: string } | null {
  if (!(failure instanceof ApiFailure) || failure.errorType !== 'invalid_input') return null
  const named = /^([a-z_.]{1,40}): (.+)$/s.exec(failure.message)
  return named?.[1] === undefined || named[2] === undefined ? null : { field: named[1], message: named[2] }
}
