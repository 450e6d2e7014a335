import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from '../harness/api-client.ts'
import { signedUp, topUp, type ConsoleClient, madeNotice } from '../harness/console-client.ts'
import { gateway } from '../harness/gateway.ts'
import { mailSettings, startMailServer, type MailServer } from '../harness/mail-server.ts'
import { until } from '../harness/patience.ts'

/** Notices of an account, through the cabinet: whose mailbox it is must be proven, and nobody's is flooded. */

const mail = await startMailServer()
const tollgate = await gateway({ env: { ...mailSettings(mail), ALLOW_PRIVATE_UPSTREAMS: 'true' } })
const kinds = ['balance.low']

function checkOf({ body }: Answer): unknown {
  const { metadata } = body.error as { readonly metadata?: { readonly check?: string; readonly reason?: string } }
  return metadata?.check ?? metadata?.reason
}

/** What a mailbox has got. */
function inbox(address: string): MailServer['received'] {
  return mail.received.filter(({ to }) => to.includes(address))
}

async function codeFor(address: string, count = 1): Promise<string> {
  await until(20_000, 'the code has arrived', async () => inbox(address).length >= count)
  const code = /\d{6}/.exec(inbox(address)[count - 1]?.text ?? '')?.[0]
  assert.ok(code !== undefined)
  return code
}

async function addMail(browser: ConsoleClient, target: string): Promise<string> {
  const made = await browser.post('notices/channels', { type: 'email', target, kinds, language: 'ru' })
  assert.equal(made.status, 201, made.text)
  assert.deepEqual([made.body.confirmed, made.body.secret], [false, null])
  return String(made.body.id)
}

test("a mailbox gets its account's notices once its code was given back, and only then", async () => {
  const { browser, accountId } = await signedUp(tollgate)
  const id = await addMail(browser, 'ann@example.com')
  const code = await codeFor('ann@example.com')
  assert.match(inbox('ann@example.com')[0]?.text ?? '', /^Код \d{6} подтверждает/)
  assert.equal((await browser.post(`notices/channels/${id}/test`)).status, 409)
  await topUp(tollgate, accountId, 600)
  // Its own threshold is above the balance: that is told, and nobody is there to hear it.
  assert.equal((await browser.request('PATCH', 'notices', { low_balance: 700 })).status, 200)
  await tollgate.app.store.notices.address(Date.now())
  const wrong = await browser.post(`notices/channels/${id}/confirm`, { code: code === '000000' ? '000001' : '000000' })
  assert.deepEqual(checkOf(wrong), 'wrong')
  const right = await browser.post(`notices/channels/${id}/confirm`, { code })
  assert.deepEqual([right.status, right.body.confirmed], [200, true])
  const listed = await browser.get('notices')
  assert.deepEqual([listed.body.low_balance, listed.body.service_low_balance], [700, 100])
  assert.deepEqual(listed.body.types, ['webhook', 'email'])
  assert.equal((await browser.request('PATCH', 'notices', { low_balance: 650 })).status, 200)
  await until(20_000, 'it has arrived', async () => inbox('ann@example.com').length === 2)
  assert.match(inbox('ann@example.com')[1]?.text ?? '', /Баланс 600,00\u00A0₽, это меньше 650,00\u00A0₽\./)
  const account = `/admin/v1/accounts/${accountId}/notices`
  await browser.post('notices/channels', { target: 'https://hooks.example.com/secret-path', kinds })
  const { body: seen } = await tollgate.admin('GET', account)
  assert.deepEqual(
    [seen.low_balance, seen.service_low_balance, seen.channels.map((one: { target: string }) => one.target)],
    [650, 100, ['ann@example.com', 'https://hooks.example.com/…']],
  )
  assert.deepEqual(seen.channels[0].confirmed, true)
  assert.equal((await tollgate.admin('PATCH', account, { low_balance: null })).body.low_balance, null)
  assert.equal((await browser.get('notices')).body.low_balance, null)
  for (const low of [-1, 'much', 2_000_000_000])
    assert.equal((await tollgate.admin('PATCH', account, { low_balance: low })).status, 400, String(low))
  assert.equal((await tollgate.admin('GET', '/admin/v1/accounts/acc_none/notices')).status, 404)
  const other = await signedUp(tollgate)
  for (const [method, path] of [
    ['PATCH', `notices/channels/${id}`],
    ['DELETE', `notices/channels/${id}`],
    ['POST', `notices/channels/${id}/test`],
  ] as const)
    assert.equal((await other.browser.request(method, path, method === 'DELETE' ? undefined : {})).status, 404, path)
})

