import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gateway, type Answer } from '../harness/gateway.ts'
import { refusedInWords as refused } from '../harness/refused.ts'

const MODEL = {
  id: 'acme/small',
  type: 'chat',
  context_length: 8_000,
  endpoints: [{ provider: 'sandbox', model: 'chat', price: { currency: 'RUB', prompt: 10, completion: '20.5' } }],
}
const NO_LIMIT = { limit: null, limit_reset: null, limit_used: null, limit_remaining: null, limit_resets_at: null }

const tollgate = await gateway()

function chat(key: string, body: Record<string, unknown> = {}): Promise<Answer> {
  return tollgate.post('/v1/chat/completions', key, {
    model: 'sandbox/chat',
    max_tokens: 20,
    messages: [{ role: 'user', content: 'Hello' }],
    ...body,
  })
}

test('an admin route answers 401 without a credential and for a wrong token, and 403 for an API key; /v1 refuses the admin token', async () => {
  const { key } = await tollgate.createAccount()
  refused(await tollgate.request('GET', '/admin/v1/accounts'), 401, 'unauthorized')
  refused(await tollgate.get('/admin/v1/accounts', 'x'.repeat(48)), 401, 'unauthorized')
  refused(
    await tollgate.request('GET', '/admin/v1/accounts', { headers: { cookie: 'tg_sid=guess' } }),
    401,
    'unauthorized',
  )
  refused(await tollgate.get('/admin/v1/accounts', key), 403, 'access_denied')
  refused(await tollgate.get('/v1/user/balance', tollgate.adminToken), 401, 'invalid_api_key')
})

test('an account is created, read, found by prefix and changed; each change takes effect on its keys', async () => {
  const terms = { name: 'Zebra works', email: 'z@example.com', rate_limit: { requests: 50, window: 10 } }
  const created = await tollgate.admin('POST', '/admin/v1/accounts', terms)
  assert.equal(created.status, 201, created.text)
  const { id, created_at: createdAt, external_id: _name, ...rest } = created.body
  assert.match(id, /^acc_[0-9A-Za-z]{16}$/)
  assert.ok(!Number.isNaN(Date.parse(createdAt)))
  assert.deepEqual(rest, {
    ...terms,
    status: 'active',
    default_model: null,
    allowed_models: null,
    exact_holds: false,
    group: null,
    markup: null,
    ...NO_LIMIT,
    balance: 0,
    available: 0,
    reserved: 0,
  })
  assert.deepEqual((await tollgate.admin('GET', `/admin/v1/accounts/${id}`)).body, created.body)
  const found = await tollgate.admin('GET', '/admin/v1/accounts?query=Zebra')
  assert.deepEqual([found.body.total, found.body.data[0].id], [1, id])
  assert.equal((await tollgate.admin('GET', '/admin/v1/accounts?query=%25')).body.total, 0, 'a wildcard is a letter')

  await tollgate.admin('POST', `/admin/v1/accounts/${id}/ledger`, {
    kind: 'topup',
    amount: 10,
    reason: 'r',
    reference: `zebra-${id}`,
  })
  const { key } = (await tollgate.admin('POST', `/admin/v1/accounts/${id}/keys`, { name: 'k' })).body
  const patch = (body: unknown): Promise<Answer> => tollgate.admin('PATCH', `/admin/v1/accounts/${id}`, body)
  assert.equal((await chat(key)).headers['x-ratelimit-limit'], '50')
  assert.equal((await patch({ status: 'deactivated' })).body.status, 'deactivated')
  refused(await chat(key), 403, 'account_deactivated')
  await patch({ status: 'locked' })
  refused(await chat(key), 403, 'api_locked')
  await patch({ status: 'active', rate_limit: null, allowed_models: ['acme/other'], default_model: 'sandbox/chat' })
  refused(await chat(key), 403, 'access_denied')
  assert.equal((await patch({ exact_holds: true })).body.exact_holds, true)
  const free = await patch({ allowed_models: null })
  assert.deepEqual(
    [free.body.rate_limit, free.body.allowed_models, free.body.exact_holds, free.body.default_model],
    [null, null, true, 'sandbox/chat'],
  )
  assert.equal(
    (await chat(key, { model: undefined })).status,
    200,
    'the default model serves a request that names none',
  )
})

