import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { countTokens as countCl100k } from 'gpt-tokenizer/encoding/cl100k_base'
import { countTokens as countO200k } from 'gpt-tokenizer/encoding/o200k_base'
import { packedTokens } from '../../../../scripts/token-tables.ts'
import { cpuMs } from '../../../../test/harness/patience.ts'
import { Encoding, ENCODING_NAMES, type EncodingName } from './encoding.ts'

/** The counts of another, widely used package. */
const THEIRS: Readonly<Record<EncodingName, (text: string) => number>> = {
  o200k_base: (text) => countO200k(text, { disallowedSpecial: new Set() }),
  cl100k_base: (text) => countCl100k(text, { disallowedSpecial: new Set() }),
}
const WORDS = [
  'Hello',
  "don't",
  'ПРИВЕТ',
  'шлюз',
  'naïve',
  '日本語',
  '中',
  'नमस्ते',
  'مرحبا',
  '👩‍👩‍👧',
  'é',
  '\u0301',
  'ǅ',
  'ªº',
  '١٢٣٤',
]
const SIGNS = [
  ' ',
  '  ',
  '\n',
  '\r\n',
  '\t',
  '\u00a0',
  '/',
  '...',
  '=>',
  '"',
  "'S",
  "'ll",
  '0',
  '12345',
  '<|endoftext|>',
  '\u0000',
]

const text = fc.oneof(
  fc.array(fc.constantFrom(...WORDS, ...SIGNS), { maxLength: 40 }).map((parts) => parts.join('')),
  fc.array(fc.constantFrom(...WORDS), { maxLength: 40 }).map((parts) => parts.join(' ')),
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.lorem({ maxCount: 20 }),
  fc.tuple(fc.constantFrom(...WORDS, ...SIGNS), fc.nat(400)).map(([part, times]) => part.repeat(times)),
)

for (const name of ENCODING_NAMES) {
  const encoding = Encoding.load(name)

  test(`property: ${name} counts what others count`, () => {
    fc.assert(
      fc.property(text, (sample) => {
        assert.equal(encoding.count(sample), THEIRS[name](sample))
      }),
      { numRuns: 1_500 },
    )
  })

  test(`${name}: half of a surrogate pair counts as the character that stands for what is broken`, () => {
    assert.equal(encoding.count('a\ud800b'), encoding.count('a\ufffdb'))
    assert.equal(encoding.count(''), 0)
  })

  test(`the table of ${name} is what the list of its tokens makes`, () => {
    assert.ok(packedTokens(name).equals(readFileSync(join(import.meta.dirname, `${name}.tokens`))))
  })

  test(`${name}: a word of 100 kB is no dearer than as many short ones`, () => {
    for (const word of ['a', 'ab', '中', ' ', 'xyzzy'])
      assert.ok(cpuMs(() => encoding.count(word.repeat(100_000 / word.length)), 400) < 400, word)
  })
}
