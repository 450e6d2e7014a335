import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Route } from '../../src/http/edge.ts'
import { administrator, signedUp, topUp } from '../harness/console-client.ts'
import { movingGateway } from '../harness/gateway.ts'
import { BODIES } from '../harness/route-calls.ts'

const RATES = 'rate_limit: { requests: 100000, window: 60 }'

test('F49: NUL is refused in each path, query and text of a body but prompts, on every route, and reaches the model', async (t) => {
  const server = await movingGateway({ catalog: RATES })
  t.after(() => server.stop())
  const { browser, accountId } = await signedUp(server, 'a@example.com')
  await topUp(server, accountId, 100)
  const { key, id } = (await browser.post('keys', { name: 'first' })).body
  const manager = (await browser.post('management-keys', { name: 'manager' })).body.key
  const admin = await administrator(server, 'root@example.com')
  const headersOf = ({ plane }: Route<unknown>): Record<string, string> => {
    if (plane === 'key') return { authorization: `Bearer ${key}` }
    if (plane === 'management' || plane === 'any_key') return { authorization: `Bearer ${manager}` }
    const { cookie } = plane === 'admin' ? admin : browser
    return { cookie, 'sec-fetch-site': 'same-origin', 'x-tollgate-key-id': id }
  }
  let asked = 0
  for (const route of server.app.routes) {
    const refused = async (target: string, body?: unknown): Promise<void> => {
      asked += 1
      const more = body === undefined ? {} : { body }
      const { status, text } = await server.request(route.method, target, { headers: headersOf(route), ...more })
      const what = `${route.method} ${target} ${JSON.stringify(body)}: ${status} ${text}`
      // The token in an address is looked at before.
      if (route.plane === 'token') assert.ok(status >= 400 && status < 500, what)
      else assert.ok(status === 400 && text.includes('NUL'), what)
    }
    const target = route.path.replaceAll(/\/[:*]\w+/g, '/x')
    await refused(`${target}?x=a%00`)
    if (/\/[:*]\w+$/.test(route.path)) await refused(`${target}%00`)
    if (route.body === 'none') continue
    const whole = BODIES[`${route.method} ${route.path.replace('/cabinet/v1/playground/', '/v1/')}`] ?? {}
    for (const wrong of [
      { name: 'a\0' },
      { metadata: { of: ['\0'] } },
      { model: 'a\0b' },
      { user: '\0' },
      { 'a\0': 1 },
    ])
      await refused(target, Object.assign({}, whole, wrong))
  }
  t.diagnostic(`${asked} requests`)
  assert.ok(asked > 900)
  for (const [path, body] of [
    ['/v1/chat/completions', { model: 'sandbox/chat', messages: [{ role: 'user', content: 'a\0b' }] }],
    ['/v1/responses', { model: 'sandbox/chat', input: 'a\0b', store: true }],
    ['/v1/messages', { model: 'sandbox/chat', max_tokens: 9, messages: [{ role: 'user', content: 'a\0b' }] }],
    ['/v1/embeddings', { model: 'sandbox/embeddings', input: ['a\0b'] }],
    ['/v1/videos', { model: 'sandbox/video', prompt: 'a\0b', duration: 4 }],
  ] as const) {
    const { status, text } = await server.post(path, key, body)
    assert.ok(status === 200 || status === 202, `${path}: ${status} ${text}`)
  }
})
