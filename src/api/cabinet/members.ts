import { type ConsoleSession, TOKEN_SHAPE, tokenHash } from '../../access/console-sessions.ts'
import type { Principal } from '../../access/principal.ts'
import { readEmail } from '../../base/mail-address.ts'
import { rubles } from '../../base/money.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import type { ProofBody } from '../../base/wire-route.ts'
import { ipKey } from '../../http/client-ip.ts'
import type { Reply, Route } from '../../http/edge.ts'
import type { Invitation as InvitationRecord } from '../../store/people/member-store.ts'
import type { SessionRecord } from '../../store/people/sign-in-store.ts'
import { type NewUser, type UserRecord, emailTaken } from '../../store/people/user-store.ts'
import {
  changeMember,
  invite,
  membersOf,
  type PeopleCall,
  peopleOf,
  removeMember,
  revokeInvitation,
} from '../records/people.ts'
import { notFound, recordEvent } from '../records/ports.ts'
import type { InvitationFacts, JoinBody } from './member-contract.ts'
import { proofOf, proveOwner } from './own-proof.ts'
import { newUser } from './people.ts'
import { type CabinetCall, type CabinetPorts, type Visit, may, openRoute, visitRoute } from './ports.ts'
import { sessionState } from './session-state.ts'
import { noted } from './sign-in.ts'

/** The people of the account, and invitations to it. */
export function memberRoutes(ports: CabinetPorts): readonly Route<Principal>[] {
  return [
    visitRoute(ports, 'GET /cabinet/v1/members', async (visit) => {
      const of = ofVisit(ports, visit, {})
      return may(visit, 'members:write')
        ? peopleOf(ports, of)
        : { members: await membersOf(ports, of), invitations: [] }
    }),
    visitRoute(ports, 'PATCH /cabinet/v1/members/:id', (visit, read) => {
      const given = read()
      return changeMember(ports, ofVisit(ports, visit, given), idIn(visit), given)
    }),
    visitRoute(ports, 'POST /cabinet/v1/members/:id/remove', (visit, read) =>
      removeMember(ports, ofVisit(ports, visit, {}), idIn(visit), read().disable_keys),
    ),
    visitRoute(ports, 'POST /cabinet/v1/members/leave', async (visit) => {
      const { accountId, user, membership } = visit
      if (membership?.role === 'viewer') throw reasonError('role_needed', { role: membership.role })
      if ((await ports.store.members.remove(accountId, user.id, { evenOwner: true })) === 'last_owner')
        throw reasonError('last_owner')
      ports.access.invalidate({ accountId })
      await recordEvent(ports, visit, 'member.leave', user.id, { account: accountId })
      return { left: true }
    }),
    visitRoute(ports, 'POST /cabinet/v1/invitations', (visit, read) => {
      const given = read()
      return invite(ports, ofVisit(ports, visit, given), given)
    }),
    visitRoute(ports, 'DELETE /cabinet/v1/invitations/:id', (visit) =>
      revokeInvitation(ports, ofVisit(ports, visit, {}), idIn(visit)),
    ),
  ]
}

function ofVisit(ports: CabinetPorts, visit: Visit, proof: ProofBody): PeopleCall {
  const { user, accountId } = visit
  return {
    ...visit,
    userId: user.id,
    language: user.language,
    from: ['letters', accountId],
    proveOwner: () => proveOwner(ports, visit, proofOf(proof)),
  }
}

function idIn({ call }: Visit): string {
  return call.params['id'] ?? ''
}

/** Joining an account by an invitation, and changing from one account to another. */
export function joinRoutes(ports: CabinetPorts, oidcName: string | null): readonly Route<Principal>[] {
  return [
    openRoute('POST /cabinet/v1/invitations/check', async (call, read) => {
      const invitation = await checkInvitation(ports, read().token)
      const account = await ports.store.accounts.get(invitation.accountId)
      const visitor = await ports.sessions.find(call.request)
      const body: InvitationFacts = {
        account_name: account?.name ?? '',
        role: invitation.role,
        monthly_limit: invitation.monthlyLimitMicro === null ? null : rubles(invitation.monthlyLimitMicro),
        email: invitation.email,
        signed_in_as: visitor?.user.email ?? null,
      }
      return { status: 200, body }
    }),
    openRoute('POST /cabinet/v1/invitations/join', (call, read) => join(ports, call, read(), oidcName)),
    visitRoute(ports, 'POST /cabinet/v1/account', async ({ call, user, session }, read) => {
      const { account } = read()
      const memberships = await ports.store.members.of(user)
      if (!memberships.some(({ accountId }) => accountId === account)) {
        if (!ports.sessions.mayView(user) || (await ports.store.accounts.get(account)) === null)
          throw notFound('Account', account)
        await recordEvent(ports, { actor: user.email, ip: call.clientIp }, 'account.view', account)
      }
      await ports.store.sessions.choose(session.hash, account)
      return sessionState(ports, call, oidcName, { user, session: { ...session, accountId: account } })
    }),
  ]
}

