import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkText } from './catalog-check.ts'
import { isAbout } from './catalog-warning.ts'
import { EMPTY_DOCUMENT, type ModelEntry } from './document.ts'
import { priceWarnings } from './price-doubts.ts'
import { adaptersNamed } from '../../test/harness/adapters-named.ts'

const CONTEXT = { adapters: adaptersNamed('openai', 'sandbox'), env: {} }
const KNOWN: readonly ModelEntry[] = [
  {
    id: 'openai/gpt-4o',
    type: 'chat',
    context_length: 128_000,
    endpoints: [{ provider: 'openai', model: 'gpt-4o', price: { currency: 'USD', prompt: '2.5', completion: '10' } }],
  },
]

function check(endpoint: string, head = 'rates: { USD: 100 }'): readonly string[] {
  const text = `bundled: false\n${head}\nproviders: { p: { adapter: openai } }\nmodels:\n  - { id: openai/gpt-4o, type: chat, context_length: 1000, endpoints: [{ provider: p, model: x, ${endpoint} }] }\n`
  return checkText(text, CONTEXT, undefined, KNOWN).problems.map(
    ({ line, path, message }) => `${line} ${path} ${message}`,
  )
}

test('a price of one token in a field for a million is refused, in whatever currency, unless it is meant', () => {
  assert.deepEqual(check('price: { currency: USD, prompt: 0.0000025, completion: 10 }'), [
    '5 models[0].endpoints[0].price.prompt is 0.0000025 USD, but a known price of this model is 2.5 USD: prices are per million tokens. If it is right, set force: true beside price',
  ])
  assert.match(
    check('price: { currency: RUB, prompt: 0.00025, completion: 1000 }')[0] ?? '',
    /price\.prompt is 0\.00025 RUB, but .* is 250 RUB/,
  )
  assert.match(
    check('price: { currency: USD, prompt: 2.5, completion: 10 }, sell: { prompt: 300, completion: 200000000 }')[0] ??
      '',
    /sell\.completion is 200000000 RUB, but .* is 1000 RUB/,
  )
  assert.equal(check('price: { currency: USD, prompt: 250000, completion: 10 }').length, 1)
  assert.deepEqual(check('price: { currency: USD, prompt: 0.0000025, completion: 0.00001 }, force: true'), [])
  assert.deepEqual(
    check('price: { currency: USD, prompt: 0, completion: 0.0002 }'),
    [],
    'free, and cheap but thinkable',
  )
})

test('what sells below its cost is a warning and no mistake', () => {
  const model = (sell: string): ModelEntry => ({
    id: 'v/m',
    type: 'chat',
    context_length: 9,
    endpoints: [
      {
        provider: 'p',
        model: 'x',
        price: { currency: 'USD', prompt: '2', completion: '4' },
        sell: { prompt: sell, completion: '400' },
      },
    ],
  })
  const document = {
    ...EMPTY_DOCUMENT,
    settings: { rates: { USD: '100' }, markup: '0.5' },
    models: [model('2'), model('200')],
  }
  assert.deepEqual(
    priceWarnings(document).map(({ message }) => message),
    [
      'markup: 0.5 sells every model without a sell of its own for less than its provider charges',
      'v/m at p/x: sell.prompt is 2 RUB, and the provider charges 200 RUB',
    ],
  )
  const [cheap, endpoint] = [
    { ...document, settings: {}, models: [{ ...model('200'), markup: '0.875' }] },
    {
      ...document,
      settings: {},
      providers: { p: { name: 'P', adapter: 'openai', base_url: 'https://p.example/v1', markup: '0.8' } },
      models: [],
    },
  ].map((one) => priceWarnings(one)[0])
  assert.deepEqual(cheap?.params, { name: 'v/m', markup: '0.875', loss: '12.5' })
  assert.deepEqual(endpoint?.params, { name: 'p', markup: '0.8', loss: '20' })
  assert.ok(cheap !== undefined && endpoint !== undefined)
  assert.deepEqual(
    [isAbout(cheap, { model: 'v/m' }), isAbout(cheap, { model: 'v/n' }), isAbout(endpoint, { provider: 'p' })],
    [true, false, true],
  )
  assert.deepEqual(priceWarnings({ ...document, settings: {} }), [], 'without a rate nothing can be compared')
})

