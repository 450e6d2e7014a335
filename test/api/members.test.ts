import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CABINET_FILES } from '../../src/api/cabinet/files.ts'
import { ROUTE_SCOPES, type RouteScope } from '../../src/api/cabinet/ports.ts'
import { MEMBER_ROLE_SCOPES, type MemberRole } from '../../src/tables/scopes.ts'
import { ConsoleClient, PASSWORD, signedUp, topUp, viewer } from '../harness/console-client.ts'
import { movingGateway, type MovingGateway } from '../harness/gateway.ts'
import { refusedInWords as refused } from '../harness/refused.ts'
import { DAY_MS } from '../../src/base/time.ts'

/** Several people in one account, with their roles, limits and invitations. */

let people = 0

const server = await movingGateway({ catalog: '', startUnixMs: Date.parse('2026-11-10T10:30:00Z') })
const made = await signedUp(server, 'owner@example.com')
const owner = made.browser
const accountId = made.accountId
await topUp(server, accountId, 100)

const tokenOf = (link: string): string => new URL(link).searchParams.get('token') ?? ''

async function invited(body: object, by = owner): Promise<string> {
  const answer = await by.post('invitations', body)
  assert.equal(answer.status, 201, answer.text)
  return tokenOf(answer.body.link)
}

/** A new person in the owner's account. */
async function joined(
  role: MemberRole,
  more: object = {},
): Promise<{ readonly browser: ConsoleClient; readonly email: string; readonly id: string }> {
  const email = `joined${(people += 1)}@example.com`
  const proof = role === 'owner' ? { password: PASSWORD } : {}
  const token = await invited({ role, ...more, ...proof })
  const browser = new ConsoleClient(server)
  const answer = await browser.post('invitations/join', { token, email, password: PASSWORD })
  assert.equal(answer.status, 201, answer.text)
  return { browser, email, id: answer.body.profile.user_id }
}

function chat(key: string): ReturnType<MovingGateway['request']> {
  return server.post('/v1/chat/completions', key, { model: 'sandbox/chat', messages: [{ role: 'user', content: 'x' }] })
}

test('who joins acts for the account in their role, and has no account of their own', async () => {
  const { browser, email, id } = await joined('member', { monthly_limit: 5 })
  const { profile } = (await browser.get('session')).body
  assert.deepEqual(
    [profile.account_id, profile.account_role, profile.monthly_limit, profile.accounts.length],
    [accountId, 'member', 5, 1],
  )
  assert.deepEqual(new Set(profile.account_scopes), new Set(MEMBER_ROLE_SCOPES.member))
  const { members, invitations } = (await browser.get('members')).body
  assert.deepEqual(
    members
      .filter((member: { user: string; role: string }) => member.user === id || member.role === 'owner')
      .map(({ email: address, role, you }: Record<string, unknown>) => [address, role, you]),
    [
      ['owner@example.com', 'owner', false],
      [email, 'member', true],
    ],
  )
  assert.deepEqual(invitations, [], 'only owners see invitations')
  assert.equal((await browser.get('summary')).body.money.balance, 100)
  // The next sign-in is in the account too, and makes no other.
  const again = new ConsoleClient(server)
  assert.equal((await again.signIn(email)).body.profile.account_id, accountId)
})

