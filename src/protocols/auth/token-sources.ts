import { constants, randomUUID, sign, type SignKeyObjectInput, type SignPrivateKeyInput } from 'node:crypto'
import { promisify } from 'node:util'
import { basicKey, serviceKeyOf, type AuthEntry, type AuthType, type ServiceKey } from '../../catalog/auth.ts'
import { thrownMessage } from '../../base/text.ts'
import { AddressRefusedError } from '../wire/guarded-lookup.ts'
import { textOf, type RawJson } from '../wire/raw-json.ts'
import { awsCredentials } from './aws-chain.ts'
import { askJson, fileText, newlyGot, TokenError, type SourcePorts, type Token } from './token-http.ts'

const LIFE_SECONDS_MAX = 86_400
/** A time of an end below this is in seconds. */
const MS_FROM = 100_000_000_000
const GOOGLE_SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const AZURE_RESOURCE = 'https://cognitiveservices.azure.com'
const GIGACHAT = { url: 'https://ngw.devices.sberbank.ru:9443/api/v2/oauth', scope: 'GIGACHAT_API_PERS' }
const YANDEX_URL = 'https://iam.api.cloud.yandex.net/iam/v1/tokens'
const GOOGLE_URL = 'https://oauth2.googleapis.com/token'
const METADATA_TOKEN = '/computeMetadata/v1/instance/service-accounts/default/token'
/** Stands in `headers` for a new id for each request. */
const NEW_ID = '{uuid}'

type Source = (entry: AuthEntry, ports: SourcePorts) => Promise<Token>

const SOURCES: Readonly<Record<AuthType, Source>> = {
  oauth: (entry, ports) => {
    const { client = '', secret = '', key = basicKey(client, secret), scope, headers = {}, params = {} } = entry
    const form = { grant_type: 'client_credentials', ...(scope === undefined ? {} : { scope }), ...params }
    return posted(entry.token_url ?? '', form, { authorization: `Basic ${key}`, ...headers }, ports)
  },
  // The service requires a request id, and does not know types of grants.
  gigachat: ({ key = '', scope = GIGACHAT.scope, token_url: url = GIGACHAT.url }, ports) =>
    posted(url, { scope }, { authorization: `Basic ${key}`, rquid: NEW_ID }, ports),
  google: async (entry, ports) => {
    const { token_url: url = GOOGLE_URL, scope = GOOGLE_SCOPE } = entry
    const key = await serviceKey('google', entry)
    const assertion = await signedJwt('RS256', key, { aud: url, scope }, ports)
    return posted(url, { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion }, {}, ports)
  },
  google_metadata: ({ scope }, ports) => {
    const host = ports.env['GCE_METADATA_HOST'] ?? 'metadata.google.internal'
    const query = scope === undefined ? '' : `?${new URLSearchParams({ scopes: scope }).toString()}`
    return got(`http://${host}${METADATA_TOKEN}${query}`, { 'metadata-flavor': 'Google' }, ports)
  },
  aws: ({ profile }, ports) => awsCredentials(profile ?? null, ports),
  azure: ({ tenant = '', client = '', secret = '', scope, authority }, ports) =>
    posted(
      azureUrl(authority, tenant, ports),
      { grant_type: 'client_credentials', client_id: client, client_secret: secret, scope: azureScope(scope) },
      {},
      ports,
    ),
  azure_managed: managedIdentity,
  azure_workload: async ({ tenant, client, scope }, ports) => {
    const { env } = ports
    const assertion = await fileText(env['AZURE_FEDERATED_TOKEN_FILE'] ?? '', 'AZURE_FEDERATED_TOKEN_FILE')
    return posted(
      azureUrl(undefined, tenant ?? env['AZURE_TENANT_ID'] ?? '', ports),
      {
        grant_type: 'client_credentials',
        client_id: client ?? env['AZURE_CLIENT_ID'] ?? '',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: assertion.trim(),
        scope: azureScope(scope),
      },
      {},
      { ...ports, toProvider: ports.toMachine },
    )
  },
  yandex: async (entry, ports) => {
    const { token_url: url = YANDEX_URL } = entry
    const jwt = await signedJwt('PS256', await serviceKey('yandex', entry), { aud: YANDEX_URL }, ports)
    return tokenIn(
      await askJson(url, { method: 'POST', body: JSON.stringify({ jwt }) }, ports.toProvider, ports),
      ports,
    )
  },
  yandex_metadata: (_entry, ports) => {
    const host = ports.env['YC_METADATA_ADDR'] ?? '169.254.169.254'
    return got(`http://${host}${METADATA_TOKEN}`, { 'metadata-flavor': 'Google' }, ports)
  },
}

