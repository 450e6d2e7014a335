import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { movingGateway } from '../harness/gateway.ts'
import { startRoutingBench, ANSWER_TOKENS, answers, fails, streamHead, streamRest } from './routing-bench.ts'
import { lasting } from '../harness/lasting.ts'

// wire.md 8 and guarantees.md 5: the measurements of an endpoint decide whether it is asked. The bench checks the
// charge of every request.

// So far apart that the draw by price always gives the cheap one.
const CHEAP = { prompt: 1, completion: 1 }
const MIDDLE = { prompt: 1_000, completion: 1_000 }
const DEAR = { prompt: 1_000_000, completion: 1_000_000 }
const BOTH = { model: 'v/pair' }
const FIRST_A = { model: 'v/pair', provider: { order: ['a'] } }

const bench = await lasting(
  startRoutingBench(
    {
      models: {
        'v/pair': [
          { provider: 'a', ...CHEAP },
          { provider: 'b', ...MIDDLE },
        ],
        'v/alone': [{ provider: 'lone', ...CHEAP }],
        'v/measured': [
          { provider: 'slow', ...CHEAP },
          { provider: 'quick', ...MIDDLE },
          { provider: 'fast', ...DEAR },
          { provider: 'unknown', ...CHEAP },
        ],
        'v/percentiles': [{ provider: 'paced', ...CHEAP }],
      },
    },
    (catalog) => movingGateway({ catalog }),
  ),
)

afterEach(async () => {
  bench.upstream.reset()
  await bench.settled()
  assert.deepEqual(bench.server.notices, [])
  // Beyond every ejection, and beyond the time in which the next one is longer.
  bench.server.clock.advance(600_000)
  for (const provider of ['a', 'b']) await bench.ask({ model: 'v/pair', provider: { only: [provider] } })
  bench.server.clock.advance(600_000)
})

async function asked(fields: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  const answer = await bench.ask(fields)
  assert.equal(answer.error, null, answer.raw)
  return answer.asked
}

async function statusOf(model: string, provider: string): Promise<number> {
  return (await bench.endpoints(model))[provider].status
}

/** Fails five times in a row; the other provider answers each time. */
async function eject(): Promise<void> {
  bench.upstream.says('a', fails(500))
  for (let count = 0; count < 5; count += 1) assert.deepEqual(await asked(FIRST_A), ['a', 'b'])
}

describe('unhealthy', () => {
  test('an endpoint that has just failed comes last for 30 s', async () => {
    bench.upstream.says('a', fails(500))
    assert.deepEqual(await asked(BOTH), ['a', 'b'])
    assert.equal(await statusOf('v/pair', 'a'), -2)
    bench.server.clock.advance(28_000)
    assert.deepEqual(await asked(BOTH), ['b'])
    bench.server.clock.advance(2_000)
    assert.equal(await statusOf('v/pair', 'a'), 0)
    assert.deepEqual(await asked(BOTH), ['a', 'b'])
  })

  test('last is not out: it is asked when the other fails, and when the client says so', async () => {
    bench.upstream.says('a', fails(500))
    assert.deepEqual(await asked(BOTH), ['a', 'b'])
    bench.upstream.says('a', answers)
    bench.upstream.says('b', fails(429))
    assert.deepEqual(await asked(BOTH), ['b', 'a'])
    bench.upstream.says('b', answers)
    bench.upstream.says('a', fails(503))
    assert.deepEqual(await asked({ model: 'v/pair', provider: { sort: 'price' } }), ['a', 'b'])
  })

  test('one success clears it', async () => {
    bench.upstream.says('a', fails(502))
    assert.deepEqual(await asked(BOTH), ['a', 'b'])
    bench.upstream.says('a', answers)
    assert.deepEqual(await asked(FIRST_A), ['a'])
    assert.equal(await statusOf('v/pair', 'a'), 0)
    assert.deepEqual(await asked(BOTH), ['a'])
  })

  test("a client's own bad request says nothing of the endpoint", async () => {
    bench.upstream.says('a', fails(400))
    bench.upstream.says('b', fails(400))
    for (let count = 0; count < 6; count += 1) assert.equal((await bench.ask(FIRST_A)).status, 400)
    assert.equal(await statusOf('v/pair', 'a'), 0)
  })

  test('Retry-After keeps it out for as long as it says', async () => {
    bench.upstream.says('a', fails(429, { 'retry-after': '50' }))
    assert.deepEqual(await asked(FIRST_A), ['a', 'b'])
    bench.server.clock.advance(48_000)
    assert.equal(await statusOf('v/pair', 'a'), -2)
    assert.deepEqual(await asked(FIRST_A), ['b'])
    bench.server.clock.advance(2_000)
    assert.deepEqual(await asked(FIRST_A), ['a', 'b'])
  })
})

