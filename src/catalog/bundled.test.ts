import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  BUNDLED,
  type BaseInput,
  bundledBase,
  providerKeys,
  readBundledRelease,
  withBundled,
  withoutBundled,
} from './bundled.ts'
import { withConnection, withoutModel, withoutProvider, withProvider } from './document-edits.ts'
import { withMaskedCredentials } from './credentials.ts'
import { EMPTY_DOCUMENT, type CatalogDocument, type ModelEntry } from './document.ts'
import { KNOWN_PROVIDERS } from './known-providers.ts'
import { adaptersNamed } from '../../test/harness/adapters-named.ts'

const ADAPTERS = adaptersNamed('openai', 'sandbox')

function model(id: string, providers: Readonly<Record<string, string>>): ModelEntry {
  return {
    id,
    type: 'chat',
    context_length: 1_000,
    endpoints: Object.entries(providers).map(([provider, prompt]) => ({
      provider,
      model: id,
      price: { currency: 'USD', prompt, completion: '1' },
    })),
  }
}

const OLD = {
  version: '1',
  published: '2026-01-01',
  models: [model('openai/a', { openrouter: '7', openai: '1' }), model('openai/gone', { openai: '1' })],
}
const NEW = {
  version: '2',
  published: '2026-02-01',
  models: [model('openai/a', { openrouter: '8', openai: '2' }), model('x-ai/g', { 'x-ai': '3' })],
}

function base(options: Partial<BaseInput>): CatalogDocument {
  return bundledBase({
    own: EMPTY_DOCUMENT,
    keys: {},
    adapters: ADAPTERS,
    release: NEW,
    previous: null,
    renew: false,
    today: '2026-03-01',
    ...options,
  })
}

/** `model provider=price` of every endpoint except the sandbox's. */
function offers({ models }: CatalogDocument): readonly string[] {
  return models
    .filter(({ id }) => !id.startsWith('sandbox/'))
    .flatMap(({ id, endpoints }) => endpoints.map(({ provider, price }) => `${id} ${provider}=${String(price.prompt)}`))
}

test('without a key there is only the sandbox', () => {
  assert.deepEqual(Object.keys(base({}).providers), ['sandbox'])
  assert.deepEqual(base({}).models, BUNDLED.models)
})

test('a key turns on the endpoints of its provider and no others', () => {
  const on = base({ keys: { openai: 'k' } })
  assert.deepEqual(offers(on), ['openai/a openai=2'])
  assert.deepEqual(on.providers['openai'], {
    name: 'OpenAI',
    adapter: 'openai',
    base_url: 'https://api.openai.com/v1',
    api_key: ['k'],
    cancel_stops_billing: true,
  })
  assert.deepEqual(offers(base({ keys: { openrouter: 'k', openai: 'k' } })), [
    'openai/a openai=2',
    'openai/a openrouter=8',
  ])
})

test('a provider whose adapter is not there stays off', () => {
  assert.deepEqual(offers(base({ keys: { openai: 'k' }, adapters: adaptersNamed('sandbox') })), [])
})

test("the operator's own provider counts by its own key; the environment's does not turn it on", () => {
  const own = (key: readonly string[] | undefined): CatalogDocument => ({
    ...EMPTY_DOCUMENT,
    providers: {
      'x-ai': { adapter: 'openai', base_url: 'http://mine.test', ...(key === undefined ? {} : { api_key: key }) },
    },
  })
  assert.deepEqual(offers(base({ own: own(['k']) })), ['x-ai/g x-ai=3'])
  assert.deepEqual(offers(base({ own: own(undefined), keys: { 'x-ai': 'k' } })), [])
  assert.equal(withBundled(own(['k']), base({ own: own(['k']) })).providers['x-ai']?.base_url, 'http://mine.test')
})