/** Gets a new token. Throws only a TokenError. */
export async function newToken(entry: AuthEntry, ports: SourcePorts): Promise<Token> {
  try {
    return await SOURCES[entry.type](entry, ports)
  } catch (thrown) {
    if (thrown instanceof TokenError) throw thrown
    const said = thrown instanceof AddressRefusedError ? thrown.message : `not reached: ${thrownMessage(thrown)}`
    throw new TokenError(said, null)
  }
}

function posted(
  url: string,
  form: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
  ports: SourcePorts,
): Promise<Token> {
  const written = Object.entries(headers).map(([name, value]) => [name, value.replace(NEW_ID, randomUUID())])
  const options = {
    method: 'POST',
    body: new URLSearchParams(form).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...Object.fromEntries(written) },
  } as const
  return askJson(url, options, ports.toProvider, ports).then((answer) => tokenIn(answer, ports))
}

async function got(url: string, headers: Readonly<Record<string, string>>, ports: SourcePorts): Promise<Token> {
  return tokenIn(await askJson(url, { method: 'GET', headers }, ports.toMachine, ports), ports)
}

/** App Service and similar services give an address and a secret; elsewhere the metadata server is asked. */
function managedIdentity({ client, scope }: AuthEntry, ports: SourcePorts): Promise<Token> {
  const { env } = ports
  const resource = (scope ?? AZURE_RESOURCE).replace(/\/\.default$/, '')
  const query = { resource, ...(client === undefined ? {} : { client_id: client }) }
  const [endpoint, header] = [env['IDENTITY_ENDPOINT'], env['IDENTITY_HEADER']]
  if (endpoint !== undefined && header !== undefined)
    return got(withQuery(endpoint, { ...query, 'api-version': '2019-08-01' }), { 'x-identity-header': header }, ports)
  const host = env['AZURE_POD_IDENTITY_AUTHORITY_HOST'] ?? 'http://169.254.169.254'
  const url = withQuery(`${host}/metadata/identity/oauth2/token`, { ...query, 'api-version': '2018-02-01' })
  return got(url, { metadata: 'true' }, ports)
}

function withQuery(address: string, query: Readonly<Record<string, string>>): string {
  return `${address}?${new URLSearchParams(query).toString()}`
}

function azureUrl(authority: string | undefined, tenant: string, { env }: SourcePorts): string {
  const host = authority ?? env['AZURE_AUTHORITY_HOST'] ?? 'https://login.microsoftonline.com'
  return `${host.replace(/\/$/, '')}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`
}

function azureScope(scope: string | undefined): string {
  return scope ?? `${AZURE_RESOURCE}/.default`
}

async function serviceKey(type: 'google' | 'yandex', { key, key_file: file }: AuthEntry): Promise<ServiceKey> {
  const found = serviceKeyOf(type, key ?? (await fileText(file ?? '', 'key_file')))
  if (found === null) throw new TokenError('key_file holds no key of a service account', null)
  return found
}

const signature = promisify<string, Buffer, SignPrivateKeyInput | SignKeyObjectInput, Buffer>(sign)

async function signedJwt(
  algorithm: 'RS256' | 'PS256',
  { id, issuer, privateKey }: ServiceKey,
  claims: Readonly<Record<string, string>>,
  { clock }: SourcePorts,
): Promise<string> {
  const iat = Math.floor(clock.now() / 1_000)
  const parts = [
    { alg: algorithm, typ: 'JWT', kid: id },
    { iss: issuer, iat, exp: iat + 3_600, ...claims },
  ]
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const padding =
    algorithm === 'RS256'
      ? { padding: constants.RSA_PKCS1_PADDING }
      : { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
  try {
    const signed = await signature('sha256', Buffer.from(text), { key: privateKey, ...padding })
    return `${text}.${signed.toString('base64url')}`
  } catch {
    throw new TokenError('private_key of the service account cannot be read', null)
  }
}

/** The token in an answer. Answers differ in their names and in how they state the end. */
function tokenIn(answer: RawJson, { clock }: SourcePorts): Token {
  const value = textOf(answer['access_token']) ?? textOf(answer['iamToken'])
  if (value === null || value === '') throw new TokenError('the answer holds no token', null)
  if (/[^\x21-\x7e]/.test(value)) throw new TokenError('the token is not printable', null)
  const nowMs = clock.now()
  const given = answer['expires_at'] ?? answer['expires_on'] ?? answer['expiresAt']
  const number = Number(given ?? Number.NaN)
  const endsAtMs = Number.isFinite(number) ? number * (number < MS_FROM ? 1_000 : 1) : Date.parse(String(given))
  const life = Number(answer['expires_in'] ?? Number.NaN)
  const told = Number.isFinite(life) ? nowMs + life * 1_000 : endsAtMs
  return newlyGot(value, Math.min(told, nowMs + LIFE_SECONDS_MAX * 1_000), nowMs)
}
