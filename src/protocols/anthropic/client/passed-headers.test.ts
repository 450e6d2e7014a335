import assert from 'node:assert/strict'
import { test } from 'node:test'
import { passedHeaders } from './parse.ts'

test('headers of the vendor pass, known or not, but for those that name an account or a price', () => {
  const headers = {
    'anthropic-version': '2026-10-21',
    'anthropic-beta': 'a-1,b-2;q=1/x:y',
    'anthropic-made-up': 'yes',
    'anthropic-workspace-id': 'w',
    'anthropic-organization-id': 'o',
    'anthropic-user-profile': 'u',
    'anthropic-priority': 'high',
    'anthropic-session-token': 't',
    'anthropic-line': 'a\r\nx-api-key: k',
    'anthropic-many': ['a', 'b'],
    'x-forwarded-for': '203.0.113.7',
    authorization: 'Bearer k',
    cookie: 'c',
  }
  assert.deepEqual(passedHeaders(headers as never), {
    'anthropic-version': '2026-10-21',
    'anthropic-beta': 'a-1,b-2;q=1/x:y',
    'anthropic-made-up': 'yes',
  })
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`anthropic-x${index}`, 'v']))
  assert.equal(Object.keys(passedHeaders(many)).length, 16)
})
