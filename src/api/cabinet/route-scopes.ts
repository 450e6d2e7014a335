import type { MemberScope } from '../../tables/scopes.ts'
import type { CabinetApi } from './contract.ts'

/** `self` = every signed-in person, for their own settings only. */
export type RouteScope = MemberScope | 'self'

/** Routes of the contract that need no session. */
export type OpenRoute =
  | 'GET /cabinet/v1/session'
  | `POST /cabinet/v1/${'sign-up' | 'sign-in' | 'sign-in/code' | 'password-reset' | 'setup' | 'setup/check' | 'invitations/check' | 'invitations/join'}`
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
