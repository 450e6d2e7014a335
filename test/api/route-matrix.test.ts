import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Route } from '../../src/http/edge.ts'
import { generateKey } from '../../src/access/api-key.ts'
import { randomIds } from '../../src/base/ids.ts'
import { administrator, ConsoleClient, PASSWORD, signedUp, topUp, madeNotice } from '../harness/console-client.ts'
import { calledModel, absent, BODIES, errorOf } from '../harness/route-calls.ts'
import { MANAGERS, PRINCIPALS, refusalOf, roleOf, type Principal } from './route-principals.ts'
import { movingGateway } from '../harness/gateway.ts'
import type { Answer } from '../harness/api-client.ts'
import { wavFile, audioForm } from '../harness/audio-files.ts'

/** Every route of the table × every principal × an object of account A (guarantees.md requirements 6 and 7, S1). */
const CATALOG = `
status_page: true
rate_limit: { requests: 100000, window: 60 }
ip_block: { failures: 100000, window: 60, duration: 1 }
models:
  - { id: test/slow, type: chat, context_length: 128000, endpoints: [{ provider: sandbox, model: chat, price: { currency: RUB, prompt: 15, completion: 60 } }] }
`
interface Person {
  readonly id: string
  readonly userId: string
  readonly keyId: string
  readonly key: string
  readonly cookie: string
  /** A management key of the account. */
  readonly manager: string
  readonly managerId: string
  /** An unused key. */
  readonly spareId: string
}

/** Sessions and keys of people in the account of A. */
const objects = {
  invitation: '',
  note: '',
  generation: '',
  stream: '',
  response: '',
  video: '',
  picture: '',
  session: '',
  code: '',
  token: '',
}

async function person(email: string): Promise<Person> {
  const { browser, accountId, userId } = await signedUp(server, email)
  await topUp(server, accountId, 1_000)
  const made = await browser.post('keys', { name: 'first' })
  const spare = await browser.post('keys', { name: 'spare' })
  const manager = await browser.post('management-keys', { name: 'manager' })
  return {
    id: accountId,
    userId,
    keyId: made.body.id,
    key: made.body.key,
    cookie: browser.cookie,
    manager: manager.body.key,
    managerId: manager.body.id,
    spareId: spare.body.id,
  }
}

const ownerOfA = (): ConsoleClient => new ConsoleClient(server, people.A.cookie)

/** A new person in the account of A, with a key where the role makes one. */
async function joined(role: 'member' | 'billing'): Promise<{ readonly cookie: string; readonly keyId: string }> {
  const { link } = (await ownerOfA().post('invitations', { role })).body
  const browser = new ConsoleClient(server)
  const token = new URL(link).searchParams.get('token')
  const answer = await browser.post('invitations/join', { token, email: `${role}@example.com`, password: PASSWORD })
  assert.equal(answer.status, 201, answer.text)
  const keyId = role === 'member' ? (await browser.post('keys', { name: 'own' })).body.id : people.A.keyId
  return { cookie: browser.cookie, keyId }
}

const server = await movingGateway({ catalog: CATALOG })
const people: { readonly A: Person; readonly B: Person } = {
  A: await person('a@example.com'),
  B: await person('b@example.com'),
}
const adminCookie = (await administrator(server, 'root@example.com')).cookie
const staff: Readonly<Record<'member' | 'billing', { readonly cookie: string; readonly keyId: string }>> = {
  member: await joined('member'),
  billing: await joined('billing'),
}
objects.invitation = (await ownerOfA().post('invitations', { role: 'member' })).body.id
objects.note = (await server.admin('POST', `/admin/v1/accounts/${people.A.id}/notes`, { text: 'x' })).body.id
const { key } = people.A
const chat = await server.post('/v1/chat/completions', key, {
  model: 'sandbox/chat',
  messages: [{ role: 'user', content: 'x' }],
})
objects.generation = chat.body.id
const stream = await server.request('POST', '/v1/chat/completions', {
  key,
  body: { model: 'sandbox/chat', stream: true, messages: [{ role: 'user', content: 'x' }] },
  headers: { 'x-request-id': 'stream-of-A' },
})
objects.stream = stream.headers['x-generation-id'] ?? ''
const response = await server.request('POST', '/v1/responses', {
  key,
  body: { model: 'sandbox/chat', stream: true, store: true, input: 'x' },
  headers: { 'x-request-id': 'response-of-A' },
})
objects.response = (response.headers['x-generation-id'] ?? '').replace('gen-', 'resp-')
const picture = await server.post('/v1/images/generations', key, {
  model: 'sandbox/image',
  prompt: 'x',
  response_format: 'url',
})
objects.picture = new URL(picture.body.data[0].url).search
const second = new ConsoleClient(server)
await second.signIn('a@example.com')
const { body } = await second.get('sessions')
objects.session = body.data.find(({ current }: { current: boolean }) => current).id
objects.code = (await server.admin('POST', '/admin/v1/codes', { amount: 5 })).body.data[0].id
const notice = await madeNotice(server, new ConsoleClient(server, people.A.cookie))
objects.token = (await server.admin('POST', '/admin/v1/tokens', { name: 'named', scopes: ['log:read'] })).body.id
const video = await server.post('/v1/videos', key, { model: 'sandbox/video', prompt: 'x', duration: 4 })
objects.video = video.body.id
for (;;) {
  const { body: job } = await server.get(`/v1/videos?id=${objects.video}`, key)
  if (job.status === 'completed') break
  server.clock.advance(1_000)
  await new Promise((resolve) => setImmediate(resolve))
}

