import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN_ROUTES } from '../../src/api/admin/contract.ts'
import type { AdminWireRoute } from '../../src/api/admin/admin-route.ts'
import type { Answer } from '../harness/api-client.ts'
import { administrator, ConsoleClient, PASSWORD, signedUp } from '../harness/console-client.ts'
import { movingGateway } from '../harness/gateway.ts'
import { refused } from '../harness/refused.ts'

/** Nobody makes access that may more, or lasts longer, than they (operator.md 4). */

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const server = await movingGateway({ catalog: '' })
const root = await administrator(server, 'root@example.com')
const ann = await signedUp(server, 'ann@example.com')
const { userId } = ann
const ben = await signedUp(server, 'ben@example.com')
const invitation = (await ann.browser.post('invitations', { role: 'member' })).body
await ben.browser.post('invitations/join', { token: new URL(invitation.link).searchParams.get('token') })

const later = (ms: number): string => new Date(server.clock.now() + ms).toISOString()
let names = 0
const named = (body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => ({
  name: `token-${(names += 1)}`,
  ...body,
})

async function made(
  body: Readonly<Record<string, unknown>>,
  key = server.adminToken,
): Promise<{ readonly id: string; readonly token: string }> {
  const answer = await server.post('/admin/v1/tokens', key, named(body))
  assert.equal(answer.status, 201, answer.text)
  return answer.body
}

/** Ways to make access that outlives a session, each with a body that works. */
function perpetual(): readonly (readonly [string, string, Readonly<Record<string, unknown>>])[] {
  const end = later(HOUR_MS)
  return [
    ['POST', '/admin/v1/tokens', named({ role: 'owner' })],
    ['PUT', `/admin/v1/tokens/external:made-${(names += 1)}`, named({ role: 'owner' })],
    ['PATCH', `/admin/v1/tokens/${token}`, { scopes: ['log:read', 'usage:read'] }],
    ['PATCH', `/admin/v1/tokens/${token}`, { expires_at: end }],
    ['PATCH', `/admin/v1/users/${userId}`, { role: 'admin' }],
    ['PATCH', `/admin/v1/users/${userId}`, { operator_role: 'billing' }],
    ['PATCH', `/admin/v1/users/${userId}`, { role: 'user' }],
    ['PATCH', `/admin/v1/users/${userId}`, { disabled: false }],
    ['POST', `/admin/v1/users/${userId}/password-link`, { clear_totp: true }],
    ['POST', `/admin/v1/accounts/${ann.accountId}/invitations`, { role: 'member' }],
    ['PATCH', `/admin/v1/accounts/${ann.accountId}/members/${ben.userId}`, { role: 'owner' }],
    ['POST', '/admin/v1/administrators', { email: `helper-${(names += 1)}@example.com` }],
  ]
}
let token = ''

test('every route that hands out tokens or people asks an old session for a proof', () => {
  for (const [name, { scope, proof, body }] of Object.entries<AdminWireRoute>(ADMIN_ROUTES))
    if (['tokens:write', 'people:write'].includes(scope) && body !== undefined && !name.endsWith('/remove'))
      assert.notEqual(proof, undefined, `${name} asks for no proof`)
  const asked = Object.entries<AdminWireRoute>(ADMIN_ROUTES).filter(([, { proof }]) => proof !== undefined)
  const tried = new Set(perpetual().map(([method, path]) => `${method} ${path.split('/')[3]}`))
  for (const [name] of asked)
    assert.ok(tried.has(`${name.split(' ')[0]} ${name.split('/')[3]}`), `${name} is not tried`)
})

test('an open session makes no perpetual access after ten minutes, but by the password; a new sign-in is a proof', async () => {
  token = (await made({ scopes: ['log:read'] })).id
  const ask =
    (body: (given: object) => object) =>
    async ([method, path, given]: ReturnType<typeof perpetual>[number]) =>
      root.request(method, path, body(given))
  for (const way of perpetual())
    assert.ok((await ask((given) => given)(way)).status < 300, `fresh: ${way[0]} ${way[1]}`)
  server.clock.advance(11 * MINUTE_MS)
  for (const way of perpetual()) {
    const what = `${way[0]} ${way[1]} ${JSON.stringify(way[2])}`
    const bare = await ask((given) => given)(way)
    assert.equal(bare.status, 403, `${what}: ${bare.text}`)
    assert.deepEqual(bare.body.error.metadata.params, { with: 'password' }, what)
    refused(await ask((given) => ({ ...given, code: '123456' }))(way), 403, 'access_denied')
  }
  for (const way of perpetual().slice(0, 3))
    refused(await ask((given) => ({ ...given, password: 'not the password' }))(way), 400, 'invalid_input')
  for (const way of perpetual()) {
    const proven = await ask((given) => ({ ...given, password: PASSWORD }))(way)
    assert.ok(proven.status < 300, `${way[0]} ${way[1]}: ${proven.text}`)
    assert.equal(proven.text.includes(PASSWORD), false)
  }
  assert.equal((await root.request('PATCH', `/admin/v1/users/${userId}`, { external_id: 'ann' })).status, 200)
  assert.equal((await root.request('DELETE', `/admin/v1/tokens/${token}`)).status, 200, 'less access needs no proof')
  const told = (await server.admin('GET', '/admin/v1/events?limit=1000')).text
  assert.equal(told.includes(PASSWORD), false)
  // Joining an account by a link, which anybody may have sent, proves nothing.
  const { browser } = await signedUp(server)
  const invited = await browser.post('invitations', { role: 'member' })
  const joined = await root.post('invitations/join', { token: new URL(invited.body.link).searchParams.get('token') })
  assert.equal(joined.status, 201, joined.text)
  for (const way of perpetual()) refused(await ask((given) => given)(way), 403, 'access_denied')
  await root.signIn('root@example.com')
  for (const way of perpetual().filter(([, path]) => !path.includes(token)))
    assert.ok((await ask((given) => given)(way)).status < 300)
})

test('a token with an end makes, keeps and changes nothing that lasts longer, however it is asked', async () => {
  const end = later(HOUR_MS)
  const scopes = ['log:read', 'tokens:read', 'tokens:write']
  const own = await made({ scopes, expires_at: end })
  const sibling = await made({ scopes: ['log:read'], expires_at: end })
  const endless = await made({ scopes: ['log:read'] })
  const ask = (method: string, path: string, body?: object, key = own.token): Promise<Answer> =>
    server.request(method, `/admin/v1/${path}`, { key, ...(body === undefined ? {} : { body }) })
  const longer = [null, later(2 * HOUR_MS)]
  for (const far of longer) {
    for (const target of [own.id, sibling.id])
      refused(await ask('PATCH', `tokens/${target}`, { expires_at: far }), 403, 'access_denied')
    refused(await ask('POST', 'tokens', named({ scopes: ['log:read'], expires_at: far })), 403, 'access_denied')
    refused(
      await ask('PUT', 'tokens/external:far', named({ scopes: ['log:read'], expires_at: far })),
      403,
      'access_denied',
    )
  }
  refused(await ask('POST', 'tokens', named({ scopes: ['log:read'] })), 403, 'access_denied')
  refused(await ask('PATCH', `tokens/${endless.id}`, { scopes: ['log:read', 'tokens:write'] }), 403, 'access_denied')
  await server.admin('PATCH', `/admin/v1/tokens/${own.id}`, { external_id: 'own' })
  const shown = (await ask('GET', `tokens/${own.id}`)).body
  refused(await ask('PUT', 'tokens/external:own', { name: shown.name, scopes }), 403, 'access_denied')
  const child = await made({ scopes, expires_at: end }, own.token)
  for (const far of longer)
    refused(await ask('PATCH', `tokens/${own.id}`, { expires_at: far }, child.token), 403, 'access_denied')
  assert.equal((await ask('PATCH', `tokens/${own.id}`, { expires_at: later(HOUR_MS / 2) })).status, 200, 'sooner')
  const capped = (await server.admin('GET', `/admin/v1/tokens/${child.id}`)).body
  assert.ok(Date.parse(capped.expires_at) < Date.parse(end), 'its child ends with it')
})

test('who is revoked takes along what came from them, and a revoked token makes nothing more', async () => {
  const scopes = ['log:read', 'tokens:read', 'tokens:write']
  const first = await made({ scopes })
  const second = await made({ scopes }, first.token)
  const third = await made({ scopes: ['log:read'] }, second.token)
  await server.admin('PATCH', `/admin/v1/tokens/${third.id}`, { external_id: 'third' })
  const cut = await server.admin('PATCH', `/admin/v1/tokens/${first.id}`, { scopes: ['tokens:read', 'tokens:write'] })
  assert.equal(cut.status, 200, cut.text)
  refused(await server.get('/admin/v1/generations', third.token), 403, 'access_denied')
  assert.equal((await server.admin('DELETE', `/admin/v1/tokens/${first.id}`)).status, 200)
  for (const { id, token: secret } of [first, second, third]) {
    refused(await server.get('/admin/v1/tokens', secret), 401, 'unauthorized')
    const shown = (await server.admin('GET', `/admin/v1/tokens/${id}`)).body
    assert.deepEqual([shown.state, shown.external_id], ['revoked', null])
    const events = (await server.admin('GET', `/admin/v1/events?object=${id}`)).body.data
    assert.equal(events[0].action, 'token.revoke')
  }
})

test('a token with an end makes no operator, raises none and opens the way of none', async () => {
  const role = { role: 'owner', expires_at: later(HOUR_MS) }
  const { token: secret } = await made(role)
  const ask = (method: string, path: string, body: object): Promise<Answer> =>
    server.request(method, `/admin/v1/${path}`, { key: secret, body })
  const invited = await server.admin('POST', '/admin/v1/administrators', { email: 'sam@example.com', role: 'support' })
  const ann = await signedUp(server, 'bob@example.com')
  refused(await ask('POST', 'administrators', { email: 'new@example.com' }), 403, 'access_denied')
  refused(await ask('PATCH', `users/${ann.userId}`, { role: 'admin' }), 403, 'access_denied')
  refused(await ask('PATCH', `users/${invited.body.id}`, { operator_role: 'owner' }), 403, 'access_denied')
  refused(await ask('POST', `users/${invited.body.id}/password-link`, {}), 403, 'access_denied')
  assert.equal((await ask('PATCH', `users/${invited.body.id}`, { disabled: true })).status, 200)
  refused(await ask('PATCH', `users/${invited.body.id}`, { disabled: false }), 403, 'access_denied')
  assert.equal((await ask('PATCH', `users/${invited.body.id}`, { role: 'user' })).status, 200)
  assert.equal((await ask('POST', `users/${ann.userId}/password-link`, {})).status, 200, 'of a customer')
})

test('a management key is made with a proof, and works while its maker owns the account', async () => {
  const { browser } = await signedUp(server, 'owner@example.com')
  server.clock.advance(11 * MINUTE_MS)
  refused(await browser.post('management-keys', { name: 'manager' }), 403, 'access_denied')
  const own = await browser.post('management-keys', { name: 'manager', password: PASSWORD })
  assert.equal(own.status, 201, own.text)
  const { link } = (await browser.post('invitations', { role: 'owner', password: PASSWORD })).body
  const other = new ConsoleClient(server)
  const join = { token: new URL(link).searchParams.get('token'), email: 'second@example.com', password: PASSWORD }
  assert.equal((await other.post('invitations/join', join)).status, 201)
  const theirs = (await other.post('management-keys', { name: 'theirs' })).body.key
  const asked = async (key: string): Promise<number> => (await server.get('/v1/keys', key)).status
  assert.deepEqual([await asked(own.body.key), await asked(theirs)], [200, 200])
  const { members } = (await other.get('members')).body
  const self = members.find(({ you }: { you: boolean }) => you).user
  assert.equal((await other.request('PATCH', `members/${self}`, { role: 'member' })).status, 200)
  assert.deepEqual([await asked(own.body.key), await asked(theirs)], [200, 403])
})
