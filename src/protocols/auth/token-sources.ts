import { type SignKeyObjectInput, type SignPrivateKeyInput, constants, createHash, randomUUID, sign } from 'node:crypto'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { thrownMessage } from '../../base/text.ts'
import { HOUR_MS } from '../../base/time.ts'
import { type AuthEntry, type AuthType, type ServiceKey, basicKey, serviceKeyOf } from '../../catalog/auth.ts'
import { awsSignature } from '../wire/aws-signature.ts'
import { AddressRefusedError } from '../wire/connections.ts'
import { type RawJson, objectOf, parseJson, textOf } from '../wire/raw-json.ts'
import { type SourcePorts, type Token, TokenError, askJson, askText, fileText, newlyGot } from './token-http.ts'

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

const ECS = 'http://169.254.170.2'
const EC2 = 'http://169.254.169.254'
const EC2_ROLES = '/latest/meta-data/iam/security-credentials/'
const EC2_TOKEN_SECONDS = '21600'
/** The longest chain of profiles: a profile may name another as its source. */
const PROFILES_MAX = 5
/** Sources that a profile may name but that are not used: a server starts no commands and opens no browser. */
const NOT_GONE = ['credential_process', 'login_session'] as const

type Profile = ReadonlyMap<string, string>

/**
 * The credentials of the machine, found in the same order as AWS's tools: the environment, a profile, a token of web
 * identity, the container's, the instance's (IMDSv2).
 */
async function awsCredentials(named: string | null, ports: SourcePorts): Promise<Token> {
  const { env } = ports
  if (named === null) {
    const own = keyOf(env['AWS_ACCESS_KEY_ID'], env['AWS_SECRET_ACCESS_KEY'], env['AWS_SESSION_TOKEN'], ports)
    if (own !== null) return own
  }
  const name = named ?? env['AWS_PROFILE'] ?? 'default'
  const profiles = await profilesOf(ports)
  const found = await profileCredentials(name, profiles, ports, 1)
  if (found !== null) return found
  if (named !== null || env['AWS_PROFILE'] !== undefined)
    throw new TokenError(`the profile '${name}' is not in the files of AWS, or holds no credentials`, null)
  const [file, role] = [env['AWS_WEB_IDENTITY_TOKEN_FILE'], env['AWS_ROLE_ARN']]
  if (file !== undefined && role !== undefined) return webIdentity(file, role, null, ports)
  return (await containerCredentials(ports)) ?? instanceCredentials(ports)
}

function keyOf(
  id: string | null | undefined,
  secret: string | null | undefined,
  session: string | null | undefined,
  { clock }: SourcePorts,
  endsAt: unknown = null,
): Token | null {
  if (!id || !secret) return null
  const nowMs = clock.now()
  // A key without an end may be replaced, so it is read again after an hour.
  const end = endsAt === null ? nowMs + HOUR_MS : typeof endsAt === 'number' ? endsAt : Date.parse(String(endsAt))
  return newlyGot([id, secret, ...(session ? [session] : [])].join(':'), end, nowMs)
}

function folderOf({ env }: SourcePorts): string {
  return join(env['HOME'] ?? env['USERPROFILE'] ?? '', '.aws')
}

