import { ERRORS } from './error-table.ts'

export type ErrorName = keyof typeof ERRORS

/** `metadata.error_type` as clients, the log and the console see it. */
export type ErrorType = {
  readonly [N in ErrorName]: (typeof ERRORS)[N] extends { errorType: infer T } ? T : N
}[ErrorName]

// Its keys are exactly the names.
export const ERROR_NAMES = Object.keys(ERRORS) as readonly ErrorName[]

export function errorTypeOf(name: ErrorName): ErrorType {
  const row = ERRORS[name]
  // A row without a type has its name as its type, which is how ErrorType is defined.
  return 'errorType' in row ? row.errorType : (name as ErrorType)
}

export const ERROR_TYPES: readonly ErrorType[] = [...new Set(ERROR_NAMES.map(errorTypeOf))]

export interface ApiErrorDetails {
  /** Extra keys of `error.metadata`, amounts in RUB numbers. */
  readonly metadata?: Readonly<Record<string, unknown>>
  /** Whole seconds, sent as `Retry-After`; for `rate_limit_exceeded` also as `error.retry_after`. */
  readonly retryAfterSeconds?: number
  /** Sends `x-should-retry: false` (wire.md D-7.5). */
  readonly noRetry?: boolean
  readonly headers?: Readonly<Record<string, string>>
  /** The tokens of a request that exceeds its model's context, for protocols with a message of their own for it. */
  readonly context?: { readonly input: number; readonly output: number; readonly limit: number }
  /** A provider's whole refusal without secrets, for a client of the provider's protocol. */
  readonly providerBody?: Readonly<Record<string, unknown>>
  /** The limit or part that refused the request, as one word for the log. */
  readonly refusedBy?: string
  /** The bug or fault behind the error: for the log, never for the client. */
  readonly cause?: unknown
}

/**
 * An error that the client may see. `message` names the given value, the allowed ones and the remedy; secrets go to
 * `cause`.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly errorName: ErrorName
  readonly details: ApiErrorDetails

  constructor(errorName: Exclude<ErrorName, 'service_unavailable'>, message: string, details?: ApiErrorDetails)
  /** A `service_unavailable` must name the part that refused, for the log. */
  constructor(
    errorName: 'service_unavailable',
    message: string,
    details: ApiErrorDetails & { readonly refusedBy: string },
  )
  constructor(errorName: ErrorName, message: string, details: ApiErrorDetails = {}) {
    super(message, { cause: details.cause })
    this.errorName = errorName
    this.details = details
  }

  /** The same error with more headers. */
  withHeaders(headers: Readonly<Record<string, string>>): ApiError {
    // Any name works: the details come from an error that was made with them.
    return new ApiError(this.errorName as 'internal_error', this.message, {
      ...this.details,
      headers: { ...this.details.headers, ...headers },
    })
  }

  get status(): number {
    return ERRORS[this.errorName].status
  }

  get errorType(): ErrorType {
    return errorTypeOf(this.errorName)
  }

  /** The JSON body of every error (wire.md D-7.5). */
  body(): { error: Record<string, unknown> } {
    const error: Record<string, unknown> = {
      code: this.status,
      message: this.message,
      metadata: { error_type: this.errorType, ...this.details.metadata },
    }
    if (this.errorName === 'rate_limit_exceeded' && this.details.retryAfterSeconds !== undefined)
      error['retry_after'] = this.details.retryAfterSeconds
    return { error }
  }
}

/** Refused clients are asked to come back spread over this many seconds. */
const SPREAD_SECONDS = 5

/**
 * The node has no room for the request. `share`, uniform in [0, 1), spreads the return of many clients over five
 * seconds.
 */
export function overloaded(share: number, refusedBy: string, cause?: unknown): ApiError {
  const retryAfterSeconds = 1 + Math.floor(share * SPREAD_SECONDS)
  return unavailable(
    `Service is overloaded or its store is not available. Retry after ${retryAfterSeconds} seconds`,
    retryAfterSeconds,
    refusedBy,
    cause,
  )
}

/** A dependency of the request does not answer; `refusedBy` is a word for the log. */
export function unavailable(message: string, retryAfterSeconds: number, refusedBy: string, cause?: unknown): ApiError {
  return new ApiError('service_unavailable', message, { retryAfterSeconds, refusedBy, cause })
}

/** A dependency of the request does not answer now; it may answer in a second. */
export class UnavailableError extends Error {
  override readonly name: string = 'UnavailableError'
}

/** A fault that the operator has to fix. The message is one sentence that says what and where, without a secret. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError'
}

/**
 * Turns any thrown value into an error for the client: an ApiError stays as it is, an unreachable dependency becomes
 * `service_unavailable`, all else `internal_error`.
 */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof UnavailableError) return overloaded(0, 'store', thrown)
  return thrown instanceof ApiError
    ? thrown
    : new ApiError('internal_error', 'Internal server error', { cause: thrown })
}
