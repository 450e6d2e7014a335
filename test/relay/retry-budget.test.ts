import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RetryBudget } from '../../src/pay/relay/attempt-queue.ts'
import { movingClock } from '../harness/moving-clock.ts'

function claims(budget: RetryBudget): number {
  let claimed = 0
  while (claimed < 100_000 && budget.claim()) claimed += 1
  return claimed
}

test('a node at rest has a hundred retries in ten seconds, and then twenty at a time', () => {
  const clock = movingClock()
  const budget = new RetryBudget(clock, () => 1)
  assert.equal(claims(budget), 100)
  for (let index = 0; index < 81; index += 1) budget.release()
  assert.equal(claims(budget), 1, 'nineteen were still running')
  clock.advance(10_000)
  assert.equal(claims(budget), 100)
})

test('a fifth of the requests of ten seconds may be tried again, all at once when a provider dies', () => {
  const clock = movingClock()
  const budget = new RetryBudget(clock, () => 64)
  for (let second = 0; second < 20; second += 1) {
    for (let index = 0; index < 500; index += 1) budget.earn()
    clock.advance(1_000)
  }
  for (let index = 0; index < 500; index += 1) budget.earn()
  assert.equal(claims(budget), 100 + 5_000 / 5)
})

test('a fifth of the requests under way may be retries', () => {
  const budget = new RetryBudget(movingClock(), () => 2_000)
  assert.equal(claims(budget), 400)
})
