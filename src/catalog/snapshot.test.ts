import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Meter, PriceKey } from '../tables/meter-table.ts'
import { METERS } from '../tables/meters.ts'
import { decimalText, multiply, parseDecimal, ZERO, type Decimal } from '../base/money.ts'
import type { Endpoint, Model, Snapshot } from './catalog.ts'
import { parseDocumentText } from './document-reader.ts'
import { missingPrices, priceSheet } from './price-sheet.ts'
import { buildSnapshot } from './snapshot.ts'
import { adaptersNamed } from '../../test/harness/adapters-named.ts'

function snapshot(text: string): Snapshot {
  const { document } = parseDocumentText(text, { adapters: adaptersNamed('openai', 'sandbox'), env: {} })
  return buildSnapshot(document, adaptersNamed('openai', 'sandbox'), 7, Date.parse('2026-01-02T03:04:05Z'))
}

function model(fields: string, head = ''): Model {
  const found = snapshot(
    `bundled: false\n${head}\nproviders: { p: { adapter: openai } }\nmodels:\n  - { id: v/m, ${fields} }\n`,
  ).models.get('v/m')
  assert.ok(found !== undefined)
  return found
}

function endpoint(price: string, head = '', type = 'chat'): Endpoint {
  const [found] = model(
    `type: ${type}, context_length: 1000, endpoints: [{ provider: p, model: m, ${price} }]`,
    head,
  ).endpoints
  assert.ok(found !== undefined)
  return found
}

function texts(sheet: Endpoint['sell'], ...meters: Meter[]): string[] {
  return meters.map((meter) => decimalText(sheet[meter]))
}

test('sell = provider price × rate × markup to the last digit; buy = price × rate', () => {
  const { sell, buy } = endpoint(
    'price: { currency: USD, prompt: 0.15, completion: 0.60, input_cache_read: 0.075 }',
    'rates: { USD: 92.50 }\nmarkup: 1.20',
  )
  assert.deepEqual(texts(buy, 'input', 'output', 'cache_read'), ['13.875', '55.5', '6.9375'])
  assert.deepEqual(texts(sell, 'input', 'output', 'cache_read'), ['16.65', '66.6', '8.325'])
})

test('decimals that floats cannot hold stay exact', () => {
  const { sell } = endpoint(
    'price: { currency: USD, prompt: 0.1, completion: 1e-7 }',
    'rates: { USD: 3 }\nmarkup: 1.0000001',
  )
  assert.deepEqual(texts(sell, 'input', 'output'), ['0.30000003', '0.00000030000003'])
  assert.notEqual(0.1 * 3, 0.3)
})

test('a sell price is what the customer pays, in rubles, whatever rate and markup are', () => {
  const { sell, buy } = endpoint(
    'price: { currency: USD, prompt: 1, completion: 2 }, sell: { prompt: 100, completion: 0 }',
    'rates: { USD: 90 }\nmarkup: 2',
  )
  assert.deepEqual(texts(buy, 'input', 'output'), ['90', '180'])
  assert.deepEqual(texts(sell, 'input', 'output', 'cache_read', 'reasoning'), ['100', '0', '100', '0'])
})

test('each unit of the file becomes µRUB per metered unit', () => {
  const sheet = priceSheet(
    {
      prompt: '1',
      completion: '2',
      input_cache_read: '3',
      input_cache_write: '4',
      input_cache_write_1h: '5',
      internal_reasoning: '6',
      audio: '7',
      audio_output: '8',
      audio_cache_read: '21',
      image_tokens: '22',
      image_cache_read: '23',
      image_output_tokens: '24',
      characters: '9',
      request: '10',
      image: '11',
      image_output: '12',
      search: '13',
      second: '14',
      video_second: { a: '15.5', b: '16.25', c: '3' },
    },
    { digits: 1n, scale: 0 },
  )
  assert.deepEqual(Object.fromEntries(METERS.map((meter) => [meter, decimalText(sheet[meter])])), {
    input: '1',
    output: '2',
    cache_read: '3',
    cache_write: '4',
    cache_write_1h: '5',
    reasoning: '6',
    audio_input: '7',
    audio_output: '8',
    audio_cache_read: '21',
    image_tokens: '22',
    image_cache_read: '23',
    image_output_tokens: '24',
    characters: '9',
    request: '10000000',
    image_input: '11000000',
    image_output: '12000000',
    search: '13000000',
    deciseconds: '1400000',
    video_seconds: '16250000',
  })
})

const PARENTS: readonly (readonly [Meter, PriceKey, PriceKey])[] = [
  ['cache_read', 'input_cache_read', 'prompt'],
  ['cache_write', 'input_cache_write', 'prompt'],
  ['cache_write_1h', 'input_cache_write_1h', 'input_cache_write'],
  ['audio_input', 'audio', 'prompt'],
  ['audio_cache_read', 'audio_cache_read', 'input_cache_read'],
  ['image_tokens', 'image_tokens', 'prompt'],
  ['image_cache_read', 'image_cache_read', 'input_cache_read'],
  ['image_output_tokens', 'image_output_tokens', 'completion'],
  ['reasoning', 'internal_reasoning', 'completion'],
  ['audio_output', 'audio_output', 'completion'],
]
for (const [meter, own, parent] of PARENTS) {
  test(`${meter} takes the price of ${parent} unless ${own} is given, be it 0`, () => {
    const one: Decimal = { digits: 1n, scale: 0 }
    assert.equal(decimalText(priceSheet({ [parent]: '3.5' }, one)[meter]), '3.5')
    assert.equal(decimalText(priceSheet({ [parent]: '3.5', [own]: '0' }, one)[meter]), '0')
    assert.equal(decimalText(priceSheet({}, one)[meter]), '0')
  })
}

