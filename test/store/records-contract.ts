import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EVENT_ACTIONS, type EventAction } from '../../src/ledger/event-action.ts'
import type { NewEvent, NewEntry, Store } from '../../src/store/store.ts'
import { Bench, newId, NOON_MS, TestClock } from './ledger-fixture.ts'

const RUB = 1_000_000n

type Records = (name: string, body: (bench: Bench) => Promise<void>) => void

/** Everything durable besides the hot path. */
export function recordsContract(open: () => Promise<Store>): void {
  const records: Records = (name, body) => {
    test(name, async () => {
      const bench = new Bench(await open(), new TestClock(NOON_MS))
      try {
        await body(bench)
        await bench.auditClean()
      } finally {
        await bench.ledger.stop()
        await bench.store.close()
      }
    })
  }
  accountTests(records)
  entryTests(records)
  logTests(records)
  catalogTests(records)
  administratorTests(records)
  auditTests(open)
}

function accountTests(records: Records): void {
  records('an account comes back as it was made and patched; others stay as they are', async ({ store }) => {
    const made = {
      id: 'acc_1',
      name: '50%_off',
      email: 'a@example.com',
      defaultModel: 'openai/gpt-4o',
      rateLimit: { requests: 5, window: 60 },
      createdAtMs: NOON_MS,
    }
    assert.deepEqual(await store.accounts.create(made), {
      ...made,
      status: 'active',
      allowedModels: null,
      availableMicro: 0n,
      heldMicro: 0n,
    })
    await store.accounts.create({ ...made, id: 'acc_2', name: '50 others', email: null, rateLimit: null })
    const patched = await store.accounts.update('acc_1', {
      status: 'locked',
      rateLimit: null,
      allowedModels: ['openai/gpt-4o'],
    })
    assert.deepEqual([patched?.status, patched?.rateLimit, patched?.allowedModels], ['locked', null, ['openai/gpt-4o']])
    assert.equal((await store.accounts.get('acc_2'))?.status, 'active')
    assert.equal(await store.accounts.update('acc_none', { name: 'x' }), null)
    assert.equal((await store.accounts.list({ query: '50%', limit: 10, offset: 0 })).total, 1)
    assert.equal((await store.accounts.list({ query: null, limit: 1, offset: 1 })).data.length, 1)
  })

  records('a key is found by its whole digest only, with its account, until it is deleted', async (bench) => {
    const customer = await bench.customer(RUB)
    const owner = await bench.store.keys.findByDigest(customer.digest)
    assert.equal(owner?.key.id, customer.keyId)
    assert.equal(owner?.account.id, customer.accountId)
    assert.equal(await bench.store.keys.findByDigest(Buffer.alloc(32)), null)
    await bench.store.keys.touch([customer.keyId], NOON_MS + 5)
    const periods = bench.ledger.periods(NOON_MS)
    assert.equal((await bench.store.keys.get(customer.keyId, periods))?.key.lastUsedAtMs, NOON_MS + 5)
    assert.equal((await bench.store.keys.list(customer.accountId, periods)).length, 1)
    assert.equal(await bench.store.keys.delete(customer.keyId), true)
    assert.equal(await bench.store.keys.delete(customer.keyId), false)
    assert.equal(await bench.store.keys.findByDigest(customer.digest), null)
    assert.equal(await bench.store.keys.update(customer.keyId, { name: 'x' }, periods), null)
  })
}