test('a code has five tries; a new one ends it; strangers get three a day at most, however the address is written', async () => {
  const { browser } = await signedUp(tollgate)
  const id = await addMail(browser, 'bob@example.com')
  const code = await codeFor('bob@example.com')
  const bad = code === '111111' ? '222222' : '111111'
  for (let tries = 0; tries < 5; tries += 1)
    assert.equal((await browser.post(`notices/channels/${id}/confirm`, { code: bad })).status, 400)
  const late = await browser.post(`notices/channels/${id}/confirm`, { code })
  assert.deepEqual(checkOf(late), 'code_ended')
  assert.equal((await browser.post(`notices/channels/${id}/code`)).status, 200)
  assert.equal(
    (await browser.post(`notices/channels/${id}/confirm`, { code: await codeFor('bob@example.com', 2) })).status,
    200,
  )
  assert.equal((await browser.post(`notices/channels/${id}/code`)).status, 404, 'it is confirmed')
  const second = await signedUp(tollgate)
  const body = { type: 'email', kinds }
  const ask = (target: string): Promise<Answer> => second.browser.post('notices/channels', { ...body, target })
  assert.equal((await ask('b.ob@example.com')).status, 201)
  assert.equal((await ask('B.ob+1@Example.com')).status, 429, 'three to one mailbox, of any account')
})

test('an address of this machine, a kind of the operator and a type that is not set up are refused; five receivers at most', async () => {
  const { browser } = await signedUp(tollgate)
  const add = (body: object): Promise<Answer> => browser.post('notices/channels', { kinds, ...body })
  for (const target of [
    'http://hooks.example.com/',
    'https://127.0.0.1/',
    'https://10.0.0.1/',
    'https://localhost/',
    'https://[::1]/',
  ])
    assert.equal((await add({ target })).status, 400, target)
  assert.equal((await add({ target: 'https://hooks.example.com/', kinds: ['shortfall'] })).status, 400)
  assert.equal((await add({ type: 'telegram', target: '7' })).status, 400)
  for (let count = 0; count < 5; count += 1)
    assert.equal((await add({ target: `https://hooks.example.com/${count}` })).status, 201)
  const full = await add({ target: 'https://hooks.example.com/5' })
  assert.deepEqual([full.status, checkOf(full)], [409, 'channels_most'])
})

test('an account sees its messages and no others, and sends one again: the same words, at most 20 an hour', async () => {
  const { browser, accountId } = await signedUp(tollgate)
  const { ownDelivery, delivery } = await madeNotice(tollgate, browser)
  const id = await addMail(browser, 'cleo@example.com')
  const { status } = await browser.post(`notices/channels/${id}/confirm`, { code: await codeFor('cleo@example.com') })
  assert.equal(status, 200)
  assert.equal((await browser.post(`notices/channels/${id}/test`)).status, 202)
  await until(20_000, 'the test has arrived', async () => inbox('cleo@example.com').length === 2)
  const sent = async (): Promise<Answer> => browser.get('notices/deliveries?state=sent')
  await until(20_000, 'it is noted', async () => (await sent()).body.total === 1)
  const [message] = (await sent()).body.data
  assert.deepEqual(
    [message.channel, message.notice.type, message.notice.account, message.error],
    [id, 'test', accountId, null],
  )
  const dead = await browser.get('notices/deliveries?state=dead')
  assert.deepEqual(
    dead.body.data.map((row: { readonly id: string }) => row.id),
    [ownDelivery],
  )
  assert.equal((await browser.get('notices/deliveries?limit=1')).body.total, 2)
  assert.equal((await browser.get('notices/deliveries?state=lost')).status, 400)
  const replay = (who: ConsoleClient, of: string): Promise<Answer> => who.post(`notices/deliveries/${of}/replay`)
  assert.equal((await replay(browser, message.id)).status, 200)
  await until(20_000, 'it has arrived again', async () => inbox('cleo@example.com').length === 3)
  const [first, again] = inbox('cleo@example.com').slice(1)
  assert.equal(again?.headers.get('message-id'), first?.headers.get('message-id'))
  assert.equal((await replay(browser, ownDelivery)).body.state, 'pending')
  assert.equal((await replay(browser, delivery)).status, 404, "a message of the operator's")
  const other = await signedUp(tollgate)
  assert.equal((await other.browser.get('notices/deliveries')).body.total, 0)
  assert.equal((await replay(other.browser, message.id)).status, 404)
  // With the two tests and the two that are above.
  for (let count = 5; count < 20; count += 1) assert.equal((await replay(browser, 'dlv_none')).status, 404)
  assert.equal((await replay(browser, 'dlv_none')).status, 429)
})

