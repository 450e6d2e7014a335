import assert from 'node:assert/strict'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { movingClock, type MovingClock } from '../../test/harness/moving-clock.ts'
import type { AccessPlane, AccessResult } from '../http/edge.ts'
import { randomIds } from '../base/ids.ts'
import type { AccountRecord } from '../store/accounts/account-store.ts'
import type { KeyOwner, KeyRecord } from '../store/accounts/key-store.ts'
import { createAccess, type Access, type AccessOptions } from './access.ts'
import { digestText, generateKey } from './api-key.ts'
import type { ConsoleSession } from './console-sessions.ts'
import type { Principal } from './principal.ts'

const IP = '203.0.113.9'
const ADMIN_TOKEN = 'an-admin-token-of-forty-characters-00000'
const ACCOUNT: AccountRecord = {
  id: 'acc_1',
  name: 'one',
  email: null,
  status: 'active',
  defaultModel: null,
  rateLimit: null,
  exactHolds: false,
  limitMicro: null,
  limitReset: null,
  limitStart: null,
  limitSpentMicro: 0n,
  groupId: null,
  markup: null,
  externalId: null,
  allowedModels: ['a', 'b'],
  availableMicro: 0n,
  heldMicro: 0n,
  createdAtMs: 0,
}
const KEY: KeyRecord = {
  id: 'key_1',
  accountId: 'acc_1',
  name: 'k',
  label: 'l',
  disabled: false,
  limitMicro: null,
  limitReset: null,
  expiresAtMs: null,
  allowedModels: ['b', 'c'],
  limits: null,
  createdAtMs: 0,
  lastUsedAtMs: null,
  graceUntilMs: null,
  madeBy: null,
  person: null,
}

const ADMINISTRATOR: ConsoleSession = {
  user: {
    id: 'usr_1',
    externalId: null,
    email: 'root@example.org',
    name: 'root',
    role: 'admin',
    operatorRole: 'owner',
    accountId: 'acc_1',
    passwordHash: 'x',
    disabled: false,
    timezone: null,
    language: null,
    theme: 'auto',
    oidc: null,
    totpSeed: null,
    totpEnabled: false,
    lastSignInAtMs: null,
    createdAtMs: 0,
  },
  session: {
    hash: 'h',
    id: 'ses_1',
    userId: 'usr_1',
    accountId: null,
    ip: '127.0.0.1',
    userAgent: '',
    createdAtMs: 0,
    lastSeenAtMs: 0,
    idleMs: 1,
    endsAtMs: 1,
  },
  membership: null,
}

class Bench {
  readonly clock: MovingClock = movingClock()
  readonly key = generateKey(randomIds())
  readonly owners = new Map<string, KeyOwner>([[digestText(this.key), { key: KEY, account: ACCOUNT }]])
  readonly touched: string[][] = []
  lookups = 0
  down = false
  readonly access: Access

  constructor(options: Partial<AccessOptions> = {}) {
    this.access = createAccess({
      keys: {
        findByDigest: (digest) => {
          this.lookups += 1
          return this.down
            ? Promise.reject(new Error('no store'))
            : Promise.resolve(this.owners.get(digest.toString('base64url')) ?? null)
        },
        findOwner: () => Promise.resolve(null),
        changes: null,
        touch: (ids) => {
          this.touched.push([...ids])
          return Promise.resolve()
        },
      },
      clock: this.clock,
      settings: () => ({
        rateLimit: { requests: 300, window: 60 },
        ipBlock: { failures: 20, window: 60, duration: 600 },
      }),
      adminToken: ADMIN_TOKEN,
      session: (request) => Promise.resolve(request.headers.cookie === 'session=good' ? ADMINISTRATOR : null),
      adminTotpRequired: false,
      ...options,
    })
  }

  set(key: Partial<KeyRecord>, account: Partial<AccountRecord> = {}): void {
    this.owners.set(digestText(this.key), { key: { ...KEY, ...key }, account: { ...ACCOUNT, ...account } })
  }

  admit(
    headers: IncomingHttpHeaders,
    plane: AccessPlane = 'key',
    ip = IP,
    method = 'GET',
  ): AccessResult<Principal> | Promise<AccessResult<Principal>> {
    return this.access.admit(head(headers, method), plane, ip)
  }

  async outcome(headers: IncomingHttpHeaders, plane: AccessPlane = 'key', ip = IP, method = 'GET'): Promise<string> {
    const result = await this.admit(headers, plane, ip, method)
    return 'error' in result ? `${result.error.status} ${result.error.errorName}` : 'admitted'
  }

