import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compare, parseDecimal } from '../../base/money.ts'
import { listedModels, parsePriceList, priceListUrl } from './price-list-api.ts'
import { PRICE_LIST_API_NAMES, type PriceListApi } from '../provider-feeds.ts'
import { listSource } from './price-feed.ts'
import { priceChanges, releaseSource } from '../price-list.ts'
import type { ModelEntry } from '../document.ts'

/** A model of $3 and $15 for a million tokens, read from cache for $0.30, in the form of each service. */
const WRITTEN: Readonly<Record<PriceListApi, (id: unknown, price: unknown) => unknown>> = {
  openrouter: (id, prompt) => ({ id, pricing: { prompt, completion: '0.000015', input_cache_read: '0.0000003' } }),
  vercel: (id, input) => ({ id, pricing: { input, output: '0.000015', input_cache_read: '0.0000003' } }),
  requesty: (id, price) => ({ id, input_price: price, output_price: 0.000015, cached_price: 3e-7, caching_price: 0 }),
  together: (id, input) => ({ id, pricing: { hourly: 0, input, output: 15, base: 0, finetune: 0 } }),
  deepinfra: (id, price) => ({
    id,
    metadata: { pricing: { input_tokens: price, output_tokens: 15, cache_read_tokens: 0.3 } },
  }),
  xai: (id, price) => ({
    id,
    aliases: ['m-latest', 7],
    prompt_text_token_price: price,
    completion_text_token_price: 100_000,
    completion_text_token_price_long_context: 150_000,
    cached_prompt_text_token_price: 3_000,
  }),
}
const THREE: Readonly<Record<PriceListApi, unknown>> = {
  openrouter: '0.000003',
  vercel: '0.000003',
  requesty: 0.000003,
  together: 3,
  deepinfra: 3,
  xai: 30_000,
}

function answer(api: PriceListApi, models: readonly unknown[]): unknown {
  return api === 'together' ? models : api === 'xai' ? { models } : { object: 'list', data: models }
}

for (const api of PRICE_LIST_API_NAMES) {
  test(`${api}: prices come in the units of the file`, () => {
    const list = parsePriceList(api, answer(api, [WRITTEN[api]('m', THREE[api])]))
    const cached = api === 'together' ? {} : { input_cache_read: '0.3' }
    const whole = { prompt: '3', completion: '15', ...cached }
    const stepped = { ...whole, completion: '10', tiers: [{ above: 199_999, ...whole }] }
    assert.deepEqual(list?.get('m'), api === 'xai' ? stepped : whole)
    assert.equal(list.get('m-latest')?.prompt, api === 'xai' ? '3' : undefined)
    assert.equal(
      priceListUrl(api, 'https://a.example/v1'),
      `https://a.example/v1/${api === 'xai' ? 'language-models' : 'models'}`,
    )
  })

  test(`${api}: whatever a list says, a price is a number from 0 to a million, and a model that has none is left out`, () => {
    const hostile = fc.oneof(
      fc.constantFrom(
        'NaN',
        'Infinity',
        '-1',
        -1,
        '1e308',
        1e308,
        Number.NaN,
        '',
        ' 1',
        '0x1',
        '1,5',
        true,
        '9'.repeat(400),
      ),
      fc.jsonValue(),
      fc.double(),
      fc.string(),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.oneof(fc.string(), fc.jsonValue()), hostile)), fc.boolean(), (rows, isCut) => {
        const models = [...rows.map(([id, price]) => WRITTEN[api](id, price)), WRITTEN[api]('\0good', THREE[api])]
        const list = parsePriceList(api, answer(api, isCut ? models.slice(0, -1) : models))
        if (!isCut) assert.equal(list?.get('\0good')?.prompt, '3')
        for (const prices of list?.values() ?? [])
          for (const price of Object.values(prices).filter((one) => typeof one === 'string')) {
            const value = parseDecimal(String(price))
            assert.ok(value !== null && value.digits >= 0n && compare(value, { digits: 1_000_000n, scale: 0 }) <= 0)
          }
      }),
    )
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        parsePriceList(api, body)
        listedModels(api, answer(api, [body]))
      }),
    )
  })

  test(`${api}: a name that no store keeps is none`, () => {
    const rows = ['m\0', 'm'].map((id) => ({ id, name: 'a\0b', context_length: 5 }))
    const listed = listedModels(api, answer(api, rows))
    assert.deepEqual(
      listed.map(({ id, name }) => [id, name]),
      [['m', null]],
    )
  })

  test(`${api}: a list in another unit changes nothing by itself`, () => {
    const model = entry({ currency: 'USD', prompt: '3', completion: '15' })
    for (const places of [1, 2, 3, 4, 6, 8]) {
      const scaled = Number(THREE[api]) / 10 ** places
      for (const price of [scaled, Number(THREE[api]) * 10 ** places]) {
        const list = parsePriceList(api, answer(api, [WRITTEN[api]('m', price)]))
        if (list === null) continue
        const [change] = priceChanges({ models: [model], settings: {} }, listSource('p', list, 10))
        assert.ok(change?.reason === 'rise' || change?.reason === 'fall', `${price}: ${String(change?.reason)}`)
      }
    }
  })
}

