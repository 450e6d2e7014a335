import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ApiError } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import type { EdgeAccess, MaintenanceNotice, Reply, Route } from './edge.ts'
import type { LogFields, RequestLogSink } from './request-log.ts'
import type { SocketShares } from './socket-shares.ts'

/** Milliseconds; the reasons are in reliability.md 5. */
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
   * null = not under maintenance. Stops `key`, `playground` and `token` routes; health, the console and the admin plane
   * go on.
   */
  readonly maintenance: () => MaintenanceNotice | null
  /** Whether a client reached us over TLS. */
  readonly isSecure: (request: IncomingMessage) => boolean
  /** CIDR ranges; throws at construction when one is malformed. */
  readonly trustedProxies: readonly string[]
  /** Why an admitted request may not go on now, before its body is read; absent = all may. */
  readonly refuse?: (route: Route<P>, principal: P) => ApiError | null
  /** What the request's log line says of its principal. */
  readonly describe?: (principal: P) => LogFields
  /** Whose share of the memory for bodies a principal uses, beside that of the address. */
  readonly accountOf?: (principal: P) => string
  /** One sentence for the operator. */
  readonly notice?: (message: string) => void
  /** What a path that is no route gets instead of a 404: the console's files and pages. */
  readonly unmatched?: (request: IncomingMessage, path: string) => Reply | null
  readonly timeouts?: Partial<EdgeTimeouts>
  readonly bodyBudgetBytes?: number
  readonly connectionsMax?: number
}

export interface Edge {
  readonly server: Server
  /** Of request bodies, held now. */
  readonly bodyBytes: number
  /** Connections that are open, and what became of those beyond the share of their address. */
  readonly sockets: Pick<SocketShares, 'open' | 'refused' | 'replaced'>
  listen(host: string, port: number): Promise<AddressInfo>
  /** Stops listening and waits up to `drainMs` for running responses, then cuts them. */
  close(drainMs: number): Promise<void>
}
