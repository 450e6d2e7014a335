import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { Agent } from 'undici'
import { admitted, until as untilIn } from '../harness/patience.ts'
import { exchangeRaw, parseRaw } from '../harness/raw-http.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { startTollgate, type Answer } from '../harness/server.ts'
import { refused } from '../harness/refused.ts'
import { lasting } from '../harness/lasting.ts'
import { completion } from '../harness/provider-answers.ts'

const upstream = await startScriptedUpstream()
const tollgate = await lasting(
  startTollgate({
    catalog: `
rate_limit: { requests: 100000, window: 60 }
providers:
  held: { adapter: openai, base_url: '${upstream.url}/held/v1', api_key: k }
  other: { adapter: openai, base_url: '${upstream.url}/other/v1', api_key: k }
models:
  - id: test/held
    type: chat
    context_length: 8000
    endpoints:
      - { provider: held, model: m, price: { currency: RUB, prompt: 1, completion: 1 } }
  - id: test/both
    type: chat
    context_length: 8000
    endpoints:
      - { provider: held, model: m, price: { currency: RUB, prompt: 1, completion: 1 } }
      - { provider: other, model: m, price: { currency: RUB, prompt: 500, completion: 500 } }
`,
  }),
)

after(async () => {
  for (const address of addresses) await address.destroy()
})

const ANSWER = JSON.stringify(
  completion({ content: 'Hello' }, { id: 'x', usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }),
)

/** Provider `held` answers only when the test lets it. */
function holding(): { readonly waiting: () => number; readonly letGo: () => void } {
  const held: (() => void)[] = []
  let open = false
  upstream.answer((response, request) => {
    const send = (): void => void response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER)
    if (open || request.path.startsWith('/other')) send()
    else held.push(send)
  })
  return {
    waiting: () => held.length,
    letGo: () => {
      open = true
      for (const send of held) send()
    },
  }
}

const chat = (key: string, model = 'test/held'): Promise<Answer> =>
  admitted(() =>
    tollgate.request('POST', '/v1/chat/completions', {
      key,
      dispatcher: nextAddress(),
      body: { model, max_tokens: 1, messages: [{ role: 'user', content: 'Hi' }] },
    }),
  )

/** One address may have 256 connections. */
const addresses = [2, 3, 4].map((host) => new Agent({ localAddress: `127.0.0.${host}` }))
let asked = 0

function nextAddress(): Agent {
  asked += 1
  return addresses[asked % addresses.length] ?? assert.fail()
}

const until = (isSo: () => boolean): Promise<number> => untilIn(10_000, 'it comes to pass', isSo)