test('unknown fields are refused by name, wrong values by field, unknown ids with 404, wrong pages with 400', async () => {
  refused(
    await tollgate.admin('POST', '/admin/v1/accounts', { name: 'x', balance: 5, role: 'admin' }),
    400,
    'invalid_input',
    /balance.*role/,
  )
  refused(await tollgate.admin('POST', '/admin/v1/accounts', {}), 400, 'invalid_input', /^name: /)
  refused(
    await tollgate.admin('POST', '/admin/v1/accounts', { name: 'x', rate_limit: { requests: 1, window: 1, burst: 9 } }),
    400,
    'invalid_input',
    /rate_limit\.burst/,
  )
  refused(await tollgate.admin('GET', '/admin/v1/accounts/acc_nobody'), 404, 'not_found')
  for (const path of ['accounts/acc_nobody', 'keys/key_nothing'])
    refused(await tollgate.admin('PATCH', `/admin/v1/${path}`, { name: 'x' }), 404, 'not_found')
  refused(await tollgate.admin('DELETE', '/admin/v1/keys/key_nothing'), 404, 'not_found')
  refused(await tollgate.admin('GET', '/admin/v1/accounts?limit=0'), 400, 'invalid_input', /^limit: /)
  refused(await tollgate.admin('GET', '/admin/v1/accounts?offset=-1'), 400, 'invalid_input', /^offset: /)
})

test('ledger entries move the balance exactly once per reference and never below the available amount', async () => {
  const { id } = await tollgate.createAccount({ balance: 0 })
  const post = (body: unknown): Promise<Answer> => tollgate.admin('POST', `/admin/v1/accounts/${id}/ledger`, body)
  const topup = { kind: 'topup', amount: 100.000001, reason: 'paid', reference: `pay-${id}` }
  const first = await post(topup)
  assert.equal(first.status, 201, first.text)
  assert.deepEqual([first.body.kind, first.body.amount, first.body.balance], ['topup', 100.000001, 100.000001])
  const again = await post(topup)
  assert.deepEqual([again.status, again.body], [200, first.body])
  refused(await post({ ...topup, amount: 99 }), 409, 'conflict')
  const other = await tollgate.createAccount({ balance: 0 })
  refused(await tollgate.admin('POST', `/admin/v1/accounts/${other.id}/ledger`, topup), 409, 'conflict')
  assert.equal(
    (await post({ kind: 'refund', amount: 40, reason: 'back', reference: `back-${id}` })).body.balance,
    60.000001,
  )
  assert.equal(
    (await post({ kind: 'adjustment', amount: -10.5, reason: 'fix', reference: `fix-${id}` })).body.balance,
    49.500001,
  )
  refused(await post({ kind: 'refund', amount: 50, reason: 'back', reference: `more-${id}` }), 409, 'conflict')
  refused(await post({ kind: 'adjustment', amount: -50, reason: 'fix', reference: `less-${id}` }), 409, 'conflict')
  for (const body of [
    { ...topup, amount: 0 },
    { ...topup, amount: -1 },
    { ...topup, amount: 0.0000001 },
    { ...topup, amount: '5' },
    { ...topup, amount: 1e15 },
    { ...topup, kind: 'charge' },
  ]) {
    refused(await post({ ...body, reference: 'never' }), 400, 'invalid_input')
  }
  refused(await post({ kind: 'topup', amount: 1, reference: 'r' }), 400, 'invalid_input', /^reason: /)
  refused(await post({ kind: 'topup', amount: 1, reason: 'r' }), 400, 'invalid_input', /^reference: /)
  const list = await tollgate.admin('GET', `/admin/v1/accounts/${id}/ledger?limit=2`)
  assert.equal(list.body.total, 3)
  assert.deepEqual(
    list.body.data.map((entry: Record<string, unknown>) => [entry['kind'], entry['amount'], entry['balance']]),
    [
      ['adjustment', -10.5, 49.500001],
      ['refund', -40, 60.000001],
    ],
    'newest first',
  )
  const { balance, available } = (await tollgate.admin('GET', `/admin/v1/accounts/${id}`)).body
  assert.deepEqual([balance, available], [49.500001, 49.500001])
  const all: { amount: number }[] = (await tollgate.admin('GET', `/admin/v1/accounts/${id}/ledger`)).body.data
  assert.equal(
    Math.round(all.reduce((sum, { amount }) => sum + amount * 1e6, 0)),
    49_500_001,
    'the entries add up to the balance',
  )
})