/** Query of the routes that name an object in it. */
const QUERIES: Readonly<Record<string, () => string>> = {
  '/v1/images/content': () => objects.picture,
  '/v1/videos': () => `?id=${objects.video}`,
  '/v1/videos/content': () => `?id=${objects.video}`,
  '/v1/generation': () => `?id=${objects.generation}`,
  '/v1/streams': () => `?id=${objects.stream}`,
  '/admin/v1/catalog': () => '?dry_run=1',
  '/admin/v1/catalog/update': () => '?dry_run=1',
}

/** Path parameters, by the path before them. A new route with a parameter needs a value here. */
const PARAMETERS: Readonly<Record<string, () => string>> = {
  '/v1/videos/:id': () => objects.video,
  '/v1/responses/:id': () => objects.response,
  '/v1/models/:author': () => 'sandbox',
  '/v1/models/:author/endpoints :author': () => 'sandbox%2Fchat',
  '/v1/models/:author/:slug': () => 'chat',
  '/v1/models/*id': () => 'sandbox/chat',
  '/v1/model/*id': () => 'sandbox/chat',
  '/v1beta/models/*id': () => 'sandbox/chat',
  '/v1alpha/models/*id': () => 'sandbox/chat',
  '/admin/v1/accounts/:id': () => people.A.id,
  '/admin/v1/accounts/:id/topups/:reference': () => `test-${people.A.id}-1000`,
  '/admin/v1/accounts/:id/notices/channels/:channel': () => notice.own,
  '/admin/v1/accounts/:id/members/:member': () => people.A.userId,
  '/admin/v1/accounts/:id/invitations/:invitation': () => objects.invitation,
  '/admin/v1/accounts/:id/notes/:note': () => objects.note,
  '/admin/v1/keys/:id': () => people.A.keyId,
  '/admin/v1/tokens/:id': () => objects.token,
  '/admin/v1/providers/:slug': () => 'sandbox',
  '/admin/v1/models/*id': () => 'test/slow',
  '/admin/v1/videos/:id': () => objects.video,
  '/admin/v1/users/:id': () => people.A.userId,
  '/admin/v1/ip-blocks/*ip': () => '203.0.113.7',
  '/admin/v1/codes/:id': () => objects.code,
  '/admin/v1/generations/:id': () => objects.generation,
  '/admin/v1/notices/channels/:id': () => notice.channel,
  '/admin/v1/notices/deliveries/:id': () => notice.delivery,
  '/admin/v1/users/:id/identities/:identity': () => 'idn_none',
  '/cabinet/v1/identities/:id': () => 'idn_none',
  '/cabinet/v1/notices/channels/:id': () => notice.own,
  '/cabinet/v1/notices/deliveries/:id': () => notice.ownDelivery,
  '/cabinet/v1/sessions/:id': () => objects.session,
  '/v1/keys/:hash': () => people.A.spareId,
  '/cabinet/v1/management-keys/:id': () => people.A.managerId,
  '/cabinet/v1/keys/:id': () => people.A.keyId,
  '/cabinet/v1/members/:id': () => people.A.userId,
  '/cabinet/v1/invitations/:id': () => objects.invitation,
  '/cabinet/v1/log/:id': () => objects.generation,
  '/cabinet/v1/models/*id': () => 'sandbox/chat',
  // No payments are configured, no provider has a list of prices, and there are no groups: nothing has these ids.
  '/admin/v1/account-groups/:id': () => 'grp_none',
  '/admin/v1/price-changes/:id': () => 'prc_none',
  '/admin/v1/coming-prices/:id': () => 'cpr_none',
  '/cabinet/v1/payments/:id': () => 'pay_none',
}

