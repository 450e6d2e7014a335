import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, test } from 'node:test'
import { providerAuth, type AuthEntry } from '../../src/catalog/auth.ts'
import { isRefused, TokenCache, type Authorized, type TokenShare } from '../../src/protocols/auth/token-cache.ts'
import { movingClock } from '../harness/moving-clock.ts'
import { endpoint } from '../harness/plan-fixture.ts'
import { answers, startScriptedUpstream, type Received } from '../harness/scripted-upstream.ts'
import { freshFolder } from '../harness/lasting.ts'

let given = 0

const upstream = await startScriptedUpstream()
const folder = freshFolder()

beforeEach(() => {
  given = 0
  upstream.answer((response) => {
    given += 1
    answers({ access_token: `token-${given}`, expires_in: 1_000 })(response)
  })
})

function authorized(entry: AuthEntry): Authorized {
  return { ...endpoint('p').provider, auth: providerAuth(entry, '', true) }
}

const oauth = (): AuthEntry => ({ type: 'oauth', token_url: `${upstream.url}/token`, key: 'a2V5' })

async function valueOf(cache: TokenCache, provider: Authorized): Promise<string> {
  const got = await cache.get(provider)
  return isRefused(got) ? (got.said ?? '') : got.value
}

test('a token is got once, again before it ends, and used to its end while no new one can be had', async () => {
  const clock = movingClock()
  const cache = new TokenCache({ clock, env: {}, random: () => 0 })
  const provider = authorized(oauth())
  try {
    const both = await Promise.all([valueOf(cache, provider), valueOf(cache, provider)])
    assert.deepEqual(both, ['token-1', 'token-1'])
    clock.advance(799_000)
    assert.equal(await valueOf(cache, provider), 'token-1')
    assert.equal(given, 1)
    clock.advance(2_000)
    // The old one is sent while the new one is got.
    assert.ok(!(cache.get(provider) instanceof Promise))
    const renewed = async (value: string): Promise<void> => {
      while ((await valueOf(cache, provider)) !== value) await new Promise((resolve) => void setImmediate(resolve))
    }
    await renewed('token-2')
    assert.equal(given, 2)
    upstream.answer(answers({ error: 'temporarily_unavailable' }, 503))
    clock.advance(990_000)
    assert.equal(await valueOf(cache, provider), 'token-2')
    clock.advance(6_000)
    assert.match(await valueOf(cache, provider), /^auth: token refused: 503 temporarily_unavailable$/)
    // A node that has failed just now does not ask for each request.
    const asked = upstream.received.length
    assert.match(await valueOf(cache, provider), /^auth: token refused/)
    assert.equal(upstream.received.length, asked)
    upstream.answer(answers({ access_token: 'token-3', expires_in: 1_000 }))
    clock.advance(6_000)
    assert.equal(await valueOf(cache, provider), 'token-3')
    assert.deepEqual(provider.auth.issued, ['token-1', 'token-2', 'token-3'])
  } finally {
    await cache.close()
  }
})

test('a token that is said to be over is used all the same, and not got again for each request', async () => {
  const clock = movingClock()
  const cache = new TokenCache({ clock, env: {}, random: () => 0 })
  try {
    for (const [index, end] of [
      { expires_in: 0 },
      { expires_in: -1 },
      { expires_at: 1 },
      { expires_in: 3 },
    ].entries()) {
      const provider = authorized({ ...oauth(), scope: String(index) })
      const asked = upstream.received.length
      upstream.answer(answers({ access_token: `over-${index}`, ...end }))
      for (let request = 0; request < 3; request += 1) assert.equal(await valueOf(cache, provider), `over-${index}`)
      assert.equal(upstream.received.length, asked + 1, JSON.stringify(end))
    }
  } finally {
    await cache.close()
  }
})