test('a reference posted 20 times at once is booked once', async () => {
  const { id } = await tollgate.createAccount({ balance: 0 })
  const answers = await Promise.all(
    Array.from({ length: 20 }, () =>
      tollgate.admin('POST', `/admin/v1/accounts/${id}/ledger`, {
        kind: 'topup',
        amount: 5,
        reason: 'r',
        reference: `race-${id}`,
      }),
    ),
  )
  assert.deepEqual(
    answers.map(({ status }) => status).toSorted((left, right) => String(left).localeCompare(String(right))),
    [...Array.from({ length: 19 }, () => 200), 201],
  )
  assert.equal((await tollgate.admin('GET', `/admin/v1/accounts/${id}`)).body.balance, 5)
})

test('a key is shown once, then only its label; its settings change what it may do', async () => {
  const { id } = await tollgate.createAccount()
  const created = await tollgate.admin('POST', `/admin/v1/accounts/${id}/keys`, {
    name: 'backend',
    limit: 1000,
    limit_reset: 'monthly',
    expires_at: '2036-01-01T00:00:00Z',
    allowed_models: ['sandbox/chat'],
  })
  assert.equal(created.status, 201, created.text)
  const { id: keyId, key, label, created_at: createdAt, external_id: _name, account: _owner, ...rest } = created.body
  assert.match(key, /^sk-tg-[0-9A-Za-z]{38}$/)
  assert.equal(label, `${key.slice(0, 9)}…${key.slice(-3)}`)
  assert.ok(!Number.isNaN(Date.parse(createdAt)))
  assert.deepEqual(rest, {
    name: 'backend',
    disabled: false,
    limit: 1000,
    limit_reset: 'monthly',
    limit_remaining: 1000,
    usage: 0,
    usage_daily: 0,
    usage_weekly: 0,
    usage_monthly: 0,
    expires_at: '2036-01-01T00:00:00.000Z',
    allowed_models: ['sandbox/chat'],
    requests_per_minute: null,
    tokens_per_minute: null,
    running_requests: null,
    model_limits: null,
    allowed_ips: null,
    last_used_at: null,
    old_secret_until: null,
  })
  const listed = await tollgate.admin('GET', `/admin/v1/accounts/${id}/keys`)
  assert.equal(listed.body.total, 2)
  assert.ok(!listed.text.includes(key))
  const patch = (body: unknown): Promise<Answer> => tollgate.admin('PATCH', `/admin/v1/keys/${keyId}`, body)
  assert.equal((await chat(key)).status, 200)
  await patch({ disabled: true })
  refused(await chat(key), 403, 'key_deactivated')
  await patch({ disabled: false, expires_at: '2020-01-01T00:00:00Z' })
  refused(await chat(key), 401, 'key_expired')
  await patch({ expires_at: null, allowed_models: ['acme/none'] })
  refused(await chat(key), 403, 'access_denied')
  const unlimited = await patch({ limit: null, allowed_models: null })
  assert.deepEqual(
    [unlimited.body.limit, unlimited.body.limit_reset, unlimited.body.limit_remaining],
    [null, null, null],
  )
  refused(await patch({ limit_reset: 'daily' }), 400, 'invalid_input', /limit_reset/)
  await patch({ limit: 0, limit_reset: 'daily' })
  refused(await chat(key), 429, 'limit_exceeded')
  refused(await patch({ limit: -1 }), 400, 'invalid_input')
  refused(await patch({ key: 'sk-tg-mine' }), 400, 'invalid_input', /key/)
  assert.deepEqual((await tollgate.admin('DELETE', `/admin/v1/keys/${keyId}`)).body, { id: keyId, deleted: true })
  refused(await chat(key), 401, 'invalid_api_key')
  refused(await tollgate.admin('DELETE', `/admin/v1/keys/${keyId}`), 404, 'not_found')
})

