import assert from 'node:assert/strict'
import { test } from 'node:test'
import { terminalLine } from './terminal-line.ts'

test('a request on a terminal reads from left to right: when, what, how long, and whose it was last', () => {
  const fields = {
    request_id: 'req-1',
    method: 'POST',
    route: '/v1/chat/completions',
    status: 200,
    duration_ms: 12.5,
    account_id: 'acc_1',
    key_id: 'key_1',
    model: 'a/b',
    cost: '0.01',
    finish_reason: null,
  }
  const at = new Date(2026, 0, 2, 3, 4, 5)
  assert.equal(
    terminalLine(fields, at),
    '03:04:05 POST /v1/chat/completions 200 12.5 ms model=a/b cost=0.01 request_id=req-1 account_id=acc_1 key_id=key_1',
  )
  assert.equal(
    terminalLine({ request_id: 'req-2', method: 'GET', route: null, status: 404, duration_ms: 1 }, at),
    '03:04:05 GET - 404 1 ms request_id=req-2',
  )
})
