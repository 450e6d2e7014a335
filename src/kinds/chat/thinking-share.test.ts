import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fittedBudget } from './thoughts.ts'

test('a budget for thinking keeps its share of a shorter answer, and always leaves room for the text', () => {
  assert.equal(fittedBudget(32_000, 64_000, 8_000), 4_000)
  assert.equal(fittedBudget(63_999, 64_000, 8_000), 7_999)
  assert.equal(fittedBudget(2_000, 64_000, 1_500), 1_024)
  assert.equal(fittedBudget(2_000, 64_000, 1_024), null)
  for (let sent = 1_025; sent < 20_000; sent += 97)
    for (let budget = 1_024; budget < 20_001; budget += 531) {
      const fitted = fittedBudget(budget, 20_001, sent)
      assert.ok(fitted !== null && fitted >= 1_024 && fitted < sent, `${budget} of 20001, ${sent}: ${fitted}`)
    }
})

test("a pair that fits, and one that the client made itself, stay the client's", () => {
  assert.equal(fittedBudget(4_000, 64_000, 8_000), 4_000)
  assert.equal(fittedBudget(9_000, 8_000, 8_000), 9_000)
  assert.equal(fittedBudget(9_000, 8_000, 4_000), 9_000)
  assert.equal(fittedBudget(9_000, null, 4_000), 9_000)
  assert.equal(fittedBudget(9_000, -1, 4_000), 9_000)
  assert.equal(fittedBudget(9_000, 10_000, null), 9_000)
})
