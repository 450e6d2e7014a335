import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import { KeyWrap } from '../../src/ledger/key-wrap.ts'
import { auditNotice, keyRefusedNotice } from '../../src/ledger/notice.ts'
import { WEBHOOK } from '../../src/notices/webhook.ts'
import { patientAgent, publicConnector } from '../../src/protocols/wire/connections.ts'
import { secretPurpose, type Channel } from '../../src/store/notices/notice-rows.ts'
import { topUp } from '../harness/console-client.ts'
import { gateway, type Gateway } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'
import { listen } from '../harness/scripted-upstream.ts'

interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const received: Received[] = []
/** What the receiver answers next, by path; absent = 204. */
const answers = new Map<string, number>()
const receiver = await listen((response, { path, headers, body }) => {
  received.push({ path, headers, body: body.toString() })
  if (path !== '/hangs') response.writeHead(answers.get(path) ?? 204, { location: '/elsewhere' }).end()
})
/** A provider that nobody listens for. */
const CATALOG = `
providers: { gone: { adapter: openai, base_url: 'http://127.0.0.1:9/v1', api_key: k } }
models:
  - { id: acme/small, type: chat, context_length: 8000, endpoints: [{ provider: gone, model: small-1, price: { currency: RUB, prompt: 1, completion: 1 } }] }
`
const own = receiver.url

const tollgate = await gateway({ env: { ALLOW_PRIVATE_UPSTREAMS: 'true' }, catalog: CATALOG })
async function channel(
  path: string,
  kinds: readonly string[],
): Promise<{ readonly id: string; readonly secret: string }> {
  const made = await tollgate.admin('POST', '/admin/v1/notices/channels', { target: `${own}${path}`, kinds })
  assert.equal(made.status, 201, made.text)
  // The contract's type; the answer was checked against it.
  return made.body as unknown as { readonly id: string; readonly secret: string }
}

function sendTest(id: string): ReturnType<Gateway['admin']> {
  return tollgate.admin('POST', `/admin/v1/notices/channels/${id}/test`, {})
}

/** The newest message to a channel. */
async function delivery(channelId: string): Promise<Record<string, unknown>> {
  const { body } = await tollgate.admin('GET', '/admin/v1/notices/deliveries?limit=1000')
  // The contract's type.
  const { data } = body as unknown as { readonly data: readonly Record<string, unknown>[] }
  return data.find((row) => row['channel'] === channelId) ?? {}
}

test('a low balance reaches a webhook once, signed over its time and body; the secret is shown once and stored encrypted', async () => {
  const made = await channel('/money', ['balance.low'])
  const listed = await tollgate.admin('GET', '/admin/v1/notices/channels')
  assert.ok(!listed.text.includes(made.secret))
  const account = await tollgate.admin('POST', '/admin/v1/accounts', { name: 'Lantern' })
  const book = (kind: string, amount: number, reference: string): ReturnType<Gateway['admin']> =>
    tollgate.admin('POST', `/admin/v1/accounts/${String(account.body.id)}/ledger`, {
      kind,
      amount,
      reason: 'test',
      reference,
    })
  assert.equal((await book('topup', 150, 'n-1')).status, 201)
  assert.equal((await book('adjustment', -60, 'n-2')).status, 201)
  assert.equal((await book('adjustment', -5, 'n-3')).status, 201)
  await until(20_000, 'it has arrived', async () => received.some(({ path }) => path === '/money'))
  const [first] = received.filter(({ path }) => path === '/money')
  assert.ok(first !== undefined)
  const timestamp = String(first.headers['x-tollgate-timestamp'])
  const expected = createHmac('sha256', made.secret).update(`${timestamp}.${first.body}`).digest('hex')
  assert.equal(first.headers['x-tollgate-signature'], `v1=${expected}`)
  const told = JSON.parse(first.body) as Record<string, unknown>
  assert.deepEqual(
    [told['type'], told['account'], told['data'], told['id']],
    ['balance.low', account.body.id, { balance: 90, threshold: 100 }, first.headers['x-tollgate-event-id']],
  )
  await until(20_000, 'it is noted', async () => (await delivery(made.id))['state'] === 'sent')
  assert.equal(received.filter(({ path }) => path === '/money').length, 1)
})

