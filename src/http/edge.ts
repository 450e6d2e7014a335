import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AdminScope } from '../tables/admin-scopes.ts'
import type { ClientProtocol } from '../base/client-protocol.ts'
import type { ApiError } from '../base/errors.ts'
import type { JsonMember } from '../base/json-scan.ts'
import type { RequestLog } from './request-log.ts'
import type { TurnMemory } from './turn-memory.ts'

/**
 * How access checks a caller: `key` = a principal; `management` = a key that manages keys; `any_key` = either;
 * `session` = anybody's session; `playground` = a session that acts as a principal; a scope = the admin token, or a
 * named one or an administrator's session that has the scope.
 */
export type AccessPlane = 'key' | 'management' | 'any_key' | 'session' | 'playground' | AdminScope
/** Who may call a route. Also `open` = no key is needed; `token` = the URL carries the credential. */
export type RoutePlane = 'open' | 'token' | 'admin' | Exclude<AccessPlane, AdminScope>

/**
 * One row of the route table. The answers 404 and 405, the health list and the route × principal matrix come from it.
 * `P` is the result of access.
 */
export type Route<P> = RouteRow<P> &
  (
    | { readonly plane: 'admin'; readonly scope: AdminScope }
    | { readonly plane: Exclude<RoutePlane, 'admin'>; readonly scope?: never }
  )

interface RouteRow<P> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /**
   * Segments; `:name` is one decoded segment, a final `*name` the rest of the path (decoded, slashes kept), and a final
   * `*name:word` a rest that ends with `:word`, which is no part of the value.
   */
  readonly path: string
  /** The format of its errors; absent = decided by the path. */
  readonly protocol?: ClientProtocol | ((request: IncomingMessage) => ClientProtocol)
  /** The kind of body that the route takes; GET and DELETE ignore bodies. */
  readonly body: 'none' | 'json' | 'json-or-multipart'
  /** Members of its JSON body that may hold NUL, since they are neither stored nor looked up; absent = none. */
  readonly prompts?: ReadonlySet<string>
  /** A WebSocket may be opened at its path: each message is then a request of this route, of type JSON. */
  readonly turns?: true
  /** The order in which an overloaded node refuses routes: `low`, then `paid`; absent = never. */
  readonly priority?: 'low' | 'paid'
  /**
   * Why a request of an `open` or `token` route must stop, decided from its head before the body is read; null = it may
   * go on.
   */
  readonly refuse?: (request: IncomingMessage, clientIp: string) => ApiError | null
  handle(call: Call<P>): Promise<Reply | typeof HIJACKED> | Reply | typeof HIJACKED
}

export interface Call<P> {
  /** It came as a message of a WebSocket, in which its answer goes; null = as a request of its own. */
  readonly turn: TurnMemory | null
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** The JSON body, pre-scanned and parsed, always an object; undefined where body is `none` or multipart. */
  readonly json: unknown
  /** The bytes `json` was parsed from, or the whole multipart body; absent where body is `none`. */
  readonly rawBody?: Buffer | undefined
  /** A member of the JSON body as the bytes that came; null unless it occurs exactly once. */
  jsonMember(name: string): JsonMember | null
  readonly requestId: string
  readonly clientIp: string
  /** The client reached us over TLS. */
  readonly isSecure: boolean
  /** clock.monotonic() at arrival, ms; wall-clock Unix ms. */
  readonly startedMs: number
  readonly arrivedAtMs: number
  /** The result of access for the routes of keys and `playground`. */
  readonly principal: P | null
  /** Headers of every response (CORS, request id, rate limit): a hijacking handler must write them itself. */
  readonly baseHeaders: Readonly<Record<string, string>>
  /** Filled by the handler, printed in the request's one log line (allow-list in http/request-log.ts). */
  readonly log: RequestLog
}

/** Header names are in lower case, as everywhere in `src/http`. */
export interface Reply {
  readonly status: number
  readonly body: unknown
  /** A list is sent as several headers with this name. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /**
   * The default type is application/json. `body` is a string, a Buffer or a list of Buffers, which are sent one after
   * another.
   */
  readonly contentType?: string
}

/** The handler writes the response itself (streams). It must end or destroy it and then call `log.finish`. */
export const HIJACKED: unique symbol = Symbol('hijacked')

/**
 * The result of access before the body is read: the caller and the rate-limit headers, or the refusal with these
 * headers.
 */
export type AccessResult<P> =
  | { readonly principal: P | null; readonly headers: Readonly<Record<string, string>> }
  | { readonly error: ApiError; readonly headers: Readonly<Record<string, string>> }

/** The access stage as the edge sees it. `open` and `token` routes never reach `admit`. */
export interface EdgeAccess<P> {
  /** Answers without a promise when the key is cached, because that is the common case. */
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
