import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergeRates, parseDailyRates, refusalText } from './feed-rates.ts'

function daily(...entries: readonly string[]): string {
  return `<?xml version="1.0" encoding="windows-1251"?><ValCurs Date="21.11.2026" name="Foreign Currency Market">${entries.join('')}</ValCurs>`
}

function entry(code: string, nominal: string, value: string, unit = value): string {
  return `<Valute ID="R0"><NumCode>000</NumCode><CharCode>${code}</CharCode><Nominal>${nominal}</Nominal><Name>\u00c4</Name><Value>${value}</Value><VunitRate>${unit}</VunitRate></Valute>`
}

test('a rate is Value / Nominal, to the last digit', () => {
  assert.deepEqual(
    parseDailyRates(
      daily(
        entry('USD', '1', '92,5058'),
        entry('JPY', '100', '61,2093'),
        entry('VND', '10000', '37,9021', '0,0037902'),
        entry('AMD', '100', '24,0000'),
      ),
    ),
    {
      USD: '92.5058',
      JPY: '0.612093',
      VND: '0.00379021',
      AMD: '0.24',
    },
  )
})

test("another nominal takes the bank's own quotient, and what cannot be read is left out", () => {
  assert.deepEqual(
    parseDailyRates(
      daily(
        entry('AAA', '3', '1,0', '0,3333333'),
        entry('BBB', '7', '1,0', '1,4E-05'),
        entry('CCC', '3', '1,0', 'n/a'),
        entry('DDD', '1', '-1,5'),
        entry('EEE', '1', '0,0000'),
        entry('usd', '1', '5,0'),
      ),
    ),
    {
      AAA: '0.3333333',
      BBB: '0.000014',
    },
  )
})

test('anything but a whole daily list is refused', () => {
  for (const text of [
    '',
    '<html>Доступ запрещён</html>',
    daily(),
    daily(entry('USD', '1', '92,5')).replace('</ValCurs>', ''),
    '{"USD":92.5}',
  ])
    assert.equal(parseDailyRates(text), null, text)
})

test('a rate that moves by more than 30 % is refused, by exactly 30 % it is taken; the other rates of the file are taken', () => {
  const held = { USD: '100', EUR: '110', CNY: '10' }
  const merged = mergeRates(held, held, { USD: '130', EUR: '143.0001', CNY: '6.99', TRY: '2' })
  assert.deepEqual(merged.rates, { USD: '130', EUR: '110', CNY: '10', TRY: '2' })
  assert.equal(merged.changed, true)
  assert.deepEqual(merged.refused.map(refusalText), [
    'the rate of EUR is refused: 143.0001 is more than 30 % from the last good 110',
    'the rate of CNY is refused: 6.99 is more than 30 % from the last good 10',
  ])
})

test("the operator's last known rate is the measure of the first fetch, and the same rates change nothing", () => {
  assert.deepEqual(mergeRates({ USD: '92.5' }, {}, { USD: '200' }), {
    rates: {},
    changed: false,
    refused: [{ currency: 'USD', rate: '200', held: '92.5' }],
  })
  assert.deepEqual(mergeRates({ USD: '92.5' }, {}, { USD: '92.5' }), {
    rates: { USD: '92.5' },
    changed: true,
    refused: [],
  })
  assert.equal(mergeRates({ USD: '92.5' }, { USD: '92.5' }, { USD: '92.5' }).changed, false)
})
