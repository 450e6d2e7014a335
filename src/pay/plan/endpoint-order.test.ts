import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { orderEndpoints, type OrderRequest } from './endpoint-order.ts'
import { chat, endpoint, model, NO_ADAPTERS, prices, QUIET } from '../../../test/harness/plan-fixture.ts'
import { refusal } from '../../../test/harness/refused.ts'
import { sentParameters } from './chat-plan.ts'
import { expectedChatCost } from './worst-price.ts'
import { MODEL_TYPES, type ModelType } from '../../tables/model-types.ts'

// An entry for each of the types.
const NOTHING = Object.fromEntries(MODEL_TYPES.map((type) => [type, []])) as unknown as Readonly<
  Record<ModelType, readonly string[]>
>

const cheap = endpoint('cheap', { sell: prices('1', '4') })
const middle = endpoint('middle', { sell: prices('2', '8') })
const dear = endpoint('dear', { sell: prices('4', '16') })
const three = [dear, cheap, middle]

function order(
  fields: Partial<OrderRequest> & {
    readonly provider?: unknown
    readonly body?: Readonly<Record<string, unknown>>
    readonly endpoints?: readonly ReturnType<typeof endpoint>[]
  } = {},
): readonly string[] {
  const { provider, body, endpoints = three, ...wish } = fields
  const { inputTokens = 100, maxTokens = null } = wish
  const request = chat({ provider, ...body })
  const expectedCost: OrderRequest['expectedCost'] = (one) => expectedChatCost(one, request, inputTokens, maxTokens, 0)
  const ordered = orderEndpoints({
    model: model('v/m', { endpoints }),
    request,
    sent: sentParameters(request),
    able: () => true,
    expectedCost,
    met: ({ sell }) => sell,
    inputTokens,
    maxTokens,
    adapters: NO_ADAPTERS,
    calls: 'chat',
    sort: null,
    health: QUIET,
    random: () => 0,
    ...wish,
  })
  return ordered.map(({ provider: { slug } }) => slug)
}

test('by default the first is drawn by 1/price² and the rest ascend by price', () => {
  // Weights 1, 1/4, 1/16 of 21/16: the borders are at 16/21 and 20/21.
  assert.deepEqual(order({ random: () => 0.7 }), ['cheap', 'middle', 'dear'])
  assert.deepEqual(order({ random: () => 0.77 }), ['middle', 'cheap', 'dear'])
  assert.deepEqual(order({ random: () => 0.96 }), ['dear', 'cheap', 'middle'])
})

test('a session draws the same endpoint whatever the random source says', () => {
  const body = { session_id: 'abc' }
  assert.deepEqual(order({ body, random: () => 0 }), order({ body, random: () => 0.99 }))
})

test('free endpoints share the draw', () => {
  const endpoints = [
    cheap,
    endpoint('free-a', { sell: prices('0', '0') }),
    endpoint('free-b', { sell: prices('0', '0') }),
  ]
  assert.deepEqual(order({ endpoints, random: () => 0.9 }), ['free-b', 'free-a', 'cheap'])
})

test('unhealthy endpoints come last', () => {
  const health = { ...QUIET, unhealthy: (id: string) => id === 'cheap/m' }
  assert.deepEqual(order({ health }), ['middle', 'dear', 'cheap'])
  assert.deepEqual(order({ health: { ...QUIET, unhealthy: () => true } }), ['cheap', 'middle', 'dear'])
})

test('sort: price, throughput and latency, unknown metrics last, ties by price; the suffix overrides', () => {
  const health = {
    ...QUIET,
    throughput: (id: string) => (id === 'dear/m' ? 90 : id === 'middle/m' ? 20 : null),
    latency: (id: string) => (id === 'middle/m' ? 200 : 500),
  }
  assert.deepEqual(order({ provider: { sort: 'price' }, random: () => 0.99 }), ['cheap', 'middle', 'dear'])
  assert.deepEqual(order({ provider: { sort: 'throughput' }, health }), ['dear', 'middle', 'cheap'])
  assert.deepEqual(order({ provider: { sort: { by: 'latency' } }, health }), ['middle', 'cheap', 'dear'])
  assert.deepEqual(order({ provider: { sort: 'price' }, health, sort: 'throughput' }), ['dear', 'middle', 'cheap'])
})