test('an invitation works once, for a week, until it is revoked, and for the person whom it names', async () => {
  const used = await invited({ role: 'billing' })
  assert.deepEqual((await new ConsoleClient(server).post('invitations/check', { token: used })).body, {
    account_name: 'owner@example.com',
    role: 'billing',
    monthly_limit: null,
    email: null,
    signed_in_as: null,
  })
  const join = (token: string, email: string): ReturnType<ConsoleClient['post']> =>
    new ConsoleClient(server).post('invitations/join', { token, email, password: PASSWORD })
  assert.equal((await join(used, 'once@example.com')).status, 201)
  refused(await join(used, 'twice@example.com'), 403, 'access_denied')
  const both = await invited({ role: 'billing' })
  const answers = await Promise.all([join(both, 'race1@example.com'), join(both, 'race2@example.com')])
  assert.deepEqual(
    answers.map(({ status }) => status).toSorted((one, other) => one - other),
    [201, 403],
    'two at once',
  )

  const revoked = await owner.post('invitations', { role: 'member' })
  assert.equal((await owner.request('DELETE', `invitations/${revoked.body.id}`)).status, 200)
  refused(await join(tokenOf(revoked.body.link), 'late@example.com'), 403, 'access_denied')
  refused(await owner.request('DELETE', `invitations/${revoked.body.id}`), 404, 'not_found')

  const named = await invited({ role: 'member', email: 'Named@Example.com' })
  refused(await join(named, 'other@example.com'), 403, 'access_denied')
  const stranger = await signedUp(server)
  refused(await stranger.browser.post('invitations/join', { token: named }), 403, 'access_denied')
  assert.equal((await join(named, 'named@example.com')).status, 201)

  const known = await invited({ role: 'member' })
  refused(await join(known, 'owner@example.com'), 409, 'conflict')
  // Whoever has a link learns of few addresses whether they have users.
  const tries: number[] = []
  for (let count = 1; count <= 10; count += 1) tries.push((await join(known, 'owner@example.com')).status)
  assert.deepEqual([tries.filter((status) => status === 409).length, tries.at(-1)], [9, 429])
  refused(await owner.post('invitations/join', { token: known }), 409, 'conflict')
  for (const body of [{ token: known }, { token: known, email: 'x@example.com' }, { token: known, password: PASSWORD }])
    refused(await new ConsoleClient(server).post('invitations/join', body), 400, 'invalid_input')
  for (const token of ['x', 'A'.repeat(43), `${known}A`])
    refused(await new ConsoleClient(server).post('invitations/check', { token }), 403, 'access_denied')
  server.clock.advance(7 * DAY_MS)
  refused(await join(known, 'week@example.com'), 403, 'access_denied')
  assert.equal((await owner.signIn('owner@example.com')).status, 200)
  assert.deepEqual((await owner.get('members')).body.invitations, [])
})

test('a route of the cabinet opens to the roles that its row names, and to no other', async () => {
  const routes = server.app.routes.filter(({ plane }) => plane === 'session')
  const scopes = new Map<string, RouteScope>([
    ...Object.entries(ROUTE_SCOPES),
    ...[...CABINET_FILES].map(([name, { scope }]) => [name, scope] as const),
  ])
  const payments = [...scopes.keys()].filter((name) => name.includes('/payments'))
  const names = routes.map(({ method, path }) => `${method} ${path}`)
  assert.deepEqual(new Set([...names, ...payments, ...oidc(scopes)]), new Set(scopes.keys()))
  for (const role of ['member', 'billing', 'viewer'] as const) {
    const { browser } = role === 'viewer' ? await viewer(server, 'routes@example.com', accountId) : await joined(role)
    for (const { method, path } of routes) {
      const scope = scopes.get(`${method} ${path}`)
      assert.ok(scope !== undefined, `${method} ${path}`)
      if (['POST /cabinet/v1/sign-out', 'POST /cabinet/v1/members/leave'].includes(`${method} ${path}`)) continue
      const target = path.replaceAll(/[:*]\w+/g, 'none')
      const answer = await browser.request(method, target, method === 'GET' || method === 'DELETE' ? undefined : {})
      const isOpen = scope === 'self' || MEMBER_ROLE_SCOPES[role].has(scope)
      assert.equal(
        answer.status === 403 && answer.body?.error?.metadata?.reason === 'role_needed',
        !isOpen,
        `${method} ${path} as ${role}: ${answer.status} ${answer.text.slice(0, 200)}`,
      )
    }
  }
})

/** Routes that this server lacks: it has no single sign-on. */
function oidc(scopes: ReadonlyMap<string, string>): readonly string[] {
  return [...scopes.keys()].filter((name) => name.includes('/identities'))
}