function entryTests(records: Records): void {
  records(
    'a reference is credited once; the same with another amount, account or sign is a conflict',
    async (bench) => {
      const customer = await bench.customer(0n)
      const other = await bench.customer(0n)
      const topup: NewEntry = {
        accountId: customer.accountId,
        kind: 'topup',
        amountMicro: 5n * RUB,
        reason: 'card',
        reference: 'pay-1',
        actor: 'admin',
        atMs: NOON_MS,
      }
      const outcomes = await Promise.all(Array.from({ length: 10 }, () => bench.store.entries.post(topup)))
      assert.equal(outcomes.filter(({ status }) => status === 'created').length, 1)
      assert.equal(outcomes.filter(({ status }) => status === 'existing').length, 9)
      assert.equal((await bench.store.entries.post({ ...topup, amountMicro: 6n })).status, 'conflict')
      assert.equal((await bench.store.entries.post({ ...topup, accountId: other.accountId })).status, 'conflict')
      assert.equal((await bench.store.entries.post({ ...topup, accountId: 'acc_none' })).status, 'no_account')
      assert.deepEqual(await bench.money(customer.accountId), { available: 5n * RUB, held: 0n })
    },
  )

  records('a refund and a negative adjustment take only what is available, never what is held', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    await bench.hold(customer, 4n * RUB)
    const post = (kind: NewEntry['kind'], amountMicro: bigint) =>
      bench.store.entries.post({
        accountId: customer.accountId,
        kind,
        amountMicro,
        reason: 'test',
        reference: newId('ref-'),
        actor: 'admin',
        atMs: NOON_MS,
      })
    assert.equal((await post('refund', 6n * RUB + 1n)).status, 'uncovered')
    assert.equal((await post('adjustment', -6n * RUB - 1n)).status, 'uncovered')
    const refund = await post('refund', 2n * RUB)
    assert.ok(refund.status === 'created' && refund.entry.amountMicro === -2n * RUB && refund.balanceMicro === 8n * RUB)
    assert.equal((await post('adjustment', -4n * RUB)).status, 'created')
    assert.equal((await post('adjustment', 3n)).status, 'created')
    assert.deepEqual(await bench.money(customer.accountId), { available: 3n, held: 4n * RUB })
    const page = await bench.store.entries.list(customer.accountId, 2, 1)
    assert.equal(page.total, 4)
    assert.deepEqual(
      page.data.map(({ amountMicro }) => amountMicro),
      [-4n * RUB, -2n * RUB],
    )
  })

  records('totals of an account: what came in and what was charged', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    const id = newId('gen-')
    await bench.hold(customer, 4n * RUB, id)
    await bench.settle(customer, id, 3n * RUB)
    assert.deepEqual(await bench.store.entries.totals(customer.accountId), {
      creditsMicro: 10n * RUB,
      chargesMicro: 3n * RUB,
    })
  })
}

function logTests(records: Records): void {
  records('an account pages through its own log newest first, with filters and totals', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    const other = await bench.customer(10n * RUB)
    const ids: string[] = []
    for (let index = 0; index < 7; index += 1) {
      const id = newId('gen-')
      ids.push(id)
      await bench.hold(customer, RUB, id)
      bench.clock.advance(1_000)
      if (index % 2 === 0) await bench.settle(customer, id, 10n)
      else await bench.void(customer, id)
    }
    const foreign = newId('gen-')
    await bench.hold(other, RUB, foreign)
    await bench.settle(other, foreign, 1n)
    const { generations } = bench.store
    const page = await generations.list({ accountId: customer.accountId, limit: 3, offset: 2 })
    assert.equal(page.total, 7)
    assert.deepEqual(
      page.data.map(({ generationId }) => generationId),
      [ids[4], ids[3], ids[2]],
    )
    const ends = page.data.map(({ id }) => id)
    assert.deepEqual(
      ends,
      ends.toSorted((left, right) => right - left),
    )
    assert.deepEqual(await generations.list({ accountId: customer.accountId, limit: 3, offset: 7 }), {
      data: [],
      total: 7,
    })
    assert.equal(
      (await generations.list({ accountId: customer.accountId, status: 'error', limit: 10, offset: 0 })).total,
      3,
    )
    assert.equal(
      (await generations.list({ accountId: customer.accountId, generationId: foreign, limit: 10, offset: 0 })).total,
      0,
    )
    assert.equal(
      (await generations.list({ accountId: customer.accountId, requestId: `req-${ids[1]}`, limit: 10, offset: 0 }))
        .data[0]?.generationId,
      ids[1],
    )
    assert.equal((await generations.list({ keyId: other.keyId, limit: 10, offset: 0 })).total, 1)
    assert.equal((await generations.list({ limit: 100, offset: 0 })).total, 8)
    assert.equal(await generations.get('gen-unknown'), null)
  })

  records('usage by model and day adds up to the log', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    for (const cost of [10n, 20n, 30n]) {
      const id = newId('gen-')
      await bench.hold(customer, RUB, id)
      await bench.settle(customer, id, cost)
    }
    const expected = {
      requests: 3,
      inputTokens: 30,
      outputTokens: 15,
      revenueMicro: 60n,
      providerCostMicro: 30n,
      insuredMicro: 0n,
      shortfallMicro: 0n,
    }
    for (const [groupBy, group] of [
      ['model', 'openai/gpt-4o'],
      ['provider', 'openai'],
      ['account', customer.accountId],
      ['key', customer.keyId],
      ['day', '2026-11-18'],
    ] as const) {
      assert.deepEqual(await bench.store.generations.usage({ groupBy, fromDay: '2026-11-18', toDay: '2026-11-19' }), [
        { group, ...expected },
      ])
    }
    assert.deepEqual(
      await bench.store.generations.usage({ groupBy: 'day', fromDay: '2026-11-19', toDay: '2026-11-20' }),
      [],
    )
  })
}

