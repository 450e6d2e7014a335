import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signedUp, topUp, type ConsoleClient } from '../harness/console-client.ts'
import { gateway, type Answer } from '../harness/gateway.ts'
import { wrongSums } from '../harness/invoice.ts'
import { refusedInWords as refused } from '../harness/refused.ts'

/** Strings that must be returned unchanged, and executed nowhere. */
const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "';alert(1)//",
  '{{constructor.constructor("alert(1)")()}}',
  '</textarea><svg/onload=alert(1)>',
  '=HYPERLINK("http://evil.example")',
]

let browser: ConsoleClient
let accountId: string

const tollgate = await gateway()
;({ browser, accountId } = await signedUp(tollgate, 'customer@example.com'))
await topUp(tollgate, accountId, 100)
const key = (await browser.post('keys', { name: 'backend' })).body

function chat(
  options: {
    readonly key?: string
    readonly text?: string
    readonly headers?: Record<string, string>
    readonly stream?: boolean
  } = {},
): Promise<Answer> {
  return tollgate.request('POST', '/v1/chat/completions', {
    key: options.key ?? key.key,
    headers: options.headers ?? {},
    body: {
      model: 'sandbox/chat',
      max_tokens: 20,
      stream: options.stream ?? false,
      messages: [{ role: 'user', content: options.text ?? 'Hello' }],
    },
  })
}

test('the profile keeps name, time zone, language, theme and default model; what does not exist is refused', async () => {
  const patched = await browser.request('PATCH', 'profile', {
    name: 'Ann',
    timezone: 'Europe/Moscow',
    language: 'ru',
    theme: 'dark',
    default_model: 'sandbox/chat',
  })
  assert.deepEqual(
    [patched.body.name, patched.body.timezone, patched.body.language, patched.body.theme, patched.body.default_model],
    ['Ann', 'Europe/Moscow', 'ru', 'dark', 'sandbox/chat'],
  )
  assert.deepEqual((await browser.get('profile')).body, patched.body)
  refused(await browser.request('PATCH', 'profile', { timezone: 'Mars/Base' }), 400, 'invalid_input', /^timezone/)
  refused(
    await browser.request('PATCH', 'profile', { default_model: 'no/such' }),
    400,
    'invalid_input',
    /^default_model/,
  )
  refused(await browser.request('PATCH', 'profile', { role: 'admin' }), 400, 'invalid_input', /role/)
  refused(await browser.request('PATCH', 'profile', { theme: 'pink' }), 400, 'invalid_input', /^theme/)
})

test('a key is shown once, works, is limited, changed, disabled and deleted', async () => {
  const made = await browser.post('keys', {
    name: 'limited',
    limit: 5,
    limit_reset: 'daily',
    expires_at: '2036-01-01T00:00:00Z',
    allowed_models: ['sandbox/chat'],
  })
  assert.equal(made.status, 201, made.text)
  const { key: secret, ...shown } = made.body
  assert.match(secret, /^sk-tg-[0-9A-Za-z]{38}$/)
  assert.ok(Date.parse(shown.limit_resets_at) > Date.now())
  assert.deepEqual((await browser.get(`keys/${shown.id}`)).body, shown)
  assert.doesNotMatch((await browser.get('keys')).text, new RegExp(secret))
  assert.equal((await chat({ key: secret })).status, 200)
  const used = (await browser.get(`keys/${shown.id}`)).body
  assert.ok(used.usage > 0 && used.limit_remaining < 5)
  assert.equal((await browser.request('PATCH', `keys/${shown.id}`, { disabled: true, name: 'off' })).body.name, 'off')
  refused(await chat({ key: secret }), 403, 'key_deactivated')
  assert.deepEqual(
    [(await browser.request('PATCH', `keys/${shown.id}`, { disabled: false, limit: null })).body.limit_reset],
    [null],
  )
  refused(
    await browser.request('PATCH', `keys/${shown.id}`, { limit_reset: 'daily' }),
    400,
    'invalid_input',
    /^limit_reset/,
  )
  assert.deepEqual((await browser.request('DELETE', `keys/${shown.id}`)).body, { id: shown.id, deleted: true })
  refused(await chat({ key: secret }), 401, 'invalid_api_key')
  refused(await browser.get(`keys/${shown.id}`), 404, 'not_found')
  for (const body of [
    {},
    { name: 'x', limit: -1 },
    { name: 'x', limit: 'much' },
    { name: 'x', limit_reset: 'daily' },
    { name: 'x', account: 'acc_1' },
  ])
    refused(await browser.post('keys', body), 400, 'invalid_input')
})

