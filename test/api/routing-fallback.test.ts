import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { movingGateway } from '../harness/gateway.ts'
import {
  nameOf,
  startRoutingBench,
  type Routed,
  answers,
  answersAsCohere,
  fails,
  streamHead,
  streamRest,
} from './routing-bench.ts'
import { lasting } from '../harness/lasting.ts'

// wire.md 8 and 3.2: the steps after a failed attempt. The bench checks the charge of every request.

const CHEAP = { prompt: 1, completion: 1 }
const MIDDLE = { prompt: 1_000, completion: 1_000 }
const DEAR = { prompt: 1_000_000, completion: 1_000_000 }

/** A provider for each status, with the pause of its key in seconds. */
const POOLS = { pool401: [401, 300], pool402: [402, 300], pool403: [403, 300], pool429: [429, 10] } as const
const KEYS = ['key-1', 'key-2', 'key-3']

const bench = await lasting(
  startRoutingBench(
    {
      providers: {
        worded: { adapter: 'cohere' },
        ...Object.fromEntries(Object.keys(POOLS).map((slug) => [slug, { keys: KEYS.map((key) => `${slug}-${key}`) }])),
      },
      models: {
        'v/first': [{ provider: 'a', ...CHEAP }],
        'v/second': [
          { provider: 'b', ...MIDDLE },
          { provider: 'c', ...DEAR },
        ],
        'v/pair': [
          { provider: 'a', ...CHEAP },
          { provider: 'b', ...MIDDLE },
        ],
        'v/mixed': [
          { provider: 'worded', ...CHEAP },
          { provider: 'a', ...MIDDLE },
        ],
        'v/worded': [{ provider: 'worded', ...CHEAP }],
        'v/three': [
          { provider: 'a', ...CHEAP },
          { provider: 'b', ...MIDDLE },
          { provider: 'worded', prompt: 2_000, completion: 2_000 },
        ],
        ...Object.fromEntries(
          Object.keys(POOLS).map((slug) => [
            `v/${slug}`,
            [
              { provider: slug, ...CHEAP },
              { provider: 'spare', ...MIDDLE },
            ],
          ]),
        ),
      },
    },
    (catalog) => movingGateway({ catalog }),
  ),
)

afterEach(async () => {
  bench.upstream.reset()
  await bench.settled()
  assert.deepEqual(
    bench.server.notices.filter((notice) => notice.startsWith('bug')),
    [],
  )
  // Beyond every ejection and pause.
  bench.server.clock.advance(600_000)
})

/** The asked providers, and the status of the answer. */
function outcome({ asked, status }: Routed): readonly [asked: readonly string[], status: number] {
  return [asked, status]
}

describe('models[]', () => {
  test('a model that fails gives way to the next; the answer names it, and its endpoint is paid', async () => {
    bench.upstream.says('a', fails(500))
    for (const stream of [false, true]) {
      const answer = await bench.ask({ model: 'v/first', models: ['v/second'], stream })
      assert.deepEqual(outcome(answer), [['a', 'b'], 200])
      assert.ok(
        answer.events.every(({ model, provider }) => model === 'v/second' && provider === nameOf('b')),
        answer.raw,
      )
      bench.server.clock.advance(60_000)
    }
  })

  test('a first model that answers is the one used', async () => {
    const answer = await bench.ask({ model: 'v/first', models: ['v/second'] })
    assert.deepEqual([answer.asked, answer.model], [['a'], 'v/first'])
  })

  test('a request that two providers of a model refuse is put to the next model', async () => {
    bench.upstream.says('b', fails(400))
    bench.upstream.says('c', fails(400))
    assert.deepEqual(outcome(await bench.ask({ model: 'v/second', provider: { order: ['b'] } })), [['b', 'c'], 400])
    const answer = await bench.ask({ models: ['v/second', 'v/first'], provider: { order: ['b'] } })
    assert.deepEqual([answer.asked, answer.model], [['b', 'c', 'a'], 'v/first'])
  })

  test('the preferences hold for every model, and a model they leave nothing of is passed over', async () => {
    const answer = await bench.ask({ model: 'v/first', models: ['v/second'], provider: { ignore: ['a', 'b'] } })
    assert.deepEqual([answer.asked, answer.model], [['c'], 'v/second'])
    const suffixed = await bench.ask({
      model: 'v/first:floor',
      models: ['v/second:floor'],
      provider: { ignore: ['a'] },
    })
    assert.deepEqual([suffixed.asked, suffixed.model], [['b'], 'v/second'])
  })

  test('the reservation is by the dearest that could serve, the charge by the one that did', async () => {
    const reserved = async (fields: Readonly<Record<string, unknown>>): Promise<number> => {
      let micro = 0
      for (const provider of ['a', 'b', 'c']) {
        bench.upstream.says(provider, async (response, asked) => {
          micro = await bench.heldMicro()
          void answers(response, asked)
        })
      }
      assert.equal((await bench.ask(fields)).status, 200)
      return micro
    }
    const cheap = await reserved({ model: 'v/first' })
    const middle = await reserved({ model: 'v/second', provider: { only: ['b'] } })
    const dear = await reserved({ model: 'v/second', provider: { only: ['c'] } })
    assert.deepEqual([middle, dear], [cheap * 1_000, cheap * 1_000_000])
    assert.equal(await reserved({ model: 'v/first', models: ['v/second'] }), dear)
    assert.equal(await reserved({ model: 'v/second', provider: { order: ['b'] } }), dear)
    // A provider that may not serve is not reserved for.
    assert.equal(await reserved({ model: 'v/first', models: ['v/second'], provider: { ignore: ['c'] } }), middle)
    assert.equal(await reserved({ model: 'v/second', provider: { sort: 'price', allow_fallbacks: false } }), middle)
  })
})

