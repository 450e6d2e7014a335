import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'undici'
import { generateKey, isWellFormed } from '../../src/access/api-key.ts'
import { randomIds } from '../../src/base/ids.ts'
import { gateway, type Answer } from '../harness/gateway.ts'
import { patient, until } from '../harness/patience.ts'
import { breaksAfter, type Script, startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { exchangeRaw, parseRaw } from '../harness/raw-http.ts'
import { balanceOf } from '../harness/video-jobs.ts'
import { loggedRow } from '../harness/money-check.ts'
import { auditClean } from '../harness/api-client.ts'

/** Faults of other gateways (reliability.md S5), each by its name. That page names the tests of the others. */

const upstream = await startScriptedUpstream()
const tollgate = await gateway({
  catalog: `
rate_limit: { requests: 100000, window: 60 }
ip_block: { failures: 100000, window: 60, duration: 1 }
providers:
  stops: { name: Stops, adapter: sandbox, cancel_stops_billing: true }
  breaks: { name: Breaks, adapter: openai, base_url: '${upstream.url}', api_key: k, timeouts: { progress: 4 } }
models:
  - { id: test/stops, type: chat, context_length: 128000, endpoints: [{ provider: stops, model: chat, price: { currency: RUB, prompt: 1500, completion: 6000 } }] }
  - { id: test/breaks, type: chat, context_length: 128000, endpoints: [{ provider: breaks, model: chat, price: { currency: RUB, prompt: 15, completion: 60 } }] }
`,
})
const account = await tollgate.createAccount({ balance: 1_000 })
const key = account.key
const accountId = account.id

function chat(line: string, fields: Record<string, unknown> = {}, as = key): Promise<Answer> {
  return tollgate.post('/v1/chat/completions', as, {
    model: 'test/stops',
    max_tokens: 100,
    messages: [{ role: 'user', content: `Hello\nsandbox: ${line}` }],
    ...fields,
  })
}

const INJECTIONS = [
  "' OR '1'='1",
  "'; DROP TABLE account; --",
  '" OR ""="',
  "1' UNION SELECT digest FROM api_key --",
  "\\'; SELECT pg_sleep(5); --",
  '%',
  '%%%',
  '_',
  '\\',
  "admin'--",
  '${7*7}',
  '{{7*7}}',
  '$(id)',
  '`id`',
  '|id',
  '../../etc/passwd',
  '\u0000',
  '\u{1f4a9}',
  "x'); DELETE FROM hold; --",
]

test('LiteLLM CVE-2026-42208: the text of a key never reaches SQL, on no path', async () => {
  for (const text of INJECTIONS) {
    for (const credential of [text, `sk-tg-${text}`, `sk-${text}`]) {
      const { status } = parseRaw(
        await exchangeRaw(
          Number(new URL(tollgate.url).port),
          Buffer.concat([
            Buffer.from('GET /v1/key HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer '),
            Buffer.from(credential),
            Buffer.from('\r\n\r\n'),
          ]),
        ),
      )
      assert.ok(status === 401 || status === 400, `${credential}: ${status}`)
    }
  }
  assert.equal((await tollgate.get('/v1/key', key)).status, 200)
})

test('LiteLLM CVE-2024-5225, CVE-2024-4890; new-api CVE-2026-25591: no query, path or body is put into SQL, and wildcards are letters', async () => {
  const paths = [
    '/v1/generation?request_id=',
    '/v1/generation?generation_id=',
    '/v1/generation?id=',
    '/v1/generation?model=',
    '/v1/generation?type=',
    '/v1/generation?from=',
    '/v1/generation?limit=',
    '/v1/videos?id=',
    '/v1/streams?id=',
    '/v1/images/content?token=x&id=',
    '/v1/models/',
    '/v1/responses/',
  ]
  const admin = [
    '/admin/v1/accounts?query=',
    '/admin/v1/accounts/',
    '/admin/v1/generations?account=',
    '/admin/v1/generations?model=',
    '/admin/v1/usage?group_by=',
    '/admin/v1/events?action=',
    '/admin/v1/users?query=',
    '/admin/v1/codes?query=',
    '/admin/v1/payments?status=',
  ]
  for (const text of INJECTIONS.map((injection) => encodeURIComponent(injection))) {
    for (const path of paths) assert.ok((await tollgate.get(path + text, key)).status < 500, path + text)
    for (const path of admin) {
      const startedMs = performance.now()
      assert.ok((await tollgate.admin('GET', path + text)).status < 500, path + text)
      assert.ok(performance.now() - startedMs < patient(2_000), `${path}${text} was slow`)
    }
  }
  // A wildcard finds only names that contain it.
  for (const query of ['%', '%%%', '_', 'tes_', '%test'])
    assert.equal(
      (await tollgate.admin('GET', `/admin/v1/accounts?query=${encodeURIComponent(query)}`)).body.total,
      0,
      query,
    )
  for (const text of INJECTIONS) {
    const made = await tollgate.admin('POST', '/admin/v1/accounts', { name: text })
    if (made.status === 201)
      assert.equal((await tollgate.admin('GET', `/admin/v1/accounts/${made.body.id}`)).body.name, text)
    else assert.equal(made.status, 400, made.text)
  }
  await auditClean(tollgate)
})

test('LiteLLM CVE-2026-35030: a key that begins like another one is another key, cached or not', async () => {
  assert.equal((await tollgate.get('/v1/key', key)).status, 200)
  for (const length of [20, 30, 37]) {
    // A well-formed key with the same first characters.
    let twin = ''
    for (let tries = 0; !isWellFormed(twin) || twin === key; tries += 1) {
      const ids = {
        ...randomIds(),
        letters: (count: number) => (key.slice(6, length) + randomIds().letters(count)).slice(0, count),
      }
      twin = generateKey(ids)
      assert.ok(tries < 100)
    }
    assert.equal(twin.slice(0, length), key.slice(0, length))
    assert.equal((await tollgate.get('/v1/key', twin)).status, 401)
    assert.equal((await tollgate.get('/v1/key', key)).status, 200)
  }
  for (const wrong of [key.slice(0, -1), `${key}x`, key.toUpperCase(), ` ${key}x`, `${key},${key}`])
    assert.equal((await tollgate.get('/v1/key', wrong)).status, 401, wrong)
})

test('LiteLLM GHSA-69x8-hrgq-fjj8: no answer of the operator’s API holds a hash', async () => {
  await tollgate.admin('POST', '/admin/v1/administrators', { email: 'x@example.com' })
  for (const path of [
    'accounts',
    `accounts/${accountId}`,
    `accounts/${accountId}/keys`,
    'users',
    'events',
    'settings',
    'catalog',
    'codes',
  ]) {
    const { text } = await tollgate.admin('GET', `/admin/v1/${path}`)
    assert.doesNotMatch(text, /argon2|password_hash|"digest"|"hash"/i, path)
  }
})

test('Starlette CVE-2026-48710 "BadHost": the Host decides nothing', async () => {
  const port = Number(new URL(tollgate.url).port)
  for (const host of [
    'x/v1/health',
    'x/healthz?',
    'localhost',
    '127.0.0.1',
    'admin',
    'x@y',
    '[::1]',
    'x:99999',
    '',
    '/',
    '..',
    'x#',
    'v1/health',
  ]) {
    for (const path of ['/v1/key', '/admin/v1/accounts', '/cabinet/v1/profile']) {
      const { status } = parseRaw(
        await exchangeRaw(port, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
      )
      assert.ok(status === 401 || status === 400, `${host} ${path}: ${status}`)
    }
  }
})

test('new-api#6607, #6609, #5690, one-api#2440: however many ask at once, no more is spent than there is', async () => {
  const one = await chat('words=20')
  const cost: number = one.body.usage.cost
  const poor = await tollgate.createAccount({ balance: Math.round(cost * 3.5 * 1e6) / 1e6 })
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => chat('words=20 delay_ms=20', { max_tokens: 20 }, poor.key)),
  )
  const served = answers.filter(({ status }) => status === 200)
  assert.ok(served.length >= 1 && served.length <= 3, `${served.length} served`)
  assert.ok(answers.every(({ status }) => [200, 402, 429].includes(status)))
  const { balance, reserved } = await balanceOf(tollgate, poor.key)
  assert.ok(balance >= 0)
  assert.equal(reserved, 0)
})

