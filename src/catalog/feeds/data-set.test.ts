import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decimalText } from '../../base/money.ts'
import { LimitList } from './data-set-limits.ts'
import { constantFees, exactDecimal, rowPrices } from './data-set-prices.ts'
import { readDataSet } from './data-set.ts'

const DAY = '2026-09-23'

function priceOf(prices: unknown, context = 1_000_000, variants?: unknown): unknown {
  const read = rowPrices({ prices, variants }, DAY, context)
  return 'refused' in read ? read.refused : read.price
}

const TIERED = { input_mtok: { base: 2.5, tiers: [{ start: 200_000, price: 5 }] }, output_mtok: 10 }

test('a step is a tier, not the price; one that begins at the end of the window is never reached', () => {
  assert.deepEqual(priceOf(TIERED), { prompt: '2.5', completion: '10', tiers: [{ above: 200_000, prompt: '5' }] })
  assert.deepEqual(priceOf(TIERED, 200_000), { prompt: '2.5', completion: '10' })
  const two = {
    input_mtok: {
      base: 1,
      tiers: [
        { start: 256, price: 4 },
        { start: 32, price: 2 },
      ],
    },
    output_mtok: { base: 6, tiers: [{ start: 32, price: 12 }] },
  }
  assert.deepEqual(priceOf(two), {
    prompt: '1',
    completion: '6',
    tiers: [
      { above: 32, prompt: '2', completion: '12' },
      { above: 256, prompt: '4', completion: '12' },
    ],
  })
})

test('the hours of the day are hours, the last that the data set lists first; past and coming changes do not count', () => {
  assert.deepEqual(
    priceOf([
      { prices: { input_mtok: 9, output_mtok: 9 } },
      { constraint: { start_date: '2026-01-01' }, prices: { input_mtok: 1, output_mtok: 2 } },
      { constraint: { start_time: '01:00:00Z', end_time: '04:00:00Z' }, prices: { input_mtok: 1.5, output_mtok: 2 } },
      { constraint: { start_time: '03:00:00Z', end_time: '05:00:00Z' }, prices: { input_mtok: 1.6, output_mtok: 2 } },
      { constraint: { start_date: '2027-01-01' }, prices: { input_mtok: 0.5, output_mtok: 3 } },
      { constraint: { moon: 'full' }, prices: { input_mtok: 0.1, output_mtok: 0.1 } },
    ]),
    {
      prompt: '1',
      completion: '2',
      hours: [
        { from: '03:00', to: '05:00', timezone: 'UTC', prompt: '1.6', completion: '2' },
        { from: '01:00', to: '04:00', timezone: 'UTC', prompt: '1.5', completion: '2' },
      ],
    },
  )
})

test('flex and priority are service tiers that keep what they do not name; batches and modes are none', () => {
  const variants = [
    { when: { service_tier: 'default' }, prices: {} },
    { when: { service_tier: 'flex' }, constraint: { start_date: '2026-01-01' }, prices: { input_mtok: 1 } },
    { when: { service_tier: 'priority' }, constraint: { start_date: '2026-12-01' }, prices: { input_mtok: 9 } },
    { when: { processing: 'batch' }, prices: { input_mtok: 1 } },
    { when: { service_tier: 'priority', route: 'eu' }, prices: { input_mtok: 1 } },
  ]
  assert.deepEqual(priceOf({ input_mtok: 2, output_mtok: 4 }, 1_000, variants), {
    prompt: '2',
    completion: '4',
    service_tiers: { flex: { prompt: '1', completion: '4' } },
  })
})

test('prices per thousand become prices of one; a price without a meter leaves the row out', () => {
  assert.deepEqual(priceOf({ input_mtok: 1, output_mtok: 1, requests_kcount: 12, web_searches_kcount: 2.5 }), {
    prompt: '1',
    completion: '1',
    request: '0.012',
    search: '0.0025',
  })
  assert.equal(priceOf({ input_mtok: 1, output_citation_mtok: 2 }), 'no meter for output_citation_mtok')
  assert.deepEqual(constantFees([{ prices: { requests_kcount: 5, output_citation_mtok: 2 } }]), ['request', 'citation'])
})

