import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { ConsoleClient, PASSWORD, signedUp } from '../harness/console-client.ts'
import { gateway, type Answer, movingGateway } from '../harness/gateway.ts'
import { startOidcIssuer, type IssuedClaims } from '../harness/oidc-issuer.ts'
import { refused } from '../harness/refused.ts'

const issuer = await startOidcIssuer('tollgate', 'client-secret')
const tollgate = await gateway({
  env: {
    OIDC_ISSUER: issuer.url,
    OIDC_CLIENT_ID: 'tollgate',
    OIDC_CLIENT_SECRET: 'client-secret',
    OIDC_NAME: 'Acme ID',
  },
})

interface Flow {
  readonly location: string
  readonly cookie: string
}

const FLOW_COOKIE = /^tg_oidc=[\w-]+; Path=\/cabinet\/v1\/oidc\/callback; HttpOnly; SameSite=Lax; Max-Age=600$/

async function begin(cookie = '', query = ''): Promise<Flow> {
  const started = await tollgate.request('GET', `/cabinet/v1/oidc/start${query}`, {
    headers: cookie === '' ? {} : { cookie },
  })
  assert.equal(started.status, 302, started.text)
  const flow = started.headers['set-cookie'] ?? ''
  assert.match(flow, FLOW_COOKIE)
  return { location: started.headers['location'] ?? '', cookie: flow.split(';')[0] ?? '' }
}

/** As the page does when a signed-in user adds single sign-on. */
async function beginLink(browser: ConsoleClient, proof: object = { password: PASSWORD }): Promise<Flow> {
  const started = await browser.post('identities/link', proof)
  assert.equal(started.status, 200, started.text)
  assert.match(started.headers['set-cookie'] ?? '', FLOW_COOKIE)
  return { location: started.body.url, cookie: (started.headers['set-cookie'] ?? '').split(';')[0] ?? '' }
}