test('a new release changes nothing of a provider that is on until it is asked to; a provider that comes on takes the release', () => {
  const before = base({ keys: { openai: 'k' }, release: OLD, today: '2026-01-02' })
  assert.deepEqual(offers(base({ keys: { openai: 'k', 'x-ai': 'k', openrouter: 'k' }, previous: before })), [
    'openai/a openai=1',
    'openai/a openrouter=8',
    'openai/gone openai=1',
    'x-ai/g x-ai=3',
  ])
  const renewed = base({ keys: { openai: 'k', 'x-ai': 'k' }, previous: before, renew: true })
  assert.deepEqual(
    offers(renewed),
    ['openai/a openai=1', 'openai/gone openai=1', 'x-ai/g x-ai=3'],
    'a price that is there waits for the guards, and nothing is deleted',
  )
  assert.deepEqual(renewed.models.map(({ created }) => created).slice(BUNDLED.models.length), [
    '2026-01-02',
    '2026-01-02',
    '2026-03-01',
  ])
  assert.deepEqual(base({ keys: { openai: 'k' }, release: OLD, previous: before }), before)
})

test('a shown bundled entry, its keys masked, is saved as bundled; an alias of the operator takes the name of a bundled model', () => {
  const on = base({ keys: { openai: 'sk-canary-1234' } })
  assert.deepEqual(withoutBundled(withMaskedCredentials(withBundled(EMPTY_DOCUMENT, on)), on), EMPTY_DOCUMENT)
  const own = { ...EMPTY_DOCUMENT, models: [{ ...model('mine/a', { openai: '5' }), aliases: ['openai/a'] }] }
  assert.deepEqual(
    withBundled(own, on).models.map(({ id }) => id),
    [...BUNDLED.models.map(({ id }) => id), 'mine/a'],
  )
})

test('what was deleted of the bundle is out until its provider is connected with it again', () => {
  const keys = { openai: 'k', 'x-ai': 'k' }
  const on = base({ keys })
  const idsOf = (own: CatalogDocument): readonly string[] =>
    withBundled(own, base({ keys, own }))
      .models.map(({ id }) => id)
      .filter((id) => !id.startsWith('sandbox/'))
  const [, without] = withoutModel({ ...EMPTY_DOCUMENT, models: [model('openai/a', { openai: '5' })] }, on, 'openai/a')
  assert.deepEqual([without.bundled_except, idsOf(without)], [['openai/a'], ['x-ai/g']])
  const [, alone] = withoutProvider(without, on, 'x-ai')
  assert.deepEqual([alone.bundled_except, idsOf(alone)], [['openai/a', 'x-ai'], []])
  const entry = { adapter: 'openai', api_key: ['k2'] }
  const [, back] = withProvider(alone, base({ keys, own: alone }), 'x-ai', entry)
  assert.deepEqual([back.bundled_except, idsOf(back)], [['openai/a'], ['x-ai/g']])
  const [, edited] = withProvider(back, base({ keys, own: back }), 'openai', entry)
  assert.deepEqual(idsOf(edited), ['x-ai/g'], 'a change of the provider brings nothing back')
  const [, connected] = withConnection(edited, base({ keys, own: edited }), 'openai', entry, [], NEW.models)
  assert.deepEqual([connected.bundled_except, idsOf(connected)], [undefined, ['openai/a', 'x-ai/g']])
})

test('the environment names keys by their conventional variables; an empty one is none', () => {
  assert.deepEqual(
    providerKeys({ OPENAI_API_KEY: 'a', GOOGLE_API_KEY: 'b', XAI_API_KEY: ' ', COHERE_API_KEY: '', CO_API_KEY: 'c' }),
    { openai: 'a', google: 'b', cohere: 'c' },
  )
})

test('every known provider has models in the file that is shipped, and no other is named there', () => {
  const { models } = readBundledRelease()
  const named = new Set(models.flatMap(({ endpoints }) => endpoints.map(({ provider }) => provider)))
  assert.deepEqual([...named].toSorted(), KNOWN_PROVIDERS.map(({ slug }) => slug).toSorted())
  assert.equal(new Set(models.map(({ id }) => id)).size, models.length)
  for (const { id, endpoints } of models)
    assert.equal(new Set(endpoints.map(({ provider }) => provider)).size, endpoints.length, id)
})
