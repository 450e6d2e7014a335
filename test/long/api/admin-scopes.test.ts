import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ADMIN_SCOPES, OPERATOR_ROLES, ROLE_SCOPES, type AdminScope } from '../../../src/tables/admin-scopes.ts'
import { ADMIN_ROUTES } from '../../../src/api/admin/contract.ts'
import { administrator, ConsoleClient, PASSWORD, signedUp } from '../../harness/console-client.ts'
import { startInProcess, type Answer, type InProcessServer } from '../../harness/in-process.ts'
import { refused } from '../../harness/refused.ts'

/** Named admin tokens and the roles of operators: a scope opens its own routes and no other. */

const DAY_MS = 86_400_000
let server: InProcessServer
let secrets: string[]

before(async () => {
  server = await startInProcess()
  secrets = []
})

after(() => server.stop())

interface Token {
  readonly id: string
  readonly token: string
}

async function made(body: Readonly<Record<string, unknown>>, as = server.adminToken): Promise<Token> {
  const answer = await server.request('POST', '/admin/v1/tokens', { key: as, body })
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

test('a token is shown once, stands in the log under its name, and ends when it is revoked or expires', async () => {
  const { id, token } = await made({ name: 'deploy', scopes: ['accounts:read', 'accounts:write', 'tokens:read'] })
  assert.match(token, /^sk-tga-[0-9A-Za-z]{38}$/)
  const account = await server.request('POST', '/admin/v1/accounts', { key: token, body: { name: 'Lantern' } })
  assert.equal(account.status, 201, account.text)
  refused(await server.request('GET', '/v1/user/balance', { key: token }), 401, 'invalid_api_key')
  const events = (await server.admin('GET', `/admin/v1/events?object=${account.body.id}`)).body.data
  assert.deepEqual(
    events.map(({ actor, action }: Record<string, string>) => [actor, action]),
    [['token:deploy', 'account.create']],
  )
  refused(await server.admin('POST', '/admin/v1/tokens', { name: 'deploy', scopes: ['log:read'] }), 409, 'conflict')
  const shown = await server.request('GET', `/admin/v1/tokens/${id}`, { key: token })
  assert.deepEqual([shown.body.name, shown.body.state, shown.body.created_by], ['deploy', 'active', 'token'])
  assert.ok(Date.parse(shown.body.last_used_at) > 0)
  assert.equal((await server.admin('DELETE', `/admin/v1/tokens/${id}`)).status, 200)
  refused(await server.request('GET', '/admin/v1/accounts', { key: token }), 401, 'unauthorized')
  refused(await server.admin('DELETE', `/admin/v1/tokens/${id}`), 404, 'not_found')
  assert.equal((await server.admin('GET', `/admin/v1/tokens/${id}`)).body.state, 'revoked')
  await made({ name: 'deploy', scopes: ['log:read'] })

  const past = await made({ name: 'past', role: 'read_only', expires_at: new Date(Date.now() - DAY_MS).toISOString() })
  refused(await server.request('GET', '/admin/v1/accounts', { key: past.token }), 401, 'unauthorized')
  assert.equal((await server.admin('GET', `/admin/v1/tokens/${past.id}`)).body.state, 'expired')
  const guess = `${token.slice(0, -1)}${token.endsWith('a') ? 'b' : 'a'}`
  refused(await server.request('GET', '/admin/v1/accounts', { key: guess }), 401, 'unauthorized')

  const told = [
    (await server.admin('GET', '/admin/v1/tokens?limit=1000')).text,
    (await server.admin('GET', '/admin/v1/events?limit=1000')).text,
    ...server.logs(),
  ].join('\n')
  for (const secret of secrets) assert.ok(!told.includes(secret), 'no text of a token is anywhere')
})

test('nobody hands out more than they may do, by a token, by a role or by a link', async () => {
  const minter = await made({ name: 'minter', scopes: ['tokens:read', 'tokens:write', 'log:read'] })
  const mint = (body: unknown): Promise<Answer> =>
    server.request('POST', '/admin/v1/tokens', { key: minter.token, body })
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
