import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOT_OFFERED, WORDS_NOT_OFFERED } from '../../src/api/public/not-offered.ts'
import { gateway, type Answer } from '../harness/gateway.ts'
import { refused } from '../harness/refused.ts'

// Names and paths that agents send (clients.md D-14.5 and 6).

const tollgate = await gateway()
const key = (await tollgate.createAccount({ balance: 100 })).key

const chat = (model: string): Promise<Answer> =>
  tollgate.post('/v1/chat/completions', key, { model, max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] })

test('a bare name is its model, with a routing suffix as well; the answer names the model itself', async () => {
  for (const name of ['chat', 'chat:floor']) assert.equal((await chat(name)).body.model, 'sandbox/chat')
  const record = await tollgate.get('/v1/models/chat', key)
  assert.equal(record.body.id, 'sandbox/chat')
})

test('a stand-in serves a helper model that is not sold, and is what the log and the answer name', async () => {
  refused(await chat('claude-haiku-4-5'), 400, 'model_not_found')
  const patch = { model_fallbacks: { 'claude-haiku-4-5': 'chat', gone: 'v/none' } }
  const changed = await tollgate.admin('PATCH', '/admin/v1/settings', patch)
  assert.deepEqual(changed.body.model_fallbacks, patch.model_fallbacks)
  const answer = await chat('claude-haiku-4-5')
  assert.equal(answer.body.model, 'sandbox/chat')
  const row = await tollgate.get(`/v1/generation?id=${answer.body.id}`, key)
  assert.equal(row.body.data.model, 'sandbox/chat')
  refused(await chat('gone'), 400, 'model_not_found')
  const warnings = await tollgate.admin('GET', '/admin/v1/catalog/warnings')
  assert.deepEqual(
    warnings.body.data.map(({ warning }: { warning: string }) => warning),
    ['fallback_unknown'],
  )
})

test('a known path without its version gets 404 with the right path', async () => {
  for (const path of ['/chat/completions', '/models', '/images/generations', '/videos/x/content']) {
    const answer = await tollgate.post(path, key, {})
    refused(answer, 404, 'endpoint_not_found')
    assert.equal(answer.body.error.message, `Unknown endpoint: POST ${path}. Did you mean /v1${path}?`)
  }
  const twice = await tollgate.post('/v1/v1/chat/completions', key, {})
  assert.equal(
    twice.body.error.message,
    'Unknown endpoint: POST /v1/v1/chat/completions. Did you mean /v1/chat/completions?',
  )
  const other = await tollgate.post('/v1/nothing', key, {})
  assert.equal(other.body.error.message, 'Unknown endpoint: POST /v1/nothing')
})

test('every part of the API that is not offered says so in words of its own, and names only routes that exist', async () => {
  const { paths } = (await tollgate.request('GET', '/openapi.json', {})).body
  for (const [part, message] of NOT_OFFERED) {
    for (const path of [`/v1/${part}`, `/v1/${part}/x/y`, `/${part}`, `/${part}/x`])
      for (const method of ['GET', 'POST', 'DELETE']) {
        const answer = await tollgate.request(method, path, { key })
        refused(answer, 404, 'endpoint_not_found')
        assert.equal(answer.body.error.message, `Unknown endpoint: ${method} ${path}. ${message}`)
      }
    for (const [route] of message.matchAll(/\/v1\/[a-z/]+/g)) assert.ok(Object.hasOwn(paths, route), route)
  }
  refused(await tollgate.get('/v1/filesx', key), 404, 'endpoint_not_found', /^[^.]*filesx$/)
})

test('a word that a route takes for an id, or a verb for a model, is 404 with what is offered there', async () => {
  const { paths } = (await tollgate.request('GET', '/openapi.json', {})).body
  for (const [words, message] of WORDS_NOT_OFFERED) {
    for (const path of [`/v1/${words}`, `/${words}`]) {
      const answer = await tollgate.post(path, key, {})
      refused(answer, 404, 'endpoint_not_found')
      assert.equal(answer.body.error.message, `Unknown endpoint: POST ${path}. ${message}`)
    }
    for (const [route] of message.matchAll(/\/v1\/[a-z_/]*[a-z]/g)) assert.ok(Object.hasOwn(paths, route), route)
  }
  for (const [path, offered] of [
    ['/v1/responses/pause', /\. Offered there: .*POST \/v1\/responses\/\{id\}\/cancel/],
    ['/v1/responses/resp-1/pause', /\. Offered there: POST \/v1\/responses, /],
    ['/v1/videos/edits', /\. Offered there: .*GET \/v1\/videos\/\{id\}/],
    ['/v1/audio/voices', /\. Offered there: .*POST \/v1\/audio\/speech/],
  ] as const)
    refused(await tollgate.post(path, key, {}), 404, 'endpoint_not_found', offered)
  for (const verb of ['predict', 'predictLongRunning', 'asyncBatchEmbedContent'])
    for (const version of ['v1beta', 'v1', 'v1alpha']) {
      const { status, body } = await tollgate.post(`/${version}/models/x:${verb}`, key, {})
      assert.equal(status, 404, verb)
      assert.match(body.error.message, /Offered there: .*\{model\}:generateContent/)
    }
  const answer = await tollgate.post('/v1/responses/resp-1a2', key, {})
  refused(answer, 405, 'method_not_allowed', /Allowed: GET, DELETE, HEAD$/)
})

test('parts of the API that are not offered say what to use instead', async () => {
  const cases = [
    ['POST', '/v1/files', /Files are not kept here: put a file into the request itself/],
    ['GET', '/v1/files/file-1/content', /Files are not kept here/],
    ['POST', '/v1/batches', /no batches here: send the requests to their own routes/],
    ['POST', '/v1/assistants', /use \/v1\/responses or \/v1\/chat\/completions/],
    ['GET', '/v1/threads/t/messages', /use \/v1\/responses/],
    ['POST', '/v1/realtime/sessions', /use \/v1\/audio\/transcriptions/],
    ['POST', '/batches', /no batches here/],
  ] as const
  for (const [method, path, message] of cases)
    refused(await tollgate.request(method, path, { key }), 404, 'endpoint_not_found', message)
  // In the shapes of their protocols.
  for (const [path, message] of [
    ['/v1/messages/batches', /no batches here/],
    ['/v1beta/cachedContents', /Nothing is cached by a name here/],
    ['/v1beta/files', /Files are not kept here/],
  ] as const) {
    const { status, body } = await tollgate.post(path, key, {})
    assert.equal(status, 404)
    assert.match(body.error.message, message)
  }
})