test('of the words of a refusal only the beginning is kept, which each refused request looks through', async () => {
  const cache = new TokenCache({ clock: movingClock(), env: {}, random: () => 0 })
  upstream.answer(answers({ error: 'invalid_client', error_description: `${'no '.repeat(20_000)}end` }, 401))
  try {
    const said = await valueOf(cache, authorized(oauth()))
    assert.match(said, /^auth: token refused: 401 invalid_client no no/)
    assert.ok(said.length < 2_100, String(said.length))
  } finally {
    await cache.close()
  }
})

test('nodes share a token, and none takes one that was refused; that of a machine stays on it', async () => {
  const clock = movingClock()
  const kept = new Map<string, Parameters<TokenShare['write']>[1]>()
  const share: TokenShare = {
    read: (print) => Promise.resolve(kept.get(print) ?? null),
    write: (print, token) => Promise.resolve(void kept.set(print, token)),
  }
  const env = { GCE_METADATA_HOST: new URL(upstream.url).host }
  const [one, other] = [
    new TokenCache({ clock, env, random: () => 0, share }),
    new TokenCache({ clock, env, random: () => 0, share }),
  ]
  try {
    assert.equal(await valueOf(one, authorized(oauth())), 'token-1')
    assert.equal(await valueOf(other, authorized(oauth())), 'token-1')
    other.refused(authorized(oauth()), 'token-1')
    assert.equal(await valueOf(other, authorized(oauth())), 'token-2')
    one.refused(authorized(oauth()), 'token-1')
    assert.equal(await valueOf(one, authorized(oauth())), 'token-2')
    assert.equal(await valueOf(one, authorized({ type: 'google_metadata' })), 'token-3')
    assert.equal(await valueOf(other, authorized({ type: 'google_metadata' })), 'token-4')
  } finally {
    await Promise.all([one.close(), other.close()])
  }
})

/** Answers as AWS's services do; the value tells which of them was asked. */
function playAws(request: Received): { readonly status?: number; readonly body: string } {
  const path = request.path
  const json = (name: string): string =>
    JSON.stringify({ AccessKeyId: name, SecretAccessKey: 's', Token: 't', Expiration: '2030-01-01T00:00:00Z' })
  if (path === '/latest/api/token') return request.method === 'PUT' ? { body: 'session' } : { status: 405, body: '' }
  if (path.startsWith('/latest') && request.headers['x-aws-ec2-metadata-token'] !== 'session')
    return { status: 401, body: '' }
  if (path === '/latest/meta-data/iam/security-credentials/') return { body: 'role-of-us' }
  if (path === '/latest/meta-data/iam/security-credentials/role-of-us') return { body: json('instance') }
  if (path.startsWith('/federation/credentials'))
    return {
      status: request.headers['x-amz-sso_bearer_token'] === 'signed-on' ? 200 : 401,
      body: JSON.stringify({
        roleCredentials: { accessKeyId: path, secretAccessKey: 's', sessionToken: 't', expiration: 1_900_000_000_000 },
      }),
    }
  if (path === '/container') return { body: json(`container-${request.headers.authorization ?? ''}`) }
  const signed = request.headers.authorization === undefined ? 'open' : 'signed'
  return {
    body: `<R><Credentials><AccessKeyId>sts-${signed}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2030-01-01T00:00:00Z</Expiration></Credentials></R>`,
  }
}

