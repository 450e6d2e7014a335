import type { EventAction } from '../ledger/event-action.ts'
import type { Access } from '../access/access.ts'
import type { ConsoleSession, ConsoleSessions } from '../access/console-sessions.ts'
import type { Passwords } from '../access/passwords.ts'
import type { Principal } from '../access/principal.ts'
import { originRefusal } from '../access/same-origin.ts'
import type { ModelType } from '../catalog/catalog.ts'
import type { CatalogService } from '../catalog/catalog-service.ts'
import type { Cipher } from '../lib/cipher.ts'
import { fieldError, reasonError } from '../refusals.ts'
import type { Call, Reply, Route } from '../http/edge.ts'
import type { PeriodStarts } from '../ledger/ledger-store.ts'
import type { Clock } from '../lib/clock.ts'
import { bodyReader, type BodyReader } from '../kinds/fields/strict-body.ts'
import type { IdSource } from '../lib/ids.ts'
import type { Store } from '../store/store.ts'
import type { BodyOf, WireRoute } from '../wire-route.ts'
import { CABINET_ROUTES, type CabinetApi } from './contract.ts'
import type { Percentiles } from './model-contract.ts'
import type { Turns } from './turns.ts'

/** Measured state of an endpoint, as the relay reports it. */
export interface EndpointReport {
  readonly unhealthy: boolean
  readonly uptime5m: number | null
  readonly uptime30m: number | null
  readonly uptime1d: number | null
  readonly latency30m: Percentiles | null
  readonly throughput30m: Percentiles | null
}

export interface CabinetPorts {
  readonly store: Store
  readonly catalog: CatalogService
  readonly access: Access
  readonly sessions: ConsoleSessions
  readonly passwords: Passwords
  readonly cipher: Cipher
  readonly clock: Clock
  readonly ids: IdSource
  readonly periods: () => PeriodStarts
  readonly health: { report(endpointId: string): EndpointReport }
  /** Parameter names of an adapter's protocol. */
  readonly parametersOf: (adapterName: string, type: ModelType) => readonly string[]
  /** null = from the request's Host. */
  readonly publicUrl: string | null
  readonly version: string
  /** Sign-up where the settings say nothing. */
  readonly signupDefault: 'open' | 'closed'
  readonly adminTotpRequired: boolean
  /**
   * Sign-ups of an address; codes tried by an account; passwords and codes that a signed-in user proves themselves
   * with.
   */
  readonly signUps: Turns
  readonly redemptions: Turns
  readonly proofs: Turns
  /** Notifications of a payment provider. */
  readonly notices: Turns
  /** Says a sentence to the operator. */
  readonly notice: (message: string) => void
}

export type CabinetCall = Call<Principal>

/** A call with the session that access found. */
export interface Visit extends ConsoleSession {
  readonly call: CabinetCall
  readonly accountId: string
}

/** Reads the body of a route of the contract. */
export type CabinetBody<K extends keyof CabinetApi> = BodyReader<BodyOf<CabinetApi[K]>>

function readerOf<K extends keyof CabinetApi>(key: K, { json }: CabinetCall): CabinetBody<K> {
  const row: WireRoute = CABINET_ROUTES[key]
  return bodyReader<BodyOf<CabinetApi[K]>>(row, json)
}

type Answers = { readonly [K in keyof CabinetApi]: CabinetApi[K]['answer'] }

function split(key: string): { readonly method: Route<Principal>['method']; readonly path: string } {
  const [method = '', path = ''] = key.split(' ')
  // The keys of the contract begin with these.
  return { method: method as Route<Principal>['method'], path }
}

function bodyOf(method: string): 'none' | 'json' {
  return method === 'GET' || method === 'DELETE' ? 'none' : 'json'
}

/** One endpoint of the contract for whoever is signed in. */
export function visitRoute<K extends keyof CabinetApi>(
  ports: CabinetPorts,
  key: K,
  handle: (visit: Visit, read: CabinetBody<K>) => Promise<Answers[K]> | Answers[K],
  status = 200,
): Route<Principal> {
  return visitReply(ports, key, async (visit, read) => ({ status, body: await handle(visit, read) }))
}

/** One endpoint of the contract that answers with a cookie. */
export function visitReply<K extends keyof CabinetApi>(
  ports: CabinetPorts,
  key: K,
  handle: (visit: Visit, read: CabinetBody<K>) => Promise<Reply>,
): Route<Principal> {
  const { method, path } = split(key)
  return {
    method,
    path,
    plane: 'session',
    body: bodyOf(method),
    handle: (call) => handle(visitOf(ports, call), readerOf(key, call)),
  }
}

/** One endpoint of the contract that is open to anybody, from our own pages. */
export function openRoute<K extends keyof CabinetApi>(
  key: K,
  handle: (call: CabinetCall, read: CabinetBody<K>) => Promise<Reply>,
): Route<Principal> {
  const { method, path } = split(key)
  return {
    method,
    path,
    plane: 'open',
    body: bodyOf(method),
    refuse: originRefusal,
    handle: (call) => handle(call, readerOf(key, call)),
  }
}

export function visitOf(ports: CabinetPorts, call: CabinetCall): Visit {
  const { user, session } = ports.access.sessionOf(call.request)
  if (user.accountId === null) throw reasonError('access_denied', 'account_missing', {}, 'This user has no account')
  return { call, user, session, accountId: user.accountId }
}

export function iso(atMs: number): string {
  return new Date(atMs).toISOString()
}

export function isoOrNull(atMs: number | null): string | null {
  return atMs === null ? null : iso(atMs)
}

/** Writes what a user did into the append-only audit log. */
export async function recordEvent(
  ports: Pick<CabinetPorts, 'store' | 'clock'>,
  actor: string,
  ip: string | null,
  action: EventAction,
  object: string,
  after: unknown = null,
): Promise<void> {
  await ports.store.events.append({
    atMs: ports.clock.now(),
    actor,
    ip,
    action,
    object,
    before: null,
    after: after === null ? null : JSON.stringify(after),
  })
}

/** A number of a cursor of ours; null = the beginning. */
export function cursorOf(query: URLSearchParams): number | null {
  const text = query.get('cursor')
  if (text === null) return null
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw fieldError('cursor', 'cursor', {}, 'must be one that an answer gave')
}
