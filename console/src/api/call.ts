import i18n from 'i18next'
import type { ErrorBody } from '../../../src/api/cabinet/session-contract.ts'
import type { ErrorType } from '../../../src/base/errors.ts'
import { address, type Answer, type AnyInput, type Endpoint, type Input } from './endpoint.ts'

/**
 * `unreachable`: there was no answer; `unknown`: the answer is not from this server, or from another release of it;
 * `released`: a file of the page no longer exists, because the server runs another release.
 */
export type FailureType = ErrorType | (typeof OWN_TYPES)[number]
const OWN_TYPES = ['unreachable', 'unknown', 'released'] as const

/** An answer other than 2xx, or no answer at all (`status` 0). */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure'
  readonly status: number
  readonly errorType: FailureType
  readonly retryAfterSeconds: number | null
  readonly metadata: Readonly<Record<string, unknown>>

  constructor(
    status: number,
    errorType: string,
    message: string,
    retryAfterSeconds: number | null,
    metadata: Readonly<Record<string, unknown>> = {},
  ) {
    super(message)
    this.status = status
    this.errorType = isKnown(errorType) ? errorType : 'unknown'
    this.metadata = metadata
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Exactly the known types have a text. */
function isKnown(type: string): type is FailureType {
  return i18n.exists(`error.${type}`) || i18n.exists(`failure.types.${type}`)
}

/** Calls one endpoint of the contract. */
export async function call<E extends Endpoint>(endpoint: E, input: Input<E>, signal?: AbortSignal): Promise<Answer<E>> {
  // A field of AnyInput has this type in every Input<E>, or is absent there.
  const given = input as AnyInput
  const method = endpoint.slice(0, endpoint.indexOf(' '))
  const init: RequestInit = { method, credentials: 'same-origin', ...(signal === undefined ? {} : { signal }) }
  if (method !== 'GET') {
    init.headers = { 'content-type': 'application/json' }
    init.body = JSON.stringify(given.body ?? {})
  }
  const response = await send(address(endpoint, given), init)
  // Tests of the server check that its answers have the types of the contract.
  return (await response.json()) as Answer<E>
}

/** Sends, and throws an ApiFailure for any answer but a success. */
export async function send(url: string, init: RequestInit): Promise<Response> {
  let response: Response
  try {
    response = await fetch(url, init)
  } catch (thrown) {
    if (init.signal?.aborted === true) throw thrown
    throw new ApiFailure(0, 'unreachable', 'The server did not answer', null)
  }
  if (!response.ok) throw await failureOf(response)
  return response
}

async function failureOf(response: Response): Promise<ApiFailure> {
  const body: unknown = await response.json().catch(() => null)
  if (!isErrorBody(body)) return new ApiFailure(response.status, 'unknown', `HTTP ${response.status}`, null)
  const { message, metadata } = body.error
  const retryAfter = response.headers.get('retry-after')
  return new ApiFailure(
    response.status,
    metadata.error_type,
    message,
    retryAfter === null ? null : Number(retryAfter),
    metadata,
  )
}

function isErrorBody(body: unknown): body is ErrorBody {
  if (body === null || typeof body !== 'object' || !('error' in body)) return false
  const { error } = body
  return (
    error !== null &&
    typeof error === 'object' &&
    'message' in error &&
    typeof error.message === 'string' &&
    'metadata' in error &&
    typeof error.metadata === 'object'
  )
}
