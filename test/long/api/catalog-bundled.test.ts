import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openCore } from '../../../src/app/core.ts'
import { readBundledRelease, type BundledRelease } from '../../../src/catalog/bundled.ts'
import { readConfig } from '../../../src/app/config.ts'
import { parseWrappingKeys } from '../../../src/ledger/key-wrap.ts'
import { patient, until as untilIn } from '../../harness/patience.ts'
import { startTollgate, type Tollgate } from '../../harness/server.ts'
import { KEK, runCli } from '../../harness/cli-run.ts'
import { freshFolder, lasting } from '../../harness/lasting.ts'

/** The published lists are not to be had: only the release is compared. */
const UNLISTED = { TOLLGATE_PRICES_URL: 'http://127.0.0.1:9/prices', TOLLGATE_LIMITS_URL: 'http://127.0.0.1:9/limits' }
const KEY = { OPENAI_API_KEY: 'sk-openai-canary-1234', TOLLGATE_KEK: KEK, ...UNLISTED }
const WRAPPING = parseWrappingKeys(KEK) ?? []
const FETCH_MS = 10_000

const servers: Tollgate[] = []
/** The Bank's next answer. */
const feed = { status: 200, body: Buffer.alloc(0), location: '' }

const directory = freshFolder()
const bank = createServer((_request, response) => {
  response
    .writeHead(feed.status, {
      'content-type': 'application/xml; charset=windows-1251',
      ...(feed.location === '' ? {} : { location: feed.location }),
    })
    .end(feed.body)
})
await new Promise<void>((resolve) => {
  bank.listen(0, '127.0.0.1', resolve)
})

/** A server that ends with the test file, however its test ends. */
async function started(options?: Parameters<typeof startTollgate>[0]): Promise<Tollgate> {
  const tollgate = await startTollgate(options)
  servers.push(tollgate)
  return tollgate
}

after(async () => {
  await Promise.all(servers.map((server) => server.stop()))
  bank.close()
})

function bankUrl(): string {
  // A listening TCP server has an AddressInfo.
  return `http://127.0.0.1:${(bank.address() as AddressInfo).port}/scripts/XML_daily.asp`
}

/** The Bank's document, its names in windows-1251. */
function publish(usd: string): void {
  const entry = (code: string, nominal: number, name: readonly number[], value: string): Buffer[] => [
    Buffer.from(
      `<Valute ID="R01"><NumCode>000</NumCode><CharCode>${code}</CharCode><Nominal>${nominal}</Nominal><Name>`,
    ),
    Buffer.from(name),
    Buffer.from(`</Name><Value>${value}</Value><VunitRate>${value}</VunitRate></Valute>`),
  ]
  const head = Buffer.from(
    '<?xml version="1.0" encoding="windows-1251"?><ValCurs Date="21.11.2026" name="Foreign Currency Market">',
  )
  Object.assign(feed, {
    status: 200,
    location: '',
    body: Buffer.concat([
      head,
      ...entry('USD', 1, [0xc4, 0xee, 0xeb, 0xeb, 0xe0, 0xf0], usd),
      ...entry('JPY', 100, [0xc8, 0xe5, 0xed], '61,2093'),
      Buffer.from('</ValCurs>'),
    ]),
  })
}

async function modelsOf(tollgate: Tollgate): Promise<ReadonlyMap<string, { pricing: Record<string, string> }>> {
  const { key } = await tollgate.createAccount()
  const { body } = await tollgate.get('/v1/models', key)
  return new Map(body.data.map((model: { id: string; pricing: Record<string, string> }) => [model.id, model]))
}

const until = (what: string, holds: () => Promise<boolean>): Promise<number> => untilIn(FETCH_MS, what, holds)

/** Ids of the models except the sandbox's, which are always there. */
function withoutSandbox(models: ReadonlyMap<string, unknown>): readonly string[] {
  assert.ok(models.has('sandbox/chat'))
  return [...models.keys()].filter((id) => !id.startsWith('sandbox/'))
}

async function usdRate(tollgate: Tollgate): Promise<unknown> {
  return (await tollgate.admin('GET', '/admin/v1/settings')).body.rates.USD
}

test('a fresh start lists only the sandbox and says nothing of the rest', async () => {
  const tollgate = await lasting(started())
  assert.deepEqual(withoutSandbox(await modelsOf(tollgate)), [])
  assert.doesNotMatch(tollgate.logs().join('\n'), /left out|bundled|Central Bank/)
})