test('what a receiver refuses is tried again; a redirect is not followed; a replay sends the same event', async () => {
  for (const [path, status] of [
    ['/broken', 500],
    ['/moved', 302],
  ] as const) {
    answers.set(path, status)
    const { id } = await channel(path, [])
    assert.equal((await sendTest(id)).status, 202)
    await until(
      20_000,
      'it has failed',
      async () => (await delivery(id))['error'] !== null && (await delivery(id))['attempts'] === 1,
    )
    const failed = await delivery(id)
    assert.deepEqual([failed['state'], failed['error']], ['pending', `it answered ${status}`])
    answers.delete(path)
    const again = await tollgate.admin('POST', `/admin/v1/notices/deliveries/${String(failed['id'])}/replay`, {})
    assert.equal(again.status, 200, again.text)
    await until(20_000, 'it is sent', async () => (await delivery(id))['state'] === 'sent')
    const events = received.filter((one) => one.path === path).map(({ headers }) => headers['x-tollgate-event-id'])
    assert.equal(events.length, 2)
    assert.equal(new Set(events).size, 1)
  }
  assert.ok(!received.some(({ path }) => path === '/elsewhere'))
  const metrics = await fetch(`${tollgate.url}/metrics`)
  assert.match(await metrics.text(), /tollgate_notice_attempts_total\{outcome="failed"\} 2\n/)
})

test('a receiver that never answers holds up no other', async () => {
  const hanging = await channel('/hangs', [])
  const quick = await channel('/quick', [])
  await sendTest(hanging.id)
  await until(20_000, 'it hangs', async () => received.some(({ path }) => path === '/hangs'))
  await sendTest(quick.id)
  await until(20_000, 'the other has arrived', async () => received.some(({ path }) => path === '/quick'))
  await until(20_000, 'it is given up for now', async () => typeof (await delivery(hanging.id))['error'] === 'string')
  assert.equal((await delivery(hanging.id))['error'], 'it did not answer within 10 seconds')
  assert.equal((await tollgate.admin('DELETE', `/admin/v1/notices/channels/${hanging.id}`)).status, 200)
})

test('a receiver that is off hears nothing but a test; one that is removed takes its messages with it', async () => {
  const { id } = await channel('/off', ['shortfall'])
  const off = await tollgate.admin('PATCH', `/admin/v1/notices/channels/${id}`, { enabled: false })
  assert.equal(off.body.enabled, false)
  await sendTest(id)
  await until(20_000, 'the test has arrived', async () => received.some(({ path }) => path === '/off'))
  assert.equal((await tollgate.admin('DELETE', `/admin/v1/notices/channels/${id}`)).status, 200)
  assert.deepEqual(await delivery(id), {})
  assert.equal((await sendTest(id)).status, 404)
  assert.equal((await tollgate.admin('POST', '/admin/v1/notices/deliveries/dlv_none/replay', {})).status, 404)
})

test('doubtful usage, held rates, a refused key and broken books are told once until they are told again', async () => {
  const { id } = await channel('/operator', ['usage.flagged', 'rates.held', 'provider.key_refused', 'audit.violation'])
  const { store } = tollgate.app
  const atMs = Date.now()
  const append = (action: 'usage.flagged' | 'rates.refused' | 'rates.mended', object: string): Promise<boolean> =>
    store.events.append({
      atMs: atMs + appended++,
      actor: 'system',
      ip: null,
      action,
      object,
      before: null,
      after: '{"flagged":2}',
    })
  let appended = 0
  for (const provider of ['acme', 'acme', 'other']) await append('usage.flagged', provider)
  await append('rates.refused', 'rates')
  await append('rates.refused', 'rates')
  await append('rates.mended', 'rates')
  await append('rates.refused', 'rates')
  const refused = keyRefusedNotice({ provider: 'acme', key: 1, keys: 2, status: 401 }, atMs)
  assert.deepEqual([await store.notices.raise(refused), await store.notices.raise(refused)], [true, false])
  assert.equal(auditNotice([{ id: 'I1', violations: [] }], atMs), null)
  const broken = auditNotice([{ id: 'I1', violations: ['entry 1'] }], atMs)
  assert.ok(broken !== null)
  await store.notices.raise(broken)
  const sent = (): readonly Received[] => received.filter(({ path }) => path === '/operator')
  await until(20_000, 'all have arrived', async () => sent().length === 6 && (await delivery(id))['state'] === 'sent')
  const types = sent().map(({ body }) => (JSON.parse(body) as { readonly type: string }).type)
  assert.deepEqual(types.toSorted(), [
    'audit.violation',
    'provider.key_refused',
    'rates.held',
    'rates.held',
    'usage.flagged',
    'usage.flagged',
  ])
})

