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
  assert.deepEqual(router.match('POST', '/v1/videos/x'), { status: 'wrong_method', allowed: ['DELETE'] })
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
  assert.deepEqual(match('POST', '/v1beta/models/:generateContent'), {
    status: 'wrong_method',
    allowed: ['GET', 'HEAD'],
  })
  assert.equal(pathTemplate('/v1beta/models/*model:countTokens'), '/v1beta/models/{model}:countTokens')
  assert.equal(pathTemplate('/v1/models/:author/:slug/endpoints'), '/v1/models/{author}/{slug}/endpoints')
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
