import { isDeepStrictEqual } from 'node:util'
import type { EventAction } from '../../ledger/event-action.ts'
import type { Principal } from '../../access/principal.ts'
import type { Provider } from '../../catalog/catalog.ts'
import type { ProviderTrial } from '../../catalog/offered-models.ts'
import type { PriceUpdates } from '../../catalog/feed-ports.ts'
import { covers, type AdminScope } from '../../tables/scopes.ts'
import type { ApiError } from '../../base/errors.ts'
import { reasonError } from '../../base/refusals.ts'
import type { Call, HIJACKED, Reply, Route } from '../../http/edge.ts'
import type { KeyWrap } from '../../ledger/key-wrap.ts'
import { bodyReader, type BodyReader } from '../../kinds/fields/strict-body.ts'
import type { AuditCheck } from '../../store/audit/audit-store.ts'
import type { PageRange } from '../../store/page.ts'
import type { PaidRoom } from '../../pay/paid-room.ts'
import type { Store } from '../../store/store.ts'
import type { AdminWireRoute } from './admin-route.ts'
import type { BodyOf } from '../../base/wire-route.ts'
import { ADMIN_ROUTES, type AdminApi } from './contract.ts'
import { listReply, type ListedRows } from '../records/list-file.ts'
import { notFound as unknownId, recordEvent, type ConsolePorts } from '../records/ports.ts'
import type { SetupLinks } from './setup-links.ts'
import { ownValue } from '../../base/own-value.ts'
import { isoTime } from '../../base/time.ts'

export interface AdminPorts extends ConsolePorts {
  readonly prices: PriceUpdates
  readonly links: SetupLinks
  readonly rooms: readonly Pick<PaidRoom, 'operator'>[]
  readonly keyWrap: KeyWrap
  readonly allowPrivateUpstreams: boolean
  /** Asks a provider for its models; nothing is charged. */
  readonly tryProvider: (provider: Provider) => Promise<ProviderTrial>
  /** Throws unless the person of the call's session proves their identity anew; a null field was not given. */
  readonly prove: (call: AdminCall, proof: Readonly<Record<'password' | 'code', string | null>>) => Promise<void>
  readonly rewrap: () => Promise<number>
  readonly audit: (sinceMs: number) => Promise<readonly AuditCheck[]>
  readonly replay: (fromMs: number, toMs: number) => ReturnType<Store['audit']['replay']>
}

export type AdminCall = Call<Principal>

/** The answer of a route of the contract. */
export interface AdminReply<K extends keyof AdminApi> {
  readonly status: number
  readonly body: AdminApi[K]['answer']
  readonly headers?: Readonly<Record<string, string>>
}

/** Reads the body of a route of the contract. */
export type AdminBody<K extends keyof AdminApi> = BodyReader<BodyOf<AdminApi[K]>>

/** An answer that is not JSON. */
export type TextReply = Reply & { readonly body: string; readonly contentType: string }

/** The body of the answer of a route of the contract. */
export type AdminAnswer<K extends keyof AdminApi> = AdminApi[K]['answer']

/** One route of the contract, which answers with the status of its row. */
export function adminRoute<K extends keyof AdminApi>(
  key: K,
  handle: (call: AdminCall, read: AdminBody<K>) => Promise<AdminAnswer<K>> | AdminAnswer<K>,
): Route<Principal> {
  const { status = 200 }: AdminWireRoute = ADMIN_ROUTES[key]
  return adminReply(key, async (call, read) => ({ status, body: await handle(call, read) }))
}

/** The same for an answer that is more than a body. The handler reads the body after finding what the path names. */
export function adminReply<K extends keyof AdminApi>(
  key: K,
  handle: (call: AdminCall, read: AdminBody<K>) => Promise<AdminReply<K> | TextReply | typeof HIJACKED>,
): Route<Principal> {
  const [method = '', path = ''] = key.split(' ')
  const row: AdminWireRoute = ADMIN_ROUTES[key]
  return {
    // The keys of the contract begin with a method and a path.
    method: method as Route<Principal>['method'],
    path,
    plane: 'admin',
    scope: row.scope,
    body: row.body === undefined ? 'none' : 'json',
    handle: (call) => handle(call, bodyReader<BodyOf<AdminApi[K]>>(row, call.json)),
  }
}

/** The routes that answer a list page by page. */
export type ListRoute = {
  [K in keyof AdminApi]: AdminApi[K]['answer'] extends ListedRows & { readonly total: number } ? K : never
}[keyof AdminApi]

/** A list, page by page or as a file. */
export function listRoute<K extends ListRoute>(
  { clock }: Pick<AdminPorts, 'clock'>,
  key: K,
  read: (call: AdminCall, range: PageRange) => Promise<AdminApi[K]['answer'] & ListedRows>,
): Route<Principal> {
  const { answer }: AdminWireRoute = ADMIN_ROUTES[key]
  const list = { key, answer, usual: 100, most: 1_000 }
  return adminReply(key, (call) =>
    listReply<AdminApi[K]['answer'] & ListedRows>(call, clock, list, (range) => read(call, range)),
  )
}

export function notFound(what: string, id: string): ApiError {
  return unknownId(what, id, 200)
}

/** Appends a change by the caller to the audit log. */
export function recordChange(
  ports: AdminPorts,
  call: AdminCall,
  action: EventAction,
  object: string,
  before: unknown,
  after: unknown,
): Promise<void> {
  return recordEvent(ports, { actor: actor(ports, call), ip: call.clientIp }, action, object, after, before)
}

export function actor(ports: AdminPorts, call: AdminCall): string {
  return ports.access.actorOf(call.request) ?? 'unknown'
}

/** Refuses a caller who would give, take away or reset access that they do not have themselves. */
export function refuseBeyondOwn(ports: AdminPorts, call: AdminCall, scopes: Iterable<AdminScope>): void {
  if (!covers(ports.access.scopesOf(call.request), scopes)) throw reasonError('beyond_own')
}

/**
 * Refuses a change of a field of the route's body that needs a scope which the caller lacks. `before`: null = the
 * record is new.
 */
export function requireParts(
  ports: AdminPorts,
  call: AdminCall,
  route: keyof AdminApi,
  before: object | null,
  after: object,
): void {
  const { parts = {} }: AdminWireRoute = ADMIN_ROUTES[route]
  const own = ports.access.scopesOf(call.request)
  const [was, is] = [new Map(Object.entries(before ?? {})), new Map(Object.entries(after))]
  for (const [part, scope] of Object.entries(parts))
    if (!own.has(scope) && !isDeepStrictEqual(was.get(part) ?? null, is.get(part) ?? null))
      throw reasonError('scope_needed', { scope }, { says: `${part}: its change needs the scope ${scope}` })
}

/** Refuses a caller who would give access that lasts longer than their own. `endsAtMs`: null = it has no end. */
export function refuseLonger(ports: AdminPorts, call: AdminCall, endsAtMs: number | null): void {
  refuseBeyondEnd(ports.access.adminTokenOf(call.request)?.expiresAtMs ?? null, endsAtMs)
}

export function refuseBeyondEnd(ownMs: number | null, endsAtMs: number | null): void {
  if (ownMs === null || (endsAtMs !== null && endsAtMs <= ownMs)) return
  const until = isoTime(ownMs)
  throw reasonError('beyond_end', { until })
}

export function param(call: AdminCall, name: string): string {
  return ownValue(call.params, name) ?? ''
}
