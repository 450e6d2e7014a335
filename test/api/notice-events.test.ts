import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { CHOSEN_KINDS, NOTICES, type NoticeKind } from '../../src/tables/notice-table.ts'
import { gateway } from '../harness/gateway.ts'
import { mailSettings, startMailServer } from '../harness/mail-server.ts'
import { until } from '../harness/patience.ts'
import { listen, sendJson } from '../harness/scripted-upstream.ts'
import { completion } from '../harness/provider-answers.ts'

/** Every kind of notice, each by its real cause, to a real mail server and a real receiver of webhooks. */

interface Told {
  readonly id: string
  readonly type: string
  readonly account: string | null
  readonly data: Readonly<Record<string, unknown>>
}

const told: Told[] = []
/** The usage that the provider reports next. */
let usage = ''

/** The receiver, the providers and the Central Bank, by path. */
const world = await listen((response, { path, json }) => {
  const answer = (status: number, body: unknown): void => sendJson(response, body, status)
  switch (path) {
    case '/hook':
      told.push(json as Told)
      return answer(200, {})
    case '/refuses/chat/completions':
      return answer(401, { error: { message: 'no' } })
    case '/works/chat/completions':
      return answer(200, completion({ content: 'one two three' }, { usage: JSON.parse(usage) as unknown }))
    case '/works/models':
      return answer(200, { data: [{ id: 'm', pricing: { prompt: '1', completion: '1' } }] })
    case '/user/balance':
      return answer(200, {
        is_available: true,
        balance_infos: [{ currency: 'CNY', total_balance: '7.50', granted_balance: '0.00', topped_up_balance: '7.50' }],
      })
    default:
      return answer(503, {})
  }
})

const own = world.url
const receiver = `${own}/hook`
const mail = await startMailServer()
const model = (id: string, provider: string): string =>
  `  - { id: test/${id}, type: chat, context_length: 200000, tokenizer: o200k_base, max_completion_tokens: 1000, endpoints: [{ provider: ${provider}, model: m, price: { currency: RUB, prompt: 1000000, completion: 1000000 } }] }`
const tollgate = await gateway({
  env: { ...mailSettings(mail), ALLOW_PRIVATE_UPSTREAMS: 'true', TOLLGATE_CBR_URL: `${own}/bank` },
})
const rich = await tollgate.createAccount({ balance: 50_000 })
for (const channel of [{ target: receiver }, { type: 'email', target: 'ops@example.com' }]) {
  const made = await tollgate.admin('POST', '/admin/v1/notices/channels', { ...channel, kinds: CHOSEN_KINDS })
  assert.equal(made.status, 201, made.text)
}
// What the catalogue brings about is told to receivers that are there.
const catalog = `
rates: { source: cbr, USD: 90 }
providers:
  works: { adapter: openai, base_url: '${own}/works', api_key: k, balance: { api: deepseek, low: 20 }, price_list: { api: openrouter } }
  refuses: { adapter: openai, base_url: '${own}/refuses', api_key: k }
  gone: { adapter: openai, base_url: 'http://127.0.0.1:9/v1', api_key: k }
models:
${model('works', 'works')}
${model('refuses', 'refuses')}
${model('gone', 'gone')}
`
await tollgate.app.catalog.applyText(catalog, { dryRun: false, onlyNew: true, file: 'test' })
async function ask(model: string, reported: readonly [number, number] = [20, 3], key = rich.key): Promise<void> {
  usage = `{"prompt_tokens":${reported[0]},"completion_tokens":${reported[1]}}`
  const body = { model, max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] }
  await tollgate.post('/v1/chat/completions', key, body)
}

async function keyWithLimit(limit: number): Promise<{ readonly id: string; readonly key: string }> {
  const { body } = await tollgate.admin('POST', `/admin/v1/accounts/${rich.id}/keys`, { name: 'limited', limit })
  return { id: String(body.id), key: String(body.key) }
}