test('credentials of AWS are found as its own tools find them, in their order', async () => {
  upstream.answer((response, request) => {
    const { status = 200, body } = playAws(request)
    response.writeHead(status).end(body)
  })
  const [config, token] = [join(folder, 'config'), join(folder, 'token')]
  writeFileSync(token, 'a.web.token\n')
  writeFileSync(
    config,
    [
      '[profile fixed]\naws_access_key_id = profile\naws_secret_access_key = s',
      '[profile role]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = fixed',
      '[profile machine]\nrole_arn = arn:aws:iam::1:role/r\ncredential_source = Ec2InstanceMetadata',
      '[profile loop]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = loop2',
      '[profile loop2]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = loop',
      '[sso-session ours]\nsso_region = eu-north-1\nsso_start_url = https://ours.example/start',
      '[profile signed]\nsso_session = ours\nsso_account_id = 1\nsso_role_name = r',
      '[profile signed-old]\nsso_start_url = https://old.example/start\nsso_region = eu-north-1\nsso_account_id = 1\nsso_role_name = r',
      '[profile command]\ncredential_process = /bin/true',
    ].join('\n'),
  )
  const base = {
    AWS_CONFIG_FILE: '/nowhere',
    AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
    AWS_EC2_METADATA_SERVICE_ENDPOINT: upstream.url,
    AWS_ENDPOINT_URL_STS: upstream.url,
    AWS_ENDPOINT_URL_SSO: upstream.url,
    HOME: folder,
  }
  const found = async (env: Readonly<Record<string, string>>, profile?: string): Promise<string> => {
    const cache = new TokenCache({ clock: movingClock(), env: { ...base, ...env }, random: () => 0 })
    try {
      return await valueOf(cache, authorized({ type: 'aws', ...(profile === undefined ? {} : { profile }) }))
    } finally {
      await cache.close()
    }
  }
  const cache = join(folder, '.aws', 'sso', 'cache')
  mkdirSync(cache, { recursive: true })
  const signedOn = (name: string, expiresAt: string): void =>
    writeFileSync(
      join(cache, `${createHash('sha1').update(name).digest('hex')}.json`),
      JSON.stringify({ accessToken: 'signed-on', expiresAt }),
    )
  signedOn('ours', '2099-01-01T00:00:00Z')
  signedOn('https://old.example/start', '2001-01-01T00:00:00Z')
  const keys = { AWS_ACCESS_KEY_ID: 'env', AWS_SECRET_ACCESS_KEY: 's' }
  const files = { AWS_CONFIG_FILE: config }
  const web = { AWS_WEB_IDENTITY_TOKEN_FILE: token, AWS_ROLE_ARN: 'arn:aws:iam::1:role/r' }
  const container = {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${upstream.url}/container`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: 'pod',
  }
  assert.equal(await found({ ...keys, ...files, AWS_PROFILE: 'fixed', ...web }), 'env:s')
  assert.equal(await found({ ...files, AWS_PROFILE: 'fixed', ...web }), 'profile:s')
  assert.equal(await found({ ...keys, ...files }, 'role'), 'sts-signed:s:t')
  assert.equal(await found({ ...files }, 'machine'), 'sts-signed:s:t')
  assert.equal(await found({ ...web, ...container }), 'sts-open:s:t')
  assert.equal(await found(container), 'container-pod:s:t')
  assert.equal(await found({}), 'instance:s:t')
  assert.equal(await found(files, 'signed'), '/federation/credentials?account_id=1&role_name=r:s:t')
  assert.match(await found(files, 'signed-old'), /the profile 'signed-old' needs a new `aws sso login`/)
  assert.match(await found(files, 'loop'), /is the source of itself/)
  assert.match(await found(files, 'command'), /needs credential_process, which a server does not do/)
  assert.match(await found(files, 'other'), /'other' is not in the files of AWS/)
  assert.match(await found({ AWS_EC2_METADATA_DISABLED: 'true' }), /no credentials of AWS/)
  assert.match(
    await found({ AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://collector.example/' }),
    /neither https nor on this machine/,
  )
  const sent = upstream.received.map(({ body }) => body.toString()).find((body) => body.includes('WebIdentityToken'))
  assert.match(sent ?? '', /Action=AssumeRoleWithWebIdentity.*RoleSessionName=tollgate&WebIdentityToken=a\.web\.token$/)
})

test('a key file that is a device, a folder or too long is not read', async () => {
  const cache = new TokenCache({ clock: movingClock(), env: {}, random: () => 0 })
  const long = join(folder, 'long')
  writeFileSync(long, 'x'.repeat(70_000))
  try {
    for (const file of ['/dev/zero', folder, long])
      assert.equal(
        await valueOf(cache, authorized({ type: 'google', key_file: file })),
        'auth: the file of key_file is none, or too long',
      )
  } finally {
    await cache.close()
  }
})