test('a member sees, changes and spends by the keys that they made, and by no other', async () => {
  const one = await joined('member')
  const other = await joined('member')
  const ofOwner = (await owner.post('keys', { name: "owner's" })).body
  const own = (await one.browser.post('keys', { name: 'mine' })).body
  assert.deepEqual(
    (await one.browser.get('keys')).body.data.map(({ id }: { id: string }) => id),
    [own.id],
  )
  assert.equal((await one.browser.get('summary')).body.keys, 1)
  const makers = new Map(
    (await owner.get('keys')).body.data.map((key: { readonly id: string; readonly made_by: string | null }) => [
      key.id,
      key.made_by,
    ]),
  )
  assert.deepEqual([makers.get(own.id), makers.get(ofOwner.id)], [one.email, 'owner@example.com'])
  assert.equal(own.made_by, one.email)
  const ofProgram = (await server.admin('POST', `/admin/v1/accounts/${accountId}/keys`, { name: 'p' })).body.id
  assert.equal((await owner.get(`keys/${ofProgram}`)).body.made_by, null)
  const playground = (browser: ConsoleClient, keyId: string): ReturnType<ConsoleClient['request']> =>
    browser.request(
      'POST',
      'playground/chat/completions',
      { model: 'sandbox/chat', messages: [{ role: 'user', content: 'x' }] },
      { 'x-tollgate-key-id': keyId },
    )
  for (const [browser, id] of [
    [one.browser, ofOwner.id],
    [other.browser, own.id],
  ] as const) {
    refused(await browser.get(`keys/${id}`), 404, 'not_found')
    refused(await browser.request('PATCH', `keys/${id}`, { disabled: true }), 404, 'not_found')
    refused(await browser.post(`keys/${id}/rotate`, {}), 404, 'not_found')
    refused(await browser.request('DELETE', `keys/${id}`), 404, 'not_found')
    refused(await playground(browser, id), 400, 'invalid_input')
  }
  assert.equal((await playground(one.browser, own.id)).status, 200)
  assert.equal((await playground(owner, own.id)).status, 200, 'an owner may')
  const { browser: payer } = await joined('billing')
  assert.ok((await payer.get('keys')).body.data.length >= 2)
  refused(await playground(payer, own.id), 403, 'access_denied')
  refused(await payer.post('keys', { name: 'x' }), 403, 'access_denied')
  refused(await one.browser.request('PATCH', 'profile', { default_model: 'sandbox/chat' }), 403, 'access_denied')
})

test('the keys of a member fit into their monthly limit, whatever is deleted, changed or made at once', async () => {
  const { browser, id } = await joined('member', { monthly_limit: 3 })
  const make = (limit: number | null, reset: string | null = 'monthly'): ReturnType<ConsoleClient['post']> =>
    browser.post('keys', { name: 'k', limit, limit_reset: reset })
  for (const answer of [await make(null, null), await make(3, null), await make(1, 'daily'), await make(3.000001)])
    refused(answer, 400, 'invalid_input')
  const both = await Promise.all([make(2), make(2)])
  assert.deepEqual(
    both.map(({ status }) => status).toSorted((one, other) => one - other),
    [201, 400],
    'two at once',
  )
  const [kept] = both.filter(({ status }) => status === 201).map(({ body }) => body)
  assert.equal((await browser.request('PATCH', `keys/${kept.id}`, { limit: 3 })).status, 200)
  for (const patch of [{ limit: 3.5 }, { limit: null }, { limit_reset: 'weekly' }, { limit_reset: null }])
    refused(await browser.request('PATCH', `keys/${kept.id}`, patch), 400, 'invalid_input')
  refused(await owner.request('PATCH', `keys/${kept.id}`, { limit: 4 }), 400, 'invalid_input')
  refused(await server.admin('PATCH', `/admin/v1/keys/${kept.id}`, { limit: 4 }), 400, 'invalid_input')

  const { cost } = (await chat(kept.key)).body.usage
  assert.equal((await browser.request('DELETE', `keys/${kept.id}`)).status, 200)
  refused(await make(3), 400, 'invalid_input')
  const rest = Math.round((3 - cost) * 1e6) / 1e6
  assert.equal((await make(rest)).status, 201, 'what the deleted key has spent still counts')
  const { members } = (await owner.get('members')).body
  assert.equal(members.find(({ user }: { user: string }) => user === id).monthly_limit, 3)

  refused(await owner.request('PATCH', `members/${id}`, { monthly_limit: 1 }), 409, 'conflict')
  assert.equal((await owner.request('PATCH', `members/${id}`, { monthly_limit: 4 })).body.monthly_limit, 4)
  assert.equal((await make(1)).status, 201)
  refused(await owner.request('PATCH', `members/${id}`, { role: 'billing', monthly_limit: 4 }), 400, 'invalid_input')
})

