import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { listen, sendJson, type Received } from './scripted-upstream.ts'

export interface IssuedClaims {
  readonly sub: string
  readonly email?: string
  readonly email_verified?: boolean
  readonly name?: string
  readonly nonce?: string
}

/** A small OpenID provider: discovery, authorization code with PKCE, signed id tokens. */
export interface OidcIssuer {
  readonly url: string
  /**
   * The person who is signed in at the provider: a browser is redirected back at once. null = nobody, and the answer is
   * 404.
   */
  person: IssuedClaims | null
  /** Acts as the login page: returns the address to which the browser is redirected. */
  approve(authorizationUrl: string, claims: IssuedClaims): string
  close(): Promise<void>
}

export async function startOidcIssuer(clientId: string, clientSecret: string): Promise<OidcIssuer> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const codes = new Map<
    string,
    { readonly challenge: string; readonly redirectUri: string; readonly claims: Record<string, unknown> }
  >()
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const { url, close } = await listen((response, request) => {
    if (request.path.startsWith('/authorize?') && issuer.person !== null)
      return response.writeHead(302, { location: issuer.approve(`${url}${request.path}`, issuer.person) }).end()
    const [status, body] = answer(request)
    return sendJson(response, body, status)
  })
  const answer = ({ method, path, headers, body }: Received): [number, unknown] => {
    switch (`${method} ${path}`) {
      case 'GET /.well-known/openid-configuration':
        return [
          200,
          {
            issuer: url,
            authorization_endpoint: `${url}/authorize`,
            token_endpoint: `${url}/token`,
            jwks_uri: `${url}/jwks`,
            response_types_supported: ['code'],
            subject_types_supported: ['public'],
            id_token_signing_alg_values_supported: ['RS256'],
            code_challenge_methods_supported: ['S256'],
            token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
          },
        ]
      case 'GET /jwks':
        return [200, { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' }] }]
      case 'POST /token':
        return token(new URLSearchParams(body.toString()), headers.authorization)
      default:
        return [404, {}]
    }
  }
  const token = (form: URLSearchParams, authorization: string | undefined): [number, unknown] => {
    const basic = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`
    const known =
      authorization === basic || (form.get('client_id') === clientId && form.get('client_secret') === clientSecret)
    const grant = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (
      !known ||
      grant === undefined ||
      grant.challenge !== challenge ||
      grant.redirectUri !== form.get('redirect_uri')
    )
      return [400, { error: 'invalid_grant' }]
    const now = Math.floor(Date.now() / 1_000)
    const head = `${part({ alg: 'RS256', kid: 'one' })}.${part({ iss: url, aud: clientId, iat: now, exp: now + 300, ...grant.claims })}`
    const idToken = `${head}.${sign('sha256', Buffer.from(head), privateKey).toString('base64url')}`
    return [200, { access_token: 'access', token_type: 'Bearer', expires_in: 300, id_token: idToken }]
  }
  const issuer: OidcIssuer = {
    url,
    person: null,
    approve: (authorizationUrl, claims) => {
      const { searchParams: query } = new URL(authorizationUrl)
      const code = randomBytes(16).toString('hex')
      codes.set(code, {
        challenge: query.get('code_challenge') ?? '',
        redirectUri: query.get('redirect_uri') ?? '',
        claims: { nonce: query.get('nonce'), ...claims },
      })
      const back = new URL(query.get('redirect_uri') ?? '')
      back.searchParams.set('code', code)
      back.searchParams.set('state', query.get('state') ?? '')
      return back.href
    },
    close,
  }
  return issuer
}