test('a 1 h cache write falls back through the cache write to the prompt', () => {
  assert.equal(decimalText(priceSheet({ prompt: '2' }, { digits: 1n, scale: 0 }).cache_write_1h), '2')
})

test('every price of a sheet is exactly price × factor, for any decimals', () => {
  const decimals = fc
    .tuple(fc.bigInt({ min: 0n, max: 10n ** 18n }), fc.integer({ min: 0, max: 18 }))
    .map(([digits, scale]): Decimal => ({ digits, scale }))
  fc.assert(
    fc.property(decimals, decimals, (price, factor) => {
      const sheet = priceSheet({ prompt: decimalText(price), completion: '0' }, factor)
      assert.equal(decimalText(sheet.input), decimalText(multiply(price, factor)))
      assert.deepEqual(sheet.output, ZERO)
      assert.equal(parseDecimal(decimalText(price))?.digits === 0n, price.digits === 0n)
    }),
  )
})

const COMPLETE: readonly (readonly [Model['type'], readonly PriceKey[], boolean, boolean])[] = [
  ['chat', ['prompt', 'completion'], false, true],
  ['chat', ['prompt'], true, false],
  ['chat', ['completion', 'request'], true, false],
  ['embeddings', ['prompt'], false, true],
  ['embeddings', ['request'], true, false],
  ['image', ['image_output'], false, true],
  ['image', ['prompt', 'completion'], true, true],
  ['image', ['prompt', 'completion'], false, false],
  ['image', ['image'], true, false],
  ['tts', ['characters'], false, true],
  ['tts', ['prompt', 'audio_output'], true, true],
  ['tts', ['prompt', 'audio_output'], false, false],
  ['tts', ['prompt', 'completion'], true, false],
  ['transcription', ['second'], false, true],
  ['transcription', ['prompt', 'completion'], true, true],
  ['transcription', ['audio', 'completion'], true, true],
  ['transcription', ['audio', 'completion'], false, false],
  ['rerank', ['search'], false, true],
  ['rerank', ['prompt'], false, true],
  ['rerank', ['request'], true, false],
  ['video', ['video_second'], false, true],
  ['video', ['request'], false, true],
  ['video', ['second'], true, false],
]
for (const [type, keys, bounded, complete] of COMPLETE) {
  test(`${type} with ${keys.join(' + ')}${bounded ? ' and a token limit' : ''} is ${complete ? '' : 'not '}complete`, () => {
    assert.equal(missingPrices(type, new Set(keys), bounded).length === 0, complete)
  })
}

test('what cannot be sold is not in the snapshot: inactive, unpriced, half a sell price, no rate', () => {
  const price = 'price: { currency: RUB, prompt: 1, completion: 1 }'
  const text = (fields: string, price_: string): string =>
    `{ id: v/${fields.length}, type: chat, context_length: 1, ${fields}, endpoints: [{ provider: p, model: m, ${price_} }] }`
  const { models, aliases } = snapshot(`bundled: false
providers: { p: { adapter: openai } }
models:
  - ${text('name: a', price)}
  - ${text('active: false, aliases: [gone]', price)}
  - ${text('name: unpriced', 'price: { currency: RUB, prompt: 1 }')}
  - ${text('name: half a sell price', `${price}, sell: { prompt: 5 }`)}
  - ${text('name: without the rate of its currency', 'price: { currency: XAU, prompt: 1, completion: 1 }')}
`)
  assert.deepEqual(
    [...models.values()].map(({ name }) => name),
    ['a'],
  )
  assert.deepEqual([...aliases.values()], [...models.keys()])
})

test('defaults: name, dates, limits, modalities of the type, settings', () => {
  const chat = model(
    'type: chat, context_length: 1000, endpoints: [{ provider: p, model: m, price: { currency: RUB, prompt: 1, completion: 1 } }]',
  )
  assert.deepEqual(
    [chat.name, chat.created, chat.hidden, chat.maxCompletionTokens, chat.inputModalities, chat.outputModalities],
    ['v/m', 1_767_323_045, false, 1000, ['text'], ['text']],
  )
  assert.deepEqual(
    [chat.endpoints[0]?.id, chat.endpoints[0]?.supportedParameters, chat.endpoints[0]?.provider.baseUrl],
    ['p/m', null, 'https://api.openai.com/v1'],
  )
  assert.deepEqual(chat.endpoints[0]?.provider.timeouts, { connect: 3, first_byte: 60, progress: 60, total: 1_800 })
  const { settings } = snapshot('bundled: false')
  assert.deepEqual(
    [settings.timezone, decimalText(settings.markup), settings.rateLimit, settings.midstreamError, settings.fetchUrls],
    ['UTC', '1', { requests: 300, window: 60 }, 'free', false],
  )
})

test('nothing of a snapshot can be changed', () => {
  const shot = snapshot(`rates: { USD: 1 }
providers: { p: { adapter: openai, api_key: k } }
models: [{ id: v/m, type: chat, context_length: 9, aliases: [m], endpoints: [{ provider: p, model: m, price: { currency: USD, prompt: 1, completion: 1 } }] }]`)
  const frozen = (value: unknown, path: string): void => {
    if (value === null || typeof value !== 'object') return
    assert.ok(Object.isFrozen(value), `${path} is frozen`)
    const parts: Iterable<[unknown, unknown]> = value instanceof Map ? value.entries() : Object.entries(value)
    for (const [key, part] of parts) frozen(part, `${path}.${String(key)}`)
  }
  frozen(shot, 'snapshot')
  // The type forbids this; the test is about code that gets around the type.
  const models = shot.models as Map<string, Model>
  assert.throws(() => models.clear(), TypeError)
  assert.ok(shot.models.has('v/m'))
})
