import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { gateway } from '../harness/gateway.ts'
import { startRoutingBench, fails } from './routing-bench.ts'
import { lasting } from '../harness/lasting.ts'

// wire.md 8: a client's preferences among providers. The bench checks the charge of every request.

// So far apart that the draw by price always gives the cheap one.
const CHEAP = { prompt: 1, completion: 1 }
const MIDDLE = { prompt: 1_000, completion: 1_000 }
const DEAR = { prompt: 1_000_000, completion: 1_000_000 }
const TOOLS = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
const FORMAT = { type: 'json_object' }

const bench = await lasting(
  startRoutingBench(
    {
      models: {
        'v/three': [
          { provider: 'cheap', ...CHEAP },
          { provider: 'middle', ...MIDDLE },
          { provider: 'dear', ...DEAR },
        ],
        'v/five': ['a', 'b', 'c', 'd', 'e'].map((provider, index) => ({ provider, prompt: 1 + index, completion: 1 })),
        'v/per-request': [
          { provider: 'flat', prompt: 1, completion: 1, request: 0.5, image: 0.25 },
          { provider: 'metered', ...MIDDLE },
        ],
        'v/shapes': [
          { provider: 'long-in', prompt: 1, completion: 1_000 },
          { provider: 'long-out', prompt: 500, completion: 1 },
        ],
        'v/abilities': [
          { provider: 'bare', ...CHEAP, parameters: ['max_tokens', 'temperature'] },
          { provider: 'tooled', ...MIDDLE, parameters: ['max_tokens', 'tools', 'tool_choice', 'seed'] },
          { provider: 'formatted', ...DEAR, parameters: ['max_tokens', 'tools', 'tool_choice', 'response_format'] },
        ],
        'v/several': [
          { provider: 'single', ...CHEAP, parameters: ['max_tokens'] },
          { provider: 'several', ...DEAR, parameters: ['max_tokens', 'n'] },
        ],
        'v/balanced': [
          { provider: 'one', prompt: 10, completion: 10 },
          { provider: 'thrice', prompt: 30, completion: 30 },
        ],
      },
    },
    (catalog) => gateway({ catalog }),
  ),
)

afterEach(async () => {
  bench.upstream.reset()
  await bench.settled()
  // Makes providers healthy again after the test before.
  for (const provider of ['cheap', 'middle', 'dear'])
    await bench.ask({ model: 'v/three', provider: { only: [provider] } })
})

