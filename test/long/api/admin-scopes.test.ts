import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN_SCOPES, OPERATOR_ROLES, ROLE_SCOPES, type AdminScope } from '../../../src/tables/scopes.ts'
import { ADMIN_ROUTES } from '../../../src/api/admin/contract.ts'
import { SETTINGS, type SettingRow } from '../../../src/tables/settings-table.ts'
import type { AdminWireRoute } from '../../../src/api/admin/admin-route.ts'
import { administrator, ConsoleClient, PASSWORD, signedUp } from '../../harness/console-client.ts'
import { gateway, type Answer } from '../../harness/gateway.ts'
import { refused } from '../../harness/refused.ts'

/** Named admin tokens and the roles of operators: a scope opens its own routes and no other. */

const DAY_MS = 86_400_000

const server = await gateway()
const secrets: string[] = []

interface Token {
  readonly id: string
  readonly token: string
}

async function made(body: Readonly<Record<string, unknown>>, as = server.adminToken): Promise<Token> {
  const answer = await server.post('/admin/v1/tokens', as, body)
  assert.equal(answer.status, 201, answer.text)
  secrets.push(answer.body.token)
  return { id: answer.body.id, token: answer.body.token }
}

/** A harmless call of each admin route: of ids that are not there, and with nothing applied. */
function calls(): readonly { readonly name: string; readonly scope: AdminScope; send(key: string): Promise<Answer> }[] {
  return Object.entries(ADMIN_ROUTES).map(([name, { scope }]) => {
    const [method = '', path = ''] = name.split(' ')
    const target = `${path.replaceAll(/[:*]\w+/g, 'none')}?dry_run=1`
    const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} }
    return { name, scope, send: (key) => server.request(method, target, { key, ...body }) }
  })
}

test('every scope × every route of the admin API: a token opens the routes of its scopes alone', async (t) => {
  const routes = calls()
  const needed = new Set<string>(routes.map(({ scope }) => scope))
  // `GET /metrics` is beside the admin API.
  assert.deepEqual(
    ADMIN_SCOPES.filter((scope) => !needed.has(scope)),
    ['metrics:read'],
  )
  let cells = 0
  for (const own of ADMIN_SCOPES) {
    const { token } = await made({ name: own.replace(':', '.'), scopes: [own] })
    for (const { name, scope, send } of routes) {
      const answer = await send(token)
      const what = `${name} with ${own}: ${answer.text}`
      cells += 1
      if (scope === own) assert.ok(![401, 403].includes(answer.status), what)
      else {
        assert.equal(answer.status, 403, what)
        assert.deepEqual(answer.body.error.metadata, {
          error_type: 'access_denied',
          reason: 'scope_needed',
          params: { scope },
        })
      }
      assert.ok(answer.status < 500, what)
    }
    const metrics = await server.request('GET', '/metrics', {
      key: token,
      headers: { 'x-forwarded-for': '203.0.113.9' },
    })
    assert.equal(metrics.status, own === 'metrics:read' ? 200 : 403, `/metrics with ${own}`)
  }
  t.diagnostic(`${cells} cells`)
})

/** A value of each part that another scope guards, unlike what a new record or a new service has. */
function valueOf(part: string, { group }: { readonly group: string }): unknown {
  const row: SettingRow | undefined = new Map<string, SettingRow>(Object.entries(SETTINGS)).get(part)
  if (row?.kind === 'flag') return !row.fallback
  if (row?.kind === 'choice') return Object.keys(row.options).find((option) => option !== row.fallback)
  if (row?.kind === 'texts')
    return Object.fromEntries(
      Object.keys(row.fields)
        .map((name) => [name, 'https://ai.example.com/'])
        .slice(0, 1),
    )
  if (row?.kind === 'numbers')
    return Object.fromEntries(
      Object.entries(row.fields).map(([name, { fallback, most }]) => [
        name,
        fallback === most ? fallback - 1 : fallback + 1,
      ]),
    )
  const given = new Map<string, unknown>([
    ['group', group],
    ['markup', 1.7],
    ['timezone', 'Europe/Moscow'],
    ['rates', { USD: 77 }],
    ['model_fallbacks', { old: 'sandbox/chat' }],
    ['limit', 5],
    ['limit_reset', 'daily'],
    ['expires_at', new Date(Date.now() + DAY_MS).toISOString()],
    ['allowed_models', ['sandbox/chat']],
    ['requests_per_minute', 7],
    ['tokens_per_minute', 900],
    ['running_requests', 3],
    ['model_limits', { 'sandbox/chat': { requests_per_minute: 5 } }],
    ['allowed_ips', ['203.0.113.0/24']],
  ])
  assert.ok(given.has(part), `valueOf names no value of '${part}'`)
  return given.get(part)
}

