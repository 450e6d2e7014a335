import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConsoleClient, PASSWORD, signedUp } from '../harness/console-client.ts'
import { DAY_MS } from '../../src/base/time.ts'
import { gateway, movingGateway } from '../harness/gateway.ts'
import { mailSettings, startMailServer, type MailServer } from '../harness/mail-server.ts'
import { until } from '../harness/patience.ts'

/** Links for passwords by e-mail: a forgotten password, an invitation. */
const PUBLIC_URL = 'https://ai.example.com'
const NEW_PASSWORD = 'eleven quiet lanterns'

const mail = await startMailServer()
const tollgate = await gateway({
  env: { ...mailSettings(mail), TOLLGATE_PUBLIC_URL: PUBLIC_URL, TOLLGATE_ADMIN_TOTP: 'optional' },
})
/** The token of the newest letter to an address. */
async function tokenFor(address: string, count = 1): Promise<string> {
  const letters = (): MailServer['received'] => mail.received.filter(({ to }) => to.includes(address))
  await until(20_000, 'the link has arrived', async () => letters().length >= count)
  const link = /https:\S+/.exec(letters().at(-1)?.text ?? '')?.[0]
  assert.ok(link !== undefined && link.startsWith(`${PUBLIC_URL}/setup?token=`), link)
  return new URL(link).searchParams.get('token') ?? ''
}

function ask(
  browser: ConsoleClient,
  email: string,
  headers: Record<string, string> = {},
): ReturnType<ConsoleClient['post']> {
  return browser.request('POST', 'password-reset', { email }, headers)
}

test('a forgotten password is replaced once, by a link to the configured address; every session and other link ends', async () => {
  const { browser, email } = await signedUp(tollgate)
  const stranger = new ConsoleClient(tollgate)
  assert.equal((await stranger.get('session')).body.service.password_reset, true)
  const answers = [await ask(stranger, email, { host: 'evil.example' }), await ask(stranger, 'nobody@example.com')]
  assert.deepEqual(
    answers.map(({ status, text }) => [status, text]),
    [
      [202, '{"accepted":true}'],
      [202, '{"accepted":true}'],
    ],
  )
  const first = await tokenFor(email)
  await ask(stranger, email)
  const token = await tokenFor(email, 2)
  assert.notEqual(first, token)
  const set = await stranger.post('setup', { token, password: NEW_PASSWORD })
  assert.equal(set.status, 201, set.text)
  assert.equal((await browser.get('profile')).status, 401, 'the earlier session has ended')
  for (const used of [token, first])
    assert.equal((await new ConsoleClient(tollgate).post('setup', { token: used, password: NEW_PASSWORD })).status, 403)
  const again = new ConsoleClient(tollgate)
  assert.equal((await again.signIn(email)).status, 401)
  assert.equal((await again.signIn(email, NEW_PASSWORD)).status, 200)
  assert.ok(!mail.received.some(({ to }) => to.includes('nobody@example.com')))
})

test('a mailbox gets 5 letters an hour however it is written, an account sends 100 a day, and a reset goes first', async () => {
  const { email } = await signedUp(tollgate, 'v.ictim@example.com')
  const { browser: sender } = await signedUp(tollgate)
  const { browser: accomplice } = await signedUp(tollgate)
  const names = ['victim', 'v.ictim', 'Victim', 'victim+1', 'v.i.c.t.i.m+x', 'VIC.TIM+2', 'victim+3', 'victim.+4+5']
  const invite = async (browser: ConsoleClient, address: string): Promise<boolean> => {
    const { status, body, text } = await browser.post('invitations', { role: 'member', email: address })
    assert.equal(status, 201, text)
    assert.equal((await browser.request('DELETE', `invitations/${body.id}`)).status, 200)
    return body.mailed
  }
  const { offered } = mail
  mail.answer = 'hang'
  const mailed: boolean[] = []
  for (const [index, name] of names.entries())
    mailed.push(await invite(index % 2 === 0 ? sender : accomplice, `${name}@Example.com`))
  assert.deepEqual(mailed, [true, true, true, true, true, false, false, false])
  for (let count = 0; count < 110; count += 1) mailed.push(await invite(sender, `somebody${count}@example.org`))
  assert.ok(mailed.filter(Boolean).length <= 5 + 20 + 1, 'of one sender at most 20 wait')
  assert.equal((await ask(new ConsoleClient(tollgate), email)).status, 202)
  await until(20_000, 'the link waits behind the first letter', async () => {
    const { data } = (await tollgate.admin('GET', '/admin/v1/events?action=user.password_link&limit=1')).body
    return mail.offered > offered && data[0]?.actor === email
  })
  // The event can be read a moment before its writer goes on and posts the letter; a later write ends after that.
  await signedUp(tollgate)
  const before = mail.received.length
  mail.release()
  await until(
    40_000,
    'all have arrived',
    async () => mail.received.length - before === mailed.filter(Boolean).length + 1,
  )
  const sent = mail.received.slice(before).map(({ text }) => text.includes('/setup?'))
  assert.deepEqual([sent.indexOf(true), sent.filter(Boolean).length], [1, 1], 'the reset goes before all that wait')
  // The other has asked for four letters before.
  for (let count = 0; count < 96; count += 1) {
    const seen = mail.received.length
    assert.ok(await invite(accomplice, `other${count}@example.net`), String(count))
    await until(20_000, 'it has arrived', async () => mail.received.length > seen)
  }
  assert.equal(await invite(accomplice, 'last@example.net'), false)
})