test('what arithmetic left behind is no price: it falls to the parent where that is dearer, else the row is left out', () => {
  assert.deepEqual(
    [0.1, 1e-7, 0.003625, 3.4375].map((value) => decimalText(exactDecimal(value) ?? { digits: -1n, scale: 0 })),
    ['0.1', '0.0000001', '0.003625', '3.4375'],
  )
  for (const wrong of [0.1 + 0.2, -1, 1e9, Number.NaN, Infinity]) assert.equal(exactDecimal(wrong), null)
  assert.deepEqual(priceOf({ input_mtok: 0.3, output_mtok: 2.5, cache_write_mtok: 0.08333333333333334 }), {
    prompt: '0.3',
    completion: '2.5',
  })
  assert.equal(
    priceOf({ input_mtok: 0.01, output_mtok: 2.5, cache_write_mtok: 0.08333333333333334 }),
    'input_cache_write is not an exact decimal',
  )
})

function read(models: readonly unknown[], list: unknown, ids: Readonly<Record<string, string>> = {}): unknown {
  const set = readDataSet({
    prices: [{ id: 'openai', pricing_urls: ['https://page.example'], models }],
    limits: new LimitList(list),
    day: DAY,
    ids: new Map(Object.entries(ids)),
  })
  return set?.models.map(({ id, context_length, max_completion_tokens, guessed, endpoints }) => ({
    id,
    context_length,
    max_completion_tokens,
    ...(guessed === undefined ? {} : { guessed }),
    ...(endpoints[0]?.context_length === undefined ? {} : { ends: endpoints[0].context_length }),
  }))
}

const ROW = {
  id: 'gpt-9',
  match: { equals: 'gpt-9' },
  context_window: 400_000,
  prices: { input_mtok: 2, output_mtok: 8 },
}
const LISTED = {
  input_cost_per_token: 2e-6,
  output_cost_per_token: 8e-6,
  max_input_tokens: 400_000,
  max_output_tokens: 100_000,
}
const FULL = { id: 'openai/gpt-9', context_length: 400_000, max_completion_tokens: 100_000 }

test('limits are those of the list; a guess says that it is one; where the lists disagree, or one of ours is gone, the row is left out', () => {
  assert.deepEqual(read([ROW], { 'gpt-9': LISTED }), [FULL])
  assert.deepEqual(read([ROW], {}), [{ ...FULL, max_completion_tokens: 32_768, guessed: ['max_completion_tokens'] }])
  assert.deepEqual(read([ROW], { 'gpt-9': { ...LISTED, output_cost_per_token: 9e-6 } }), [])
  assert.deepEqual(read([ROW], { 'gpt-9': { ...LISTED, deprecation_date: DAY } }), [])
  assert.deepEqual(read([ROW], { 'gpt-9': { ...LISTED, deprecation_date: '2026-09-24' } }), [FULL])
  assert.deepEqual(read([ROW], { 'gpt-8': LISTED }), [], 'known or not')
  assert.deepEqual(read([ROW], { 'gpt-8': LISTED }, { 'openai/gpt-9': 'openai/nine' }), [])
  assert.deepEqual(read([ROW], { 'gpt-9': LISTED }, { 'openai/gpt-9': 'openai/nine' }), [
    { ...FULL, id: 'openai/nine' },
  ])
})

test('a row with one price of a model that has a step at its maker ends at the step', () => {
  const list = { 'gpt-9': { ...LISTED, input_cost_per_token_above_272k_tokens: 4e-6 } }
  assert.deepEqual(read([ROW], list), [{ ...FULL, ends: 272_000 }])
  const stepped = { input_mtok: { base: 2, tiers: [{ start: 272_000, price: 4 }] }, output_mtok: 8 }
  assert.deepEqual(read([{ ...ROW, prices: stepped }], list), [FULL])
})

test('whatever the lists say, reading them ends, and answers rows or nothing', () => {
  const hostile = fc.oneof(fc.jsonValue(), fc.constantFrom(-1, 1e308, Number.NaN, '9'.repeat(400), [], {}))
  const record = fc.record(
    {
      id: fc.oneof(fc.string(), hostile),
      match: hostile,
      context_window: hostile,
      prices: hostile,
      price_variants: hostile,
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(fc.array(record), hostile, hostile, (models, list, prices) => {
      read([...models, { ...ROW, prices }], list)
      readDataSet({ prices: list, limits: new LimitList(models), day: DAY, ids: new Map() })
    }),
  )
  let deep: unknown = { equals: 'gpt-9' }
  for (let level = 0; level < 5_000; level += 1) deep = { or: [deep] }
  assert.deepEqual(read([{ ...ROW, match: deep }], { 'gpt-9': LISTED }), [FULL])
  assert.deepEqual(read([{ ...ROW, match: { regex: '(a+)+$' } }], { 'gpt-9': LISTED }), [FULL])
})
