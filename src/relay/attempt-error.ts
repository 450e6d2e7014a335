import { ApiError } from '../base/errors.ts'
import type { AttemptFailure, RedactedFailure } from '../providers/ports/attempt-failure.ts'

/**
 * Statuses that mean "the request itself is wrong": another provider of the same model would say the same (wire.md
 * 7.4).
 */
const REQUEST_FAULTS: ReadonlySet<number> = new Set([400, 413, 422])
const BUSY: ReadonlySet<number> = new Set([429, 503, 529])
/** Refusals of our credential: another key of the pool may still work. */
const KEY_FAULTS: ReadonlySet<number> = new Set([401, 402, 403, 429])
const RETRY_AFTER_MAX_SECONDS = 60
const RETRY_AFTER_DEFAULT_SECONDS = 5

/** One failed attempt, with the display name of its provider. `empty` is a 200 whose answer holds nothing. */
export interface FailedAttempt {
  readonly failure: RedactedFailure | 'empty'
  readonly providerName: string
  readonly modelId: string
}

function isRequestFault(failure: AttemptFailure): boolean {
  return failure.refusal !== 'credentials' && failure.status !== null && REQUEST_FAULTS.has(failure.status)
}

/** Whether the next candidate may still serve the request. */
export function mayFallBack(attempt: FailedAttempt): boolean {
  return attempt.failure === 'empty' || attempt.failure.reason === 'unsendable' || !isRequestFault(attempt.failure)
}

/**
 * Whether another key of the same provider is worth a try. A 403 of the moderation is about the prompt, not about the
 * key.
 */
export function mayRotateKey(attempt: FailedAttempt): boolean {
  if (attempt.failure === 'empty' || isAboutPrompt(attempt.failure)) return false
  return (
    attempt.failure.refusal === 'credentials' ||
    (attempt.failure.status !== null && KEY_FAULTS.has(attempt.failure.status))
  )
}

/**
 * Whether the failure counts against the endpoint's health (wire.md D-8.1). A client's bad request does not: otherwise
 * prompts could eject an endpoint for everybody.
 */
export function isUnhealthy(attempt: FailedAttempt): boolean {
  if (attempt.failure === 'empty') return true
  return !isRequestFault(attempt.failure) && !isAboutPrompt(attempt.failure) && attempt.failure.reason !== 'saturated'
}

function isAboutPrompt({ refusal }: AttemptFailure): boolean {
  return refusal === 'moderation' || refusal === 'context_length'
}

/** How long a busy provider asks us to wait (guarantees.md F29); 0 where it does not. */
export function pauseSeconds(attempt: FailedAttempt): number {
  if (!isBusy(attempt) || attempt.failure === 'empty') return 0
  return Math.min(RETRY_AFTER_MAX_SECONDS, attempt.failure.retryAfterSeconds ?? 0)
}

function isBusy(attempt: FailedAttempt): boolean {
  if (attempt.failure === 'empty') return false
  return (
    attempt.failure.reason === 'connect' ||
    attempt.failure.reason === 'saturated' ||
    (attempt.failure.status !== null && BUSY.has(attempt.failure.status))
  )
}

/**
 * The client's error after the last attempt: 503 when all were busy or unreachable, else the error of the last
 * attempt. An attempt whose protocol cannot express the request counts only where no provider was asked.
 */
export function errorOfAttempts(attempts: readonly FailedAttempt[]): ApiError {
  const asked = attempts.filter(({ failure }) => failure === 'empty' || failure.reason !== 'unsendable')
  const deciding = asked.length > 0 ? asked : attempts
  const last = deciding.at(-1)
  if (last === undefined) return new ApiError('provider_error', 'Provider returned an error')
  if (deciding.every(isBusy)) return unavailable(deciding, last.modelId)
  return errorOf(last)
}

function unavailable(attempts: readonly FailedAttempt[], modelId: string): ApiError {
  const hints = attempts.flatMap(({ failure }) =>
    failure === 'empty' || failure.retryAfterSeconds === null ? [] : [failure.retryAfterSeconds],
  )
  const hint = hints.length === 0 ? RETRY_AFTER_DEFAULT_SECONDS : Math.min(...hints)
  return new ApiError(
    'provider_unavailable',
    `All providers of model '${modelId}' are busy or unavailable. Try again later`,
    {
      retryAfterSeconds: Math.max(1, Math.min(RETRY_AFTER_MAX_SECONDS, Math.ceil(hint))),
    },
  )
}

/** The attempts that failed, for the log: who, how and with which status. */
export function failuresText(attempts: readonly FailedAttempt[]): string {
  return attempts
    .map(
      ({ failure, providerName }) =>
        `${providerName}: ${failure === 'empty' ? failure : `${failure.reason}${failure.status === null ? '' : ` ${failure.status}`}`}`,
    )
    .join(', ')
}

/** One attempt's failure as an error for the client; also the error of a stream that broke after its first byte. */
export function errorOf(attempt: FailedAttempt): ApiError {
  const { failure } = attempt
  if (failure === 'empty') return new ApiError('empty_response', 'Empty response from provider')
  if (isRequestFault(failure)) return requestFault(failure, attempt.providerName)
  if (failure.reason === 'timeout' || failure.reason === 'stall' || failure.status === 408) {
    return new ApiError('provider_timeout', 'Provider did not answer in time')
  }
  if (failure.reason === 'cut') return new ApiError('provider_error', 'Provider disconnected mid-stream')
  if (isBusy(attempt)) return unavailable([attempt], attempt.modelId)
  return new ApiError('provider_error', 'Provider returned an error')
}

function requestFault(failure: AttemptFailure, providerName: string): ApiError {
  const { body } = failure
  const details = { metadata: { provider_name: providerName }, ...(body === undefined ? {} : { providerBody: body }) }
  const message = failure.publicMessage ?? 'Provider refused the request'
  if (failure.refusal === 'context_length') return new ApiError('input_tokens_exceeded', message, details)
  if (failure.refusal === 'moderation') return new ApiError('content_filtered', message, details)
  // Only a client of the provider's protocol is told its status.
  return new ApiError(
    body !== undefined && failure.status === 413 ? 'request_too_large' : 'invalid_input',
    message,
    details,
  )
}

/** The error of a stream that broke after its first byte (wire.md D-3.4): always 5xx, for the request was fine. */
export function midStreamError(attempt: FailedAttempt): ApiError {
  const error = errorOf(attempt)
  if (error.errorName === 'provider_timeout' || error.errorName === 'empty_response') return error
  const cut = attempt.failure !== 'empty' && attempt.failure.reason === 'cut'
  return new ApiError('provider_error', cut ? 'Provider disconnected mid-stream' : 'Provider returned an error')
}

/** It took longer than we wait, so the provider's bill for it is unknown. */
export function isGivenUp(failure: AttemptFailure | 'empty'): boolean {
  return failure !== 'empty' && (failure.reason === 'timeout' || failure.reason === 'stall')
}