  bearer(): IncomingHttpHeaders {
    return { authorization: `Bearer ${this.key}` }
  }
}

function head(headers: IncomingHttpHeaders, method: string): IncomingMessage {
  // Access reads only these fields of a request.
  return { headers, method } as unknown as IncomingMessage
}

test('401: a missing, malformed or unknown key', async () => {
  const bench = new Bench()
  for (const authorization of [undefined, '', 'Bearer', 'Bearer ', 'Bearer    ', 'Basic abc', bench.key]) {
    assert.equal(
      await bench.outcome(authorization === undefined ? {} : { authorization }, 'key', '1.1.1.1'),
      '401 missing_api_key',
      authorization,
    )
  }
  assert.equal(await bench.outcome({ 'x-api-key': 'nonsense' }), '401 invalid_api_key')
  assert.equal(
    await bench.outcome({ authorization: `Bearer ${bench.key}`, 'x-api-key': 'other' }),
    '401 invalid_api_key',
  )
  assert.equal(await bench.outcome({ authorization: 'Bearer nonsense' }), '401 invalid_api_key')
  assert.equal(await bench.outcome({ authorization: `Bearer ${ADMIN_TOKEN}` }), '401 invalid_api_key')
  assert.equal(bench.lookups, 0, 'a bad checksum causes no look-up')
  assert.equal(await bench.outcome({ authorization: `Bearer ${generateKey(randomIds())}` }), '401 invalid_api_key')
  assert.equal(await bench.outcome({ authorization: `bearer ${bench.key}` }), 'admitted')
  assert.equal(await bench.outcome({ 'x-api-key': bench.key }), 'admitted')
})

