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
export type ErrorType = {
  readonly [N in ErrorName]: (typeof ERRORS)[N] extends { errorType: infer T } ? T : N
}[ErrorName]

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
    // Any name will do: the details are of an error that was made with them.
    return new ApiError(this.errorName as 'internal_error', this.message, {
      ...this.details,
      headers: { ...this.details.headers, ...headers },
    })
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
    if (this.errorName === 'rate_limit_exceeded' && this.details.retryAfterSeconds !== undefined)
      error['retry_after'] = this.details.retryAfterSeconds
    return { error }
  }
}

type None = Readonly<Record<string, never>>
type Range = { readonly least: number; readonly most: number }

/**
 * What can be wrong with a field that a console plane is given, and the figures of it. Beside the English sentence
 * every such refusal carries it by name, so that a page says it in its reader's language; a name that the pages have no
 * text for does not compile.
 */
export interface FieldChecks {
  readonly amount: None
  readonly above_zero: None
  readonly bad_email: { readonly given: string }
  readonly bad_timezone: { readonly given: string }
  readonly code_required: None
  readonly csv_cell: { readonly line: number; readonly column: number }
  readonly csv_empty: None
  readonly csv_no_column: { readonly column: string; readonly names: string }
  readonly csv_no_currency: { readonly line: number }
  readonly csv_no_rate: { readonly line: number; readonly currency: string; readonly day: string }
  readonly csv_open_quote: { readonly line: number }
  readonly cursor: None
  readonly day: None
  readonly days_most: { readonly most: number }
  readonly decimal: { readonly most: string }
  readonly flag: None
  readonly guessable: None
  readonly kopecks: Range
  readonly least: { readonly least: number }
  readonly length: Range & { readonly given: number }
  readonly lines_most: { readonly most: number }
  readonly list: None
  readonly needs_limit: None
  readonly not_after: None
  readonly not_negative: None
  readonly not_set_up: { readonly given: string }
  readonly not_zero: None
  readonly object: None
  readonly one_of: { readonly allowed: string }
  readonly other_id: { readonly path: string }
  readonly own_key: None
  readonly percentage: None
  readonly private_address: { readonly host: string }
  readonly required: None
  readonly slug: None
  readonly text: None
  readonly text_length: Range
  readonly time: None
  readonly unknown_field: { readonly known: string }
  readonly unknown_model: { readonly given: string }
  readonly used_code: None
  readonly whole: Range
  readonly wrong: None
}
export type FieldCheck = keyof FieldChecks

/** Why a console plane refuses what is no matter of a field, by name as `FieldChecks`. */
export interface RefusalReasons {
  readonly account_missing: None
  readonly another_needed: None
  readonly code_unknown: None
  readonly code_used: None
  readonly connected: None
  readonly email_taken: { readonly email: string }
  readonly email_unproven: None
  readonly foreign_page: None
  readonly has_administrator: None
  readonly identity_taken: None
  readonly keys_most: { readonly most: number }
  readonly last_administrator: None
  readonly last_way_in: None
  readonly link_dead: None
  readonly not_parked: { readonly id: string }
  readonly oidc_refused: None
  readonly oidc_unset: None
  readonly only_administrators: None
  readonly only_provider: None
  readonly reference_taken: { readonly reference: string }
  readonly session_stale: { readonly minutes: number }
  readonly sign_in_first: None
  readonly sign_in_late: None
  readonly sign_up_closed: None
  readonly totp_needed: None
  readonly totp_none_new: None
  readonly totp_off: None
  readonly totp_on: None
  readonly uncovered: None
  readonly unknown_id: { readonly id: string }
  readonly wrong_code: None
  readonly wrong_password: None
}
export type RefusalReason = keyof RefusalReasons

/** 400 of a field: `what` follows its name. */
export function fieldError<C extends FieldCheck>(
  field: string,
  check: C,
  params: FieldChecks[C],
  what: string,
  message = `${field}: ${what}`,
): ApiError {
  return new ApiError('invalid_input', message, { metadata: { field, check, params } })
}

/** A refusal of a console plane with its reason by name. */
export function reasonError<R extends RefusalReason>(
  errorName: 'conflict' | 'access_denied' | 'not_found' | 'unauthorized',
  reason: R,
  params: RefusalReasons[R],
  message: string,
  cause?: unknown,
): ApiError {
  return new ApiError(errorName, message, { metadata: { reason, params }, cause })
}

/** Seconds over which clients that a node refused come back. */
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

/**
 * Turns anything thrown into what a client may see: an ApiError as it is, what is out of reach as
 * `service_unavailable`, all else `internal_error`.
 */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof UnavailableError) return overloaded(0, 'store', thrown)
  return thrown instanceof ApiError
    ? thrown
    : new ApiError('internal_error', 'Internal server error', { cause: thrown })
}