test('a key over its 100 running requests gets 429 with retry_after 1 before its body is read; another key goes on', async () => {
  const provider = holding()
  const account = await tollgate.createAccount({ balance: 1_000 })
  const running = Array.from({ length: 100 }, () => chat(account.key))
  await until(() => provider.waiting() === 100)
  const answer = await chat(account.key)
  refused(answer, 429, 'rate_limit_exceeded')
  assert.equal(answer.body.error.retry_after, 1)
  assert.equal(answer.headers['retry-after'], '1')
  const { port } = new URL(tollgate.url)
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.key}\r\nContent-Type: application/json\r\nContent-Length: 9000000\r\n\r\n`
  assert.equal(
    parseRaw(await exchangeRaw(Number(port), head, { until: (text) => text.includes('\r\n\r\n') })).status,
    429,
    'not a byte of the body has come',
  )
  const other = await tollgate.createAccount()
  const going = chat(other.key)
  await until(() => provider.waiting() === 101)
  provider.letGo()
  for (const answer of await Promise.all([...running, going])) assert.equal(answer.status, 200, answer.text)
  assert.equal((await chat(account.key)).status, 200)
})

test('500 run at a provider: the next wait up to two seconds for a place, and go to another provider where there is one', async () => {
  const provider = holding()
  const accounts = await Promise.all([1, 2, 3].map(() => tollgate.createAccount({ balance: 10_000 })))
  const keys = await Promise.all(
    accounts.flatMap(({ id, key }) => [
      Promise.resolve(key),
      tollgate.admin('POST', `/admin/v1/accounts/${id}/keys`, { name: 'second' }).then(({ body }) => String(body.key)),
    ]),
  )
  const running = Array.from({ length: 500 }, (_value, index) => chat(keys[index % 6] ?? ''))
  await until(() => provider.waiting() === 500)
  const alone = chat(keys[0] ?? '')
  const fallen = chat(keys[1] ?? '', 'test/both')
  assert.equal(
    (await tollgate.request('GET', '/metrics')).text.includes('tollgate_provider_in_flight{provider="held"} 500'),
    true,
  )
  const { status, headers, body } = await alone
  assert.deepEqual([status, body.error.metadata.error_type], [503, 'provider_unavailable'])
  assert.ok(Number(headers['retry-after']) >= 1)
  assert.equal((await fallen).status, 200)
  assert.equal(upstream.received.filter(({ path }) => path.startsWith('/other')).length, 1)
  const last = chat(keys[2] ?? '')
  await untilIn(2_000, 'the last waits for a place', async () =>
    (await tollgate.request('GET', '/metrics')).text.includes('tollgate_provider_waiting{provider="held"} 1\n'),
  )
  provider.letGo()
  for (const answer of await Promise.all([...running, last])) assert.equal(answer.status, 200, answer.text)
  assert.equal((await tollgate.admin('GET', '/admin/v1/audit')).body.violations, 0)
})

test('GET /metrics: from this machine itself, or with the admin token; never through a proxy without it', async () => {
  const from = async (host: string): Promise<number> =>
    parseRaw(
      await exchangeRaw(
        Number(new URL(tollgate.url).port),
        `GET /metrics HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      ),
    ).status
  assert.deepEqual(
    await Promise.all(
      [
        'localhost:9',
        '127.0.0.1',
        '[::1]:8080',
        'rebound.example',
        '127.0.0.1.rebound.example',
        'localhost.',
        '10.0.0.1',
      ].map(from),
    ),
    [200, 200, 200, 401, 401, 401, 401],
    'a page whose name was turned to this machine reads nothing',
  )
  const direct = await tollgate.request('GET', '/metrics')
  assert.equal(direct.status, 200)
  assert.match(direct.headers['content-type'] ?? '', /^text\/plain; version=0\.0\.4/)
  for (const name of [
    'tollgate_requests_total',
    'tollgate_in_flight',
    'tollgate_event_loop_utilisation',
    'tollgate_ledger_waiting',
    'tollgate_journal_open',
    'tollgate_log_lines_dropped',
    'process_resident_memory_bytes',
  ]) {
    assert.match(direct.text, new RegExp(String.raw`^${name}(\{| \d)`, 'm'), name)
  }
  assert.match(direct.text, /^tollgate_requests_total\{route="\/v1\/chat\/completions",status="200"\} \d{3}/m)
  assert.match(
    direct.text,
    /^tollgate_generations_total\{provider="held",model="test\/held",status="completed"\} \d{3}/m,
  )
  assert.doesNotMatch(direct.text, /sk-tg-|acc_/, 'no customer is named')
  const forwarded = { headers: { 'x-forwarded-for': '127.0.0.1' } }
  assert.equal((await tollgate.request('GET', '/metrics', forwarded)).status, 401)
  assert.equal((await tollgate.request('GET', '/metrics', { ...forwarded, key: tollgate.adminToken })).status, 200)
  const { key } = await tollgate.createAccount()
  assert.equal((await tollgate.request('GET', '/metrics', { ...forwarded, key })).status, 403)
})

test('connections are counted', async () => {
  const open = async (): Promise<number> =>
    Number(/^tollgate_connections (\d+)$/m.exec((await tollgate.request('GET', '/metrics')).text)?.[1])
  const sockets = Array.from({ length: 20 }, () => connect(Number(new URL(tollgate.url).port), '127.0.0.1'))
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve))))
  assert.ok((await open()) >= 21)
  for (const socket of sockets) socket.destroy()
})
