import { MEMBER_ROLE_SCOPES, ROLE_SCOPES } from '../../tables/scopes.ts'
import { PASSWORD_LENGTH } from '../../access/passwords.ts'
import { publicUrlOf } from '../../http/public-url.ts'
import { rubles } from '../../base/money.ts'
import { reasonError } from '../../base/refusals.ts'
import { currentPlace } from '../../store/people/member-store.ts'
import type { SessionRecord } from '../../store/people/sign-in-store.ts'
import type { UserRecord } from '../../store/people/user-store.ts'
import { Profile, type ServiceFacts, type SessionState, type SignInAnswer } from './session-contract.ts'
import { FRESH_SIGN_IN_MS } from './own-proof.ts'
import { type CabinetCall, type CabinetPorts, openRoute, visitReply, type CabinetBody } from './ports.ts'
import { isoTime } from '../../base/time.ts'
import { wire } from '../../base/wire-route.ts'
import type { Principal } from '../../access/principal.ts'
import type { Reply, Route } from '../../http/edge.ts'
import { readEmail } from '../../base/mail-address.ts'
import {
  checkLink,
  needsCode,
  provenEmail,
  refuseClosedSignUp,
  setUp,
  signUpWay,
  signUpWithPassword,
  withAccount,
} from './people.ts'
import { recordEvent } from '../records/ports.ts'
import { noted, signIn, signInWithCode, type SignInResult } from './sign-in.ts'

/** Facts about the service that the sign-in page shows. */
async function serviceFacts(ports: CabinetPorts, call: CabinetCall, oidcName: string | null): Promise<ServiceFacts> {
  const { settings } = ports.catalog.current()
  return {
    version: ports.version,
    signup: signUpWay(ports),
    oidc: oidcName === null ? null : { name: oidcName, start: '/cabinet/v1/oidc/start' },
    password_reset: ports.mailedLinks !== null,
    set_up: [...ports.channelTypes, ...(ports.takesPayments ? (['payments'] as const) : [])],
    needs_setup: (await ports.store.users.owners()) === 0,
    maintenance: settings.maintenance === null ? null : { message: settings.maintenance.message },
    brand: settings.brand,
    status_page: settings.statusPage,
    announcement: settings.announcement,
    api_base: `${publicUrlOf(ports.publicUrl, call)}/v1`,
    currency: 'RUB',
    service_timezone: settings.timezone,
    password: PASSWORD_LENGTH,
  }
}

/** The user, as they are in the account of the session. */
export async function profileOf(
  ports: CabinetPorts,
  given: UserRecord,
  { accountId: chosen }: Pick<SessionRecord, 'accountId'>,
): Promise<Profile> {
  const user = (await ports.store.users.get(given.id)) ?? given
  const memberships = await ports.store.members.of(user)
  const membership = currentPlace(memberships, chosen, ports.sessions.mayView(user))
  const places = membership?.role === 'viewer' ? [...memberships, membership] : memberships
  const account = membership === null ? null : await ports.store.accounts.get(membership.accountId)
  const names = await ports.store.accounts.names(new Set(places.map(({ accountId }) => accountId)))
  const limitMicro = membership?.monthlyLimitMicro ?? null
  return wire(Profile, user, {
    user_id: user.id,
    scopes: user.operatorRole === null ? [] : [...ROLE_SCOPES[user.operatorRole]],
    account_id: account?.id ?? '',
    account_status: account?.status ?? 'active',
    account_role: membership?.role ?? null,
    account_scopes: membership === null ? [] : [...MEMBER_ROLE_SCOPES[membership.role]],
    monthly_limit: limitMicro === null ? null : rubles(limitMicro),
    accounts: places.map(({ accountId, role }) => ({
      account: accountId,
      name: names.get(accountId) ?? '',
      role,
    })),
    default_model: account?.defaultModel ?? null,
    has_password: user.passwordHash !== null,
    has_oidc: user.oidc !== null,
    totp: {
      enabled: user.totpEnabled,
      recovery_codes_left: user.totpEnabled ? await ports.store.users.recoveryCodesLeft(user.id) : 0,
    },
    must_enrol_totp: user.role === 'admin' && ports.adminTotpRequired && !user.totpEnabled,
  })
}

