import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMIN_ROUTES } from '../../src/api/admin/contract.ts'
import type { AdminWireRoute } from '../../src/api/admin/admin-route.ts'
import type { Answer, ApiClient } from '../harness/api-client.ts'
import { refused, refusedInWords } from '../harness/refused.ts'

interface Kind {
  readonly route: string
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** Another body, and a field of the answer to it. */
  readonly other: Readonly<Record<string, unknown>>
  readonly field: string
  /** Fields of the body that are secrets, or a name for which the record has its id. */
  readonly notShown?: readonly string[]
}

const ENDPOINT = { provider: 'sandbox', model: 'chat', price: { currency: 'RUB', prompt: 15, completion: 60 } }
const MODEL = { type: 'chat', context_length: 8_000, endpoints: [ENDPOINT] }
const PROVIDER = { adapter: 'openai', base_url: 'https://api.acme.example/v1', api_key: 'sk-of-the-provider-1' }
const KEY = { account: 'external:holder', name: 'CI', limit: 500, limit_reset: 'monthly', requests_per_minute: 30 }
const SCOPES = ['catalog:read', 'log:read']
const CODE = { amount: 100, uses_max: 50, expires_at: '2999-01-01T00:00:00.000Z', note: 'fair' }
const RECEIVER = { target: 'https://hooks.example.com/a', kinds: ['shortfall'] }

/** One row for each kind of records. */
const KINDS: readonly Kind[] = [
  {
    route: 'accounts/:id',
    path: 'accounts/external:team-a',
    body: { name: 'Team A', email: 'a@example.com', rate_limit: { requests: 30, window: 60 } },
    other: { name: 'Team A', allowed_models: ['sandbox/chat'], limit: 300, limit_reset: 'weekly' },
    field: 'allowed_models',
  },
  {
    route: 'account-groups/:id',
    path: 'account-groups/external:partners',
    body: { name: 'Partners', markup: '0.9' },
    other: { name: 'Partners', markup: '0.85' },
    field: 'markup',
  },
  {
    route: 'keys/:id',
    path: 'keys/external:ci',
    body: KEY,
    other: { ...KEY, limit: 700.5 },
    field: 'limit',
    notShown: ['account'],
  },
  {
    route: 'tokens/:id',
    path: 'tokens/external:deploy',
    body: { name: 'deploy', scopes: SCOPES, expires_at: '2999-01-01T00:00:00.000Z' },
    other: { name: 'deploy', scopes: ['catalog:read'] },
    field: 'scopes',
  },
  {
    route: 'codes/:id',
    path: 'codes/external:spring-fair',
    body: CODE,
    other: { ...CODE, uses_max: 80, note: 'longer' },
    field: 'note',
  },
  {
    route: 'notices/channels/:id',
    path: 'notices/channels/external:on-call',
    body: RECEIVER,
    other: { ...RECEIVER, kinds: ['shortfall', 'balance.low'] },
    field: 'kinds',
  },
  {
    route: 'providers/:slug',
    path: 'providers/acme',
    body: PROVIDER,
    other: { ...PROVIDER, markup: 1.5 },
    field: 'markup',
    notShown: ['api_key'],
  },
  {
    route: 'models/*id',
    path: 'models/acme/large',
    body: MODEL,
    other: { ...MODEL, markup: 1.25 },
    field: 'markup',
  },
]

/** `PUT` that makes no record of its own, each with the reason. */
const NO_RECORD: ReadonlySet<string> = new Set([
  // Nobody takes money back by leaving it out of a description.
  'accounts/:id/topups/:reference',
  // All records of the catalogue at once.
  'catalog',
])

