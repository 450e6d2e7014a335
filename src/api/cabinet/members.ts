import { createHash, randomBytes } from 'node:crypto'
import type { Principal } from '../../access/principal.ts'
import { readEmail } from '../../email.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import type { Route } from '../../http/edge.ts'
import { publicUrlOf } from '../../http/public-url.ts'
import { isoTime, DAY_MS } from '../../base/time.ts'
import { microOf, rubles, type Micro } from '../../base/money.ts'
import type { Invitation as InvitationRecord, Member as MemberRecord } from '../../store/people/member-store.ts'
import type { Invitation, InvitationBody, Member, MemberPatch, NewInvitation } from './member-contract.ts'
import type { MemberRole } from './session-contract.ts'
import type { Static } from '../../base/schema.ts'
import { proofOf, proveOwner } from '../../cabinet/own-proof.ts'
import { may, recordEvent, visitRoute, type CabinetPorts, type Visit } from '../../cabinet/ports.ts'
import { hasTurn } from '../../cabinet/turns.ts'

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
        ? (await members.invitations(visit.accountId, ports.clock.now())).map(shownInvitation)
        : [],
    })),
    visitRoute(ports, 'PATCH /cabinet/v1/members/:id', (visit, read) => patchMember(ports, visit, read())),
    visitRoute(ports, 'POST /cabinet/v1/members/:id/remove', (visit, read) =>
      removeMember(ports, visit, read().disable_keys),
    ),
    visitRoute(ports, 'POST /cabinet/v1/members/leave', async (visit) => {
      const { accountId, user, call } = visit
      if ((await members.remove(accountId, user.id, { leaves: true })) === 'last_owner') throw lastOwner()
      await recordEvent(ports, user.email, call.clientIp, 'member.leave', user.id, { account: accountId })
      return { left: true }
    }),
    visitRoute(ports, 'POST /cabinet/v1/invitations', (visit, read) => invite(ports, visit, read()), 201),
    visitRoute(ports, 'DELETE /cabinet/v1/invitations/:id', async ({ call, accountId, user }) => {
      const id = call.params['id'] ?? ''
      if (!(await members.revoke(accountId, id))) throw unknown('Invitation', id)
      await recordEvent(ports, user.email, call.clientIp, 'member.revoke', id, { account: accountId })
      return { id, deleted: true }
    }),
  ]
}

