import { cookieOf } from '../../../access/same-origin.ts'
import { readEmail } from '../../../base/mail-address.ts'
import type { Principal } from '../../../access/principal.ts'
import { asApiError } from '../../../base/errors.ts'
import { reasonError } from '../../../base/refusals.ts'
import type { Reply, Route } from '../../../http/edge.ts'
import { publicUrlOf } from '../../../http/public-url.ts'
import type { UserRecord } from '../../../store/people/user-store.ts'
import type { FlowLink, SignOnConfig, SingleSignOn } from '../identities.ts'
import { OidcSignIn, type OidcIdentity } from './oidc-sign-in.ts'
import { refuseClosedSignUp, signUp } from '../people.ts'
import { recordEvent } from '../../records/ports.ts'
import type { CabinetCall, CabinetPorts } from '../ports.ts'
import { signInProven } from '../sign-in.ts'

/**
 * Single sign-on by OpenID Connect. Its two routes are navigations: to the issuer and back. Each ends with a page, and
 * neither changes a user: adding an identity begins with a POST.
 */
export function openOidc(ports: CabinetPorts, { oidc: options }: SignOnConfig): SingleSignOn | null {
  if (options === null) return null
  const oidc = new OidcSignIn(options, ports.cipher, ports.clock)
  const navigation = (path: string, handle: (call: CabinetCall) => Promise<Reply>): Route<Principal> => ({
    method: 'GET',
    path,
    plane: 'open',
    body: 'none',
    handle,
  })
  return {
    name: options.name,
    begin: async (call, link) => {
      const { url, flow } = await oidc.begin(redirectUri(ports, call), link)
      return { url, cookie: flowCookie(call, flow, FLOW_SECONDS) }
    },
    routes: [
      navigation('/cabinet/v1/oidc/start', (call) => begin(ports, oidc, call)),
      navigation(CALLBACK, (call) => end(ports, oidc, call)),
    ],
  }
}

async function begin(ports: CabinetPorts, oidc: OidcSignIn, call: CabinetCall): Promise<Reply> {
  const { url, flow } = await oidc.begin(redirectUri(ports, call), null)
  return {
    status: 302,
    body: '',
    contentType: 'text/plain',
    headers: { location: url, 'set-cookie': flowCookie(call, flow, FLOW_SECONDS) },
  }
}

async function end(ports: CabinetPorts, oidc: OidcSignIn, call: CabinetCall): Promise<Reply> {
  const cookie = cookieOf(call.request, FLOW_COOKIE)
  const adds = oidc.linkOf(cookie)
  try {
    const identity = await oidc.end(new URL(`${publicUrlOf(ports.publicUrl, call)}${call.request.url ?? ''}`), cookie)
    if (adds !== null) return await link(ports, call, identity, adds)
    const result = await signInProven(ports, call, await userOf(ports, call, identity), 'oidc')
    if (result.status === 'code_required') return leave(call, `/sign-in#ticket=${result.ticket}`, [])
    const user = (await ports.store.users.update(result.user.id, { lastSignInAtMs: ports.clock.now() })) ?? result.user
    const { cookies } = await ports.sessions.open(user, call.request, call.clientIp)
    return leave(call, '/', cookies)
  } catch (thrown) {
    const error = asApiError(thrown)
    if (error.errorName === 'internal_error') throw error
    return leave(call, `${adds === null ? '/sign-in' : '/security'}#error=${error.errorType}`, [])
  }
}

/** The session that gave the proof must still be open in this browser for the same user. */
async function link(
  ports: CabinetPorts,
  call: CabinetCall,
  { issuer, subject, email }: OidcIdentity,
  { userId, sessionId }: FlowLink,
): Promise<Reply> {
  const visitor = await ports.sessions.find(call.request)
  if (visitor === null || visitor.user.id !== userId || visitor.session.id !== sessionId)
    throw reasonError('unauthorized', 'sign_in_first', {}, 'Sign in first')
  const outcome = await ports.store.users.linkIdentity(userId, {
    issuer,
    subject,
    email,
    linkedAtMs: ports.clock.now(),
  })
  if (outcome !== 'linked')
    throw outcome === 'taken'
      ? reasonError('conflict', 'identity_taken', {}, 'Another user has this single sign-on')
      : reasonError('conflict', 'connected', {}, 'A single sign-on is connected already')
  await recordEvent(ports, { actor: visitor.user.email, ip: call.clientIp }, 'user.oidc_link', userId, {
    issuer,
    subject,
    email,
  })
  return leave(call, '/security#linked', [])
}

/**
 * Finds a user by issuer and subject only. An e-mail address that a user already has proves nothing: that user adds
 * single sign-on in the settings.
 */
async function userOf(
  ports: CabinetPorts,
  call: CabinetCall,
  { issuer, subject, email, emailVerified, name }: OidcIdentity,
): Promise<UserRecord> {
  const known = await ports.store.users.findByOidc(issuer, subject)
  if (known !== null) return known
  refuseClosedSignUp(ports)
  if (email === null || !emailVerified)
    throw reasonError('access_denied', 'email_unproven', {}, 'The identity provider has not verified your e-mail')
  const address = readEmail(email)
  return signUp(
    ports,
    {
      email: address,
      name: (name ?? address).slice(0, 100),
      passwordHash: null,
      language: null,
      oidc: { issuer, subject, email },
    },
    call.clientIp,
  )
}

/** The flow ends here, whatever its result. */
function leave(call: CabinetCall, location: string, cookies: readonly string[]): Reply {
  return {
    status: 302,
    body: '',
    contentType: 'text/plain',
    headers: { location, 'set-cookie': [...cookies, flowCookie(call, '', 0)] },
  }
}

const FLOW_SECONDS = 600
const FLOW_COOKIE = 'tg_oidc'
const CALLBACK = '/cabinet/v1/oidc/callback'

function redirectUri({ publicUrl }: Pick<CabinetPorts, 'publicUrl'>, call: CabinetCall): string {
  return `${publicUrlOf(publicUrl, call)}${CALLBACK}`
}

/** Sent only to the callback. SameSite is Lax, since the browser comes there from the issuer's site. */
function flowCookie({ isSecure }: CabinetCall, value: string, maxAgeSeconds: number): string {
  return `${FLOW_COOKIE}=${value}; Path=${CALLBACK}; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${isSecure ? '; Secure' : ''}`
}
