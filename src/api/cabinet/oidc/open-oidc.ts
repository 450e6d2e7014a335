import { cookieOf } from '../../../access/console-sessions.ts'
import { readEmail } from '../../../base/mail-address.ts'
import type { Principal } from '../../../access/principal.ts'
import { asApiError, unavailable } from '../../../base/errors.ts'
import { reasonError } from '../../../base/refusals.ts'
import type { Reply, Route } from '../../../http/edge.ts'
import { publicUrlOf } from '../../../http/public-url.ts'
import type { UserRecord } from '../../../store/people/user-store.ts'
import {
  type FlowLink,
  type OidcConfig,
  type SignOnConfig,
  type SingleSignOn,
  refuseClosedSignUp,
  signUp,
} from '../people.ts'
import { recordEvent } from '../../records/ports.ts'
import type { CabinetCall, CabinetPorts } from '../ports.ts'
import { signInProven } from '../sign-in.ts'
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  discovery,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  type Configuration,
} from 'openid-client'
import type { Cipher } from '../../../base/cipher.ts'
import type { Clock } from '../../../base/clock.ts'

const FLOW_MS = 10 * 60_000
const PURPOSE = 'cabinet/oidc-flow/v1'
const SCOPE = 'openid email profile'

/** The identity that the issuer confirms. */
interface OidcIdentity {
  readonly issuer: string
  readonly subject: string
  readonly email: string | null
  readonly emailVerified: boolean
  readonly name: string | null
}

/** The state of a sign-in until the browser comes back. */
interface Flow {
  readonly verifier: string
  readonly state: string
  readonly nonce: string
  readonly link: FlowLink | null
  readonly untilMs: number
}

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
  return redirect(url, [flowCookie(call, flow, FLOW_SECONDS)])
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
    throw reasonError('sign_in_first')
  const outcome = await ports.store.users.linkIdentity(userId, {
    issuer,
    subject,
    email,
    linkedAtMs: ports.clock.now(),
  })
  if (outcome !== 'linked')
    throw outcome === 'taken'
      ? reasonError('identity_taken')
      : reasonError('connected', {}, { says: 'A single sign-on is connected already' })
  await recordEvent(ports, { actor: visitor.user.email, ip: call.clientIp }, 'user.oidc_link', userId, {
    issuer,
    subject,
    email,
  })
  return leave(call, '/security#linked', [])
}

/**
 * Finds a user by issuer and subject only. The e-mail address of an existing user proves nothing: that user adds single
 * sign-on in the settings.
 */
async function userOf(
  ports: CabinetPorts,
  call: CabinetCall,
  { issuer, subject, email, emailVerified, name }: OidcIdentity,
): Promise<UserRecord> {
  const known = await ports.store.users.findByOidc(issuer, subject)
  if (known !== null) return known
  refuseClosedSignUp(ports)
  if (email === null || !emailVerified) throw reasonError('email_unproven')
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

/** Ends the flow, whatever its result, and sends the browser on. */
function leave(call: CabinetCall, location: string, cookies: readonly string[]): Reply {
  return redirect(location, [...cookies, flowCookie(call, '', 0)])
}

function redirect(location: string, cookies: readonly string[]): Reply {
  return { status: 302, body: '', contentType: 'text/plain', headers: { location, 'set-cookie': cookies } }
}

const FLOW_SECONDS = 600
const FLOW_COOKIE = 'tg_oidc'
const CALLBACK = '/cabinet/v1/oidc/callback'

function redirectUri({ publicUrl }: Pick<CabinetPorts, 'publicUrl'>, call: CabinetCall): string {
  return `${publicUrlOf(publicUrl, call)}${CALLBACK}`
}

/** The cookie goes only to the callback. SameSite is Lax, since the browser comes there from the issuer's site. */
function flowCookie({ isSecure }: CabinetCall, value: string, maxAgeSeconds: number): string {
  return `${FLOW_COOKIE}=${value}; Path=${CALLBACK}; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${isSecure ? '; Secure' : ''}`
}

/**
 * Single sign-on by the authorization code flow with PKCE, state and nonce. The issuer's addresses are read on first
 * use.
 */
class OidcSignIn {
  readonly #options: OidcConfig
  readonly #cipher: Cipher
  readonly #clock: Clock
  #configuration: Promise<Configuration> | null = null

  constructor(options: OidcConfig, cipher: Cipher, clock: Clock) {
    this.#options = options
    this.#cipher = cipher
    this.#clock = clock
  }

  /** The issuer's address for the browser, and the encrypted flow that it brings back in a cookie. */
  async begin(redirectUri: string, link: FlowLink | null): Promise<{ readonly url: string; readonly flow: string }> {
    const configuration = await this.#ready()
    const flow: Flow = {
      verifier: randomPKCECodeVerifier(),
      state: randomState(),
      nonce: randomNonce(),
      link,
      untilMs: this.#clock.now() + FLOW_MS,
    }
    const url = buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: SCOPE,
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: await calculatePKCECodeChallenge(flow.verifier),
      code_challenge_method: 'S256',
    })
    return {
      url: url.href,
      flow: this.#cipher.encrypt(Buffer.from(JSON.stringify(flow)), PURPOSE).toString('base64url'),
    }
  }

  /** The link that this browser's flow was begun for. */
  linkOf(cookie: string | null): FlowLink | null {
    return cookie === null ? null : (this.#openFlow(cookie)?.link ?? null)
  }

  /** The identity that signed in. `url` is the whole address to which the browser came back. */
  async end(url: URL, cookie: string | null): Promise<OidcIdentity> {
    const flow = cookie === null ? null : this.#openFlow(cookie)
    if (flow === null || flow.untilMs <= this.#clock.now())
      throw reasonError('sign_in_late', {}, { error: 'access_denied' })
    const configuration = await this.#ready()
    const tokens = await authorizationCodeGrant(configuration, url, {
      pkceCodeVerifier: flow.verifier,
      expectedState: flow.state,
      expectedNonce: flow.nonce,
      idTokenExpected: true,
    }).catch((cause: unknown) => {
      throw reasonError('oidc_refused', {}, { cause })
    })
    const claims = tokens.claims()
    if (claims === undefined)
      throw reasonError('oidc_refused', {}, { says: 'The identity provider did not name a user' })
    const { email, email_verified: verified, name } = claims
    return {
      issuer: claims.iss,
      subject: claims.sub,
      email: typeof email === 'string' ? email : null,
      emailVerified: verified === true,
      name: typeof name === 'string' ? name : null,
    }
  }

  #openFlow(cookie: string): Flow | null {
    try {
      // Only `begin` encrypts with this cipher.
      return JSON.parse(this.#cipher.decrypt(Buffer.from(cookie, 'base64url'), PURPOSE).toString('utf8')) as Flow
    } catch {
      // A forged, cut or undecryptable cookie counts as none.
      return null
    }
  }

  #ready(): Promise<Configuration> {
    this.#configuration ??= this.#discover().catch((cause: unknown) => {
      this.#configuration = null
      throw unavailable('The single sign-on does not answer. Try again in a minute', 60, 'single_sign_on', cause)
    })
    return this.#configuration
  }

  #discover(): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = this.#options
    const url = new URL(issuer)
    // Settings allow plain http only for this machine.
    return discovery(
      url,
      clientId,
      clientSecret,
      undefined,
      url.protocol === 'http:' ? { execute: [allowInsecureRequests] } : {},
    )
  }
}
