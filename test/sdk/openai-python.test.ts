import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startTollgate } from '../harness/server.ts'

const PYTHON = join(import.meta.dirname, '../../node_modules/.cache/python/bin/python')

test('the official Python client: 11 checks', async (t) => {
  if (!existsSync(PYTHON)) {
    assert.notEqual(process.env['CI'], 'true', 'the Python client must be installed in CI')
    t.skip('SKIPPED: no Python client. .ci/run installs it into node_modules/.cache/python')
    return
  }
  const tollgate = await startTollgate()
  try {
    const { key } = await tollgate.createAccount()
    const { stdout } = await promisify(execFile)(PYTHON, [join(import.meta.dirname, 'openai_python.py')], { env: { BASE_URL: `${tollgate.url}/v1`, API_KEY: key } })
    assert.equal(stdout.trim(), '11')
  } finally {
    await tollgate.stop()
  }
})