test('price sort compares the cost of this request', () => {
  const endpoints = [endpoint('in', { sell: prices('1', '100') }), endpoint('out', { sell: prices('50', '1') })]
  assert.deepEqual(order({ endpoints, provider: { sort: 'price' }, inputTokens: 10_000, maxTokens: 10 }), ['in', 'out'])
  assert.deepEqual(order({ endpoints, provider: { sort: 'price' }, inputTokens: 10, maxTokens: 10_000 }), ['out', 'in'])
})

test('price sort and the draw use the plain prices: a dear cache write makes no provider dear', () => {
  const endpoints = [
    endpoint('writes', { sell: prices('1', '4', { cache_write_1h: '9', audio_input: '50' }) }),
    endpoint('plain', { sell: prices('1.1', '4') }),
  ]
  assert.deepEqual(order({ endpoints, provider: { sort: 'price' } }), ['writes', 'plain'])
  assert.deepEqual(order({ endpoints, random: () => 0.4 }), ['writes', 'plain'])
})

test('an ejected endpoint is no candidate, however the rest is ordered, unless nothing else is left', () => {
  const health = { ...QUIET, ejected: (id: string) => id === 'cheap/m' }
  assert.deepEqual(order({ health }), ['middle', 'dear'])
  assert.deepEqual(order({ health, provider: { sort: 'price' } }), ['middle', 'dear'])
  assert.deepEqual(order({ health, provider: { order: ['cheap'] } }), ['middle', 'dear'])
  assert.deepEqual(order({ health, provider: { allow_fallbacks: false, sort: 'price' } }), ['middle'])
  assert.deepEqual(order({ health, provider: { only: ['cheap'] } }), ['cheap'])
  assert.deepEqual(order({ health: { ...QUIET, ejected: () => true } }), ['cheap', 'middle', 'dear'])
})

test('order comes first, by slug, base slug or display name in any case; unknown names are ignored', () => {
  assert.deepEqual(order({ provider: { order: ['nobody', 'DEAR', 'Middle'] } }), ['dear', 'middle', 'cheap'])
  assert.deepEqual(order({ provider: { order: ['dear'], allow_fallbacks: false } }), ['dear'])
  assert.deepEqual(order({ provider: { allow_fallbacks: false } }), ['cheap'])
  const endpoints = [cheap, endpoint('google/us-east5', { sell: prices('9', '9') })]
  assert.deepEqual(order({ endpoints, provider: { order: ['google'] } }), ['google/us-east5', 'cheap'])
})

test('only, ignore and max_price restrict', () => {
  assert.deepEqual(order({ provider: { only: ['dear', 'cheap'] } }), ['cheap', 'dear'])
  assert.deepEqual(order({ provider: { ignore: ['cheap', 'nobody'] } }), ['middle', 'dear'])
  assert.deepEqual(order({ provider: { max_price: { prompt: 2, completion: '8' } } }), ['cheap', 'middle'])
  const flat = endpoint('flat', { sell: prices('1', '1', { request: '500000' }) })
  assert.deepEqual(order({ endpoints: [flat], provider: { max_price: { request: 0.5 } } }), ['flat'])
  assert.equal(
    refusal(() => order({ endpoints: [flat], provider: { max_price: { request: 0.4 } } })).errorName,
    'no_available_provider',
  )
})

test('404 when the preferences leave nothing, naming those that excluded', () => {
  const cases: readonly (readonly [Readonly<Record<string, unknown>>, readonly string[]])[] = [
    [{ only: ['nobody'] }, ['only']],
    [{ ignore: ['cheap', 'middle', 'dear'] }, ['ignore']],
    [{ ignore: ['cheap'], max_price: { prompt: 1 } }, ['ignore', 'max_price']],
    [{ order: ['nobody'], allow_fallbacks: false }, ['order']],
  ]
  for (const [provider, excluded] of cases) {
    const error = refusal(() => order({ provider }))
    assert.equal(error.status, 404)
    assert.equal(
      error.message,
      `No providers of model 'v/m' match your routing preferences (${excluded.join(', ')}). Relax them or choose another model`,
    )
    assert.deepEqual(error.details.metadata, { excluded_by: excluded })
  }
})

