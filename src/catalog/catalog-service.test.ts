import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyWrap } from '../ledger/key-wrap.ts'
import { decimalText } from '../base/money.ts'
import type { CatalogStore } from '../store/catalog/catalog-store.ts'
import { BUNDLED } from './bundled.ts'
import { CatalogError } from './catalog-check.ts'
import { CatalogService } from './catalog-service.ts'
import { decryptCredentials, encryptCredentials } from './credentials.ts'
import type { CatalogDocument } from './document.ts'
import { parseDocumentJson, parseModelJson, parseProviderJson } from './document-reader.ts'
import { wireDocument } from './wire-document.ts'
import { adaptersNamed } from '../../test/harness/adapters-named.ts'

const ADAPTERS = adaptersNamed('openai', 'anthropic', 'sandbox')
const CONTEXT = { adapters: ADAPTERS, env: {} }
const NEW = { dryRun: false, onlyNew: false, file: 'f.yaml' }
const RELEASE = { version: '0', published: '2026-01-01', models: [] }
const WRAP = new KeyWrap([Buffer.alloc(32, 1)])
const FILE = `markup: 2
providers:
  p: { adapter: openai, base_url: "http://up.test/v1", api_key: [\${KEY}, sk-second-9876] }
models:
  - id: v/m
    type: chat
    context_length: 1000
    aliases: [m]
    endpoints: [{ provider: p, model: m, price: { currency: RUB, prompt: 0.1, completion: 1e-7 } }]
`

/** A store in memory with the same contents as the real one. */
function memoryStore(): Pick<CatalogStore, keyof CatalogStore> & {
  rows: { version: number; document: string; credentials: Buffer; fileDigest: string | null; createdAtMs: number }[]
} {
  const rows: ReturnType<typeof memoryStore>['rows'] = []
  return {
    rows,
    append: async ({ after, document, credentials, fileDigest, atMs }) =>
      after === rows.length
        ? rows.push({ version: after + 1, document, credentials, fileDigest, createdAtMs: atMs })
        : null,
    newest: async () => rows.length,
    latest: async () => rows.at(-1) ?? null,
    byVersion: async (version) => rows[version - 1] ?? null,
    at: async (atMs) => rows.findLast(({ createdAtMs }) => createdAtMs <= atMs) ?? rows[0] ?? null,
  }
}

async function service(
  store = memoryStore(),
  env: Record<string, string> = { KEY: 'sk-canary-1234' },
): Promise<CatalogService> {
  let nowMs = Date.parse('2026-11-21T00:00:00Z')
  const clock = { now: () => (nowMs += 1_000), monotonic: () => 0, after: () => () => undefined }
  const catalog = new CatalogService({
    store,
    clock,
    cipher: WRAP,
    adapters: ADAPTERS,
    env,
    release: RELEASE,
    providerKeys: {},
    allowPrivateUpstreams: false,
  })
  await catalog.load()
  return catalog
}

function bodyOf(catalog: CatalogService): Record<string, unknown> {
  // The document as a client of the admin API gets it, after JSON.
  return JSON.parse(JSON.stringify(wireDocument(catalog.shown())))
}

function documentOf(json: unknown): CatalogDocument {
  const { document, problems } = parseDocumentJson(json, CONTEXT)
  assert.deepEqual(problems, [])
  return document
}

test('an empty store starts with the bundled sandbox as version 1', async () => {
  const catalog = await service()
  assert.equal(catalog.current().priceVersion, 1)
  assert.deepEqual(
    [...catalog.current().models.keys()],
    BUNDLED.models.map(({ id }) => id),
  )
  assert.ok((catalog.current().models.get('sandbox/chat')?.endpoints[0]?.sell.input.digits ?? 0n) > 0n)
})

test('`bundled: false` leaves the sandbox out', async () => {
  const catalog = await service()
  await catalog.applyText(`bundled: false\n${FILE}`, NEW)
  assert.deepEqual([...catalog.current().models.keys()], ['v/m'])
})

test('applying a file prints the difference, makes a version and tells listeners; applying it again does neither', async () => {
  const store = memoryStore()
  const catalog = await service(store)
  const seen: number[] = []
  catalog.onChange(() => seen.push(catalog.current().priceVersion))
  assert.deepEqual(await catalog.applyText(FILE, { ...NEW, dryRun: true }), [
    '~ settings: markup absent → 2',
    '+ provider p',
    '+ model v/m',
  ])
  assert.equal(store.rows.length, 1)
  assert.equal((await catalog.applyText(FILE, NEW)).length, 3)
  assert.deepEqual(await catalog.applyText(FILE, NEW), [])
  assert.deepEqual([store.rows.length, seen], [2, [2]])
  const [endpoint] = catalog.current().models.get('v/m')?.endpoints ?? []
  assert.deepEqual(
    endpoint === undefined ? null : [decimalText(endpoint.sell.input), decimalText(endpoint.sell.output)],
    ['0.2', '0.0000002'],
  )
})