test('a mailbox gets three links an hour, and an address asks twenty times, with the same answer before', async () => {
  const { email } = await signedUp(tollgate)
  const stranger = new ConsoleClient(tollgate)
  const statuses: number[] = []
  for (let count = 0; count < 25; count += 1) statuses.push((await ask(stranger, email)).status)
  assert.ok(statuses.includes(429))
  assert.deepEqual([...new Set(statuses)], [202, 429])
  await tokenFor(email, 3)
  const { email: other } = await signedUp(tollgate)
  assert.equal((await ask(stranger, other)).status, 429)
  assert.equal(mail.received.filter(({ to }) => to.includes(email)).length, 3)
})

test('sign-up that is confirmed takes a link to the e-mail: who is known gets one to a new password, with the same answer', async () => {
  const server = await movingGateway({ env: { ...mailSettings(mail), TOLLGATE_PUBLIC_URL: PUBLIC_URL } })
  const { email: known } = await signedUp(server)
  const setting = (signup: string): ReturnType<typeof server.admin> =>
    server.admin('PATCH', '/admin/v1/settings', { signup })
  assert.equal((await setting('confirmed')).status, 200)
  const stranger = new ConsoleClient(server)
  assert.equal((await stranger.get('session')).body.service.signup, 'confirmed')
  const unproven = await stranger.post('sign-up', { email: 'new@example.com', password: PASSWORD })
  assert.deepEqual([unproven.status, unproven.body.error.metadata.reason], [403, 'sign_up_by_mail'])
  const answers = []
  for (const address of ['New@Example.com', known])
    answers.push((await stranger.post('sign-up/link', { email: address, language: 'ru' })).text)
  assert.deepEqual(answers, ['{"accepted":true}', '{"accepted":true}'])
  const token = await tokenFor('new@example.com')
  assert.equal(
    mail.received.findLast(({ to }) => to.includes('new@example.com'))?.headers.get('subject'),
    'Подтвердите почту',
  )
  const other = await stranger.post('setup/check', { token: await tokenFor(known) })
  assert.deepEqual(other.body, { purpose: 'password', email: known, code_required: false })
  assert.deepEqual((await stranger.post('setup/check', { token })).body, {
    purpose: 'sign_up',
    email: 'new@example.com',
    code_required: false,
  })
  assert.equal((await server.admin('GET', '/admin/v1/users?query=new@example.com')).body.total, 0, 'not yet')
  assert.equal((await stranger.post('setup', { token, password: 'short' })).status, 400)
  const forged = `${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`
  assert.equal((await stranger.post('setup', { token: forged, password: PASSWORD })).status, 403)
  const made = await stranger.post('setup', { token, password: PASSWORD, email: 'other@example.com' })
  assert.deepEqual([made.status, made.body.profile?.email, made.body.profile?.role], [201, 'new@example.com', 'user'])
  assert.match(made.body.profile.account_id, /^acc_/)
  assert.equal((await new ConsoleClient(server).post('setup', { token, password: PASSWORD })).status, 409)
  await stranger.post('sign-up/link', { email: 'late@example.com' })
  const late = await tokenFor('late@example.com')
  server.clock.advance(DAY_MS)
  assert.equal((await stranger.post('setup', { token: late, password: PASSWORD })).status, 403)
  await setting('closed')
  assert.equal((await stranger.post('sign-up/link', { email: 'late@example.com' })).status, 403)
})

test('an invited operator gets the link in both languages, and the answer says so', async () => {
  const invited = await tollgate.admin('POST', '/admin/v1/administrators', { email: 'root@example.com' })
  assert.deepEqual([invited.status, invited.body.mailed], [201, true])
  const token = await tokenFor('root@example.com')
  const letter = mail.received.find(({ to }) => to.includes('root@example.com'))
  assert.equal(letter?.headers.get('subject'), 'An invitation / Приглашение')
  const made = await new ConsoleClient(tollgate).post('setup', { token, password: PASSWORD })
  assert.equal(made.status, 201, made.text)
})

test('an invitation answers the same for a user and for a stranger, also after links were asked for', async () => {
  // Links asked for in the other tests count for the address.
  const fresh = await gateway({ env: { ...mailSettings(mail), TOLLGATE_PUBLIC_URL: PUBLIC_URL } })
  const { email } = await signedUp(fresh)
  const { browser: owner } = await signedUp(fresh)
  const stranger = `stranger-${email}`
  for (let count = 0; count < 4; count += 1)
    for (const address of [email, stranger]) assert.equal((await ask(new ConsoleClient(fresh), address)).status, 202)
  const answers: unknown[] = []
  for (const address of [email, stranger]) {
    const { status, body } = await owner.post('invitations', { role: 'member', email: address })
    const token = new URL(body.link).searchParams.get('token')
    const check = await new ConsoleClient(fresh).post('invitations/check', { token })
    answers.push([status, Object.keys(body), body.mailed, check.status, { ...check.body, email: null }])
  }
  assert.deepEqual(answers[0], answers[1])
})
