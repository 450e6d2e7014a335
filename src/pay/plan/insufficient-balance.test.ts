import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InsufficientBalanceError } from './plan.ts'

test('D-10.4: the 402 rounds the required amount up and the available one down, never below zero', () => {
  const error = new InsufficientBalanceError(12_341_000n, 3_218_900n, { tokens: true })
  assert.equal(
    error.message,
    'Insufficient balance: required 12.35 RUB, available 3.21 RUB. Top up your balance, lower max_tokens or choose a cheaper model.',
  )
  assert.deepEqual(error.body().error['metadata'], {
    error_type: 'insufficient_balance',
    required: 12.341,
    available: 3.2189,
    currency: 'RUB',
  })
  assert.equal(
    new InsufficientBalanceError(10_000n, -5n, { tokens: false }).message,
    'Insufficient balance: required 0.01 RUB, available 0.00 RUB. Top up your balance or choose a cheaper model.',
  )
})