test('a file with problems changes nothing and names each of them', async () => {
  const store = memoryStore()
  const catalog = await service(store)
  await assert.rejects(
    async () =>
      catalog
        .applyText(FILE, { ...NEW, file: 'x.yaml' })
        .then(() =>
          catalog.applyText(FILE.replace('v/m', 'vm').replace('markup: 2', 'markup: x'), { ...NEW, file: 'x.yaml' }),
        ),
    (thrown: Error) => {
      assert.ok(thrown instanceof CatalogError)
      assert.match(thrown.message, /^x\.yaml:1: markup: .*\nx\.yaml:5: models\[0\]\.id: /)
      return true
    },
  )
  assert.equal(store.rows.length, 2)
})

test('at the next start the file counts only when it or a variable in it changed; until then the admin API has the word', async () => {
  const store = memoryStore()
  const first = await service(store)
  await first.applyText(FILE, { ...NEW, onlyNew: true })
  await first.patchSettings({ markup: '3' })
  const second = await service(store)
  assert.deepEqual(await second.applyText(FILE, { ...NEW, onlyNew: true }), [])
  assert.equal(decimalText(second.current().settings.markup), '3')
  const third = await service(store, { KEY: 'sk-rotated-5678' })
  assert.deepEqual(await third.applyText(FILE, { ...NEW, onlyNew: true }), [
    '~ settings: markup 3 → 2',
    '~ provider p: api_key changed',
  ])
  assert.deepEqual(third.current().providers.get('p')?.apiKeys, ['sk-rotated-5678', 'sk-second-9876'])
})

test('credentials never leave: not in the document, the difference, the export or the stored rows', async () => {
  const store = memoryStore()
  const catalog = await service(store)
  const lines = await catalog.applyText(FILE, NEW)
  const outside = [
    JSON.stringify(bodyOf(catalog)),
    lines.join('\n'),
    catalog.exportText(),
    ...store.rows.flatMap(({ document, credentials }) => [document, credentials.toString('latin1')]),
  ].join('\n')
  assert.doesNotMatch(outside, /canary|sk-second/)
  assert.deepEqual(bodyOf(catalog)['providers'], {
    ...Object(bodyOf(catalog)['providers']),
    p: { adapter: 'openai', base_url: 'http://up.test/v1', api_key: ['…1234', '…9876'] },
  })
  const again = await service(store)
  assert.deepEqual(again.current().providers.get('p')?.apiKeys, ['sk-canary-1234', 'sk-second-9876'])
})

test("a credential encrypted for one provider does not open as another's, nor under another key", () => {
  const stored = JSON.parse(encryptCredentials({ a: ['k-a'], b: ['k-b'] }, WRAP).toString()) as Record<string, string>
  assert.deepEqual(decryptCredentials(Buffer.from(JSON.stringify(stored)), WRAP), { a: ['k-a'], b: ['k-b'] })
  assert.throws(() => decryptCredentials(Buffer.from(JSON.stringify({ a: stored['b'], b: stored['a'] })), WRAP))
  assert.throws(
    () => decryptCredentials(Buffer.from(JSON.stringify(stored)), new KeyWrap([Buffer.alloc(32, 2)])),
    /TOLLGATE_KEK/,
  )
})

test('what GET shows can be PUT back: nothing changes, keys included', async () => {
  const store = memoryStore()
  const catalog = await service(store)
  await catalog.applyText(FILE, NEW)
  assert.deepEqual(await catalog.applyDocument(documentOf(bodyOf(catalog)), false), [])
  assert.equal(store.rows.length, 2)
})

test('what export writes applies to the same catalogue', async () => {
  const catalog = await service()
  await catalog.applyText(FILE, NEW)
  const text = catalog.exportText()
  assert.match(text, /prompt: 0\.1\n/)
  assert.doesNotMatch(text, /sandbox|bundled/)
  assert.deepEqual(await catalog.applyText(text, NEW), [])
  assert.deepEqual(catalog.current().providers.get('p')?.apiKeys, ['sk-canary-1234', 'sk-second-9876'])
})