test('new-api#4168, PR 4199: a stream that failed is not charged by an estimate of its prompt', async () => {
  const prompt = 'word '.repeat(2_000)
  for (const line of ['status=500', 0, 3, 'error=2', 'words=0'] as const) {
    for (const stream of [true, false]) {
      // An account whose failures cost more than 20 RUB in an hour is charged for them (guarantees.md rule 20).
      const { key: own } = await tollgate.createAccount({ balance: 1_000 })
      const before = await balanceOf(tollgate, own)
      if (typeof line === 'number') upstream.answer(breaksAfter(line, 'cut'))
      const model = typeof line === 'number' ? 'test/breaks' : 'test/stops'
      const messages = [{ role: 'user', content: `${prompt}\nsandbox: ${line}` }]
      await chat('', { model, stream, messages }, own)
      assert.deepEqual(await balanceOf(tollgate, own), before, String(line))
    }
  }
})

/** A whole answer, with or without its usage. */
function said(stream: boolean, usage?: object): Script {
  const choice = { index: 0, [stream ? 'delta' : 'message']: { content: 'one two three' }, finish_reason: 'stop' }
  const text = JSON.stringify({ id: 'c', choices: [choice], ...(usage === undefined ? {} : { usage }) })
  return (response) =>
    response
      .writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
      .end(stream ? `data: ${text}\n\ndata: [DONE]\n\n` : text)
}

