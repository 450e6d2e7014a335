import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gateway } from '../harness/gateway.ts'

const tollgate = await gateway()
const { key } = await tollgate.createAccount()

test('an unknown path answers in the protocol of its prefix', async () => {
  const messages = await tollgate.request('POST', '/v1/messages/nothing', { body: {} })
  assert.equal(messages.status, 404)
  assert.deepEqual(messages.body, {
    type: 'error',
    error: {
      type: 'not_found_error',
      message:
        'Unknown endpoint: POST /v1/messages/nothing. Offered there: POST /v1/messages, POST /v1/messages/count_tokens',
    },
    request_id: messages.headers['x-request-id'],
  })
  assert.equal(messages.headers['request-id'], messages.headers['x-request-id'])
  const gemini = await tollgate.request('POST', '/v1beta/nothing', { body: {} })
  assert.deepEqual(gemini.body, {
    error: { code: 404, message: 'Unknown endpoint: POST /v1beta/nothing', status: 'NOT_FOUND', details: [] },
  })
  const cohere = await tollgate.request('POST', '/v2/nothing', { body: {} })
  assert.deepEqual(cohere.body, { message: 'Unknown endpoint: POST /v2/nothing' })
  for (const { headers } of [messages, gemini, cohere]) assert.equal(headers['access-control-allow-origin'], '*')
})

test('every route takes the key in the header of any protocol, and no two that differ', async () => {
  for (const name of ['x-api-key', 'x-goog-api-key']) {
    const answer = await tollgate.request('GET', '/v1/credits', { headers: { [name]: key } })
    assert.equal(answer.status, 200, name)
  }
  const two = await tollgate.request('GET', '/v1/credits', { key, headers: { 'x-api-key': `${key}x` } })
  assert.equal(two.status, 401)
  assert.partialDeepStrictEqual(two.body, { error: { metadata: { error_type: 'invalid_api_key' } } })
  const query = await tollgate.request('GET', `/v1/credits?key=${key}`)
  assert.equal(query.status, 401)
  assert.equal(tollgate.logs().join('\n').includes(key), false)
})
