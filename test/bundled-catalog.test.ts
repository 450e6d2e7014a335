import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { findProvider, type ModelInfo } from '@pydantic/genai-prices'
import { bundle, BUNDLED_FILE, committedHead, installedVersion } from '../scripts/bundled-catalog.ts'
import { constantFees, SEARCHES_ALWAYS } from '../scripts/bundled-fees.ts'
import { exactDecimal, rowPrices } from '../scripts/bundled-prices.ts'
import { readBundledRelease } from '../src/catalog/bundled-release.ts'
import { uncharged } from '../src/catalog/price-keys.ts'
import { decimalText } from '../src/base/money.ts'
import { chat, endpoint } from './harness/plan-fixture.ts'
import { openaiBody } from '../src/providers/openai/request.ts'

function row(prices: ModelInfo['prices'], contextWindow = 1_000_000): ModelInfo {
  return { id: 'm', match: { equals: 'm' }, context_window: contextWindow, prices }
}

function pricesOf(model: ModelInfo): unknown {
  const read = rowPrices(model, '2026-09-23')
  return 'refused' in read ? read.refused : read.prices
}

test('the committed catalogue is what the script makes of the installed package', () => {
  const head = committedHead()
  assert.equal(head?.version, installedVersion(), 'run npm run catalog:bundle')
  assert.equal(
    bundle(installedVersion(), head?.published ?? '').text,
    readFileSync(BUNDLED_FILE, 'utf8'),
    'run npm run catalog:bundle',
  )
})

test('every price of the file is a number that the data set holds, to the last digit', () => {
  const file = JSON.parse(readFileSync(BUNDLED_FILE, 'utf8'))
  const flat = new Map<string, string>()
  for (const model of file.models)
    for (const endpoint of model.endpoints) flat.set(`${endpoint.provider}/${endpoint.model}`, endpoint.price.prompt)
  let compared = 0
  for (const slug of ['openai', 'anthropic', 'mistral', 'groq', 'x-ai']) {
    for (const model of findProvider({ providerId: slug })?.models ?? []) {
      const price = Array.isArray(model.prices) ? undefined : model.prices['input_mtok']
      const bundled = flat.get(`${slug}/${model.id}`)
      if (typeof price !== 'number' || bundled === undefined) continue
      assert.equal(bundled, String(price), model.id)
      compared += 1
    }
  }
  assert.ok(compared > 50, String(compared))
})

test('tiers, hours of the day and announced changes: the dearest counts; past ones do not, nor a tier beyond the context window', () => {
  const tiered = { input_mtok: { base: 2.5, tiers: [{ start: 200_000, price: 5 }] }, output_mtok: 10 }
  assert.deepEqual(pricesOf(row(tiered)), { prompt: '5', completion: '10' })
  assert.deepEqual(pricesOf(row(tiered, 200_000)), { prompt: '2.5', completion: '10' })
  assert.deepEqual(
    pricesOf(
      row([
        { prices: { input_mtok: 9, output_mtok: 9 } },
        { constraint: { type: 'start_date', start_date: '2026-01-01' }, prices: { input_mtok: 1, output_mtok: 2 } },
        {
          constraint: { type: 'time_of_date', start_time: '01:00:00Z', end_time: '04:00:00Z' },
          prices: { input_mtok: 1.5, output_mtok: 2 },
        },
        { constraint: { type: 'start_date', start_date: '2027-01-01' }, prices: { input_mtok: 0.5, output_mtok: 3 } },
      ]),
    ),
    { prompt: '1.5', completion: '3' },
  )
})

test('prices per thousand become prices of one; a price without a meter leaves the row out', () => {
  assert.deepEqual(pricesOf(row({ input_mtok: 1, output_mtok: 1, requests_kcount: 12, web_searches_kcount: 2.5 })), {
    prompt: '1',
    completion: '1',
    request: '0.012',
    search: '0.0025',
  })
  assert.equal(
    pricesOf(row({ input_mtok: 1, output_mtok: 1, output_citation_mtok: 2 })),
    'no meter for output_citation_mtok',
  )
})