test('every part of a body that another scope guards: refused without that scope, whoever writes the rest', async (t) => {
  const group = (await server.admin('POST', '/admin/v1/account-groups', { name: 'Partners', markup: 1.1 })).body.id
  let cells = 0
  for (const [name, { scope, parts = {} }] of Object.entries<AdminWireRoute>(ADMIN_ROUTES))
    for (const [part, other] of Object.entries(parts)) {
      cells += 1
      const [method = '', path = ''] = name.split(' ')
      const what = `${part} of ${name}`
      const account = await server.admin('POST', '/admin/v1/accounts', { name: `Of ${what}` })
      const own = await server.admin('POST', '/admin/v1/account-groups', { name: `Of ${what}`, markup: 1.1 })
      const key = await server.admin('POST', `/admin/v1/accounts/${account.body.id}/keys`, { name: 'k', limit: 9 })
      const record = path.includes('/accounts') ? account : path.includes('/keys') ? key : own
      const ways =
        method === 'PUT' && path.endsWith(':id') ? [record.body.id, `external:new-${cells}`] : [record.body.id]
      const narrow = await made({ name: `narrow-${cells}`, scopes: [scope] })
      const wide = await made({ name: `wide-${cells}`, scopes: [scope, other] })
      const catalog = name.endsWith('/catalog') ? (await server.admin('GET', '/admin/v1/catalog')).body : null
      for (const id of ways) {
        const terms = path.includes('groups')
          ? { name: `Other ${cells} ${id}`, markup: 1.1 }
          : { name: `Other ${cells}` }
        const body = { ...(catalog ?? (method === 'PATCH' ? {} : terms)), [part]: valueOf(part, { group }) }
        const target = path.replace(':id', id)
        const told = await server.request(method, target, { key: narrow.token, body })
        assert.equal(told.status, 403, `${what}: ${told.text}`)
        assert.deepEqual(told.body.error.metadata.params, { scope: other }, what)
        if (catalog !== null) {
          const dry = await server.request(method, `${target}?dry_run=1`, { key: narrow.token, body })
          assert.equal(dry.status, 403, what)
        }
        const done = await server.request(method, target, { key: wide.token, body })
        assert.ok(done.status < 300, `${what}: ${done.text}`)
        // The same again changes nothing of that part, so it needs no more than the rest.
        const again = method === 'POST' ? null : await server.request(method, target, { key: narrow.token, body })
        assert.ok((again?.status ?? 200) < 300, `${what}, again: ${again?.text}`)
        const { [part]: _left, ...without } = body
        const back = method === 'PUT' && part !== 'markup' ? { ...without } : null
        if (back !== null)
          assert.equal((await server.request(method, target, { key: narrow.token, body: back })).status, 403, what)
      }
    }
  t.diagnostic(`${cells} parts`)
  assert.ok(cells > 30)
})

test('whoever writes the catalogue changes its models and no setting', async () => {
  const { token } = await made({ name: 'prices', scopes: ['catalog:read', 'catalog:write'] })
  const before = (await server.admin('GET', '/admin/v1/settings')).body
  const { body } = await server.get('/admin/v1/catalog', token)
  const { settings: _none, ...bare } = { ...body, settings: null }
  const model = {
    id: 'own/chat',
    type: 'chat',
    context_length: 8_000,
    endpoints: [{ provider: 'sandbox', model: 'chat', price: { currency: 'RUB', prompt: 15, completion: 60 } }],
  }
  const put = await server.request('PUT', '/admin/v1/catalog', {
    key: token,
    body: { ...bare, models: [...body.models, model] },
  })
  assert.equal(put.status, 200, put.text)
  assert.ok(put.body.changes.length > 0)
  assert.deepEqual((await server.admin('GET', '/admin/v1/settings')).body, before)
})