test('a key in the environment turns on the bundled models of its provider at exact prices; the file adds and overrides by id', async () => {
  const catalog = `rates: { USD: 100 }
markup: 1.5
models:
  - id: openai/gpt-4o
    type: chat
    context_length: 5000
    endpoints: [{ provider: openai, model: gpt-4o, price: { currency: RUB, prompt: 7, completion: 8 } }]
`
  const tollgate = await started({ catalog, env: KEY, dataDir: mkdtempSync(join(directory, 'on-')) })
  const models = await modelsOf(tollgate)
  assert.ok(models.size > 20, String(models.size))
  assert.equal(
    withoutSandbox(models).every((id) => id.startsWith('openai/')),
    true,
  )
  // 0.15 USD a million × 100 RUB × 1.5, per token.
  assert.equal(models.get('openai/gpt-4o-mini')?.pricing['prompt'], '0.0000225')
  assert.equal(models.get('openai/gpt-4o')?.pricing['prompt'], '0.0000105')
  const shown = await tollgate.admin('GET', '/admin/v1/catalog')
  assert.equal(shown.body.providers.openai.api_key, '…1234')
  assert.doesNotMatch(shown.text, /canary/)
  assert.deepEqual((await tollgate.admin('PUT', '/admin/v1/catalog', shown.body)).body.changes, [])
  await tollgate.kill('SIGTERM')
  // A command has another environment, and still finds the models on sale.
  const env = { TOLLGATE_DATA: tollgate.dataDir, TOLLGATE_KEK: KEK }
  const exported = await runCli(['export'], env)
  assert.match(exported.out, /id: openai\/gpt-4o\n/)
  assert.doesNotMatch(exported.out, /gpt-4o-mini|canary/)
  const core = await openCore({ config: readConfig(env).config, env, wrappingKeys: WRAPPING })
  assert.equal(core.catalog.current().models.size, models.size)
  assert.deepEqual(core.catalog.current().providers.get('openai')?.apiKeys, ['sk-openai-canary-1234'])
  await core.close()
  const without = await started({ catalog: 'bundled: false', env: KEY, dataDir: tollgate.dataDir })
  assert.deepEqual([...(await modelsOf(without)).keys()], [])
  await without.stop()
})