test('what arithmetic left behind is no price: it falls to the parent where that is dearer, else the row is left out', () => {
  assert.deepEqual(
    [0.1, 1e-7, 0.003625, 3.4375].map((value) => decimalText(exactDecimal(value) ?? { digits: -1n, scale: 0 })),
    ['0.1', '0.0000001', '0.003625', '3.4375'],
  )
  assert.equal(exactDecimal(0.1 + 0.2), null)
  assert.deepEqual(pricesOf(row({ input_mtok: 0.3, output_mtok: 2.5, cache_write_mtok: 0.08333333333333334 })), {
    prompt: '0.3',
    completion: '2.5',
  })
  assert.equal(
    pricesOf(row({ input_mtok: 0.01, output_mtok: 2.5, cache_write_mtok: 0.08333333333333334 })),
    'input_cache_write is not an exact decimal',
  )
})

test('every bundled price is one that an answer is charged by', () => {
  for (const { id, type, endpoints } of readBundledRelease().models) {
    for (const { price, supported_parameters: listed = [], native_responses: native = false } of endpoints) {
      assert.deepEqual(
        Object.keys(price).filter((key) => uncharged(type, key, { listed, native })),
        [],
        id,
      )
    }
  }
})

test("a fee for every request is in each of the model's routes, and a model that always searches has a price for it", () => {
  const fees = new Map<string, readonly string[]>()
  for (const slug of ['perplexity', 'openrouter', 'openai', 'groq', 'x-ai', 'google'])
    for (const model of findProvider({ providerId: slug })?.models ?? [])
      fees.set(`${slug}/${model.id}`, constantFees(model))
  assert.deepEqual(
    [fees.get('perplexity/sonar'), fees.get('perplexity/sonar-deep-research')?.includes('citation')],
    [['request'], true],
  )
  let searching = 0
  for (const { id, endpoints } of readBundledRelease().models) {
    const owed = new Set(endpoints.flatMap(({ provider, model }) => fees.get(`${provider}/${model}`) ?? []))
    for (const { provider, price } of endpoints) {
      assert.deepEqual(
        [...owed].filter((key) => !(key in price)),
        [],
        `${id} at ${provider}`,
      )
      if (!SEARCHES_ALWAYS.test(id)) continue
      searching += 1
      assert.ok(price.request !== undefined, `${id} at ${provider} searches for nothing`)
    }
  }
  assert.ok(searching > 0)
})

test("OpenAI's reasoning models get their limit as max_completion_tokens, and no parameter that they refuse", () => {
  const request = chat({
    max_tokens: 9,
    temperature: 0.5,
    top_p: 0.5,
    stop: ['x'],
    logprobs: true,
    presence_penalty: 1,
  })
  const found = readBundledRelease()
    .models.flatMap(({ endpoints }) => endpoints)
    .filter(({ provider, model }) => provider === 'openai' && /^(o\d|gpt-([5-9]|\d\d))/.test(model))
  assert.ok(found.length > 15, String(found.length))
  for (const { model, supported_parameters: supportedParameters = null } of found) {
    const body = openaiBody({
      endpoint: endpoint('openai', { upstreamModel: model, supportedParameters }),
      apiKey: null,
      request,
      sendMaxTokens: 9,
      generationId: 'gen-1-a',
      splice: null,
    })
    assert.deepEqual(
      [body['max_completion_tokens'], body['max_tokens'], body['logprobs']],
      [9, undefined, undefined],
      model,
    )
    if (!model.includes('chat'))
      assert.deepEqual(
        [body['temperature'], body['top_p'], body['stop'], body['presence_penalty']],
        [undefined, undefined, undefined, undefined],
        model,
      )
  }
})
