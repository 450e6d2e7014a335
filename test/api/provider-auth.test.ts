import assert from 'node:assert/strict'
import { createVerify, generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { beforeEach, test } from 'node:test'
import { gateway, type Answer } from '../harness/gateway.ts'
import { answers, startScriptedUpstream, type ScriptedUpstream, type Received } from '../harness/scripted-upstream.ts'
import { freshFolder } from '../harness/lasting.ts'
import { completion, candidate } from '../harness/provider-answers.ts'

const SECRET = 'client-secret-of-the-operator'
const BASIC = Buffer.from('basic-key-of-the-operator').toString('base64')
/** What Kubernetes writes into the file of a pod. */
const FEDERATED = 'federated.token-of.the-pod'
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const SERVICE_KEY = {
  type: 'service_account',
  private_key_id: 'id-of-the-key-0001',
  client_email: 'gateway@project-of-ours.iam.gserviceaccount.com',
  private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
}
const ANSWER = completion(
  { content: 'Hello' },
  { id: 'up-1', usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } },
)
const GEMINI = candidate([{ text: 'Hello' }], { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 })
const CONVERSE = {
  output: { message: { role: 'assistant', content: [{ text: 'Hello' }] } },
  stopReason: 'end_turn',
  usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
}

/** Plays the services that give tokens, the metadata server and the providers. */
/** Tokens given so far. */
let given = 0
/** The service that gives tokens answers so. */
let tokenAnswer: ((response: ServerResponse) => void) | null
/** Providers take only this token; null = any. */
let taken: string | null