test('a provider that fails is told of once, with its name of the model', async () => {
  await channel('/failing', ['provider.failing'])
  const account = await tollgate.admin('POST', '/admin/v1/accounts', { name: 'asks' })
  await topUp(tollgate, String(account.body.id), 1_000)
  const made = await tollgate.admin('POST', `/admin/v1/accounts/${String(account.body.id)}/keys`, { name: 'a' })
  for (let count = 0; count < 6; count += 1)
    await tollgate.post('/v1/chat/completions', String(made.body.key), {
      model: 'acme/small',
      messages: [{ role: 'user', content: 'x' }],
    })
  const told = (): readonly Received[] => received.filter(({ path }) => path === '/failing')
  await until(20_000, 'it has arrived', async () => told().length > 0)
  const { type, data } = JSON.parse(told()[0]?.body ?? '') as Readonly<Record<string, unknown>>
  assert.deepEqual([type, data, told().length], ['provider.failing', { provider: 'gone', model: 'small-1' }, 1])
})

test("an address of a cloud's credentials is refused even where private ones are allowed", async () => {
  const add = async (target: string): Promise<unknown> => {
    const { status, body } = await tollgate.admin('POST', '/admin/v1/notices/channels', { target, kinds: [] })
    return [status, (body.error as { readonly metadata?: { readonly check?: string } } | undefined)?.metadata?.check]
  }
  for (const target of [
    'http://169.254.169.254/latest',
    'https://[fd00:ec2::254]/',
    'http://metadata.google.internal/',
    'ftp://example.com/',
    'https://a:b@example.com/',
    'no address',
  ])
    assert.deepEqual(await add(target), [400, 'webhook_address'], target)
})

test('a message is sent to no address that is not public, however its name resolves, and the message says no more', async () => {
  const cipher = new KeyWrap([Buffer.alloc(32, 7)])
  const secret = cipher.encrypt(Buffer.from('whsec_test'), secretPurpose('chn_1'))
  const guarded = patientAgent(
    publicConnector(3_000, (_name, _options, answer) => answer(null, [{ address: '127.0.0.1', family: 4 }])),
  )
  const ports = {
    cipher,
    clock: { now: () => 0 },
    guarded,
    own: guarded,
    allowPrivate: true,
    mail: null,
    telegram: null,
  }
  const send = WEBHOOK.open(ports)
  assert.ok(send !== null)
  const before = received.length
  const { port } = new URL(own)
  for (const target of [
    `http://rebound.example.com:${port}/`,
    `http://127.0.0.1:${port}/`,
    'http://169.254.169.254/',
  ]) {
    const channel: Channel = {
      id: 'chn_1',
      accountId: 'acc_1',
      externalId: null,
      type: 'webhook',
      target,
      secret,
      kinds: [],
      language: 'en',
      enabled: true,
      createdAtMs: 0,
      confirmed: true,
    }
    const notice = { id: 'ntc_1', kind: 'test', accountId: null, atMs: 0, detail: {} }
    const { signal } = new AbortController()
    const text = () => ({ subject: '', text: '' })
    await assert.rejects(send({ to: target, id: notice.id, text, delivery: { channel, notice } }, signal), {
      name: 'DeliveryError',
      message: 'its address is not public',
    })
  }
  assert.equal(received.length, before)
  await guarded.destroy()
})
