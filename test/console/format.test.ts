import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { createFormat } from '../../console/src/parts/format.ts'

const ROOT = join(import.meta.dirname, '../..')
const MICRO = 1e6
const SECOND_WAYS = [
  [
    /new Intl\.|Intl\.(?:Number|DateTime|RelativeTime)Format\(|\.toLocale(?:Date|Time)?String\(/,
    'use a method of Format',
  ],
  [/end: true,\s*(?:value: [^\n]*\n\s*)?cell: [^\n]*\bformat\.money\(/, 'a column of sums is moneyInColumn'],
  [/\bcell: [^\n]*\bformat\.(?:dateTime|date|time|moment|ago)\(/, 'a time in a list is a Moment'],
] as const

/** The number as a reader sees it. */
function seen(shown: string, mark: string): number {
  return Math.round(
    Number(
      shown
        .replaceAll('−', '-')
        .replaceAll(mark === ',' ? /[^\d,-]/g : /[^\d.-]/g, '')
        .replace(',', '.'),
    ) * MICRO,
  )
}

test('figures that stand together add up as they are shown, in both languages', () => {
  for (const [language, mark] of [
    ['en', '.'],
    ['ru', ','],
  ] as const) {
    const format = createFormat(language, 'UTC')
    assert.equal(
      seen(format.money(303.337_5), mark) - seen(format.money(242.664_9), mark),
      seen(format.money(60.672_6), mark),
    )
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e12 }), fc.integer({ min: 0, max: 1e12 }), (revenue, cost) => {
        assert.equal(
          seen(format.money(revenue / MICRO), mark) - seen(format.money(cost / MICRO), mark),
          seen(format.money((revenue - cost) / MICRO), mark),
        )
      }),
    )
  }
})

test('no page rounds an amount by itself', () => {
  const pages = globSync('console/src/{pages,parts,shell}/**/*.tsx', { cwd: ROOT })
  assert.ok(pages.length > 50, `${pages.length} pages are read`)
  assert.deepEqual(
    pages.filter((path) => /\.toFixed\(|style: 'currency'/.test(readFileSync(join(ROOT, path), 'utf8'))).toSorted(),
    ['console/src/pages/operator/ModelForm.tsx'],
    'a first value of a price, which is typed on',
  )
})

test('a period names its days in full, in the right case, and its year once', () => {
  assert.deepEqual(createFormat('ru', 'UTC').span('2026-10-24', '2026-11-22'), {
    from: '24 октября',
    to: '22 ноября 2026 г.',
  })
  assert.deepEqual(createFormat('en', 'UTC').span('2025-12-24', '2026-01-22'), {
    from: '24 December 2025',
    to: '22 January 2026',
  })
})

test('numbers, money and times have one way into a text, and money stands in line in every list', () => {
  const faults = globSync('console/src/**/*.{ts,tsx}', { cwd: ROOT })
    .filter((file) => !file.endsWith('/parts/format.ts') && !file.endsWith('/zoned-day.ts'))
    .flatMap((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8')
      return SECOND_WAYS.filter(([pattern]) => pattern.test(text)).map(([, remedy]) => `${file}: ${remedy}`)
    })
  assert.deepEqual(faults, [])
  for (const file of globSync('console/src/locales/*.json', { cwd: ROOT }))
    assert.doesNotMatch(
      readFileSync(join(ROOT, file), 'utf8'),
      /\}\}\s(?:RUB|руб)/,
      `${file}: the sign of the ruble is ₽`,
    )
})

test('sums below each other stand at the decimal mark, and nothing is between a sum and its sign of the ruble', () => {
  for (const [language, mark] of [
    ['en', '.'],
    ['ru', ','],
  ] as const) {
    const format = createFormat(language, 'UTC')
    const column = [format.moneyInColumn(0.25), format.moneyInColumn(1_234.567891), format.moneyInColumn(-3)]
    const bill = ['0.25', '1.0000000001', '3'].map((decimal) => format.exactInColumn(decimal, 10))
    for (const sums of [column, bill])
      assert.equal(new Set(sums.map((sum) => sum.length - sum.indexOf(mark))).size, 1, sums.join('\n'))
    assert.equal(format.moneyInColumn(0.25).trimEnd(), format.money(0.25))
    assert.equal(format.exactInColumn('0.25', 10).trimEnd(), format.money(0.25))
  }
})

test('an exact sum of rubles looks as other sums do', () => {
  for (const language of ['en', 'ru']) {
    const format = createFormat(language, 'UTC')
    for (const value of [-1_234.56, 0.25, 12_345_678.125])
      assert.equal(format.exactMoney(String(value)), format.money(value))
  }
  assert.equal(createFormat('ru', 'UTC').exactMoney('0.0000000123'), '0,0000000123\u00a0₽')
  assert.equal(createFormat('en', 'UTC').exactMoney('3'), '₽3')
})
