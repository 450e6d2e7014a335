import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BOUNDED, isCounted, productExpressions, verdictOf } from '../source-expressions.ts'

test('no expression of the product takes more than linear time, but where its text is bounded', async () => {
  const slow: string[] = []
  for (const [text, { pattern, flags, places }] of productExpressions().literals) {
    if (BOUNDED[text] !== undefined || isCounted(pattern)) continue
    const verdict = await verdictOf(pattern, flags)
    if (verdict !== 'linear') slow.push(`${places.join(', ')}: ${text} is ${verdict}`)
  }
  assert.deepEqual(slow, [])
})