/** Routes that name an object of one account: a stranger must not learn that it exists. */
const OWNED: ReadonlySet<string> = new Set([
  'GET /v1/videos',
  'GET /v1/videos/content',
  'GET /v1/videos/:id',
  'GET /v1/videos/:id/content',
  'DELETE /v1/videos',
  'DELETE /v1/videos/:id',
  'GET /v1/generation',
  'GET /v1/streams',
  'DELETE /v1/streams',
  'GET /v1/responses/:id',
  'POST /v1/responses/:id/cancel',
  'GET /v1/responses/:id/input_items',
  'DELETE /v1/responses/:id',
  'GET /v1/keys/:hash',
  'PATCH /v1/keys/:hash',
  'DELETE /v1/keys/:hash',
  'DELETE /cabinet/v1/management-keys/:id',
  'GET /cabinet/v1/keys/:id',
  'POST /cabinet/v1/keys/:id/rotate',
  'PATCH /cabinet/v1/keys/:id',
  'DELETE /cabinet/v1/keys/:id',
  'DELETE /cabinet/v1/sessions/:id',
  'GET /cabinet/v1/log/:id',
  'PATCH /cabinet/v1/members/:id',
  'POST /cabinet/v1/members/:id/remove',
  'DELETE /cabinet/v1/invitations/:id',
  'PATCH /cabinet/v1/notices/channels/:id',
  'DELETE /cabinet/v1/notices/channels/:id',
  'POST /cabinet/v1/notices/channels/:id/test',
  'POST /cabinet/v1/notices/deliveries/:id/replay',
])
/** Routes that end the caller's session. */
const LEAVING: ReadonlySet<string> = new Set(['POST /cabinet/v1/sign-out', 'POST /cabinet/v1/sessions/revoke-others'])
/** The playground repeats the paid calls. */
const callOf = (name: string): string => name.replace('/cabinet/v1/playground/', '/v1/')

const nameOf = ({ method, path }: Pick<Route<unknown>, 'method' | 'path'>): string => `${method} ${path}`

function targetOf({ path: given }: Route<unknown>, stranger = false): string {
  const path = callOf(given)
  const parts = path.split('/').slice(1)
  const filled = parts.map((part, index) => {
    if (!/^[:*]/.test(part)) return part
    const called = calledModel(part)
    if (called !== null) return called
    const value = PARAMETERS[`${path} ${part}`] ?? PARAMETERS[`/${parts.slice(0, index + 1).join('/')}`]
    assert.ok(value !== undefined, `${path}: PARAMETERS names no object for '${part}'`)
    return stranger ? absent(value()) : value()
  })
  const query = QUERIES[path]?.() ?? ''
  return `/${filled.join('/').replace(/^v1\//, given === path ? 'v1/' : 'cabinet/v1/playground/')}${stranger ? query.replace(/(?<=id=)[^&]+/, absent) : query}`
}

function headersOf(principal: Principal): Record<string, string> {
  switch (principal) {
    case 'none':
      return {}
    case 'malformed':
      return { authorization: 'Bearer sk-tg-short' }
    case 'unknown':
      return { authorization: `Bearer ${generateKey(randomIds())}` }
    case 'manager A':
    case 'manager B':
      return { authorization: `Bearer ${people[principal === 'manager A' ? 'A' : 'B'].manager}` }
    case 'A':
    case 'B':
      return { authorization: `Bearer ${people[principal].key}` }
    case 'session A':
    case 'session B': {
      const { cookie, keyId } = people[principal === 'session A' ? 'A' : 'B']
      return { cookie, 'sec-fetch-site': 'same-origin', 'x-tollgate-key-id': keyId }
    }
    case 'member A':
    case 'billing A': {
      const { cookie, keyId } = staff[roleOf(principal)]
      return { cookie, 'sec-fetch-site': 'same-origin', 'x-tollgate-key-id': keyId }
    }
    case 'admin':
      return { authorization: `Bearer ${server.adminToken}` }
    case 'session':
      return { cookie: adminCookie, 'sec-fetch-site': 'same-origin' }
    case 'stale session':
      return { cookie: `tg_sid=${'B'.repeat(43)}`, 'sec-fetch-site': 'same-origin' }
  }
}

