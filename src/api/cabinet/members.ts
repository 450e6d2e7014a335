import { randomBytes } from 'node:crypto'
import { type ConsoleSession, TOKEN_SHAPE, tokenHash } from '../../access/console-sessions.ts'
import type { Principal } from '../../access/principal.ts'
import { readEmail } from '../../base/mail-address.ts'
import { type Micro, microOf, rubles } from '../../base/money.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import type { Static } from '../../base/schema.ts'
import { DAY_MS, isoTime } from '../../base/time.ts'
import { wire } from '../../base/wire-route.ts'
import { ipKey } from '../../http/client-ip.ts'
import type { Reply, Route } from '../../http/edge.ts'
import { publicUrlOf } from '../../http/public-url.ts'
import type { Invitation as InvitationRecord, Member as MemberRecord } from '../../store/people/member-store.ts'
import type { SessionRecord } from '../../store/people/sign-in-store.ts'
import { type NewUser, type UserRecord, emailTaken } from '../../store/people/user-store.ts'
import { notFound, recordEvent } from '../records/ports.ts'
import { KEYS_PAGE_MAX } from './key-contract.ts'
import {
  Invitation,
  type InvitationBody,
  type InvitationFacts,
  type JoinBody,
  type Member,
  type MemberPatch,
  type NewInvitation,
} from './member-contract.ts'
import { proofOf, proveOwner } from './own-proof.ts'
import { newUser } from './people.ts'
import { type CabinetCall, type CabinetPorts, type Visit, may, openRoute, visitRoute } from './ports.ts'
import type { MemberRole } from './session-contract.ts'
import { sessionState } from './session-state.ts'
import { noted } from './sign-in.ts'

const INVITATION_MS = 7 * DAY_MS
const TOKEN_BYTES = 32
const ID_LETTERS = 16
const PEOPLE_MAX = 50

/** The people of the account, and invitations to it. */
export function memberRoutes(ports: CabinetPorts): readonly Route<Principal>[] {
  const { members } = ports.store
  return [
    visitRoute(ports, 'GET /cabinet/v1/members', async (visit) => ({
      members: await shownMembers(ports, visit),
      invitations: may(visit, 'members:write')
        ? (await members.invitations(visit.accountId, ports.clock.now())).map((open) => wire(Invitation, open))
        : [],
    })),
    visitRoute(ports, 'PATCH /cabinet/v1/members/:id', (visit, read) => patchMember(ports, visit, read())),
    visitRoute(ports, 'POST /cabinet/v1/members/:id/remove', (visit, read) =>
      removeMember(ports, visit, read().disable_keys),
    ),
    visitRoute(ports, 'POST /cabinet/v1/members/leave', async (visit) => {
      const { accountId, user } = visit
      if ((await members.remove(accountId, user.id, { leaves: true })) === 'last_owner') throw reasonError('last_owner')
      ports.access.invalidate({ accountId })
      await recordEvent(ports, visit, 'member.leave', user.id, { account: accountId })
      return { left: true }
    }),
    visitRoute(ports, 'POST /cabinet/v1/invitations', (visit, read) => invite(ports, visit, read())),
    visitRoute(ports, 'DELETE /cabinet/v1/invitations/:id', async ({ call, accountId, user }) => {
      const id = call.params['id'] ?? ''
      if (!(await members.revoke(accountId, id))) throw notFound('Invitation', id)
      await recordEvent(ports, { actor: user.email, ip: call.clientIp }, 'member.revoke', id, { account: accountId })
      return { id, deleted: true }
    }),
  ]
}

async function shownMembers(ports: CabinetPorts, { accountId, user }: Visit): Promise<readonly Member[]> {
  const makers = await ports.store.keys.lists.byMaker(accountId, ports.periods())
  return (await ports.store.members.list(accountId)).map((member) => {
    const { keys, spentMicro } = makers.get(member.userId) ?? { keys: 0, spentMicro: 0n }
    return { ...shownMember(member, user.id), keys, spent_month: rubles(spentMicro) }
  })
}

function shownMember(member: MemberRecord, ownId: string): Omit<Member, 'keys' | 'spent_month'> {
  return {
    user: member.userId,
    email: member.email,
    name: member.name,
    role: member.role,
    monthly_limit: limitOf(member),
    added_at: isoTime(member.addedAtMs),
    last_sign_in_at: isoTime(member.lastSignInAtMs),
    you: member.userId === ownId,
  }
}

function limitOf({ monthlyLimitMicro }: { readonly monthlyLimitMicro: Micro | null }): number | null {
  return monthlyLimitMicro === null ? null : rubles(monthlyLimitMicro)
}

/** A limit applies to the keys that a member makes: owners set their own limits, and `billing` makes no keys. */
function memberLimit(role: MemberRole, given: number | null): Micro | null {
  if (given === null) return null
  if (role !== 'member') throw fieldError('monthly_limit', 'one_of', { allowed: 'null' }, 'must be null for this role')
  return microOf(given)
}

