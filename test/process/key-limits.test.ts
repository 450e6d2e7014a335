import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { movingGateway, type MovingGateway } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'
import { refused } from '../harness/refused.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import type { Answer } from '../harness/server.ts'
import { completion } from '../harness/provider-answers.ts'

/** The limits of a key: requests and tokens in a minute, also of its models; running requests; addresses. */

const CLIENT = '203.0.113.7'
const ANSWER = JSON.stringify(
  completion({ content: 'one' }, { usage: { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 } }),
)
/** Waiting answers; null = each request is answered at once. */
let waiting: ServerResponse[] | null = null

const upstream = await startScriptedUpstream()
const server = await movingGateway({
  catalog: `
rate_limit: { requests: 100000, window: 60 }
ip_block: { failures: 3, window: 60, duration: 600 }
providers:
  p: { adapter: openai, base_url: '${upstream.url}/v1', api_key: k, cancel_stops_billing: true }
models:
  - { id: test/chat, type: chat, context_length: 100000, endpoints: [{ provider: p, model: m, price: { currency: RUB, prompt: 100, completion: 100 } }] }
  - { id: test/other, type: chat, context_length: 100000, endpoints: [{ provider: p, model: m, price: { currency: RUB, prompt: 100, completion: 100 } }] }
`,
  env: { TRUSTED_PROXIES: '127.0.0.1' },
})
upstream.answer((response) => {
  if (waiting === null) answer(response)
  else waiting.push(response)
})

function answer(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER)
}

function chat(key: string, extra: object = {}, headers: Record<string, string> = {}): Promise<Answer> {
  const body = { model: 'test/chat', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }], ...extra }
  return server.request('POST', '/v1/chat/completions', { key, body, headers })
}

function limited(limits: Record<string, unknown>): ReturnType<MovingGateway['createAccount']> {
  return server.createAccount({ key: limits })
}

test('a script of a web page may read every header that an answer or a refusal tells it by', async () => {
  const { key } = await limited({ requests_per_minute: 1, tokens_per_minute: 1_000 })
  for (const { headers } of [await chat(key), await chat(key)]) {
    const readable = String(headers['access-control-expose-headers']).toLowerCase().split(', ')
    const told = Object.keys(headers).filter((name) => /^(?:x-(?!content-type-options|accel-)|retry-)/.test(name))
    assert.ok(told.includes('x-ratelimit-remaining-tokens'), told.join())
    assert.deepEqual(
      told.filter((name) => !readable.includes(name)),
      [],
    )
  }
})

async function reservedOf(id: string): Promise<number> {
  return (await server.admin('GET', `/admin/v1/accounts/${id}`)).body.reserved
}

test('requests per minute: told in headers, refused before a hold, and let through again when the minute is over', async () => {
  const { id, key } = await limited({ requests_per_minute: 2 })
  const first = await chat(key)
  assert.equal(first.status, 200, first.text)
  assert.deepEqual(
    ['limit', 'remaining', 'reset'].map((name) => first.headers[`x-ratelimit-${name}-requests`]),
    ['2', '1', '61s'],
  )
  assert.equal(first.headers['x-ratelimit-limit-tokens'], undefined)
  assert.equal((await chat(key)).headers['x-ratelimit-remaining-requests'], '0')
  const { balance } = (await server.admin('GET', `/admin/v1/accounts/${id}`)).body
  const third = await chat(key)
  refused(third, 429, 'rate_limit_exceeded', /^This key may use 2 requests per minute\. Retry after \d+ seconds$/)
  assert.equal(Number(third.headers['retry-after']), third.body.error.retry_after)
  assert.deepEqual([third.headers['x-ratelimit-limit'], third.headers['x-ratelimit-remaining-requests']], ['2', '0'])
  const after = (await server.admin('GET', `/admin/v1/accounts/${id}`)).body
  assert.deepEqual([after.balance, after.reserved], [balance, 0])
  await server.pass(Number(third.headers['retry-after']) + 1)
  assert.equal((await chat(key)).status, 200)
})

test('a key without limits has none of their headers', async () => {
  const { key } = await server.createAccount()
  const { status, headers } = await chat(key)
  assert.equal(status, 200)
  assert.deepEqual(
    Object.keys(headers)
      .filter((name) => name.startsWith('x-ratelimit'))
      .toSorted(),
    ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
  )
})

