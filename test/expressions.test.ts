import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BOUNDED, isCounted, productExpressions, verdictOf } from './source-expressions.ts'

const { literals, made } = productExpressions()

test('the expressions of the product are found, and none is made of text, which could not be checked', () => {
  assert.ok(literals.size > 150, `${literals.size} expressions were found`)
  assert.deepEqual(made, [])
})

test('every exception is of an expression that is there', () => {
  assert.deepEqual(
    Object.keys(BOUNDED).filter((text) => !literals.has(text)),
    [],
  )
})

test('the check sees what it is for', async () => {
  assert.match(await verdictOf('^\\s*(?:<\\?xml[^>]*>\\s*)?(?:<!--[\\s\\S]*?-->\\s*)*<svg[\\s>]', ''), /exponential/)
  assert.match(await verdictOf('\\s*;\\s*', ''), /2nd degree/)
  assert.equal(await verdictOf('^[a-z]+$', ''), 'linear')
  assert.ok(
    isCounted('^[a-z*]{1,64}\\*$') && !isCounted('a*') && !isCounted('[a]{2,}') && !isCounted('(a{1,999}){1,999}'),
  )
})