async function invite(
  ports: CabinetPorts,
  visit: Visit,
  { role, email: givenEmail = null, monthly_limit: limit = null, ...proof }: InvitationBody,
): Promise<Static<typeof NewInvitation>> {
  const { accountId, user, call } = visit
  const email = givenEmail === null ? null : readEmail(givenEmail)
  const monthlyLimitMicro = memberLimit(role, limit)
  if (role === 'owner') await proveOwner(ports, visit, proofOf(proof))
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const nowMs = ports.clock.now()
  const record = {
    id: `inv_${ports.ids.letters(ID_LETTERS)}`,
    accountId,
    role,
    monthlyLimitMicro,
    email,
    createdBy: user.email,
    createdAtMs: nowMs,
    expiresAtMs: nowMs + INVITATION_MS,
  }
  const outcome = await ports.store.members.invite({ ...record, hash: tokenHash(token) }, nowMs)
  if (outcome === 'full') throw reasonError('members_most', { most: PEOPLE_MAX })
  await recordEvent(ports, visit, 'member.invite', record.id, { account: accountId, role, email })
  const letter = { language: user.language, kind: 'join', from: ['letters', accountId] } as const
  const mailed = email !== null && (await ports.mailedLinks?.send({ email, ...letter }, () => token)) === true
  return {
    ...wire(Invitation, record),
    link: `${publicUrlOf(ports.publicUrl, call)}/join?token=${token}`,
    mailed,
  }
}

async function patchMember(ports: CabinetPorts, visit: Visit, given: MemberPatch): Promise<Member> {
  const { accountId, user, call } = visit
  const id = call.params['id'] ?? ''
  const before = (await ports.store.members.list(accountId)).find(({ userId }) => userId === id)
  if (before === undefined) throw notFound('Person', id)
  const role = given.role ?? before.role
  const limit = given.monthly_limit === undefined && role === before.role ? limitOf(before) : given.monthly_limit
  const monthlyLimitMicro = memberLimit(role, limit ?? null)
  if (role === 'owner' && before.role !== 'owner') await proveOwner(ports, visit, proofOf(given))
  if (role === before.role && monthlyLimitMicro === before.monthlyLimitMicro) return shownOne(ports, visit, id)
  const { month } = ports.periods()
  const change = { accountId, role, monthlyLimitMicro }
  const outcome = await ports.store.members.change(change, id, { by: user.id, month })
  if (outcome === 'missing') throw notFound('Person', id)
  if (outcome === 'owner') throw reasonError('owner_stays')
  if (outcome === 'last_owner') throw reasonError('last_owner')
  if (outcome === 'over') throw reasonError('member_keys_over')
  ports.access.invalidate({ accountId })
  const told = { account: accountId, role, monthly_limit: limitOf(change) }
  await recordEvent(ports, visit, 'member.update', id, told)
  return shownOne(ports, visit, id)
}

async function shownOne(ports: CabinetPorts, visit: Visit, id: string): Promise<Member> {
  const shown = (await shownMembers(ports, visit)).find((member) => member.user === id)
  if (shown === undefined) throw notFound('Person', id)
  return shown
}

/**
 * Removes a person. Their keys belong to the account: they work on, or are disabled first, so that a crash between the
 * two steps leaves no key working.
 */
async function removeMember(
  ports: CabinetPorts,
  { accountId, user, call }: Visit,
  disableKeys: boolean,
): Promise<{ readonly id: string; readonly deleted: true; readonly disabled_keys: number }> {
  const id = call.params['id'] ?? ''
  const member = (await ports.store.members.list(accountId)).find(({ userId }) => userId === id)
  if (member === undefined) throw notFound('Person', id)
  if (member.role === 'owner') throw reasonError('owner_stays')
  const periods = ports.periods()
  const disable = async (): Promise<number> => {
    const filter = { accountId, madeBy: id, disabled: false }
    const { data: open } = await ports.store.keys.lists.page(filter, periods, {
      limit: KEYS_PAGE_MAX,
      offset: 0,
      uncounted: true,
    })
    for (const { key } of open) {
      await ports.store.keys.update(key.id, { disabled: true }, periods)
      ports.access.invalidate({ keyId: key.id })
      await recordEvent(ports, { actor: user.email, ip: call.clientIp }, 'key.update', key.id, { disabled: true })
    }
    return open.length
  }
  const before = disableKeys ? await disable() : 0
  const outcome = await ports.store.members.remove(accountId, id, { leaves: false })
  if (outcome === 'missing') throw notFound('Person', id)
  if (outcome !== 'removed') throw reasonError('owner_stays')
  ports.access.invalidate({ accountId })
  // Disables keys that the person made meanwhile.
  const disabled = disableKeys ? before + (await disable()) : 0
  await recordEvent(ports, { actor: user.email, ip: call.clientIp }, 'member.remove', id, {
    account: accountId,
    email: member.email,
    disabled_keys: disabled,
  })
  return { id, deleted: true, disabled_keys: disabled }
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
      if (!memberships.some(({ accountId }) => accountId === account)) throw notFound('Account', account)
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
