import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tableTexts } from '../console/src/locales/table-texts.ts'
import { draftOf, entryOf } from '../console/src/pages/operator/model-draft.ts'
import { pricesOf } from '../src/api/public/model-record.ts'
import { PRICED_METERS, PRICE_SCALES } from '../src/tables/meter-table.ts'
import { exactCost } from '../src/tables/meters.ts'
import { MODEL_TYPES } from '../src/tables/model-types.ts'
import { compare, decimalText, ONE, parseDecimal, shift, ZERO } from '../src/base/money.ts'
import { uncharged, priceSheet } from '../src/catalog/price-sheet.ts'
import { priceText, shownPrices } from '../src/catalog/shown-prices.ts'

const USES = { listed: ['web_search_options'], native: false }

for (const { meter, priceKey, wire, types, scale } of PRICED_METERS) {
  test(`price.${priceKey} is charged, shown with its own text, and named in both languages`, () => {
    const sheet = priceSheet({ [priceKey]: '7.25' }, ONE)
    assert.ok(compare(exactCost({ [meter]: 1 }, sheet), ZERO) > 0)
    assert.equal(priceText(meter, sheet), '7.25')
    for (const type of MODEL_TYPES) {
      assert.equal(uncharged(type, priceKey, USES), !types.includes(type), type)
      assert.equal(shownPrices(type, sheet).find(({ key }) => key === priceKey)?.text, '7.25')
    }
    const { places, wirePlaces } = PRICE_SCALES[scale]
    const onWire = decimalText(shift(parseDecimal('7.25') ?? ZERO, places + wirePlaces))
    if (wire !== null) assert.equal(pricesOf('chat', sheet)[wire.name], onWire)
    for (const language of ['en', 'ru'] as const) {
      assert.notEqual(tableTexts(language).meter[meter], '')
      assert.notEqual(tableTexts(language).price[priceKey], '')
    }
  })
}

test('the editor of a model keeps the conditions of both its prices', () => {
  const prices = {
    prompt: '2',
    completion: '12',
    tiers: [{ above: 200_000, prompt: 4 }],
    service_tiers: { flex: { prompt: 1 } },
  }
  const hours = [{ from: '16:30', to: '00:30', timezone: 'UTC', prompt: 1 }]
  const entry = {
    id: 'a/m',
    type: 'chat' as const,
    name: 'M',
    context_length: 9,
    endpoints: [
      { provider: 'p', model: 'x', price: { currency: 'USD', ...prices, hours }, sell: { ...prices, hours } },
    ],
  }
  assert.deepEqual(entryOf(draftOf(entry)), entry)
})
