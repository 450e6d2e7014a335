import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { ConsoleClient, PASSWORD, signedUp } from '../harness/console-client.ts'
import { startOidcIssuer, type IssuedClaims, type OidcIssuer } from '../harness/oidc-issuer.ts'
import { startTollgate, type Answer, type Tollgate } from '../harness/server.ts'

let issuer: OidcIssuer
let tollgate: Tollgate

before(async () => {
  issuer = await startOidcIssuer('tollgate', 'client-secret')
  tollgate = await startTollgate({ env: { OIDC_ISSUER: issuer.url, OIDC_CLIENT_ID: 'tollgate', OIDC_CLIENT_SECRET: 'client-secret', OIDC_NAME: 'Acme ID' } })
})

after(async () => {
  await tollgate.stop()
  await issuer.close()
})

interface Flow {
  readonly location: string
  readonly cookie: string
}

async function begin(cookie = '', query = ''): Promise<Flow> {
  const started = await tollgate.request('GET', `/cabinet/v1/oidc/start${query}`, { headers: cookie === '' ? {} : { cookie } })
  assert.equal(started.status, 302, started.text)
  const flow = started.headers['set-cookie'] ?? ''
  assert.match(flow, /^tg_oidc=[\w-]+; Path=\/cabinet\/v1\/oidc\/callback; HttpOnly; SameSite=Lax; Max-Age=600$/)
  return { location: started.headers['location'] ?? '', cookie: flow.split(';')[0] ?? '' }
}

function comeBack(url: string, cookie: string): Promise<Answer> {
  const { pathname, search } = new URL(url)
  return tollgate.request('GET', pathname + search, { headers: { cookie } })
}

async function through(claims: IssuedClaims): Promise<Answer> {
  const { location, cookie } = await begin()
  return comeBack(issuer.approve(location, claims), cookie)
}

function browserOf(answer: Answer): ConsoleClient {
  return new ConsoleClient(tollgate, (answer.headers['set-cookie'] ?? '').split(';')[0])
}

const ANN = { sub: 'ann-1', email: 'Ann@Example.com', email_verified: true, name: 'Ann' }

test('somebody new is signed up, and known again by issuer and subject alone', async () => {
  assert.deepEqual((await new ConsoleClient(tollgate).get('session')).body.service.oidc, { name: 'Acme ID', start: '/cabinet/v1/oidc/start' })
  const first = await through(ANN)
  assert.deepEqual([first.status, first.headers['location']], [302, '/'], first.text)
  const profile = (await browserOf(first).get('profile')).body
  assert.deepEqual([profile.email, profile.name, profile.has_password, profile.has_oidc, profile.role], ['ann@example.com', 'Ann', false, true, 'user'])
  const again = await through({ ...ANN, email: 'moved@example.com' })
  assert.equal((await browserOf(again).get('profile')).body.user_id, profile.user_id)
  assert.deepEqual((await browserOf(again).get('sign-ins')).body.data.map(({ method }: { method: string }) => method), ['oidc', 'oidc'])
  assert.equal((await new ConsoleClient(tollgate).signIn('ann@example.com')).status, 401, 'no password opens a user without one')
})

test('a state, nonce, code or cookie that is not of this flow signs nobody in', async () => {
  const { location, cookie } = await begin()
  const back = new URL(issuer.approve(location, ANN))
  const changed = (name: string, value: string): string => {
    const url = new URL(back)
    url.searchParams.set(name, value)
    return url.href
  }
  for (const [url, sent] of [[changed('state', 'x'), cookie], [changed('code', 'x'), cookie], [back.href, ''], [back.href, 'tg_oidc=AAAA'], [back.href, (await begin()).cookie]] as const) {
    const answer = await comeBack(url, sent)
    assert.deepEqual([answer.status, answer.headers['location']], [302, '/sign-in#error=access_denied'], url)
    assert.doesNotMatch(answer.headers['set-cookie'] ?? '', /tg_sid/)
  }
  const wrong = await through({ ...ANN, nonce: 'another' })
  assert.equal(wrong.headers['location'], '/sign-in#error=access_denied')
})

test('an e-mail that has a user, or that nobody vouches for, gives no way in', async () => {
  const { email } = await signedUp(tollgate)
  assert.equal((await through({ sub: 'thief', email, email_verified: true })).headers['location'], '/sign-in#error=conflict')
  assert.equal((await through({ sub: 'ghost', email: 'ghost@example.com', email_verified: false })).headers['location'], '/sign-in#error=access_denied')
  assert.equal((await through({ sub: 'nobody' })).headers['location'], '/sign-in#error=access_denied')
})

test('a signed-in user adds single sign-on to themselves, in their own browser', async () => {
  const { browser, email } = await signedUp(tollgate)
  const { location, cookie } = await begin(browser.cookie, '?link=1')
  const url = issuer.approve(location, { sub: 'linked' })
  assert.equal((await comeBack(url, cookie)).headers['location'], '/sign-in#error=unauthorized', 'another browser')
  const second = await begin(browser.cookie, '?link=1')
  assert.equal((await comeBack(issuer.approve(second.location, { sub: 'linked' }), `${second.cookie}; ${browser.cookie}`)).headers['location'], '/settings')
  const entered = await through({ sub: 'linked' })
  assert.equal((await browserOf(entered).get('profile')).body.email, email)
})

test('two-step sign-in is asked for after single sign-on too', async () => {
  const { browser } = await signedUp(tollgate)
  const linked = await begin(browser.cookie, '?link=1')
  await comeBack(issuer.approve(linked.location, { sub: 'careful' }), `${linked.cookie}; ${browser.cookie}`)
  const { secret } = (await browser.post('totp', { password: PASSWORD })).body
  const totp = new TOTP({ secret: Secret.fromBase32(secret) })
  const { recovery_codes: codes } = (await browser.post('totp/confirm', { code: totp.generate() })).body
  const location = (await through({ sub: 'careful' })).headers['location'] ?? ''
  const ticket = /^\/sign-in#ticket=([\w-]+)$/.exec(location)?.[1]
  assert.ok(ticket !== undefined, location)
  const other = new ConsoleClient(tollgate)
  assert.equal((await other.post('sign-in/code', { ticket, code: codes[0] })).body.status, 'signed_in')
  assert.equal((await other.get('profile')).status, 200)
})

test('while sign-up is closed nobody new comes in', async () => {
  await tollgate.admin('PATCH', '/admin/v1/settings', { signup: 'closed' })
  assert.equal((await through({ sub: 'late', email: 'late@example.com', email_verified: true })).headers['location'], '/sign-in#error=access_denied')
  assert.equal((await through(ANN)).headers['location'], '/')
})