test('require_parameters drops endpoints that lack a sent one; without it tools are a soft preference', () => {
  const plain = endpoint('plain', { sell: prices('1', '1'), supportedParameters: ['max_tokens', 'temperature'] })
  const tooled = endpoint('tooled', { sell: prices('9', '9'), supportedParameters: ['max_tokens', 'tools'] })
  const tools = [{ type: 'function', function: { name: 'f' } }]
  const endpoints = [plain, tooled]
  assert.deepEqual(order({ endpoints, body: { tools } }), ['tooled'])
  assert.deepEqual(order({ endpoints: [plain], body: { tools } }), ['plain'])
  assert.deepEqual(order({ endpoints, body: { temperature: 1, user: 'u' }, provider: { require_parameters: true } }), [
    'plain',
  ])
  const error = refusal(() =>
    order({ endpoints, body: { temperature: 1, tools }, provider: { require_parameters: true } }),
  )
  assert.deepEqual(error.details.metadata, { excluded_by: ['require_parameters'] })
})

test('what order, only and allow_fallbacks leave is not lost to a soft preference', () => {
  const plain = endpoint('plain', { sell: prices('1', '1'), supportedParameters: ['max_tokens'] })
  const tooled = endpoint('tooled', { sell: prices('9', '9'), supportedParameters: ['max_tokens', 'tools'] })
  const uncapped = endpoint('uncapped', { sell: prices('1', '1'), supportedParameters: ['temperature'] })
  const endpoints = [plain, tooled, uncapped]
  const body = { tools: [{ type: 'function', function: { name: 'f' } }] }
  assert.deepEqual(order({ endpoints, body, provider: { order: ['plain'], allow_fallbacks: false } }), ['plain'])
  assert.deepEqual(order({ endpoints, body, provider: { only: ['plain'] } }), ['plain'])
  assert.deepEqual(order({ endpoints, provider: { only: ['uncapped'] } }), ['uncapped'])
  assert.deepEqual(order({ endpoints, provider: { order: ['uncapped'] } }), ['uncapped', 'plain', 'tooled'])
  assert.deepEqual(order({ endpoints }), ['plain', 'tooled'])
})

test('n > 1 goes only to endpoints that support it, else invalid_input', () => {
  const single = endpoint('single', { sell: prices('1', '1'), supportedParameters: ['max_tokens'] })
  const many = endpoint('many', { supportedParameters: ['max_completion_tokens', 'n'] })
  assert.deepEqual(order({ endpoints: [single, many], body: { n: 2 } }), ['many'])
  assert.deepEqual(order({ endpoints: [single, many] }), ['single', 'many'])
  assert.equal(
    refusal(() => order({ endpoints: [single], body: { n: 2 } })).message,
    "n: must be 1, no provider of model 'v/m' supports more",
  )
  const adapters = new Map([['openai', { parameters: { ...NOTHING, chat: ['max_tokens'] } }]])
  assert.equal(refusal(() => order({ body: { n: 2 }, adapters })).errorName, 'invalid_input')
})

test('endpoints too short for the output or the context are left out where another fits', () => {
  const short = endpoint('short', { sell: prices('1', '1'), maxCompletionTokens: 1_000 })
  const small = endpoint('small', { sell: prices('1', '1'), contextLength: 8_192 })
  assert.deepEqual(order({ endpoints: [short, dear], maxTokens: 2_000 }), ['dear'])
  assert.deepEqual(order({ endpoints: [short], maxTokens: 2_000 }), ['short'])
  assert.deepEqual(order({ endpoints: [small, dear], inputTokens: 8_000, maxTokens: 2_000 }), ['dear'])
})

test('property: the order is a duplicate-free choice of at most four endpoints, never one that is ignored', () => {
  const slugs = ['a', 'b', 'c', 'd', 'e', 'f']
  const some = fc.subarray(slugs)
  fc.assert(
    fc.property(
      fc.subarray(slugs, { minLength: 1 }),
      some,
      some,
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      some,
      (offered, wanted, ignored, at, sick) => {
        const endpoints = offered.map((slug, index) => endpoint(slug, { sell: prices(String(index), '1') }))
        const health = { ...QUIET, unhealthy: (id: string) => sick.some((slug) => id === `${slug}/m`) }
        const left = offered.filter((slug) => !ignored.includes(slug))
        if (left.length === 0) return
        const got = order({ endpoints, provider: { order: wanted, ignore: ignored }, random: () => at, health })
        assert.equal(new Set(got).size, got.length)
        assert.equal(got.length, Math.min(4, left.length))
        assert.ok(got.every((slug) => left.includes(slug)))
        const listed = wanted.filter((slug) => left.includes(slug)).slice(0, 4)
        assert.deepEqual(got.slice(0, listed.length), listed)
      },
    ),
  )
})
