import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import { administrator, ConsoleClient, PASSWORD, signedUp } from '../../harness/console-client.ts'
import { gateway, type Answer } from '../../harness/gateway.ts'
import { MINUTE_MS, HOUR_MS, server, codeAt, serveSignIn } from '../../harness/sign-in-world.ts'
import { refused } from '../../harness/refused.ts'

await serveSignIn()

test('without a session the session route answers that no one is signed in, and every other route of the cabinet is 401', async () => {
  const state = await new ConsoleClient(server).get('session')
  assert.equal(state.status, 200)
  assert.deepEqual(
    [state.body.profile, state.body.session, state.body.service.signup, state.body.service.oidc],
    [null, null, 'open', null],
  )
  assert.equal(state.body.service.api_base, `${server.url}/v1`)
  for (const path of [
    'profile',
    'summary',
    'keys',
    'usage',
    'log',
    'log/filters',
    'log/gen-1',
    'log.csv',
    'apps',
    'models',
    'ledger',
    'statement',
    'payments',
    'sessions',
    'sign-ins',
  ]) {
    refused(await new ConsoleClient(server).get(path), 401, 'unauthorized')
  }
})

test('two planes: the cabinet refuses API keys and the admin token, /v1 ignores cookies, /admin/v1 refuses a user', async () => {
  const { browser } = await signedUp(server)
  const { key } = await server.createAccount()
  refused(await server.get('/cabinet/v1/profile', key), 403, 'access_denied')
  refused(await server.get('/cabinet/v1/profile', server.adminToken), 403, 'access_denied')
  refused(
    await server.request('GET', '/v1/user/balance', { headers: { cookie: browser.cookie } }),
    401,
    'missing_api_key',
  )
  refused(await browser.get('/admin/v1/accounts'), 403, 'access_denied')
})

test('sign-up makes a user with an account; an e-mail is taken once however it is typed; bad passwords are refused', async () => {
  const browser = new ConsoleClient(server)
  const made = await browser.post('sign-up', {
    email: 'Mixed.Case@Example.com',
    password: PASSWORD,
    name: 'Mixed',
    language: 'ru',
  })
  assert.equal(made.status, 201, made.text)
  assert.deepEqual(
    [made.body.profile.email, made.body.profile.name, made.body.profile.language, made.body.profile.role],
    ['mixed.case@example.com', 'Mixed', 'ru', 'user'],
  )
  assert.match(made.body.profile.account_id, /^acc_/)
  assert.match(
    made.headers['set-cookie'] ?? '',
    /^tg_sid=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800$/m,
  )
  refused(
    await new ConsoleClient(server).post('sign-up', { email: 'mixed.case@example.com', password: PASSWORD }),
    409,
    'conflict',
  )
  const reject = async (password: string, message: RegExp): Promise<void> =>
    refused(
      await new ConsoleClient(server).post('sign-up', { email: 'weak@example.com', password }),
      400,
      'invalid_input',
      message,
    )
  await reject('short', /12 to 128/)
  await reject('x'.repeat(129), /12 to 128/)
  await reject('password1234', /attacker/)
  await reject('PASSWORD1234', /attacker/)
  await reject('weak@example.com', /attacker/)
  await reject('aaaaaaaaaaaaaa', /attacker/)
  refused(
    await new ConsoleClient(server).post('sign-up', { email: 'nobody', password: PASSWORD }),
    400,
    'invalid_input',
    /^email/,
  )
  refused(
    await new ConsoleClient(server).post('sign-up', { email: 'a@b.c', password: PASSWORD, role: 'admin' }),
    400,
    'invalid_input',
    /role/,
  )
})

test('sign-up closes live by the setting', async () => {
  assert.equal((await server.admin('PATCH', '/admin/v1/settings', { signup: 'closed' })).body.signup, 'closed')
  refused(
    await new ConsoleClient(server).post('sign-up', { email: 'late@example.com', password: PASSWORD }),
    403,
    'access_denied',
  )
  assert.equal((await new ConsoleClient(server).get('session')).body.service.signup, 'closed')
  assert.equal((await server.admin('PATCH', '/admin/v1/settings', { signup: 'open' })).body.signup, 'open')
})

