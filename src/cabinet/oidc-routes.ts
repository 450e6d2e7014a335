import { cookieOf } from '../access/console-sessions.ts'
import { readEmail } from '../access/email.ts'
import type { Principal } from '../access/principal.ts'
import { asApiError, ApiError } from '../errors.ts'
import type { Reply, Route } from '../http/edge.ts'
import { publicAddress } from '../http/public-address.ts'
import type { UserRecord } from '../store/console-records.ts'
import type { OidcIdentity, OidcSignIn } from './oidc.ts'
import { signUp } from './people.ts'
import { recordEvent, type CabinetCall, type CabinetPorts } from './ports.ts'
import { signInProven } from './sign-in.ts'

const FLOW_SECONDS = 600
const COOKIE = 'tg_oidc'
const CALLBACK = '/cabinet/v1/oidc/callback'

/** Where the browser leaves for the issuer, and where it comes back to. Both are navigations, so each ends with a page. */
export function oidcRoutes(ports: CabinetPorts, oidc: OidcSignIn): readonly Route<Principal>[] {
  return [
    { method: 'GET', path: '/cabinet/v1/oidc/start', plane: 'open', body: 'none', handle: (call) => begin(ports, oidc, call) },
    { method: 'GET', path: CALLBACK, plane: 'open', body: 'none', handle: (call) => end(ports, oidc, call) },
  ]
}

async function begin(ports: CabinetPorts, oidc: OidcSignIn, call: CabinetCall): Promise<Reply> {
  const visitor = call.query.get('link') === '1' ? await ports.sessions.find(call.request) : null
  const { url, flow } = await oidc.begin(`${publicAddress(ports.publicUrl, call)}${CALLBACK}`, visitor?.user.id ?? null)
  return { status: 302, body: '', contentType: 'text/plain', headers: { location: url, 'set-cookie': flowCookie(ports, flow, FLOW_SECONDS) } }
}

async function end(ports: CabinetPorts, oidc: OidcSignIn, call: CabinetCall): Promise<Reply> {
  try {
    const { identity, linkUserId } = await oidc.end(new URL(`${publicAddress(ports.publicUrl, call)}${call.request.url ?? ''}`), cookieOf(call.request, COOKIE))
    if (linkUserId !== null) return await link(ports, call, identity, linkUserId)
    const result = await signInProven(ports, call, await userOf(ports, call, identity), 'oidc')
    if (result.status === 'code_required') return leave(ports, `/sign-in#ticket=${result.ticket}`, null)
    const user = (await ports.store.users.update(result.user.id, { lastSignInAtMs: ports.clock.now() })) ?? result.user
    const { cookie } = await ports.sessions.open(user, call.request, call.clientIp)
    return leave(ports, '/', cookie)
  } catch (thrown) {
    const error = asApiError(thrown)
    if (error.errorName === 'internal_error') throw error
    return leave(ports, `/sign-in#error=${error.errorType}`, null)
  }
}

/** The signed-in user of the flow must still be the one whose browser this is. */
async function link(ports: CabinetPorts, call: CabinetCall, { issuer, subject }: OidcIdentity, userId: string): Promise<Reply> {
  const visitor = await ports.sessions.find(call.request)
  if (visitor === null || visitor.user.id !== userId) throw new ApiError('unauthorized', 'Sign in first')
  if ((await ports.store.users.findByOidc(issuer, subject)) !== null) throw new ApiError('conflict', 'Another user has this single sign-on')
  await ports.store.users.update(userId, { oidc: { issuer, subject } })
  await recordEvent(ports, visitor.user.email, call.clientIp, 'user.oidc_link', userId)
  return leave(ports, '/settings', null)
}

/** Known by issuer and subject alone. An e-mail that has a user already is no proof of being them: they add single sign-on themselves. */
async function userOf(ports: CabinetPorts, call: CabinetCall, { issuer, subject, email, emailVerified, name }: OidcIdentity): Promise<UserRecord> {
  const known = await ports.store.users.findByOidc(issuer, subject)
  if (known !== null) return known
  if ((ports.catalog.current().settings.signup ?? ports.signupDefault) === 'closed') throw new ApiError('access_denied', 'Signing up is closed here: ask the operator for an account')
  if (email === null || !emailVerified) throw new ApiError('access_denied', 'The single sign-on does not vouch for your e-mail')
  const address = readEmail(email)
  return signUp(ports, { email: address, name: (name ?? address).slice(0, 100), passwordHash: null, language: null, oidc: { issuer, subject } }, call.clientIp)
}

/** One `Set-Cookie` can be sent: the session's, else the one that ends the flow's note, which ends by itself in ten minutes. */
function leave(ports: CabinetPorts, location: string, session: string | null): Reply {
  return { status: 302, body: '', contentType: 'text/plain', headers: { location, 'set-cookie': session ?? flowCookie(ports, '', 0) } }
}

/** Sent to the callback alone. Lax, since the issuer's site sends the browser there. */
function flowCookie({ publicUrl }: CabinetPorts, value: string, maxAgeSeconds: number): string {
  return `${COOKIE}=${value}; Path=${CALLBACK}; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${publicUrl?.startsWith('https:') === true ? '; Secure' : ''}`
}
