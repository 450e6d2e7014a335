import assert from 'node:assert/strict'
import { test } from 'node:test'
import { administrator, ConsoleClient, PASSWORD, signedUp } from '../harness/console-client.ts'
import type { Answer } from '../harness/gateway.ts'
import { MINUTE_MS, HOUR_MS, server, codeAt, serveSignIn } from '../harness/sign-in-world.ts'
import { refused } from '../harness/refused.ts'

await serveSignIn()

async function withTotp(
  browser: ConsoleClient,
): Promise<{ readonly secret: string; readonly recovery: readonly string[] }> {
  const { secret } = (await browser.post('totp', { password: PASSWORD })).body
  const confirmed = await browser.post('totp/confirm', { code: codeAt(secret) })
  assert.equal(confirmed.status, 200, confirmed.text)
  server.clock.advance(MINUTE_MS)
  return { secret, recovery: confirmed.body.recovery_codes }
}

test('requirement 12: a code is asked for, works once within a step of its time, and recovery codes work once each', async () => {
  const { browser, email } = await signedUp(server)
  refused(await browser.post('totp', { password: 'a wrong password' }), 400, 'invalid_input', /^password/)
  const begun = await browser.post('totp', { password: PASSWORD })
  assert.match(begun.body.uri, /^otpauth:\/\/totp\/Tollgate:.*secret=[A-Z2-7]{32}/)
  refused(await browser.post('totp/confirm', { code: '000000' }), 400, 'invalid_input')
  const { secret, recovery } = await withTotp(browser)
  assert.ok((await server.admin('POST', '/admin/v1/kek/rotate')).body.rewrapped >= 1, 'seeds follow a new wrapping key')
  assert.equal(new Set(recovery).size, 10)
  for (const code of recovery) assert.match(code, /^[0-9a-f]{8}(-[0-9a-f]{8}){3}$/)
  assert.deepEqual((await browser.get('profile')).body.totp, { enabled: true, recovery_codes_left: 10 })

  const asked = await new ConsoleClient(server).signIn(email)
  assert.deepEqual([asked.status, asked.body.status], [200, 'code_required'])
  assert.equal(asked.headers['set-cookie'], undefined)
  const withCode = (code: string, ticket = asked.body.ticket): Promise<Answer> =>
    new ConsoleClient(server).post('sign-in/code', { ticket, code })
  refused(await withCode('123'), 401, 'unauthorized')
  refused(await withCode(codeAt(secret, -2 * MINUTE_MS)), 401, 'unauthorized')
  const code = codeAt(secret)
  assert.equal((await withCode(code)).body.status, 'signed_in')
  refused(await withCode(code), 401, 'unauthorized', /used before/)
  refused(await withCode(codeAt(secret), `${String(asked.body.ticket).slice(0, -4)}AAAA`), 401, 'unauthorized')
  server.clock.advance(MINUTE_MS)
  assert.equal(
    (await new ConsoleClient(server).signIn(email, PASSWORD, codeAt(secret, -30_000))).body.status,
    'signed_in',
    'a step behind',
  )
  assert.equal((await withCode(String(recovery[0]))).body.status, 'signed_in')
  refused(await withCode(String(recovery[0])), 401, 'unauthorized')
  assert.equal((await browser.get('profile')).body.totp.recovery_codes_left, 9)
  server.clock.advance(6 * MINUTE_MS)
  refused(await withCode(codeAt(secret)), 401, 'unauthorized', /too long/)
})

test('an administrator signs in by the same form; a link of theirs gives a user a new password and takes two-step sign-in off', async () => {
  const admin = await administrator(server, 'boss@example.com')
  assert.equal((await admin.get('session')).body.profile.role, 'admin')
  assert.equal((await new ConsoleClient(server).signIn('boss@example.com')).status, 200)
  const { browser, email, userId } = await signedUp(server)
  await withTotp(browser)
  const { link } = (await admin.post(`/admin/v1/users/${userId}/password-link`, { clear_totp: true })).body
  const token = new URL(String(link)).searchParams.get('token')
  assert.deepEqual((await new ConsoleClient(server).post('setup/check', { token })).body, {
    purpose: 'password',
    email,
    code_required: false,
  })
  const back = new ConsoleClient(server)
  assert.equal((await back.post('setup', { token, password: 'eleven brave otters' })).status, 201)
  refused(await browser.get('profile'), 401, 'unauthorized')
  refused(await back.post('setup', { token, password: 'eleven brave otters' }), 403, 'access_denied')
  assert.equal((await new ConsoleClient(server).signIn(email, 'eleven brave otters')).body.status, 'signed_in')
})

