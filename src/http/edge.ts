import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiError } from '../errors.ts'
import type { AttemptSpan } from './request-log.ts'

/**
 * How access looks at a caller: `key` = a principal; `admin` = admin token or an administrator's session; `session` =
 * anybody's session; `playground` = a session that acts as a principal.
 */
export type AccessPlane = 'key' | 'admin' | 'session' | 'playground'
/** Who may call a route: also `open` = nobody needs a key; `token` = its own credential in the URL. */
export type RoutePlane = 'open' | 'token' | AccessPlane

/**
 * One row of the route table, from which 404, 405, the health list and the route × principal matrix come. `P` is what
 * access found.
 */
export interface Route<P> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Segments; `:name` one decoded segment, a final `*name` the rest of the path (decoded, slashes kept). */
  readonly path: string
  readonly plane: RoutePlane
  /** What a body may be; GET and DELETE ignore bodies. */
  readonly body: 'none' | 'json' | 'json-or-multipart'
  /** What an overloaded node refuses first: `low`, then `paid`; absent = never. */
  readonly priority?: 'low' | 'paid'
  /**
   * Why a request of an `open` or `token` route may not go on, judged by its head before a byte of its body is read;
   * null = it may.
   */
  readonly refuse?: (request: IncomingMessage, clientIp: string) => ApiError | null
  handle(call: Call<P>): Promise<Reply | typeof HIJACKED> | Reply | typeof HIJACKED
}

export interface Call<P> {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** Raw JSON body, pre-scanned, parsed, always an object; undefined where body is `none` or multipart. */
  readonly json: unknown
  /** The bytes `json` was parsed from, or the whole multipart body; absent where body is `none`. */
  readonly rawBody?: Buffer
  readonly requestId: string
  readonly clientIp: string
  /** The client reached us over TLS. */
  readonly isSecure: boolean
  /** clock.monotonic() at arrival, ms; wall-clock Unix ms. */
  readonly startedMs: number
  readonly arrivedAtMs: number
  /** The result of access for `key` and `playground` routes. */
  readonly principal: P | null
  /** Headers every response carries (CORS, request id, rate limit): a hijacking handler must write them itself. */
  readonly baseHeaders: Readonly<Record<string, string>>
  /** Filled by the handler, printed in the request's one log line (allow-list in http/request-log.ts). */
  readonly log: RequestLog
}

/** Header names in lower case, as everywhere on the edge. */
export interface Reply {
  readonly status: number
  readonly body: unknown
  /** A list is sent as so many headers of the name. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /**
   * Default application/json; where it is given, `body` is a string, a Buffer or a list of Buffers, which are sent one
   * after another.
   */
  readonly contentType?: string
}

/** The handler writes the response itself (streams). It must end or destroy it and then call `log.finish`. */
export const HIJACKED: unique symbol = Symbol('hijacked')

export interface RequestLog {
  /**
   * Adds allow-listed fields: generation_id, model, provider, attempts, input_tokens, output_tokens, cost,
   * finish_reason, error_type, status_text, latency_ms, aborted.
   */
  set(fields: Readonly<Record<string, string | number | boolean | null>>): void
  /** The attempts at providers, for traces. */
  attempts(attempts: readonly AttemptSpan[]): void
  /** Prints the one line of this request; later calls do nothing. */
  finish(status: number): void
}

/**
 * What access adds to a request before its body is read: who calls and the rate-limit headers, or the refusal with
 * them.
 */
export type AccessResult<P> =
  | { readonly principal: P | null; readonly headers: Readonly<Record<string, string>> }
  | { readonly error: ApiError; readonly headers: Readonly<Record<string, string>> }

/** The access stage as the edge sees it. `open` and `token` routes never reach `admit`. */
export interface EdgeAccess<P> {
  /** Answers at once when the key is cached, so that the common request makes no promise. */
  admit(request: IncomingMessage, plane: AccessPlane, clientIp: string): AccessResult<P> | Promise<AccessResult<P>>
  /** The informative per-IP X-RateLimit-* headers of a response without an account (wire.md D-7.2). */
  anonymousHeaders(clientIp: string): Readonly<Record<string, string>>
}

/** The operator's maintenance setting while it is on. */
export interface MaintenanceNotice {
  readonly message: string | null
  /** Seconds; null = no known end. */
  readonly retryAfter: number | null
}
