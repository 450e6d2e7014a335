import type { EventAction } from '../ledger/event-action.ts'
import type { Access } from '../access/access.ts'
import type { Principal } from '../access/principal.ts'
import type { Provider } from '../catalog/catalog.ts'
import type { ProviderTrial } from '../catalog/listed-model.ts'
import type { CatalogService } from '../catalog/catalog-service.ts'
import type { PriceFeed } from '../catalog/price-feed.ts'
import { covers, type AdminScope } from '../tables/admin-scopes.ts'
import type { ApiError } from '../base/errors.ts'
import { reasonError } from '../base/refusals.ts'
import type { Call, HIJACKED, Reply, Route } from '../http/edge.ts'
import type { PeriodStarts } from '../ledger/ledger-store.ts'
import type { KeyWrap } from '../ledger/key-wrap.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../base/ids.ts'
import { wholeParameter } from '../base/query-parameters.ts'
import { bodyReader, type BodyReader } from '../kinds/fields/strict-body.ts'
import type { AuditCheck } from '../store/audit/audit-store.ts'
import type { MailedLinks } from '../notices/mailed-links.ts'
import type { ChannelType } from '../store/notices/notice-rows.ts'
import type { PageRange } from '../store/page.ts'
import type { Store } from '../store/store.ts'
import type { AdminWireRoute, BodyOf } from '../http/wire-route.ts'
import { ADMIN_ROUTES, type AdminApi } from '../api/admin/contract.ts'
import type { SetupLinks } from '../api/admin/setup-links.ts'
import { ownValue } from '../base/own-value.ts'

/** Health and speed of an endpoint, as the relay measures them. */
export interface HealthSource {
  report(endpointId: string): {
    readonly unhealthy: boolean
    readonly uptime5m: number | null
    readonly uptime30m: number | null
    readonly uptime1d: number | null
    readonly latency30m: Readonly<Record<'p50' | 'p75' | 'p90' | 'p99', number>> | null
    readonly throughput30m: Readonly<Record<'p50' | 'p75' | 'p90' | 'p99', number>> | null
  }
}

export interface AdminPorts {
  readonly store: Store
  readonly catalog: CatalogService
  readonly prices: Pick<PriceFeed, 'fetchLists' | 'book'>
  readonly access: Access
  readonly links: SetupLinks
  /** Whether sign-up is open where the live settings do not say. */
  readonly signupDefault: 'open' | 'closed'
  readonly health: HealthSource
  readonly videos: { resolve(id: string, upstreamId: string | null): Promise<'resolved' | 'unknown' | 'not_parked'> }
  readonly ids: IdSource
  readonly clock: Clock
  readonly periods: () => PeriodStarts
  readonly keyWrap: KeyWrap
  readonly allowPrivateUpstreams: boolean
  /** null = no mail server or no public address is set. */
  readonly mailedLinks: MailedLinks | null
  /** Ways to tell people that are set up. */
  readonly channelTypes: ReadonlySet<ChannelType>
  /** null = taken from the request's Host. */
  readonly publicUrl: string | null
  /** Asks a provider for its models; nothing is charged. */
  readonly tryProvider: (provider: Provider) => Promise<ProviderTrial>
  /** Waits for money of the account that nodes have set aside, where an entry of this amount needs it. */
  readonly freed: (accountId: string, amountMicro: bigint) => Promise<void>
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

/** One route of the contract. The handler reads the body after it has found what the path names. */
export function adminRoute<K extends keyof AdminApi>(
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

export function page(call: AdminCall): PageRange {
  const cursor = call.query.get('cursor')
  return {
    limit: wholeParameter(call.query, 'limit', 1, 1_000) ?? 100,
    offset: wholeParameter(call.query, 'offset', 0, Number.MAX_SAFE_INTEGER) ?? 0,
    ...(cursor === null ? {} : { cursor }),
  }
}

export function notFound(what: string, id: string): ApiError {
  return reasonError('not_found', 'unknown_id', { id: id.slice(0, 200) }, `${what} '${id.slice(0, 200)}' not found`)
}

/** Appends a change to the audit log: who, what, when, before and after. */
export async function recordEvent(
  ports: AdminPorts,
  call: AdminCall,
  action: EventAction,
  object: string,
  before: unknown,
  after: unknown,
): Promise<void> {
  await ports.store.events.append({
    atMs: ports.clock.now(),
    actor: actor(ports, call),
    ip: call.clientIp,
    action,
    object,
    before: before === null ? null : JSON.stringify(before),
    after: after === null ? null : JSON.stringify(after),
  })
}

export function actor(ports: AdminPorts, call: AdminCall): string {
  return ports.access.actorOf(call.request) ?? 'unknown'
}

/** Nobody hands out, takes away or resets what they may not do themselves. */
export function refuseBeyondOwn(ports: AdminPorts, call: AdminCall, scopes: Iterable<AdminScope>): void {
  if (!covers(ports.access.scopesOf(call.request), scopes))
    throw reasonError(
      'access_denied',
      'beyond_own',
      {},
      'This may do more than you: it takes somebody who may do it all',
    )
}

export function param(call: AdminCall, name: string): string {
  return ownValue(call.params, name) ?? ''
}