test('a model and its provider come and go; 201 when new, 200 when changed, credentials come back cut', async () => {
  const provider = { adapter: 'openai', base_url: 'https://api.acme.example/v1', api_key: 'secret-acme-key-9876' }
  const made = await tollgate.admin('PUT', '/admin/v1/providers/acme', provider)
  assert.deepEqual([made.status, made.body.slug, made.body.api_key], [201, 'acme', '…9876'], made.text)
  assert.equal((await tollgate.admin('PUT', '/admin/v1/providers/acme', { ...provider, name: 'Acme' })).status, 200)
  refused(
    await tollgate.admin('PUT', '/admin/v1/providers/acme', { ...provider, adapter: 'nope' }),
    400,
    'invalid_input',
    /adapter/,
  )
  refused(
    await tollgate.admin('PUT', '/admin/v1/providers/acme', { ...provider, api_base: 'https://evil.example' }),
    400,
    'invalid_input',
    /api_base/,
  )
  refused(
    await tollgate.admin('PUT', '/admin/v1/providers/inner', { ...provider, base_url: 'http://127.0.0.1:9/v1' }),
    400,
    'invalid_input',
    /private/,
  )
  refused(
    await tollgate.admin('PUT', '/admin/v1/providers/meta', { ...provider, base_url: 'http://169.254.169.254/v1' }),
    400,
    'invalid_input',
  )

  const put = (model: unknown): Promise<Answer> => tollgate.admin('PUT', '/admin/v1/models/acme/small', model)
  assert.equal((await put(MODEL)).status, 201)
  assert.equal((await put({ ...MODEL, name: 'Acme: Small' })).status, 200)
  assert.equal(
    (await tollgate.admin('PUT', '/admin/v1/models/acme%2Fsmall', MODEL)).status,
    200,
    'an encoded slash is the same model',
  )
  refused(await put({ ...MODEL, colour: 'red' }), 400, 'invalid_input', /colour/)
  refused(await put({ ...MODEL, id: 'acme/large' }), 400, 'invalid_input', /acme\/large/)
  refused(
    await put({
      ...MODEL,
      endpoints: [{ provider: 'nobody', model: 'm', price: { currency: 'RUB', prompt: 1, completion: 1 } }],
    }),
    400,
    'invalid_input',
    /nobody/,
  )
  const priced = (fields: Record<string, unknown>): Promise<Answer> =>
    put({
      ...MODEL,
      endpoints: [
        {
          provider: 'sandbox',
          model: 'gpt-4o',
          price: { currency: 'USD', prompt: 0.0000025, completion: 10 },
          ...fields,
        },
      ],
    })
  await tollgate.admin('PATCH', '/admin/v1/settings', { rates: { USD: 100 } })
  refused(await priced({}), 400, 'invalid_input', /prompt: is 0\.0000025 USD, .* If it is right, set force: true/)
  const forced = await priced({ force: true, sell: { prompt: 1, completion: 1 } })
  assert.deepEqual(
    [forced.status, forced.body.warnings],
    [
      200,
      [
        {
          warning: 'sells_below_cost',
          params: { model: 'acme/small', endpoint: 'sandbox/gpt-4o', key: 'completion', sell: '1', cost: '1000' },
          message: 'acme/small at sandbox/gpt-4o: sell.completion is 1 RUB, and the provider charges 1000 RUB',
        },
      ],
    ],
  )
  assert.equal(
    (await tollgate.admin('PATCH', '/admin/v1/settings', { markup: 1 })).status,
    200,
    "what stands is not another change's fault",
  )
  refused(
    await tollgate.admin('PUT', `/admin/v1/providers/${'a'.repeat(65)}`, provider),
    400,
    'invalid_input',
    /^slug: must be at most 64 characters long, got 65$/,
  )
  assert.equal((await put(MODEL)).status, 200)
  const { key } = await tollgate.createAccount()
  assert.equal((await chat(key, { model: 'acme/small' })).status, 200)

  const catalog = await tollgate.admin('GET', '/admin/v1/catalog')
  assert.ok(!catalog.text.includes('secret-acme'))
  assert.ok(catalog.body.models.some(({ id }: { id: string }) => id === 'acme/small'))
  assert.deepEqual((await tollgate.admin('DELETE', '/admin/v1/models/acme/small')).body, {
    id: 'acme/small',
    deleted: true,
  })
  assert.equal((await tollgate.admin('DELETE', '/admin/v1/models/acme/small')).body.deleted, false)
  refused(await chat(key, { model: 'acme/small' }), 400, 'model_not_found')
  assert.deepEqual((await tollgate.admin('DELETE', '/admin/v1/providers/acme')).body, { id: 'acme', deleted: true })
  assert.deepEqual((await tollgate.admin('DELETE', '/admin/v1/providers/acme')).body, { id: 'acme', deleted: false })
})

