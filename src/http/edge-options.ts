import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ApiError } from '../base/errors.ts'
import type { Clock } from '../base/clock.ts'
import type { IdSource } from '../base/ids.ts'
import type { EdgeAccess, MaintenanceNotice, Reply, Route } from './edge.ts'
import type { LogFields, RequestLogSink } from './request-log.ts'
import type { ReplyRoom } from './slow-readers.ts'
import type { SocketShares } from './socket-shares.ts'

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
  /** Why an admitted request must stop before its body is read; absent = none must. */
  readonly refuse?: (route: Route<P>, principal: P) => ApiError | null
  /** The principal's fields in the request's log line. */
  readonly describe?: (principal: P) => LogFields
  /** The origins, besides the address, that count the memory for a principal's bodies. */
  readonly accountOf?: (principal: P) => string
  /** One sentence for the operator. */
  readonly notice?: (message: string) => void
  /** The answer to a path without a route, instead of a 404: the console's files and pages. */
  readonly unmatched?: (request: IncomingMessage, path: string) => Reply | null
  /** A sentence in the 404 of such a path that says what to use instead; null = none. */
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
  /** Open connections, and those refused or closed because their address was over its share. */
  readonly sockets: Pick<SocketShares, 'open' | 'refused' | 'replaced'>
  listen(host: string, port: number): Promise<AddressInfo>
  /** Stops listening and waits up to `drainMs` for running responses, then cuts them. */
  close(drainMs: number): Promise<void>
}