/** The asked providers of a successful answer. */
async function asked(
  provider: Readonly<Record<string, unknown>> | undefined,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<readonly string[]> {
  const answer = await bench.ask({ model: 'v/three', ...fields, ...(provider === undefined ? {} : { provider }) })
  assert.equal(answer.error, null, answer.raw)
  assert.equal(answer.text, answer.asked.at(-1))
  return answer.asked
}

async function refused(
  provider: Readonly<Record<string, unknown>>,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await bench.ask({ model: 'v/three', ...fields, provider })
  assert.deepEqual(answer.asked, [], 'nobody was asked')
  assert.ok(answer.error !== null, answer.raw)
  return { ...answer.error, status: answer.status }
}

async function excludedBy(
  provider: Readonly<Record<string, unknown>>,
  fields: Readonly<Record<string, unknown>> = {},
): Promise<unknown> {
  const error = await refused(provider, fields)
  assert.equal(error['status'], 404)
  // oxlint-disable-next-line typescript/no-explicit-any
  const { metadata, error_type: type } = error as any
  assert.equal(type ?? metadata.error_type, 'no_available_provider', JSON.stringify(error))
  return metadata.excluded_by
}

describe('order', () => {
  test('its entries come first, in order; the rest follow', async () => {
    assert.deepEqual(await asked({ order: ['dear', 'middle'] }), ['dear'])
    bench.upstream.says('dear', fails(500))
    assert.deepEqual(await asked({ order: ['dear', 'middle'] }), ['dear', 'middle'])
    bench.upstream.says('middle', fails(500))
    assert.deepEqual(await asked({ order: ['dear', 'middle'] }), ['dear', 'middle', 'cheap'])
  })

  test('with allow_fallbacks: false only its entries', async () => {
    bench.upstream.says('dear', fails(500))
    bench.upstream.says('middle', fails(502))
    const answer = await bench.ask({
      model: 'v/three',
      provider: { order: ['dear', 'middle'], allow_fallbacks: false },
    })
    assert.deepEqual([answer.asked, answer.error?.code], [['dear', 'middle'], 502])
    assert.deepEqual(await excludedBy({ order: ['nobody'], allow_fallbacks: false }), ['order'])
  })

  test('takes slugs and display names in any case; unknown names are ignored', async () => {
    assert.deepEqual(await asked({ order: ['nobody', 'MIDDLE'] }), ['middle'])
    assert.deepEqual(await asked({ order: ['provider Dear'] }), ['dear'])
  })

  test('comes before the sort, which orders the rest', async () => {
    bench.upstream.says('dear', fails(500))
    assert.deepEqual(await asked({ order: ['dear'], sort: 'price' }), ['dear', 'cheap'])
    assert.deepEqual(await asked({ order: ['middle'] }, { model: 'v/three:floor' }), ['middle'])
  })
})

describe('only allow_fallbacks: false', () => {
  test('asks the first provider and no other', async () => {
    bench.upstream.says('cheap', fails(500))
    const answer = await bench.ask({ model: 'v/three', provider: { allow_fallbacks: false, sort: 'price' } })
    assert.deepEqual([answer.asked, answer.error?.code], [['cheap'], 502])
  })
})

test('a request has four attempts at most, each endpoint once', async () => {
  for (const provider of ['a', 'b', 'c', 'd']) bench.upstream.says(provider, fails(500))
  const answer = await bench.ask({ model: 'v/five', provider: { sort: 'price' } })
  assert.deepEqual([answer.asked, answer.error?.code], [['a', 'b', 'c', 'd'], 502])
})

describe('ignore and only', () => {
  test('ignore leaves out the named providers, unknown names none', async () => {
    assert.deepEqual(await asked({ ignore: ['cheap', 'nobody'] }), ['middle'])
    assert.deepEqual(await asked({ ignore: ['CHEAP', 'provider middle'] }), ['dear'])
    assert.deepEqual(await excludedBy({ ignore: ['cheap', 'middle', 'dear'] }), ['ignore'])
  })

  test('only restricts, fallbacks too', async () => {
    assert.deepEqual(await asked({ only: ['dear'] }), ['dear'])
    bench.upstream.says('middle', fails(503))
    assert.deepEqual(await asked({ only: ['dear', 'middle'] }), ['middle', 'dear'])
  })

  test('none left is a 404 that names what left out', async () => {
    assert.deepEqual(await excludedBy({ only: ['nobody'] }), ['only'])
    assert.deepEqual(await excludedBy({ only: ['cheap'], ignore: ['cheap'] }), ['only', 'ignore'])
    const error = await refused({ only: ['nobody'] })
    assert.equal(
      error['message'],
      "No providers of model 'v/three' match your routing preferences (only). Relax them or choose another model",
    )
  })
})

describe('sort', () => {
  test('price is the cost of this very request', async () => {
    assert.deepEqual(await asked({ sort: 'price' }, { model: 'v/shapes', max_tokens: 1_000 }), ['long-out'])
    const messages = [{ role: 'user', content: 'word '.repeat(4_000) }]
    assert.deepEqual(
      await asked({ sort: { by: 'price', partition: 'none' } }, { model: 'v/shapes', max_tokens: 100, messages }),
      ['long-in'],
    )
  })

  test('other values are invalid_input', async () => {
    for (const sort of ['best', 1, {}, { by: 'random' }, { partition: 'model' }]) {
      const error = await refused({ sort })
      assert.deepEqual(
        [error['status'], error['message']],
        [400, 'provider.sort: must be price, throughput or latency'],
        JSON.stringify(sort),
      )
    }
  })

  test(':floor is the sort by price, whatever provider.sort says', async () => {
    const answer = await bench.ask({ model: 'v/three:floor', provider: { sort: 'throughput' } })
    assert.deepEqual([answer.asked, answer.model], [['cheap'], 'v/three'])
  })
})

describe('max_price', () => {
  test('bounds prompt, completion and request, all of them together', async () => {
    assert.deepEqual(await asked({ max_price: { prompt: 1_000 }, order: ['dear', 'middle'] }), ['middle'])
    assert.deepEqual(await asked({ max_price: { completion: '999.99' }, order: ['dear', 'middle'] }), ['cheap'])
    assert.deepEqual(await asked({ max_price: { request: 0.5 }, order: ['flat'] }, { model: 'v/per-request' }), [
      'flat',
    ])
    assert.deepEqual(await asked({ max_price: { request: '0.499999' }, order: ['flat'] }, { model: 'v/per-request' }), [
      'metered',
    ])
    assert.deepEqual(await excludedBy({ max_price: { request: 0.4, prompt: 999 } }, { model: 'v/per-request' }), [
      'max_price',
    ])
  })

  test('bounds the price of an image, and each image is charged', async () => {
    const image = { type: 'image_url', image_url: { url: 'https://images.example/a.png' } }
    const fields = { model: 'v/per-request', messages: [{ role: 'user', content: [image, image] }] }
    assert.deepEqual(await asked({ max_price: { image: 0.25 }, order: ['flat'] }, fields), ['flat'])
    assert.deepEqual(await asked({ max_price: { image: 0.24 }, order: ['flat'] }, fields), ['metered'])
  })

  test('a value that is no price is invalid_input', async () => {
    for (const prompt of [-1, 'much', true, null]) {
      const answer = await bench.ask({ model: 'v/three', provider: { max_price: { prompt } } })
      assert.equal(answer.status, prompt === null ? 200 : 400, `${prompt}: ${answer.raw}`)
    }
  })
})

describe('parameters', () => {
  test('tools and response_format are soft preferences: an endpoint that takes them is preferred', async () => {
    const model = 'v/abilities'
    assert.deepEqual(await asked(undefined, { model }), ['bare'])
    assert.deepEqual(await asked(undefined, { model, tools: TOOLS }), ['tooled'])
    assert.deepEqual(await asked(undefined, { model, response_format: FORMAT }), ['formatted'])
    assert.deepEqual(await asked(undefined, { model, tools: TOOLS, response_format: FORMAT }), ['formatted'])
    // None of the providers that the client named takes tools: the parameter is dropped, not the provider.
    assert.deepEqual(await asked({ only: ['bare'] }, { model, tools: TOOLS }), ['bare'])
    assert.equal('tools' in (bench.upstream.asked.at(-1)?.body ?? {}), false)
    // Unsupported parameters of other kinds do not change the choice of the cheapest.
    assert.deepEqual(await asked(undefined, { model, seed: 7 }), ['bare'])
  })

  test('require_parameters leaves out endpoints that lack a sent parameter', async () => {
    const model = 'v/abilities'
    assert.deepEqual(await asked({ require_parameters: true }, { model, seed: 7 }), ['tooled'])
    assert.equal(bench.upstream.asked.at(-1)?.body['seed'], 7)
    assert.deepEqual(await asked({ require_parameters: true }, { model, temperature: 1 }), ['bare'])
    assert.deepEqual(await asked({ require_parameters: true }, { model, tools: TOOLS, response_format: FORMAT }), [
      'formatted',
    ])
    assert.deepEqual(await excludedBy({ require_parameters: true }, { model, tools: TOOLS, temperature: 1 }), [
      'require_parameters',
    ])
  })
})

test('n above 1 goes only to endpoints that take it; without one it is refused', async () => {
  assert.deepEqual(await asked(undefined, { model: 'v/several' }), ['single'])
  assert.deepEqual(await asked(undefined, { model: 'v/several', n: 2 }), ['several'])
  const error = await refused({}, { model: 'v/abilities', n: 2 })
  assert.deepEqual(
    [error['status'], error['message']],
    [400, "n: must be 1, no provider of model 'v/abilities' supports more"],
  )
})

test('an unknown model is a 400 where no known one is listed, and is passed over where one is', async () => {
  for (const fields of [
    { model: 'v/none' },
    { model: 'v/none:nitro' },
    { model: 'v/none', models: ['v/nobody', 'v/none'] },
  ]) {
    const error = await refused({}, fields)
    assert.equal(error['status'], 400)
    assert.match(String(error['message']), /^Model 'v\/none(:nitro)?' not found or inactive$/)
  }
  assert.deepEqual(await asked({ only: ['cheap'] }, { models: ['v/none'] }), ['cheap'])
  assert.deepEqual(await asked({ only: ['cheap'] }, { model: 'v/none', models: ['v/three'] }), ['cheap'])
})

describe('without a preference', () => {
  test('the first is drawn by 1/price², the other is its fallback', async (context) => {
    const count = 80
    // Each begins a conversation: the turns of one stay together.
    const opening = (content: string): Readonly<Record<string, unknown>> => ({
      model: 'v/balanced',
      messages: [{ role: 'user', content }],
    })
    const from = bench.upstream.asked.length
    for (let round = 0; round < 5; round += 1) {
      await bench.checked(() =>
        Promise.all(Array.from({ length: count }, (_, index) => bench.send(opening(`${round} ${index}`)))).then((all) =>
          assert.ok(all.every(({ status }) => status === 200)),
        ),
      )
    }
    const cheap = bench.upstream.asked.slice(from).filter(({ provider }) => provider === 'one').length
    context.diagnostic(`${cheap} of ${5 * count} at the cheap one`)
    // 9 of 10 at a third of the price: 360 of 400, give or take five standard deviations of 6.
    assert.ok(cheap >= 330 && cheap <= 390, `${cheap} of ${5 * count}`)
    bench.upstream.says('one', fails(500))
    assert.deepEqual((await asked({}, { model: 'v/balanced' })).at(-1), 'thrice')
  })

  test('the requests of one session stay with one provider', async () => {
    const homes = new Set<string>()
    // One of ten goes to the dear one, whichever they are.
    for (let session = 0; session < 20 || (homes.size < 2 && session < 200); session += 1) {
      const fields = { model: 'v/balanced', session_id: `session-${session * 7_919}`, provider: {} }
      bench.upstream.reset()
      // Healthy again, whatever the test before did.
      await bench.ask({ model: 'v/balanced', provider: { only: ['one'] } })
      const [home = ''] = await asked({}, fields)
      homes.add(home)
      assert.deepEqual(await asked({}, fields), [home])
    }
    assert.deepEqual([...homes].toSorted(), ['one', 'thrice'])
  })
})
