import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { JsonSchema } from '../../base/schema.ts'
import { SCHEMA_NAMES } from './openapi.ts'

const SRC = join(import.meta.dirname, '../..')
/** The files that describe the records of the wire. */
const CONTRACTS = [
  'protocols/*/client/**/schema.ts',
  'api/{admin,cabinet,public}/*-contract.ts',
  'api/public/contract.ts',
]

test('the records of every contract have their names in the document', async () => {
  const contracts = CONTRACTS.flatMap((pattern) => globSync(pattern, { cwd: SRC }))
  assert.ok(contracts.length > 20)
  for (const path of contracts) {
    const exported = Object.entries((await import(join(SRC, path))) as Readonly<Record<string, unknown>>)
    const records = exported.filter(([name, value]) => /^[A-Z][a-z]/.test(name) && typeof value === 'object')
    // The cast is harmless: an object that is no schema is not in the map.
    const unnamed = records.filter(([, value]) => !SCHEMA_NAMES.has(value as JsonSchema))
    assert.deepEqual(unnamed, [], path)
  }
})