export async function sessionState(
  ports: CabinetPorts,
  call: CabinetCall,
  oidcName: string | null,
  found: { readonly user: UserRecord; readonly session: SessionRecord } | null,
): Promise<SessionState> {
  const service = await serviceFacts(ports, call, oidcName)
  if (found === null) return { service, profile: null, session: null }
  const { session } = found
  return {
    service,
    profile: await profileOf(ports, found.user, session),
    session: {
      id: session.id,
      idle_ends_at: isoTime(Math.min(session.endsAtMs, session.lastSeenAtMs + session.idleMs)),
      ends_at: isoTime(session.endsAtMs),
      fresh_until: isoTime(session.createdAtMs + FRESH_SIGN_IN_MS),
    },
  }
}

/** Sign-up, sign-in, set-up links and sign-out. */
export function sessionRoutes(ports: CabinetPorts, oidcName: string | null): readonly Route<Principal>[] {
  const state = (call: CabinetCall, found: Parameters<typeof sessionState>[3]): ReturnType<typeof sessionState> =>
    sessionState(ports, call, oidcName, found)
  const enter = (call: CabinetCall, user: UserRecord, status: number): Promise<Reply> =>
    openSession(ports, call, user, status, state)
  const answer = async (call: CabinetCall, result: SignInResult): Promise<Reply> => {
    if (result.status === 'signed_in') return enter(call, result.user, 200)
    const body: SignInAnswer = { status: 'code_required', ticket: result.ticket }
    return { status: 200, body }
  }
  return [
    openRoute('GET /cabinet/v1/session', async (call) => ({
      status: 200,
      body: await state(call, await ports.sessions.find(call.request)),
    })),
    openRoute('POST /cabinet/v1/sign-up', async (call, read) => enter(call, await signUpHere(ports, call, read), 201)),
    openRoute('POST /cabinet/v1/sign-in', async (call, read) => answer(call, await signIn(ports, call, read()))),
    openRoute('POST /cabinet/v1/sign-in/code', async (call, read) =>
      answer(call, await signInWithCode(ports, call, read())),
    ),
    openRoute('POST /cabinet/v1/setup/check', async (_call, read) => {
      const { token } = read()
      const email = provenEmail(ports, token)
      if (email !== null) return { status: 200, body: { purpose: 'sign_up', email, code_required: false } }
      const { claim, user } = await checkLink(ports, token)
      const purpose =
        claim.userId === null
          ? 'first_administrator'
          : user?.role === 'admin' && user.passwordHash === null
            ? 'administrator'
            : 'password'
      return { status: 200, body: { purpose, email: user?.email ?? null, code_required: needsCode(claim, user) } }
    }),
    openRoute('POST /cabinet/v1/setup', async (call, read) => {
      const { token, email = null, password, code = null } = read()
      const user = await setUp(ports, { token, email, password, code }, call)
      await noted(ports, call, user, 'setup')
      return enter(call, user, 201)
    }),
    visitReply(ports, 'POST /cabinet/v1/sign-out', async ({ call, session, user }) => {
      await ports.store.sessions.delete(session.hash)
      await recordEvent(ports, { actor: user.email, ip: call.clientIp }, 'sign_out', user.id)
      return { status: 200, body: { signed_out: true }, headers: { 'set-cookie': ports.sessions.forget(call.request) } }
    }),
  ]
}

/** Gives the browser a session; the body says who is signed in. */
async function openSession(
  ports: CabinetPorts,
  call: CabinetCall,
  given: UserRecord,
  status: number,
  state: (call: CabinetCall, found: Parameters<typeof sessionState>[3]) => ReturnType<typeof sessionState>,
): Promise<Reply> {
  // An administrator made before the cabinet existed has no account yet.
  const owner = await withAccount(ports, given)
  const user = (await ports.store.users.update(owner.id, { lastSignInAtMs: ports.clock.now() })) ?? owner
  const { session, cookies } = await ports.sessions.open(user, call.request, call.clientIp)
  const body = { status: 'signed_in', ...(await state(call, { user, session })) }
  return { status, body, headers: { 'set-cookie': cookies } }
}

async function signUpHere(
  ports: CabinetPorts,
  call: CabinetCall,
  read: CabinetBody<'POST /cabinet/v1/sign-up'>,
): Promise<UserRecord> {
  refuseClosedSignUp(ports)
  if (signUpWay(ports) !== 'open') throw reasonError('sign_up_by_mail')
  const { email: given, password, name, language = null } = read()
  const email = readEmail(given)
  const user = await signUpWithPassword(ports, call, { email, password, name: name ?? email, language })
  await noted(ports, call, user, 'sign_up')
  return user
}
