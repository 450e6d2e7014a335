import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { test } from 'node:test'

const SRC = join(import.meta.dirname, '../..')
/** Where the records of the wire are described. */
const CONTRACTS = [
  'protocols/*/client/**/schema.ts',
  'api/{admin,cabinet,public}/*-contract.ts',
  'api/public/contract.ts',
]

test('the records of every contract have their names in the document', () => {
  const source = readFileSync(join(import.meta.dirname, 'schema-names.ts'), 'utf8')
  const named = [...source.matchAll(/from '(\..+)'/g)].map(([, path = '']) => posix.join('api/reference', path))
  const contracts = CONTRACTS.flatMap((pattern) => globSync(pattern, { cwd: SRC }))
  assert.ok(contracts.length > 20)
  assert.deepEqual(
    contracts.filter((path) => !named.includes(path)),
    [],
  )
})
