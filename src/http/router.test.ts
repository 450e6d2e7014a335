import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pathTemplate, Router } from './router.ts'

const router = new Router([
  { method: 'GET', path: '/v1/models' },
  { method: 'GET', path: '/v1/models/count' },
  { method: 'GET', path: '/v1/models/:author/:slug/endpoints' },
  { method: 'GET', path: '/v1/models/*id' },
  { method: 'POST', path: '/v1/videos' },
  { method: 'GET', path: '/v1/videos' },
  { method: 'GET', path: '/v1/videos/history' },
  { method: 'DELETE', path: '/v1/videos/:id' },
])

function found(method: string, path: string): string {
  const match = router.match(method, path)
  return match.status === 'found' ? `${match.route.path} ${JSON.stringify(match.params)}` : match.status
}

test('literal paths beat named segments, named segments beat a rest', () => {
  assert.equal(found('GET', '/v1/models/count'), '/v1/models/count {}')
  assert.equal(
    found('GET', '/v1/models/openai/gpt-4o/endpoints'),
    '/v1/models/:author/:slug/endpoints {"author":"openai","slug":"gpt-4o"}',
  )
  assert.equal(found('GET', '/v1/models/openai/gpt-4o'), '/v1/models/*id {"id":"openai/gpt-4o"}')
  assert.equal(found('DELETE', '/v1/videos/history'), '/v1/videos/:id {"id":"history"}')
})

test('%2F decodes inside a named segment and inside a rest, and never splits a segment (wire.md C7)', () => {
  assert.equal(found('GET', '/v1/models/openai%2Fgpt-4o'), '/v1/models/*id {"id":"openai/gpt-4o"}')
  assert.equal(found('DELETE', '/v1/videos/a%2Fb'), '/v1/videos/:id {"id":"a/b"}')
  assert.equal(found('GET', '/v1%2Fmodels'), 'unknown')
})

test('unknown, empty and undecodable paths name no endpoint', () => {
  for (const path of ['/', '', '/v1', '/v1/models/', '/v1/models/%zz', '/v1/nothing', 'v1/models', '//v1/models'])
    assert.equal(found('GET', path), 'unknown', path)
})

test('HEAD finds the route of GET, and a wrong method lists the allowed ones', () => {
  assert.equal(found('HEAD', '/v1/models'), '/v1/models {}')
  assert.deepEqual(router.match('PUT', '/v1/videos'), { status: 'wrong_method', allowed: ['POST', 'GET', 'HEAD'] })
  assert.deepEqual(router.match('POST', '/v1/videos/vid-1'), { status: 'wrong_method', allowed: ['DELETE'] })
})

test('a rest may end with a word of its route, which is no part of the value', () => {
  const gemini = new Router([
    { method: 'POST', path: '/v1beta/models/*model:generateContent' },
    { method: 'POST', path: '/v1beta/models/*model:countTokens' },
    { method: 'GET', path: '/v1beta/models/*model' },
  ])
  const match = (method: string, path: string): unknown => {
    const result = gemini.match(method, path)
    return result.status === 'found' ? [result.route.path, result.params] : result
  }
  assert.deepEqual(match('POST', '/v1beta/models/google/gemini-3-flash:generateContent'), [
    '/v1beta/models/*model:generateContent',
    { model: 'google/gemini-3-flash' },
  ])
  assert.deepEqual(match('POST', '/v1beta/models/a%2Fb:free:countTokens'), [
    '/v1beta/models/*model:countTokens',
    { model: 'a/b:free' },
  ])
  assert.deepEqual(match('GET', '/v1beta/models/a/b:free'), ['/v1beta/models/*model', { model: 'a/b:free' }])
  assert.deepEqual(match('PUT', '/v1beta/models/a:countTokens'), {
    status: 'wrong_method',
    allowed: ['POST', 'GET', 'HEAD'],
  })
  assert.equal(pathTemplate('/v1beta/models/*model:countTokens'), '/v1beta/models/{model}:countTokens')
  assert.equal(pathTemplate('/v1/models/:author/:slug/endpoints'), '/v1/models/{author}/{slug}/endpoints')
})

test('a word that is posted to where an id belongs names an endpoint that there is not, and what is near it is told', () => {
  const table = new Router([
    { method: 'POST', path: '/v1/responses' },
    { method: 'GET', path: '/v1/responses/:id' },
    { method: 'POST', path: '/v1/responses/:id/cancel' },
    { method: 'POST', path: '/v1/models/*model:countTokens' },
    { method: 'GET', path: '/v1/models/*id' },
    ...Array.from({ length: 13 }, (_value, index) => ({ method: 'GET', path: `/admin/v1/${index}` })),
  ])
  const unknown = ['responses/compact', 'responses/input_tokens', 'responses/resp-1/pause', 'models/x:predict']
  for (const rest of [...unknown, 'models/a/b:batch-predict', 'models/:countTokens', 'models/chat'])
    assert.equal(table.match('POST', `/v1/${rest}`).status, 'unknown', rest)
  for (const [method, rest] of [
    ['POST', 'responses/resp-1a'],
    ['POST', 'models/openai/gpt-5'],
    ['DELETE', 'responses/compact'],
    ['GET', 'responses/resp-1/cancel'],
    ['PUT', 'models/x:countTokens'],
  ] as const)
    assert.equal(table.match(method, `/v1/${rest}`).status, 'wrong_method', rest)
  const near = (path: string): readonly string[] => table.near(path).map((route) => `${route.method} ${route.path}`)
  assert.deepEqual(near('/v1/responses/compact'), [
    'POST /v1/responses',
    'GET /v1/responses/:id',
    'POST /v1/responses/:id/cancel',
  ])
  assert.deepEqual(near('/v1/models/x:predict'), ['POST /v1/models/*model:countTokens', 'GET /v1/models/*id'])
  for (const path of ['/v1/nothing', '/', '', '/admin/v1/nothing']) assert.deepEqual(near(path), [], path)
})

test('a route that stands twice in the table is a bug told at the start', () => {
  assert.throws(
    () =>
      new Router([
        { method: 'GET', path: '/a' },
        { method: 'GET', path: '/a' },
      ]),
    /once/,
  )
})
