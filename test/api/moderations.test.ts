import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gateway, type Answer } from '../harness/gateway.ts'
import { badRequestTests, type BadRequest } from '../harness/refused.ts'
import { answers, startScriptedUpstream } from '../harness/scripted-upstream.ts'

const MODEL = 'vendor/priced'
const CALM = {
  flagged: false,
  categories: { violence: false, 'violence/graphic': null },
  category_scores: { violence: 0.01, 'violence/graphic': null },
}
const CRUEL = {
  flagged: true,
  categories: { violence: true },
  category_scores: { violence: 0.99 },
  category_applied_input_types: { violence: ['text', 'image'] },
}
const PICTURE = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }

const upstream = await startScriptedUpstream()
const endpoint = (price: string): string =>
  `endpoints: [{ provider: one, model: omni-2024, price: { currency: RUB, request: ${price} } }]`
const tollgate = await gateway({
  catalog: `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  one: { name: One, adapter: openai, base_url: ${upstream.url}/v1, api_key: sk-upstream-canary }
models:
  - { id: ${MODEL}, type: moderation, ${endpoint('0.25')} }
  - { id: vendor/small, type: moderation, context_length: 100, tokenizer: o200k_base, ${endpoint('0.25')} }
  - { id: openai/omni-moderation-latest, type: moderation, input_modalities: [text, image], ${endpoint('0')} }
`,
})
const account = await tollgate.createAccount()

function judge(body: unknown, key = account.key): Promise<Answer> {
  return tollgate.post('/v1/moderations', key, body)
}

async function logOf(id: unknown, key = account.key): Promise<Record<string, unknown>> {
  const { body } = await tollgate.get(`/v1/generation?generation_id=${id}`, key)
  assert.equal(body.total, 1)
  return body.logs[0]
}

describe('what is refused', () => {
  const SHAPES = 'a string, an array of strings, or an array of parts of type text and image_url'
  const REFUSALS: readonly BadRequest[] = [
    ['no input', { input: undefined }, /^Parameter 'input' is required$/, 'missing_input'],
    ['an empty list', { input: [] }, /^Parameter 'input' is required$/, 'missing_input'],
    ['an empty model', { model: '' }, /^Parameter 'model' is required$/, 'missing_model'],
    ['a number', { input: 5 }, new RegExp(`^input: must be ${SHAPES}$`)],
    ['texts and a part', { input: ['x', PICTURE] }, /^input\[1\]: input must be/],
    ['parts and a text', { input: [PICTURE, 'x'] }, /^input\[1\]: input must be/],
    [
      'a part of another type',
      { input: [{ type: 'audio' }] },
      /^input\[0\]\.type: must be text or image_url, got 'audio'$/,
    ],
    [
      'a part whose type is no text',
      { input: [{ type: { toString: 1 } }] },
      /^input\[0\]\.type: must be text or image_url, got no text$/,
    ],
    [
      'an address of another kind',
      { input: [{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }] },
      /^input\[0\]\.image_url: must be an object whose url is an http, https or data URL$/,
    ],
    [
      'too many texts',
      { input: Array.from({ length: 2_049 }, () => 'x') },
      /^input: must hold at most 2048 items, got 2049$/,
    ],
    [
      'an image for a model that reads texts',
      { input: [PICTURE] },
      /^Model 'vendor\/priced' does not support image input\. Supported: text$/,
      'model_not_supported',
    ],
    [
      'a text that is too long for the model',
      { model: 'vendor/small', input: ['x', 'word '.repeat(200)] },
      /maximum context length is 100 tokens/,
      'input_tokens_exceeded',
    ],
    [
      'a chat model',
      { model: 'sandbox/chat' },
      /^Model 'sandbox\/chat' does not support moderations\. Supported: /,
      'model_not_supported',
    ],
  ]
  badRequestTests(
    { model: MODEL, input: 'x' },
    REFUSALS,
    (body) => judge(body),
    () => upstream.requests.length,
  )
})

test("a list of texts: one result each, the provider's categories as they are, one flat price", async () => {
  upstream.answer(answers({ id: 'modr-1', model: 'omni', results: [CALM, CRUEL], more: 'dropped' }))
  const { status, body } = await judge({ model: MODEL, input: ['peace', 'war'], user: 'x' })
  assert.equal(status, 200)
  const { id, ...rest } = body
  assert.deepEqual(rest, {
    model: MODEL,
    provider: 'One',
    results: [CALM, CRUEL],
    usage: { cost: 0.25, currency: 'RUB' },
  })
  assert.deepEqual(upstream.requests.at(-1), { model: 'omni-2024', input: ['peace', 'war'] })
  const log = await logOf(id)
  assert.deepEqual(
    [
      log['type'],
      log['total_cost'],
      log['provider_generation_id'] ?? 'modr-1',
      log['billing_basis'] ?? 'provider_usage',
    ],
    ['moderation', 0.25, 'modr-1', 'provider_usage'],
  )
})

test('a free model, which a client without a model means, judges parts together and takes no money', async () => {
  const poor = await tollgate.createAccount({ balance: 0 })
  upstream.answer(answers({ id: 'modr-2', results: [CRUEL] }))
  const input = [{ type: 'text', text: 'war' }, PICTURE]
  const { status, body, text } = await judge({ input }, poor.key)
  assert.equal(status, 200, text)
  assert.deepEqual([body.model, body.results, body.usage.cost], ['openai/omni-moderation-latest', [CRUEL], 0])
  assert.deepEqual(upstream.requests.at(-1), { model: 'omni-2024', input })
  assert.equal((await logOf(body.id, poor.key))['total_cost'], 0)
  const { body: paid } = await judge({ model: MODEL, input: 'x' }, poor.key)
  assert.equal(paid.error.metadata.error_type, 'insufficient_balance')
})

test('the models are listed with their price, a free one with 0', async () => {
  const { body } = await tollgate.get('/v1/moderations/models', account.key)
  const prices = new Map(
    body.data.map(({ id, pricing }: { id: string; pricing: { request: string } }) => [id, pricing.request]),
  )
  assert.deepEqual([prices.get(MODEL), prices.get('openai/omni-moderation-latest')], ['0.25', '0'])
})
