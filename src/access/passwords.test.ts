import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../base/errors.ts'
import { Passwords } from './passwords.ts'

test('requirement 10: two hashes run, twenty wait, the next is refused with Retry-After; room is given again', async () => {
  const passwords = new Passwords()
  const outcomes = await Promise.allSettled(
    Array.from({ length: 25 }, () => passwords.verify('seven quiet lanterns', null)),
  )
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
  assert.equal(refused.length, 3)
  for (const { reason } of refused) assert.ok(reason instanceof ApiError && reason.status === 503)
  assert.equal(await passwords.verify('seven quiet lanterns', null), false)
})

test('requirement 10: a hash matches only its password, in any Unicode form, and names its algorithm', async () => {
  const passwords = new Passwords()
  const stored = await passwords.hash('caf\u00e9 with two lanterns')
  assert.match(stored, /^argon2id\$/)
  assert.notEqual(stored, await passwords.hash('caf\u00e9 with two lanterns'))
  assert.equal(await passwords.verify('cafe\u0301 with two lanterns', stored), true)
  assert.equal(await passwords.verify('cafe with two lanterns', stored), false)
  assert.equal(await passwords.verify('', 'argon2id$broken'), false)
})

test('requirement 10: length counts characters, and passwords that are guessed first are refused', () => {
  const passwords = new Passwords()
  const refuse = (password: string, owner: readonly string[] = []): void =>
    assert.throws(() => passwords.check('password', password, owner), /^ApiError: password: /)
  refuse('eleven char')
  refuse('\u{1F512}'.repeat(11))
  refuse('x'.repeat(129))
  for (const common of [
    'password1234',
    'Password1234',
    'qwertyuiop123',
    '123456789012',
    'administrator',
    'zzzzzzzzzzzzzz',
  ])
    refuse(common)
  refuse('anna@example.com', ['anna@example.com', 'anna'])
  refuse('annaannaanna', ['anna@example.com', 'anna'])
  passwords.check('password', 'seven quiet lanterns', ['anna@example.com', 'anna'])
  passwords.check('password', 'x9'.repeat(64), [])
})