test('an own price that is below the cost only under a condition is a warning that names it', () => {
  const price = {
    currency: 'RUB',
    prompt: '2',
    completion: '4',
    tiers: [{ above: 200_000, prompt: '4' }],
    service_tiers: { flex: { prompt: '1' } },
  }
  const warned = (sell: Readonly<Record<string, unknown>>): readonly string[] =>
    priceWarnings({
      ...EMPTY_DOCUMENT,
      models: [{ id: 'v/m', type: 'chat', context_length: 9, endpoints: [{ provider: 'p', model: 'x', price, sell }] }],
    }).map(({ message }) => message)
  assert.deepEqual(warned({ prompt: '3', completion: '5' }), [
    "v/m at p/x: 'above 200000' sells prompt for 3 RUB, and the provider charges 4 RUB",
  ])
  assert.deepEqual(warned({ prompt: '3', completion: '5', tiers: [{ above: 100_000, prompt: '6' }] }), [])
  assert.deepEqual(warned({ prompt: '4', completion: '5', service_tiers: { priority: { prompt: '1' } } }), [
    "v/m at p/x: 'priority' sells prompt for 1 RUB, and the provider charges 2 RUB",
  ])
})

test('a chat model that draws without a price for pictures is a warning', () => {
  const model = (price: Record<string, string>): ModelEntry => ({
    id: 'v/draws',
    type: 'chat',
    context_length: 9,
    output_modalities: ['text', 'image'],
    endpoints: [{ provider: 'p', model: 'x', price: { currency: 'RUB', prompt: '2', completion: '4', ...price } }],
  })
  const warned = (price: Record<string, string>): readonly string[] =>
    priceWarnings({ ...EMPTY_DOCUMENT, models: [model(price)] }).map(({ message }) => message)
  assert.match(warned({})[0] ?? '', /^v\/draws at p\/x: pictures of its answers have no price of their own/)
  assert.deepEqual(warned({ image_output: '0' }), [])
})

test('names that nothing knows, addresses with an operation, empty keys and limits beyond the context are mistakes', () => {
  const price = 'price: { currency: RUB, prompt: 1, completion: 1 }'
  assert.match(
    check(`${price}, supported_parameters: [max_tokens, temprature]`)[0] ?? '',
    /supported_parameters must be names of max_tokens, .*, got 'temprature'$/,
  )
  assert.match(
    check(`${price}, max_completion_tokens: 1001`)[0] ?? '',
    /max_completion_tokens must be at most the context_length of 1000, got 1001$/,
  )
  assert.match(
    check(`price: { currency: RUB, prompt: 1, completion: 1, characters: 3 }`)[0] ?? '',
    /price\.characters would never be charged: no answer of a chat model is measured by it$/,
  )
  assert.match(
    check(`price: { currency: RUB, prompt: 1, completion: 1, search: 3 }`)[0] ?? '',
    /price\.search would never be charged: only an endpoint with native_responses/,
  )
  assert.deepEqual(
    check(`price: { currency: RUB, prompt: 1, completion: 1, search: 3 }, supported_parameters: [web_search_options]`),
    [],
  )
  const whole = (text: string): readonly string[] =>
    checkText(`bundled: false\n${text}`, CONTEXT).problems.map(({ path, message }) => `${path} ${message}`)
  assert.match(
    whole('providers: { p: { adapter: openai, base_url: "https://x.test/v1/chat/completions/" } }')[0] ?? '',
    /^providers\.p\.base_url must be what stands before the operation's path: leave out '\/chat\/completions\/'$/,
  )
  assert.deepEqual(whole('providers: { p: { adapter: openai, base_url: "https://x.test/models" } }'), [])
  for (const keys of ['""', '[a, ""]'])
    assert.match(
      whole(`providers: { p: { adapter: openai, api_key: ${keys} } }`)[0] ?? '',
      /^providers\.p\.api_key must not be empty/,
    )
  assert.match(
    whole(`providers: { ${'a'.repeat(65)}: { adapter: openai } }`)[0] ?? '',
    /must be at most 64 characters long, got 65$/,
  )
  const model = (more: string): string =>
    `providers: { p: { adapter: openai } }\nmodels: [{ id: v/m, type: chat, context_length: 10, ${more}, endpoints: [{ provider: p, model: x, ${price} }] }]`
  assert.match(
    whole(model('max_completion_tokens: 11'))[0] ?? '',
    /max_completion_tokens must be at most the context_length of 10, got 11$/,
  )
  assert.match(
    whole(model('input_modalities: [text, pictures]'))[0] ?? '',
    /input_modalities must be names of text, image, audio, file, video, got 'pictures'$/,
  )
  assert.match(whole(model('output_modalities: [txt]'))[0] ?? '', /output_modalities must be names of .*, got 'txt'$/)
})