test('the limit stands on the route of every protocol, in its own words, and on streams', async () => {
  const { key } = await limited({ requests_per_minute: 1 })
  const streamed = await chat(key, { stream: true })
  assert.equal(streamed.headers['x-ratelimit-remaining-requests'], '0')
  const text = [{ role: 'user', content: 'Hello' }]
  const ask = (path: string, body: unknown): Promise<Answer> => server.post(path, key, body)
  const answers = await Promise.all([
    ask('/v1/messages', { model: 'test/chat', max_tokens: 9, messages: text }),
    ask('/v1/responses', { model: 'test/chat', input: 'Hello' }),
    ask('/v1/completions', { model: 'test/chat', prompt: 'Hello' }),
    ask('/v1beta/models/test/chat:generateContent', { contents: [{ parts: [{ text: 'Hello' }] }] }),
    ask('/v2/chat', { model: 'test/chat', messages: text }),
    ask('/v1/embeddings', { model: 'sandbox/embeddings', input: 'Hello' }),
    ask('/v1/images/generations', { model: 'sandbox/image', prompt: 'Hello' }),
    ask('/v1/audio/speech', { model: 'sandbox/tts', input: 'Hello', voice: 'alloy' }),
    ask('/v1/rerank', { model: 'sandbox/rerank', query: 'a', documents: ['b'] }),
    ask('/v1/videos', { model: 'sandbox/video', prompt: 'Hello' }),
  ])
  for (const { status, text: said, headers } of answers) {
    assert.equal(status, 429, said)
    assert.match(said, /This key may use 1 requests per minute/)
    assert.ok(Number(headers['retry-after']) > 0)
  }
})

test('tokens per minute: the most is reserved, and what was used stays', async () => {
  const { key } = await limited({ tokens_per_minute: 100 })
  const first = await chat(key, { max_tokens: 40 })
  assert.equal(first.headers['x-ratelimit-limit-tokens'], '100')
  const left = Number(first.headers['x-ratelimit-remaining-tokens'])
  assert.ok(left > 0 && left < 60, `the input and 40: ${left}`)
  // Ten were used.
  const second = await chat(key, { max_tokens: 40 })
  assert.equal(Number(second.headers['x-ratelimit-remaining-tokens']), left - 10)
  // A request that may need more than the limit waits for an empty minute.
  refused(await chat(key, { max_tokens: 500 }), 429, 'rate_limit_exceeded', /may use 100 tokens per minute/)
  await server.pass(62)
  assert.equal((await chat(key, { max_tokens: 500 })).status, 200)
  assert.equal((await chat(key, { max_tokens: 40 })).status, 200, 'it used ten of them')
})

test('a request that cannot be paid counts no tokens', async () => {
  const { key } = await server.createAccount({ balance: 0, key: { tokens_per_minute: 1_000 } })
  for (let count = 0; count < 3; count += 1) refused(await chat(key, { max_tokens: 900 }), 402, 'insufficient_balance')
})

test('limits of a model: its own before a pattern, each model for itself, and none of a refused request counts', async () => {
  const { key } = await limited({
    requests_per_minute: 4,
    model_limits: { 'test/*': { requests_per_minute: 1 }, 'test/other': { requests_per_minute: 2 } },
  })
  assert.equal((await chat(key)).headers['x-ratelimit-limit-requests'], '1')
  for (let count = 0; count < 5; count += 1)
    refused(await chat(key), 429, 'rate_limit_exceeded', /^This key with model 'test\/chat' may use 1 requests/)
  for (let count = 0; count < 2; count += 1) assert.equal((await chat(key, { model: 'test/other' })).status, 200)
  refused(await chat(key, { model: 'test/other' }), 429, 'rate_limit_exceeded', /'test\/other' may use 2 requests/)
  // Naming another first model does not avoid the limit.
  refused(
    await chat(key, { model: 'sandbox/chat', models: ['sandbox/chat', 'test/chat'] }),
    429,
    'rate_limit_exceeded',
    /'test\/chat' may use 1/,
  )
  assert.equal((await chat(key, { model: 'sandbox/chat' })).status, 200)
})

test('running requests: given back after an answer, a refusal and a client that leaves', async () => {
  const { id, key } = await limited({ running_requests: 1 })
  waiting = []
  const first = chat(key)
  await until(5_000, 'it runs', () => waiting?.length === 1)
  const second = await chat(key)
  refused(second, 429, 'rate_limit_exceeded', /^This key may run 1 requests at once\. Retry after 1 seconds/)
  assert.equal(second.headers['retry-after'], '1')
  answer(waiting[0] ?? assert.fail())
  assert.equal((await first).status, 200)
  waiting = null
  refused(await chat(key, { model: 'no/such' }), 400, 'model_not_found')
  assert.equal((await chat(key)).status, 200)
  waiting = []
  const body = JSON.stringify({ model: 'test/chat', stream: true, messages: [{ role: 'user', content: 'Hello' }] })
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await until(5_000, 'it runs', () => waiting?.length === 1)
  socket.destroy()
  await until(5_000, 'it is over', async () => (await reservedOf(id)) === 0)
  waiting = null
  await until(5_000, 'its place is free', async () => (await chat(key)).status === 200)
})