test('a request has its whole story: attempts, meters × prices = cost, hold and settle, timings', async () => {
  const answer = await chat({
    headers: { 'http-referer': 'https://app.example/page', 'x-title': 'My app' },
    stream: false,
  })
  const log = (await browser.get('log?limit=1')).body
  const [row] = log.data
  assert.deepEqual(
    [row.generation_id, row.model, row.status, row.key_name, row.app_title, row.app_url, row.cost],
    [answer.body.id, 'sandbox/chat', 'completed', 'backend', 'My app', 'https://app.example', answer.body.usage.cost],
  )
  const story = (await browser.get(`log/${row.generation_id}`)).body
  assert.equal(story.attempt_count, 1)
  assert.deepEqual(
    story.attempts.map(({ outcome }: { outcome: string }) => outcome),
    ['answered'],
  )
  for (const { units, price, cost } of story.bill)
    assert.ok(Math.abs(units * Number(price) - Number(cost)) < 1e-12, `${units} × ${price} = ${cost}`)
  const { bill: lines, bill_total: total, bill_adjustments: adjustments } = story
  assert.deepEqual(wrongSums({ lines, total, adjustments, charged: story.cost }), [])
  assert.ok(story.cost >= Number(total) && story.cost - Number(total) < 0.000001)
  assert.equal(story.cache_saved, 0)
  assert.deepEqual([story.hold.state, story.hold.charged, story.hold.shortfall], ['settled', story.cost, 0])
  assert.ok(Math.abs(story.hold.amount - story.hold.charged - story.hold.returned) < 1e-9)
  assert.ok(Date.parse(story.timings.arrived_at) <= Date.parse(story.timings.ended_at))
  refused(await browser.get('log/gen-1-none'), 404, 'generation_not_found')

  assert.notEqual((await chat({ text: 'sandbox: status=500' })).status, 200)
  const failed = (await browser.get('log?status=error&limit=1')).body.data[0]
  const failure = (await browser.get(`log/${failed.generation_id}`)).body
  assert.deepEqual(
    [failure.hold.state, failure.hold.charged, failure.attempts[0].outcome, failure.attempts[0].status],
    ['voided', 0, 'failed', 500],
  )
  const { bill, bill_total: none, bill_adjustments: rest } = failure
  assert.deepEqual(wrongSums({ lines: bill, total: none, adjustments: rest, charged: 0 }), [])
})

