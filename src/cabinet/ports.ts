import type { EventAction } from '../ledger/event-action.ts'
import type { Access } from '../access/access.ts'
import type { ConsoleSession, ConsoleSessions } from '../access/console-sessions.ts'
import type { Passwords } from '../access/passwords.ts'
import type { Principal } from '../access/principal.ts'
import { roleNeeded } from '../access/role-needed.ts'
import { originRefusal } from '../access/same-origin.ts'
import type { ModelType } from '../catalog/catalog.ts'
import type { CatalogService } from '../catalog/catalog-service.ts'
import type { Cipher } from '../lib/cipher.ts'
import { fieldError, reasonError } from '../base/refusals.ts'
import type { Call, Reply, Route } from '../http/edge.ts'
import type { PeriodStarts } from '../ledger/ledger-store.ts'
import type { Clock } from '../lib/clock.ts'
import { bodyReader, type BodyReader } from '../kinds/fields/strict-body.ts'
import type { IdSource } from '../base/ids.ts'
import type { Letters } from '../notices/letters.ts'
import type { MailedLinks } from '../notices/mailed-links.ts'
import type { UserRecord } from '../store/people/user-store.ts'
import type { ChannelType } from '../store/notices/notice-rows.ts'
import type { Store } from '../store/store.ts'
import type { BodyOf, WireRoute } from '../http/wire-route.ts'
import { MEMBER_ROLE_SCOPES, type MemberScope } from '../tables/member-scopes.ts'
import { CABINET_ROUTES, type CabinetApi } from '../api/cabinet/contract.ts'
import { ROUTE_SCOPES, type RouteScope, type SessionRoute } from '../api/cabinet/route-scopes.ts'
import type { Percentiles } from '../api/cabinet/model-contract.ts'
import type { Turns } from './turns.ts'

/** Health and speed of an endpoint, as the relay measures them. */
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
  /** Waits for money of the account that nodes have set aside, where a refund of this amount needs it. */
  readonly freed: (accountId: string, amountMicro: bigint) => Promise<void>
  readonly health: { report(endpointId: string): EndpointReport }
  /** Parameter names of an adapter's protocol. */
  readonly parametersOf: (adapterName: string, type: ModelType) => readonly string[]
  /** null = taken from the request's Host. */
  readonly publicUrl: string | null
  readonly version: string
  /** Whether sign-up is open where the live settings do not say. */
  readonly signupDefault: 'open' | 'closed'
  readonly adminTotpRequired: boolean
  /** Limits of sign-ups by address, of redeemed codes by account, and of passwords and codes by signed-in user. */
  readonly signUps: Turns
  readonly redemptions: Turns
  readonly proofs: Turns
  /** Limits of codes for receivers of notices, by account and by mailbox, and of test and repeated messages by account. */
  readonly accountCodes: Turns
  readonly addressCodes: Turns
  readonly noticeTests: Turns
  /** Limit of reports by hour, by account. */
  readonly hourReports: Turns
  /** Ways to tell people that are set up. */
  readonly channelTypes: ReadonlySet<ChannelType>
  readonly letters: Pick<Letters, 'post'>
  /** null = no mail server or no public address is set. */
  readonly mailedLinks: MailedLinks | null
  /** A token with which a user sets a new password, once. */
  readonly newPasswordToken: (user: UserRecord) => Promise<string>
  /** Limits of links for forgotten passwords, by the asker's address and by mailbox. */
  readonly resets: Turns
  readonly resetMails: Turns
  /** Limit of a payment provider's notifications. */
  readonly notices: Turns
  /** Writes a sentence for the operator. */
  readonly notice: (message: string) => void
}

export type CabinetCall = Call<Principal>

/** A call with its session. */
export interface Visit extends ConsoleSession {
  readonly call: CabinetCall
  /** The account of the session; empty where a route is about the user, who may have none. */
  readonly accountId: string
}

/** Whether the user may do that in the account of the session. */
export function may({ membership }: Pick<Visit, 'membership'>, scope: MemberScope): boolean {
  return membership !== null && MEMBER_ROLE_SCOPES[membership.role].has(scope)
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
  // The keys of the contract begin with a method and a path.
  return { method: method as Route<Principal>['method'], path }
}

function bodyOf(method: string): 'none' | 'json' {
  return method === 'GET' || method === 'DELETE' ? 'none' : 'json'
}

/** One route of the contract for a signed-in user. */
export function visitRoute<K extends keyof CabinetApi & SessionRoute>(
  ports: CabinetPorts,
  key: K,
  handle: (visit: Visit, read: CabinetBody<K>) => Promise<Answers[K]> | Answers[K],
  status = 200,
): Route<Principal> {
  return visitReply(ports, key, async (visit, read) => ({ status, body: await handle(visit, read) }))
}

/** One route of the contract that answers with a cookie. */
export function visitReply<K extends keyof CabinetApi & SessionRoute>(
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
    handle: (call) => handle(visitOf(ports, call, ROUTE_SCOPES[key]), readerOf(key, call)),
  }
}

/** One route of the contract that needs no session, only a request from our own pages. */
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

/** The visit of a user whose role in the account has the scope. */
export function visitOf(ports: CabinetPorts, call: CabinetCall, scope: RouteScope): Visit {
  const found = ports.access.sessionOf(call.request)
  const { membership } = found
  if (scope !== 'self') requireScope(found, scope)
  return { ...found, call, accountId: membership?.accountId ?? '' }
}

/** Refuses what the user may not do in the account of the session. */
export function requireScope({ membership }: Pick<Visit, 'membership'>, scope: MemberScope): void {
  if (membership === null) throw reasonError('access_denied', 'account_missing', {}, 'This user has no account')
  if (may({ membership }, scope)) return
  throw roleNeeded(membership.role)
}

/** Appends a user's change to the audit log. */
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

/** The number in a cursor that we gave out; null = the beginning. */
export function cursorOf(query: URLSearchParams): number | null {
  const text = query.get('cursor')
  if (text === null) return null
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw fieldError('cursor', 'cursor', {}, 'must be one that an answer gave')
}