function ask(route: Route<unknown>, headers: Record<string, string>, target = targetOf(route)): Promise<Answer> {
  if (route.body === 'json-or-multipart') {
    const form = audioForm({ model: 'sandbox/transcription' }, { bytes: wavFile(0.1) })
    return server.request(route.method, target, { body: form.body, headers: { ...headers, ...form.headers } })
  }
  return server.request(route.method, target, {
    headers,
    ...(route.body === 'none' ? {} : { body: BODIES[callOf(nameOf(route))] ?? {} }),
  })
}

test('A finds every object that B was refused', async () => {
  const { key } = people.A
  for (const path of [
    `/v1/generation?id=${objects.generation}`,
    `/v1/streams?id=${objects.stream}`,
    '/v1/streams?id=stream-of-A',
    `/v1/responses/${objects.response}`,
  ]) {
    assert.equal((await server.get(path, key)).status, 200, path)
    assert.equal((await server.get(path, people.B.key)).status, 404, path)
  }
})

test("a session spends from no key but its own account's", async () => {
  for (const keyId of [people.A.keyId, 'key_none', '', people.B.id]) {
    const answer = await server.request('POST', '/cabinet/v1/playground/chat/completions', {
      body: BODIES['POST /v1/chat/completions'],
      headers: { ...headersOf('session B'), 'x-tollgate-key-id': keyId },
    })
    assert.ok([400, 401].includes(answer.status), `${keyId}: ${answer.status}`)
  }
})

test('a session changes nothing unless its own page asks', async () => {
  for (const route of server.app.routes.filter(
    ({ plane, method }) => ['admin', 'session', 'playground'].includes(plane) && method !== 'GET',
  )) {
    for (const headers of [
      {},
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.example' },
    ].map((more) => ({ cookie: route.plane === 'admin' ? adminCookie : people.A.cookie, ...more }))) {
      const answer = await ask(route, headers)
      assert.ok([401, 403].includes(answer.status), `${nameOf(route)} ${JSON.stringify(headers)}: ${answer.status}`)
    }
  }
})
/** Routes that delete an object come last, and those that end a session after them. */
function order(route: Route<unknown>): number {
  if (LEAVING.has(nameOf(route))) return nameOf(route).endsWith('sign-out') ? 3 : 2
  return route.method === 'DELETE' ? 1 : 0
}

test('every route × every principal: the plane of a route decides, and a stranger learns of no object whether it is there', async (t) => {
  const { routes } = server.app
  let cells = 0
  for (const route of routes.toSorted((left, right) => order(left) - order(right))) {
    for (const principal of PRINCIPALS) {
      const what = `${nameOf(route)} as ${principal}`
      cells += 1
      // They would be out for the routes that follow.
      if (nameOf(route) === 'POST /cabinet/v1/members/leave' && principal.endsWith(' A')) continue
      const refusal = refusalOf(route, principal)
      const answer = await ask(route, headersOf(principal))
      if (refusal !== null) assert.deepEqual(errorOf(answer, what), refusal, what)
      else await checkLetIn(route, principal, answer, what)
      assert.ok(
        ![people.A.key, people.B.key, people.A.manager, people.B.manager, server.adminToken].some((secret) =>
          answer.text.includes(secret),
        ),
        `${what} shows a secret`,
      )
    }
  }
  t.diagnostic(`${routes.length} routes, ${cells} cells`)
  assert.ok(routes.length > 120 && cells === routes.length * PRINCIPALS.length, `${routes.length}, ${cells}`)
})

async function checkLetIn(route: Route<unknown>, principal: Principal, answer: Answer, what: string): Promise<void> {
  const name = nameOf(route)
  assert.ok(answer.status < 500, `${what}: ${answer.status} ${answer.text.slice(0, 200)}`)
  if (answer.status >= 400) errorOf(answer, what)
  if (route.plane === 'open') return assert.ok(answer.status === 200 || route.method === 'POST', what)
  if (route.plane === 'token') return assert.equal(answer.status, 200, what)
  const ownerDid = route.method === 'DELETE' || /ip-blocks|price-changes|account-groups/.test(name)
  if (route.plane === 'admin')
    return assert.ok(
      ![401, 403, 405].includes(answer.status) && (answer.status !== 404 || ownerDid),
      `${what}: ${answer.status} ${answer.text}`,
    )
  // An administrator has no account: their session opens only the routes of the user.
  if (principal === 'session') return assert.notEqual(answer.status, 401, what)
  if (OWNED.has(callOf(name)))
    return ['A', 'session A', 'manager A', 'member A', 'billing A'].includes(principal)
      ? assert.ok(answer.status < 300 || [400, 404, 409].includes(answer.status), `${what}: ${answer.status}`)
      : checkStranger(route, principal, answer, what)
  if (['B', 'session B', 'manager B'].includes(principal))
    for (const secret of [
      people.A.id,
      people.A.keyId,
      people.A.spareId,
      people.A.userId,
      objects.generation,
      objects.video,
      'a@example.com',
    ])
      assert.equal(answer.text.includes(secret), false, `${what} shows ${secret}`)
  if (route.plane === 'key')
    assert.ok(
      answer.status < 300 || (route.body === 'json-or-multipart' && answer.status === 400),
      `${what}: ${answer.status} ${answer.text.slice(0, 200)}`,
    )
  else if (!LEAVING.has(name))
    assert.ok(![401, 403, 405].includes(answer.status), `${what}: ${answer.status} ${answer.text.slice(0, 200)}`)
}