test('requirement 9: a changing request from another origin is refused, signed in or not, and never without JSON', async () => {
  const { browser, email } = await signedUp(server)
  const hostile: readonly Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
  ]
  for (const headers of hostile) {
    refused(await browser.request('POST', 'keys', { name: 'x' }, headers), 403, 'access_denied')
    refused(await browser.request('DELETE', 'sessions/ses_x', undefined, headers), 403, 'access_denied')
    refused(
      await new ConsoleClient(server).request('POST', 'sign-in', { email, password: PASSWORD }, headers),
      403,
      'access_denied',
    )
  }
  const plain = (headers: Record<string, string>): Promise<Answer> =>
    server.request('POST', '/cabinet/v1/keys', { headers: { cookie: browser.cookie, ...headers }, body: { name: 'k' } })
  refused(await plain({}), 403, 'access_denied')
  refused(await plain({ origin: 'https://evil.example' }), 403, 'access_denied')
  refused(await plain({ origin: 'null' }), 403, 'access_denied')
  refused(await plain({ origin: server.url, 'sec-fetch-site': 'cross-site' }), 403, 'access_denied')
  assert.equal((await plain({ origin: server.url })).status, 201)
  refused(
    await browser.request('POST', 'keys', 'name=x', { 'content-type': 'application/x-www-form-urlencoded' }),
    415,
    'unsupported_media_type',
  )
  const preflight = await server.request('OPTIONS', '/cabinet/v1/keys', { headers: { origin: 'https://evil.example' } })
  assert.equal(preflight.headers['access-control-allow-origin'], undefined)
  assert.equal((await browser.get('session')).headers['access-control-allow-origin'], undefined)
})

test('requirement 8: a session id is new at each sign-in, ends at sign-out, is listed and revoked', async () => {
  const { browser, email } = await signedUp(server)
  const first = browser.cookie
  assert.equal((await browser.signIn(email)).body.status, 'signed_in')
  assert.notEqual(browser.cookie, first)
  refused(await new ConsoleClient(server, first).get('profile'), 401, 'unauthorized')
  const planted = new ConsoleClient(server, `tg_sid=${'A'.repeat(43)}`)
  await planted.signIn(email)
  assert.notEqual(planted.cookie, `tg_sid=${'A'.repeat(43)}`)
  const sessions = (await browser.get('sessions')).body.data
  assert.equal(sessions.length, 2)
  const other = sessions.find(({ current }: { current: boolean }) => !current)
  assert.deepEqual((await browser.request('DELETE', `sessions/${other.id}`)).body, { id: other.id, deleted: true })
  refused(await planted.get('profile'), 401, 'unauthorized')
  const stranger = await signedUp(server)
  refused(await stranger.browser.request('DELETE', `sessions/${sessions[0].id}`), 404, 'not_found')
  const replayed = browser.copy()
  assert.deepEqual((await browser.post('sign-out')).body, { signed_out: true })
  assert.equal(browser.cookie, '')
  refused(await replayed.get('profile'), 401, 'unauthorized')
})

test('requirement 8: a user is signed out after 12 idle hours and after 7 days; an administrator after 30 idle minutes and after 12 hours', async () => {
  const { browser } = await signedUp(server)
  server.clock.advance(11 * HOUR_MS)
  assert.equal((await browser.get('profile')).status, 200)
  server.clock.advance(12 * HOUR_MS + MINUTE_MS)
  refused(await browser.get('profile'), 401, 'unauthorized')
  const busy = await signedUp(server)
  for (let hours = 0; hours < 7 * 24 - 11; hours += 11) {
    assert.equal((await busy.browser.get('profile')).status, 200)
    server.clock.advance(11 * HOUR_MS)
  }
  server.clock.advance(11 * HOUR_MS)
  refused(await busy.browser.get('profile'), 401, 'unauthorized')
  const admin = await administrator(server, 'limits@example.com')
  for (let minutes = 0; minutes < 11 * 60; minutes += 28) {
    assert.equal((await admin.get('/admin/v1/accounts?limit=1')).status, 200)
    server.clock.advance(28 * MINUTE_MS)
  }
  await admin.signIn('limits@example.com')
  server.clock.advance(31 * MINUTE_MS)
  refused(await admin.get('/admin/v1/accounts'), 401, 'unauthorized')
})