function entry(price: ModelEntry['endpoints'][number]['price']): ModelEntry {
  return { id: 'acme/m', type: 'chat', context_length: 1_000, endpoints: [{ provider: 'p', model: 'm', price }] }
}

test('a release: prices by size are compared size by size, other sizes wait, and a provider with a list of its own is left to it', () => {
  const reason = (
    before: Readonly<Record<string, string>> | string,
    after: Readonly<Record<string, string>> | string,
  ): unknown => {
    const row = (image_output: typeof before): ModelEntry => entry({ currency: 'USD', image_output })
    const changes = priceChanges({ models: [row(before)], settings: {} }, releaseSource([row(after)], new Set(), 10))
    return changes.length === 0 ? 'same' : changes[0]?.reason
  }
  const sizes = { small: '1', large: '2' }
  assert.equal(reason(sizes, { large: '2', small: '1' }), 'same')
  assert.equal(reason(sizes, { small: '1.05', large: '2' }), null)
  assert.equal(reason(sizes, { small: '1', large: '3' }), 'rise')
  assert.equal(reason(sizes, { small: '1', huge: '2' }), 'unit')
  assert.equal(reason(sizes, '2'), 'unit')
  assert.equal(reason('2', sizes), 'unit')
  const source = releaseSource([entry({ currency: 'USD', prompt: '9' })], new Set(['p']), 10)
  assert.deepEqual(priceChanges({ models: [entry({ currency: 'USD', prompt: '3' })], settings: {} }, source), [])
})

test('a release brings the conditions of its prices with them, and waits where the dearest of them rises; a list leaves them', () => {
  const short = entry({ currency: 'USD', prompt: '4' })
  const price = { currency: 'USD', prompt: '3', tiers: [{ above: 200_000, prompt: '4' }] }
  const changes = (from: ModelEntry, to: ModelEntry): ReturnType<typeof priceChanges> =>
    priceChanges({ models: [from], settings: {} }, releaseSource([to], new Set(), 10))
  assert.deepEqual(
    changes(short, entry(price)).map(({ after, reason }) => [after, reason]),
    [[price, null]],
  )
  const dearer = entry({ ...price, tiers: [{ above: 200_000, prompt: '5' }] })
  assert.deepEqual(
    changes(entry(price), dearer).map(({ reason }) => reason),
    ['rise'],
  )
  const list = listSource('p', new Map([['m', { prompt: '3.1' }]]), 10)
  const [listed] = priceChanges({ models: [entry(price)], settings: {} }, list)
  assert.deepEqual(listed?.after, { ...price, prompt: '3.1' })
})
