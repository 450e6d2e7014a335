import { ipKey } from '../../http/client-ip.ts'
import type { Principal } from '../../access/principal.ts'
import { readEmail } from '../../email.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import type { Reply, Route } from '../../http/edge.ts'
import { rubles } from '../../base/money.ts'
import type { Invitation } from '../../store/people/member-store.ts'
import type { UserRecord } from '../../store/people/user-store.ts'
import { hashOfInvitation } from './members.ts'
import type { InvitationFacts, JoinBody } from './member-contract.ts'
import { newUser } from './people.ts'
import { openRoute, recordEvent, visitRoute, type CabinetCall, type CabinetPorts } from '../../cabinet/ports.ts'
import { sessionState } from './session-state.ts'
import { noted } from './sign-in.ts'
import { takeTurn } from '../../cabinet/turns.ts'

const TOKEN_SHAPE = /^[A-Za-z0-9_-]{43}$/

/** Joining an account by an invitation, and going from one account to another. */
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
        const id = account.slice(0, 80)
        throw reasonError('not_found', 'unknown_id', { id }, `Account '${id}' not found`)
      }
      await ports.store.sessions.choose(session.hash, account)
      return sessionState(ports, call, oidcName, { user, session: { ...session, accountId: account } })
    }),
  ]
}

async function checkInvitation(ports: CabinetPorts, token: string): Promise<Invitation> {
  const found = TOKEN_SHAPE.test(token)
    ? await ports.store.members.findInvitation(hashOfInvitation(token), ports.clock.now())
    : null
  if (found === null) throw deadLink()
  return found
}

async function join(ports: CabinetPorts, call: CabinetCall, given: JoinBody, oidcName: string | null): Promise<Reply> {
  const invitation = await checkInvitation(ports, given.token)
  const visitor = await ports.sessions.find(call.request)
  if (visitor !== null) await refuseSigned(ports, visitor.user, invitation)
  const user = visitor?.user ?? (await newPerson(ports, call, invitation, given))
  const used = await ports.store.members.join(hashOfInvitation(given.token), user, ports.clock.now())
  if (used === null) throw deadLink()
  await recordEvent(ports, user.email, call.clientIp, 'member.join', user.id, {
    account: used.accountId,
    invitation: used.id,
    role: used.role,
  })
  if (visitor === null) await noted(ports, call, user, 'sign_up')
  const after = (await ports.store.users.update(user.id, { lastSignInAtMs: ports.clock.now() })) ?? user
  // A new session: the one from before was for another account.
  const { session, cookies } = await ports.sessions.open(after, call.request, call.clientIp, used.accountId)
  const body = { status: 'signed_in', ...(await sessionState(ports, call, oidcName, { user: after, session })) }
  return { status: 201, body, headers: { 'set-cookie': cookies } }
}

async function refuseSigned(ports: CabinetPorts, user: UserRecord, { email, accountId }: Invitation): Promise<void> {
  if (email !== null && email !== user.email)
    throw reasonError('access_denied', 'link_not_yours', { email }, `This invitation is for ${email}`)
  if ((await ports.store.members.of(user)).some((place) => place.accountId === accountId))
    throw reasonError('conflict', 'member_already', {}, 'You are in this account already')
}

/** A new user without an account of their own. */
async function newPerson(
  ports: CabinetPorts,
  call: CabinetCall,
  invitation: Invitation,
  { email: givenEmail = null, password = null, name, language = null }: JoinBody,
): Promise<UserRecord> {
  if (givenEmail === null && invitation.email === null) throw fieldError('email', 'required', {}, 'is required')
  if (password === null) throw fieldError('password', 'required', {}, 'is required')
  const email = readEmail(givenEmail ?? invitation.email ?? '')
  if (invitation.email !== null && invitation.email !== email)
    throw reasonError(
      'access_denied',
      'link_not_yours',
      { email: invitation.email },
      `This invitation is for ${invitation.email}`,
    )
  ports.passwords.check('password', password, [email, email.split('@')[0] ?? ''])
  takeTurn(ports.signUps, ipKey(call.clientIp), 'sign-ups from your address')
  return newUser(ports, {
    email,
    name: name ?? email,
    passwordHash: await ports.passwords.hash(password),
    language,
    oidc: null,
  })
}

function deadLink(): Error {
  return reasonError(
    'access_denied',
    'link_dead',
    {},
    'This invitation is used, expired or revoked. Ask for another one',
  )
}