test('a removed person is out at once; their keys are disabled or work on, as chosen', async () => {
  for (const disables of [true, false]) {
    const { browser, email, id } = await joined('member')
    const second = new ConsoleClient(server)
    await second.signIn(email)
    const { key, id: keyId } = (await browser.post('keys', { name: 'left' })).body
    assert.equal((await chat(key)).status, 200)
    const removed = await owner.post(`members/${id}/remove`, { disable_keys: disables })
    assert.deepEqual(removed.body, { id, deleted: true, disabled_keys: disables ? 1 : 0 })
    for (const session of [browser, second]) refused(await session.get('summary'), 401, 'unauthorized')
    assert.equal((await chat(key)).status, disables ? 403 : 200)
    assert.equal((await owner.get(`keys/${keyId}`)).body.disabled, disables)
    refused(await owner.post(`members/${id}/remove`, { disable_keys: true }), 404, 'not_found')
    const back = new ConsoleClient(server)
    const { profile } = (await back.signIn(email)).body
    assert.notEqual(profile.account_id, accountId, 'an account of their own')
    refused(await back.get(`keys/${keyId}`), 404, 'not_found')
  }
})

test('while sign-up is closed, an invitation used by many at once makes one person, and nobody gets an account of their own', async () => {
  const signup = async (state: string): Promise<unknown> =>
    server.admin('PATCH', '/admin/v1/settings', { signup: state })
  const accounts = async (): Promise<number> => (await server.admin('GET', '/admin/v1/accounts')).body.total
  const before = await accounts()
  await signup('closed')
  try {
    const token = await invited({ role: 'member' })
    const racers = Array.from({ length: 6 }, (_, index) => ({
      browser: new ConsoleClient(server),
      email: `racer${index}@example.com`,
    }))
    const answers = await Promise.all(
      racers.map(({ browser, email }) => browser.post('invitations/join', { token, email, password: PASSWORD })),
    )
    assert.equal(answers.filter(({ status }) => status === 201).length, 1)
    for (const [index, answer] of answers.entries()) {
      if (answer.status === 201) continue
      refused(answer, 403, 'access_denied')
      refused(await new ConsoleClient(server).signIn(racers[index]?.email ?? ''), 401, 'unauthorized')
    }
    const winner = racers[answers.findIndex(({ status }) => status === 201)]
    assert.ok(winner !== undefined)
    const { user_id: id } = (await winner.browser.get('session')).body.profile
    await owner.post(`members/${id}/remove`, { disable_keys: true })
    const signedIn = await winner.browser.signIn(winner.email)
    assert.equal(signedIn.status, 200, 'who is in no account signs in')
    assert.deepEqual([signedIn.body.profile.account_id, signedIn.body.profile.account_role], ['', null])
    refused(await winner.browser.get('summary'), 403, 'access_denied')
    assert.equal(await accounts(), before)
    const back = await winner.browser.post('invitations/join', { token: await invited({ role: 'member' }) })
    assert.equal(back.body.profile.account_id, accountId, 'and may join one')
  } finally {
    await signup('open')
  }
})

test('an owner is changed and removed by nobody else, and the last owner stays', async () => {
  const second = await joined('owner')
  const first = (await owner.get('session')).body.profile.user_id
  for (const [browser, id] of [
    [owner, second.id],
    [second.browser, first],
  ] as const) {
    refused(await browser.post(`members/${id}/remove`, { disable_keys: true }), 409, 'conflict')
    refused(await browser.request('PATCH', `members/${id}`, { role: 'member' }), 409, 'conflict')
  }
  refused(await second.browser.post(`members/${second.id}/remove`, { disable_keys: true }), 409, 'conflict')
  assert.equal((await second.browser.request('PATCH', `members/${second.id}`, { role: 'member' })).status, 200)
  refused(await second.browser.post('invitations', { role: 'member' }), 403, 'access_denied')
  refused(await owner.post('members/leave'), 409, 'conflict')
  refused(await owner.request('PATCH', `members/${first}`, { role: 'billing' }), 409, 'conflict')
  assert.equal((await second.browser.post('members/leave')).status, 200)
  refused(await second.browser.get('summary'), 401, 'unauthorized')

  // An account goes from one owner to another.
  const third = await signedUp(server)
  const heir = new ConsoleClient(server)
  const token = await invited({ role: 'owner', password: PASSWORD }, third.browser)
  await heir.post('invitations/join', { token, email: 'heir@example.com', password: PASSWORD })
  assert.equal((await third.browser.post('members/leave')).status, 200)
  assert.equal((await heir.get('session')).body.profile.account_id, third.accountId)
  assert.equal((await third.browser.signIn(third.email)).body.profile.accounts.length, 1)
  assert.notEqual((await third.browser.get('session')).body.profile.account_id, third.accountId)
})