/** Records that clients keep equal to their descriptions, on two nodes that may be one. */
export function recordTests(nodes: () => readonly [ApiClient, ApiClient]): void {
  const admin = (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const [one] = nodes()
    const options = { key: one.adminToken, headers, ...(body === undefined ? {} : { body }) }
    return one.request(method, `/admin/v1/${path}`, options)
  }
  /** What a change leaves behind: events and a price version. */
  const traces = async (): Promise<readonly [number, number]> => [
    (await admin('GET', 'events?limit=1')).body.total,
    (await admin('POST', 'catalog/update?dry_run=1', {})).body.price_version,
  ]
  const holder = (): Promise<Answer> => admin('PUT', 'accounts/external:holder', { name: 'Holder' })

  test('each route with PUT has these tests, GET and DELETE, and an ETag', () => {
    const routes = Object.keys(ADMIN_ROUTES).map((route) => route.replace('/admin/v1/', ''))
    const puts = routes.filter((route) => route.startsWith('PUT ')).map((route) => route.slice('PUT '.length))
    assert.deepEqual(puts.toSorted(), [...KINDS.map(({ route }) => route), ...NO_RECORD].toSorted())
    const rows: Readonly<Record<string, AdminWireRoute>> = ADMIN_ROUTES
    for (const { route } of KINDS)
      for (const method of ['GET', 'PUT', 'DELETE'])
        assert.equal(rows[`${method} /admin/v1/${route}`]?.versioned, true, `${method} ${route}`)
  })

  for (const { route, path, body, other, field, notShown = [] } of KINDS) {
    test(`PUT ${path}: the same body twice changes nothing, and ETags guard a change`, async () => {
      await holder()
      const made = await admin('PUT', path, body, { 'if-none-match': '*' })
      assert.equal(made.status, 201, made.text)
      const tag = made.headers['etag'] ?? ''
      assert.match(tag, /^"[\w-]{22}"$/)
      const before = await traces()
      const again = await admin('PUT', path, body)
      assert.deepEqual([again.status, again.headers['etag'], await traces()], [200, tag, before])
      const { key: _key, token: _token, secret: _secret, code: _code, warnings: _warnings, ...shown } = made.body
      assert.deepEqual(
        { ...again.body, warnings: undefined },
        { ...shown, warnings: undefined },
        'secrets are told once',
      )
      const read = await admin('GET', path)
      assert.deepEqual([read.body, read.headers['etag']], [shown, tag])
      // A client that compares its description with the record finds no difference.
      for (const [name, value] of Object.entries(body))
        if (!notShown.includes(name)) assert.deepEqual(read.body[name], value, name)

      refused(await admin('PUT', path, other, { 'if-none-match': '*' }), 412, 'precondition_failed', /is there already/)
      refused(await admin('PUT', path, other, { 'if-match': '"old"' }), 412, 'precondition_failed', /has changed/)
      refused(
        await admin('PUT', path, other, { 'if-match': 'old' }),
        412,
        'precondition_failed',
        /If-Match: must be \* or ETags/,
      )
      assert.deepEqual(await traces(), before, 'a refused change leaves nothing')
      const changed = await admin('PUT', path, other, { 'if-match': `"x", W/${tag}` })
      assert.deepEqual([changed.status, changed.body[field]], [200, other[field]], changed.text)
      assert.notEqual(changed.headers['etag'], tag)
      assert.equal((await traces())[0], before[0] + 1, 'one event')
      // What is left out has its default again.
      const back = await admin('PUT', path, body)
      assert.deepEqual([back.headers['etag'], back.body[field]], [tag, shown[field]], back.text)
      // What somebody changes by hand is a difference that the client sees, and mends.
      if (`PATCH /admin/v1/${route}` in ADMIN_ROUTES) {
        const drifted = await admin('PATCH', path, { [field]: other[field] })
        assert.deepEqual([drifted.status, drifted.body[field]], [200, other[field]], drifted.text)
        assert.notEqual((await admin('GET', path)).headers['etag'], tag)
        assert.equal((await admin('PUT', path, body)).headers['etag'], tag)
      }

      refused(await admin('DELETE', path, undefined, { 'if-match': '"old"' }), 412, 'precondition_failed')
      const id = path.slice(path.startsWith('models/') ? 'models/'.length : path.lastIndexOf('/') + 1)
      assert.deepEqual((await admin('DELETE', path)).body, { id, deleted: true })
      const gone = await traces()
      const once = await admin('DELETE', path)
      assert.deepEqual([once.status, once.body, await traces()], [200, { id, deleted: false }, gone])
      refused(await admin('GET', path), 404, 'not_found')
      refused(await admin('PUT', path, body, { 'if-match': '*' }), 412, 'precondition_failed', /there is none/)
      refused(await admin('DELETE', path, undefined, { 'if-match': tag }), 412, 'precondition_failed')
    })

    test(`PUT ${path}: of many at once one makes it, and of two changes of one state one is made`, async () => {
      await holder()
      const [one, two] = nodes()
      const send = (at: number, given: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
        (at % 2 === 0 ? one : two).request('PUT', `/admin/v1/${path}`, { key: one.adminToken, body: given, headers })
      const before = (await traces())[0]
      const made = await Promise.all(Array.from({ length: 6 }, (_, at) => send(at, body)))
      assert.equal(made.filter(({ status }) => status === 201).length, 1, made[0]?.text)
      assert.equal(new Set(made.map(({ body: { id, slug } }) => id ?? slug)).size, 1)
      assert.equal((await traces())[0], before + 1)
      const tag = made[0]?.headers['etag'] ?? ''
      const vary = (at: number): object =>
        'kinds' in body
          ? { language: at === 0 ? 'en' : 'ru' }
          : 'scopes' in body
            ? { expires_at: `299${at}-01-01T00:00:00.000Z` }
            : 'amount' in body
              ? { note: `by ${at}` }
              : { name: `by ${at}` }
      const changed = await Promise.all([0, 1].map((at) => send(at, { ...other, ...vary(at) }, { 'if-match': tag })))
      const statuses = changed.map(({ status }) => status)
      assert.deepEqual([statuses.includes(200), statuses.includes(412)], [true, true])
      await admin('DELETE', path)
    })
  }

  test('an external id belongs to one record of its kind, moves by PATCH, and stands wherever an id does', async () => {
    const { body: account } = await admin('POST', 'accounts', { name: 'By hand' })
    assert.equal(account.external_id, null)
    const named = await admin('PATCH', `accounts/${account.id}`, { external_id: 'by.hand:1' })
    assert.equal(named.body.external_id, 'by.hand:1')
    assert.equal((await admin('GET', 'accounts/external:by.hand:1')).body.id, account.id)
    assert.deepEqual((await admin('GET', 'accounts?query=by.hand')).body.data[0]?.id, account.id)
    await holder()
    refusedInWords(
      await admin('PATCH', 'accounts/external:holder', { external_id: 'by.hand:1' }),
      409,
      'conflict',
      /another record of this kind has it/,
    )
    assert.equal((await admin('PATCH', `accounts/${account.id}`, { external_id: null })).body.external_id, null)
    refused(await admin('GET', 'accounts/external:by.hand:1'), 404, 'not_found')
    for (const wrong of ['', '-a', 'a b', 'a/b', 'a'.repeat(129), 'é'])
      refusedInWords(
        await admin('PUT', `accounts/external:${encodeURIComponent(wrong)}`, { name: 'x' }),
        400,
        'invalid_input',
        /external_id: must be 1 to 128 letters/,
      )
    refused(await admin('PUT', 'accounts/acc_none', { name: 'x' }), 404, 'not_found')
    assert.equal((await admin('PUT', `accounts/${account.id}`, { name: 'Renamed' })).body.name, 'Renamed')

    const key = await admin('PUT', 'keys/external:of-holder', KEY)
    const listed = await admin('GET', 'accounts/external:holder/keys')
    assert.deepEqual([listed.body.data[0].id, listed.body.data[0].external_id], [key.body.id, 'of-holder'])
    refusedInWords(
      await admin('PUT', 'keys/external:of-holder', { ...KEY, account: account.id }),
      400,
      'invalid_input',
      /a key does not move/,
    )
    refused(await admin('PUT', 'keys/external:x', { ...KEY, account: 'external:nobody' }), 404, 'not_found')
    // What people switch off stays off.
    await admin('PATCH', 'keys/external:of-holder', { disabled: true })
    assert.equal((await admin('PUT', 'keys/external:of-holder', KEY)).body.disabled, true)
    assert.equal((await admin('PUT', 'keys/external:of-holder', { ...KEY, disabled: false })).body.disabled, false)
    await admin('PATCH', 'accounts/external:holder', { status: 'locked' })
    assert.equal((await holder()).body.status, 'locked')
    await admin('DELETE', 'accounts/external:holder')
    assert.equal((await admin('GET', `accounts/${key.body.account}`)).body.status, 'deactivated', 'its books stay')
    assert.notEqual((await holder()).body.id, key.body.account)
    refusedInWords(
      await admin('PUT', 'notices/channels/external:wrong', { ...RECEIVER, target: 'http://127.0.0.1/' }),
      400,
      'invalid_input',
      /target/,
    )
    await admin('PUT', 'notices/channels/external:moves', RECEIVER)
    refusedInWords(
      await admin('PUT', 'notices/channels/external:moves', { ...RECEIVER, target: 'https://localhost/' }),
      400,
      'invalid_input',
      /target/,
    )
    refusedInWords(
      await admin('PUT', 'notices/channels/external:moves', { ...RECEIVER, type: 'email' }),
      400,
      'invalid_input',
      /keeps its type/,
    )
    const target = 'https://hooks.example.com/b'
    const moved = await admin('PUT', 'notices/channels/external:moves', { ...RECEIVER, target })
    assert.deepEqual([moved.body.target, moved.body.external_id], [target, 'moves'])
    await admin('DELETE', 'notices/channels/external:moves')

    const group = await admin('PUT', 'account-groups/external:schools', { name: 'Schools', markup: '0.8' })
    const pupil = await admin('PUT', 'accounts/external:pupil', { name: 'Pupil', group: 'external:schools' })
    assert.equal(pupil.body.group, group.body.id)
    refusedInWords(
      await admin('PUT', 'accounts/external:pupil', { name: 'Pupil', group: 'external:nobody' }),
      400,
      'invalid_input',
      /there is no group 'external:nobody'/,
    )
    refusedInWords(
      await admin('PUT', 'account-groups/external:other', { name: 'Schools', markup: '0.7' }),
      400,
      'invalid_input',
      /is the name of another group/,
    )
    refusedInWords(await admin('DELETE', 'account-groups/external:schools'), 409, 'conflict', /has accounts/)
    await admin('DELETE', 'accounts/external:pupil')
    assert.equal((await admin('DELETE', 'account-groups/external:schools')).body.deleted, true)

    const token = await admin('PUT', 'tokens/external:of-ci', {
      name: 'of-ci',
      scopes: ['tokens:read', 'tokens:write'],
    })
    const asToken = (method: string, path: string, body?: unknown): Promise<Answer> =>
      nodes()[0].request(method, `/admin/v1/${path}`, {
        key: token.body.token,
        ...(body === undefined ? {} : { body }),
      })
    assert.equal((await asToken('GET', 'tokens/external:of-ci')).body.id, token.body.id)
    refusedInWords(
      await admin('PUT', 'tokens/external:of-ci', { name: 'renamed', scopes: ['log:read'] }),
      400,
      'invalid_input',
      /a token keeps its name/,
    )
    // A token makes neither itself nor another one more than it is.
    await admin('PUT', 'tokens/external:of-owner', { name: 'of-owner', scopes: ['money:write'] })
    for (const [method, path, body] of [
      ['PUT', 'tokens/external:of-ci', { name: 'of-ci', scopes: ['money:write'] }],
      ['PATCH', 'tokens/external:of-ci', { scopes: ['money:write'] }],
      ['PUT', 'tokens/external:new', { name: 'new', scopes: ['money:write'] }],
      ['PATCH', 'tokens/external:of-owner', { scopes: ['tokens:read'] }],
      ['DELETE', 'tokens/external:of-owner', undefined],
    ] as const)
      refused(await asToken(method, path, body), 403, 'access_denied')
    const narrowed = await asToken('PATCH', 'tokens/external:of-ci', { scopes: ['tokens:read'] })
    assert.deepEqual(narrowed.body.scopes, ['tokens:read'], narrowed.text)
    refused(await asToken('PATCH', 'tokens/external:of-ci', { scopes: ['tokens:read'] }), 403, 'access_denied')
    assert.equal((await admin('DELETE', 'tokens/external:of-ci')).body.deleted, true)
    refused(await asToken('GET', `tokens/${token.body.id}`), 401, 'unauthorized')
    const ended = await admin('GET', `tokens/${token.body.id}`)
    assert.deepEqual([ended.body.state, ended.body.external_id], ['revoked', null])
    refused(await admin('PATCH', `tokens/${token.body.id}`, { scopes: ['log:read'] }), 404, 'not_found')
    const next = await admin('PUT', 'tokens/external:of-ci', { name: 'of-ci', role: 'read_only' })
    assert.equal(next.status, 201, next.text)
  })

  test('a code that is described: it is redeemed, keeps its amount, and is withdrawn with its books', async () => {
    const path = 'codes/external:autumn-fair'
    const { body: made } = await admin('PUT', path, { amount: 25, uses_max: 2 })
    assert.match(made.code, /^(?:[0-9A-Z]{5}-){3}[0-9A-Z]{5}$/)
    refusedInWords(
      await admin('PUT', path, { amount: 30, uses_max: 2 }),
      400,
      'invalid_input',
      /amount: must be 25: a code keeps its amount/,
    )
    for (const amount of [0, -1, undefined])
      refusedInWords(await admin('PUT', path, { amount }), 400, 'invalid_input', /amount: is required, above 0/)
    // What people switch off stays off.
    await admin('PATCH', path, { disabled: true })
    assert.equal((await admin('PUT', path, { amount: 25, uses_max: 3 })).body.disabled, true)
    const opened = await admin('PUT', path, { amount: 25, expires_at: '2999-01-01T00:00:00.000Z', disabled: false })
    assert.deepEqual([opened.body.disabled, opened.body.uses_max, opened.body.note], [false, 1, null], opened.text)
    assert.equal((await admin('DELETE', path)).body.deleted, true)
    const ended = await admin('GET', `codes/${made.id}`)
    assert.deepEqual([ended.body.disabled, ended.body.external_id], [true, null])
    const next = await admin('PUT', path, { amount: 30, disabled: true })
    assert.deepEqual([next.status, next.body.amount, next.body.disabled], [201, 30, true], next.text)
    await admin('DELETE', path)
    assert.equal((await admin('GET', 'audit')).body.violations, 0)
  })

  test('people and codes have external ids; a code of a name is made once', async () => {
    const code = { amount: 5, external_id: 'fair-1' }
    const { body: made } = await admin('POST', 'codes', code)
    const { code: _secret, ...shown } = made.data[0]
    assert.equal(shown.external_id, 'fair-1')
    refusedInWords(await admin('POST', 'codes', code), 409, 'conflict', /another record of this kind has it/)
    refusedInWords(await admin('POST', 'codes', { ...code, count: 2 }), 400, 'invalid_input', /count: must be 1/)
    assert.deepEqual((await admin('GET', 'codes/external:fair-1')).body, shown)
    assert.equal((await admin('PATCH', 'codes/external:fair-1', { external_id: 'fair-2', note: 'x' })).body.note, 'x')
    refused(await admin('GET', 'codes/external:fair-1'), 404, 'not_found')
    assert.equal((await admin('GET', `codes/${shown.id}`)).body.external_id, 'fair-2')
    await admin('PATCH', `codes/${shown.id}`, { external_id: null, disabled: true })

    const invite = (email: string): Promise<Answer> => admin('POST', 'administrators', { email, role: 'support' })
    const { body: ada } = await invite('ada@records.example')
    const { body: bob } = await invite('bob@records.example')
    assert.equal((await admin('PATCH', `users/${ada.id}`, { external_id: 'ada' })).body.operator_role, 'support')
    assert.equal((await admin('GET', 'users/external:ada')).body.email, 'ada@records.example')
    const taken = await admin('PATCH', `users/${bob.id}`, { external_id: 'ada', disabled: true })
    refusedInWords(taken, 409, 'conflict', /another record of this kind has it/)
    assert.equal((await admin('GET', `users/${bob.id}`)).body.disabled, false, 'nothing of it was done')
    assert.equal((await admin('PATCH', 'users/external:ada', { disabled: true })).body.disabled, true)
    const listed = (await admin('GET', 'users?query=ada@records')).body.data[0]
    assert.deepEqual([listed.external_id, listed.disabled], ['ada', true])
    await admin('PATCH', `users/${ada.id}`, { external_id: null })
    refused(await admin('GET', 'users/external:ada'), 404, 'not_found')
  })

  test('a top-up by PUT is booked once for its reference; settings have an ETag too', async () => {
    const { body: account } = await admin('PUT', 'accounts/external:payer', { name: 'Payer' })
    const path = `accounts/external:payer/topups/${encodeURIComponent(`a/${account.id}`)}`
    const made = await admin('PUT', path, { amount: 12.5, reason: 'invoice' })
    assert.deepEqual([made.status, made.body.amount, made.body.kind], [201, 12.5, 'topup'], made.text)
    const before = await traces()
    const again = await admin('PUT', path, { amount: 12.5, reason: 'invoice' })
    assert.deepEqual([again.status, again.body, await traces()], [200, made.body, before])
    refusedInWords(await admin('PUT', path, { amount: 13, reason: 'invoice' }), 409, 'conflict')
    refusedInWords(await admin('PUT', path, { amount: 0, reason: 'invoice' }), 400, 'invalid_input')
    refusedInWords(await admin('PUT', `${path}${'x'.repeat(200)}`, { amount: 1, reason: 'r' }), 400, 'invalid_input')
    assert.deepEqual((await admin('GET', path)).body, made.body)
    refused(await admin('GET', `accounts/external:holder/topups/none`), 404, 'not_found')
    assert.equal((await admin('GET', 'accounts/external:payer')).body.balance, 12.5)

    const { body: settings, headers } = await admin('GET', 'settings')
    const tag = headers['etag'] ?? ''
    const first = await admin('PATCH', 'settings', { markup: 1.75 }, { 'if-match': tag })
    const after = await traces()
    const second = await admin('PATCH', 'settings', { markup: 1.75 })
    assert.deepEqual([second.headers['etag'], await traces()], [first.headers['etag'], after])
    refused(
      await admin('PATCH', 'settings', { markup: 2 }, { 'if-match': tag }),
      412,
      'precondition_failed',
      /Settings/,
    )
    await admin('PATCH', 'settings', { markup: settings.markup })
  })
}
