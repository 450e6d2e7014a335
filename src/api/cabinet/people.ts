import { TOKEN_SHAPE, tokenHash } from '../../access/console-sessions.ts'
import { identitiesOf, identityNamed, takeIdentity } from '../../access/identities.ts'
import type { Principal } from '../../access/principal.ts'
import { readEmail } from '../../base/mail-address.ts'
import { fieldError, reasonError } from '../../base/refusals.ts'
import { DAY_MS } from '../../base/time.ts'
import { ipKey } from '../../http/client-ip.ts'
import type { Route } from '../../http/edge.ts'
import { type NewUser, type SetupTokenClaim, type UserRecord, emailTaken } from '../../store/people/user-store.ts'
import { recordEvent } from '../records/ports.ts'
import { type OwnProof, proofOf, proveOwner } from './own-proof.ts'
import { type CabinetCall, type CabinetPorts, type Visit, visitReply, visitRoute } from './ports.ts'
import { openTicket, proveSecondFactor, sealTicket } from './sign-in.ts'

const ID_LETTERS = 16

const SIGN_UP_MS = DAY_MS
const SIGN_UP_PURPOSE = 'cabinet/sign-up-link/v1'

type PeoplePorts = Pick<CabinetPorts, 'store' | 'passwords' | 'clock' | 'ids' | 'catalog' | 'signupDefault'>

export interface SetUpRequest {
  readonly token: string
  /** Ignored if the link already belongs to a user. */
  readonly email: string | null
  readonly password: string
  /** A code of the authenticator, or a recovery code; null = not given. */
  readonly code: string | null
}

export function refuseClosedSignUp(ports: PeoplePorts): void {
  if (isSignUpOpen(ports)) return
  const message = 'Signing up is closed here: ask the operator for an account'
  throw reasonError('sign_up_closed', {}, { says: message })
}

function isSignUpOpen({ catalog, signupDefault }: PeoplePorts): boolean {
  return (catalog.current().settings.signup ?? signupDefault) !== 'closed'
}

/** How strangers sign up with a password: at once, by a link to their e-mail (where mail is sent), or not at all. */
export function signUpWay({
  catalog,
  signupDefault,
  mailedLinks,
}: Pick<CabinetPorts, 'catalog' | 'signupDefault' | 'mailedLinks'>): 'open' | 'confirmed' | 'closed' {
  const way = catalog.current().settings.signup ?? signupDefault
  return way === 'confirmed' && mailedLinks === null ? 'closed' : way
}

/** The token of a link that proves an e-mail. Nothing is stored for who has only asked. */
export function signUpToken({ cipher, clock }: CabinetPorts, email: string): string {
  return sealTicket(cipher, SIGN_UP_PURPOSE, [email, clock.now() + SIGN_UP_MS])
}

/** The e-mail that a link proves; null = the link is for something else. */
export function provenEmail(ports: CabinetPorts, token: string): string | null {
  const [email, untilMs] = openTicket(ports.cipher, SIGN_UP_PURPOSE, token)
  if (email === undefined) return null
  if (Number(untilMs) <= ports.clock.now()) throw badLink()
  refuseClosedSignUp(ports)
  return email
}

type Person = Pick<NewUser, 'email' | 'name' | 'passwordHash' | 'language' | 'oidc'>

interface SignUpPerson extends Partial<Pick<Person, 'name' | 'language'>> {
  readonly email: string
  readonly password: string
}

/** A new user with an account of their own. */
export async function signUp(ports: PeoplePorts, person: Person, ip: string): Promise<UserRecord> {
  const created = await ports.store.users.create(newUser(ports, person))
  if (created === null) throw emailTaken(person.email)
  const user = await withAccount(ports, created)
  await recordEvent(ports, { actor: user.email, ip }, 'user.sign_up', user.id, { account: user.accountId })
  return user
}

/** A user without an account, not stored yet. */
export function newUser(ports: PeoplePorts, person: Person): NewUser {
  const id = `usr_${ports.ids.letters(ID_LETTERS)}`
  return { ...person, id, role: 'user', accountId: null, createdAtMs: ports.clock.now() }
}

/**
 * Gives a user without an account one, since every user acts for an account; a customer gets one only while sign-up is
 * open. In a demo the first administrator takes the account that already exists.
 */
