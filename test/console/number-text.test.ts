import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { plainNumber, readNumber, writtenNumber } from '../../console/src/parts/number-text.ts'

const ROOT = join(import.meta.dirname, '../..')

const MONEY = { decimals: 6, least: 0 }
const read = (text: string, bounds = MONEY): string => {
  const reading = readNumber(text, bounds)
  return 'value' in reading ? reading.value : reading.problem
}

test('an amount reads as it was written, whichever mark its language has and however it was grouped', () => {
  for (const [text, value] of [
    ['1234,56', '1234.56'],
    ['1234.56', '1234.56'],
    ['1 234,56', '1234.56'],
    ['1\u00a0234,56 ₽', '1234.56'],
    ['1\u202f234\u202f567', '1234567'],
    ['1,234.56', '1234.56'],
    ['1.234,56', '1234.56'],
    ['1,234,567', '1234567'],
    ['1.234.567,5', '1234567.5'],
    ['0,125', '0.125'],
    ['0.125', '0.125'],
    ['1 234,567', '1234.567'],
    ['12345,678', '12345.678'],
    ['5', '5'],
    ['007', '7'],
    [',5', '0.5'],
    ['100 руб.', '100'],
    ['100 рублей', '100'],
    ['$ 1,234.50', '1234.5'],
    ["1'234.50", '1234.5'],
    ['10,00', '10'],
    ['400000', '400000'],
  ] as const)
    assert.equal(read(text), value, text)
  assert.equal(read('−5,5', { decimals: 2, least: -10 }), '-5.5')
})

test('a text that may mean two numbers is refused with both, and so is one that is no number', () => {
  assert.deepEqual(readNumber('1,234', MONEY), {
    problem: 'ambiguous',
    shown: { text: '1,234', whole: '1234', fraction: '1.2340' },
  })
  assert.deepEqual(readNumber('12.345', { decimals: 2 }), {
    problem: 'ambiguous',
    shown: { text: '12.345', whole: '12345', fraction: '12.34' },
  })
  for (const text of [
    'abc',
    '1,2,3',
    '5₽60',
    '1 ₽ 234',
    '5$600',
    '1.2.3',
    '12 34',
    '1,23.4',
    '1..2',
    '-',
    '₽',
    '1e5',
    '0x10',
    '1,',
    '١٢٣',
    '1,234,56',
    '9'.repeat(20),
  ])
    assert.equal(read(text), 'invalid', text)
})

test('nothing is moved into the bounds, rounded or cut', () => {
  assert.equal(read('5', { decimals: 2, least: 10 }), 'least')
  assert.equal(read('400000', { decimals: 2, least: 10, most: 350_000 } as typeof MONEY), 'most')
  assert.equal(read('1.239', { decimals: 2, least: 0 }), 'ambiguous')
  assert.equal(read('0.239', { decimals: 2, least: 0 }), 'decimals')
  assert.equal(read('1.5', { decimals: 0, least: 0 }), 'whole')
  assert.equal(read('-1'), 'least')
})

test('what a field shows reads as the same number, in both languages', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -1e8, max: 1e8 }),
      fc.integer({ min: 0, max: 999_999 }),
      fc.constantFrom(',', '.'),
      (whole, fraction, mark) => {
        const plain = plainNumber(Number(`${whole}.${String(fraction).padStart(6, '0')}`))
        assert.equal(read(writtenNumber(plain, mark), { decimals: 12, least: -1e10 }), plain)
      },
    ),
  )
  assert.equal(plainNumber(0.000001), '0.000001')
  assert.equal(plainNumber(1e-7), '0.0000001')
})

test('every number of the console is typed into the one field that reads so', () => {
  const pages = globSync('console/src/**/*.{ts,tsx}', { cwd: ROOT }).filter(
    (path) => !path.endsWith('/NumberField.tsx'),
  )
  assert.ok(pages.length > 100, `${pages.length} files are read`)
  const others = pages.filter((path) =>
    /\bNumberInput\b|inputMode=["{]["']?decimal|type=["']number/.test(readFileSync(join(ROOT, path), 'utf8')),
  )
  assert.deepEqual(others, [])
})