async function checkInvitation(ports: CabinetPorts, token: string): Promise<InvitationRecord> {
  const found = TOKEN_SHAPE.test(token)
    ? await ports.store.members.findInvitation(tokenHash(token), ports.clock.now())
    : null
  if (found === null) throw reasonError('link_dead')
  return found
}

async function join(ports: CabinetPorts, call: CabinetCall, given: JoinBody, oidcName: string | null): Promise<Reply> {
  const invitation = await checkInvitation(ports, given.token)
  const visitor = await ports.sessions.find(call.request)
  if (visitor !== null) await refuseSigned(ports, visitor.user, invitation)
  const made = visitor === null ? await newPerson(ports, call, invitation, given) : null
  const user = visitor?.user ?? made
  if (user === null) throw new Error('Who is no visitor is a new person.')
  const used = await ports.store.members.join(tokenHash(given.token), user, made, ports.clock.now())
  if (used === null) throw reasonError('link_dead')
  await recordEvent(ports, { actor: user.email, ip: call.clientIp }, 'member.join', user.id, {
    account: used.accountId,
    invitation: used.id,
    role: used.role,
  })
  const after = await ports.store.users.update(user.id, { lastSignInAtMs: ports.clock.now() })
  if (after === null) throw new Error(`User ${user.id} was not found after they joined.`)
  if (visitor === null) await noted(ports, call, after, 'sign_up')
  const { session, cookies } = await sessionIn(ports, call, after, visitor, used.accountId)
  const body = { status: 'signed_in', ...(await sessionState(ports, call, oidcName, { user: after, session })) }
  return { status: 201, body, headers: { 'set-cookie': cookies } }
}

/** A signed-in user has not proved anything anew, so their session goes on with its age and its end. */
async function sessionIn(
  ports: CabinetPorts,
  call: CabinetCall,
  user: UserRecord,
  visitor: ConsoleSession | null,
  accountId: string,
): Promise<{ readonly session: SessionRecord; readonly cookies: readonly string[] }> {
  if (visitor === null) return ports.sessions.open(user, call.request, call.clientIp, accountId)
  await ports.store.sessions.choose(visitor.session.hash, accountId)
  return { session: { ...visitor.session, accountId }, cookies: [] }
}

async function refuseSigned(
  ports: CabinetPorts,
  user: UserRecord,
  { email, accountId }: InvitationRecord,
): Promise<void> {
  if (email !== null && email !== user.email) throw reasonError('link_not_yours', { email })
  if ((await ports.store.members.of(user)).some((place) => place.accountId === accountId))
    throw reasonError('member_already')
}

/** A user without an account of their own, not stored yet. */
async function newPerson(
  ports: CabinetPorts,
  call: CabinetCall,
  invitation: InvitationRecord,
  { email: givenEmail = null, password = null, name, language = null }: JoinBody,
): Promise<NewUser> {
  if (givenEmail === null && invitation.email === null) throw fieldError('email', 'required')
  if (password === null) throw fieldError('password', 'required')
  const email = readEmail(givenEmail ?? invitation.email ?? '')
  if (invitation.email !== null && invitation.email !== email)
    throw reasonError('link_not_yours', { email: invitation.email })
  ports.passwords.check('password', password, [email, email.split('@')[0] ?? ''])
  await ports.access.bounds.take('sign_ups', ipKey(call.clientIp))
  // A refusal because the address is taken does not use up the link. The bound keeps one link from testing many
  // addresses.
  await ports.access.bounds.take('joins', invitation.id)
  if ((await ports.store.users.findByEmail(email)) !== null) throw emailTaken(email)
  return newUser(ports, {
    email,
    name: name ?? email,
    passwordHash: await ports.passwords.hash(password),
    language,
    oidc: null,
  })
}