test('allowed addresses: IPv4 and IPv6 ranges, a 403 that is no guess at keys, and live', async () => {
  const from = (ip: string): Record<string, string> => ({ 'x-forwarded-for': ip })
  const { key, keyId } = await limited({ allowed_ips: ['203.0.113.0/24', '2001:db8::/32', '198.51.100.4'] })
  for (const ip of [CLIENT, '2001:db8:1::9', '198.51.100.4', '::ffff:203.0.113.9'])
    assert.equal((await chat(key, {}, from(ip))).status, 200, ip)
  for (let count = 0; count < 5; count += 1)
    refused(
      await chat(key, {}, from('198.51.100.5')),
      403,
      'access_denied',
      /^This key may not be used from 198\.51\.100\.5/,
    )
  const models = (ip: string): Promise<Answer> => server.request('GET', '/v1/models', { key, headers: from(ip) })
  assert.equal((await models('2001:db9::1')).status, 403, 'on the free routes as well')
  await server.admin('PATCH', `/admin/v1/keys/${keyId}`, { allowed_ips: ['2001:db9::/32'] })
  assert.equal((await models('2001:db9::1')).status, 200)
  assert.equal((await models(CLIENT)).status, 403)
  await server.admin('PATCH', `/admin/v1/keys/${keyId}`, { allowed_ips: null })
  assert.equal((await models(CLIENT)).status, 200)
})

test('a change is live at once, changes one limit and leaves the others; GET /v1/key tells them', async () => {
  const { key, keyId } = await limited({ requests_per_minute: 1, running_requests: 3 })
  assert.equal((await chat(key)).status, 200)
  assert.equal((await chat(key)).status, 429)
  const changed = await server.admin('PATCH', `/admin/v1/keys/${keyId}`, { requests_per_minute: 5 })
  assert.deepEqual([changed.body.requests_per_minute, changed.body.running_requests], [5, 3])
  assert.equal((await chat(key)).headers['x-ratelimit-remaining-requests'], '3')
  const { data } = (await server.get('/v1/key', key)).body
  assert.deepEqual(
    [data.requests_per_minute, data.tokens_per_minute, data.running_requests, data.model_limits, data.allowed_ips],
    [5, null, 3, null, null],
  )
  await server.admin('PATCH', `/admin/v1/keys/${keyId}`, { requests_per_minute: null, running_requests: null })
  assert.equal((await chat(key)).headers['x-ratelimit-limit-requests'], undefined)
})

test('what a limit may not be is refused in one sentence', async () => {
  const { id } = await server.createAccount()
  const make = (body: object): Promise<Answer> =>
    server.admin('POST', `/admin/v1/accounts/${id}/keys`, { name: 'x', ...body })
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ requests_per_minute: 0 }, /^requests_per_minute: must be a whole number from 1 to 1000000$/],
    [{ tokens_per_minute: 1.5 }, /^tokens_per_minute: must be a whole number/],
    [{ running_requests: '2' }, /^running_requests: must be a whole number/],
    [{ model_limits: [] }, /^model_limits: must be an object$/],
    [
      { model_limits: { 'a/b': { requests: 1 } } },
      /^Unknown field: model_limits\.a\/b\.requests\. Known: requests_per_minute/,
    ],
    [{ model_limits: { 'a/b': { requests_per_minute: -1 } } }, /^model_limits\.a\/b\.requests_per_minute: must be/],
    [{ model_limits: { '': {} } }, /^model_limits\.: must be a text of 1 to 200 characters$/],
    [{ model_limits: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`m${n}`, {}])) }, /at most 100 entries/],
    [
      { allowed_ips: ['10.0.0.0/33'] },
      /^allowed_ips: must hold IP addresses or CIDR ranges .*, got '10\.0\.0\.0\/33'$/,
    ],
    [{ allowed_ips: [`fe80::1%${'x'.repeat(5_000)}`] }, /got 'fe80::1%x{72}'$/],
    [{ allowed_ips: ['example.org'] }, /got 'example\.org'$/],
    [{ allowed_ips: '10.0.0.1' }, /^allowed_ips: must be a list of texts$/],
  ]
  for (const [body, message] of wrong) refused(await make(body), 400, 'invalid_input', message)
  const strange = await make({ model_limits: JSON.parse('{"__proto__":{"requests_per_minute":3}}') })
  assert.equal(strange.status, 201)
  assert.match(strange.text, /"__proto__":\{"requests_per_minute":3/)
})