test('support switches keys off and renames them; it makes, rotates and deletes none, and raises no limit', async () => {
  const { token } = await made({ name: 'helper', role: 'support' })
  const account = (await server.admin('POST', '/admin/v1/accounts', { name: 'Lantern' })).body.id
  const key = (await server.admin('POST', `/admin/v1/accounts/${account}/keys`, { name: 'k', limit: 9 })).body.id
  const ask = (method: string, path: string, body?: unknown): Promise<Answer> =>
    server.request(method, `/admin/v1/${path}`, { key: token, ...(body === undefined ? {} : { body }) })
  for (const body of [{ disabled: true }, { name: 'the broken one' }, { disabled: false }])
    assert.equal((await ask('PATCH', `keys/${key}`, body)).status, 200)
  for (const [method, path, body] of [
    ['POST', `accounts/${account}/keys`, { name: 'mine' }],
    ['POST', `keys/${key}/rotate`, {}],
    ['PUT', 'keys/external:mine', { account, name: 'mine' }],
    ['PUT', `keys/${key}`, { account, name: 'k' }],
    ['PATCH', `keys/${key}`, { limit: 1e6 }],
    ['PATCH', `keys/${key}`, { limit: null, disabled: false }],
    ['DELETE', `keys/${key}`, undefined],
  ] as const)
    refused(await ask(method, path, body), 403, 'access_denied')
})

test('a token is shown once, stands in the log under its name, and ends when it is revoked or expires', async () => {
  const { id, token } = await made({ name: 'deploy', scopes: ['accounts:read', 'accounts:write', 'tokens:read'] })
  assert.match(token, /^sk-tga-[0-9A-Za-z]{38}$/)
  const account = await server.post('/admin/v1/accounts', token, { name: 'Lantern' })
  assert.equal(account.status, 201, account.text)
  refused(await server.get('/v1/user/balance', token), 401, 'invalid_api_key')
  const events = (await server.admin('GET', `/admin/v1/events?object=${account.body.id}`)).body.data
  assert.deepEqual(
    events.map(({ actor, action }: Record<string, string>) => [actor, action]),
    [['token:deploy', 'account.create']],
  )
  refused(await server.admin('POST', '/admin/v1/tokens', { name: 'deploy', scopes: ['log:read'] }), 409, 'conflict')
  const shown = await server.get(`/admin/v1/tokens/${id}`, token)
  assert.deepEqual([shown.body.name, shown.body.state, shown.body.created_by], ['deploy', 'active', 'token'])
  assert.ok(Date.parse(shown.body.last_used_at) > 0)
  assert.equal((await server.admin('DELETE', `/admin/v1/tokens/${id}`)).status, 200)
  refused(await server.get('/admin/v1/accounts', token), 401, 'unauthorized')
  refused(await server.admin('DELETE', `/admin/v1/tokens/${id}`), 404, 'not_found')
  assert.equal((await server.admin('GET', `/admin/v1/tokens/${id}`)).body.state, 'revoked')
  await made({ name: 'deploy', scopes: ['log:read'] })

  const past = await made({ name: 'past', role: 'read_only', expires_at: new Date(Date.now() - DAY_MS).toISOString() })
  refused(await server.get('/admin/v1/accounts', past.token), 401, 'unauthorized')
  assert.equal((await server.admin('GET', `/admin/v1/tokens/${past.id}`)).body.state, 'expired')
  const guess = `${token.slice(0, -1)}${token.endsWith('a') ? 'b' : 'a'}`
  refused(await server.get('/admin/v1/accounts', guess), 401, 'unauthorized')

  const told = [
    (await server.admin('GET', '/admin/v1/tokens?limit=1000')).text,
    (await server.admin('GET', '/admin/v1/events?limit=1000')).text,
    ...server.logs(),
  ].join('\n')
  for (const secret of secrets) assert.ok(!told.includes(secret), 'no text of a token is anywhere')
})

