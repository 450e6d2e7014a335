import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { serve } from '../harness/gateway.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { refused } from '../harness/refused.ts'

/**
 * A provider bills the usage that it reports; the customer pays it as far as it is plausible. A token costs us 1 RUB
 * and is sold for 1 RUB.
 */

const served = await serve(
  startScriptedUpstream,
  ({ url }) => `
markup: 1
providers:
  p: { name: P, adapter: openai, base_url: "${url}", api_key: k }
models:
  - { id: test/plain, type: chat, context_length: 200000, tokenizer: o200k_base, max_completion_tokens: 1000, input_modalities: [text, image, file, video, audio], endpoints: [{ provider: p, model: m, price: { currency: RUB, prompt: 1000000, completion: 1000000 } }] }
`,
  5_000_000,
)
const { tollgate, upstream } = served
let { account } = served

interface Booked {
  readonly cost: number
  readonly row: Readonly<Record<string, unknown>>
}

/** `usage` as on the wire: JavaScript cannot represent some of its numbers. */
async function ask(
  usage: string,
  content: unknown = 'Hello',
  fields: Readonly<Record<string, unknown>> = {},
): Promise<Booked> {
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"one two three"},"finish_reason":"stop"}],"usage":${usage}}`,
    )
  })
  const answer = await tollgate.post('/v1/chat/completions', account.key, {
    model: 'test/plain',
    max_tokens: 50,
    messages: [{ role: 'user', content }],
    ...fields,
  })
  assert.equal(answer.status, 200, answer.text)
  const { body } = await tollgate.admin('GET', `/admin/v1/generations?generation_id=${answer.body.id}`)
  return { cost: answer.body.usage.cost, row: body.data[0] }
}

const said = (prompt: string | number, completion: string | number): string =>
  `{"prompt_tokens":${prompt},"completion_tokens":${completion}}`

describe('a number is read by one rule', () => {
  /** By our count "Hello" is 8 tokens, the answer 3. */
  const cases: readonly (readonly [name: string, usage: string, cost: number, basis: string, flagged: boolean])[] = [
    ['a fraction is the next whole number', said(20.5, 2.5), 24, 'provider_usage', false],
    ['digits in a text are the number', said('"20"', '"3"'), 23, 'provider_usage', false],
    ['beyond every number is missing', said('1e400', '1e400'), 11, 'counted', true],
    ['beyond 2^53 is missing', said('9007199254740993', 7), 15, 'counted', true],
    ['negative is missing', said(-5, 7), 15, 'counted', true],
    ['a word is missing', said('"many"', '"few"'), 11, 'counted', true],
    ['absent is missing', '{"prompt_tokens":20}', 23, 'counted', false],
    ['an explicit 0 stays 0', said(0, 0), 0, 'provider_usage', false],
  ]
  for (const [name, usage, cost, basis, flagged] of cases) {
    test(name, async () => {
      const { cost: told, row } = await ask(usage)
      assert.deepEqual(
        [told, row['total_cost'], row['provider_cost'], row['billing_basis'], row['flagged']],
        [cost, cost, cost, basis, flagged],
      )
    })
  }
})

describe('honest usage is charged whole', () => {
  const PIXEL =
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const cases: readonly (readonly [name: string, content: unknown, tokens: number])[] = [
    ['a picture of high detail', [{ type: 'image_url', image_url: { url: PIXEL, detail: 'high' } }], 36_800],
    [
      'a document',
      [{ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQKJSVFT0YK' } }],
      150_000,
    ],
    ['a video behind an address', [{ type: 'video_url', video_url: { url: 'https://example.com/v.mp4' } }], 180_000],
    [
      'a text in a script with two bytes for each letter',
      'Қазақстан Республикасы — унитарлы мемлекет. '.repeat(100),
      6_000,
    ],
  ]
  for (const [name, content, tokens] of cases) {
    test(name, async () => {
      const { cost, row } = await ask(said(tokens, 3), content)
      assert.deepEqual(
        [cost, row['total_cost'], row['provider_cost'], row['flagged']],
        [tokens + 3, tokens + 3, tokens + 3, false],
      )
    })
  }
})

test('what cannot be is not charged, and stays what the provider bills us', async () => {
  // 5 bytes, two frames of 8 and a template of 1,000.
  const { cost, row } = await ask(said(60_000, 900))
  assert.deepEqual([cost, row['total_cost'], row['provider_cost'], row['flagged']], [1_021 + 50, 1_071, 60_900, true])
  const document = await ask(said(300_000, 3), [
    { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQKJSVFT0YK' } },
  ])
  assert.deepEqual([document.cost, document.row['provider_cost'], document.row['flagged']], [201_003, 300_003, true])
})

test('the largest number there is breaks no sum', async () => {
  const { cost, row } = await ask(said('9007199254740991', '9007199254740991'))
  assert.deepEqual([cost, row['provider_cost']], [1_071, 100_000_000])
})

test('implausible usage and a shortfall are shown in the log, by a filter, as metrics and as events', async () => {
  await ask(said(20, 3))
  const { row } = await ask(said(60_000, 900))
  assert.deepEqual([Object(row['meters']).input, Object(row['reported_meters']).input], [1_021, 60_000])
  const flagged = await tollgate.admin('GET', '/admin/v1/generations?flagged=true&limit=100')
  assert.ok(
    flagged.body.data.length > 0 &&
      flagged.body.data.every((one: Readonly<Record<string, unknown>>) => one['flagged'] === true),
  )
  assert.equal(
    (await tollgate.admin('GET', '/admin/v1/generations?flagged=maybe')).body.error.metadata.error_type,
    'invalid_input',
  )
  // Held for 5 bytes and two frames of 8, and 50 of output; the template's tokens are beyond the balance.
  const poor = await tollgate.createAccount({ balance: 71 })
  account = poor
  const { cost, row: short } = await ask(said(100, 50))
  assert.deepEqual([cost, short['shortfall'], short['provider_cost']], [71, 79, 150])
  // Its losses exceed 20 RUB in this hour: requests that may cost more than their hold are refused until the next.
  const searching = await tollgate.post('/v1/chat/completions', poor.key, {
    model: 'test/plain',
    max_tokens: 1,
    messages: [{ role: 'user', content: 'Hello' }],
    web_search_options: {},
  })
  refused(searching, 429, 'rate_limit_exceeded')
  assert.match(
    searching.body.error.message,
    /^Answers of this account cost more than it had in this hour: tools that the provider runs are off until the next one\./,
  )
  assert.ok(Number(searching.headers['retry-after']) <= 3_600)
  const metrics = (await tollgate.request('GET', '/metrics')).text
  assert.match(metrics, /^tollgate_usage_flagged_total\{provider="p"\} \d+$/m)
  assert.match(metrics, /^tollgate_shortfall_rub_total\{provider="p"\} 79$/m)
  for (const action of ['usage.flagged', 'usage.shortfall']) {
    const { body } = await tollgate.admin('GET', `/admin/v1/events?action=${action}`)
    assert.deepEqual([body.data.length, body.data[0]?.object, body.data[0]?.actor], [1, 'p', 'system'])
  }
})