test('requirement 11: five failures of one person at one address in 15 minutes, unknown people alike; a success and other people are not stopped', async () => {
  const { email } = await signedUp(server)
  for (const who of [email, 'unknown@example.com']) {
    for (let tries = 0; tries < 5; tries += 1)
      refused(
        await new ConsoleClient(server).signIn(who, 'a wrong password'),
        401,
        'unauthorized',
        /^The e-mail or the password is wrong$/,
      )
    const limited = await new ConsoleClient(server).signIn(who)
    refused(limited, 429, 'rate_limit_exceeded', /Too many failed sign-ins/)
    assert.ok(limited.body.error.retry_after > 800 && limited.body.error.retry_after <= 900)
  }
  const other = await signedUp(server)
  assert.equal((await new ConsoleClient(server).signIn(other.email)).status, 200)
  server.clock.advance(16 * MINUTE_MS)
  assert.equal((await new ConsoleClient(server).signIn(email)).status, 200)
})

test('requirement 11: an address may fail thirty times in an hour, over all users', async () => {
  server.clock.advance(2 * HOUR_MS)
  for (let tries = 0; tries < 30; tries += 1)
    refused(
      await new ConsoleClient(server).signIn(`nobody${tries}@example.com`, 'a wrong password'),
      401,
      'unauthorized',
    )
  refused(await new ConsoleClient(server).signIn('another@example.com'), 429, 'rate_limit_exceeded')
  server.clock.advance(HOUR_MS)
})

test('a hundred wrong passwords from 25 networks in an hour shut out neither a browser nor an address that signed in before', async () => {
  server.clock.advance(2 * HOUR_MS)
  const from = (address: string): Record<string, string> => ({ 'x-forwarded-for': address })
  const home = new ConsoleClient(server)
  const email = 'victim@example.com'
  const signIn = (browser: ConsoleClient, address: string, password = PASSWORD): Promise<Answer> =>
    browser.request('POST', 'sign-in', { email, password }, from(address))
  assert.equal(
    (await home.request('POST', 'sign-up', { email, password: PASSWORD }, from('2001:db8:aaaa:1::7'))).status,
    201,
  )
  await home.post('sign-out')
  for (let tries = 0; tries < 100; tries += 1)
    refused(
      await signIn(
        new ConsoleClient(server),
        `2001:db8:bbbb:${Math.floor(tries / 4).toString(16)}::${tries}`,
        'a wrong password',
      ),
      401,
      'unauthorized',
    )
  refused(await signIn(new ConsoleClient(server), '2001:db8:cccc::1'), 429, 'rate_limit_exceeded')
  // Another browser on the same network; then the user's own browser elsewhere, at an address whose attempts are used
  // up.
  assert.equal((await signIn(new ConsoleClient(server), '2001:db8:aaaa:1::8')).body.status, 'signed_in')
  assert.equal((await signIn(home, '2001:db8:bbbb::1')).body.status, 'signed_in')
  // Neither gives unlimited attempts, nor helps against another user.
  await home.post('sign-out')
  for (let tries = 0; tries < 5; tries += 1)
    refused(await signIn(home, `2001:db8:dddd:${tries}::1`, 'a wrong password'), 401, 'unauthorized')
  refused(await signIn(home, '2001:db8:dddd:9::1'), 429, 'rate_limit_exceeded')
  const thief = (await signedUp(server)).browser
  refused(await signIn(thief, '2001:db8:cccc::1'), 429, 'rate_limit_exceeded')
  server.clock.advance(HOUR_MS)
  assert.equal((await signIn(home, '2001:db8:dddd:9::1')).body.status, 'signed_in')
})