test("a password link opens nothing past two-step sign-in, an administrator's neither: without the code it changes nothing and stays good", async () => {
  server.clock.advance(HOUR_MS)
  const boss = await administrator(server, 'careful-boss@example.com')
  const people = [
    await signedUp(server),
    { browser: boss, email: 'careful-boss@example.com', userId: (await boss.get('profile')).body.user_id },
  ]
  for (const { browser, email, userId } of people) {
    const { secret, recovery } = await withTotp(browser)
    const link = async (body: object = {}): Promise<string> =>
      new URL(
        String((await server.admin('POST', `/admin/v1/users/${userId}/password-link`, body)).body.link),
      ).searchParams.get('token') ?? ''
    const token = await link()
    assert.deepEqual((await new ConsoleClient(server).post('setup/check', { token })).body, {
      purpose: 'password',
      email,
      code_required: true,
    })
    const thief = new ConsoleClient(server)
    refused(
      await thief.post('setup', { token, password: 'eleven brave otters' }),
      400,
      'invalid_input',
      /^code: is required/,
    )
    for (const path of ['/cabinet/v1/setup', '/setup']) {
      refused(
        await thief.request('POST', path, { token, email, password: 'eleven brave otters', code: '000000' }),
        401,
        'unauthorized',
        /^code/,
      )
    }
    refused(
      await thief.request('POST', '/setup', { token, email, password: 'eleven brave otters' }),
      400,
      'invalid_input',
      /^code: is required/,
    )
    assert.equal(thief.cookie, '')
    assert.equal((await browser.get('profile')).status, 200, 'nothing has ended')
    assert.equal(
      (await new ConsoleClient(server).signIn(email)).body.status,
      'code_required',
      'the password is what it was',
    )
    const back = new ConsoleClient(server)
    const made = await back.post('setup', { token, password: 'eleven brave otters', code: codeAt(secret) })
    assert.deepEqual([made.status, made.body.profile.totp.enabled], [201, true], made.text)
    refused(
      await back.post('setup', { token, password: 'eleven brave otters', code: recovery[0] }),
      403,
      'access_denied',
    )
    // A recovery code works too, and only once.
    assert.equal(
      (await back.post('setup', { token: await link(), password: 'twelve brave otters', code: recovery[1] })).status,
      201,
    )
    assert.equal((await back.get('profile')).body.totp.recovery_codes_left, 9)
    // Phone and recovery codes are lost: an administrator's link turns two-step sign-in off.
    const reset = await back.post('setup', { token: await link({ clear_totp: true }), password: 'eleven brave otters' })
    assert.deepEqual([reset.status, reset.body.profile.totp.enabled], [201, false], reset.text)
  }
})

test('codes of a password link are tries like any other: five wrong ones, and the next must wait', async () => {
  server.clock.advance(HOUR_MS)
  const { browser, userId } = await signedUp(server)
  const { secret } = await withTotp(browser)
  const token = new URL(
    String((await server.admin('POST', `/admin/v1/users/${userId}/password-link`, {})).body.link),
  ).searchParams.get('token')
  const use = (code: string): Promise<Answer> =>
    new ConsoleClient(server).post('setup', { token, password: 'eleven brave otters', code })
  for (let tries = 0; tries < 5; tries += 1) refused(await use('000000'), 401, 'unauthorized')
  refused(await use(codeAt(secret)), 429, 'rate_limit_exceeded')
  server.clock.advance(15 * MINUTE_MS)
  assert.equal((await use(codeAt(secret))).status, 201)
})

test("an administrator's session gets no password link for itself", async () => {
  const admin = await administrator(server, 'lone@example.com')
  const { user_id: id } = (await admin.get('profile')).body
  refused(await admin.post(`/admin/v1/users/${id}/password-link`, { clear_totp: true }), 409, 'conflict')
  refused(
    await admin.post('/admin/v1/administrators', { email: 'Lone@Example.com' }),
    409,
    'conflict',
    /Another administrator/,
  )
  assert.equal(
    (await server.admin('POST', `/admin/v1/users/${id}/password-link`, {})).status,
    200,
    'the token of the operator does',
  )
})
