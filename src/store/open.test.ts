import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OperatorError } from '../base/errors.ts'
import { openFailure } from './open.ts'
import { StoreUnavailableError } from '../ledger/ledger-store.ts'

const OPTIONS = { dataDir: '/data', databaseUrl: 'postgres://u:secret@db.example/tollgate' }

test("a database that the driver refuses by itself is one sentence with its address and the driver's words", () => {
  // pg's error when the URL has no password and the server requires one; it has no code.
  const cause = new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string')
  const told = openFailure(new StoreUnavailableError('The database takes no connection.', { cause }), OPTIONS)
  assert.ok(told instanceof OperatorError)
  assert.equal(
    told.message,
    'DATABASE_URL: the database tollgate at db.example:5432 cannot be used (SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string).',
  )
})

test('a bug stays a bug', () => {
  const bug = new TypeError('x is not a function')
  assert.equal(openFailure(bug, OPTIONS), bug)
})