test('a changed password and a changed second factor end every other session; sign-ins are listed', async () => {
  server.clock.advance(HOUR_MS)
  const { browser, email } = await signedUp(server)
  const other = new ConsoleClient(server)
  await other.signIn(email)
  refused(
    await browser.post('password', { current_password: 'a wrong password', new_password: 'nine patient rivers' }),
    400,
    'invalid_input',
    /^current_password/,
  )
  refused(
    await browser.post('password', { new_password: 'nine patient rivers' }),
    400,
    'invalid_input',
    /^current_password/,
  )
  assert.equal(
    (await browser.post('password', { current_password: PASSWORD, new_password: 'nine patient rivers' })).status,
    200,
  )
  refused(await other.get('profile'), 401, 'unauthorized')
  assert.equal((await browser.get('profile')).status, 200)
  refused(await other.signIn(email), 401, 'unauthorized')
  assert.equal((await other.signIn(email, 'nine patient rivers')).status, 200)
  const { secret } = (await browser.post('totp', { password: 'nine patient rivers' })).body
  assert.equal((await browser.post('totp/confirm', { code: codeAt(secret) })).status, 200)
  refused(await other.get('profile'), 401, 'unauthorized')
  server.clock.advance(MINUTE_MS)
  assert.equal((await browser.post('totp/disable', { code: codeAt(secret) })).body.totp.enabled, false)
  const list = (await browser.get('sign-ins?limit=2')).body
  assert.deepEqual(
    list.data.map(({ outcome, method }: Record<string, unknown>) => [outcome, method]),
    [
      ['succeeded', 'password'],
      ['failed', 'password'],
    ],
  )
  const rest = (await browser.get(`sign-ins?limit=50&cursor=${list.next_cursor}`)).body
  assert.deepEqual(
    rest.data.map(({ method }: Record<string, unknown>) => method),
    ['password', 'sign_up'],
  )
  assert.equal(rest.next_cursor, null)
})

test('passwords, session ids, seeds and codes are nowhere in events', async () => {
  const { data } = (await server.admin('GET', '/admin/v1/events?limit=1000')).body
  assert.ok(data.some(({ action }: { action: string }) => action === 'sign_in'))
  assert.ok(data.some(({ action }: { action: string }) => action === 'totp.enable'))
  assert.doesNotMatch(JSON.stringify(data), /lanterns|rivers|otters|tg_sid/)
})

test('over https the cookie is __Host- and Secure, another name is not read, and administrators need two-step sign-in', async () => {
  const secure = await gateway({ env: { TOLLGATE_PUBLIC_URL: 'https://ai.example.com' } })
  const browser = new ConsoleClient(secure)
  const made = await browser.post('sign-up', { email: 'a@example.com', password: PASSWORD })
  assert.match(
    made.headers['set-cookie'] ?? '',
    /^__Host-tg_sid=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800; Secure$/m,
  )
  assert.match(
    made.headers['set-cookie'] ?? '',
    /^tg_device=[\w-]+; Path=\/cabinet\/v1\/; HttpOnly; SameSite=Lax; Max-Age=15552000; Secure$/m,
  )
  assert.equal((await browser.get('profile')).status, 200)
  refused(await new ConsoleClient(secure, browser.cookie.replace('__Host-', '')).get('profile'), 401, 'unauthorized')
  const admin = await administrator(secure, 'root@example.com')
  assert.equal((await admin.get('profile')).body.must_enrol_totp, true)
  refused(await admin.get('/admin/v1/accounts'), 403, 'access_denied', /two-step/)
  const { secret } = (await admin.post('totp', { password: PASSWORD })).body
  await admin.post('totp/confirm', { code: new TOTP({ secret: Secret.fromBase32(secret) }).generate() })
  assert.equal((await admin.get('/admin/v1/accounts')).status, 200)
})

test('requirement 10: no sign-in of a crowd waits for long: each is answered or refused with Retry-After, and unknown users take as long as known ones', async () => {
  server.clock.advance(2 * HOUR_MS)
  const { email } = await signedUp(server)
  const answers = await Promise.all(
    Array.from({ length: 29 }, (_, index) =>
      new ConsoleClient(server).signIn(index === 0 ? email : `crowd${index}@example.com`),
    ),
  )
  for (const { status } of answers) assert.ok([200, 401, 503].includes(status), String(status))
  for (const answer of answers.filter(({ status }) => status === 503)) assert.equal(answer.headers['retry-after'], '2')
  // The server is in this process: CPU time leaves other processes out.
  const took = async (who: string): Promise<number> => {
    const before = process.cpuUsage()
    await new ConsoleClient(server).signIn(who, 'a wrong password')
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  }
  const [known, unknown] = [await took(email), await took('never@example.com')]
  assert.ok(known > 5 && unknown > known / 4 && known > unknown / 4, `${known} and ${unknown} ms of CPU`)
})