test('an operator names a receiver of an account: it needs no code, is changed, tested, seen by its people, and removed', async () => {
  const { browser, accountId } = await signedUp(tollgate)
  const channels = `/admin/v1/accounts/${accountId}/notices/channels`
  const add = (body: object): Promise<Answer> => tollgate.admin('POST', channels, { kinds, ...body })
  const made = await add({ type: 'email', target: 'dora@example.com', language: 'ru' })
  assert.deepEqual([made.status, made.body.confirmed, made.body.secret], [201, true, null])
  const hook = await add({ target: 'https://hooks.example.com/secret-path' })
  assert.match(hook.body.secret, /^whsec_/)
  assert.equal(hook.body.target, 'https://hooks.example.com/…')
  for (const body of [{ target: 'https://127.0.0.1/' }, { target: 'https://a.example.com/', kinds: ['shortfall'] }])
    assert.equal((await add(body)).status, 400, JSON.stringify(body))
  const own = `${channels}/${made.body.id}`
  assert.equal((await tollgate.admin('POST', `${own}/test`, {})).status, 202)
  await until(20_000, 'the test has arrived', async () => inbox('dora@example.com').length === 1)
  const messages = async (of: string): Promise<Answer> =>
    tollgate.admin('GET', `/admin/v1/notices/deliveries?account=${of}`)
  assert.deepEqual(
    (await messages(accountId)).body.data.map((row: { readonly channel: string }) => row.channel),
    [made.body.id],
  )
  assert.equal((await messages((await signedUp(tollgate)).accountId)).body.total, 0)
  assert.equal((await messages('acc_none')).body.total, 0)
  assert.equal((await messages('external:none')).status, 404)
  const changed = await tollgate.admin('PATCH', own, { enabled: false, kinds: ['limit.near'], language: 'en' })
  assert.deepEqual([changed.body.enabled, changed.body.kinds, changed.body.language], [false, ['limit.near'], 'en'])
  assert.deepEqual(
    (await browser.get('notices')).body.channels.map((one: { readonly target: string }) => one.target),
    ['dora@example.com', 'https://hooks.example.com/secret-path'],
  )
  const unproven = await addMail(browser, 'eve@example.com')
  const early = await tollgate.admin('POST', `${channels}/${unproven}/test`, {})
  assert.deepEqual([early.status, checkOf(early)], [409, 'channel_unconfirmed'])
  const stranger = (await signedUp(tollgate)).accountId
  for (const [method, path] of [
    ['PATCH', own],
    ['DELETE', own],
    ['POST', `${own}/test`],
  ] as const)
    assert.equal(
      (await tollgate.admin(method, path.replace(accountId, stranger), method === 'DELETE' ? undefined : {})).status,
      404,
      path,
    )
  assert.equal((await tollgate.admin('DELETE', own)).body.deleted, true)
  assert.equal((await tollgate.admin('DELETE', own)).status, 404)
})