/** The provider fails after the client got a comment; returns a check of that. */
function silentThenFails(provider: string): () => void {
  const commented = Promise.withResolvers<void>()
  bench.upstream.says(provider, async (response, asked) => {
    bench.server.clock.advance(12_000)
    await commented.promise
    void fails(500)(response, asked)
  })
  return () => commented.resolve()
}

describe('keep-alive', () => {
  test('its comment is sent, and another provider can still take over after it', async () => {
    const commented = silentThenFails('a')
    const answer = await bench.ask({ model: 'v/pair', stream: true, provider: { order: ['a'] } }, commented)
    assert.match(answer.raw, /^: PROCESSING\n\n/)
    assert.deepEqual([answer.asked, answer.text, answer.done], [['a', 'b'], 'b', true])
  })

  test('when no endpoint is left the stream ends with an error, free of charge', async () => {
    const commented = silentThenFails('a')
    bench.upstream.says('b', fails(500))
    const answer = await bench.ask({ model: 'v/pair', stream: true, provider: { order: ['a'] } }, commented)
    assert.match(answer.raw, /^: PROCESSING\n\n/)
    assert.deepEqual([answer.asked, answer.status, answer.error?.code], [['a', 'b'], 200, 502])
  })

  test('after the first word there is no other provider', async () => {
    bench.upstream.says('a', (response) => {
      streamHead(response, 'begun')
      response.write('data: {"error":{"message":"broken","code":500}}\n\n')
      streamRest(response)
    })
    const answer = await bench.ask({ model: 'v/pair', stream: true, provider: { order: ['a'] } })
    assert.deepEqual([answer.asked, answer.text, answer.error?.code], [['a'], 'begun', 502])
  })
})

describe('key pools', () => {
  for (const [slug, [status, restSeconds]] of Object.entries(POOLS)) {
    test(`after ${status} the next key is tried at once, and the first rests ${restSeconds} s`, async () => {
      const wellWith = async (requests: number): Promise<readonly string[]> => {
        const from = bench.upstream.asked.length
        for (let count = 0; count < requests; count += 1) {
          const answer = await bench.ask({ model: `v/${slug}`, provider: { order: [slug] } })
          assert.deepEqual([answer.status, answer.provider], [200, nameOf(slug)])
        }
        return bench.upstream.asked.slice(from).map(({ apiKey }) => apiKey)
      }
      // The key of this conversation.
      const [bad = ''] = await wellWith(1)
      bench.upstream.says(
        slug,
        (response, asked) => void (asked.apiKey === bad ? fails(status) : answers)(response, asked),
      )
      const first = await wellWith(1)
      assert.deepEqual([first[0], first.length, first[1] === bad], [bad, 2, false])
      assert.equal(
        (await bench.endpoints(`v/${slug}`))[slug].status,
        0,
        'one bad key of three is no fault of the endpoint',
      )
      bench.server.clock.advance(restSeconds * 1_000 - 2_000)
      assert.deepEqual(await wellWith(3), [first[1], first[1], first[1]], 'it stays with the next one meanwhile')
      bench.server.clock.advance(2_000)
      bench.upstream.says(slug, answers)
      assert.deepEqual(await wellWith(1), [bad], 'and is back at once')
      const told = bench.server.notices.filter((notice) => notice.includes(`'${slug}'`))
      assert.deepEqual(
        told,
        status === 429
          ? []
          : [
              `Provider '${slug}' refuses key ${bad.at(-1)} of 3 (status ${status})`,
              `Provider '${slug}' takes key ${bad.at(-1)} of 3 again`,
            ],
      )
    })
  }

  test('Retry-After says how long a key rests', async () => {
    bench.upstream.says('pool429', fails(429, { 'retry-after': '40' }))
    const outcomes: unknown[] = []
    for (const waitMs of [0, 38_000, 2_000]) {
      bench.server.clock.advance(waitMs)
      const { asked, provider } = await bench.ask({ model: 'v/pool429', provider: { order: ['pool429'] } })
      outcomes.push([asked, provider])
    }
    // While all keys pause, the other provider is asked at once.
    const spare = nameOf('spare')
    assert.deepEqual(outcomes, [
      [['pool429', 'pool429', 'pool429', 'spare'], spare],
      [['spare'], spare],
      [['pool429', 'pool429', 'pool429', 'spare'], spare],
    ])
  })

  test('keys that are all refused leave the client to the other provider', async () => {
    bench.upstream.says('pool401', fails(401))
    assert.deepEqual(outcome(await bench.ask({ model: 'v/pool401', provider: { order: ['pool401'] } })), [
      ['pool401', 'pool401', 'pool401', 'spare'],
      200,
    ])
    assert.deepEqual(outcome(await bench.ask({ model: 'v/pool401', provider: { order: ['pool401'] } })), [
      ['spare'],
      200,
    ])
    assert.equal((await bench.endpoints('v/pool401'))['pool401'].status, -2)
  })
})

