interface ErrorRow {
  readonly status: number
  /** Its type on the wire, if that differs from its name. */
  readonly errorType?: string
  /** When a client gets it, for docs/errors.md. */
  readonly when: string
}
type Errors = Readonly<Record<string, ErrorRow>>

const REQUEST = {
  missing_model: { status: 400, when: 'the request names no model and the account has no default model' },
  missing_messages: { status: 400, when: 'neither `messages` nor `prompt` is given, or both are empty' },
  missing_prompt: { status: 400, when: 'an image, a video or a legacy completion is asked for without a prompt' },
  missing_input: { status: 400, when: 'there is nothing to embed, speak, transcribe or answer' },
  missing_query: { status: 400, when: 'a rerank request has no query' },
  missing_documents: { status: 400, when: 'a rerank request has no documents' },
  missing_job_id: { status: 400, when: 'the query parameter `id` of a job is absent' },
  invalid_json: {
    status: 400,
    when: 'the body is not JSON, not UTF-8, not an object, or deeper and larger than its structure limits allow',
  },
  invalid_filter: {
    status: 400,
    when: '`filter` of a model list is not one of the allowed values; the message lists them',
  },
  invalid_message_format: {
    status: 400,
    when: 'a message, its content or its tool calls have the wrong shape; the message gives the path',
  },
  invalid_message_role: {
    status: 400,
    when: 'the role of a message is not one of system, developer, user, assistant, tool',
  },
  invalid_response_format: {
    status: 400,
    when: '`response_format` is unknown, incomplete, or not offered by the model',
  },
  invalid_input: {
    status: 400,
    when: 'any other parameter is of the wrong type or out of its range; the message names it',
  },
  invalid_base64: { status: 400, when: 'audio or another file given inline is not base64' },
  model_not_found: { status: 400, when: 'no active model has this id or alias' },
  model_not_supported: { status: 400, when: 'the model does not serve this endpoint or this kind of content' },
  input_tokens_exceeded: {
    status: 400,
    when: 'the input alone is too long for the model; the metadata has the counted and the allowed tokens',
  },
  token_limit_exceeded: { status: 400, when: "input and `max_tokens` together are more than the model's context" },
  input_too_long: { status: 400, when: 'a text to be spoken has too many characters' },
  prompt_too_long: { status: 400, when: 'an image prompt has too many characters' },
  streaming_not_supported: { status: 400, when: '`stream: true` on an endpoint that has no streams' },
  file_upload_error: { status: 400, when: 'the file part of an upload is absent, empty, unreadable or no sound' },
  job_not_completed: { status: 400, when: 'the content of a job is asked for before the job is done; ask again later' },
  previous_response_not_found: {
    status: 400,
    when: "the Response of `previous_response_id`, or one that it continues, was not kept (`store: true`), was removed, is past its time, has not ended, or is another account's",
  },
  content_filtered: { status: 400, when: "the provider's moderation refused the input" },
  request_timeout: { status: 408, when: 'the request did not arrive in time' },
  request_too_large: {
    status: 413,
    when: 'the body is larger than 10 MB, or than 16 kB on a route that needs no key or manages keys',
  },
  unsupported_media_type: {
    status: 415,
    when: 'the body is of another type, charset or encoding than the endpoint takes',
  },
  invalid_range: { status: 416, when: 'a `Range` header lies outside the content' },
} as const satisfies Errors

const ACCOUNT = {
  missing_api_key: {
    status: 401,
    when: 'there is no key: neither `Authorization: Bearer` nor `x-api-key` nor `x-goog-api-key`',
  },
  invalid_api_key: {
    status: 401,
    when: 'the key is not one of ours, or was deleted, or two headers name different keys',
  },
  key_expired: { status: 401, when: "the key's `expires_at` has passed" },
  unauthorized: { status: 401, when: 'the admin API was called without a valid token or session' },
  insufficient_balance: { status: 402, when: 'the account cannot cover the most that the request may cost' },
  account_deactivated: { status: 403, when: 'the operator has deactivated the account' },
  key_deactivated: { status: 403, when: 'the key is switched off' },
  api_locked: { status: 403, when: 'the operator has locked API access of the account' },
  access_denied: {
    status: 403,
    when: 'the key may not use this model, or not from this address, or is of the other kind (API key, management key), or a credential was used on the wrong plane',
  },
  rate_limit_exceeded: {
    status: 429,
    when: "more requests than the rate limit or a limit of the key allows, tools that a provider runs by itself after an hour in which the account's answers cost well more than it had, too many without a valid key from one address, or request bodies beyond the [share](docs/operations.md#what-one-address-may-take) of an address or account; wait for `Retry-After`",
  },
  limit_exceeded: {
    status: 429,
    when: "the key's spending limit cannot cover the request; the metadata says when it resets",
  },
} as const satisfies Errors

