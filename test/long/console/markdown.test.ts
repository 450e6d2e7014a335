import assert from 'node:assert/strict'
import { test } from 'node:test'
import { markdownTokens } from '../../../console/src/parts/markdown/parse.ts'
import { cpuMs } from '../../harness/patience.ts'

interface Piece {
  readonly type: string
  readonly content: string
  readonly children?: readonly Piece[] | null
}

function formulas(text: string): readonly string[] {
  const all = (tokens: readonly Piece[]): readonly Piece[] =>
    tokens.flatMap((token) => [token, ...all(token.children ?? [])])
  return all(markdownTokens(text))
    .filter(({ type }) => type.startsWith('formula'))
    .map(({ type, content }) => `${type.slice('formula_'.length)}: ${content}`)
}

test('formulas are found in all four spellings, and prices stay text', () => {
  assert.deepEqual(formulas('so $x^2$ and \\(a_b\\) hold'), ['inline: x^2', 'inline: a_b'])
  assert.deepEqual(formulas('$$\na\n= b\n\n- c\n$$\nafter'), ['block: a\n= b\n\n- c'])
  assert.deepEqual(formulas('before\n\\[ \\frac12 \\]'), ['block: \\frac12'])
  assert.deepEqual(formulas('- one\n\n  $$x$$\n- two'), ['block: x'])
  assert.deepEqual(formulas('it costs $5, or $10 a month'), [])
  assert.deepEqual(formulas('`$x$` and \\$y\\$ and $ z $ and [a $b](http://c.example) $'), [])
  assert.deepEqual(formulas('$a\\$b$'), ['inline: a\\$b'])
})

const repeated =
  (piece: string) =>
  (size: number): string =>
    piece.repeat(Math.ceil(size / piece.length)).slice(0, size)
/** Texts on which a parser may take the square of their length. */
const HOSTILE: Readonly<Record<string, (size: number) => string>> = {
  'nested lists': repeated('- '),
  'nested quotes': repeated('> '),
  'numbered lists': repeated('1. '),
  backticks: repeated('`'),
  'runs of backticks': (size) =>
    Array.from({ length: Math.sqrt(2 * size) }, (_, length) => '`'.repeat(length)).join(' '),
  'dollar signs': repeated('$'),
  'beginnings of formulas': repeated('$a '),
  'beginnings of bracketed formulas': repeated(String.raw`\( `),
  'lines that begin formulas': repeated('\\[a\n'),
  'lines of dollars': repeated('$$a\n'),
  'beginnings of formulas in a link': (size) =>
    `[${repeated(String.raw`\( `)(size)}](http://a.example) ${String.raw`\)`}`,
  brackets: repeated('['),
  pictures: repeated('!['),
  emphasis: repeated('*a_ '),
  tables: (size) => `a|b\n-|-\n${repeated('x|y\n')(size)}`,
  references: repeated('[a]: b\n'),
  tags: repeated('<div>'),
  fences: repeated('```\n'),
}

for (const [name, text] of Object.entries(HOSTILE))
  test(`${name}: four times the text takes no sixteen times the work`, () => {
    const small = Math.max(
      20,
      cpuMs(() => void markdownTokens(text(20_000))),
    )
    const large = cpuMs(() => void markdownTokens(text(80_000)))
    assert.ok(large < 10 * small, `${small} ms, then ${large} ms`)
  })
