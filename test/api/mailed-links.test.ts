import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ConsoleClient, PASSWORD, signedUp } from '../harness/console-client.ts'
import { startInProcess, type InProcessServer } from '../harness/in-process.ts'
import { mailSettings, startMailServer, type MailServer } from '../harness/mail-server.ts'
import { until } from '../harness/patience.ts'

/** Links for passwords by e-mail: a forgotten password, an invitation. */
const PUBLIC_URL = 'https://ai.example.com'
const NEW_PASSWORD = 'eleven quiet lanterns'
let mail: MailServer
let tollgate: InProcessServer

before(async () => {
  mail = await startMailServer()
  tollgate = await startInProcess({
    env: { ...mailSettings(mail), TOLLGATE_PUBLIC_URL: PUBLIC_URL, TOLLGATE_ADMIN_TOTP: 'optional' },
  })
})
after(async () => {
  await tollgate.stop()
  await mail.close()
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

test('an invited operator gets the link in both languages, and the answer says so', async () => {
  const invited = await tollgate.admin('POST', '/admin/v1/administrators', { email: 'root@example.com' })
  assert.deepEqual([invited.status, invited.body.mailed], [201, true])
  const token = await tokenFor('root@example.com')
  const letter = mail.received.find(({ to }) => to.includes('root@example.com'))
  assert.equal(letter?.headers.get('subject'), 'An invitation / Приглашение')
  const made = await new ConsoleClient(tollgate).post('setup', { token, password: PASSWORD })
  assert.equal(made.status, 201, made.text)
})