test('a provider may be called by a word that every object knows', async () => {
  const path = '/admin/v1/providers/constructor'
  assert.deepEqual((await tollgate.admin('DELETE', path)).body, { id: 'constructor', deleted: false })
  const made = await tollgate.admin('PUT', path, { adapter: 'openai', base_url: 'https://api.acme.example/v1' })
  assert.deepEqual([made.status, made.body.slug, made.body.adapter], [201, 'constructor', 'openai'], made.text)
  assert.deepEqual((await tollgate.admin('DELETE', path)).body, { id: 'constructor', deleted: true })
})

test('PUT catalog answers the difference; a dry run changes nothing; what GET shows can be put back', async () => {
  const shown = (await tollgate.admin('GET', '/admin/v1/catalog')).body
  const next = { ...shown, models: [...shown.models, MODEL] }
  const dry = await tollgate.admin('PUT', '/admin/v1/catalog?dry_run=1', next)
  assert.deepEqual([dry.status, dry.body.applied, dry.body.changes], [200, false, ['+ model acme/small']], dry.text)
  assert.deepEqual((await tollgate.admin('GET', '/admin/v1/catalog')).body, shown)
  const put = await tollgate.admin('PUT', '/admin/v1/catalog', next)
  assert.deepEqual(put.body.changes, ['+ model acme/small'])
  assert.deepEqual(
    (await tollgate.admin('PUT', '/admin/v1/catalog', (await tollgate.admin('GET', '/admin/v1/catalog')).body)).body
      .changes,
    [],
    'a round trip changes nothing',
  )
  refused(await tollgate.admin('PUT', '/admin/v1/catalog', { ...next, markups: 2 }), 400, 'invalid_input', /markups/)
  const yaml = await tollgate.get('/admin/v1/catalog?format=yaml', tollgate.adminToken)
  assert.match(yaml.headers['content-type'] ?? '', /yaml/)
  assert.match(yaml.text, /id: acme\/small/)
  assert.equal((await tollgate.admin('DELETE', '/admin/v1/models/acme/small')).status, 200)
})

test('settings change where they are given, and maintenance stops /v1 but not health and the admin API', async () => {
  const shown = (await tollgate.admin('GET', '/admin/v1/settings')).body
  assert.deepEqual(Object.keys(shown).toSorted(), [
    'announcement',
    'brand',
    'catalog_look',
    'catalog_update',
    'fetch_urls',
    'ip_block',
    'kept_responses',
    'maintenance',
    'markup',
    'midstream_error',
    'model_fallbacks',
    'notices',
    'rate_limit',
    'rates',
    'signup',
    'status_page',
    'stream_resume',
    'timezone',
  ])
  const patch = (body: unknown): Promise<Answer> => tollgate.admin('PATCH', '/admin/v1/settings', body)
  const rated = await patch({ rates: { USD: 92.5, EUR: 101.2 }, timezone: 'Europe/Moscow' })
  assert.deepEqual(
    [rated.body.rates, rated.body.timezone, rated.body.markup],
    [{ USD: 92.5, EUR: 101.2 }, 'Europe/Moscow', shown.markup],
    rated.text,
  )
  assert.deepEqual(
    (await patch({ rates: { USD: 95 } })).body.rates,
    { USD: 95, EUR: 101.2 },
    'a rate that is not given stays',
  )
  refused(await patch({ timezone: 'Mars/Base' }), 400, 'invalid_input', /timezone/)
  refused(await patch({ kek: 'x' }), 400, 'invalid_input', /kek/)
  const { key } = await tollgate.createAccount()
  assert.deepEqual((await patch({ maintenance: { message: 'Moving house', retry_after: 30 } })).body.maintenance, {
    message: 'Moving house',
    retry_after: 30,
  })
  const closed = await tollgate.get('/v1/user/balance', key)
  refused(closed, 503, 'maintenance_mode', /^Moving house$/)
  assert.equal(closed.headers['retry-after'], '30')
  assert.equal((await tollgate.request('GET', '/v1/health')).body.status, 'maintenance')
  assert.equal((await patch({ maintenance: null, timezone: 'UTC' })).body.maintenance, null)
  assert.equal((await tollgate.get('/v1/user/balance', key)).status, 200)
})

