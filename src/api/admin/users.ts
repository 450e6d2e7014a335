import { isDeepStrictEqual } from 'node:util'
import { identitiesOf, identityNamed, takeIdentity } from '../../access/identities.ts'
import type { Principal } from '../../access/principal.ts'
import { ROLE_SCOPES, type OperatorRole } from '../../tables/scopes.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import type { Route } from '../../http/edge.ts'
import { publicUrlOf } from '../../http/public-url.ts'
import { differing, isEmpty } from '../../base/objects.ts'
import type { MailedLink } from '../../notices/letters.ts'
import { choiceParameter } from '../../base/query-parameters.ts'
import type { Static } from '../../base/schema.ts'
import type { UserPatch, UserRecord } from '../../store/people/user-store.ts'
import { ConsoleUser, UserRole, UserSort, type PersonLink } from './account-contract.ts'
import { type BodyOf, wire } from '../../base/wire-route.ts'
import type { AdminApi } from './contract.ts'
import {
  listRoute,
  actor,
  adminRoute,
  notFound,
  param,
  recordChange,
  refuseBeyondOwn,
  refuseLonger,
  type AdminBody,
  type AdminCall,
  type AdminAnswer,
  type AdminPorts,
} from './ports.ts'
import { listBody } from '../records/list-file.ts'
import { externalIdPatch, recordId, refusingTaken } from './records.ts'
import { isoTime } from '../../base/time.ts'
import { changeMember, invite, type PeopleCall, peopleOf, removeMember, revokeInvitation } from '../records/people.ts'
import { accountNamed } from './accounts.ts'

/** People of the console, and blocked addresses. No route lets one person act as another. */
export function userAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    listRoute(ports, 'GET /admin/v1/users', async ({ query }, range) =>
      listBody(
        await ports.store.users.list({
          accountId: query.get('account'),
          role: choiceParameter(query, 'role', UserRole),
          query: query.get('query'),
          order: choiceParameter(query, 'sort', UserSort),
          ...range,
        }),
        wireUser,
      ),
    ),
    adminRoute('GET /admin/v1/users/:id', async (call) => wireUser(await one(ports, call))),
    adminRoute('PATCH /admin/v1/users/:id', (call, read) => patchUser(ports, call, read)),
    adminRoute('POST /admin/v1/users/:id/password-link', (call, read) => passwordLink(ports, call, read)),
    adminRoute('DELETE /admin/v1/users/:id/identities/:identity', (call) => unlinkIdentity(ports, call)),
    adminRoute('GET /admin/v1/ip-blocks', async () => {
      const data = ports.access.blocks().map(({ ip, untilMs, times }) => ({ ip, until: isoTime(untilMs), times }))
      return { data, total: data.length }
    }),
    adminRoute('DELETE /admin/v1/ip-blocks/*ip', async (call) => {
      const ip = param(call, 'ip')
      if (!(await ports.access.unblock(ip))) throw notFound('Blocked address', ip)
      await recordChange(ports, call, 'ip_block.delete', ip, null, null)
      return { id: ip, deleted: true }
    }),
  ]
}

function wireUser(user: UserRecord): ConsoleUser {
  return wire(ConsoleUser, user, {
    account: user.accountId,
    has_password: user.passwordHash !== null,
    has_oidc: user.oidc !== null,
    identities: identitiesOf(user),
    totp: user.totpEnabled,
  })
}

async function one(ports: AdminPorts, call: AdminCall): Promise<UserRecord> {
  const given = param(call, 'id')
  const id = await recordId(ports, 'user', given)
  const user = id === null ? null : await ports.store.users.get(id)
  if (user === null) throw notFound('User', given)
  return user
}

/**
 * The user that the path names. They may do no more than the caller, since access to their account is access to all
 * that they may do.
 */
async function oneWithin(ports: AdminPorts, call: AdminCall): Promise<UserRecord> {
  const user = await one(ports, call)
  if (user.operatorRole !== null) refuseBeyondOwn(ports, call, ROLE_SCOPES[user.operatorRole])
  return user
}

function operatorRoleAfter(
  { operatorRole: before }: UserRecord,
  { role, operator_role: given }: BodyOf<AdminApi['PATCH /admin/v1/users/:id']>,
): OperatorRole | null {
  if (role === 'user') {
    if (typeof given === 'string')
      throw fieldError('operator_role', 'one_of', { allowed: 'null' }, 'must be null for a user')
    return null
  }
  return given ?? before ?? (role === 'admin' ? 'owner' : null)
}

async function patchUser(
  ports: AdminPorts,
  call: AdminCall,
  read: AdminBody<'PATCH /admin/v1/users/:id'>,
): Promise<AdminAnswer<'PATCH /admin/v1/users/:id'>> {
  const { id } = await one(ports, call)
  const body = read()
  const changed = await refusingTaken(() =>
    ports.store.users.change(id, (current) => patchOf(ports, call, current, body)),
  )
  if (changed === null) throw notFound('User', id)
  const { accountId } = changed.after
  if (accountId !== null) ports.access.invalidate({ accountId })
  const [before, after] = [wireUser(changed.before), wireUser(changed.after)]
  if (!isDeepStrictEqual(before, after)) await recordChange(ports, call, 'user.update', id, before, after)
  return after
}

