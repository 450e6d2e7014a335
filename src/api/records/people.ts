import { randomBytes } from 'node:crypto'
import { tokenHash } from '../../access/console-sessions.ts'
import type { Principal } from '../../access/principal.ts'
import { readEmail } from '../../base/mail-address.ts'
import { type Micro, microOf, rubles } from '../../base/money.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import type { Static } from '../../base/schema.ts'
import { DAY_MS, isoTime } from '../../base/time.ts'
import { wire } from '../../base/wire-route.ts'
import type { Call } from '../../http/edge.ts'
import { publicUrlOf } from '../../http/public-url.ts'
import type { MailedLink } from '../../notices/letters.ts'
import type { Member as MemberRecord } from '../../store/people/member-store.ts'
import type { MemberRole } from '../../tables/scopes.ts'
import { KEYS_PAGE_MAX } from '../cabinet/key-contract.ts'
import {
  Invitation,
  type InvitationBody,
  type Member,
  type MemberPatch,
  type NewInvitation,
  type People,
} from '../cabinet/member-contract.ts'
import { type Actor, type ConsolePorts, notFound, recordEvent } from './ports.ts'

const INVITATION_MS = 7 * DAY_MS
const TOKEN_BYTES = 32
const ID_LETTERS = 16
const PEOPLE_MAX = 50

/** A call about the people of an account: by one of them, or by the operator. */
export interface PeopleCall extends Actor, Pick<MailedLink, 'language' | 'from'> {
  readonly accountId: string
  /** The id of the person; null = the operator, who may also change and remove owners. */
  readonly userId: string | null
  readonly call: Call<Principal>
  /** Throws unless the caller may make an owner. */
  readonly proveOwner: () => Promise<void>
}

/** The people of an account, and the open invitations to it. */
export async function peopleOf(ports: ConsolePorts, of: PeopleCall): Promise<Static<typeof People>> {
  const invitations = await ports.store.members.invitations(of.accountId, ports.clock.now())
  return { members: await membersOf(ports, of), invitations: invitations.map((open) => wire(Invitation, open)) }
}

export async function membersOf(ports: ConsolePorts, { accountId, userId }: PeopleCall): Promise<readonly Member[]> {
  const makers = await ports.store.keys.lists.byMaker(accountId, ports.periods())
  return (await ports.store.members.list(accountId)).map((member) => {
    const { keys, spentMicro } = makers.get(member.userId) ?? { keys: 0, spentMicro: 0n }
    return { ...shownMember(member, userId), keys, spent_month: rubles(spentMicro) }
  })
}

