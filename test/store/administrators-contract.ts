import assert from 'node:assert/strict'
import type { UserPatch } from '../../src/store/people/user-store.ts'
import { NOON_MS, type BenchTest } from './ledger-fixture.ts'

/** An attempt to sign in with a password. */
const ATTEMPT = {
  atMs: NOON_MS,
  email: 'a@example.com',
  userId: null,
  ip: '10.0.0.1',
  ipKey: '10.0.0.1',
  userAgent: 'test',
  method: 'password',
  device: null,
} as const

const RUB = 1_000_000n

export function administratorTests(records: BenchTest): void {
  records('a note that is deleted stays so if another change fails at that moment', async (bench) => {
    const { accountNotes, accounts } = bench.store
    const { accountId } = await bench.customer(0n)
    const mine = { id: 'note_1', accountId, author: 'olga@example.com' }
    await accountNotes.add({ ...mine, text: 'x', createdAtMs: NOON_MS })
    let removed: Promise<string | null> | null = null
    const failing = accounts.update(accountId, () => {
      removed = accountNotes.remove(mine)
      throw new Error('no')
    })
    await assert.rejects(failing, /no/)
    assert.equal(await removed, mine.author)
    assert.equal((await accountNotes.list(accountId, { limit: 9, offset: 0 })).total, 0)
  })

  records('an event of a wrong clock hides none of those after it', async ({ store: { events } }) => {
    const object = 'acc_clock'
    const event = {
      actor: 'olga@example.com',
      ip: null,
      action: 'account.update',
      object,
      before: null,
      after: null,
    } as const
    for (const at of [0, 900_000, 1, -900_000, 2]) await events.append({ ...event, atMs: NOON_MS + at })
    const range = { object, fromMs: NOON_MS, toMs: NOON_MS + 3 }
    const { data } = await events.list({ limit: 9, offset: 0 }, range)
    const times = data.map(({ atMs }) => atMs - NOON_MS)
    assert.deepEqual(times, [2, 1, 0])
  })

  records('notes on an account are listed newest first, author or owner deletes them', async ({ store }) => {
    const { accountNotes } = store
    const note = { accountId: 'acc_1', author: 'olga@example.com', text: 'Счёт по 5-м\nчислам', createdAtMs: NOON_MS }
    for (let index = 1; index <= 5; index += 1)
      await accountNotes.add({ ...note, id: `note_${index}`, createdAtMs: NOON_MS + Math.floor(index / 2) })
    await accountNotes.add({ ...note, id: 'note_other', accountId: 'acc_2' })
    const ids: string[] = []
    for (let cursor: string | null | undefined = null; cursor !== undefined;) {
      const page = await accountNotes.list('acc_1', { limit: 2, offset: 0, cursor })
      assert.equal(page.total, 5)
      ids.push(...page.data.map(({ id }) => id))
      cursor = page.next
    }
    assert.deepEqual(ids, ['note_4', 'note_5', 'note_2', 'note_3', 'note_1'])
    const [newest] = (await accountNotes.list('acc_1', { limit: 1, offset: 0 })).data
    assert.deepEqual(newest, { ...note, id: 'note_4', createdAtMs: NOON_MS + 2 })
    const mine = { id: 'note_4', accountId: 'acc_1', author: note.author }
    assert.equal(await accountNotes.remove({ ...mine, author: 'ivan@example.com' }), null)
    assert.equal(await accountNotes.remove({ ...mine, accountId: 'acc_2' }), null)
    assert.equal(await accountNotes.remove(mine), note.author)
    assert.equal(await accountNotes.remove(mine), null)
    assert.equal(await accountNotes.remove({ id: 'note_3', accountId: 'acc_2', author: null }), null)
    assert.equal(await accountNotes.remove({ id: 'note_3', accountId: 'acc_1', author: null }), note.author)
    assert.equal((await accountNotes.list('acc_1', { limit: 9, offset: 0 })).total, 3)
  })

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
      assert.equal(await users.owners(), 0)
      assert.equal((await users.create(person))?.theme, 'auto')
      assert.equal(await users.create({ ...person, id: 'usr_2' }), null)
      assert.equal(await users.owners(), 0, 'nobody without a password can sign in')
      await users.update('usr_1', { passwordHash: 'hash' })
      assert.equal((await users.findByEmail('root@example.com'))?.passwordHash, 'hash')
      assert.equal(await users.owners(), 1)
      await users.putSetupToken({ hash: 'once', userId: 'usr_1', clearTotp: true, expiresAtMs: NOON_MS + 10 })
      await users.putSetupToken({ hash: 'late', userId: null, clearTotp: false, expiresAtMs: NOON_MS + 10 })
      const use = (hash: string, nowMs: number) => users.useSetupToken(hash, nowMs, 'new', { ...person, id: 'usr_3' })
      const claims = await Promise.all(Array.from({ length: 8 }, () => use('once', NOON_MS)))
      assert.deepEqual(
        claims.flatMap((claimed) => (claimed === null ? [] : [[claimed.id, claimed.passwordHash]])),
        [['usr_1', 'new']],
      )
      assert.equal(await use('late', NOON_MS + 11), null)
      const session = {
        hash: 'session',
        id: 'ses_1',
        userId: 'usr_1',
        accountId: null,
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
      await users.create({
        ...person,
        id: 'usr_2',
        email: 'other@example.com',
        operatorRole: 'owner',
        passwordHash: 'h',
      })
      await users.change('usr_1', () => ({ disabled: true }))
      assert.equal(await sessions.find('session', NOON_MS + 1), null, 'disabled')
      assert.equal(await sessions.delete('session'), false, 'it has ended')
    },
  )

  records(
    'one admin token in force has a name; a revoked one keeps its row and is found no more in force',
    async ({ store: { adminTokens, externalIds } }) => {
      const token = (id: string, name = 'deploy') => ({
        id,
        externalId: `deploy-${id}`,
        name,
        digest: Buffer.alloc(32, id),
        label: 'sk-tga-ab…xyz',
        scopes: ['log:read', 'money:write'] as const,
        createdBy: 'token',
        madeBy: null,
        createdAtMs: NOON_MS,
        expiresAtMs: NOON_MS + 10,
      })
      const made = await Promise.all(['1', '2', '3'].map((id) => adminTokens.create(token(id))))
      assert.equal(made.filter(Boolean).length, 1, 'of three at once')
      const winner = String(made.indexOf(true) + 1)
      const { digest, ...kept } = token(winner)
      assert.deepEqual(await adminTokens.findByDigest(digest), { ...kept, revokedAtMs: null, lastUsedAtMs: null })
      await adminTokens.touch(winner, NOON_MS + 1)
      const changed = await adminTokens.update(winner, () => ({ scopes: ['log:read'], expiresAtMs: null }))
      assert.deepEqual([changed?.scopes, changed?.expiresAtMs], [['log:read'], null])
      assert.deepEqual(await adminTokens.get(winner), changed)
      assert.equal(await externalIds.find('admin_token', `deploy-${winner}`), winner)
      const revoked = await Promise.all([1, 2, 3].map((more) => adminTokens.revoke(winner, NOON_MS + more)))
      assert.equal(revoked.filter(({ length }) => length === 1).length, 1)
      assert.equal(await externalIds.find('admin_token', `deploy-${winner}`), null, 'it is free again')
      assert.equal(await adminTokens.update(winner, () => ({ scopes: [] })), null)
      assert.ok(((await adminTokens.get(winner))?.revokedAtMs ?? 0) > NOON_MS)
      assert.equal(await adminTokens.create(token('4')), true)
      const { data, total } = await adminTokens.list({ limit: 1, offset: 0 })
      assert.deepEqual([data.length, total], [1, 2])
      assert.equal(await adminTokens.findByDigest(Buffer.alloc(32, 'x')), null)
    },
  )

  records(
    'a token never may more or lasts longer than the one that it came from: it is narrowed, ended and revoked with it',
    async ({ store: { adminTokens } }) => {
      const scopes = ['log:read', 'money:write', 'tokens:write'] as const
      const make = (id: string, madeBy: string | null, check?: Parameters<typeof adminTokens.create>[1]) =>
        adminTokens.create(
          {
            id,
            externalId: null,
            name: id,
            digest: Buffer.alloc(32, id),
            label: id,
            scopes,
            createdBy: 'token',
            madeBy,
            createdAtMs: NOON_MS,
            expiresAtMs: NOON_MS + 100,
          },
          check,
        )
      await make('a', null)
      await make('b', 'a', (maker) => assert.equal(maker?.id, 'a'))
      await make('c', 'b')
      await make('d', null)
      await adminTokens.update('a', () => ({ scopes: ['log:read', 'tokens:write'], expiresAtMs: NOON_MS + 50 }))
      for (const id of ['a', 'b', 'c']) {
        const token = await adminTokens.get(id)
        assert.deepEqual([token?.scopes, token?.expiresAtMs], [['log:read', 'tokens:write'], NOON_MS + 50], id)
      }
      // A token that is made while its maker is revoked comes before that and is revoked too, or is not made.
      const refuse = (maker: unknown): void => assert.notEqual(maker, null)
      const [, ...raced] = await Promise.allSettled([
        adminTokens.revoke('a', NOON_MS),
        make('e', 'a', refuse),
        make('f', 'b', refuse),
        make('g', 'c', refuse),
      ])
      for (const [index, id] of ['e', 'f', 'g'].entries())
        assert.equal(raced[index]?.status === 'fulfilled', (await adminTokens.get(id)) !== null)
      for (const id of ['a', 'b', 'c', 'e', 'f', 'g'])
        assert.notEqual((await adminTokens.get(id))?.revokedAtMs, null, `${id} is in force`)
      assert.equal((await adminTokens.get('d'))?.revokedAtMs, null)
    },
  )

  records('operators have a role; only owners who can sign in count as owners', async ({ store: { users } }) => {
    const person = (id: string, operatorRole: 'owner' | 'support' | null) => ({
      id,
      email: `${id}@example.com`,
      name: id,
      role: operatorRole === null ? ('user' as const) : ('admin' as const),
      operatorRole,
      accountId: null,
      passwordHash: 'hash',
      language: null,
      oidc: null,
      createdAtMs: NOON_MS,
    })
    assert.equal((await users.create(person('one', 'support')))?.operatorRole, 'support')
    assert.equal((await users.create(person('two', null)))?.operatorRole, null)
    assert.equal(await users.owners(), 0)
    const change = async (id: string, patch: UserPatch) => (await users.change(id, () => patch))?.after.operatorRole
    assert.equal(await change('one', { operatorRole: 'owner' }), 'owner')
    assert.equal(await change('two', { role: 'admin' }), 'owner', 'as made by an older program')
    assert.equal(await users.owners(), 2)
    assert.equal(await change('two', { role: 'user', operatorRole: null }), null)
    assert.equal(await users.owners(), 1)
    assert.equal(await users.change('none', () => ({})), null)
  })

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
    const totp = { seed: Buffer.from('sealed'), enabled: true, step: 5, recoveryHashes: ['r1', 'r2'] }
    await users.setTotp('usr_1', totp, { totpSeed: null, totpEnabled: false })
    const steps = await Promise.all(Array.from({ length: 6 }, () => users.useTotpStep('usr_1', 6)))
    assert.equal(steps.filter(Boolean).length, 1)
    assert.equal(await users.useTotpStep('usr_1', 5), false)
    const codes = await Promise.all(Array.from({ length: 6 }, () => users.useRecoveryCode('usr_1', 'r1')))
    assert.equal(codes.filter(Boolean).length, 1)
    assert.equal(await users.recoveryCodesLeft('usr_1'), 1)
    assert.equal((await users.findByOidc('https://i', 's'))?.totpSeed?.toString(), 'sealed')
    await users.replaceSeed('usr_1', Buffer.from('other'), Buffer.from('new'))
    assert.equal((await users.encryptedSeeds())[0]?.seed.toString(), 'sealed')
  })

  records(
    'failed sign-ins at once never pass a rule together, and each is forgotten with its window',
    async ({ store: { signIns } }) => {
      const rules = [{ of: 'email_and_ip' as const, failures: 5, windowMs: 900_000 }]
      const started = await Promise.all(Array.from({ length: 12 }, () => signIns.begin(ATTEMPT, rules)))
      assert.equal(started.filter(({ status }) => status === 'begun').length, 5)
      assert.deepEqual(await signIns.begin(ATTEMPT, rules), {
        status: 'limited',
        rule: 'email_and_ip',
        retryAtMs: NOON_MS + 900_000,
      })
      assert.equal((await signIns.begin({ ...ATTEMPT, ipKey: '10.0.0.2' }, rules)).status, 'begun', 'another address')
      assert.equal(
        (await signIns.begin({ ...ATTEMPT, atMs: NOON_MS + 900_000 }, rules)).status,
        'begun',
        'another window',
      )
    },
  )

  records(
    'the tries of strangers elsewhere do not count for an address that signed in lately, nor for a device',
    async ({ store: { signIns } }) => {
      const home = { ...ATTEMPT, ipKey: '10.9.9.9' }
      const arrived = await signIns.begin({ ...home, atMs: NOON_MS - 10_000 }, [])
      assert.equal(arrived.status, 'begun')
      if (arrived.status === 'begun') await signIns.succeed(arrived.id, 'usr_1', 'password')
      const rules = [{ of: 'email' as const, failures: 3, windowMs: 900_000, knownAddressMs: 60_000 }]
      for (let tries = 0; tries < 3; tries += 1)
        assert.equal((await signIns.begin({ ...ATTEMPT, ipKey: `10.0.0.${tries}` }, rules)).status, 'begun')
      assert.equal((await signIns.begin({ ...ATTEMPT, ipKey: '10.0.0.7' }, rules)).status, 'limited')
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
        assert.equal((await signIns.begin({ ...ATTEMPT, device: 'dev_1' }, own)).status, expected)
      assert.equal((await signIns.begin({ ...ATTEMPT, device: 'dev_2' }, own)).status, 'begun')
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
        store.payments.refund({
          orderId: 'pay_1',
          refundId,
          amountMicro: rub * RUB,
          atMs: NOON_MS,
          lowBalanceMicro: 0n,
        })
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
      const together = (...ids: readonly string[]) => Promise.all(ids.map((id) => refund(id, 30n)))
      const outcomes = await together('r-1', 'r-1', 'r-1', 'r-2')
      assert.deepEqual(outcomes.map(({ status }) => status).toSorted(), ['booked', 'booked', 'known', 'known'])
      // In any order, one is too many.
      const last = await together('r-3', 'r-4')
      assert.deepEqual(last.map(({ status }) => status).toSorted(), ['booked', 'refused'])
      assert.equal(
        [...outcomes, ...last].reduce(
          (sum, outcome) => sum + (outcome.status === 'booked' ? outcome.bookedMicro : 0n),
          0n,
        ),
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
          externalId: 'fair',
          digest,
          label: 'ABCD',
          amountMicro: 5n * RUB,
          usesMax: 3,
          expiresAtMs: null,
          note: null,
          disabled: false,
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
      const id = await store.externalIds.find('redeem_code', 'fair')
      assert.deepEqual([id, (await store.codes.get('code_1'))?.externalId], ['code_1', 'fair'])
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
      const { data: money } = await store.entries.list(person.accountId, { limit: 10, offset: 0 }, { kind: 'money' })
      const payments = await store.payments.ofEntries(person.accountId, money)
      assert.deepEqual([...payments], [['yookassa:p-1', 'pay_1']])
      assert.equal((await store.payments.list({ accountId: null, id: 'pay_2', limit: 1, offset: 0 })).total, 0)
      assert.equal(money.filter(({ reference }) => reference === 'yookassa:p-1').length, 1)
    },
  )
}
