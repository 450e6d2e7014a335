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
  [/end: true,\s*(?:value: [^\n]*\n\s*)?cell: [^\n]*\bformat\.money\(/, 'an amount in a list is a Money'],
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

test('exact figures add up as they are shown, in both languages', () => {
  for (const [language, mark] of [
    ['en', '.'],
    ['ru', ','],
  ] as const) {
    const format = createFormat(language, 'UTC')
    assert.equal(
      seen(format.exactRubles(303.337_5), mark) - seen(format.exactRubles(242.664_9), mark),
      seen(format.exactRubles(60.672_6), mark),
    )
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e12 }), fc.integer({ min: 0, max: 1e12 }), (revenue, cost) => {
        assert.equal(
          seen(format.exactRubles(revenue / MICRO), mark) - seen(format.exactRubles(cost / MICRO), mark),
          seen(format.exactRubles((revenue - cost) / MICRO), mark),
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

test('numbers, money and times have one way into a text', () => {
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

test('amounts have kopecks, and below a kopeck two digits that say something', () => {
  const [en, ru] = [createFormat('en', 'UTC'), createFormat('ru', 'UTC')]
  for (const [value, shown, russian] of [
    [1_362.862513, '₽1,362.86', '1\u00a0362,86\u00a0₽'],
    [0, '₽0.00', '0,00\u00a0₽'],
    [0.01, '₽0.01', '0,01\u00a0₽'],
    [0.009, '₽0.009', '0,009\u00a0₽'],
    [0.001234, '₽0.0012', '0,0012\u00a0₽'],
    [0.000001, '₽0.000001', '0,000001\u00a0₽'],
    [-0.000345, '-₽0.00035', '-0,00035\u00a0₽'],
  ] as const) {
    assert.equal(en.money(value), shown)
    assert.equal(ru.money(value), russian)
  }
  assert.equal(en.exactRubles(1_362.862513), '₽1,362.862513')
})

test('an exact sum of rubles looks as other sums do', () => {
  for (const language of ['en', 'ru']) {
    const format = createFormat(language, 'UTC')
    for (const value of [-1_234.56, 0.25, 12_345_678.125])
      assert.equal(format.exactMoney(String(value)), format.exactRubles(value))
  }
  assert.equal(createFormat('ru', 'UTC').exactMoney('0.0000000123'), '0,0000000123\u00a0₽')
  assert.equal(createFormat('en', 'UTC').exactMoney('3'), '₽3')
})