test('a kept key goes to the same address only', async () => {
  const catalog = await service()
  await catalog.applyText(FILE, NEW)
  const put = (json: object): Promise<unknown> =>
    catalog.putProvider('p', parseProviderJson({ adapter: 'openai', ...json }, CONTEXT).entry)
  await put({ base_url: 'http://up.test/v1', name: 'P', api_key: ['…9876', 'sk-third-0000'] })
  assert.deepEqual(catalog.current().providers.get('p')?.apiKeys, ['sk-second-9876', 'sk-third-0000'])
  await assert.rejects(
    put({ base_url: 'http://thief.test/v1', api_key: '…9876' }),
    /stands for no key that is sent to this address/,
  )
  await put({ base_url: 'http://thief.test/v1' })
  assert.deepEqual(catalog.current().providers.get('p')?.apiKeys, [])
})

test('the maintenance notice outlives a file and stays out of the export', async () => {
  const catalog = await service()
  await catalog.patchSettings({ maintenance: { message: 'soon', retry_after: 30 } })
  await catalog.applyText(FILE, NEW)
  assert.deepEqual(catalog.current().settings.maintenance, { message: 'soon', retryAfter: 30 })
  assert.doesNotMatch(catalog.exportText(), /soon/)
  await catalog.patchSettings({ maintenance: null })
  assert.equal(catalog.current().settings.maintenance, null)
})

test('`created` is when the model was first applied, whatever is applied later', async () => {
  const catalog = await service()
  await catalog.applyText(FILE, NEW)
  const created = catalog.current().models.get('v/m')?.created
  await catalog.applyText(FILE.replace('markup: 2', 'markup: 4'), NEW)
  assert.equal(catalog.current().models.get('v/m')?.created, created)
  assert.equal(catalog.current().priceVersion, 3)
})

test('models and providers are added and removed one at a time; one in use cannot be removed', async () => {
  const catalog = await service()
  await catalog.applyText(FILE, NEW)
  await assert.rejects(catalog.deleteProvider('p'), /no provider 'p' is defined/)
  const { entry } = parseModelJson({
    id: 'v/n',
    type: 'chat',
    context_length: 5,
    endpoints: [{ provider: 'p', model: 'n', price: { currency: 'RUB', prompt: 1, completion: 1 } }],
  })
  assert.deepEqual(
    [await catalog.putModel(entry), await catalog.putModel({ ...entry, name: 'N' })],
    ['created', 'changed'],
  )
  await assert.rejects(
    catalog.putModel({ ...entry, id: 'v/o', aliases: ['m'] }),
    /'m' is the name of another model or alias/,
  )
  assert.deepEqual(
    [
      await catalog.deleteModel('v/n'),
      await catalog.deleteModel('v/n'),
      await catalog.deleteModel('v/m'),
      await catalog.deleteProvider('p'),
    ],
    [true, false, true, true],
  )
  assert.deepEqual(
    [...catalog.current().models.keys()],
    BUNDLED.models.map(({ id }) => id),
  )
})

test('a bundled model or provider can be deleted, stays deleted, and takes nothing else away', async () => {
  const store = memoryStore()
  const catalog = await service(store)
  assert.deepEqual(
    [await catalog.deleteModel('sandbox/chat'), await catalog.deleteModel('sandbox/chat')],
    [true, false],
  )
  const others = BUNDLED.models.map(({ id }) => id).filter((id) => id !== 'sandbox/chat')
  assert.deepEqual([...(await service(store)).current().models.keys()], others)
  assert.equal(catalog.exportText(), 'bundled_except:\n  - sandbox/chat\nproviders: {}\nmodels: []\n')
  assert.equal(await catalog.applyText(catalog.exportText(), NEW).then(({ length }) => length), 0)
  assert.deepEqual(await catalog.applyDocument(documentOf(bodyOf(catalog)), false), [])
  assert.deepEqual([await catalog.deleteProvider('sandbox'), await catalog.deleteProvider('sandbox')], [true, false])
  assert.equal((await service(store)).current().models.size, 0)
  assert.deepEqual(await catalog.applyText('', NEW), [
    '~ bundled: except ["sandbox/chat","sandbox"] → absent',
    '+ provider sandbox',
    ...BUNDLED.models.map(({ id }) => `+ model ${id}`),
  ])
})

test('an old version still answers its own prices, also for a provider that is gone', async () => {
  const store = memoryStore()
  const first = await service(store)
  await first.applyText(FILE, NEW)
  await first.applyText('markup: 5', NEW)
  const later = await service(store)
  const sheet = await later.priceOf(2, 'v/m', 'p/m')
  assert.equal(sheet === null ? null : decimalText(sheet.sell.input), '0.2')
  assert.deepEqual([await later.priceOf(3, 'v/m', 'p/m'), await later.priceOf(9, 'v/m', 'p/m')], [null, null])
})