test('the states of a key and its account, judged at each request', async () => {
  const bench = new Bench()
  const states: [Partial<KeyRecord>, Partial<AccountRecord>, string][] = [
    [{ disabled: true }, {}, '403 key_deactivated'],
    [{}, { status: 'deactivated' }, '403 account_deactivated'],
    [{}, { status: 'locked' }, '403 api_locked'],
    [{ expiresAtMs: bench.clock.now() }, {}, '401 key_expired'],
  ]
  for (const [key, account, expected] of states) {
    bench.set(key, account)
    bench.access.invalidate({ keyId: 'key_1' })
    assert.equal(await bench.outcome(bench.bearer()), expected)
  }
  bench.set({ expiresAtMs: bench.clock.now() + 1_000 })
  bench.access.invalidate({ accountId: 'acc_1' })
  assert.equal(await bench.outcome(bench.bearer()), 'admitted')
  bench.clock.advance(1_000)
  const result = await bench.admit(bench.bearer())
  assert.ok('error' in result)
  assert.match(result.error.message, /^API key expired at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
})

test('a cached key is admitted without a promise, refreshed behind the scenes and never older than 5 s', async () => {
  const bench = new Bench()
  await Promise.all([bench.admit(bench.bearer()), bench.admit(bench.bearer()), bench.admit(bench.bearer())])
  assert.equal(bench.lookups, 1, 'one look-up under way per key')
  const result = bench.admit(bench.bearer())
  assert.ok(!(result instanceof Promise) && 'principal' in result)
  assert.deepEqual([...(result.principal?.allowedModels ?? [])], ['b'])
  assert.deepEqual(Object.keys(result.headers), ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'])
  bench.clock.advance(3_000)
  assert.ok(!(bench.admit(bench.bearer()) instanceof Promise))
  assert.equal(bench.lookups, 2)
  await new Promise(setImmediate)
  bench.owners.clear()
  bench.clock.advance(5_000)
  assert.equal(await bench.outcome(bench.bearer()), '401 invalid_api_key')
  const before = bench.lookups
  assert.equal(await bench.outcome(bench.bearer()), '401 invalid_api_key')
  assert.equal(bench.lookups, before, 'an absent key is remembered')
})

test('an invalidation beats a look-up that started before it', async () => {
  const bench = new Bench()
  const early = bench.admit(bench.bearer())
  bench.set({ disabled: true })
  bench.access.invalidate({ keyId: 'key_1' })
  await early
  assert.equal(await bench.outcome(bench.bearer()), '403 key_deactivated')
})

test('503 with Retry-After while the store cannot be asked, and the key works once it can', async () => {
  const bench = new Bench()
  bench.down = true
  await assert.rejects(async () => bench.admit(bench.bearer()), { errorName: 'service_unavailable' })
  bench.down = false
  assert.equal(await bench.outcome(bench.bearer()), 'admitted')
})

test('D-7.3: the 21st attempt is blocked, a key proven there passes, another good one does not', async () => {
  const bench = new Bench()
  const second = generateKey(randomIds())
  bench.owners.set(digestText(second), { key: { ...KEY, id: 'key_2' }, account: ACCOUNT })
  assert.equal(await bench.outcome(bench.bearer()), 'admitted')
  for (let count = 0; count < 20; count += 1) assert.match(await bench.outcome({}), /^401/)
  const result = await bench.admit({})
  assert.ok('error' in result)
  assert.equal(result.error.message, 'Too many unauthenticated requests from your IP address. Retry after 600 seconds')
  assert.deepEqual(
    [result.error.details.retryAfterSeconds, result.error.details.noRetry, result.headers['x-ratelimit-limit']],
    [600, true, '60'],
  )
  assert.equal(await bench.outcome({ authorization: `Bearer ${second}` }), '429 rate_limit_exceeded')
  assert.equal(await bench.outcome({ authorization: `Bearer ${second}` }, 'key', '198.51.100.1'), 'admitted')
  assert.equal(await bench.outcome(bench.bearer()), 'admitted')
  bench.clock.advance(600_000)
  assert.equal(await bench.outcome({ authorization: `Bearer ${second}` }), 'admitted')
})

test('429 after L requests of one account with its own limit, and the time is that of the account', async () => {
  const bench = new Bench()
  bench.set({}, { rateLimit: { requests: 2, window: 90 } })
  await bench.admit(bench.bearer())
  await bench.admit(bench.bearer())
  const result = await bench.admit(bench.bearer())
  assert.ok('error' in result)
  assert.deepEqual(result.error.body(), {
    error: {
      code: 429,
      message: 'Too many requests. Retry after 90 seconds',
      metadata: { error_type: 'rate_limit_exceeded' },
      retry_after: 90,
    },
  })
  assert.equal(result.headers['x-ratelimit-remaining'], '0')
})

test('the admin plane: token, session of the same origin, and never an API key', async () => {
  const bench = new Bench()
  const table: [IncomingHttpHeaders, string, string][] = [
    [{ authorization: `Bearer ${ADMIN_TOKEN}` }, 'POST', 'admitted'],
    [{ authorization: `Bearer ${ADMIN_TOKEN}x` }, 'GET', '401 unauthorized'],
    [{}, 'GET', '401 unauthorized'],
    [bench.bearer(), 'GET', '403 access_denied'],
    [{ cookie: 'session=good' }, 'GET', 'admitted'],
    [{ cookie: 'session=bad' }, 'GET', '401 unauthorized'],
    [{ cookie: 'session=good' }, 'POST', '403 access_denied'],
    [{ cookie: 'session=good', 'sec-fetch-site': 'cross-site' }, 'POST', '403 access_denied'],
    [{ cookie: 'session=good', 'sec-fetch-site': 'same-origin' }, 'POST', 'admitted'],
    [{ cookie: 'session=good', origin: 'https://gate.example', host: 'gate.example' }, 'POST', 'admitted'],
    [{ cookie: 'session=good', origin: 'https://evil.example', host: 'gate.example' }, 'DELETE', '403 access_denied'],
  ]
  for (const [headers, method, expected] of table)
    assert.equal(await bench.outcome(headers, 'accounts:read', IP, method), expected, JSON.stringify(headers))
  const request = head({ authorization: `Bearer ${ADMIN_TOKEN}` }, 'GET')
  await bench.access.admit(request, 'accounts:read', IP)
  assert.equal(bench.access.actorOf(request), 'token')
  assert.equal(
    await new Bench({ adminToken: null }).outcome({ authorization: 'Bearer null' }, 'accounts:read'),
    '401 unauthorized',
  )
  const billing = { ...ADMINISTRATOR, user: { ...ADMINISTRATOR.user, operatorRole: 'billing' as const } }
  const limited = new Bench({ session: () => Promise.resolve(billing) })
  assert.equal(await limited.outcome({ cookie: 'session=good' }, 'money:read'), 'admitted')
  assert.equal(await limited.outcome({ cookie: 'session=good' }, 'catalog:read'), '403 access_denied')
  assert.throws(() => new Bench({ adminToken: 'short' }), /at least 32/)
})

test('uses of a key are written in batches', async () => {
  const bench = new Bench()
  await bench.admit(bench.bearer())
  for (let count = 0; count < 10; count += 1) await bench.admit(bench.bearer())
  assert.deepEqual(bench.touched, [])
  bench.clock.advance(5_000)
  assert.deepEqual(bench.touched, [['key_1']])
  await bench.admit(bench.bearer())
  await bench.access.close()
  assert.equal(bench.touched.length, 2)
})