export async function withAccount(ports: PeoplePorts, user: UserRecord): Promise<UserRecord> {
  const { accounts, members, users } = ports.store
  if ((await members.of(user)).length > 0) return user
  if (user.role !== 'admin' && !isSignUpOpen(ports)) return user
  const demo = user.role === 'admin' ? await demoAccount(ports) : null
  if (demo !== null) await users.update(user.id, { accountId: demo.id })
  else
    await accounts.createFor(user.id, {
      id: `acc_${ports.ids.letters(ID_LETTERS)}`,
      name: user.name,
      email: user.email,
      defaultModel: null,
      rateLimit: null,
      createdAtMs: ports.clock.now(),
    })
  const after = await users.get(user.id)
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
    ? await ports.store.users.findSetupToken(tokenHash(token), ports.clock.now())
    : null
  if (claim === null) throw badLink()
  const user = claim.userId === null ? null : await ports.store.users.get(claim.userId)
  if (user?.disabled === true) throw badLink()
  return { claim, user }
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
  const proven = provenEmail(ports, token)
  if (proven !== null) return signUpWithPassword(ports, call, { email: proven, password })
  // The link is checked before the password is hashed: a stranger must not be able to cause that much work.
  const { claim: found, user } = await checkLink(ports, token)
  const address = user?.email ?? readEmail(email ?? '')
  ports.passwords.check('password', password, [address, address.split('@')[0] ?? ''])
  // Checked before the link is used up: without the second factor nothing changes, and the link stays valid.
  if (needsCode(found, user)) {
    if (code === null) throw fieldError('code', 'code_required')
    await proveSecondFactor(ports, call, user, code)
  }
  const passwordHash = await ports.passwords.hash(password)
  const person = { email: address, name: address, passwordHash, language: null, oidc: null }
  const first: NewUser = { ...newUser(ports, person), role: 'admin', operatorRole: 'owner' }
  const ready = await ports.store.users.useSetupToken(tokenHash(token), ports.clock.now(), passwordHash, first)
  if (ready === null) throw badLink()
  await recordEvent(
    ports,
    { actor: ready.id, ip: call.clientIp },
    ready.role === 'admin' ? 'administrator.setup' : 'user.password',
    ready.id,
  )
  return withAccount(ports, ready)
}

/** A new customer with a password. */
export async function signUpWithPassword(
  ports: CabinetPorts,
  call: CabinetCall,
  { email, password, name = email, language = null }: SignUpPerson,
): Promise<UserRecord> {
  ports.passwords.check('password', password, [email, email.split('@')[0] ?? ''])
  await ports.access.bounds.take('sign_ups', ipKey(call.clientIp))
  const passwordHash = await ports.passwords.hash(password)
  return signUp(ports, { email, name, passwordHash, language, oidc: null }, call.clientIp)
}

function badLink(): Error {
  return reasonError(
    'link_dead',
    {},
    {
      says: 'This set-up link is used, expired or unknown. Start the server again, or ask an administrator for a new one',
    },
  )
}

export interface OidcConfig {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** The text of its button on the sign-in page. */
  readonly name: string
}

/** Settings of single sign-on; null = it is not set up. */
export interface SignOnConfig {
  readonly oidc: OidcConfig | null
}

/** The user who adds single sign-on, and their session; null = a sign-in. */
export interface FlowLink {
  readonly userId: string
  readonly sessionId: string
}

/** Single sign-on of the console. */
export interface SingleSignOn {
  readonly name: string
  readonly routes: readonly Route<Principal>[]
  /** The issuer's address for the browser, and the cookie that it brings back. */
  begin(call: CabinetCall, link: FlowLink): Promise<{ readonly url: string; readonly cookie: string }>
}

/**
 * The user's identities at the single sign-on issuer: the user lists, adds and removes them, each change with a proof.
 */
export function identityRoutes(ports: CabinetPorts, signOn: SingleSignOn | null): readonly Route<Principal>[] {
  return [
    visitRoute(ports, 'GET /cabinet/v1/identities', ({ user }) => ({ data: identitiesOf(user) })),
    visitReply(ports, 'POST /cabinet/v1/identities/link', async (visit, read) => {
      await proveOwner(ports, visit, proofOf(read()))
      if (signOn === null) throw reasonError('oidc_unset')
      if (visit.user.oidc !== null) throw reasonError('connected')
      const { url, cookie } = await signOn.begin(visit.call, { userId: visit.user.id, sessionId: visit.session.id })
      return { status: 200, body: { url }, headers: { 'set-cookie': cookie } }
    }),
    visitRoute(ports, 'POST /cabinet/v1/identities/:id/unlink', (visit, read) => unlink(ports, visit, proofOf(read()))),
  ]
}

async function unlink(
  ports: CabinetPorts,
  visit: Visit,
  proof: OwnProof,
): Promise<{ readonly id: string; readonly deleted: true }> {
  const { user, session, call } = visit
  const id = call.params['id'] ?? ''
  const known = identityNamed(user, id)
  await proveOwner(ports, visit, proof)
  await takeIdentity(ports.store.users, user, known)
  // Other sessions may have been opened through this identity.
  await ports.store.sessions.deleteOthers(user.id, session.hash)
  await recordEvent(ports, visit, 'user.oidc_unlink', user.id, known)
  return { id, deleted: true }
}
