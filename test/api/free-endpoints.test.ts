import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OpenRouter } from '@openrouter/sdk'
import { gateway, type Answer } from '../harness/gateway.ts'
import { refused } from '../harness/refused.ts'

const tollgate = await gateway()

function chat(key: string, body: Record<string, unknown> = {}, headers: Record<string, string> = {}): Promise<Answer> {
  return tollgate.request('POST', '/v1/chat/completions', {
    key,
    headers,
    body: { model: 'sandbox/chat', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }], ...body },
  })
}

test('health needs no key and names every endpoint of /v1; the probes answer', async () => {
  const health = await tollgate.request('GET', '/v1/health')
  assert.equal(health.status, 200)
  assert.deepEqual(Object.keys(health.body), ['status', 'version', 'endpoints'])
  assert.equal(health.body.status, 'ok')
  assert.match(health.body.version, /^\d+\.\d+\.\d+/)
  for (const name of [
    'health',
    'chat/completions',
    'models',
    'models/count',
    'user/balance',
    'generation',
    'key',
    'credits',
    'streams',
  ])
    assert.ok(health.body.endpoints.includes(name), name)
  assert.equal(new Set(health.body.endpoints).size, health.body.endpoints.length)
  assert.ok(!health.body.endpoints.some((name: string) => name.includes('admin')))
  for (const path of ['/healthz', '/readyz']) assert.equal((await tollgate.request('GET', path)).status, 200)
})

test('every route of the key plane refuses a request without a key', async () => {
  for (const path of [
    '/v1/user/balance',
    '/v1/credits',
    '/v1/key',
    '/v1/auth/key',
    '/v1/generation',
    '/v1/streams?id=x',
  ]) {
    const answer = await tollgate.request('GET', path)
    refused(answer, 401, 'missing_api_key')
    assert.equal(answer.headers['www-authenticate'], 'Bearer')
  }
})

test('balance, credits and key add up with what a request cost', async () => {
  const { id, key } = await tollgate.createAccount({
    balance: 100,
    key: { name: 'backend', limit: 50, limit_reset: 'monthly' },
  })
  assert.deepEqual((await tollgate.get('/v1/user/balance', key)).body, {
    user: id,
    balance: 100,
    currency: 'RUB',
    reserved: 0,
    available: 100,
  })
  const { cost } = (await chat(key)).body.usage
  const costMicro = Math.round(cost * 1e6)
  assert.ok(costMicro > 0)
  const { balance, available, reserved } = (await tollgate.get('/v1/user/balance', key)).body
  assert.deepEqual([Math.round(balance * 1e6), available, reserved], [100_000_000 - costMicro, balance, 0])
  assert.deepEqual((await tollgate.get('/v1/credits', key)).body, {
    data: { total_credits: 100, total_usage: cost, currency: 'RUB' },
  })
  const record = await tollgate.get('/v1/key', key)
  assert.deepEqual((await tollgate.get('/v1/auth/key', key)).body, record.body)
  const { label, limit_remaining: remaining, limit_resets_at: resetsAt, ...rest } = record.body.data
  assert.equal(label, `${key.slice(0, 9)}…${key.slice(-3)}`)
  assert.equal(Math.round(remaining * 1e6), 50_000_000 - costMicro)
  assert.match(resetsAt, /^\d{4}-\d{2}-01T00:00:00Z$/)
  assert.deepEqual(rest, {
    name: 'backend',
    limit: 50,
    limit_reset: 'monthly',
    usage: cost,
    usage_daily: cost,
    usage_weekly: cost,
    usage_monthly: cost,
    currency: 'RUB',
    expires_at: null,
    is_free_tier: false,
    is_management_key: false,
    is_provisioning_key: false,
    include_byok_in_limit: false,
    byok_usage: 0,
    byok_usage_daily: 0,
    byok_usage_weekly: 0,
    byok_usage_monthly: 0,
    creator_user_id: id,
    organization_id: null,
    workspace_id: null,
    allowed_data_regions: ['global'],
    free_model_daily_requests: { limit: 0, remaining: 0, used: 0 },
    requests_per_minute: null,
    tokens_per_minute: null,
    running_requests: null,
    model_limits: null,
    allowed_ips: null,
    rate_limit: { requests: 300, interval: '60s', note: 'Requests per sliding window; see X-RateLimit-* headers.' },
  })
})