test('usage, the log, endpoint health and the audit report the sales', async () => {
  const { id, key, keyId } = await tollgate.createAccount()
  const answer = await chat(key)
  const cost = answer.body.usage.cost
  assert.ok(cost > 0, answer.text)
  for (const group of ['model', 'provider', 'account', 'key', 'day', 'person']) {
    const usage = await tollgate.admin('GET', `/admin/v1/usage?group_by=${group}`)
    assert.equal(usage.status, 200, usage.text)
    assert.deepEqual(
      Object.keys(usage.body.data[0]).toSorted(),
      [
        group,
        'input_tokens',
        'insured',
        'margin',
        'output_tokens',
        'provider_cost',
        'requests',
        'revenue',
        'shortfall',
      ].toSorted(),
    )
  }
  const mine = (await tollgate.admin('GET', '/admin/v1/usage?group_by=account')).body.data.find(
    ({ account }: { account: string }) => account === id,
  )
  assert.deepEqual([mine.requests, mine.revenue], [1, cost])
  refused(await tollgate.admin('GET', '/admin/v1/usage?group_by=moon'), 400, 'invalid_input', /group_by/)
  refused(await tollgate.admin('GET', '/admin/v1/usage?from=yesterday'), 400, 'invalid_input', /^from: /)
  for (const filter of [
    `account=${id}`,
    `key=${keyId}`,
    `account=${id}&status=completed&provider=sandbox`,
    `generation_id=${answer.body.id}`,
  ]) {
    const log = await tollgate.admin('GET', `/admin/v1/generations?${filter}`)
    assert.deepEqual(
      [log.body.total, log.body.data[0].generation_id, log.body.data[0].total_cost, log.body.data[0].account],
      [1, answer.body.id, cost, id],
      `${filter}: ${log.text}`,
    )
  }
  assert.equal((await tollgate.admin('GET', `/admin/v1/generations?account=${id}&status=error`)).body.total, 0)
  refused(await tollgate.admin('GET', '/admin/v1/generations?status=lost'), 400, 'invalid_input', /^status: /)
  const health = (await tollgate.admin('GET', '/admin/v1/endpoints/health')).body
  assert.equal(health.data.find(({ model }: { model: string }) => model === 'sandbox/chat').state, 'healthy')
  const audit = await tollgate.admin('GET', '/admin/v1/audit')
  assert.deepEqual([audit.body.ok, audit.body.violations], [true, 0], audit.text)
  refused(await tollgate.admin('GET', '/admin/v1/audit?since=long-ago'), 400, 'invalid_input', /^since: /)
  assert.deepEqual((await tollgate.admin('POST', '/admin/v1/kek/rotate')).status, 200)
})

test('every change is an event with who, what, when, before and after, and no secret', async () => {
  const { id, key, keyId } = await tollgate.createAccount()
  await tollgate.admin('PATCH', `/admin/v1/accounts/${id}`, { name: 'renamed' })
  await tollgate.admin('DELETE', `/admin/v1/keys/${keyId}`)
  const { body, text } = await tollgate.admin('GET', '/admin/v1/events?limit=5')
  const own = body.data.filter(({ object }: { object: string }) => object === id || object === keyId)
  assert.deepEqual(
    own.map(({ action }: { action: string }) => action),
    ['key.delete', 'account.update', 'key.create', 'ledger.topup', 'account.create'],
  )
  const update = own[1]
  assert.deepEqual(
    [update.actor, update.ip, update.before.name, update.after.name],
    ['token', '127.0.0.1', 'test', 'renamed'],
  )
  assert.ok(!Number.isNaN(Date.parse(update.at)))
  assert.equal(own[0].before.id, keyId)
  assert.ok(!text.includes(key))
})
