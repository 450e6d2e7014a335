import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Route } from '../../src/http/edge.ts'
import { ADMIN_ROUTES } from '../../src/api/admin/contract.ts'
import { CABINET_ROUTES } from '../../src/api/cabinet/contract.ts'
import { ERROR_NAMES, errorTypeOf } from '../../src/base/errors.ts'
import type { OpenApiDocument } from '../../src/api/reference/openapi.ts'
import { OTHER_CABINET_ROUTES, PUBLIC_ROUTES } from '../../src/api/reference/public-routes.ts'
import { nameOf, PAGES, wireRouteOf } from '../../src/api/reference/route-table.ts'
import type { RouteExample, WireRoute } from '../../src/base/wire-route.ts'
import { ConsoleClient, PASSWORD, signedUp, topUp, madeNotice } from '../harness/console-client.ts'
import { faultsOf } from '../harness/contract-check.ts'
import { gateway, type Answer } from '../harness/gateway.ts'

/** Private addresses, since the example of a provider's trial must reach nothing. */
const ENV = { TOLLGATE_ADMIN_TOKEN: 'the-admin-token-of-this-test-0123456789', ALLOW_PRIVATE_UPSTREAMS: 'true' }
const CATALOG = 'rate_limit: { requests: 100000, window: 60 }'

/** A user with money, a key and a session. */
/** A browser without a session. */
const KEY_PLANES: ReadonlySet<string> = new Set(['key', 'management', 'any_key'])

const server = await gateway({ catalog: CATALOG, env: ENV })
const answer = await server.request('GET', '/openapi.json')
assert.equal(answer.status, 200)
const document: OpenApiDocument = answer.body
const person = await signedUp(server)
const stranger = new ConsoleClient(server)
await topUp(server, person.accountId, 1_000)
const made = (await person.browser.post('keys', { name: 'first' })).body
const manager = (await person.browser.post('management-keys', { name: 'manager' })).body
const key = { ...made, manager: manager.key }

const served = (): readonly Route<unknown>[] => server.app.routes.filter((route) => !PAGES.has(nameOf(route)))

test('each route of the server has a row with a summary, an answer, errors and an example', () => {
  for (const route of served()) {
    const row = wireRouteOf(route)
    assert.ok(row !== undefined, `${nameOf(route)} is in no contract`)
    assert.ok(row.summary.length > 5, nameOf(route))
    assert.ok(row.example !== undefined, `${nameOf(route)} has no example`)
    const names = [...route.path.matchAll(/(?<=\/)[:*](\w+)/g)].map(([, name = '']) => name)
    assert.deepEqual(Object.keys(row.example.path ?? {}), names, `${nameOf(route)}: the example names its path`)
    if (route.path.startsWith('/v1/')) assert.equal(row.open === true, !KEY_PLANES.has(route.plane), nameOf(route))
    if (route.body !== 'none') assert.ok(row.body !== undefined, `${nameOf(route)} has no schema of its body`)
    if (row.body !== undefined) assert.deepEqual(faultsOf(row.body, row.example.body), [], nameOf(route))
    for (const name of row.errors ?? []) assert.ok(ERROR_NAMES.includes(name))
  }
})

test('each row is of a route of the server, but those that need a provider of payments or of sign-in', () => {
  const names = new Set(server.app.routes.map(nameOf))
  const rows = Object.keys({ ...PUBLIC_ROUTES, ...OTHER_CABINET_ROUTES, ...CABINET_ROUTES, ...ADMIN_ROUTES })
  assert.deepEqual(
    rows.filter((name) => !names.has(name)),
    ['GET /cabinet/v1/oidc/start', 'GET /cabinet/v1/oidc/callback', 'POST /cabinet/v1/payments/notifications/yookassa'],
  )
})

test('the document has every route, each reference in it leads somewhere, and its tags differ', () => {
  assert.equal(document.openapi, '3.1.0')
  const names = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  assert.deepEqual(
    names.toSorted(),
    served()
      .map(({ method, path }) => `${method} ${path.replaceAll(/(?<=\/)[:*](\w+)/g, '{$1}')}`)
      .toSorted(),
  )
  const text = JSON.stringify(document)
  for (const [, name = ''] of text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g))
    assert.ok(document.components.schemas[name] !== undefined, `#/components/schemas/${name} is not there`)
  const ids = new Set<string>()
  for (const [path, methods] of Object.entries(document.paths))
    for (const operation of Object.values(methods)) {
      const [tag] = operation.tags
      assert.equal(tag === 'admin', path.startsWith('/admin/'), path)
      assert.equal(tag === 'cabinet' || tag === 'playground', path.startsWith('/cabinet/'), path)
      assert.ok(
        Object.keys(operation.responses).some((status) => Number(status) < 400),
        path,
      )
      assert.ok(
        Object.keys(operation.responses).some((status) => Number(status) >= 500),
        path,
      )
      assert.ok(!ids.has(operation.operationId), operation.operationId)
      ids.add(operation.operationId)
    }
  const types = new Set(ERROR_NAMES.map(errorTypeOf).map(String))
  for (const [, list = ''] of text.matchAll(/"x-error-types":\[([^\]]*)\]/g))
    for (const [, type = ''] of list.matchAll(/"([^"]*)"/g)) assert.ok(types.has(type), type)
})