describe('a request that a provider has no words for', () => {
  const file = {
    type: 'file',
    file: { filename: 'a.txt', file_data: `data:text/plain;base64,${Buffer.from('hello').toString('base64')}` },
  }
  const messages = [{ role: 'user', content: [file, { type: 'text', text: 'read it' }] }]
  const order = { order: ['worded'] }

  test('goes to one that has, and speaks not against the first', async () => {
    for (const stream of [false, true])
      assert.deepEqual(outcome(await bench.ask({ model: 'v/mixed', messages, stream, provider: order })), [['a'], 200])
    assert.equal((await bench.endpoints('v/mixed'))['worded'].status, 0)
    bench.upstream.says('worded', answersAsCohere)
    assert.deepEqual(outcome(await bench.ask({ model: 'v/mixed', provider: order })), [['worded'], 200])
  })

  test('goes to another model, too', async () => {
    const answer = await bench.ask({ model: 'v/worded', models: ['v/first'], messages })
    assert.deepEqual([answer.asked, answer.model], [['a'], 'v/first'])
  })

  test('is the client to change only where no other provider has failed', async () => {
    const alone = await bench.ask({ model: 'v/worded', messages })
    assert.deepEqual(
      [outcome(alone), alone.error?.message],
      [[[], 400], 'messages[0].content[0]: this provider takes no part of type file'],
    )
    bench.upstream.says('a', fails(503))
    assert.deepEqual(outcome(await bench.ask({ model: 'v/mixed', messages, provider: order })), [['a'], 503])
    bench.server.clock.advance(60_000)
    assert.deepEqual(outcome(await bench.ask({ model: 'v/mixed', messages, provider: { order: ['a'] } })), [['a'], 503])
  })
})

describe('a long prompt, which is not kept in memory while a provider answers,', () => {
  const long = (word: string): string => `${word} «ё» \\ " `.repeat(1_500)
  const system = { role: 'system', content: long('rules') }
  const textsOf = (list: readonly { readonly text: string }[]): string => list.map(({ text }) => text).join('')
  const parts = [long('first'), long('the second harbour')].map((text) => ({ type: 'text', text }))
  const messages = [system, { role: 'user', content: parts }]

  test('reaches each provider of a chain whole', async () => {
    const from = bench.upstream.asked.length
    bench.upstream.says('a', fails(500))
    bench.upstream.says('b', fails(500))
    bench.upstream.says('worded', answersAsCohere)
    assert.deepEqual(outcome(await bench.ask({ model: 'v/three', messages })), [['a', 'b', 'worded'], 200])
    const sent = bench.upstream.asked.slice(from).map(({ body }) => body['messages'])
    assert.deepEqual(sent.slice(0, 2), [messages, messages])
    // oxlint-disable-next-line typescript/no-explicit-any
    const [first, second] = sent[2] as any
    assert.deepEqual([first, second.role], [system, 'user'])
    assert.deepEqual(textsOf(second.content), textsOf(parts))
  })

  test('is known again when a provider quotes it, which no log repeats', async () => {
    const said = 'Invalid input: the second harbour'
    bench.upstream.says('a', (response) => {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message: said } }))
    })
    const { headers } = await bench.ask({ model: 'v/pair', messages })
    const { body } = await bench.server.admin('GET', `/admin/v1/generations/${String(headers['x-generation-id'])}`)
    assert.equal(body.tries[0].said, '[withheld: it may repeat the prompt]')
    bench.server.clock.advance(60_000)
    const other = await bench.ask({ model: 'v/pair', messages: [{ role: 'user', content: long('third') }] })
    const story = await bench.server.admin('GET', `/admin/v1/generations/${String(other.headers['x-generation-id'])}`)
    assert.equal(story.body.tries[0].said, said)
  })
})