/** Its store has only this hash. */
export function hashOfInvitation(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

async function shownMembers(ports: CabinetPorts, { accountId, user }: Visit): Promise<readonly Member[]> {
  const keys = await ports.store.keys.list(accountId, ports.periods())
  return (await ports.store.members.list(accountId)).map((member) => {
    const own = keys.filter(({ key }) => key.madeBy === member.userId)
    const spentMicro = own.reduce((sum, { spend }) => sum + spend.monthMicro, 0n)
    return { ...shownMember(member, user.id), keys: own.length, spent_month: rubles(spentMicro) }
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

function shownInvitation(invitation: InvitationRecord): Invitation {
  const { id, role, email, createdBy, createdAtMs, expiresAtMs } = invitation
  return {
    id,
    role,
    monthly_limit: limitOf(invitation),
    email,
    created_by: createdBy,
    created_at: isoTime(createdAtMs),
    expires_at: isoTime(expiresAtMs),
  }
}

function limitOf({ monthlyLimitMicro }: { readonly monthlyLimitMicro: Micro | null }): number | null {
  return monthlyLimitMicro === null ? null : rubles(monthlyLimitMicro)
}

/** A limit is of the keys that a person makes: owners set their own limits, and billing makes none. */
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
  const outcome = await ports.store.members.invite({ ...record, hash: hashOfInvitation(token) }, nowMs)
  if (outcome === 'full')
    throw reasonError(
      'conflict',
      'members_most',
      { most: PEOPLE_MAX },
      `An account has at most ${PEOPLE_MAX} people and open invitations`,
    )
  await recordEvent(ports, user.email, call.clientIp, 'member.invite', record.id, { account: accountId, role, email })
  const mailed = email !== null && ports.mailedLinks !== null && hasTurn(ports.resetMails, email)
  if (mailed) ports.mailedLinks?.send({ email, language: user.language, kind: 'join', token })
  return {
    ...shownInvitation(record),
    link: `${publicUrlOf(ports.publicUrl, call)}/join?token=${token}`,
    mailed,
  }
}

async function patchMember(ports: CabinetPorts, visit: Visit, given: MemberPatch): Promise<Member> {
  const { accountId, user, call } = visit
  const id = call.params['id'] ?? ''
  const before = (await ports.store.members.list(accountId)).find(({ userId }) => userId === id)
  if (before === undefined) throw unknown('Person', id)
  const role = given.role ?? before.role
  const limit = given.monthly_limit === undefined && role === before.role ? limitOf(before) : given.monthly_limit
  const monthlyLimitMicro = memberLimit(role, limit ?? null)
  if (role === 'owner' && before.role !== 'owner') await proveOwner(ports, visit, proofOf(given))
  const { month } = ports.periods()
  const change = { accountId, role, monthlyLimitMicro }
  const outcome = await ports.store.members.change(change, id, { by: user.id, month })
  if (outcome === 'missing') throw unknown('Person', id)
  if (outcome === 'owner') throw ownerStays()
  if (outcome === 'last_owner') throw lastOwner()
  if (outcome === 'over')
    throw reasonError(
      'conflict',
      'member_keys_over',
      {},
      'The keys of this person may spend more than that in a month, or have no monthly limit: change or delete them first',
    )
  await recordEvent(ports, user.email, call.clientIp, 'member.update', id, {
    account: accountId,
    role,
    monthly_limit: limitOf(change),
  })
  const after = (await shownMembers(ports, visit)).find((member) => member.user === id)
  if (after === undefined) throw unknown('Person', id)
  return after
}

/** Their keys are the account's: they work on, or are disabled first, so that a crash between the two leaves none open. */
async function removeMember(
  ports: CabinetPorts,
  { accountId, user, call }: Visit,
  disableKeys: boolean,
): Promise<{ readonly id: string; readonly deleted: true; readonly disabled_keys: number }> {
  const id = call.params['id'] ?? ''
  const member = (await ports.store.members.list(accountId)).find(({ userId }) => userId === id)
  if (member === undefined) throw unknown('Person', id)
  if (member.role === 'owner') throw ownerStays()
  const periods = ports.periods()
  const disable = async (): Promise<number> => {
    const open = (await ports.store.keys.list(accountId, periods)).filter(
      ({ key }) => key.madeBy === id && !key.disabled,
    )
    for (const { key } of open) {
      await ports.store.keys.update(key.id, { disabled: true }, periods)
      ports.access.invalidate({ keyId: key.id })
      await recordEvent(ports, user.email, call.clientIp, 'key.update', key.id, { disabled: true })
    }
    return open.length
  }
  const before = disableKeys ? await disable() : 0
  const outcome = await ports.store.members.remove(accountId, id, { leaves: false })
  if (outcome === 'missing') throw unknown('Person', id)
  if (outcome !== 'removed') throw ownerStays()
  // A key that the person made meanwhile.
  const disabled = disableKeys ? before + (await disable()) : 0
  await recordEvent(ports, user.email, call.clientIp, 'member.remove', id, {
    account: accountId,
    email: member.email,
    disabled_keys: disabled,
  })
  return { id, deleted: true, disabled_keys: disabled }
}

function ownerStays(): Error {
  return reasonError('conflict', 'owner_stays', {}, 'An owner is changed or removed by nobody but themselves')
}

function lastOwner(): Error {
  return reasonError('conflict', 'last_owner', {}, 'This is the last owner')
}

function unknown(what: string, id: string): Error {
  const shown = id.slice(0, 80)
  return reasonError('not_found', 'unknown_id', { id: shown }, `${what} '${shown}' not found`)
}