describe('ejection', () => {
  test('five failures in a row take an endpoint out for 30 s, whatever the client prefers', async () => {
    await eject()
    assert.equal(await statusOf('v/pair', 'a'), -2)
    for (const provider of [{ order: ['a'] }, { sort: 'price' }, {}])
      assert.deepEqual(await asked({ model: 'v/pair', provider }), ['b'])
    bench.upstream.says('b', fails(500))
    assert.deepEqual((await bench.ask(BOTH)).asked, ['b'], 'nor is it a fallback')
    bench.server.clock.advance(28_000)
    bench.upstream.says('b', answers)
    assert.deepEqual(await asked(FIRST_A), ['b'])
  })

  test('four failures and a success do not', async () => {
    bench.upstream.says('a', fails(500))
    for (let count = 0; count < 4; count += 1) await asked(FIRST_A)
    bench.upstream.says('a', answers)
    await asked(FIRST_A)
    bench.upstream.says('a', fails(500))
    for (let count = 0; count < 4; count += 1) assert.deepEqual(await asked(FIRST_A), ['a', 'b'])
  })

  test('then one request finds out whether it is back, while others go elsewhere; a failure doubles the time out', async () => {
    await eject()
    bench.server.clock.advance(30_000)
    const beside: string[] = []
    bench.upstream.says('a', async (response, call) => {
      const from = bench.upstream.asked.length
      await bench.send(FIRST_A)
      beside.push(...bench.upstream.asked.slice(from).map(({ provider }) => provider))
      void fails(500)(response, call)
    })
    const from = bench.upstream.asked.length
    const { rows } = await bench.checked(() => bench.send(FIRST_A))
    assert.equal(rows.length, 2)
    assert.deepEqual(beside, ['b'], 'no second probe')
    assert.deepEqual(
      bench.upstream.asked.slice(from).map(({ provider }) => provider),
      ['a', 'b', 'b'],
    )
    bench.upstream.says('a', answers)
    bench.server.clock.advance(58_000)
    assert.deepEqual(await asked(FIRST_A), ['b'])
    assert.equal(await statusOf('v/pair', 'a'), -2)
    bench.server.clock.advance(2_000)
    assert.deepEqual(await asked(FIRST_A), ['a'])
    assert.equal(await statusOf('v/pair', 'a'), 0)
    assert.deepEqual(await asked(BOTH), ['a'])
  })

  test('the only endpoint of a model stays a candidate', async () => {
    bench.upstream.says('lone', fails(500))
    for (let count = 0; count < 7; count += 1) {
      const answer = await bench.ask({ model: 'v/alone' })
      assert.deepEqual([answer.asked, answer.error?.code], [['lone'], 502])
    }
    bench.upstream.reset()
    assert.deepEqual(await asked({ model: 'v/alone' }), ['lone'])
  })
})

/** A stream whose first token takes `ttftMs` and the rest `restMs`. */
async function paced(model: string, provider: string, ttftMs: number, restMs: number): Promise<void> {
  const begun = Promise.withResolvers<void>()
  bench.upstream.says(provider, async (response) => {
    bench.server.clock.advance(ttftMs)
    streamHead(response, 'begun')
    await begun.promise
    bench.server.clock.advance(restMs)
    streamRest(response)
  })
  const answer = await bench.ask({ model, stream: true, provider: { only: [provider] } }, () => begun.resolve())
  assert.deepEqual([answer.error, answer.done], [null, true])
}

function near(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) <= Math.max(1, expected * 0.1), `${actual}, not about ${expected}`)
}

describe('measures', () => {
  test('percentiles of the time to the first token and of the throughput are shown, and forgotten after half an hour', async () => {
    const empty = (await bench.endpoints('v/percentiles'))['paced']
    assert.deepEqual(
      [empty.latency_last_30m, empty.throughput_last_30m, empty.uptime_last_30m, empty.status],
      [null, null, null, 0],
    )
    const rests = [1, 2, 4, 5, 8, 10, 20, 40]
    for (const [index, seconds] of rests.entries())
      await paced('v/percentiles', 'paced', (index + 1) * 1_000, seconds * 1_000)
    bench.server.clock.advance(2_000)
    const {
      latency_last_30m: latency,
      throughput_last_30m: throughput,
      uptime_last_30m: uptime,
    } = (await bench.endpoints('v/percentiles'))['paced']
    for (const [name, ms] of Object.entries({ p50: 5_000, p75: 7_000, p90: 8_000, p99: 8_000 })) near(latency[name], ms)
    for (const [name, seconds] of Object.entries({ p50: 8, p75: 20, p90: 40, p99: 40 }))
      near(throughput[name], ANSWER_TOKENS.completion / seconds)
    assert.equal(uptime, 100)
    bench.server.clock.advance(31 * 60_000)
    const later = (await bench.endpoints('v/percentiles'))['paced']
    assert.deepEqual([later.latency_last_30m, later.throughput_last_30m], [null, null])
  })

  test('sort by latency and by throughput, :nitro before the sort of the request, unknown last', async () => {
    const model = 'v/measured'
    for (let count = 0; count < 3; count += 1) {
      await paced(model, 'slow', 5_000, 8_000)
      await paced(model, 'quick', 100, 4_000)
      await paced(model, 'fast', 2_000, 1_000)
    }
    bench.server.clock.advance(2_000)
    const order = async (fields: Readonly<Record<string, unknown>>): Promise<readonly string[]> => {
      for (const provider of ['slow', 'quick', 'fast']) bench.upstream.says(provider, fails(500))
      bench.upstream.says('unknown', answers)
      const tried = await asked(fields)
      for (const provider of ['slow', 'quick', 'fast']) bench.upstream.says(provider, answers)
      for (const provider of ['slow', 'quick', 'fast']) await bench.ask({ model, provider: { only: [provider] } })
      return tried
    }
    assert.deepEqual(await order({ model, provider: { sort: 'latency' } }), ['quick', 'fast', 'slow', 'unknown'])
    assert.deepEqual(await order({ model, provider: { sort: { by: 'throughput', partition: null } } }), [
      'fast',
      'quick',
      'slow',
      'unknown',
    ])
    assert.deepEqual(await order({ model: `${model}:nitro`, provider: { sort: 'price' } }), [
      'fast',
      'quick',
      'slow',
      'unknown',
    ])
    bench.upstream.reset()
    assert.deepEqual(await asked({ model: `${model}:nitro` }), ['fast'])
    assert.deepEqual(await asked({ model: `${model}:nitro`, provider: { order: ['slow'] } }), ['slow'])
    assert.deepEqual(await asked({ model: `${model}:floor`, provider: { sort: 'throughput', ignore: ['unknown'] } }), [
      'slow',
    ])
  })
})
