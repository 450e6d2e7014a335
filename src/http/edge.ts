import type { IncomingMessage, ServerResponse, Server } from 'node:http'
import type { AdminScope } from '../tables/scopes.ts'
import type { ClientProtocol } from '../base/client-protocol.ts'
import { type ApiError, OperatorError } from '../base/errors.ts'
import { ownValue } from '../base/own-value.ts'
import type { JsonMember } from '../base/json-scan.ts'
import type { RequestLog, LogFields, RequestLogSink } from './request-log.ts'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../base/clock.ts'
import type { IdSource } from '../base/ids.ts'
import type { ReplyRoom } from './slow-readers.ts'
import type { SocketShares } from './socket-shares.ts'

/**
 * How access checks a caller: `key` = a principal; `management` = a key that manages keys; `any_key` = either;
 * `session` = anybody's session; `playground` = a session that acts as a principal; a scope = the admin token, or a
 * named token or an administrator's session that has the scope.
 */
export type AccessPlane = 'key' | 'management' | 'any_key' | 'session' | 'playground' | AdminScope
/**
 * Who may call a route, besides the planes of access: `open` = anybody, without a key; `token` = the URL carries the
 * credential.
 */
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
  /**
   * If the request came as a message of a WebSocket, the memory of that WebSocket, in which it is also answered; null =
   * an ordinary request.
   */
  readonly turn: TurnMemory | null
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** The JSON body, pre-scanned and parsed, always an object; undefined where body is `none` or multipart. */
  readonly json: unknown
  /** Frees `json`, which is read again from `rawBody` in each turn of the loop that asks for it. */
  dropJson(): void
  /** The bytes `json` was parsed from, or the whole multipart body; absent where body is `none`. */
  readonly rawBody?: Buffer | undefined
  /** A member of the JSON body as its original bytes; null unless it occurs exactly once. */
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
  /** Filled by the handler, and written to the request's one log line (allow-list in http/request-log.ts). */
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
  | {
      readonly error: ApiError
      readonly headers: Readonly<Record<string, string>>
      /** Who was refused, where it is known. */
      readonly refused?: P
    }

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

/** A value that occupies room until it is released. */
interface Remembered {
  release(): void
}

/** The value that a turn of a WebSocket leaves for the next ones; its type belongs to the route. */
export class TurnMemory {
  #value: Remembered | null = null
  #closed = false

  get value(): Remembered | null {
    return this.#value
  }

  keep(value: Remembered | null): void {
    this.#value?.release()
    this.#value = this.#closed ? null : value
    if (this.#closed) value?.release()
  }

  /** The socket has closed: what a turn that still runs leaves is released at once. */
  close(): void {
    this.keep(null)
    this.#closed = true
  }
}

/** Milliseconds; the reasons are in guarantees.md 5. */
export interface EdgeTimeouts {
  readonly headers: number
  readonly request: number
  readonly upload: number
  readonly keepAlive: number
  readonly check: number
}

export interface EdgeOptions<P> {
  readonly routes: readonly Route<P>[]
  readonly access: EdgeAccess<P>
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: RequestLogSink
  /**
   * null = no maintenance. Maintenance stops `key`, `playground` and `token` routes; health, the console and the admin
   * API go on.
   */
  readonly maintenance: () => MaintenanceNotice | null
  /** Whether a client reached us over TLS. */
  readonly isSecure: (request: IncomingMessage) => boolean
  /** CIDR ranges; throws at construction when one is malformed. */
  readonly trustedProxies: readonly string[]
  /** The reason why an admitted request must stop before its body is read; absent = there never is one. */
  readonly refuse?: (route: Route<P>, principal: P) => ApiError | null
  /** The principal's fields in the request's log line. */
  readonly describe?: (principal: P) => LogFields
  /** Hears of each refusal of a caller who is known. Throws nothing. */
  readonly refused?: (call: Call<P>, route: Route<P>, principal: P, error: ApiError) => void
  /** The origins, besides the address, whose shares count the memory for a principal's bodies. */
  readonly accountOf?: (principal: P) => string
  /** Writes one sentence for the operator as a log line. */
  readonly notice?: (message: string) => void
  /** The answer to a path without a route, in place of a 404: the console's files and pages. */
  readonly unmatched?: (request: IncomingMessage, path: string) => Reply | null
  /** A sentence for the 404 of such a path that says what to use instead; null = none. */
  readonly instead?: (path: string) => string | null
  readonly timeouts?: Partial<EdgeTimeouts>
  readonly bodyBudgetBytes?: number
  /** Counts replies that wait for their clients. */
  readonly replyRoom?: ReplyRoom
  readonly connectionsMax?: number
}

export interface Edge {
  readonly server: Server
  /** Bytes of request bodies held now. */
  readonly bodyBytes: number
  /** Open connections, and those refused or closed because their address exceeded its share. */
  readonly sockets: Pick<SocketShares, 'open' | 'refused' | 'replaced'>
  listen(host: string, port: number): Promise<AddressInfo>
  /** Stops listening and waits up to `drainMs` for running responses, then cuts them. */
  close(drainMs: number): Promise<void>
}

const FAULTS: Readonly<Record<string, (host: string, port: number) => string>> = {
  EADDRINUSE: (host, port) =>
    `PORT: ${port} of ${host} is taken by another program: stop that one, or set PORT to another (0 takes a free one).`,
  EACCES: (_host, port) =>
    `PORT: this user may not listen on ${port}: set PORT to 1024 or above, or give the process CAP_NET_BIND_SERVICE.`,
  EADDRNOTAVAIL: (host) => `HOST: ${host} is not an address of this machine.`,
  ENOTFOUND: (host) => `HOST: ${host} does not resolve to an address.`,
  EAI_AGAIN: (host) => `HOST: ${host} does not resolve to an address now.`,
  EAFNOSUPPORT: (host) => `HOST: this machine has no addresses of the kind of ${host}.`,
}

/** Why the server cannot listen, as a sentence for the operator. */
export function listenFailure(thrown: Error, host: string, port: number): Error {
  if (!('code' in thrown)) return thrown
  const words =
    ownValue(FAULTS, String(thrown.code))?.(host, port) ??
    `HOST, PORT: the server cannot listen on ${host}:${port}: ${thrown.message}.`
  return new OperatorError(words, { cause: thrown })
}