/** What brings each kind about, and what distinguishes its message. */
const CAUSES: Readonly<Record<NoticeKind, () => Promise<Partial<Told>>>> = {
  'balance.low': async () => {
    const { id } = await tollgate.createAccount({ balance: 150 })
    const entry = { kind: 'adjustment', amount: -60, reason: 'test', reference: 'low' }
    assert.equal((await tollgate.admin('POST', `/admin/v1/accounts/${id}/ledger`, entry)).status, 201)
    return { account: id, data: { balance: 90, threshold: 100 } }
  },
  'limit.near': async () => {
    const { id, key } = await keyWithLimit(100)
    await ask('test/works', [40, 45], key)
    return { account: rich.id, data: { key: id, limit: 100, limit_reset: null, spent: 85 } }
  },
  'limit.reached': async () => {
    const { id, key } = await keyWithLimit(80)
    await ask('test/works', [40, 45], key)
    return { account: rich.id, data: { key: id, limit: 80, limit_reset: null, spent: 80 } }
  },
  'requests.refused': async () => {
    const { id, key } = await keyWithLimit(1)
    for (let count = 0; count < 3; count += 1) await ask('test/works', [40, 45], key)
    return { account: rich.id, data: { key: id, error_type: 'limit_exceeded' } }
  },
  'prices.coming': async () => {
    await ask('test/works')
    const from = Date.now() + 86_400_000
    const body = { from: new Date(from).toISOString(), markup: 2 }
    await until(5_000, 'the usage is counted', async () => {
      const { data } = (await tollgate.admin('GET', '/admin/v1/price-changes/accounts?model=test/works')).body
      return data.length > 0
    })
    const { status, text } = await tollgate.admin('POST', '/admin/v1/coming-prices', body)
    assert.equal(status, 201, text)
    return { account: rich.id, data: { from, more: 0 } }
  },
  'job.ended': async () => {
    const body = { model: 'sandbox/video', prompt: 'A lake', duration: 4 }
    const { status, body: job, text } = await tollgate.post('/v1/videos', rich.key, body)
    assert.ok(status < 300, text)
    return { account: rich.id, data: { job: job.id, model: 'sandbox/video', status: 'completed' } }
  },
  'provider.failing': async () => {
    for (let count = 0; count < 6; count += 1) await ask('test/gone')
    return { data: { provider: 'gone', model: 'm' } }
  },
  'provider.key_refused': async () => {
    await ask('test/refuses')
    await ask('test/refuses')
    return { data: { provider: 'refuses', key: 1, keys: 1, status: 401 } }
  },
  'provider.balance_low': async () => {
    // It is asked when it comes into the catalogue.
    return { data: { provider: 'works', key: 1, keys: 1, balance: 7.5, threshold: 20, currency: 'CNY' } }
  },
  'rates.held': async () => {
    await tollgate.app.rateFeed.start()
    return { data: { action: 'rates.failed', kind: 'rates_failed', reason: 'it answered 503' } }
  },
  'prices.held': async () => {
    // The list has it in dollars, the row in rubles.
    for (let count = 0; count < 2; count += 1)
      assert.equal((await tollgate.admin('POST', '/admin/v1/price-changes/fetch', {})).status, 200)
    return { data: { provider: 'works', action: 'prices.held', changes: 1, model: 'test/works' } }
  },
  'usage.flagged': async () => {
    await ask('test/works', [60_000, 900])
    await ask('test/works', [60_000, 900])
    return {}
  },
  shortfall: async () => {
    const { id, key } = await tollgate.createAccount({ balance: 71 })
    await ask('test/works', [100, 50], key)
    return { account: id }
  },
  'audit.violation': async () => {
    const { id } = await tollgate.createAccount({ balance: 1_000 })
    const database = new DatabaseSync(join(tollgate.dataDir, 'tollgate.db'))
    const damage = (micro: number): void =>
      void database.prepare('UPDATE account SET available = available + ? WHERE id = ?').run(micro, id)
    damage(1)
    for (let count = 0; count < 2; count += 1) {
      const audit = await tollgate.admin('GET', '/admin/v1/audit')
      assert.ok(Number(audit.body.violations) > 0, audit.text)
    }
    damage(-1)
    database.close()
    return { account: null }
  },
  test: async () => {
    const { body } = await tollgate.admin('GET', '/admin/v1/notices/channels')
    // The contract's type.
    for (const { id } of (body as unknown as { readonly data: readonly { readonly id: string }[] }).data)
      await tollgate.admin('POST', `/admin/v1/notices/channels/${id}/test`, {})
    return { account: null, data: {} }
  },
}

const expected = new Map<string, Partial<Told>>()

test('each kind has a cause', async () => {
  for (const [kind, cause] of Object.entries(CAUSES)) expected.set(kind, await cause())
})

// The table's own names.
for (const kind of Object.keys(CAUSES) as readonly NoticeKind[])
  test(`${kind}: each receiver is told once`, async () => {
    const wish = expected.get(kind) ?? {}
    const isIt = ({ type, account, data }: Told): boolean =>
      type === kind &&
      (wish.account === undefined || wish.account === account) &&
      Object.entries(wish.data ?? {}).every(([name, value]) => data[name] === value)
    const posted = (): readonly Told[] => told.filter(isIt)
    /** A mail names its event; those of a test are two events. */
    const mailed = (): readonly string[] =>
      mail.received
        .map(({ text }) => text)
        .filter((text) =>
          kind === 'test' ? text.startsWith(NOTICES.test.label.en) : posted().some(({ id }) => text.includes(id)),
        )
    await until(20_000, 'both have it', () => posted().length > 0 && mailed().length > 0)
    assert.deepEqual([posted().length, mailed().length], [1, 1], JSON.stringify(told))
    assert.match(mailed()[0] ?? '', new RegExp(`^${NOTICES[kind].label.en.replaceAll(/[.*]/g, String.raw`\$&`)}`))
  })

test('nothing is told twice, whatever else happens', async () => {
  await until(20_000, 'nothing waits', async () => (await tollgate.app.store.notices.counts()).pending === 0)
  assert.equal(new Set(told.map(({ id }) => id)).size, told.length)
  assert.equal(await tollgate.app.store.notices.counts().then(({ dead }) => dead), 0)
})