async function linked(browser: ConsoleClient, claims: IssuedClaims, proof?: object): Promise<string> {
  const { location, cookie } = await beginLink(browser, proof)
  return (await comeBack(issuer.approve(location, claims), `${cookie}; ${browser.cookie}`)).headers['location'] ?? ''
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

test('a new person is signed up, and recognised only by issuer and subject', async () => {
  assert.deepEqual((await new ConsoleClient(tollgate).get('session')).body.service.oidc, {
    name: 'Acme ID',
    start: '/cabinet/v1/oidc/start',
  })
  const first = await through(ANN)
  assert.deepEqual([first.status, first.headers['location']], [302, '/'], first.text)
  const profile = (await browserOf(first).get('profile')).body
  assert.deepEqual(
    [profile.email, profile.name, profile.has_password, profile.has_oidc, profile.role],
    ['ann@example.com', 'Ann', false, true, 'user'],
  )
  const again = await through({ ...ANN, email: 'moved@example.com' })
  assert.equal((await browserOf(again).get('profile')).body.user_id, profile.user_id)
  assert.deepEqual(
    (await browserOf(again).get('sign-ins')).body.data.map(({ method }: { method: string }) => method),
    ['oidc', 'oidc'],
  )
  assert.equal(
    (await new ConsoleClient(tollgate).signIn('ann@example.com')).status,
    401,
    'no password opens a user without one',
  )
})

test('a state, nonce, code or cookie of another flow signs no one in', async () => {
  const { location, cookie } = await begin()
  const back = new URL(issuer.approve(location, ANN))
  const changed = (name: string, value: string): string => {
    const url = new URL(back)
    url.searchParams.set(name, value)
    return url.href
  }
  for (const [url, sent] of [
    [changed('state', 'x'), cookie],
    [changed('code', 'x'), cookie],
    [back.href, ''],
    [back.href, 'tg_oidc=AAAA'],
    [back.href, (await begin()).cookie],
  ] as const) {
    const answer = await comeBack(url, sent)
    assert.deepEqual([answer.status, answer.headers['location']], [302, '/sign-in#error=access_denied'], url)
    assert.doesNotMatch(answer.headers['set-cookie'] ?? '', /tg_sid/)
  }
  const wrong = await through({ ...ANN, nonce: 'another' })
  assert.equal(wrong.headers['location'], '/sign-in#error=access_denied')
})

test('an e-mail that belongs to a user or is not verified gives no way in', async () => {
  const { email } = await signedUp(tollgate)
  assert.equal(
    (await through({ sub: 'thief', email, email_verified: true })).headers['location'],
    '/sign-in#error=conflict',
  )
  assert.equal(
    (await through({ sub: 'ghost', email: 'ghost@example.com', email_verified: false })).headers['location'],
    '/sign-in#error=access_denied',
  )
  assert.equal((await through({ sub: 'nobody' })).headers['location'], '/sign-in#error=access_denied')
})

test('a signed-in user adds single sign-on to themselves, in their own browser', async () => {
  const { browser, email, userId } = await signedUp(tollgate)
  const { location, cookie } = await beginLink(browser)
  const url = issuer.approve(location, { sub: 'linked' })
  assert.equal((await comeBack(url, cookie)).headers['location'], '/security#error=unauthorized', 'another browser')
  assert.equal(await linked(browser, { sub: 'linked', email: 'linked@issuer.example' }), '/security#linked')
  const entered = await through({ sub: 'linked' })
  assert.equal((await browserOf(entered).get('profile')).body.email, email)
  const [identity] = (await browser.get('identities')).body.data
  assert.deepEqual([identity.issuer, identity.subject, identity.email], [issuer.url, 'linked', 'linked@issuer.example'])
  refused(await browser.post('identities/link', { password: PASSWORD }), 409, 'conflict')
  const stranger = await signedUp(tollgate)
  assert.equal(await linked(stranger.browser, { sub: 'linked' }), '/security#error=conflict', 'it is taken')
  const { data } = (await tollgate.admin('GET', `/admin/v1/events?object=${userId}&action=user.oidc`)).body
  assert.deepEqual(
    data.map((event: { action: string; actor: string; after: unknown }) => [event.action, event.actor, event.after]),
    [['user.oidc_link', email, { issuer: issuer.url, subject: 'linked', email: 'linked@issuer.example' }]],
  )
})

test('an identity is added by nothing but a POST of our own page with a proof: no navigation, no other site, no old session', async () => {
  const { browser } = await signedUp(tollgate)
  const navigated = await begin(browser.cookie, '?link=1')
  const back = await comeBack(
    issuer.approve(navigated.location, { sub: 'attacker', email: 'attacker@example.com', email_verified: true }),
    `${navigated.cookie}; ${browser.cookie}`,
  )
  assert.equal(back.headers['location'], '/', 'it signed in somebody else')
  assert.notEqual((await browserOf(back).get('profile')).body.user_id, undefined)
  const { browser: other } = await signedUp(tollgate)
  for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }])
    refused(await other.request('POST', 'identities/link', { password: PASSWORD }, headers), 403, 'access_denied')
  assert.equal(
    (await tollgate.request('GET', '/cabinet/v1/identities/link', { headers: { cookie: other.cookie } })).status,
    405,
  )
  refused(await other.post('identities/link', {}), 400, 'invalid_input', /^password/)
  refused(await other.post('identities/link', { password: 'a wrong password' }), 400, 'invalid_input', /^password/)
  refused(await other.post('identities/link', { code: '000000' }), 400, 'invalid_input', /^password/)
  assert.deepEqual((await other.get('identities')).body.data, [])
  const { location, cookie } = await beginLink(other)
  const { email } = (await other.get('profile')).body
  await other.signIn(email)
  assert.equal(
    (await comeBack(issuer.approve(location, { sub: 'later' }), `${cookie}; ${other.cookie}`)).headers['location'],
    '/security#error=unauthorized',
    'the proof was given in a session that ended',
  )
})