function catalogTests(records: Records): void {
  records('price versions grow by one, also when appended at once, and stay readable', async ({ store }) => {
    assert.equal(await store.catalogs.latest(), null)
    const append = (document: string, after: number) =>
      store.catalogs.append({
        after,
        document,
        credentials: Buffer.from([0, 255, 7]),
        fileDigest: 'abc',
        atMs: NOON_MS,
      })
    for (let after = 0; after < 5; after += 1) {
      const versions = await Promise.all(Array.from({ length: 3 }, () => append(`{"n":${after}}`, after)))
      assert.deepEqual(
        versions.filter((version) => version !== null),
        [after + 1],
        'one of those that build on the same version is first',
      )
      assert.equal(await store.catalogs.newest(), after + 1)
    }
    const latest = await store.catalogs.latest()
    assert.deepEqual([latest?.version, latest?.fileDigest, latest?.credentials], [5, 'abc', Buffer.from([0, 255, 7])])
    assert.equal((await store.catalogs.byVersion(3))?.document, '{"n":2}')
    assert.equal(await store.catalogs.byVersion(9), null)
  })
}

function administratorTests(records: Records): void {
  records(
    'a user has one e-mail; a set-up token works once and in time; a session ends when it is left alone, is over or its user is disabled',
    async ({ store }) => {
      const { users, sessions } = store
      const person = {
        id: 'usr_1',
        email: 'root@example.com',
        name: 'Root',
        role: 'admin' as const,
        accountId: null,
        passwordHash: null,
        language: null,
        oidc: null,
        createdAtMs: NOON_MS,
      }
      assert.equal(await users.administrators(), 0)
      assert.equal((await users.create(person))?.theme, 'auto')
      assert.equal(await users.create({ ...person, id: 'usr_2' }), null)
      assert.equal(await users.administrators(), 0, 'nobody without a password can sign in')
      await users.update('usr_1', { passwordHash: 'hash' })
      assert.equal((await users.findByEmail('root@example.com'))?.passwordHash, 'hash')
      assert.equal(await users.administrators(), 1)
      await users.putSetupToken({ hash: 'once', userId: 'usr_1', clearTotp: true, expiresAtMs: NOON_MS + 10 })
      await users.putSetupToken({ hash: 'late', userId: null, clearTotp: false, expiresAtMs: NOON_MS + 10 })
      const claims = await Promise.all(Array.from({ length: 8 }, () => users.claimSetupToken('once', NOON_MS)))
      assert.deepEqual(
        claims.filter((claim) => claim !== null),
        [{ userId: 'usr_1', clearTotp: true }],
      )
      assert.equal(await users.claimSetupToken('late', NOON_MS + 11), null)
      const session = {
        hash: 'session',
        id: 'ses_1',
        userId: 'usr_1',
        ip: '::1',
        userAgent: 'test',
        createdAtMs: NOON_MS,
        lastSeenAtMs: NOON_MS,
        idleMs: 10,
        endsAtMs: NOON_MS + 25,
      }
      await sessions.create(session)
      assert.deepEqual((await sessions.find('session', NOON_MS))?.session, session)
      assert.equal(await sessions.find('session', NOON_MS + 10), null, 'left alone')
      await sessions.touch('session', NOON_MS + 20)
      assert.equal((await sessions.find('session', NOON_MS + 24))?.user.id, 'usr_1')
      assert.equal(await sessions.find('session', NOON_MS + 25), null, 'over')
      await users.update('usr_1', { disabled: true })
      assert.equal(await sessions.find('session', NOON_MS + 1), null, 'disabled')
      assert.equal(await sessions.deleteOthers('usr_1', 'session'), 0)
      assert.equal(await sessions.delete('session'), true)
    },
  )

  records('a step of two-step sign-in and a recovery code work once, also at once', async ({ store: { users } }) => {
    await users.create({
      id: 'usr_1',
      email: 'a@example.com',
      name: 'A',
      role: 'user',
      accountId: null,
      passwordHash: null,
      language: 'ru',
      oidc: { issuer: 'https://i', subject: 's', email: null },
      createdAtMs: NOON_MS,
    })
    await users.setTotp('usr_1', { seed: Buffer.from('sealed'), enabled: true, step: 5, recoveryHashes: ['r1', 'r2'] })
    const steps = await Promise.all(Array.from({ length: 6 }, () => users.useTotpStep('usr_1', 6)))
    assert.equal(steps.filter(Boolean).length, 1)
    assert.equal(await users.useTotpStep('usr_1', 5), false)
    const codes = await Promise.all(Array.from({ length: 6 }, () => users.useRecoveryCode('usr_1', 'r1')))
    assert.equal(codes.filter(Boolean).length, 1)
    assert.equal(await users.recoveryCodesLeft('usr_1'), 1)
    assert.equal((await users.findByOidc('https://i', 's'))?.totpSeed?.toString(), 'sealed')
    await users.replaceSeed('usr_1', Buffer.from('other'), Buffer.from('new'))
    assert.equal((await users.sealedSeeds())[0]?.seed.toString(), 'sealed')
  })

  records(
    'failed sign-ins at once never pass a rule together, and each is forgotten with its window',
    async ({ store: { signIns } }) => {
      const attempt = {
        atMs: NOON_MS,
        email: 'a@example.com',
        userId: null,
        ip: '10.0.0.1',
        ipKey: '10.0.0.1',
        userAgent: 'test',
        method: 'password' as const,
        device: null,
      }
      const rules = [{ of: 'email_and_ip' as const, failures: 5, windowMs: 900_000 }]
      const started = await Promise.all(Array.from({ length: 12 }, () => signIns.begin(attempt, rules)))
      assert.equal(started.filter(({ status }) => status === 'begun').length, 5)
      assert.deepEqual(await signIns.begin(attempt, rules), {
        status: 'limited',
        rule: 'email_and_ip',
        retryAtMs: NOON_MS + 900_000,
      })
      assert.equal((await signIns.begin({ ...attempt, ipKey: '10.0.0.2' }, rules)).status, 'begun', 'another address')
      assert.equal(
        (await signIns.begin({ ...attempt, atMs: NOON_MS + 900_000 }, rules)).status,
        'begun',
        'another window',
      )
    },
  )

  records(
    'the tries of strangers elsewhere do not count for an address that signed in lately, nor for a device',
    async ({ store: { signIns } }) => {
      const attempt = {
        atMs: NOON_MS,
        email: 'a@example.com',
        userId: null,
        ip: '10.0.0.1',
        ipKey: '10.0.0.1',
        userAgent: 'test',
        method: 'password' as const,
        device: null,
      }
      const home = { ...attempt, ipKey: '10.9.9.9' }
      const arrived = await signIns.begin({ ...home, atMs: NOON_MS - 10_000 }, [])
      assert.equal(arrived.status, 'begun')
      if (arrived.status === 'begun') await signIns.succeed(arrived.id, 'usr_1', 'password')
      const rules = [{ of: 'email' as const, failures: 3, windowMs: 900_000, knownAddressMs: 60_000 }]
      for (let tries = 0; tries < 3; tries += 1)
        assert.equal((await signIns.begin({ ...attempt, ipKey: `10.0.0.${tries}` }, rules)).status, 'begun')
      assert.equal((await signIns.begin({ ...attempt, ipKey: '10.0.0.7' }, rules)).status, 'limited')
      assert.equal((await signIns.begin(home, rules)).status, 'begun')
      assert.equal(
        (await signIns.begin({ ...home, email: 'b@example.com' }, rules)).status,
        'begun',
        'another user has a count of their own',
      )
      assert.equal(
        (await signIns.begin({ ...home, atMs: NOON_MS + 50_000 }, rules)).status,
        'limited',
        'it was too long ago',
      )
      const own = [{ of: 'device' as const, failures: 2, windowMs: 900_000 }]
      for (const expected of ['begun', 'begun', 'limited'])
        assert.equal((await signIns.begin({ ...attempt, device: 'dev_1' }, own)).status, expected)
      assert.equal((await signIns.begin({ ...attempt, device: 'dev_2' }, own)).status, 'begun')
    },
  )

  records(
    'an open order is looked at by one; refunds at once take no more than was paid nor than there is',
    async (bench) => {
      const { store } = bench
      const { accountId } = await bench.customer(0n)
      await store.payments.create({
        id: 'pay_1',
        accountId,
        method: 'yookassa',
        amountMicro: 100n * RUB,
        currency: 'RUB',
        createdAtMs: NOON_MS,
      })
      await store.payments.begin('pay_1', 'p-1', null)
      assert.deepEqual(await store.payments.due(NOON_MS, 10), [])
      assert.deepEqual(
        (await store.payments.due(NOON_MS + 60_000, 10)).map(({ id, checks }) => [id, checks]),
        [['pay_1', 0]],
      )
      const claims = await Promise.all(
        Array.from({ length: 6 }, () => store.payments.claim('pay_1', 0, NOON_MS + 120_000)),
      )
      assert.equal(claims.filter(Boolean).length, 1)
      assert.deepEqual(await store.payments.due(NOON_MS + 60_000, 10), [])
      const refund = (refundId: string, rub: bigint) =>
        store.payments.refund({ orderId: 'pay_1', refundId, amountMicro: rub * RUB, atMs: NOON_MS })
      assert.deepEqual(await refund('r-0', 1n), { status: 'refused', why: 'the order is not paid' })
      assert.equal(await store.payments.pay({ id: 'pay_1', paymentId: 'p-1', atMs: NOON_MS }), true)
      await store.entries.post({
        accountId,
        kind: 'adjustment',
        amountMicro: -80n * RUB,
        reason: 'spent',
        reference: 'spent',
        actor: 'test',
        atMs: NOON_MS,
      })
      const outcomes = await Promise.all(['r-1', 'r-1', 'r-1', 'r-2', 'r-3', 'r-4'].map((id) => refund(id, 30n)))
      assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), [
        'booked',
        'booked',
        'booked',
        'known',
        'known',
        'refused',
      ])
      assert.equal(
        outcomes.reduce((sum, outcome) => sum + (outcome.status === 'booked' ? outcome.bookedMicro : 0n), 0n),
        20n * RUB,
      )
      const order = await store.payments.findByPayment('yookassa', 'p-1')
      assert.deepEqual([order?.refundedMicro, order?.refundMissingMicro], [90n * RUB, 70n * RUB])
      assert.equal((await store.accounts.get(accountId))?.availableMicro, 0n)
      await bench.auditClean()
    },
  )

  records(
    'an identity is of one user, who has one, and is not taken away from who has no other way in',
    async ({ store: { users } }) => {
      const identity = { issuer: 'https://i', subject: 's', email: 'a@issuer.example', linkedAtMs: NOON_MS }
      for (const id of ['usr_1', 'usr_2'])
        await users.create({
          id,
          email: `${id}@example.com`,
          name: id,
          role: 'user',
          accountId: null,
          passwordHash: id === 'usr_1' ? 'hash' : null,
          language: null,
          oidc: null,
          createdAtMs: NOON_MS,
        })
      assert.deepEqual(
        await Promise.all([users.linkIdentity('usr_1', identity), users.linkIdentity('usr_1', identity)]).then((both) =>
          both.toSorted(),
        ),
        ['full', 'linked'],
      )
      assert.equal(await users.linkIdentity('usr_2', identity), 'taken')
      assert.equal(await users.linkIdentity('usr_1', { ...identity, subject: 'other' }), 'full')
      assert.deepEqual((await users.findByOidc('https://i', 's'))?.oidc, identity)
      assert.equal(await users.unlinkIdentity('usr_1', { issuer: 'https://i', subject: 'other' }), false)
      assert.equal(await users.unlinkIdentity('usr_1', identity), true)
      assert.equal(await users.linkIdentity('usr_2', identity), 'linked')
      assert.equal(await users.unlinkIdentity('usr_2', identity), false, 'no password')
      assert.equal((await users.get('usr_2'))?.oidc?.subject, 's')
    },
  )

  records(
    'a code of three uses redeemed at once by five accounts is three entries; a paid order is one',
    async (bench) => {
      const { store } = bench
      const people = await Promise.all(Array.from({ length: 5 }, () => bench.customer(RUB)))
      const digest = Buffer.alloc(32, 7)
      await store.codes.create([
        {
          id: 'code_1',
          digest,
          label: 'ABCD',
          amountMicro: 5n * RUB,
          usesMax: 3,
          expiresAtMs: null,
          note: null,
          createdBy: 'token',
          createdAtMs: NOON_MS,
        },
      ])
      const redeemed = await Promise.all(
        people.flatMap(({ accountId }) =>
          [1, 2].map(() => store.codes.redeem({ digest, accountId, actor: 'a', atMs: NOON_MS })),
        ),
      )
      assert.equal(redeemed.filter(({ status }) => status === 'redeemed').length, 3)
      assert.equal((await store.codes.get('code_1'))?.uses, 3)
      const [person] = people
      assert.ok(person !== undefined)
      await store.payments.create({
        id: 'pay_1',
        accountId: person.accountId,
        method: 'yookassa',
        amountMicro: 100n * RUB,
        currency: 'RUB',
        createdAtMs: NOON_MS,
      })
      await store.payments.begin('pay_1', 'p-1', 'https://pay')
      assert.equal(await store.payments.pay({ id: 'pay_1', paymentId: 'p-2', atMs: NOON_MS }), false)
      const paid = await Promise.all(
        Array.from({ length: 5 }, () => store.payments.pay({ id: 'pay_1', paymentId: 'p-1', atMs: NOON_MS })),
      )
      assert.equal(paid.filter(Boolean).length, 1)
      await store.payments.cancel('pay_1')
      assert.equal((await store.payments.get('pay_1'))?.state, 'paid')
      const money = await store.entries.before({
        accountId: person.accountId,
        kind: 'money',
        beforeId: null,
        limit: 10,
      })
      assert.equal(money.filter(({ reference }) => reference === 'yookassa:p-1').length, 1)
    },
  )
}

