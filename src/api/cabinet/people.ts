import { createHash } from 'node:crypto'
import { readEmail } from '../../email.ts'
import type { ApiError } from '../../base/errors.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import type { NewUser, SetupTokenClaim, UserRecord } from '../../store/people/user-store.ts'
import { recordEvent, type CabinetCall, type CabinetPorts } from '../../cabinet/ports.ts'
import { proveSecondFactor } from './sign-in.ts'

const ID_LETTERS = 16
const TOKEN_SHAPE = /^[A-Za-z0-9_-]{43}$/

type PeoplePorts = Pick<CabinetPorts, 'store' | 'passwords' | 'clock' | 'ids'>

export interface SetUpRequest {
  readonly token: string
  /** Ignored where the link already belongs to a user. */
  readonly email: string | null
  readonly password: string
  /** From the authenticator, or a recovery code; null = not given. */
  readonly code: string | null
}

/** A new user with an account of their own. */
export async function signUp(
  ports: PeoplePorts,
  person: Pick<NewUser, 'email' | 'name' | 'passwordHash' | 'language' | 'oidc'>,
  ip: string,
): Promise<UserRecord> {
  const user = await withAccount(ports, await newUser(ports, person))
  await recordEvent(ports, user.email, ip, 'user.sign_up', user.id, { account: user.accountId })
  return user
}

/** A new user without an account. */
export async function newUser(
  ports: PeoplePorts,
  person: Pick<NewUser, 'email' | 'name' | 'passwordHash' | 'language' | 'oidc'>,
): Promise<UserRecord> {
  if ((await ports.store.users.findByEmail(person.email)) !== null) throw taken(person.email)
  const created = await ports.store.users.create({
    ...person,
    id: newUserId(ports),
    role: 'user',
    accountId: null,
    createdAtMs: ports.clock.now(),
  })
  if (created === null) throw taken(person.email)
  return created
}

/**
 * Every user acts for an account: who is in none gets one. In a demo the first administrator takes the account that is
 * already there.
 */
export async function withAccount(ports: PeoplePorts, user: UserRecord): Promise<UserRecord> {
  const { accounts, members, users } = ports.store
  if ((await members.of(user)).length > 0) return user
  const demo = user.role === 'admin' ? await demoAccount(ports) : null
  const account =
    demo ??
    (await accounts.create({
      id: `acc_${ports.ids.letters(ID_LETTERS)}`,
      name: user.name,
      email: user.email,
      defaultModel: null,
      rateLimit: null,
      createdAtMs: ports.clock.now(),
    }))
  const after = await users.update(user.id, { accountId: account.id })
  if (after === null) throw new Error(`User ${user.id} was not found after it was created.`)
  return after
}

async function demoAccount({ store }: PeoplePorts): Promise<{ readonly id: string } | null> {
  const { data, total } = await store.accounts.list({ query: null, limit: 1, offset: 0 })
  const [only] = data
  if (total !== 1 || only === undefined || only.email !== null || only.name !== 'Demo') return null
  return (await store.users.list({ accountId: only.id, role: null, query: null, limit: 1, offset: 0 })).total === 0
    ? only
    : null
}

/** The purpose of a link; refuses a used, expired or unknown one. */
export async function checkLink(
  ports: PeoplePorts,
  token: string,
): Promise<{ readonly claim: SetupTokenClaim; readonly user: UserRecord | null }> {
  const claim = TOKEN_SHAPE.test(token)
    ? await ports.store.users.findSetupToken(hashOf(token), ports.clock.now())
    : null
  if (claim === null) throw badLink()
  return { claim, user: claim.userId === null ? null : await ports.store.users.get(claim.userId) }
}

/**
 * A link replaces only the password: a user with two-step sign-in also gives a code, unless the link was made to turn
 * it off.
 */
export function needsCode(claim: SetupTokenClaim, user: UserRecord | null): user is UserRecord {
  return user !== null && user.totpEnabled && !claim.clearTotp
}

/** Uses up a link: makes the first administrator, or sets a user's password and ends their sessions. */
export async function setUp(
  ports: CabinetPorts,
  { token, email, password, code }: SetUpRequest,
  call: CabinetCall,
): Promise<UserRecord> {
  // The link is checked before the password is hashed: a stranger must not be able to make the server work.
  const { claim: found, user } = await checkLink(ports, token)
  const address = user?.email ?? readEmail(email ?? '')
  ports.passwords.check('password', password, [address, address.split('@')[0] ?? ''])
  // Checked before the link is used up: without the second factor nothing changes, and the link stays good.
  if (needsCode(found, user)) {
    if (code === null) throw fieldError('code', 'code_required', {}, 'is required, since two-step sign-in is on')
    await proveSecondFactor(ports, call, user, code)
  }
  const claim = await ports.store.users.claimSetupToken(hashOf(token), ports.clock.now())
  if (claim === null) throw badLink()
  const passwordHash = await ports.passwords.hash(password)
  const ready =
    claim.userId === null
      ? await first(ports, address, passwordHash)
      : await ports.store.users.update(claim.userId, { passwordHash })
  if (ready === null) throw badLink()
  if (claim.clearTotp)
    await ports.store.users.setTotp(ready.id, { seed: null, enabled: false, step: 0, recoveryHashes: [] })
  await ports.store.sessions.deleteOthers(ready.id, null)
  await recordEvent(
    ports,
    ready.id,
    call.clientIp,
    ready.role === 'admin' ? 'administrator.setup' : 'user.password',
    ready.id,
  )
  return withAccount(ports, (await ports.store.users.get(ready.id)) ?? ready)
}

async function first(ports: PeoplePorts, email: string, passwordHash: string): Promise<UserRecord> {
  if ((await ports.store.users.owners()) > 0)
    throw reasonError('access_denied', 'has_administrator', {}, 'There is an administrator already')
  const created = await ports.store.users.create({
    id: newUserId(ports),
    email,
    name: email,
    role: 'admin',
    operatorRole: 'owner',
    accountId: null,
    passwordHash,
    language: null,
    oidc: null,
    createdAtMs: ports.clock.now(),
  })
  if (created === null) throw taken(email)
  return created
}

function newUserId({ ids }: PeoplePorts): string {
  return `usr_${ids.letters(ID_LETTERS)}`
}

function taken(email: string): ApiError {
  return reasonError('conflict', 'email_taken', { email }, `email: a user with '${email}' exists already`)
}

function badLink(): ApiError {
  return reasonError(
    'access_denied',
    'link_dead',
    {},
    'This set-up link is used, expired or unknown. Start the server again, or ask an administrator for a new one',
  )
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