async function profilesOf(ports: SourcePorts): Promise<ReadonlyMap<string, Profile>> {
  const { env } = ports
  const home = folderOf(ports)
  const profiles = new Map<string, Map<string, string>>()
  const paths = [
    env['AWS_CONFIG_FILE'] ?? join(home, 'config'),
    // Keys of the second file take precedence.
    env['AWS_SHARED_CREDENTIALS_FILE'] ?? join(home, 'credentials'),
  ]
  for (const path of paths) {
    const text = await fileText(path, 'AWS').catch(() => '')
    let section: Map<string, string> | null = null
    for (const line of text.split('\n')) {
      const title = /^\[([^\]]*)\]/.exec(line)?.[1]?.trim()
      if (title !== undefined) {
        const name = title.replace(/^profile\s/, '').trim()
        section = profiles.get(name) ?? new Map()
        // A nested title such as `sso-session x` stays whole: it is not the name of a profile.
        profiles.set(name, section)
      }
      const at = line.indexOf('=')
      if (section !== null && title === undefined && at > 0 && !/^\s*[#;]/.test(line))
        section.set(line.slice(0, at).trim(), line.slice(at + 1).trim())
    }
  }
  return profiles
}

async function profileCredentials(
  name: string,
  profiles: ReadonlyMap<string, Profile>,
  ports: SourcePorts,
  depth: number,
): Promise<Token | null> {
  const profile = profiles.get(name)
  if (profile === undefined) return null
  const keys = keyOf(
    profile.get('aws_access_key_id'),
    profile.get('aws_secret_access_key'),
    profile.get('aws_session_token'),
    ports,
  )
  const role = profile.get('role_arn')
  const source = profile.get('source_profile')
  if (role === undefined || (depth > 1 && keys !== null)) {
    if (keys !== null) return keys
    if (profile.has('sso_account_id')) return signedOn(name, profile, profiles, ports)
    const way = NOT_GONE.find((field) => profile.has(field))
    if (way !== undefined) throw new TokenError(`the profile '${name}' needs ${way}, which a server does not do`, null)
    return null
  }
  if (depth > PROFILES_MAX) throw new TokenError(`the profile '${name}' is the source of itself`, null)
  const region = profile.get('region') ?? null
  const file = profile.get('web_identity_token_file')
  if (file !== undefined) return webIdentity(file, role, region, ports)
  const from =
    source === undefined
      ? await credentialSource(profile.get('credential_source'), ports)
      : source === name
        ? keys
        : await profileCredentials(source, profiles, ports, depth + 1)
  if (from === null) throw new TokenError(`the profile '${name}' has no source for its role`, null)
  const external = profile.get('external_id')
  const form = { ...roleForm(role, ports), ...(external === undefined ? {} : { ExternalId: external }) }
  return assumed('AssumeRole', form, region, from.value, ports)
}

/** Uses the token that `aws sso login` has left in its cache; a person must get the next one. */
async function signedOn(
  name: string,
  profile: Profile,
  profiles: ReadonlyMap<string, Profile>,
  ports: SourcePorts,
): Promise<Token> {
  const session = profile.get('sso_session')
  const own = session === undefined ? profile : (profiles.get(`sso-session ${session}`) ?? profile)
  const cached = createHash('sha1')
    .update(session ?? own.get('sso_start_url') ?? '')
    .digest('hex')
  const file = join(folderOf(ports), 'sso', 'cache', `${cached}.json`)
  const token = objectOf(parseJson(Buffer.from(await fileText(file, "AWS's sso"))))
  const value = textOf(token?.['accessToken'])
  if (value === null || !(Date.parse(String(token?.['expiresAt'])) > ports.clock.now()))
    throw new TokenError(`the profile '${name}' needs a new \`aws sso login\``, null)
  const region = profile.get('sso_region') ?? own.get('sso_region') ?? 'us-east-1'
  const host = ports.env['AWS_ENDPOINT_URL_SSO'] ?? `https://portal.sso.${region}.amazonaws.com`
  const asked = { account_id: profile.get('sso_account_id') ?? '', role_name: profile.get('sso_role_name') ?? '' }
  const url = `${host}/federation/credentials?${new URLSearchParams(asked)}`
  const options = { method: 'GET', headers: { 'x-amz-sso_bearer_token': value } } as const
  const given = objectOf((await askJson(url, options, ports.toMachine, ports))['roleCredentials'])
  const [id, secret, part] = [given?.['accessKeyId'], given?.['secretAccessKey'], given?.['sessionToken']].map(textOf)
  const credentials = keyOf(id, secret, part, ports, given?.['expiration'])
  if (credentials === null) throw new TokenError('the answer holds no credentials', null)
  return credentials
}

async function credentialSource(name: string | undefined, ports: SourcePorts): Promise<Token | null> {
  const { env } = ports
  if (name === 'Environment')
    return keyOf(env['AWS_ACCESS_KEY_ID'], env['AWS_SECRET_ACCESS_KEY'], env['AWS_SESSION_TOKEN'], ports)
  if (name === 'EcsContainer') return containerCredentials(ports)
  return name === 'Ec2InstanceMetadata' ? instanceCredentials(ports) : null
}

async function webIdentity(file: string, role: string, region: string | null, ports: SourcePorts): Promise<Token> {
  const token = await fileText(file, 'AWS_WEB_IDENTITY_TOKEN_FILE')
  const form = { ...roleForm(role, ports), WebIdentityToken: token.trim() }
  return assumed('AssumeRoleWithWebIdentity', form, region, null, ports)
}

function roleForm(role: string, { env }: SourcePorts): Readonly<Record<string, string>> {
  return { RoleArn: role, RoleSessionName: env['AWS_ROLE_SESSION_NAME'] ?? 'tollgate' }
}

/** Asks the token service for a role. `key` signs the request; null = the request carries a token of its own. */
async function assumed(
  action: string,
  form: Readonly<Record<string, string>>,
  given: string | null,
  key: string | null,
  ports: SourcePorts,
): Promise<Token> {
  const { env, clock } = ports
  const region = env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'] ?? given ?? 'us-east-1'
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  const url = new URL(env['AWS_ENDPOINT_URL_STS'] ?? `https://sts.${region}.${domain}/`)
  const body = new URLSearchParams({ Action: action, Version: '2011-06-15', ...form }).toString()
  const contentType = 'application/x-www-form-urlencoded; charset=utf-8'
  const request = {
    ...({ service: 'sts', method: 'POST', region, host: url.host, path: url.pathname, contentType } as const),
    body: Buffer.from(body),
  }
  const headers = key === null ? { 'content-type': contentType } : awsSignature(request, key, clock.now())
  const options = { method: 'POST', body, headers: { ...headers, accept: 'application/xml' } } as const
  const xml = (await askText(url.href, options, ports.toMachine, ports)).toString()
  const told = new Map([...xml.matchAll(/<(\w+)>([^<]*)<\//g)].map(([, name = '', text = '']) => [name, text.trim()]))
  const [id, secret] = [told.get('AccessKeyId'), told.get('SecretAccessKey')]
  const token = keyOf(id, secret, told.get('SessionToken'), ports, told.get('Expiration'))
  if (token === null) throw new TokenError('the token service answered without credentials', null)
  return token
}

/** null = the process does not run in a container that has a role. */
async function containerCredentials(ports: SourcePorts): Promise<Token | null> {
  const { env } = ports
  const [relative, full] = [env['AWS_CONTAINER_CREDENTIALS_RELATIVE_URI'], env['AWS_CONTAINER_CREDENTIALS_FULL_URI']]
  if (relative === undefined && full === undefined) return null
  const url = new URL(relative === undefined ? (full ?? '') : ECS + relative)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isLocal =
    host === 'localhost' || (isIP(host) !== 0 && /^(?:127\.|::1$|169\.254\.170\.(?:2|23)$|fd00:ec2::23$)/.test(host))
  if (url.protocol !== 'https:' && !isLocal)
    throw new TokenError('AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor on this machine', null)
  const file = env['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE']
  const token =
    file === undefined
      ? env['AWS_CONTAINER_AUTHORIZATION_TOKEN']
      : (await fileText(file, 'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE')).trim()
  const headers = token === undefined ? {} : { authorization: token }
  return credentialsIn(await askText(url.href, { method: 'GET', headers }, ports.toMachine, ports), ports)
}

async function instanceCredentials(ports: SourcePorts): Promise<Token> {
  const { env } = ports
  if (env['AWS_EC2_METADATA_DISABLED'] === 'true') throw new TokenError('no credentials of AWS were found', null)
  const base = (env['AWS_EC2_METADATA_SERVICE_ENDPOINT'] ?? EC2).replace(/\/$/, '')
  const ttl = { 'x-aws-ec2-metadata-token-ttl-seconds': EC2_TOKEN_SECONDS }
  const asked = async (method: 'GET' | 'PUT', path: string, headers: Readonly<Record<string, string>>) =>
    askText(base + path, { method, headers }, ports.toMachine, ports)
  const session = { 'x-aws-ec2-metadata-token': (await asked('PUT', '/latest/api/token', ttl)).toString() }
  const [role = ''] = (await asked('GET', EC2_ROLES, session)).toString().split('\n')
  return credentialsIn(await asked('GET', EC2_ROLES + encodeURIComponent(role.trim()), session), ports)
}

function credentialsIn(bytes: Buffer, ports: SourcePorts): Token {
  const body: RawJson = objectOf(parseJson(bytes)) ?? {}
  const [id, secret, session] = [body['AccessKeyId'], body['SecretAccessKey'], body['Token']].map(textOf)
  const token = keyOf(id, secret, session, ports, body['Expiration'])
  if (token === null) throw new TokenError('the answer holds no credentials', null)
  return token
}