function shownMember(member: MemberRecord, ownId: string | null): Omit<Member, 'keys' | 'spent_month'> {
  return {
    user: member.userId,
    email: member.email,
    name: member.name,
    role: member.role,
    monthly_limit: limitOf(member),
    added_at: isoTime(member.addedAtMs),
    last_sign_in_at: isoTime(member.lastSignInAtMs),
    language: member.language,
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

export async function invite(
  ports: ConsolePorts,
  of: PeopleCall,
  { role, email: givenEmail = null, monthly_limit: limit = null }: InvitationBody,
): Promise<Static<typeof NewInvitation>> {
  const { accountId, call, language, from } = of
  const email = givenEmail === null ? null : readEmail(givenEmail)
  const monthlyLimitMicro = memberLimit(role, limit)
  if (role === 'owner') await of.proveOwner()
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const nowMs = ports.clock.now()
  const record = {
    id: `inv_${ports.ids.letters(ID_LETTERS)}`,
    accountId,
    role,
    monthlyLimitMicro,
    email,
    // Customers do not see the names of operators.
    createdBy: of.userId === null ? 'operator' : of.actor,
    createdAtMs: nowMs,
    expiresAtMs: nowMs + INVITATION_MS,
  }
  const outcome = await ports.store.members.invite({ ...record, hash: tokenHash(token) }, nowMs)
  if (outcome === 'full') throw reasonError('members_most', { most: PEOPLE_MAX })
  await recordEvent(ports, of, 'member.invite', record.id, { account: accountId, role, email })
  const letter = { language, kind: 'join', from } as const
  const mailed = email !== null && (await ports.mailedLinks?.send({ email, ...letter }, () => token)) === true
  return {
    ...wire(Invitation, record),
    link: `${publicUrlOf(ports.publicUrl, call)}/join?token=${token}`,
    mailed,
  }
}

export async function revokeInvitation(
  ports: ConsolePorts,
  of: PeopleCall,
  id: string,
): Promise<{ readonly id: string; readonly deleted: true }> {
  const { accountId } = of
  if (!(await ports.store.members.revoke(accountId, id))) throw notFound('Invitation', id)
  await recordEvent(ports, of, 'member.revoke', id, { account: accountId })
  return { id, deleted: true }
}

/** The person of the account, before a change. */
async function memberOf(ports: ConsolePorts, { accountId }: PeopleCall, id: string): Promise<MemberRecord> {
  const found = (await ports.store.members.list(accountId)).find(({ userId }) => userId === id)
  if (found === undefined) throw notFound('Person', id)
  return found
}

export async function changeMember(
  ports: ConsolePorts,
  of: PeopleCall,
  id: string,
  given: MemberPatch,
): Promise<Member> {
  const { accountId } = of
  const before = await memberOf(ports, of, id)
  const role = given.role ?? before.role
  const limit = given.monthly_limit === undefined && role === before.role ? limitOf(before) : given.monthly_limit
  const monthlyLimitMicro = memberLimit(role, limit ?? null)
  if (role === 'owner' && before.role !== 'owner') await of.proveOwner()
  if (role === before.role && monthlyLimitMicro === before.monthlyLimitMicro) return shownOne(ports, of, id)
  const { month } = ports.periods()
  const change = { accountId, role, monthlyLimitMicro }
  const outcome = await ports.store.members.change(change, id, { by: of.userId, month })
  if (outcome === 'missing') throw notFound('Person', id)
  if (outcome === 'owner') throw reasonError('owner_stays')
  if (outcome === 'last_owner') throw reasonError('last_owner')
  if (outcome === 'over') throw reasonError('member_keys_over')
  ports.access.invalidate({ accountId })
  await recordEvent(ports, of, 'member.update', id, { account: accountId, role, monthly_limit: limitOf(change) })
  return shownOne(ports, of, id)
}

async function shownOne(ports: ConsolePorts, of: PeopleCall, id: string): Promise<Member> {
  const shown = (await membersOf(ports, of)).find((member) => member.user === id)
  if (shown === undefined) throw notFound('Person', id)
  return shown
}

/**
 * Removes a person. Their keys belong to the account: they work on, or are disabled first, so that a crash between the
 * two steps leaves no key working.
 */
export async function removeMember(
  ports: ConsolePorts,
  of: PeopleCall,
  id: string,
  disableKeys: boolean,
): Promise<{ readonly id: string; readonly deleted: true; readonly disabled_keys: number }> {
  const { accountId } = of
  const { role, email } = await memberOf(ports, of, id)
  if (role === 'owner' && of.userId !== null) throw reasonError('owner_stays')
  const before = disableKeys ? await disableKeysOf(ports, of, id) : 0
  const outcome = await ports.store.members.remove(accountId, id, { evenOwner: of.userId === null })
  if (outcome === 'missing') throw notFound('Person', id)
  if (outcome === 'last_owner') throw reasonError('last_owner')
  if (outcome === 'owner') throw reasonError('owner_stays')
  ports.access.invalidate({ accountId })
  // Disables keys that the person made meanwhile.
  const disabled = disableKeys ? before + (await disableKeysOf(ports, of, id)) : 0
  await recordEvent(ports, of, 'member.remove', id, { account: accountId, email, disabled_keys: disabled })
  return { id, deleted: true, disabled_keys: disabled }
}

async function disableKeysOf(ports: ConsolePorts, of: PeopleCall, id: string): Promise<number> {
  const periods = ports.periods()
  const { data: open } = await ports.store.keys.lists.page(
    { accountId: of.accountId, madeBy: id, disabled: false },
    periods,
    { limit: KEYS_PAGE_MAX, offset: 0, uncounted: true },
  )
  for (const { key } of open) {
    await ports.store.keys.update(key.id, { disabled: true }, periods)
    ports.access.invalidate({ keyId: key.id })
    await recordEvent(ports, of, 'key.update', key.id, { disabled: true })
  }
  return open.length
}