test('neither needs a key, neither holds a secret of the operator, and nothing of the page comes from elsewhere', async () => {
  const page = await server.request('GET', '/docs')
  assert.equal(page.status, 200)
  const text = JSON.stringify(document)
  for (const secret of [ENV.TOLLGATE_ADMIN_TOKEN, key.key, server.dataDir, server.url]) {
    assert.ok(!text.includes(secret))
    assert.ok(!page.text.includes(secret))
  }
  assert.match(page.headers['content-security-policy'] ?? '', /default-src 'none'; style-src 'self'/)
  assert.doesNotMatch(page.text, /<script|style=|<style|\bon[a-z]+=|src=/)
  for (const [, address = ''] of page.text.matchAll(/href="([^"]*)"/g))
    assert.ok(/^#|^\/openapi\.json$|^\/docs\.css$/.test(address), address)
  for (const [, id = ''] of page.text.matchAll(/href="#([^"]*)"/g)) assert.ok(page.text.includes(`id="${id}"`), id)
  assert.equal((await server.request('GET', '/docs.css')).status, 200)
  for (const name of served().map(({ method, path }) => `${method} ${path.replaceAll(/(?<=\/)[:*](\w+)/g, '{$1}')}`))
    assert.ok(page.text.includes(name), name)
})

/** Sends the example of a route, with existing ids in place of its own. */
async function send(route: Route<unknown>, row: WireRoute, ids: Readonly<Record<string, string>>): Promise<Answer> {
  const { path = {}, query = {}, body }: RouteExample = row.example ?? {}
  const real = (text: string): string => ids[text] ?? text
  const target = route.path.replaceAll(/(?<=\/)([:*])(\w+)/g, (_all, sign: string, name: string) => {
    const value = real(path[name] ?? '')
    return sign === '*' ? value : encodeURIComponent(value)
  })
  const search = new URLSearchParams(
    Object.fromEntries(Object.entries(query).map(([name, value]) => [name, real(value)])),
  ).toString()
  const address = search === '' ? target : `${target}?${search}`
  const options = body === undefined ? (route.body === 'none' ? {} : { body: {} }) : { body }
  switch (route.plane) {
    case 'management':
      return server.request(route.method, address, { ...options, key: key.manager })
    case 'any_key':
    case 'key':
      return server.request(route.method, address, { ...options, key: key.key })
    case 'admin':
      return server.admin(route.method, address, options.body)
    case 'playground':
      return person.browser.request(route.method, address, options.body, { 'x-tollgate-key-id': key.id })
    case 'open':
    case 'token':
      return stranger.request(route.method, address, options.body)
    case 'session':
      return person.browser.request(route.method, address, options.body)
  }
}

async function videoJob(): Promise<string> {
  const body = { model: 'sandbox/video', prompt: 'x', duration: 4 }
  return (await server.post('/v1/videos', key.key, body)).body.id
}

/** Examples that are refused here, because they name something that does not exist. */
const REFUSED: Readonly<Record<string, number>> = {
  // No mail server is set.
  'POST /cabinet/v1/password-reset': 403,
  'POST /cabinet/v1/sign-up/link': 403,
  // A webhook needs no code.
  'POST /cabinet/v1/notices/channels/:id/code': 404,
  'POST /cabinet/v1/notices/channels/:id/confirm': 400,
  'POST /cabinet/v1/sign-in/code': 401,
  'POST /cabinet/v1/setup/check': 403,
  'POST /cabinet/v1/setup': 403,
  // Its setting is off.
  'GET /cabinet/v1/status': 404,
  'POST /setup': 403,
  'POST /cabinet/v1/totp/confirm': 400,
  'POST /cabinet/v1/totp/recovery-codes': 409,
  'POST /cabinet/v1/totp/disable': 409,
  'POST /cabinet/v1/identities/link': 404,
  'POST /cabinet/v1/identities/:id/unlink': 404,
  'DELETE /cabinet/v1/sessions/:id': 404,
  'POST /cabinet/v1/codes/redeem': 404,
  // Nobody else is in the account, and the owner stays.
  'PATCH /cabinet/v1/members/:id': 404,
  'POST /cabinet/v1/members/:id/remove': 404,
  'POST /cabinet/v1/members/leave': 409,
  'DELETE /cabinet/v1/invitations/:id': 404,
  'PATCH /admin/v1/accounts/:id/members/:member': 404,
  'POST /admin/v1/accounts/:id/members/:member/remove': 404,
  'DELETE /admin/v1/accounts/:id/invitations/:invitation': 404,
  'DELETE /admin/v1/accounts/:id/notes/:note': 404,
  'POST /cabinet/v1/invitations/check': 403,
  'POST /cabinet/v1/invitations/join': 403,
  'POST /cabinet/v1/account': 404,
  'POST /cabinet/v1/payments': 400,
  'GET /cabinet/v1/payments/:id': 404,
  'POST /cabinet/v1/payments/:id/check': 404,
  'DELETE /admin/v1/users/:id/identities/:identity': 404,
  'DELETE /admin/v1/ip-blocks/*ip': 404,
  'POST /admin/v1/videos/:id/resolve': 409,
  // No list of prices is followed.
  'POST /admin/v1/price-changes/:id/approve': 404,
  'POST /admin/v1/price-changes/:id/reject': 404,
  'DELETE /admin/v1/coming-prices/:id': 404,
  // No model of the example is sold here, and no group has its id.
  'GET /admin/v1/customer-prices': 404,
  'GET /admin/v1/account-groups/:id': 404,
  'PATCH /admin/v1/account-groups/:id': 404,
  'DELETE /admin/v1/account-groups/:id': 404,
  'GET /v1/streams': 404,
  'DELETE /v1/streams': 404,
  'GET /v1/responses/:id': 404,
  'POST /v1/responses/:id/cancel': 404,
  'DELETE /v1/responses/:id': 404,
  'GET /v1/responses/:id/input_items': 404,
  'GET /v1/images/content': 404,
  'GET /v1/videos/content': 400,
  'GET /v1/videos/:id/content': 400,
}
/** They end what other examples need, so they come last. */
const LAST = ['DELETE', 'POST /cabinet/v1/password', 'POST /cabinet/v1/sign-out', 'PATCH /admin/v1/users/:id']

test('each example is answered as its contract says', async () => {
  const account = (await server.admin('POST', '/admin/v1/accounts', { name: 'another' })).body.id
  const other = await signedUp(server)
  const adminKey = (await server.admin('POST', `/admin/v1/accounts/${account}/keys`, { name: 'a' })).body.id
  const { channel, delivery, own, ownDelivery } = await madeNotice(server, person.browser)
  const accounts = (
    await server.admin('POST', `/admin/v1/accounts/${account}/notices/channels`, {
      target: 'https://hooks.example.com/account',
      kinds: [],
    })
  ).body.id
  const code = (await server.admin('POST', '/admin/v1/codes', { amount: 1 })).body.data[0].id
  const token = (await server.admin('POST', '/admin/v1/tokens', { name: 'other', role: 'support' })).body.id
  const chat = await server.post('/v1/chat/completions', key.key, {
    model: 'sandbox/chat',
    messages: [{ role: 'user', content: 'x' }],
  })
  const ids = (route: Route<unknown>, job: string): Readonly<Record<string, string>> => ({
    acc_Vb3kQ9xT2mLr7dWa: account,
    key_Vb3kQ9xT2mLr7dWa: route.plane === 'admin' ? adminKey : route.plane === 'management' ? managed : spare,
    mkey_Vb3kQ9xT2mLr7dWa: manager,
    usr_Vb3kQ9xT2mLr7dWa: other.userId,
    code_Vb3kQ9xT2mLr7dWa: code,
    tok_Vb3kQ9xT2mLr7dWa: token,
    chn_Qm8sT4xY1bLr6dWe: accounts,
    chn_Vb3kQ9xT2mLr7dWa: route.plane === 'admin' ? channel : own,
    dlv_Vb3kQ9xT2mLr7dWa: route.plane === 'admin' ? delivery : ownDelivery,
    'gen-Vb3kQ9xT2mLr7dWa': route.path.includes('/videos') ? job : chat.body.id,
  })
  const managed = (await person.browser.post('keys', { name: 'managed' })).body.id
  const manager = (await person.browser.post('management-keys', { name: 'unused' })).body.id
  const spare = (await person.browser.post('keys', { name: 'spare' })).body.id
  const rank = (route: Route<unknown>): number =>
    LAST.findIndex((name) => nameOf(route).startsWith(name)) + (nameOf(route).endsWith('sign-out') ? 10 : 0)
  const wrong: string[] = []
  const routes = served().toSorted((left, right) => rank(left) - rank(right))
  for (const route of routes) {
    const row = wireRouteOf(route)
    assert.ok(row !== undefined)
    const job = route.path.includes('/videos') ? await videoJob() : ''
    const answer = await send(route, row, ids(route, job))
    const name = nameOf(route).replace('/cabinet/v1/playground/', '/v1/')
    const wanted = REFUSED[name]
    const what = `${nameOf(route)} answered ${answer.status}: ${answer.text.slice(0, 300)}`
    // A job that has begun can no longer be cancelled.
    const begun = name.startsWith('DELETE /v1/videos') ? 400 : undefined
    const right = wanted === undefined ? [row.status ?? 200, row.alsoStatus, begun] : [wanted]
    if (!right.includes(answer.status as 200)) wrong.push(what)
  }
  assert.deepEqual(wrong, [])
})

test('passwords of the examples are those that the test signs in with', () => {
  assert.ok(JSON.stringify(CABINET_ROUTES).includes(PASSWORD))
})