/** The patch is decided by the user's state while nobody else changes it. */
function patchOf(
  ports: AdminPorts,
  call: AdminCall,
  before: UserRecord,
  body: BodyOf<AdminApi['PATCH /admin/v1/users/:id']>,
): UserPatch {
  const operatorRole = operatorRoleAfter(before, body)
  const { disabled, external_id: externalId } = body
  const patch: UserPatch = {
    role: operatorRole === null ? 'user' : 'admin',
    operatorRole,
    ...(disabled === undefined ? {} : { disabled }),
    ...externalIdPatch(externalId),
  }
  for (const role of [before.operatorRole, operatorRole])
    if (role !== null) refuseBeyondOwn(ports, call, ROLE_SCOPES[role])
  if (isEmpty(differing(before, patch))) return {}
  const gains =
    operatorRole !== null && (operatorRole !== before.operatorRole || (before.disabled && disabled === false))
  if (gains) refuseLonger(ports, call, null)
  const loses =
    before.operatorRole !== null && !before.disabled && (operatorRole !== before.operatorRole || disabled === true)
  if (loses && before.email === actor(ports, call)) throw reasonError('another_needed')
  return patch
}

/** Every session of the user ends, since any of them may have been opened through this identity. */
async function unlinkIdentity(
  ports: AdminPorts,
  call: AdminCall,
): Promise<AdminAnswer<'DELETE /admin/v1/users/:id/identities/:identity'>> {
  const user = await oneWithin(ports, call)
  const identity = identityNamed(user, param(call, 'identity'))
  await takeIdentity(ports.store.users, user, identity)
  await ports.store.sessions.deleteOthers(user.id, null)
  await recordChange(ports, call, 'user.oidc_unlink', user.id, identity, null)
  return { id: identity.id, deleted: true }
}

async function passwordLink(
  ports: AdminPorts,
  call: AdminCall,
  read: AdminBody<'POST /admin/v1/users/:id/password-link'>,
): Promise<AdminAnswer<'POST /admin/v1/users/:id/password-link'>> {
  const user = await oneWithin(ports, call)
  const { clear_totp: clearTotp = false } = read()
  refuseOwnLink(ports, call, user.email)
  if (user.operatorRole !== null) refuseLonger(ports, call, null)
  const token = await ports.links.newPassword(user, clearTotp)
  await recordChange(ports, call, 'user.password_link', user.id, null, { clear_totp: clearTotp })
  return await handedLink(ports, call, user, { kind: 'password', token })
}

/** A link for the operator to hand over; the person also gets it by mail if mail is set up. */
export async function handedLink(
  ports: AdminPorts,
  call: AdminCall,
  { id, email, language }: Pick<UserRecord, 'id' | 'email' | 'language'>,
  { kind, token }: Pick<MailedLink, 'kind'> & { readonly token: string },
): Promise<Static<typeof PersonLink>> {
  const letter = { email, language, kind, from: ['admin_letters', actor(ports, call)] } as const
  const mailed = (await ports.mailedLinks?.send(letter, () => token)) === true
  return { id, email, link: `${publicUrlOf(ports.publicUrl, call)}/setup?token=${token}`, mailed }
}

/** Refuses a link for the caller's own user: anyone who finds the session open could set a new password with it. */
export function refuseOwnLink(ports: AdminPorts, call: AdminCall, email: string): void {
  if (actor(ports, call) === email)
    throw reasonError(
      'another_needed',
      {},
      { says: 'Another administrator must make this link for you; change your own password in the security settings' },
    )
}

/** Who works in an account; the operator gives and takes access to it. */
export function peopleAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    adminRoute('GET /admin/v1/accounts/:id/members', async (call) => peopleOf(ports, await ofOperator(ports, call))),
    adminRoute('PATCH /admin/v1/accounts/:id/members/:member', async (call, read) =>
      changeMember(ports, await ofOperator(ports, call), param(call, 'member'), read()),
    ),
    adminRoute('POST /admin/v1/accounts/:id/members/:member/remove', async (call, read) =>
      removeMember(ports, await ofOperator(ports, call), param(call, 'member'), read().disable_keys),
    ),
    adminRoute('POST /admin/v1/accounts/:id/invitations', async (call, read) =>
      invite(ports, await ofOperator(ports, call), read()),
    ),
    adminRoute('DELETE /admin/v1/accounts/:id/invitations/:invitation', async (call) =>
      revokeInvitation(ports, await ofOperator(ports, call), param(call, 'invitation')),
    ),
  ]
}

async function ofOperator(ports: AdminPorts, call: AdminCall): Promise<PeopleCall> {
  const { id } = await accountNamed(ports, param(call, 'id'))
  const name = actor(ports, call)
  return {
    accountId: id,
    userId: null,
    actor: name,
    ip: call.clientIp,
    call,
    // Nobody knows the language of a person who is not here yet.
    language: null,
    from: ['admin_letters', name],
    // The row of the route asks for the proof.
    proveOwner: () => Promise.resolve(),
  }
}
