import { type ConsoleSession, type ConsoleSessions, originRefusal } from '../../access/console-sessions.ts'
import type { Passwords } from '../../access/passwords.ts'
import type { Principal } from '../../access/principal.ts'
import type { Cipher } from '../../base/cipher.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import type { BodyOf, WireRoute } from '../../base/wire-route.ts'
import type { Call, HIJACKED, Reply, Route } from '../../http/edge.ts'
import { type BodyReader, bodyReader } from '../../kinds/fields/strict-body.ts'
import type { Letters } from '../../notices/letters.ts'
import type { UserRecord } from '../../store/people/user-store.ts'
import { MEMBER_ROLE_SCOPES, type MemberScope } from '../../tables/scopes.ts'
import { type ListRange, listReply } from '../records/list-file.ts'
import type { Actor, ConsolePorts } from '../records/ports.ts'
import { CABINET_ROUTES, type CabinetApi } from './contract.ts'

export interface CabinetPorts extends ConsolePorts {
  readonly sessions: ConsoleSessions
  readonly passwords: Passwords
  readonly cipher: Cipher
  readonly version: string
  readonly adminTotpRequired: boolean
  /** Whether a provider of payments is set up. */
  readonly takesPayments: boolean
  readonly letters: Pick<Letters, 'post'>
  /** A token with which a user sets a new password, once. */
  readonly newPasswordToken: (user: UserRecord) => Promise<string>
  /** Writes a log line for the operator. */
  readonly notice: (message: string) => void
}

export type CabinetCall = Call<Principal>

/** A call with its session. */
export interface Visit extends ConsoleSession, Actor {
  readonly call: CabinetCall
  /** The account of the session; empty where a route is about the user, who may have none. */
  readonly accountId: string
}

/** Whether the user's role in the account of the session has the scope. */
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
): Route<Principal> {
  const { status = 200 }: WireRoute = CABINET_ROUTES[key]
  return visitReply(ports, key, async (visit, read) => ({ status, body: await handle(visit, read) }))
}

/** A list of an account that grows without limit, page by page or as a file. */
export function listVisit<K extends `GET /cabinet/v1/${'ledger' | 'payments' | 'notices/deliveries' | 'refusals'}`>(
  ports: CabinetPorts,
  key: K,
  read: (visit: Visit, range: ListRange) => Promise<Answers[K]>,
  [usual, most]: readonly [number, number] = [50, 300],
): Route<Principal> {
  const list = { key, ...CABINET_ROUTES[key], usual, most }
  return visitReply(ports, key, (visit) =>
    listReply<Answers[K]>(visit.call, ports.clock, list, (range) => read(visit, range)),
  )
}

/** One route of the contract that answers with a cookie. */
export function visitReply<K extends keyof CabinetApi & SessionRoute>(
  ports: CabinetPorts,
  key: K,
  handle: (visit: Visit, read: CabinetBody<K>) => Promise<Reply | typeof HIJACKED>,
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
  const { email: actor } = found.user
  return { ...found, call, actor, ip: call.clientIp, accountId: membership?.accountId ?? '' }
}

/** Refuses a user whose role in the account of the session lacks the scope. */
export function requireScope({ membership }: Pick<Visit, 'membership'>, scope: MemberScope): void {
  if (membership === null) throw reasonError('account_missing')
  if (may({ membership }, scope)) return
  throw reasonError('role_needed', { role: membership.role })
}

/** The number in a cursor that we gave out; null = the beginning. */
export function cursorOf(query: URLSearchParams): number | null {
  const text = query.get('cursor')
  if (text === null) return null
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw fieldError('cursor', 'cursor')
}

/** A spreadsheet of the cabinet. */
export interface CabinetFile {
  readonly scope: MemberScope
  readonly route: WireRoute
  send(ports: CabinetPorts, visit: Visit): Promise<typeof HIJACKED>
}

/** `self` = every signed-in person, for their own settings only. */
export type RouteScope = MemberScope | 'self'

/** Routes of the contract that need no session. */
export type OpenRoute =
  | 'GET /cabinet/v1/session'
  | 'GET /cabinet/v1/status'
  | `POST /cabinet/v1/${'sign-up' | 'sign-up/link' | 'sign-in' | 'sign-in/code' | 'password-reset' | 'setup' | 'setup/check' | 'invitations/check' | 'invitations/join'}`