const ABSENCE = {
  endpoint_not_found: { status: 404, when: 'no route has this path' },
  stream_not_found: {
    status: 404,
    when: "the stream to resume, or the Response, is unknown, over, not kept, or another account's",
  },
  job_not_found: { status: 404, when: "the job is unknown, expired, or another account's" },
  generation_not_found: { status: 404, when: 'the usage log has no such generation of this account' },
  file_not_found: { status: 404, when: 'the stored file is unknown or expired' },
  model_record_not_found: {
    status: 404,
    errorType: 'model_not_found',
    when: "a model's own page is asked for and there is no such model",
  },
  no_available_provider: {
    status: 404,
    when: 'the routing preferences leave no provider; relax them or choose another model',
  },
  not_found: { status: 404, when: 'the admin API, or the one that manages keys, has no such record' },
  method_not_allowed: { status: 405, when: 'the path exists with other methods; `Allow` lists them' },
  conflict: {
    status: 409,
    when: 'an admin change contradicts what is stored, such as a reference used with another amount',
  },
  idempotency_conflict: {
    status: 409,
    when: 'a request with the same `Idempotency-Key` still runs, or was answered with what is not kept: a stream, or more than 1 MiB; `generation_id` names it',
  },
  idempotency_mismatch: { status: 422, when: 'the `Idempotency-Key` was used with another path or body' },
} as const satisfies Errors

const SERVICE = {
  internal_error: { status: 500, when: 'a bug of ours; tell the operator the `X-Request-Id`' },
  empty_response: { status: 502, when: 'every provider tried answered with nothing' },
  provider_error: { status: 502, when: 'the last provider tried failed, or refused our account with it' },
  provider_unavailable: {
    status: 503,
    when: 'all providers of the model are busy or cannot be reached; wait for `Retry-After`',
  },
  service_unavailable: { status: 503, when: 'the service is overloaded, shutting down, or its store does not answer' },
  maintenance_mode: { status: 503, when: 'the operator has switched maintenance on' },
  provider_timeout: { status: 504, when: 'the provider did not answer in time' },
} as const satisfies Errors

/** The tables of docs/errors.md, which `npm run docs` writes. */
export const ERROR_TABLES: Readonly<Record<string, Errors>> = {
  'The request': REQUEST,
  'Key, account and money': ACCOUNT,
  'What is not there': ABSENCE,
  'The service and its providers': SERVICE,
}

/** Every error that a client may see (wire.md 7.4): nothing else in the program names a status. */
export const ERRORS = { ...REQUEST, ...ACCOUNT, ...ABSENCE, ...SERVICE } as const

export type ErrorName = keyof typeof ERRORS

/** `metadata.error_type`, as clients, the log and the console know it. */
export type ErrorType = {
  readonly [N in ErrorName]: (typeof ERRORS)[N] extends { errorType: infer T } ? T : N
}[ErrorName]

// The keys are the names, and no other.
export const ERROR_NAMES = Object.keys(ERRORS) as readonly ErrorName[]

export function errorTypeOf(name: ErrorName): ErrorType {
  const row = ERRORS[name]
  // A row without a type has its name as type, which is how ErrorType is defined.
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
  /** Tokens of a request that exceeds its model's context, for protocols with their own message for that. */
  readonly context?: { readonly input: number; readonly output: number; readonly limit: number }
  /** The limit or part that refused, as one word for the log. */
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
  /** The log always names the part that refused. */
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
    // Any name works: the details belong to an error that was made with them.
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

/** The seconds over which refused clients come back. */
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
