/** The one table of client-visible errors (wire.md 7.4): nothing else in the program names a status. */
export const ERRORS = {
  missing_model: { status: 400 },
  missing_messages: { status: 400 },
  missing_prompt: { status: 400 },
  missing_input: { status: 400 },
  missing_query: { status: 400 },
  missing_documents: { status: 400 },
  missing_job_id: { status: 400 },
  invalid_json: { status: 400 },
  invalid_filter: { status: 400 },
  invalid_message_format: { status: 400 },
  invalid_message_role: { status: 400 },
  invalid_response_format: { status: 400 },
  invalid_input: { status: 400 },
  invalid_base64: { status: 400 },
  model_not_found: { status: 400 },
  model_not_supported: { status: 400 },
  input_tokens_exceeded: { status: 400 },
  token_limit_exceeded: { status: 400 },
  input_too_long: { status: 400 },
  prompt_too_long: { status: 400 },
  streaming_not_supported: { status: 400 },
  file_upload_error: { status: 400 },
  job_not_completed: { status: 400 },
  content_filtered: { status: 400 },
  missing_api_key: { status: 401 },
  invalid_api_key: { status: 401 },
  key_expired: { status: 401 },
  unauthorized: { status: 401 },
  insufficient_balance: { status: 402 },
  account_deactivated: { status: 403 },
  key_deactivated: { status: 403 },
  api_locked: { status: 403 },
  access_denied: { status: 403 },
  endpoint_not_found: { status: 404 },
  stream_not_found: { status: 404 },
  job_not_found: { status: 404 },
  generation_not_found: { status: 404 },
  file_not_found: { status: 404 },
  model_record_not_found: { status: 404, errorType: 'model_not_found' },
  no_available_provider: { status: 404 },
  not_found: { status: 404 },
  method_not_allowed: { status: 405 },
  request_timeout: { status: 408 },
  conflict: { status: 409 },
  idempotency_conflict: { status: 409 },
  request_too_large: { status: 413 },
  unsupported_media_type: { status: 415 },
  invalid_range: { status: 416 },
  idempotency_mismatch: { status: 422 },
  rate_limit_exceeded: { status: 429 },
  limit_exceeded: { status: 429 },
  internal_error: { status: 500 },
  empty_response: { status: 502 },
  provider_error: { status: 502 },
  provider_unavailable: { status: 503 },
  service_unavailable: { status: 503 },
  maintenance_mode: { status: 503 },
  provider_timeout: { status: 504 },
} as const satisfies Record<string, { status: number; errorType?: string }>

export type ErrorName = keyof typeof ERRORS

/** `metadata.error_type`, as clients, the log and the console know it. */
export type ErrorType = { readonly [N in ErrorName]: (typeof ERRORS)[N] extends { errorType: infer T } ? T : N }[ErrorName]

export interface ApiErrorDetails {
  /** Extra keys of `error.metadata`, amounts in RUB numbers. */
  readonly metadata?: Readonly<Record<string, unknown>>
  /** Whole seconds, sent as `Retry-After`; for `rate_limit_exceeded` also as `error.retry_after`. */
  readonly retryAfterSeconds?: number
  /** Sends `x-should-retry: false` (wire.md D-7.5). */
  readonly noRetry?: boolean
  readonly headers?: Readonly<Record<string, string>>
  /** Which limit or part refused, in a word for the log. */
  readonly refusedBy?: string
  /** The bug or fault behind it: the log may know it, the client may not. */
  readonly cause?: unknown
}

/** An error the client may see. `message` says what was given, what is allowed and what to do; secrets go to `cause`. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly errorName: ErrorName
  readonly details: ApiErrorDetails

  constructor(errorName: Exclude<ErrorName, 'service_unavailable'>, message: string, details?: ApiErrorDetails)
  /** The log always says what refused. */
  constructor(errorName: 'service_unavailable', message: string, details: ApiErrorDetails & { readonly refusedBy: string })
  constructor(errorName: ErrorName, message: string, details: ApiErrorDetails = {}) {
    super(message, { cause: details.cause })
    this.errorName = errorName
    this.details = details
  }

  /** The same error with more headers. */
  withHeaders(headers: Readonly<Record<string, string>>): ApiError {
    // Any name will do: the details are of an error that was made with them.
    return new ApiError(this.errorName as 'internal_error', this.message, { ...this.details, headers: { ...this.details.headers, ...headers } })
  }

  get status(): number {
    return ERRORS[this.errorName].status
  }

  get errorType(): ErrorType {
    const row = ERRORS[this.errorName]
    // A row without a type of its own has the type of its name: that is what ErrorType says.
    return 'errorType' in row ? row.errorType : (this.errorName as ErrorType)
  }

  /** The JSON body of every error (wire.md D-7.5). */
  body(): { error: Record<string, unknown> } {
    const error: Record<string, unknown> = {
      code: this.status,
      message: this.message,
      metadata: { error_type: this.errorType, ...this.details.metadata },
    }
    if (this.errorName === 'rate_limit_exceeded' && this.details.retryAfterSeconds !== undefined) error['retry_after'] = this.details.retryAfterSeconds
    return { error }
  }
}

/** Seconds over which clients that a node refused come back. */
const SPREAD_SECONDS = 5

/** The node has no room for the request. `share`, uniform in [0, 1), spreads the return of many clients over five seconds. */
export function overloaded(share: number, refusedBy: string, cause?: unknown): ApiError {
  const retryAfterSeconds = 1 + Math.floor(share * SPREAD_SECONDS)
  return unavailable(`Service is overloaded or its store is not available. Retry after ${retryAfterSeconds} seconds`, retryAfterSeconds, refusedBy, cause)
}

/** Something that the request needs does not answer; `refusedBy` is a word for the log. */
export function unavailable(message: string, retryAfterSeconds: number, refusedBy: string, cause?: unknown): ApiError {
  return new ApiError('service_unavailable', message, { retryAfterSeconds, refusedBy, cause })
}

/** What a request needs does not answer just now, and may in a second. */
export class UnavailableError extends Error {
  override readonly name: string = 'UnavailableError'
}

/** What the operator has to mend; the message is one whole sentence that says what and where, without a secret. */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError'
}

/** Turns anything thrown into what a client may see: an ApiError as it is, what is out of reach as `service_unavailable`, all else `internal_error`. */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof UnavailableError) return overloaded(0, 'store', thrown)
  return thrown instanceof ApiError ? thrown : new ApiError('internal_error', 'Internal server error', { cause: thrown })
}