test('the log lists newest first, filters, pages and clamps; wrong values are refused by name', async () => {
  const { key } = await tollgate.createAccount()
  const ids: string[] = []
  for (const name of ['one', 'two', 'three'])
    ids.unshift(
      (
        await chat(
          key,
          {},
          { 'x-request-id': `log-${name}`, 'http-referer': 'https://app.example/path', 'x-title': 'App' },
        )
      ).body.id,
    )
  const list = (query: string): Promise<Answer> => tollgate.get(`/v1/generation${query}`, key)
  const all = (await list('')).body
  assert.deepEqual([all.total, all.logs.map((log: Record<string, unknown>) => log['generation_id'])], [3, ids])
  const [newest] = all.logs
  assert.deepEqual(Object.keys(newest), [
    'id',
    'model_name',
    'input_tokens',
    'output_tokens',
    'total_cost',
    'timestamp',
    'currency',
    'generation_id',
    'request_id',
    'type',
    'status',
    'provider_name',
    'finish_reason',
    'cached_tokens',
    'reasoning_tokens',
    'streamed',
    'billing_basis',
    'latency_ms',
    'duration_ms',
    'key_name',
    'app_title',
    'app_url',
    'end_user',
  ])
  assert.ok(Number.isInteger(newest.id))
  assert.deepEqual(
    [newest.request_id, newest.app_title, newest.app_url, newest.key_name, newest.type],
    ['log-three', 'App', 'https://app.example', 'test', 'chat'],
  )
  assert.deepEqual(
    (await list('?limit=1&offset=1')).body.logs.map((log: Record<string, unknown>) => log['generation_id']),
    [ids[1]],
  )
  assert.equal((await list('?limit=5000')).body.total, 3)
  for (const filter of [`generation_id=${ids[1]}`, 'request_id=log-two']) {
    const found = (await list(`?${filter}`)).body
    assert.deepEqual([found.total, found.logs[0].generation_id], [1, ids[1]], filter)
  }
  for (const nothing of [
    'generation_id=gen-unknown',
    'model=acme/none',
    'type=video',
    'from=2100-01-01T00:00:00Z',
    'to=2000-01-01T00:00:00Z',
  ])
    assert.deepEqual((await list(`?${nothing}`)).body, { logs: [], total: 0 }, nothing)
  assert.equal((await list('?model=sandbox/chat&type=chat&from=2020-01-01T00:00:00Z&unknown=1')).body.total, 3)
  for (const wrong of ['limit=0', 'limit=x', 'offset=-1', 'from=soon'])
    refused(await list(`?${wrong}`), 400, 'invalid_input', new RegExp(`^${wrong.split('=')[0]}: `))
})

test("one account never sees another's log, record or stream", async () => {
  const mine = await tollgate.createAccount()
  const other = await tollgate.createAccount()
  const { id } = (await chat(mine.key, {}, { 'x-request-id': 'private-1' })).body
  refused(await tollgate.get(`/v1/generation?id=${id}`, other.key), 404, 'generation_not_found')
  assert.deepEqual((await tollgate.get(`/v1/generation?generation_id=${id}`, other.key)).body, {
    logs: [],
    total: 0,
  })
  for (const method of ['GET', 'DELETE']) {
    refused(await tollgate.request(method, `/v1/streams?id=${id}`, { key: other.key }), 404, 'stream_not_found')
    refused(await tollgate.request(method, '/v1/streams?id=private-1', { key: other.key }), 404, 'stream_not_found')
  }
})

