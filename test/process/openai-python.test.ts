import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { gateway } from '../harness/gateway.ts'

const PYTHON = join(import.meta.dirname, '../../node_modules/.cache/python/bin/python')

test('the official Python client', async (t) => {
  if (!existsSync(PYTHON)) {
    assert.notEqual(process.env['CI'], 'true', 'the Python client must be installed in CI')
    t.skip('SKIPPED: no Python client. .ci/run installs it into node_modules/.cache/python')
    return
  }
  const tollgate = await gateway()
  const { key } = await tollgate.createAccount()
  const poor = await tollgate.createAccount({ balance: 0 })
  const limited = await tollgate.createAccount({ key: { limit: 0 } })
  const { stdout } = await promisify(execFile)(PYTHON, [join(import.meta.dirname, 'openai_python.py')], {
    env: { BASE_URL: `${tollgate.url}/v1`, API_KEY: key, POOR_KEY: poor.key, LIMITED_KEY: limited.key },
  })
  assert.match(stdout, /^all \d+ checks passed\n$/)
})