const upstream = await startScriptedUpstream()
const folder = freshFolder()
const federated = join(folder, 'federated')
writeFileSync(federated, `${FEDERATED}\n`)
const price = { currency: 'RUB', prompt: 1, completion: 1 }
const rows: Readonly<Record<string, object>> = {
  oauth: {
    adapter: 'openai',
    auth: { type: 'oauth', token_url: `${upstream.url}/token`, client: 'we', secret: SECRET, scope: 'chat' },
  },
  gigachat: { adapter: 'openai', auth: { type: 'gigachat', key: BASIC, token_url: `${upstream.url}/token` } },
  google: {
    adapter: 'gemini',
    auth: { type: 'google', key: JSON.stringify(SERVICE_KEY), token_url: `${upstream.url}/token` },
  },
  metadata: { adapter: 'gemini', auth: { type: 'google_metadata' } },
  azure: {
    adapter: 'openai',
    auth: { type: 'azure', tenant: 'ours', client: 'we', secret: SECRET, authority: upstream.url },
  },
  managed: { adapter: 'openai', auth: { type: 'azure_managed' } },
  workload: { adapter: 'openai', auth: { type: 'azure_workload' } },
  yandex: { adapter: 'yandex', auth: { type: 'yandex_metadata' } },
  aws: { adapter: 'bedrock', auth: { type: 'aws' } },
}
const server = await gateway({
  catalog: JSON.stringify({
    providers: Object.fromEntries(
      Object.entries(rows).map(([slug, row]) => [slug, { ...row, base_url: `${upstream.url}/${slug}` }]),
    ),
    models: Object.keys(rows).map((slug) => ({
      id: `${slug}/m`,
      type: 'chat',
      context_length: 1_000,
      endpoints: [{ provider: slug, model: 'm', price }],
    })),
  }),
  env: {
    GCE_METADATA_HOST: new URL(upstream.url).host,
    IDENTITY_ENDPOINT: `${upstream.url}/identity`,
    IDENTITY_HEADER: 'header-of-the-machine',
    AZURE_AUTHORITY_HOST: `${upstream.url}/`,
    AZURE_FEDERATED_TOKEN_FILE: federated,
    AZURE_TENANT_ID: 'tenant/of-ours',
    AZURE_CLIENT_ID: 'client-of-the-pod',
    YC_METADATA_ADDR: new URL(upstream.url).host,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${upstream.url}/ecs`,
    AWS_CONFIG_FILE: '/nowhere',
    AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
  },
})
const key = (await server.createAccount({ balance: 1_000 })).key

beforeEach(() => {
  tokenAnswer = null
  taken = null
  upstream.answer(play)
})

function play(response: ServerResponse, request: Received): void {
  const path = request.path
  const isToken = /^\/(?:token|identity|ecs|ours\/|tenant%2F|computeMetadata)/.test(path)
  if (isToken && tokenAnswer !== null) return tokenAnswer(response)
  if (isToken) given += 1
  const token = `secret-token-${given}`
  if (path.startsWith('/ecs')) {
    const Expiration = new Date(Date.now() + 3_600_000).toISOString()
    return answers({ AccessKeyId: 'ASIAEXAMPLEOFOURS', SecretAccessKey: SECRET, Token: token, Expiration })(response)
  }
  if (path.startsWith('/identity'))
    return answers({ access_token: token, expires_on: String(Math.floor(Date.now() / 1_000) + 3_600) })(response)
  if (isToken) return answers({ access_token: token, expires_at: Date.now() + 1_800_000 })(response)
  if (taken !== null && request.headers.authorization !== `Bearer ${taken}`)
    return answers({ error: { message: `the token ${request.headers.authorization ?? ''} is over` } }, 401)(response)
  if (request.method === 'GET') return answers({ data: [{ id: 'm' }] })(response)
  answers(path.includes('/converse') ? CONVERSE : path.includes(':generateContent') ? GEMINI : ANSWER)(response)
}

function ask(slug: string): Promise<Answer> {
  return server.post('/v1/chat/completions', key, {
    model: `${slug}/m`,
    max_tokens: 5,
    messages: [{ role: 'user', content: 'hi' }],
  })
}

function taking(path: string): readonly ScriptedUpstream['received'][number][] {
  return upstream.received.filter((request) => request.path.startsWith(path))
}

function assertNothingTold(...texts: readonly string[]): void {
  const told = [...server.logs(), ...texts].join('\n')
  for (const secret of [SECRET, BASIC, FEDERATED, 'secret-token-', 'PRIVATE KEY', SERVICE_KEY.client_email])
    assert.ok(!told.includes(secret), secret)
}

for (const slug of ['oauth', 'gigachat', 'google', 'metadata', 'azure', 'managed', 'workload', 'yandex'])
  test(`${slug}: a token is got once, sent as a bearer, and told nobody`, async () => {
    const before = given
    const both = await Promise.all([ask(slug), ask(slug)])
    assert.deepEqual(
      both.map(({ status }) => status),
      [200, 200],
      both[0]?.text,
    )
    assert.equal(given, before + 1)
    const sent = taking(`/${slug}/`).map(({ headers }) => headers.authorization)
    assert.deepEqual(sent, [`Bearer secret-token-${given}`, `Bearer secret-token-${given}`])
    assertNothingTold(...both.map(({ text }) => text))
  })

test('each service that gives tokens is asked in its own form', () => {
  const form = (text: Buffer): Record<string, string> => Object.fromEntries(new URLSearchParams(text.toString()))
  const [oauth, gigachat, google] = taking('/token')
  assert.deepEqual(form(oauth?.body ?? Buffer.alloc(0)), { grant_type: 'client_credentials', scope: 'chat' })
  assert.equal(oauth?.headers.authorization, `Basic ${Buffer.from(`we:${SECRET}`).toString('base64')}`)
  assert.deepEqual(form(gigachat?.body ?? Buffer.alloc(0)), { scope: 'GIGACHAT_API_PERS' })
  assert.equal(gigachat?.headers.authorization, `Basic ${BASIC}`)
  assert.match(String(gigachat?.headers['rquid']), /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/)
  const { assertion = '', grant_type: grant } = form(google?.body ?? Buffer.alloc(0))
  assert.equal(grant, 'urn:ietf:params:oauth:grant-type:jwt-bearer')
  const [head = '', claims = '', signature = ''] = assertion.split('.')
  assert.ok(createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(publicKey, signature, 'base64url'))
  const said = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>
  assert.equal(said['iss'], SERVICE_KEY.client_email)
  assert.equal(said['aud'], `${upstream.url}/token`)
  assert.deepEqual(JSON.parse(Buffer.from(head, 'base64url').toString()), {
    alg: 'RS256',
    typ: 'JWT',
    kid: SERVICE_KEY.private_key_id,
  })
  assert.equal(form(taking('/ours/oauth2/v2.0/token')[0]?.body ?? Buffer.alloc(0))['client_secret'], SECRET)
  assert.equal(taking('/identity')[0]?.headers['x-identity-header'], 'header-of-the-machine')
  const machines = taking('/computeMetadata')
  assert.deepEqual(
    machines.map(({ path, headers }) => [path, headers['metadata-flavor']]),
    Array.from({ length: 2 }, () => ['/computeMetadata/v1/instance/service-accounts/default/token', 'Google']),
  )
  const [workload] = taking('/tenant%2Fof-ours/oauth2/v2.0/token')
  assert.deepEqual(form(workload?.body ?? Buffer.alloc(0)), {
    grant_type: 'client_credentials',
    client_id: 'client-of-the-pod',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: FEDERATED,
    scope: 'https://cognitiveservices.azure.com/.default',
  })
})

test('aws: requests are signed with the credentials of the container', async () => {
  const answer = await ask('aws')
  assert.equal(answer.status, 200, answer.text)
  const [sent] = taking('/aws/')
  assert.match(sent?.headers.authorization ?? '', /^AWS4-HMAC-SHA256 Credential=ASIAEXAMPLEOFOURS\//)
  assert.equal(sent?.headers['x-amz-security-token'], `secret-token-${given}`)
  assertNothingTold(answer.text)
})

test('a refused token is replaced once, and the request repeated; then the provider counts as refusing its key', async () => {
  await ask('oauth')
  taken = `secret-token-${given + 1}`
  assert.equal((await ask('oauth')).status, 200)
  const before = [given, taking('/oauth/').length]
  taken = 'another'
  const refused = await ask('oauth')
  assert.equal(refused.status, 502, refused.text)
  assert.deepEqual([given, taking('/oauth/').length], [(before[0] ?? 0) + 1, (before[1] ?? 0) + 2])
  assert.ok(server.logs().some((line) => line.includes("'oauth' refuses key 1 of 1 (status 401)")))
  const { body } = await server.admin('GET', '/admin/v1/requests?status=failed')
  assertNothingTold(refused.text, JSON.stringify(body))
})

test('a service that gives no token is not asked again at once, and its words lose their secrets', async () => {
  const slug = 'azure'
  taken = 'another'
  await ask(slug)
  const asked = taking('/ours/').length
  tokenAnswer = answers({ error: 'invalid_client', error_description: `AADSTS7000215: ${SECRET} of we is wrong` }, 401)
  await server.admin('POST', '/admin/v1/providers/try', {
    slug,
    provider: {
      adapter: 'openai',
      base_url: `${upstream.url}/${slug}`,
      auth: { type: 'azure', tenant: 'ours', client: 'we', authority: upstream.url },
    },
  })
  const answer = await ask(slug)
  assert.equal(answer.status, 502, answer.text)
  assert.ok(taking('/ours/').length <= asked + 2)
  assert.ok(
    server.logs().some((line) => line.includes('auth: token refused: 401 invalid_client AADSTS7000215: [redacted]')),
    server.logs().at(-1),
  )
  assertNothingTold(answer.text)
})

test('a trial gets a token and then the list, and has a word for a token that is not given', async () => {
  const provider = {
    adapter: 'openai',
    base_url: `${upstream.url}/oauth`,
    auth: { type: 'oauth', token_url: `${upstream.url}/token`, client: 'you', secret: SECRET },
  }
  const tried = async (): Promise<Answer> =>
    server.admin('POST', '/admin/v1/providers/try', { slug: 'oauth', provider })
  assert.equal((await tried()).body.outcome, 'listed')
  tokenAnswer = answers({ error: 'invalid_scope' }, 400)
  const { body } = await server.admin('POST', '/admin/v1/providers/try', {
    slug: 'oauth',
    provider: { ...provider, auth: { ...provider.auth, client: 'they' } },
  })
  assert.deepEqual([body.outcome, body.said], ['no_token', 'auth: token refused: 400 invalid_scope'])
})

test('secrets of an auth are masked, stay when they are sent back, and go to no other address', async () => {
  const { slug: _slug, ...body } = (await server.admin('GET', '/admin/v1/providers/oauth')).body
  assert.equal(body.auth.secret, '…ator')
  const before = given
  assert.equal((await server.admin('PUT', '/admin/v1/providers/oauth', { ...body, name: 'Named' })).status, 200)
  assert.equal((await ask('oauth')).status, 200)
  const far = {
    adapter: 'openai',
    base_url: 'https://api.example/v1',
    auth: { type: 'oauth', token_url: 'https://auth.example/t', client: 'we', secret: SECRET },
  }
  const put = (row: object): Promise<Answer> => server.admin('PUT', '/admin/v1/providers/far', row)
  assert.equal((await put(far)).status, 201)
  assert.equal((await put({ ...far, auth: { ...far.auth, secret: '…ator' } })).status, 200)
  const refused = await put({ ...far, auth: { ...far.auth, secret: '…ator', token_url: 'https://else.example/t' } })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /stands for no key/)
  const { secret: _left, ...open } = body.auth
  assert.equal((await server.admin('PUT', '/admin/v1/providers/oauth', { ...body, auth: open })).status, 200)
  assert.equal((await ask('oauth')).status, 200)
  assert.ok(given <= before + 1)
  assert.ok(!server.app.catalog.exportText().includes(SECRET))
})

test('requirement 14: what the API names gets no credentials of the machine, and asks no private or metadata address', async () => {
  const put = (row: object): Promise<Answer> => server.admin('PUT', '/admin/v1/providers/api', row)
  const mine = { adapter: 'gemini', base_url: 'https://collector.example/v1' }
  for (const auth of [
    { type: 'google_metadata' },
    { type: 'google', key_file: '/etc/key.json' },
    { type: 'azure_managed' },
    { type: 'azure_workload' },
    { type: 'yandex_metadata' },
  ]) {
    const refused = await put({ ...mine, auth })
    assert.equal(refused.status, 400, JSON.stringify(auth))
    assert.match(refused.text, /credentials of the machine go only to hosts of their vendor/)
  }
  const near = [
    'https://x.amazonaws.com',
    'https://bedrock.cloudapp.azure.com',
    'http://bedrock-runtime.us-east-1.amazonaws.com',
  ]
  for (const base of near)
    assert.equal((await put({ adapter: 'bedrock', base_url: base, auth: { type: 'aws' } })).status, 400)
  // A token of the machine opens more than models there.
  for (const base of ['https://storage.googleapis.com/upload', 'https://secretmanager.googleapis.com/v1'])
    assert.equal((await put({ ...mine, base_url: base, auth: { type: 'google_metadata' } })).status, 400, base)
  const bucket = 'https://bedrock-bucket.s3.amazonaws.com'
  assert.equal((await put({ adapter: 'bedrock', base_url: bucket, auth: { type: 'aws' } })).status, 400)
  const vertex = 'https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers/google'
  const key = { type: 'google', key_file: '/etc/key.json' }
  assert.equal(
    (await put({ ...mine, base_url: vertex, auth: { ...key, token_url: 'https://collector.example/t' } })).status,
    400,
  )
  assert.equal((await put({ ...mine, base_url: vertex, auth: { type: 'google_metadata' } })).status, 201)
  const oauth = { type: 'oauth', client: 'c', secret: 's' }
  for (const url of [
    'http://169.254.169.254/token',
    'http://metadata.google.internal/',
    'http://127.0.0.1:1/token',
    'ftp://a.example/',
  ])
    assert.equal((await put({ ...mine, auth: { ...oauth, token_url: url } })).status, 400, url)
  // The operator's own address, with another place for its tokens, is the API's row.
  const { slug: _slug, ...body } = (await server.admin('GET', '/admin/v1/providers/managed')).body
  const taken_ = { ...body, auth: { ...oauth, token_url: `${upstream.url}/token` } }
  assert.equal((await server.admin('PUT', '/admin/v1/providers/managed', taken_)).status, 400)
})

test('each mistake in an auth has its own sentence', async () => {
  const problem = async (auth: object, more: object = {}): Promise<string> => {
    const row = { adapter: 'openai', base_url: 'https://api.example/v1', auth, ...more }
    const { status, body } = await server.admin('PUT', '/admin/v1/providers/api', row)
    assert.equal(status, 400)
    return String(body.error.message)
  }
  assert.match(await problem({}), /auth.type: is required: one of oauth, /)
  assert.match(await problem({ type: 'kerberos' }), /must be one of oauth/)
  assert.match(await problem({ type: 'oauth', client: 'a', secret: 'b' }), /auth.token_url: is required/)
  assert.match(await problem({ type: 'gigachat' }), /auth.key: is required/)
  assert.match(await problem({ type: 'gigachat', key: 'k' }, { api_key: 'k' }), /replaces api_key/)
  assert.match(await problem({ type: 'google', key: '{}' }), /whole JSON of a key/)
  assert.match(await problem({ type: 'aws' }), /the adapter bedrock alone/)
  const sdk = { adapter: 'ai-sdk', package: '@ai-sdk/mistral' }
  assert.match(await problem({ type: 'gigachat', key: 'k' }, sdk), /auth: is not for the adapter ai-sdk/)
  const oauth = { type: 'oauth', token_url: 'https://a.example/t', client: 'a', secret: 'b' }
  assert.match(await problem({ ...oauth, headers: { Host: 'b.example' } }), /not of a header of the connection/)
  assert.match(await problem({ ...oauth, params: { a: 'b\nc' } }), /printable ASCII/)
  assert.match(await problem({ type: 'gigachat', key: 'k', tenant: 'x' }), /auth.tenant: is not a known field/)
})