test('the log is read with cursors, newest first, and each filter finds what it says', async () => {
  const { browser: own, accountId: id } = await signedUp(tollgate)
  await topUp(tollgate, id, 10)
  const first = (await own.post('keys', { name: 'one' })).body
  const second = (await own.post('keys', { name: 'two' })).body
  for (let index = 0; index < 12; index += 1) {
    await chat({
      key: index % 3 === 0 ? second.key : first.key,
      text: index % 4 === 0 ? 'sandbox: status=500' : 'Hi',
      headers: { 'x-request-id': `req-${id}-${index}`, ...(index % 2 === 0 ? { 'x-title': 'Even 100%_"app"' } : {}) },
    })
  }
  const all: Record<string, unknown>[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: Answer['body'] = (await own.get(`log?limit=5${cursor === '' ? '' : `&cursor=${cursor}`}`)).body
    all.push(...page.data)
    assert.ok(page.data.length <= 5 && all.length <= 12)
    cursor = page.next_cursor
  }
  assert.equal(all.length, 12)
  assert.equal(new Set(all.map(({ generation_id: generation }) => generation)).size, 12)
  assert.deepEqual(
    all.map(({ at }) => String(at)),
    all
      .map(({ at }) => String(at))
      .toSorted()
      .toReversed(),
  )
  const count = async (query: string): Promise<number> => {
    const found: Answer = await own.get(`log?${query}`)
    assert.equal(found.status, 200, found.text)
    return found.body.data.length
  }
  assert.equal(await count(`key=${second.id}`), 4)
  assert.equal(await count('status=error'), 3)
  assert.equal(await count('status=completed'), 9)
  assert.equal(await count('model=sandbox/chat'), 12)
  assert.equal(await count('model=other'), 0)
  assert.equal(await count('type=chat&provider=sandbox'), 12)
  assert.equal(await count(`app=${encodeURIComponent('Even 100%_"app"')}`), 6)
  assert.equal(await count('app='), 6)
  assert.equal(await count('app=Even'), 0)
  assert.equal(await count(`id=${String(all[3]?.['generation_id'])}`), 1)
  assert.equal(await count(`id=req-${id}-7`), 1)
  assert.equal(await count(`key=${second.id}&status=error`), 1)
  const middle = String(all[6]?.['at'])
  const later = all.filter(({ at }) => String(at) >= middle).length
  assert.equal(await count(`from=${middle}`), later)
  assert.equal(await count(`to=${middle}`), 12 - later)
  for (const query of ['cursor=x', 'limit=0', 'limit=301', 'status=lost', 'from=now'])
    refused(await own.get(`log?${query}`), 400, 'invalid_input')
  const filters = (await own.get('log/filters')).body
  assert.deepEqual(
    [filters.models, filters.providers, filters.keys.length, filters.apps],
    [['sandbox/chat'], ['sandbox'], 2, [{ id: 'Even 100%_"app"', title: 'Even 100%_"app"' }]],
  )
})

test('home, usage and apps add up to the log', async () => {
  const { browser: own, accountId: id, email } = await signedUp(tollgate)
  await topUp(tollgate, id, 50)
  const made = (await own.post('keys', { name: 'only', limit: 0.02 })).body
  assert.equal((await own.get('summary')).body.has_requests, false)
  let cost = 0
  for (const title of ['A', 'A', 'B', ''])
    cost += (await chat({ key: made.key, headers: title === '' ? {} : { 'x-title': title } })).body.usage.cost
  await chat({ key: made.key, text: 'sandbox: status=500' })
  const home = (await own.get('summary')).body
  assert.deepEqual(
    [
      home.today.requests,
      home.today.errors,
      home.last_7_days.requests,
      home.days.length,
      home.days.at(-1).requests,
      home.has_requests,
    ],
    [5, 1, 5, 30, 5, true],
  )
  assert.ok(Math.abs(home.today.cost - cost) < 1e-9 && Math.abs(home.money.balance - (50 - cost)) < 1e-9)
  assert.deepEqual(
    [home.top_models[0].model, home.top_models.length, home.keys, home.example_model],
    ['sandbox/chat', 1, 1, 'sandbox/chat'],
  )
  assert.deepEqual(
    home.keys_near_limit.map(({ id: keyId }: { id: string }) => keyId),
    cost >= 0.016 ? [made.id] : [],
  )
  const byKey = (await own.get('usage?group_by=key')).body
  assert.deepEqual(
    byKey.groups.map(({ id: group, label, requests }: Record<string, unknown>) => [group, label, requests]),
    [[made.id, 'only', 5]],
  )
  assert.ok(Math.abs(byKey.totals.cost - cost) < 1e-9)
  assert.equal(byKey.days.length, 30)
  const byPerson = (await own.get('usage?group_by=person')).body
  assert.deepEqual([byPerson.groups[0].label, byPerson.totals], [email, byKey.totals])
  const byApp = (await own.get('usage?group_by=app')).body
  assert.deepEqual(
    Object.fromEntries(byApp.groups.map(({ id: group, requests }: Record<string, unknown>) => [group, requests])),
    { A: 2, B: 1, '': 2 },
  )
  const range = (await own.get(`usage?from=${home.days[28].day}&to=${home.days[29].day}`)).body
  assert.deepEqual([range.days.length, range.totals.requests], [2, 5])
  for (const query of [
    'group_by=moon',
    'from=2026-13-01',
    'from=2026-02-30',
    'from=2026-05-01&to=2026-04-01',
    'from=2020-01-01&to=2026-01-01',
  ])
    refused(await own.get(`usage?${query}`), 400, 'invalid_input')
  assert.equal(byKey.forecast, null, 'of an account of one day')
  const hours = (await own.get('usage/hours?group_by=app')).body
  assert.deepEqual([hours.hours.length, hours.totals, hours.groups], [24, byApp.totals, byApp.groups])
  assert.equal(
    hours.cells.reduce((sum: number, { requests }: { requests: number }) => sum + requests, 0),
    5,
  )
  assert.ok(hours.hours.every(({ at }: { at: string }) => at.endsWith(':00:00.000Z')))
  assert.equal((await own.get('usage/hours?from=2026-01-01T10:20:00Z&to=2026-01-01T12:10:00Z')).body.hours.length, 2)
  assert.equal((await own.get('usage/hours?from=2026-01-01T00:00:00Z&to=2026-01-08T00:00:00Z')).body.hours.length, 168)
  for (const query of [
    'group_by=moon',
    'from=noon',
    'from=2026-01-01T00:00:00Z&to=2026-01-08T00:00:01Z',
    'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
    'from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00Z',
  ])
    refused(await own.get(`usage/hours?${query}`), 400, 'invalid_input')
  const apps = (await own.get('apps')).body.data
  assert.deepEqual(Object.fromEntries(apps.map(({ id: app, requests }: Record<string, unknown>) => [app, requests])), {
    A: 2,
    B: 1,
    '': 2,
  })
  assert.ok(Math.abs(apps.reduce((sum: number, { share }: { share: number }) => sum + share, 0) - 1) < 1e-5)
  assert.equal(apps[0].top_models[0].model, 'sandbox/chat')
  for (const query of ['from=year', 'to=constructor', 'from=2026-02-01&to=2026-01-01'])
    refused(await own.get(`apps?${query}`), 400, 'invalid_input')
})