test('a new owner needs the proof of the person who lets them in', async () => {
  refused(await owner.post('invitations', { role: 'owner' }), 400, 'invalid_input')
  refused(await owner.post('invitations', { role: 'owner', password: 'a wrong guess' }), 400, 'invalid_input')
  const { id, browser } = await joined('member')
  refused(await owner.request('PATCH', `members/${id}`, { role: 'owner' }), 400, 'invalid_input')
  refused(await browser.request('PATCH', `members/${id}`, { role: 'owner', password: PASSWORD }), 403, 'access_denied')
  assert.equal(
    (await owner.request('PATCH', `members/${id}`, { role: 'owner', password: PASSWORD })).body.role,
    'owner',
  )
})

test('a person of two accounts goes from one to the other, and into no third', async () => {
  const { browser, accountId: home, email } = await signedUp(server)
  const stranger = await signedUp(server)
  const token = await invited({ role: 'billing' })
  const answer = await browser.post('invitations/join', { token })
  assert.deepEqual(
    [answer.body.profile.account_id, answer.body.profile.account_role, answer.body.profile.accounts.length],
    [accountId, 'billing', 2],
  )
  refused(await browser.post('keys', { name: 'x' }), 403, 'access_denied')
  assert.equal((await browser.post('account', { account: home })).body.profile.account_role, 'owner')
  assert.equal((await browser.get('summary')).body.money.balance, 0)
  assert.equal((await browser.post('keys', { name: 'x' })).status, 201)
  for (const account of [stranger.accountId, 'acc_none', ''])
    assert.ok([400, 404].includes((await browser.post('account', { account })).status), account)
  assert.equal((await browser.get('session')).body.profile.account_id, home)
  const id = (await browser.get('session')).body.profile.user_id
  await browser.post('account', { account: accountId })
  assert.equal((await owner.post(`members/${id}/remove`, { disable_keys: false })).status, 200)
  refused(await browser.get('summary'), 401, 'unauthorized')
  assert.equal((await browser.signIn(email)).body.profile.account_id, home)
})

test('people, invitations and changes of another account are as if they did not exist', async () => {
  const { browser: stranger } = await signedUp(server)
  const { id, email } = await joined('member')
  const { id: invitation } = (await owner.post('invitations', { role: 'member' })).body
  for (const [method, path, body] of [
    ['PATCH', `members/${id}`, { monthly_limit: 1 }],
    ['POST', `members/${id}/remove`, { disable_keys: true }],
    ['DELETE', `invitations/${invitation}`, undefined],
  ] as const) {
    const real = await stranger.request(method, path, body)
    const none = await stranger.request(method, path.replace(/(usr|inv)_\w+/, '$1_none'), body)
    assert.deepEqual([real.status, none.status], [404, 404], path)
    assert.equal(real.text.replaceAll(id, '').replaceAll(invitation, ''), none.text.replaceAll(/(usr|inv)_none/g, ''))
  }
  const list = await stranger.get('members')
  assert.ok(!list.text.includes(email) && !list.text.includes(accountId))
})

