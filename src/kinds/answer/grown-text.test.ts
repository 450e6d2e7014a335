import assert from 'node:assert/strict'
import { setFlagsFromString } from 'node:v8'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { Random } from '../../../test/sim/random.ts'
import { GrownText } from './grown-text.ts'

test('the pieces of any size and of any characters are read back as they came, halves of pairs included', () => {
  const random = new Random(7)
  const words = [
    'a',
    'Ünï',
    'слово',
    '日本語',
    '😀',
    '\u{1f468}',
    '\ud83d',
    '\ude00',
    '\0',
    ' ',
    'x'.repeat(700),
    'ё'.repeat(70_000),
  ]
  for (let round = 0; round < 40; round += 1) {
    const grown = new GrownText()
    const pieces: string[] = []
    for (let piece = 0; piece < 1_500; piece += 1) {
      // Long words are rare.
      const word = words[random.below(piece % 97 === 0 ? words.length : words.length - 1)] ?? ''
      // Splitting by code units cuts surrogate pairs.
      for (const part of random.below(2) === 0 ? [word] : word.slice(0, 20).split('')) {
        pieces.push(part)
        grown.add(part)
      }
      if (piece % 300 === 0) assert.ok(grown.toString() === pieces.join(''))
    }
    assert.ok(grown.toString() === pieces.join(''))
    assert.equal(grown.length, pieces.join('').length)
  }
})

test('a long text of single tokens takes about its bytes in memory', () => {
  setFlagsFromString('--expose-gc')
  // The flag makes this function in a new V8 context.
  const collect = runInNewContext('gc') as () => void
  const used = (): number => {
    collect()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  const before = used()
  const texts = Array.from({ length: 20 }, () => new GrownText())
  let bytes = 0
  for (let token = 0; token < 50_000; token += 1)
    for (const text of texts) {
      const piece = `${token % 1_000} `
      bytes += piece.length
      text.add(piece)
    }
  const grown = used() - before
  assert.equal(
    texts.reduce((sum, { length }) => sum + length, 0),
    bytes,
  )
  assert.ok(grown < bytes * 1.3 + 262_144, `${grown} bytes for ${bytes} characters`)
})