test('without a rate the bundled models are left out, and start and check say so in one line', async () => {
  const tollgate = await started({ env: KEY })
  try {
    assert.deepEqual(withoutSandbox(await modelsOf(tollgate)), [])
    const said = tollgate.logs().filter((line) => line.includes('left out'))
    assert.match(
      said.join('\n'),
      /^\d+ bundled models of OpenAI are left out: there is no rate for USD; add rates: \{ USD: … \} in RUB, or rates: \{ source: cbr \}$/,
    )
  } finally {
    await tollgate.stop()
  }
  const file = join(directory, 'check.yaml')
  writeFileSync(file, 'markup: 1.2\n')
  const check = await runCli(['check', file], KEY)
  assert.equal(check.code, 0, check.err)
  assert.match(check.out, /^\d+ bundled models of OpenAI are left out: there is no rate for USD.*\nSettings and/)
  assert.doesNotMatch((await runCli(['check', file], {})).out, /left out/)
  writeFileSync(file, 'rates: { source: cbr }\n')
  assert.match((await runCli(['check', file], KEY)).out, /the Central Bank's rate of USD is not known yet/)
})

test('check refuses a price without a currency, with file, line and path', async () => {
  const file = join(directory, 'currency.yaml')
  writeFileSync(
    file,
    'providers: { p: { adapter: openai } }\nmodels:\n  - id: v/m\n    type: chat\n    context_length: 1\n    endpoints:\n      - provider: p\n        model: m\n        price: { prompt: 1, completion: 1 }\n',
  )
  const { code, err } = await runCli(['check', file], {})
  assert.equal(code, 2)
  assert.equal(
    err,
    `${file}:9: models[0].endpoints[0].price.currency: is required: RUB, or a currency with a rate such as USD`,
  )
})

test('check warns of what sells below its cost, and refuses a price of one token for one of a million', async () => {
  const file = join(directory, 'prices.yaml')
  const model = (prompt: string): string =>
    `rates: { USD: 100 }\nmarkup: 0.5\nproviders: { p: { adapter: openai } }\nmodels:\n  - id: openai/gpt-4o\n    type: chat\n    context_length: 1000\n    endpoints:\n      - { provider: p, model: m, price: { currency: USD, prompt: ${prompt}, completion: 10 } }\n`
  writeFileSync(file, model('2.5'))
  const warned = await runCli(['check', file], {})
  assert.deepEqual([warned.code, /^markup: 0\.5 sells every model/m.test(warned.out)], [0, true])
  writeFileSync(file, model('0.0000025'))
  const refused = await runCli(['check', file], {})
  assert.equal(refused.code, 2)
  assert.match(
    refused.err,
    /prices\.yaml:9: models\[0\]\.endpoints\[0\]\.price\.prompt: is 0\.0000025 USD, but a known price of this model is \S+ USD: prices are per million tokens/,
  )
})

test('check warns of a known model whose row has one price, and not of a row with steps, or that ends at the step', async () => {
  const file = join(directory, 'steps.yaml')
  const told = async (context: number, price: string): Promise<boolean> => {
    writeFileSync(
      file,
      `rates: { USD: 100 }\nproviders: { mine: { adapter: openai } }\nmodels:\n  - { id: mine/long, type: chat, context_length: ${context}, endpoints: [{ provider: mine, model: gpt-6-sol, price: { currency: USD, ${price} } }] }\n`,
    )
    const { code, out, err } = await runCli(['check', file], {})
    assert.equal(code, 0, err)
    return /mine\/long at mine\/gpt-6-sol: one price for every length, but openai\/gpt-6-sol is known to cost 4 USD .* more than 272000/.test(
      out,
    )
  }
  assert.equal(await told(1_000_000, 'prompt: 2, completion: 10'), true)
  assert.equal(
    await told(1_000_000, 'prompt: 2, completion: 10, tiers: [{ above: 500000, prompt: 4, completion: 15 }]'),
    true,
  )
  assert.equal(
    await told(1_000_000, 'prompt: 2, completion: 10, tiers: [{ above: 272000, prompt: 4, completion: 15 }]'),
    false,
  )
  assert.equal(await told(1_000_000, 'prompt: 4, completion: 15'), false)
  assert.equal(await told(272_000, 'prompt: 2, completion: 10'), false)
})

/** An earlier release: one price is a little lower, one much, one model more, one less. */
function earlierRelease(): BundledRelease {
  const now = readBundledRelease()
  const lower = new Map([
    ['openai/gpt-4o', '2.45'],
    ['openai/gpt-4o-mini', '0.1'],
  ])
  const models = now.models
    .filter(({ id }) => id !== 'openai/gpt-4.1')
    .map((model) => ({
      ...model,
      endpoints: model.endpoints.map((endpoint) => {
        const prompt = endpoint.provider === 'openai' ? lower.get(model.id) : undefined
        return prompt === undefined ? endpoint : { ...endpoint, price: { ...endpoint.price, prompt } }
      }),
    }))
  const [first] = now.models.filter(({ id }) => id === 'openai/gpt-4o')
  assert.ok(first !== undefined)
  return { ...now, models: [...models, { ...first, id: 'openai/gpt-withdrawn' }] }
}

/** A store as the earlier release left it. */
async function keepEarlier(env: Readonly<Record<string, string>>): Promise<void> {
  const core = await openCore({
    config: readConfig(env).config,
    env,
    wrappingKeys: WRAPPING,
    server: true,
    release: earlierRelease(),
  })
  await core.catalog.patchSettings({ rates: { USD: '100' } })
  await core.close()
}

for (const way of ['the store itself', 'the server that holds it'] as const) {
  test(`catalog update shows what the release changes and applies it when told to; a price that rises waits, and nothing is deleted; through ${way}`, async () => {
    const dataDir = mkdtempSync(join(directory, 'update-'))
    const env = { ...KEY, TOLLGATE_DATA: dataDir }
    await keepEarlier(env)
    const tollgate = way === 'the store itself' ? null : await started({ dataDir, env: KEY })
    const command = {
      TOLLGATE_DATA: dataDir,
      TOLLGATE_KEK: KEK,
      ...UNLISTED,
      ...(tollgate === null ? {} : { TOLLGATE_URL: tollgate.url, TOLLGATE_ADMIN_TOKEN: tollgate.adminToken }),
    }
    const changed = [
      '+ model openai/gpt-4.1',
      '~ model openai/gpt-4o: endpoint openai/gpt-4o: price: prompt 2.45 → 2.5',
    ]
    const price = (prompt: string): string =>
      `{"currency":"USD","prompt":${prompt},"completion":0.6,"input_cache_read":0.075,"service_tiers":{"priority":{"prompt":0.25,"completion":1,"input_cache_read":0.125}}}`
    const waits = `? model openai/gpt-4o-mini at openai: ${price('0.1')} → ${price('0.15')} (rise)`
    try {
      if (tollgate !== null) {
        assert.equal((await modelsOf(tollgate)).get('openai/gpt-4o-mini')?.pricing['prompt'], '0.00001')
        assert.match(
          tollgate.logs().join('\n'),
          /The bundled models of this release differ in 3 points from those in use: see tollgate catalog update/,
        )
      }
      for (let time = 0; time < 2; time += 1) {
        const shown = await runCli(['catalog', 'update'], command)
        assert.equal(shown.code, 0, shown.err)
        assert.deepEqual(
          shown.out.split('\n').toSorted(),
          [
            ...changed,
            waits,
            'Nothing is changed yet: tollgate catalog update --yes applies it',
            'Prices marked with ? would wait for you: 1',
          ].toSorted(),
        )
      }
      const applied = await runCli(['catalog', 'update', '--yes'], command)
      assert.equal(applied.code, 0, applied.err)
      const told = 'Prices that wait for you: 1. See tollgate price held'
      assert.deepEqual(applied.out.split('\n').toSorted(), [...changed, waits, 'Applied 2 changes', told].toSorted())
      const again = await runCli(['catalog', 'update', '--yes'], command)
      assert.deepEqual(again.out.split('\n'), ['No difference', waits, told])
      if (tollgate !== null) {
        const models = await modelsOf(tollgate)
        assert.deepEqual(
          [
            models.get('openai/gpt-4o')?.pricing['prompt'],
            models.get('openai/gpt-4o-mini')?.pricing['prompt'],
            models.has('openai/gpt-4.1'),
            models.has('openai/gpt-withdrawn'),
          ],
          ['0.00025', '0.00001', true, true],
        )
        const { data } = (await tollgate.admin('GET', '/admin/v1/price-changes')).body
        assert.deepEqual([data.length, data[0].model, data[0].reason], [1, 'openai/gpt-4o-mini', 'rise'])
        assert.equal((await tollgate.admin('POST', `/admin/v1/price-changes/${data[0].id}/approve`, {})).status, 200)
        assert.equal((await modelsOf(tollgate)).get('openai/gpt-4o-mini')?.pricing['prompt'], '0.000015')
        assert.equal((await runCli(['catalog', 'update'], command)).out, 'No difference')
        assert.equal((await tollgate.admin('GET', '/admin/v1/catalog')).body.providers.openai.api_key, '…1234')
      }
    } finally {
      await tollgate?.stop()
    }
    const after = await openCore({ config: readConfig(env).config, env, wrappingKeys: WRAPPING, server: true })
    const { data } = await after.store.events.list({ limit: 20, offset: 0 })
    assert.deepEqual(
      data
        .map(({ action, object }) => `${action} ${object}`)
        .filter((line) => /^(?:prices|catalog\.update)/.test(line))
        .toReversed(),
      [
        ...(tollgate === null ? [] : ['prices.failed published-lists']),
        'prices.applied openai',
        'prices.held openai',
        'catalog.update catalog',
        ...(tollgate === null ? [] : ['prices.approved openai']),
      ],
    )
    assert.ok(after.catalog.current().models.has('openai/gpt-withdrawn'))
    await after.close()
  })
}

test('with catalog_update a server takes a new release by itself when it starts, with the same guards', async () => {
  const dataDir = mkdtempSync(join(directory, 'schedule-'))
  await keepEarlier({ ...KEY, TOLLGATE_DATA: dataDir })
  const catalog = 'rates: { USD: 100 }\ncatalog_update: { hours: 24, rise: 5 }'
  const tollgate = await started({ dataDir, env: KEY, catalog })
  await until(
    'it is taken',
    async () => (await modelsOf(tollgate)).get('openai/gpt-4o')?.pricing['prompt'] === '0.00025',
  )
  await until(
    'the rise waits',
    async () => (await tollgate.admin('GET', '/admin/v1/price-changes')).body.data.length === 1,
  )
  assert.equal((await modelsOf(tollgate)).get('openai/gpt-4o-mini')?.pricing['prompt'], '0.00001')
  const { data } = (await tollgate.admin('GET', '/admin/v1/events?action=prices.')).body
  assert.deepEqual(
    data.map(({ actor, action }: { actor: string; action: string }) => `${actor} ${action}`),
    ['system prices.held', 'system prices.applied', 'system prices.failed'],
  )
})

test('rates of the Central Bank: fetched at the start, kept through failure and restart, changed as a price version, refused when they jump', async () => {
  const dataDir = mkdtempSync(join(directory, 'rates-'))
  const options = {
    catalog: 'rates: { source: cbr }\nmarkup: 1',
    env: { ...KEY, TOLLGATE_CBR_URL: bankUrl() },
    dataDir,
  }
  Object.assign(feed, { status: 503, body: Buffer.from('busy') })
  const first = await started({ ...options, dataDir: mkdtempSync(join(directory, 'unknown-')) })
  assert.deepEqual(withoutSandbox(await modelsOf(first)), [])
  assert.match(
    first.logs().join('\n'),
    /bundled models of OpenAI are left out: the Central Bank's rate of USD is not known yet/,
  )
  await until('the failed fetch is logged', async () =>
    first.logs().some((line) => line.includes('rates could not be fetched, the last good ones stay: it answered 503')),
  )
  await first.stop()

  publish('92,5058')
  const known = await started(options)
  assert.equal((await modelsOf(known)).get('openai/gpt-4o-mini')?.pricing['prompt'], '0.00001387587')
  assert.deepEqual((await known.admin('GET', '/admin/v1/settings')).body.rates, {
    source: 'cbr',
    USD: 92.5058,
    JPY: 0.612093,
  })
  assert.doesNotMatch(known.logs().join('\n'), /left out/)
  const dry = await known.admin('PUT', '/admin/v1/catalog?dry_run=1', { rates: { source: 'cbr' } })
  const version = dry.body.price_version
  await known.stop()

  Object.assign(feed, { status: 302, location: 'http://127.0.0.1:1/elsewhere', body: Buffer.alloc(0) })
  const failing = await started(options)
  await until(
    'the failed fetch is logged',
    async () => (await usdRate(failing)) === 92.5058 && failing.logs().some((line) => line.includes('it answered 302')),
  )
  assert.equal(
    (await failing.admin('PUT', '/admin/v1/catalog?dry_run=1', { rates: { source: 'cbr' } })).body.price_version,
    version,
  )
  await failing.stop()

  publish('95,0000')
  const changed = await started(options)
  await until('the new rate is in force', async () => (await usdRate(changed)) === 95)
  assert.equal(
    (await changed.admin('PUT', '/admin/v1/catalog?dry_run=1', { rates: { source: 'cbr' } })).body.price_version,
    version + 1,
  )
  await changed.stop()

  publish('130,0000')
  const jumped = await started(options)
  await until(
    'the jump is logged',
    async () =>
      (await usdRate(jumped)) === 95 &&
      jumped
        .logs()
        .some((line) => line.includes('the rate of USD is refused: 130 is more than 30 % from the last good 95')),
  )
  // A rate set by hand is fixed; naming the source again turns the feed on and fetches at once.
  assert.deepEqual((await jumped.admin('PATCH', '/admin/v1/settings', { rates: { USD: 120 } })).body.rates, {
    USD: 120,
    JPY: 0.612093,
  })
  assert.equal((await jumped.admin('PATCH', '/admin/v1/settings', { rates: { source: 'cbr' } })).status, 200)
  await until('the rate is taken, near the one set by hand', async () => (await usdRate(jumped)) === 130)
  await jumped.stop()
})

test('a Bank that never answers holds back neither a start that has rates nor a stop', async () => {
  const silent = createServer(() => undefined)
  await new Promise<void>((resolve) => {
    silent.listen(0, '127.0.0.1', resolve)
  })
  // A listening TCP server has an AddressInfo.
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`
  const asked = new Promise((resolve) => {
    silent.once('request', resolve)
  })
  const beganMs = Date.now()
  const tollgate = await started({
    catalog: 'rates: { source: cbr, USD: 100 }',
    env: { ...KEY, TOLLGATE_CBR_URL: url },
    dataDir: mkdtempSync(join(directory, 'silent-')),
  })
  await asked
  assert.equal((await modelsOf(tollgate)).get('openai/gpt-4o-mini')?.pricing['prompt'], '0.000015')
  await tollgate.stop()
  assert.ok(Date.now() - beganMs < patient(FETCH_MS), `${Date.now() - beganMs} ms`)
  assert.doesNotMatch(tollgate.logs().join('\n'), /could not be fetched/)
  silent.closeAllConnections()
  silent.close()
})