function auditTests(open: () => Promise<Store>): void {
  test('the event log keeps its order and its chain', async () => {
    const store = await open()
    const event = (action: EventAction): NewEvent => ({
      atMs: NOON_MS,
      actor: 'admin',
      ip: '127.0.0.1',
      action,
      object: 'acc_1',
      before: null,
      after: '{"status":"locked"}',
    })
    for (let index = 0; index < 5; index += 1) await store.events.append(event(EVENT_ACTIONS[index] ?? 'sign_in'))
    await Promise.all(Array.from({ length: 5 }, () => store.events.append(event('sign_out'))))
    const page = await store.events.list(2, 6)
    assert.equal(page.total, 10)
    assert.deepEqual(
      page.data.map(({ action }) => action),
      [EVENT_ACTIONS[3], EVENT_ACTIONS[2]],
    )
    const checks = await store.audit.run({ sinceMs: 0, nowMs: NOON_MS, replay: async () => null })
    assert.deepEqual(checks.find(({ id }) => id === 'I16')?.violations, [])
    await store.close()
  })

  test('a log row whose replayed price differs from its charge is a violation of I17', async () => {
    const bench = new Bench(await open(), new TestClock(NOON_MS))
    const customer = await bench.customer(RUB)
    const id = newId('gen-')
    await bench.hold(customer, RUB, id)
    await bench.settle(customer, id, 100n)
    const checks = await bench.store.audit.run({
      sinceMs: 0,
      nowMs: NOON_MS,
      replay: async (row) => ({ costMicro: 99n, providerCostMicro: row.providerCostMicro }),
    })
    assert.deepEqual(
      checks.filter(({ violations }) => violations.length > 0).map((check) => check.id),
      ['I17'],
    )
    await bench.store.close()
  })
}
