import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { freshFolder } from '../harness/lasting.ts'

const HARNESS = join(import.meta.dirname, '../harness/gateway.ts')
/** Far below the retention of a resumable stream. */
const END_MS = 60_000

const PROGRAM = `
import { gateway } from ${JSON.stringify(HARNESS)}
const tollgate = await gateway()
const { key } = await tollgate.createAccount()
const response = await fetch(tollgate.url + '/v1/chat/completions', {
  method: 'POST',
  headers: { authorization: 'Bearer ' + key, 'content-type': 'application/json', 'x-request-id': 'resume-1' },
  body: JSON.stringify({ model: 'sandbox/chat', stream: true, messages: [{ role: 'user', content: 'hi' }] }),
})
await response.text()
await tollgate.stop()
console.log('stopped')
`

test('nothing that a stopped server has kept holds its process: a stream that could be resumed neither', async () => {
  const folder = freshFolder()
  const file = join(folder, 'program.mjs')
  writeFileSync(file, PROGRAM)
  // It is no test, whose server ends by itself.
  const { NODE_TEST_CONTEXT: _test, ...env } = process.env
  const program = promisify(execFile)(process.execPath, [file], { timeout: END_MS, env })
  assert.equal((await program).stdout, 'stopped\n')
})
