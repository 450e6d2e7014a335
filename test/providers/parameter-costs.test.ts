import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { MODEL_TYPES } from '../../src/catalog/catalog.ts'
import type { ChatRequest } from '../../src/kinds/chat/request.ts'
import { systemClock } from '../../src/base/clock.ts'
import { PARAMETER_TABLE } from '../../src/tables/parameter-table.ts'
import { isPriced, pricedRequest } from '../../src/pay/plan/parameter-costs.ts'
import { chat, endpoint } from '../harness/plan-fixture.ts'
import { parametersOf } from '../../src/protocols/ports/adapter.ts'
import { createAdapters } from '../../src/protocols/index.ts'
import { openaiBody } from '../../src/protocols/openai/provider/openai.ts'
import type { PriceKey } from '../../src/tables/meter-table.ts'

const { adapters, close } = createAdapters({ clock: systemClock })
after(close)

const MARKED = [
  { role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }] },
]
/** Every parameter of a chat. */
const ALL = {
  messages: MARKED,
  n: 2,
  max_tokens: 5,
  temperature: 1,
  top_p: 0.5,
  top_k: 3,
  min_p: 0.1,
  top_a: 0.1,
  frequency_penalty: 1,
  presence_penalty: 1,
  repetition_penalty: 1,
  seed: 1,
  stop: ['x'],
  logit_bias: { '1': 1 },
  logprobs: true,
  top_logprobs: 2,
  parallel_tool_calls: true,
  include_reasoning: true,
  user: 'u',
  service_tier: 'priority',
  prompt_cache_key: 'k',
  safety_identifier: 's',
  verbosity: 'low',
  metadata: { a: 'b' },
  prediction: { type: 'content', content: 'abc' },
  web_search_options: { search_context_size: 'high' },
  audio: { voice: 'alloy', format: 'wav' },
  modalities: ['text', 'audio', 'image', 'odd'],
  reasoning: { effort: 'low' },
  reasoning_effort: 'low',
}

function upstreamBody(
  request: ChatRequest,
  priced: readonly PriceKey[],
  supportedParameters: readonly string[] | null,
): Record<string, unknown> {
  const one = endpoint('p', { priced: new Set(priced), supportedParameters })
  return openaiBody({
    endpoint: one,
    apiKey: null,
    request: pricedRequest(request, one),
    sendMaxTokens: 7,
    generationId: 'gen-1-a',
    splice: null,
  })
}

test('every parameter that an adapter can send, and every one that a chat is read with, says what it costs', () => {
  const names = [...adapters.keys()].flatMap((name) =>
    MODEL_TYPES.flatMap((type) =>
      parametersOf(adapters, name, type).map((parameter) => [`${name} ${type}`, parameter] as const),
    ),
  )
  assert.ok(names.length > 200)
  for (const [where, name] of [...names, ...Object.keys(chat(ALL).parameters).map((name) => ['chat', name] as const)])
    assert.ok(name in PARAMETER_TABLE, `${where}: ${name} has no row`)
})

test('no parameter with a fee goes where nothing pays for it', () => {
  for (const supported of [
    null,
    ['temperature', 'modalities', 'service_tier', 'web_search_options', 'prediction', 'audio'],
  ]) {
    const body = upstreamBody(chat(ALL), ['prompt'], supported)
    for (const [name, { cost }] of Object.entries(PARAMETER_TABLE))
      if (cost !== 'units' && name !== 'modalities') assert.equal(body[name], undefined, name)
    assert.deepEqual(body['modalities'], ['text'])
    assert.doesNotMatch(JSON.stringify(body), /cache_control/)
  }
})

test('each goes where the row lists and prices it; what cannot be priced goes nowhere', () => {
  const every: readonly PriceKey[] = [
    'prompt',
    'completion',
    'search',
    'audio_output',
    'image_output',
    'input_cache_write',
    'input_cache_write_1h',
  ]
  const body = upstreamBody(chat(ALL), every, [
    'temperature',
    'service_tier',
    'web_search_options',
    'prediction',
    'modalities',
    'audio',
  ])
  assert.deepEqual(
    [body['web_search_options'], body['prediction'], body['modalities'], body['audio'], body['service_tier']],
    [{}, ALL.prediction, ['text', 'audio', 'image'], ALL.audio, undefined],
  )
  assert.deepEqual(body['messages'], MARKED)
  assert.deepEqual(upstreamBody(chat(ALL), ['input_cache_write'], null)['messages'], [
    { role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] },
  ])
  const plain = upstreamBody(chat(ALL), every, null)
  assert.deepEqual(
    [plain['web_search_options'], plain['prediction'], plain['audio']],
    [undefined, undefined, ALL.audio],
    'who lists nothing has not said that it searches',
  )
})

test('a request without any of it is passed on as it is', () => {
  const request = chat({ temperature: 1 })
  assert.equal(pricedRequest(request, endpoint('p')), request)
  assert.ok(isPriced(endpoint('p'), 'temperature'))
})