test('the audit log has who was invited, joined, was changed and removed, and no token', async () => {
  const token = await invited({ role: 'member', email: 'logged@example.com' })
  const browser = new ConsoleClient(server)
  const joined = await browser.post('invitations/join', { token, password: PASSWORD })
  const { user_id: id } = joined.body.profile
  await owner.request('PATCH', `members/${id}`, { role: 'billing' })
  await owner.post(`members/${id}/remove`, { disable_keys: true })
  const events = (await server.admin('GET', '/admin/v1/events?limit=20')).body.data
  assert.deepEqual(
    events
      .filter(({ action }: { action: string }) => action.startsWith('member.'))
      .slice(0, 4)
      .map(({ action, actor }: Record<string, unknown>) => [action, actor]),
    [
      ['member.remove', 'owner@example.com'],
      ['member.update', 'owner@example.com'],
      ['member.join', 'logged@example.com'],
      ['member.invite', 'owner@example.com'],
    ],
  )
  assert.ok(!JSON.stringify(events).includes(token))
})

test('the operator gives a person access to an account, and takes it away; no one else does', async () => {
  const { body: account } = await server.admin('POST', '/admin/v1/accounts', { name: 'New', email: 'new@example.com' })
  const path = `/admin/v1/accounts/${account.id}`
  assert.deepEqual((await server.admin('GET', `${path}/members`)).body, { members: [], invitations: [] })
  const answer = await server.admin('POST', `${path}/invitations`, { role: 'owner', email: 'new@example.com' })
  assert.equal(answer.status, 201, answer.text)
  const { link, ...invitation } = answer.body
  assert.deepEqual([invitation.created_by, invitation.mailed], ['operator', false])
  const open = (await server.admin('GET', `${path}/members`)).body.invitations
  const { mailed: _mailed, ...kept } = invitation
  assert.deepEqual(open, [kept])
  const browser = new ConsoleClient(server)
  const token = tokenOf(link)
  assert.equal((await browser.post('invitations/join', { token, password: PASSWORD })).status, 201)
  const people = (await server.admin('GET', `${path}/members`)).body
  assert.deepEqual(
    people.members.map(({ email, role, you }: Record<string, unknown>) => [email, role, you]),
    [['new@example.com', 'owner', false]],
  )
  assert.deepEqual(people.invitations, [])
  const { user } = people.members[0]
  const remove = { disable_keys: false }
  refused(await server.admin('POST', `${path}/members/${user}/remove`, remove), 409, 'conflict')
  refused(await server.admin('PATCH', `${path}/members/${user}`, { role: 'billing' }), 409, 'conflict')

  const second = (await server.admin('POST', `${path}/invitations`, { role: 'member', monthly_limit: 5 })).body
  const member = new ConsoleClient(server)
  const joining = { token: tokenOf(second.link), email: 'second@example.com', password: PASSWORD }
  const { profile } = (await member.post('invitations/join', joining)).body
  const changed = await server.admin('PATCH', `${path}/members/${profile.user_id}`, { role: 'owner' })
  assert.deepEqual([changed.body.role, changed.body.monthly_limit], ['owner', null])
  const key = await member.post('keys', { name: 'Mine' })
  assert.equal(key.status, 201, key.text)
  const removed = await server.admin('POST', `${path}/members/${profile.user_id}/remove`, { disable_keys: true })
  assert.deepEqual(removed.body, { id: profile.user_id, deleted: true, disabled_keys: 1 })
  assert.equal((await member.get('summary')).status, 401, 'the session has ended')
  const keys = (await server.admin('GET', `${path}/keys`)).body.data
  assert.deepEqual(
    keys.map(({ disabled }: { disabled: boolean }) => disabled),
    [true],
  )

  const revoked = (await server.admin('POST', `${path}/invitations`, { role: 'member' })).body
  refused(await server.admin('DELETE', `/admin/v1/accounts/${accountId}/invitations/${revoked.id}`), 404, 'not_found')
  assert.deepEqual((await server.admin('DELETE', `${path}/invitations/${revoked.id}`)).body, {
    id: revoked.id,
    deleted: true,
  })
  refused(
    await new ConsoleClient(server).post('invitations/check', { token: tokenOf(revoked.link) }),
    403,
    'access_denied',
  )
  refused(await server.admin('POST', '/admin/v1/accounts/none/invitations', { role: 'member' }), 404, 'not_found')
  const events = (await server.admin('GET', '/admin/v1/events?action=member.invite')).body.data
  assert.equal(events[0].actor, 'token')
  const { browser: stranger } = await signedUp(server)
  refused(await stranger.request('POST', `${path}/invitations`, { role: 'owner' }), 403, 'access_denied')
})