test('two processes on one store see each other: refresh adopts, and a change builds on the newest', async () => {
  const store = memoryStore()
  const one = await service(store)
  const two = await service(store)
  await one.applyText(FILE, NEW)
  assert.deepEqual([await two.refresh(), await two.refresh(), two.current().priceVersion], [true, false, 2])
  await one.patchSettings({ timezone: 'Europe/Moscow' })
  await two.patchSettings({ markup: '7' })
  assert.deepEqual(
    [two.current().settings.timezone, decimalText(two.current().settings.markup), two.current().priceVersion],
    ['Europe/Moscow', '7', 4],
  )
})

test('two nodes that change the catalogue at once: each change is made on the other, none is lost', async () => {
  const store = memoryStore()
  const nodes = [await service(store), await service(store), await service(store)]
  await nodes[0]?.applyText(FILE, NEW)
  const entry = parseModelJson({
    id: 'v/x',
    type: 'chat',
    context_length: 5,
    endpoints: [{ provider: 'p', model: 'x', price: { currency: 'RUB', prompt: 1, completion: 1 } }],
  }).entry
  await Promise.all(
    nodes.flatMap((node, owner) =>
      Array.from({ length: 5 }, (_, index) => node.putModel({ ...entry, id: `v/x${owner}-${index}` })),
    ),
  )
  for (const node of nodes) {
    await node.refresh()
    assert.equal(node.current().models.size, BUNDLED.models.length + 16)
  }
})

test('concurrent changes are applied one after another, none lost', async () => {
  const catalog = await service()
  await catalog.applyText(FILE, NEW)
  const entry = parseModelJson({
    id: 'v/x',
    type: 'chat',
    context_length: 5,
    endpoints: [{ provider: 'p', model: 'x', price: { currency: 'RUB', prompt: 1, completion: 1 } }],
  }).entry
  await Promise.all(Array.from({ length: 20 }, (_, index) => catalog.putModel({ ...entry, id: `v/x${index}` })))
  assert.equal(catalog.current().models.size, BUNDLED.models.length + 21)
})

test('values of fixed headers are kept and hidden like keys', async () => {
  const store = memoryStore()
  const catalog = await service(store)
  const file = (value: string): string =>
    `providers: { p: { adapter: anthropic, base_url: "http://up.test/v1", dialect: { headers: { X-Gate: "${value}", x-two: zz } } } }`
  await catalog.applyText(file('header-canary-1234'), NEW)
  const headers = (): unknown => catalog.current().providers.get('p')?.dialect.headers
  assert.deepEqual(headers(), { 'x-gate': 'header-canary-1234', 'x-two': 'zz' })
  assert.deepEqual(catalog.shown().providers['p']?.dialect?.headers, { 'x-gate': '…1234', 'x-two': '…' })
  assert.deepEqual(await catalog.applyDocument(documentOf(bodyOf(catalog)), false), [], 'shown and put back')
  assert.deepEqual(await catalog.applyText(catalog.exportText(), NEW), [], 'exported and applied')
  assert.deepEqual(headers(), { 'x-gate': 'header-canary-1234', 'x-two': 'zz' })
  const lines = [
    ...(await catalog.applyText(file('header-canary-9999'), NEW)),
    ...(await catalog.applyText('providers: { p: { adapter: anthropic, base_url: "http://up.test/v1" } }', NEW)),
    ...(await catalog.applyText(file('header-canary-9999'), NEW)),
  ]
  assert.deepEqual(lines, Array(3).fill('~ provider p: dialect: headers changed'))
  const again = await service(store)
  assert.deepEqual(again.current().providers.get('p')?.dialect.headers, {
    'x-gate': 'header-canary-9999',
    'x-two': 'zz',
  })
  const stored = JSON.stringify(store.rows.map(({ document, credentials }) => [document, credentials.toString('utf8')]))
  assert.doesNotMatch(stored + catalog.exportText() + JSON.stringify(catalog.shown()), /canary/)
  const moved = { adapter: 'anthropic', base_url: 'http://thief.test/v1', dialect: { headers: { 'x-gate': '…9999' } } }
  await assert.rejects(
    catalog.putProvider('p', parseProviderJson(moved, CONTEXT).entry),
    /providers\.p\.dialect\.headers\.x-gate: '…9999' stands for no key that is sent to this address/,
  )
})