export type SessionRoute = Exclude<keyof CabinetApi, OpenRoute>

/** The scope that each route of a session needs. A route without a row does not compile. */
export const ROUTE_SCOPES: Readonly<Record<SessionRoute, RouteScope>> = {
  'POST /cabinet/v1/sign-out': 'self',
  'GET /cabinet/v1/profile': 'self',
  'PATCH /cabinet/v1/profile': 'self',
  'POST /cabinet/v1/password': 'self',
  'POST /cabinet/v1/totp': 'self',
  'POST /cabinet/v1/totp/confirm': 'self',
  'POST /cabinet/v1/totp/recovery-codes': 'self',
  'POST /cabinet/v1/totp/disable': 'self',
  'GET /cabinet/v1/identities': 'self',
  'POST /cabinet/v1/identities/link': 'self',
  'POST /cabinet/v1/identities/:id/unlink': 'self',
  'GET /cabinet/v1/sessions': 'self',
  'DELETE /cabinet/v1/sessions/:id': 'self',
  'POST /cabinet/v1/sessions/revoke-others': 'self',
  'GET /cabinet/v1/sign-ins': 'self',
  'POST /cabinet/v1/account': 'self',

  'GET /cabinet/v1/summary': 'account:read',
  'GET /cabinet/v1/models': 'account:read',
  'GET /cabinet/v1/models/*id': 'account:read',
  'GET /cabinet/v1/keys': 'keys:read',
  'GET /cabinet/v1/keys/:id': 'keys:read',
  'POST /cabinet/v1/keys': 'keys:write',
  'PATCH /cabinet/v1/keys/:id': 'keys:write',
  'POST /cabinet/v1/keys/:id/rotate': 'keys:write',
  'DELETE /cabinet/v1/keys/:id': 'keys:write',
  'GET /cabinet/v1/management-keys': 'programs:write',
  'POST /cabinet/v1/management-keys': 'programs:write',
  'DELETE /cabinet/v1/management-keys/:id': 'programs:write',

  'GET /cabinet/v1/usage': 'usage:read',
  'GET /cabinet/v1/usage/hours': 'usage:read',
  'GET /cabinet/v1/apps': 'usage:read',
  'GET /cabinet/v1/log': 'usage:read',
  'GET /cabinet/v1/log/filters': 'usage:read',
  'GET /cabinet/v1/log/:id': 'usage:read',
  'GET /cabinet/v1/refusals': 'usage:read',

  'GET /cabinet/v1/ledger': 'money:read',
  'GET /cabinet/v1/statement': 'money:read',
  'GET /cabinet/v1/payments': 'money:read',
  'GET /cabinet/v1/payments/:id': 'money:read',
  'POST /cabinet/v1/payments': 'money:write',
  'POST /cabinet/v1/payments/:id/check': 'money:write',
  'POST /cabinet/v1/codes/redeem': 'money:write',
  'GET /cabinet/v1/notices': 'money:read',
  'PATCH /cabinet/v1/notices': 'money:write',
  'POST /cabinet/v1/notices/channels': 'money:write',
  'PATCH /cabinet/v1/notices/channels/:id': 'money:write',
  'DELETE /cabinet/v1/notices/channels/:id': 'money:write',
  'POST /cabinet/v1/notices/channels/:id/code': 'money:write',
  'POST /cabinet/v1/notices/channels/:id/confirm': 'money:write',
  'POST /cabinet/v1/notices/channels/:id/test': 'money:write',
  'GET /cabinet/v1/notices/deliveries': 'money:read',
  'POST /cabinet/v1/notices/deliveries/:id/replay': 'money:write',

  'GET /cabinet/v1/members': 'members:read',
  'PATCH /cabinet/v1/members/:id': 'members:write',
  'POST /cabinet/v1/members/:id/remove': 'members:write',
  'POST /cabinet/v1/members/leave': 'account:read',
  'POST /cabinet/v1/invitations': 'members:write',
  'DELETE /cabinet/v1/invitations/:id': 'members:write',
}