/** The answer equals that for an object that never existed, except for the id. */
async function checkStranger(route: Route<unknown>, principal: Principal, answer: Answer, what: string): Promise<void> {
  const never = await ask(route, headersOf(principal), targetOf(route, true))
  assert.deepEqual([answer.status, errorOf(answer, what).type], [404, errorOf(never, what).type], what)
  const ids = [
    objects.video,
    objects.generation,
    objects.stream,
    objects.response,
    objects.session,
    people.A.keyId,
    people.A.spareId,
    people.A.managerId,
    notice.own,
    notice.ownDelivery,
    people.A.userId,
    objects.invitation,
  ].flatMap((id) => [id, id.replace('resp-', 'gen-')])
  const plain = (text: string): string =>
    ids.reduce((rest, id) => rest.replaceAll(id, 'ID').replaceAll(absent(id), 'ID'), text)
  assert.equal(plain(answer.text), plain(never.text), what)
}

test('a path in no table is a 404 for every client, and a wrong method a 405, before any credential is read', async () => {
  for (const principal of PRINCIPALS) {
    for (const path of [
      '/v1/nothing',
      '/admin/v1/nothing',
      '/admin',
      '/v1',
      '/V1/models',
      '/v1//models',
      '/v1/models/',
      '/.env',
      '/config/update',
      '/key/generate',
      '/debug/pprof',
    ]) {
      const answer = await server.request('GET', path, { headers: headersOf(principal) })
      // Under models the rest of a path is a model's name, and needs a key.
      assert.ok(
        answer.status === 404 || (path === '/v1/models/' && answer.status === (MANAGERS.has(principal) ? 403 : 401)),
        `${path} as ${principal}: ${answer.status}`,
      )
      errorOf(answer, path)
    }
    for (const [method, path] of [
      ['PUT', '/v1/chat/completions'],
      ['POST', '/v1/models'],
      ['DELETE', '/admin/v1/accounts'],
      ['PATCH', '/setup'],
    ] as const) {
      const answer = await server.request(method, path, { headers: headersOf(principal) })
      assert.deepEqual(errorOf(answer, path), { status: 405, type: 'method_not_allowed' }, path)
    }
  }
})

test('mass assignment: what only the operator may set, a body cannot', async () => {
  const { key } = people.B
  const before = await server.admin('GET', `/admin/v1/accounts/${people.B.id}`)
  const hostile = {
    account_id: people.A.id,
    account: people.A.id,
    key_id: people.A.keyId,
    user_role: 'proxy_admin',
    allowed_routes: ['/admin'],
    role: 'admin',
    is_admin: true,
    balance: 1e9,
    api_base: 'http://127.0.0.1:1',
    cost: 0,
    __proto__: { admin: true },
  }
  const answer = await server.post('/v1/chat/completions', key, {
    model: 'sandbox/chat',
    messages: [{ role: 'user', content: 'x' }],
    ...hostile,
  })
  assert.equal(answer.status, 200, answer.text)
  const row = await server.get(`/v1/generation?id=${answer.body.id}`, key)
  assert.equal(row.status, 200)
  const after = await server.admin('GET', `/admin/v1/accounts/${people.B.id}`)
  assert.ok(after.body.balance < before.body.balance)
  for (const [path, body] of [
    [`/admin/v1/accounts/${people.B.id}`, { balance: 5 }],
    [`/admin/v1/accounts/${people.B.id}`, { role: 'admin' }],
    [`/admin/v1/keys/${people.B.keyId}`, { account_id: people.A.id }],
    [`/admin/v1/keys/${people.B.keyId}`, { allowed_routes: ['*'] }],
  ] as const) {
    assert.equal((await server.admin('PATCH', path, body)).status, 400, path)
  }
})