test("OpenRouter's SDK reads the record, the key and the credits", async () => {
  const { key } = await tollgate.createAccount()
  const answer = (await chat(key)).body
  const client = new OpenRouter({ apiKey: key, serverURL: `${tollgate.url}/v1` })
  const { data } = await client.generations.getGeneration({ id: answer.id })
  assert.deepEqual(
    [data.id, data.totalCost, data.model, data.apiType, data.streamed, data.isByok],
    [answer.id, answer.usage.cost, 'sandbox/chat', 'completions', false, false],
  )
  assert.deepEqual(
    [data.tokensPrompt, data.tokensCompletion],
    [answer.usage.prompt_tokens, answer.usage.completion_tokens],
  )
  assert.equal((await client.apiKeys.getCurrentKeyMetadata()).data.usage, answer.usage.cost)
  assert.equal((await client.credits.getCredits()).data.totalCredits, 100)
  refused(await tollgate.get('/v1/generation?id=gen-0', key), 404, 'generation_not_found')
})

test('a finished stream is read again from any event, costs nothing, and is completed when cancelled', async () => {
  const { key } = await tollgate.createAccount()
  const first = await chat(key, { stream: true }, { 'x-request-id': 'resume-1' })
  assert.match(first.text, /\ndata: \[DONE\]\n\n$/)
  const { balance } = (await tollgate.get('/v1/user/balance', key)).body
  const whole = await tollgate.get('/v1/streams?id=resume-1', key)
  assert.match(whole.headers['content-type'] ?? '', /^text\/event-stream/)
  const events = (text: string): string[] => text.split('\n\n').filter((event) => event.includes('data:'))
  assert.deepEqual(events(whole.text), events(first.text))
  const rest = await tollgate.get('/v1/streams?id=resume-1&after=2', key)
  assert.deepEqual(events(rest.text), events(first.text).slice(2))
  const header = await tollgate.request('GET', '/v1/streams?id=resume-1', { key, headers: { 'last-event-id': '2' } })
  assert.equal(header.text, rest.text)
  const generationId = /"id":"(gen-[^"]+)"/.exec(first.text)?.[1]
  assert.deepEqual((await tollgate.request('DELETE', `/v1/streams?id=${generationId}`, { key })).body, {
    id: generationId,
    object: 'stream',
    status: 'completed',
  })
  assert.equal((await tollgate.get('/v1/user/balance', key)).body.balance, balance)
  refused(await tollgate.get('/v1/streams?id=unknown', key), 404, 'stream_not_found')
  refused(await tollgate.get('/v1/streams', key), 400, 'invalid_input', /^id: /)
  refused(await tollgate.get('/v1/streams?id=resume-1&after=-1', key), 400, 'invalid_input', /^after: /)
})

test('a running stream is cancelled from outside, settled and logged as cancelled', async () => {
  const { key } = await tollgate.createAccount()
  const running = chat(
    key,
    { stream: true, max_tokens: 4_000, messages: [{ role: 'user', content: 'Hello\nsandbox: words=2000 gap_ms=20' }] },
    { 'x-request-id': 'cancel-1' },
  ).catch(() => undefined)
  let cancelled = await tollgate.request('DELETE', '/v1/streams?id=cancel-1', { key })
  for (let tries = 0; cancelled.status === 404 && tries < 200; tries += 1)
    cancelled = await tollgate.request('DELETE', '/v1/streams?id=cancel-1', { key })
  assert.deepEqual(
    [cancelled.status, cancelled.body.object, cancelled.body.status],
    [200, 'stream', 'cancelled'],
    cancelled.text,
  )
  await running
  const log = (await tollgate.get('/v1/generation?request_id=cancel-1', key)).body.logs[0]
  assert.deepEqual([log.status, log.generation_id], ['cancelled', cancelled.body.id])
  assert.equal((await tollgate.get('/v1/user/balance', key)).body.reserved, 0)
})