test('new-api#5235, #7062, #7241: an answer whose usage is missing is counted, not free', async () => {
  for (const stream of [true, false]) {
    const before = await balanceOf(tollgate, key)
    upstream.answer(said(stream))
    await chat('', { model: 'test/breaks', stream })
    assert.ok((await balanceOf(tollgate, key)).balance < before.balance)
  }
})

test('LiteLLM#37992: an explicit zero stays zero', async () => {
  const before = await balanceOf(tollgate, key)
  upstream.answer(said(false, { prompt_tokens: 0, completion_tokens: 0 }))
  const answer = await chat('', { model: 'test/breaks' })
  assert.deepEqual(
    [answer.body.usage.prompt_tokens, answer.body.usage.completion_tokens, answer.body.usage.cost],
    [0, 0, 0],
  )
  assert.deepEqual(await balanceOf(tollgate, key), before)
})

/** Reads until `enough` and leaves. */
async function leave(
  line: string,
  enough: (text: string) => boolean,
  { model = 'test/stops', as = key } = {},
): Promise<string> {
  const answer = await request(`${tollgate.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      stream: true,
      max_tokens: 1_000,
      messages: [{ role: 'user', content: `Hello\nsandbox: ${line}` }],
    }),
  })
  answer.body.on('error', () => undefined)
  let text = ''
  for await (const part of answer.body) {
    text += String(part)
    if (enough(text)) break
  }
  return String(answer.headers['x-generation-id'])
}

function logged(
  id: string,
): Promise<{ readonly total_cost: number; readonly output_tokens: number; readonly status: string }> {
  return loggedRow(tollgate, key, id)
}

test('LiteLLM#13245, #14457, PR 30630, PR 33736: a client that leaves in the middle pays for the tokens so far, and no more', async () => {
  const row = await logged(await leave('words=500 gap_ms=5', (text) => text.split('\n\n').length > 20))
  assert.equal(row.status, 'cancelled')
  assert.ok(row.total_cost > 0 && row.output_tokens >= 15 && row.output_tokens < 300, JSON.stringify(row))
})

test('LiteLLM PR 36008: of a burst of clients that leave at once each answer is read on in its own place and charged, though no chunk comes any more', async () => {
  const { key: own } = await tollgate.createAccount({ balance: 1_000 })
  upstream.answer(breaksAfter(3, 'stall'))
  await Promise.all(
    Array.from({ length: 25 }, () =>
      leave('', (text) => text.split('\n\n').length > 3, { model: 'test/breaks', as: own }),
    ),
  )
  const ended = async (): Promise<number> => (await tollgate.get('/v1/generation', own)).body.total
  const places = Number(/^tollgate_in_flight (\d+)/m.exec((await tollgate.request('GET', '/metrics')).text)?.[1])
  assert.ok(places + (await ended()) >= 25, `${places} keep their places`)
  await until(10_000, 'all are ended', async () => (await ended()) >= 25)
  const { body } = await tollgate.get('/v1/generation', own)
  assert.equal(body.total, 25)
  for (const row of body.logs) assert.ok(row.status === 'cancelled' && row.total_cost > 0, JSON.stringify(row))
})

test('sub2api#4408: a client that leaves before the provider has answered pays nothing', async () => {
  const before = await balanceOf(tollgate, key)
  const left = new AbortController()
  const gone = request(`${tollgate.url}/v1/chat/completions`, {
    method: 'POST',
    signal: left.signal,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'test/stops',
      stream: true,
      messages: [{ role: 'user', content: 'Hello\nsandbox: delay_ms=2000' }],
    }),
  })
  void until(10_000, 'it is held', async () => (await balanceOf(tollgate, key)).reserved > before.reserved).then(() =>
    left.abort(),
  )
  await assert.rejects(gone)
  await until(10_000, 'nothing is held', async () => (await balanceOf(tollgate, key)).reserved === before.reserved)
  assert.deepEqual(await balanceOf(tollgate, key), before)
})

test('one-api: there is no account and no password to begin with', async () => {
  for (const [email, password] of [
    ['root', '123456'],
    ['admin', 'admin'],
    ['root@localhost', '123456'],
    ['admin@example.com', 'password'],
  ]) {
    assert.ok(
      [400, 401, 403, 429].includes(
        (
          await tollgate.request('POST', '/cabinet/v1/sign-in', {
            body: { email, password },
            headers: { 'sec-fetch-site': 'same-origin' },
          })
        ).status,
      ),
      email,
    )
  }
  for (const token of ['', 'admin', '123456', 'sk-123456', 'changeme'])
    assert.ok(
      [401, 403].includes(
        (await tollgate.request('GET', '/admin/v1/accounts', { headers: { authorization: `Bearer ${token}` } })).status,
      ),
      token,
    )
})
