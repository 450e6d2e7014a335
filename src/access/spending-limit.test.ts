import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limitExceededError } from './key-limiter.ts'

const MONTHLY = {
  status: 'limit_exceeded',
  limitMicro: 1_000_000_000n,
  limitReset: 'monthly',
  spentMicro: 980_000_000n,
  heldMicro: 0n,
} as const

test('D-9.3: a periodic limit names its period, numbers and reset, and asks not to be retried', () => {
  const error = limitExceededError(MONTHLY, 25_400_000n, Date.UTC(2026, 11, 1))
  assert.equal(
    error.message,
    'Key limit exceeded (monthly limit): spent 980.00 RUB of 1000.00 RUB, this request needs up to 25.40 RUB. The limit resets at 2026-12-01T00:00:00Z.',
  )
  assert.deepEqual(error.body().error['metadata'], {
    error_type: 'limit_exceeded',
    limit: 1000,
    spent: 980,
    required: 25.4,
    limit_reset: 'monthly',
    resets_at: '2026-12-01T00:00:00Z',
  })
  assert.deepEqual([error.status, error.details.noRetry, error.details.retryAfterSeconds], [429, true, undefined])
})

test('D-9.3: a fixed limit never resets, and the holds of running requests are named separately', () => {
  const outcome = {
    status: 'limit_exceeded',
    limitMicro: 10_000_000n,
    limitReset: null,
    spentMicro: 1n,
    heldMicro: 4_000_000n,
  } as const
  assert.equal(
    limitExceededError(outcome, 7_000_001n, null).message,
    'Key limit exceeded (total limit): spent 0.01 RUB of 10.00 RUB (4.00 RUB more is reserved by running requests), this request needs up to 7.01 RUB.',
  )
})

test('the limit of an account is told by its name, in the sentence and for programs', () => {
  const error = limitExceededError({ ...MONTHLY, ofAccount: true }, 25_400_000n, Date.UTC(2026, 11, 1))
  assert.equal(
    error.message,
    'Account limit exceeded (monthly limit): spent 980.00 RUB of 1000.00 RUB, this request needs up to 25.40 RUB. The limit resets at 2026-12-01T00:00:00Z.',
  )
  assert.deepEqual(error.body().error['metadata'], {
    error_type: 'limit_exceeded',
    limit: 1000,
    spent: 980,
    required: 25.4,
    limit_reset: 'monthly',
    resets_at: '2026-12-01T00:00:00Z',
    limit_of: 'account',
  })
  assert.deepEqual([error.status, error.details.noRetry], [429, true])
})