test('the log is exported as CSV, whole and safe for a spreadsheet', async () => {
  await chat({ headers: { 'x-title': '=1+1,"x";=2|+3' } })
  const csv = await browser.get('log.csv?model=sandbox/chat')
  assert.equal(csv.status, 200)
  assert.match(csv.headers['content-type'] ?? '', /^text\/csv/)
  assert.match(csv.headers['content-disposition'] ?? '', /^attachment; filename="tollgate-log-/)
  const lines = csv.text.trimEnd().split('\r\n')
  assert.equal(lines.length - 1, (await browser.get('log?limit=300')).body.data.length)
  assert.match(lines[0] ?? '', /^at,generation_id,/)
  assert.ok(lines[1]?.includes(`"'=1+1,""x"";'=2|'+3"`), lines[1])
})

test('models come with prices per million, and with the state of their endpoints', async () => {
  const { data } = (await browser.get('models')).body
  const model = data.find(({ id }: { id: string }) => id === 'sandbox/chat')
  assert.ok(Number(model.prices.prompt) > 0 && Number(model.prices.completion) > 0)
  const endpoint = model.endpoints[0]
  assert.deepEqual([endpoint.provider, endpoint.state, model.allowed], ['sandbox', 'healthy', true])
  assert.ok(
    endpoint.uptime_30m > 0 && endpoint.ttft_ms !== undefined && endpoint.supported_parameters.includes('max_tokens'),
  )
  assert.deepEqual((await browser.get('models/sandbox/chat')).body.id, 'sandbox/chat')
  assert.deepEqual((await browser.get('models/sandbox%2Fchat')).body.id, 'sandbox/chat')
  refused(await browser.get('models/no/such'), 404, 'model_not_found')
})

test('the ledger is every entry with the balance, and a statement whose lines lead from its opening to its closing', async () => {
  const { browser: own, accountId: id } = await signedUp(tollgate)
  await topUp(tollgate, id, 20)
  const made = (await own.post('keys', { name: 'k' })).body
  const cost = (await chat({ key: made.key })).body.usage.cost
  await tollgate.admin('POST', `/admin/v1/accounts/${id}/ledger`, {
    kind: 'refund',
    amount: 5,
    reason: 'back',
    reference: `b-${id}`,
  })
  const ledger = (await own.get('ledger')).body
  assert.deepEqual(
    ledger.data.map(({ kind, amount, balance }: Record<string, unknown>) => [kind, amount, balance]),
    [
      ['refund', -5, ledger.balance],
      ['charge', -cost, Math.round((20 - cost) * 1e6) / 1e6],
      ['topup', 20, 20],
    ],
  )
  assert.ok(Math.abs(ledger.balance - (15 - cost)) < 1e-9)
  assert.deepEqual((await own.get('ledger?kind=money')).body.data.length, 2)
  assert.deepEqual((await own.get('ledger?kind=charge')).body.data.length, 1)
  const page = (await own.get('ledger?limit=2')).body
  const next = (await own.get(`ledger?limit=2&cursor=${page.next_cursor}`)).body.data[0]
  assert.deepEqual([next.kind, next.balance], ['topup', 20])
  refused(await own.get('ledger?cursor=5_'), 400, 'invalid_input')
  refused(await own.get('ledger?kind=insured'), 400, 'invalid_input')
  const today = (await own.get('summary')).body.days.at(-1).day
  const statement = (await own.get(`statement?from=${today}&to=${today}`)).body
  assert.deepEqual(
    [statement.opening, statement.closing, statement.totals],
    [0, ledger.balance, { topup: 20, refund: -5, adjustment: 0, charge: -cost }],
  )
  const sum = statement.lines.reduce(
    (total: number, { amount }: { amount: number }) => total + amount,
    statement.opening,
  )
  assert.ok(Math.abs(sum - statement.closing) < 1e-9)
  const seen = (await tollgate.admin('GET', `/admin/v1/accounts/${id}/statement?from=${today}&to=${today}`)).body
  assert.deepEqual({ ...seen, issued_at: null }, { ...statement, issued_at: null }, 'the operator sees the same')
  refused(await tollgate.admin('GET', '/admin/v1/accounts/acc_none/statement'), 404, 'not_found')
  const past = (await own.get('statement?from=2026-01-01&to=2026-01-31')).body
  assert.deepEqual([past.opening, past.closing, past.lines], [0, 0, []])
})

test('a code is money once for each account and as often as it says; guesses are limited', async () => {
  const made = (await tollgate.admin('POST', '/admin/v1/codes', { amount: 7.5, uses_max: 2, count: 2, note: 'spring' }))
    .body.data
  assert.equal(made.length, 2)
  const { code, id: codeId } = made[0]
  assert.match(code, /^[0-9A-HJKMNP-TV-Z]{5}(-[0-9A-HJKMNP-TV-Z]{5}){3}$/)
  const [one, two, three] = [await signedUp(tollgate), await signedUp(tollgate), await signedUp(tollgate)]
  assert.deepEqual((await one.browser.post('codes/redeem', { code: code.toLowerCase().replaceAll('-', ' ') })).body, {
    amount: 7.5,
    balance: 7.5,
  })
  refused(await one.browser.post('codes/redeem', { code }), 409, 'conflict')
  assert.equal((await two.browser.post('codes/redeem', { code })).status, 200)
  refused(await three.browser.post('codes/redeem', { code }), 404, 'not_found')
  await tollgate.admin('PATCH', `/admin/v1/codes/${made[1].id}`, { disabled: true })
  refused(await three.browser.post('codes/redeem', { code: made[1].code }), 404, 'not_found')
  for (let tries = 0; tries < 8; tries += 1)
    refused(await three.browser.post('codes/redeem', { code: `guess-${tries}` }), 404, 'not_found')
  refused(await three.browser.post('codes/redeem', { code }), 429, 'rate_limit_exceeded')
  const listed = (await tollgate.admin('GET', '/admin/v1/codes')).body.data.find(
    ({ id }: { id: string }) => id === codeId,
  )
  assert.deepEqual([listed.uses, listed.uses_max, listed.label, listed.note], [2, 2, code.slice(0, 4), 'spring'])
  assert.doesNotMatch((await tollgate.admin('GET', '/admin/v1/events?limit=1000')).text, new RegExp(code))
})

test('hostile texts in names, titles and referers come back as data', async () => {
  for (const text of HOSTILE) {
    const made = (await browser.post('keys', { name: text })).body
    assert.equal((await browser.get(`keys/${made.id}`)).body.name, text)
    const answer = await chat({
      key: made.key,
      headers: { 'x-title': encodeURIComponent(text), 'http-referer': `javascript:${text.replaceAll(/[^ -~]/g, '')}` },
    })
    const listed = await browser.get(`log?id=${answer.body.id}`)
    assert.match(listed.headers['content-type'] ?? '', /^application\/json/)
    assert.equal(listed.headers['x-content-type-options'], 'nosniff')
    assert.deepEqual(
      [listed.body.data[0].key_name, listed.body.data[0].app_title, listed.body.data[0].app_url],
      [text, text.slice(0, 64), null],
    )
    assert.equal((await browser.request('PATCH', 'profile', { name: text })).body.name, text)
  }
  const apps = (await browser.get('apps')).body.data.map(({ title }: { title: string }) => title)
  for (const text of HOSTILE) assert.ok(apps.includes(text), text)
})

test('no account sees or changes anything of another', async () => {
  const answer = await chat()
  const stranger = await signedUp(tollgate)
  refused(await stranger.browser.get(`keys/${key.id}`), 404, 'not_found')
  refused(await stranger.browser.request('PATCH', `keys/${key.id}`, { name: 'mine' }), 404, 'not_found')
  refused(await stranger.browser.request('DELETE', `keys/${key.id}`), 404, 'not_found')
  refused(await stranger.browser.get(`log/${answer.body.id}`), 404, 'generation_not_found')
  assert.deepEqual((await stranger.browser.get(`log?id=${answer.body.id}`)).body.data, [])
  assert.deepEqual((await stranger.browser.get(`log?key=${key.id}`)).body.data, [])
  for (const path of ['log', 'keys', 'apps', 'ledger', 'payments'])
    assert.deepEqual((await stranger.browser.get(path)).body.data, [], path)
  assert.equal((await stranger.browser.get('usage')).body.totals.requests, 0)
  assert.equal((await stranger.browser.get('summary')).body.money.balance, 0)
  refused(
    await stranger.browser.request(
      'POST',
      'playground/chat/completions',
      { model: 'sandbox/chat', messages: [] },
      { 'x-tollgate-key-id': key.id },
    ),
    400,
    'invalid_input',
    /Key-Id/,
  )
  assert.doesNotMatch((await stranger.browser.get('log.csv')).text, /gen-/)
})

test('the playground is the paid API under the session: charged to the chosen key, streamed, limited, and never from elsewhere', async () => {
  const limited = (await browser.post('keys', { name: 'play', limit: 1 })).body
  const play = (body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    browser.request('POST', 'playground/chat/completions', body, { 'x-tollgate-key-id': limited.id, ...headers })
  const body = { model: 'sandbox/chat', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] }
  const answer = await play(body)
  assert.equal(answer.status, 200, answer.text)
  const spent = (await browser.get(`keys/${limited.id}`)).body
  assert.equal(spent.usage, answer.body.usage.cost)
  const streamed = await play({ ...body, stream: true })
  assert.match(streamed.headers['content-type'] ?? '', /^text\/event-stream/)
  assert.match(streamed.text, /data: \[DONE\]/)
  assert.equal((await browser.get(`log?key=${limited.id}`)).body.data.length, 2)
  refused(await play({ ...body, messages: undefined }), 400, 'missing_messages')
  refused(await play(body, { 'x-tollgate-key-id': 'key_none' }), 400, 'invalid_input')
  refused(await play(body, { 'sec-fetch-site': 'cross-site' }), 403, 'access_denied')
  refused(await tollgate.post('/cabinet/v1/playground/chat/completions', key.key, body), 403, 'access_denied')
  refused(await tollgate.request('POST', '/cabinet/v1/playground/chat/completions', { body }), 401, 'unauthorized')
  await browser.request('PATCH', `keys/${limited.id}`, { limit: 0 })
  refused(await play(body), 429, 'limit_exceeded')
  await browser.request('PATCH', `keys/${limited.id}`, { disabled: true })
  refused(await play(body), 403, 'key_deactivated')
})
