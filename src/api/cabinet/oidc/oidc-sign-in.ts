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
import { unavailable } from '../../../base/errors.ts'
import { reasonError } from '../../../base/refusals.ts'
import type { Clock } from '../../../base/clock.ts'
import type { FlowLink, OidcConfig } from '../identities.ts'

const FLOW_MS = 10 * 60_000
const PURPOSE = 'cabinet/oidc-flow/v1'
const SCOPE = 'openid email profile'

/** The identity that the issuer confirms. */
export interface OidcIdentity {
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
 * Single sign-on by the authorization code flow with PKCE, state and nonce. The issuer's addresses are read on first
 * use.
 */
export class OidcSignIn {
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

  /** The identity that signed in. `url` is the whole address that the browser came back to. */
  async end(url: URL, cookie: string | null): Promise<OidcIdentity> {
    const flow = cookie === null ? null : this.#openFlow(cookie)
    if (flow === null || flow.untilMs <= this.#clock.now())
      throw reasonError('access_denied', 'sign_in_late', {}, 'This sign-in took too long: begin again')
    const configuration = await this.#ready()
    const tokens = await authorizationCodeGrant(configuration, url, {
      pkceCodeVerifier: flow.verifier,
      expectedState: flow.state,
      expectedNonce: flow.nonce,
      idTokenExpected: true,
    }).catch((cause: unknown) => {
      throw reasonError('access_denied', 'oidc_refused', {}, 'The single sign-on was refused', cause)
    })
    const claims = tokens.claims()
    if (claims === undefined)
      throw reasonError('access_denied', 'oidc_refused', {}, 'The identity provider did not name a user')
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
