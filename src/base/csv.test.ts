import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { csvLine } from './csv.ts'

const SRC = join(import.meta.dirname, '..')

/**
 * The cells that a strict spreadsheet with this separator reads from the line: a quote counts only at the start of a
 * cell.
 */
function cellsBy(separator: string, line: string): readonly string[] {
  return line
    .split(/\r\n|\r|\n/)
    .flatMap((part) => part.split(separator))
    .map((cell) => cell.replaceAll(/^[ "\v\f\u00A0\u200B\u2003\u3000\uFEFF]+/g, ''))
}

test('no text makes a formula, whichever character the reader separates cells by', () => {
  const word = fc
    .array(
      fc.constantFrom(
        '=',
        '+',
        '-',
        '@',
        '＝',
        ';',
        '\t',
        '|',
        ',',
        '"',
        "'",
        ' ',
        '\f',
        '\u2003',
        '\u3000',
        '\u200B',
        '\uFEFF',
        '\r',
        '\n',
        'x',
        '1',
        "cmd|' /C calc'!A0",
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 4 }), (texts) => {
      const line = csvLine(texts)
      for (const separator of [',', ';', '\t', '|']) {
        for (const cell of cellsBy(separator, line))
          assert.doesNotMatch(cell, /^[=+\-@＝]/, JSON.stringify({ separator, line }))
      }
    }),
    { numRuns: 2_000 },
  )
})

test('what separates cells anywhere stands in quotes; numbers and plain texts stand as they are', () => {
  assert.equal(csvLine(['x;=1+cmd|calc', 'a\tb', 'a|b', 'say "hi"']), `"x;'=1+cmd|calc","a\tb","a|b","say ""hi"""\r\n`)
  assert.equal(
    csvLine(['=1', '-1', -1, 0.5, true, null, '', 'gpt-4o', 'a-b=c']),
    "'=1,'-1,-1,0.5,true,,,gpt-4o,a-b=c\r\n",
  )
})

test('a long text of separators is read in linear time', () => {
  const began = process.threadCpuUsage()
  for (const text of ['; '.repeat(500_000), ' '.repeat(1_000_000), '"'.repeat(1_000_000), ';"'.repeat(500_000)])
    csvLine([text])
  const { user } = process.threadCpuUsage(began)
  // A quadratic reader would take minutes.
  assert.ok(user < 5_000_000, `${user} µs`)
})

test('there is one writer of CSV', () => {
  const own = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
    (name) =>
      name.endsWith('.ts') &&
      !name.endsWith('.test.ts') &&
      /['"`]text\/csv;/.test(readFileSync(join(SRC, name), 'utf8')),
  )
  assert.deepEqual(own, [join('base', 'csv.ts')])
})

test('a file for Excel with Russian settings has semicolons and decimal commas', () => {
  const values = ['a;b', 'c,d', 1.5, -2, { decimal: '0.000001' }, null, true] as const
  assert.equal(csvLine(values, 'csv_semicolon'), '"a;b";"c,d";1,5;-2;0,000001;;true\r\n')
  assert.equal(csvLine(values), '"a;b","c,d",1.5,-2,0.000001,,true\r\n')
})