test('an identity is taken away with a proof, by the person or by an administrator, and with it who came in by it; never the only way in', async () => {
  const { browser, userId } = await signedUp(tollgate)
  await linked(browser, { sub: 'removable' })
  const intruder = browserOf(await through({ sub: 'removable' }))
  assert.equal((await intruder.get('profile')).body.user_id, userId)
  const { id } = (await browser.get('identities')).body.data[0]
  refused(await browser.post(`identities/${id}/unlink`, {}), 400, 'invalid_input', /^password/)
  refused(await browser.post('identities/idn_none/unlink', { password: PASSWORD }), 404, 'not_found')
  refused(
    await (await signedUp(tollgate)).browser.post(`identities/${id}/unlink`, { password: PASSWORD }),
    404,
    'not_found',
  )
  assert.deepEqual((await browser.post(`identities/${id}/unlink`, { password: PASSWORD })).body, { id, deleted: true })
  refused(await intruder.get('profile'), 401, 'unauthorized')
  assert.equal((await browser.get('profile')).body.has_oidc, false)
  assert.equal((await through({ sub: 'removable' })).headers['location'], '/sign-in#error=access_denied')

  await linked(browser, { sub: 'again', email: 'again@issuer.example' })
  const shown = (await tollgate.admin('GET', `/admin/v1/users?query=${(await browser.get('profile')).body.email}`)).body
    .data[0]
  assert.deepEqual([shown.identities[0].subject, shown.identities[0].email], ['again', 'again@issuer.example'])
  const path = `/admin/v1/users/${userId}/identities/${shown.identities[0].id}`
  assert.deepEqual((await tollgate.admin('DELETE', path)).body, { id: shown.identities[0].id, deleted: true })
  assert.equal((await tollgate.admin('DELETE', path)).status, 404)
  refused(await browser.get('profile'), 401, 'unauthorized')
  const { data } = (await tollgate.admin('GET', `/admin/v1/events?object=${userId}&action=user.oidc_unlink`)).body
  assert.deepEqual(
    data.map(({ actor }: { actor: string }) => actor === 'token'),
    [true, false],
  )

  const only = browserOf(await through({ sub: 'only', email: 'only@example.com', email_verified: true }))
  const own = (await only.get('identities')).body.data[0]
  refused(await only.post(`identities/${own.id}/unlink`, {}), 409, 'conflict', /only way in/)
  const { user_id: onlyId } = (await only.get('profile')).body
  assert.equal((await tollgate.admin('DELETE', `/admin/v1/users/${onlyId}/identities/${own.id}`)).status, 409)
  // With a password there is another way to sign in.
  assert.equal((await only.post('password', { new_password: PASSWORD })).status, 200)
  assert.equal((await only.post(`identities/${own.id}/unlink`, { password: PASSWORD })).status, 200)
  assert.equal((await new ConsoleClient(tollgate).signIn('only@example.com')).status, 200)
})

test('a user without password and code proves their identity by a fresh sign-in; an old session adds no way in', async () => {
  const server = await movingGateway({
    catalog: 'bundled: true\n',
    env: {
      OIDC_ISSUER: issuer.url,
      OIDC_CLIENT_ID: 'tollgate',
      OIDC_CLIENT_SECRET: 'client-secret',
      OIDC_NAME: 'Acme ID',
    },
  })
  const enter = async (): Promise<ConsoleClient> => {
    const started = await server.request('GET', '/cabinet/v1/oidc/start')
    const { pathname, search } = new URL(
      issuer.approve(started.headers['location'] ?? '', {
        sub: 'fresh',
        email: 'fresh@example.com',
        email_verified: true,
      }),
    )
    const back = await server.request('GET', pathname + search, {
      headers: { cookie: (started.headers['set-cookie'] ?? '').split(';')[0] ?? '' },
    })
    return new ConsoleClient(server, (back.headers['set-cookie'] ?? '').split(';')[0])
  }
  const old = await enter()
  server.clock.advance(10 * 60_000 + 1)
  assert.ok(Date.parse((await old.get('session')).body.session.fresh_until) < server.clock.now())
  for (const [path, body] of [
    ['password', { new_password: PASSWORD }],
    ['totp', {}],
    ['identities/link', {}],
  ] as const)
    refused(await old.post(path, body), 403, 'access_denied', /^Sign in again first/)
  const fresh = await enter()
  const { secret } = (await fresh.post('totp', {})).body
  const totp = new TOTP({ secret: Secret.fromBase32(secret) })
  const code = (): string => totp.generate({ timestamp: server.clock.now() })
  assert.equal((await fresh.post('totp/confirm', { code: code() })).status, 200)
  server.clock.advance(60_000)
  refused(await fresh.post('password', { new_password: PASSWORD }), 400, 'invalid_input', /^code: is required/)
  refused(await fresh.post('password', { new_password: PASSWORD, code: '000000' }), 400, 'invalid_input', /^code/)
  assert.equal((await fresh.post('password', { new_password: PASSWORD, code: code() })).body.has_password, true)
})

test('two-step sign-in is asked for after single sign-on too', async () => {
  const { browser } = await signedUp(tollgate)
  assert.equal(await linked(browser, { sub: 'careful' }), '/security#linked')
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

test('while sign-up is closed no new person comes in', async () => {
  await tollgate.admin('PATCH', '/admin/v1/settings', { signup: 'closed' })
  assert.equal(
    (await through({ sub: 'late', email: 'late@example.com', email_verified: true })).headers['location'],
    '/sign-in#error=access_denied',
  )
  assert.equal((await through(ANN)).headers['location'], '/')
})
