import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkedReplay } from '../src/app/core.ts'
import { markupOf, pricesFor } from '../src/catalog/customer-prices.ts'
import { endpointPrices, rowPrices } from '../src/catalog/price-conditions.ts'
import { priceSheet, variantsOf } from '../src/catalog/price-sheet.ts'
import { chargeMicro, providerCostMicro, type Usage } from '../src/tables/meters.ts'
import { ONE, parseDecimal, type Decimal } from '../src/base/money.ts'
import { recheckedCharge } from '../src/ledger/recheck.ts'
import type { GenerationRow } from '../src/ledger/generation-record.ts'
import { decimals, instants, prices, servedTiers, usages } from './random-prices.ts'

function exact(text: string): Decimal {
  return parseDecimal(text) ?? assert.fail(text)
}

test('the page of arithmetic that the audit checks charges with comes to what the price code charges', () => {
  fc.assert(
    fc.property(
      prices,
      fc.option(prices, { nil: undefined }),
      decimals,
      decimals,
      usages,
      fc.option(usages, { nil: undefined }),
      fc.constantFrom('provider_usage' as const, 'provider_cost' as const),
      fc.boolean(),
      fc.record(
        { ofModel: decimals, ofProvider: decimals, ofCustomer: decimals, serviceTier: servedTiers },
        { requiredKeys: [] },
      ),
      instants,
      (price, sell, rate, markup, used, reported, billingBasis, isVaried, given, createdAtMs) => {
        const { ofModel, ofProvider, ofCustomer, serviceTier } = given
        const variant = isVaried ? (variantsOf(price, sell)[0] ?? null) : null
        const usage: Usage = used
        const listed = endpointPrices(
          { price: { currency: 'USD', ...price }, ...(sell === undefined ? {} : { sell }) },
          exact(rate),
          markupOf({ markup: ofModel }, { markup: ofProvider }, { markup }),
          variant,
        )
        const { charged, billed } = rowPrices(pricesFor(listed, ofCustomer), {
          usage,
          ...(reported === undefined ? {} : { reportedUsage: reported }),
          ...(serviceTier === undefined ? {} : { serviceTier }),
          billingBasis,
          createdAtMs,
        })
        const expected = {
          costMicro: chargeMicro(usage, charged.sheet),
          providerCostMicro: providerCostMicro(reported ?? usage, billed.sheet),
        }
        const endpoint = {
          provider: 'acme',
          model: 'large',
          price: { currency: 'USD', ...price },
          sell: sell === undefined ? undefined : { currency: 'RUB', ...sell },
        }
        const row = {
          model: 'acme/m',
          endpointId: 'acme/large',
          billingBasis,
          usage,
          createdAtMs,
          ...(serviceTier === undefined ? {} : { serviceTier }),
          ...(variant === null ? {} : { variant }),
          ...(ofCustomer === undefined ? {} : { markup: ofCustomer }),
          ...(reported === undefined ? {} : { reportedUsage: reported }),
        }
        assert.deepEqual(
          recheckedCharge(
            {
              settings: { rates: { USD: rate }, markup },
              providers: { acme: { markup: ofProvider } },
              models: [{ id: 'acme/m', markup: ofModel, endpoints: [endpoint] }],
            },
            row,
          ),
          expected,
        )
      },
    ),
    { numRuns: 500 },
  )
})

test('a charge that the price code makes and makes again wrongly is found', async () => {
  const sheet = priceSheet({ prompt: '2', completion: '4' }, ONE)
  const wrong = { sell: priceSheet({ prompt: '1', completion: '4' }, ONE), buy: sheet }
  const document = {
    settings: {},
    providers: {},
    models: [
      {
        id: 'acme/m',
        endpoints: [{ provider: 'acme', model: 'large', price: { currency: 'RUB', prompt: '2', completion: '4' } }],
      },
    ],
  }
  const usage = { input: 10, output: 1 }
  // The replay reads only these fields of the row.
  const row = {
    model: 'acme/m',
    endpointId: 'acme/large',
    billingBasis: 'provider_usage',
    usage,
    priceVersion: 1,
    costMicro: chargeMicro(usage, wrong.sell),
    shortfallMicro: 0n,
    providerCostMicro: chargeMicro(usage, sheet),
  } as GenerationRow
  const replay = (sell: typeof sheet): ReturnType<ReturnType<typeof checkedReplay>> =>
    checkedReplay({
      pricesOf: async () => ({ charged: { name: null, sheet: sell }, billed: { name: null, sheet } }),
      pricedCatalog: async () => document,
    })(row)
  assert.equal((await replay(wrong.sell))?.costMicro, 24n)
  assert.equal(row.costMicro, 14n)
})

test('the page imports nothing', () => {
  assert.doesNotMatch(
    readFileSync(join(import.meta.dirname, '../src/ledger/recheck.ts'), 'utf8'),
    /^import|\bimport\(/m,
  )
})