test('nobody hands out more than they may do, by a token, by a role or by a link', async () => {
  const minter = await made({ name: 'minter', scopes: ['tokens:read', 'tokens:write', 'log:read'] })
  const mint = (body: unknown): Promise<Answer> => server.post('/admin/v1/tokens', minter.token, body)
  refused(await mint({ name: 'more', scopes: ['log:read', 'money:write'] }), 403, 'access_denied')
  refused(await mint({ name: 'more', role: 'owner' }), 403, 'access_denied')
  await made({ name: 'as-much', scopes: ['log:read'] }, minter.token)
  const wide = await made({ name: 'wide', role: 'administrator' })
  refused(await server.request('DELETE', `/admin/v1/tokens/${wide.id}`, { key: minter.token }), 403, 'access_denied')

  const root = await administrator(server, 'root@example.com')
  const { userId } = await signedUp(server)
  const people = await made({ name: 'people', scopes: ['people:read', 'people:write'] })
  const ask = (method: string, path: string, body?: unknown): Promise<Answer> =>
    server.request(method, `/admin/v1/${path}`, { key: people.token, ...(body === undefined ? {} : { body }) })
  const rootId = (await server.admin('GET', '/admin/v1/users?role=admin')).body.data[0].id
  for (const role of OPERATOR_ROLES) {
    refused(await ask('POST', 'administrators', { email: `${role}@example.com`, role }), 403, 'access_denied')
    refused(await ask('PATCH', `users/${userId}`, { operator_role: role }), 403, 'access_denied')
  }
  refused(await ask('POST', 'administrators', { email: 'x@example.com' }), 403, 'access_denied')
  refused(await ask('PATCH', `users/${userId}`, { role: 'admin' }), 403, 'access_denied')
  refused(await ask('PATCH', `users/${rootId}`, { role: 'user' }), 403, 'access_denied')
  refused(await ask('PATCH', `users/${rootId}`, { disabled: true }), 403, 'access_denied')
  refused(await ask('POST', `users/${rootId}/password-link`, {}), 403, 'access_denied')
  assert.equal((await ask('POST', `users/${userId}/password-link`, {})).status, 200)
  assert.equal((await ask('PATCH', `users/${userId}`, { disabled: true })).body.disabled, true)
  refused(
    await server.admin('PATCH', `/admin/v1/users/${userId}`, { role: 'user', operator_role: 'billing' }),
    400,
    'invalid_input',
    /^operator_role: /,
  )
  assert.equal((await root.get('/admin/v1/tokens')).status, 200)
})

test("a session has the scopes of its operator's role, and a change of the role counts at once", async () => {
  const invited = await server.admin('POST', '/admin/v1/administrators', { email: 'sam@example.com', role: 'support' })
  const browser = new ConsoleClient(server)
  const token = new URL(String(invited.body.link)).searchParams.get('token')
  const { profile } = (await browser.post('setup', { token, password: PASSWORD })).body
  assert.deepEqual([profile.role, profile.operator_role], ['admin', 'support'])
  assert.deepEqual(new Set(profile.scopes), ROLE_SCOPES.support)
  for (const { name, scope } of calls().filter(({ name: call }) => call.startsWith('GET '))) {
    const { status } = await browser.get(name.slice(4).replaceAll(/[:*]\w+/g, 'none'))
    assert.equal(status === 403, !ROLE_SCOPES.support.has(scope), `${name}: ${status}`)
  }
  refused(await browser.post('/admin/v1/tokens', { name: 'x', scopes: ['keys:read'] }), 403, 'access_denied')
  refused(await browser.request('PATCH', `/admin/v1/users/${profile.user_id}`, { role: 'admin' }), 403, 'access_denied')
  await server.admin('PATCH', `/admin/v1/users/${profile.user_id}`, { operator_role: 'billing' })
  refused(await browser.get('/admin/v1/users'), 403, 'access_denied')
  assert.equal((await browser.get('/admin/v1/payments')).status, 200)
})
