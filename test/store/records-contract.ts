import assert from 'node:assert/strict'
import { test } from 'node:test'
import { given } from '../../src/base/objects.ts'
import { EVENT_ACTIONS, type EventAction } from '../../src/ledger/event-action.ts'
import { digestOf } from '../../src/access/api-key.ts'
import { ExternalIdTakenError } from '../../src/store/accounts/external-id-store.ts'
import type { NewEvent } from '../../src/store/events/event-store.ts'
import type { LedgerEntry, NewEntry } from '../../src/store/ledger/entry-store.ts'
import type { Page } from '../../src/store/page.ts'
import type { Store } from '../../src/store/store.ts'
import { administratorTests } from './administrators-contract.ts'
import { keyListTests } from './key-lists-contract.ts'
import { Bench, type BenchTest, benchTests, newId, NOON_MS, TestClock } from './ledger-fixture.ts'
import { peopleRaces } from './people-races-contract.ts'

const RUB = 1_000_000n

/** Everything durable outside the hot path. */
export function recordsContract(open: () => Promise<Store>): void {
  const records = benchTests(open)
  accountTests(records)
  keyListTests(records)
  entryTests(records)
  balanceTests(records)
  logTests(records)
  catalogTests(records)
  administratorTests(records)
  peopleRaces(records)
  auditTests(open)
}

function accountTests(records: BenchTest): void {
  records('a text with NUL is refused in a sentence, whether it is written or looked up', async ({ store }) => {
    const account = { id: 'acc_1', defaultModel: null, rateLimit: null, createdAtMs: NOON_MS }
    for (const refused of [
      () => store.accounts.create({ ...account, name: 'a\0b', email: null }),
      () => store.accounts.get('acc\0'),
      () => store.responses.find({ accountId: 'acc_1' }, 'resp\0', 0),
    ])
      await assert.rejects(refused, { errorName: 'invalid_input', message: /the character NUL/ })
  })
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
      externalId: null,
      status: 'active',
      allowedModels: null,
      groupId: null,
      markup: null,
      exactHolds: false,
      limitMicro: null,
      limitReset: null,
      limitStart: null,
      limitSpentMicro: 0n,
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

  records('a group of accounts has one name, counts its accounts, and stays while it has any', async (bench) => {
    const { accountGroups, accounts, keys } = bench.store
    const customer = await bench.customer(RUB)
    const made = { id: 'grp_1', externalId: 'partners', name: 'Partners', markup: '0.9', createdAtMs: NOON_MS }
    assert.ok(await accountGroups.create(made))
    const other = { ...made, id: 'grp_2', externalId: null }
    assert.equal(await accountGroups.create({ ...other, externalId: 'free' }), false, 'another has the name')
    await assert.rejects(() => accountGroups.create({ ...made, id: 'grp_2', name: 'Schools' }), ExternalIdTakenError)
    assert.ok(await accountGroups.create({ ...other, name: 'Schools' }))
    assert.equal(await accountGroups.update('grp_2', () => ({ name: 'Partners', externalId: 'free' })), 'taken')
    assert.equal(await bench.store.externalIds.find('account_group', 'free'), null, 'nothing of it is left')
    await assert.rejects(() => accountGroups.update('grp_2', () => ({ externalId: 'partners' })), ExternalIdTakenError)
    assert.equal(await accountGroups.update('grp_none', () => ({ markup: '1' })), null)
    await accounts.update(customer.accountId, { groupId: 'grp_1' })
    const markup = async (): Promise<string | null | undefined> =>
      (await keys.findByDigest(customer.digest))?.account.markup
    assert.equal(await markup(), '0.9')
    const changed = await accountGroups.update('grp_1', () => ({ markup: '0.85' }))
    assert.deepEqual(changed, { ...made, markup: '0.85', accounts: 1 })
    assert.equal(await markup(), '0.85')
    await accounts.update(customer.accountId, { markup: '2' })
    assert.equal(await markup(), '2', "the account's own comes first")
    assert.equal((await accounts.list({ query: null, groupId: 'grp_1', limit: 10, offset: 0 })).total, 1)
    assert.equal(await accountGroups.delete('grp_1'), 'in_use')
    await accounts.update(customer.accountId, { groupId: null, markup: null })
    assert.equal(await markup(), null)
    assert.equal(await accountGroups.delete('grp_1'), 'deleted')
    assert.equal(await accountGroups.delete('grp_1'), 'unknown')
    assert.equal(await bench.store.externalIds.find('account_group', 'partners'), null)
    assert.deepEqual(
      (await accountGroups.list()).map(({ id }) => id),
      ['grp_2'],
    )
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
    assert.equal((await bench.store.keys.lists.sums({ accountId: customer.accountId }, periods)).keys, 1)
    assert.equal(await bench.store.keys.delete(customer.keyId), true)
    assert.equal(await bench.store.keys.delete(customer.keyId), false)
    assert.equal(await bench.store.keys.findByDigest(customer.digest), null)
    assert.equal(await bench.store.keys.update(customer.keyId, { name: 'x' }, periods), null)
  })

  records('a replaced secret finds its key until its end, and a later replacement only shortens it', async (bench) => {
    const { keyId, accountId, digest } = await bench.customer(RUB)
    const { keys } = bench.store
    const rotate = (name: string, atMs: number, graceMs: number) =>
      keys.rotate(keyId, {
        digest: digestOf(name),
        label: name,
        atMs,
        graceUntilMs: atMs + graceMs,
        secretId: `sec_${name}_${keyId}`,
      })
    const found = async (secret: Buffer) => {
      const owner = await keys.findByDigest(secret)
      return owner === null ? null : [owner.key.id, owner.account.id, owner.secretEndsAtMs ?? null]
    }
    const periods = bench.ledger.periods(NOON_MS)
    assert.equal(await rotate('second', NOON_MS, 1_000), 'rotated')
    assert.deepEqual(await found(digest), [keyId, accountId, NOON_MS + 1_000])
    assert.deepEqual(await found(digestOf('second')), [keyId, accountId, null])
    assert.equal((await keys.get(keyId, periods))?.key.graceUntilMs, NOON_MS + 1_000)
    assert.equal(await rotate('third', NOON_MS + 10, 500), 'rotated')
    assert.deepEqual(await found(digest), [keyId, accountId, NOON_MS + 510])
    assert.deepEqual(await found(digestOf('second')), [keyId, accountId, NOON_MS + 510])
    // Both have ended, so they are gone, and nothing takes their place.
    assert.equal(await rotate('fourth', NOON_MS + 600, 0), 'rotated')
    assert.deepEqual([await found(digest), await found(digestOf('third'))], [null, null])
    assert.equal((await keys.get(keyId, periods))?.key.graceUntilMs, null)
    for (let index = 0; index < 10; index += 1)
      assert.equal(await rotate(`more-${index}`, NOON_MS + 700, 1_000), 'rotated')
    assert.equal(await rotate('one too many', NOON_MS + 800, 1_000), 'full')
    assert.deepEqual(await found(digestOf('more-9')), [keyId, accountId, null])
    assert.equal(await rotate('leaked', NOON_MS + 900, 0), 'rotated')
    assert.deepEqual([await found(digestOf('more-0')), await found(digestOf('more-9'))], [null, null])
    assert.equal(await keys.delete(keyId), true)
    assert.equal(await rotate('late', NOON_MS, 0), 'missing')
  })

  records('limits of a key are kept under its seal, and changes of different ones at once all stay', async (bench) => {
    const { keyId, digest } = await bench.customer(RUB)
    const { keys } = bench.store
    const periods = bench.ledger.periods(NOON_MS)
    assert.equal((await keys.findByDigest(digest))?.key.limits, null)
    const modelLimits = { 'a/*': { requestsPerMinute: 3, tokensPerMinute: null } }
    await Promise.all([
      keys.update(keyId, { limits: { requestsPerMinute: 10 } }, periods),
      keys.update(keyId, { limits: { modelLimits } }, periods),
      keys.update(keyId, { limits: { allowedIps: ['10.0.0.0/8'] } }, periods),
    ])
    assert.deepEqual((await keys.findByDigest(digest))?.key.limits, {
      requestsPerMinute: 10,
      tokensPerMinute: null,
      runningRequests: null,
      modelLimits,
      allowedIps: ['10.0.0.0/8'],
    })
    const none = { requestsPerMinute: null, modelLimits: null, allowedIps: null }
    assert.equal((await keys.update(keyId, { limits: none }, periods))?.limits, null)
  })
}

function entryTests(records: BenchTest): void {
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

  records('a refund and a negative adjustment take only available money, never held money', async (bench) => {
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
    const page = await bench.store.entries.list(customer.accountId, { limit: 2, offset: 1 })
    assert.equal(page.total, 4)
    assert.deepEqual(
      page.data.map(({ amountMicro }) => amountMicro),
      [-4n * RUB, -2n * RUB],
    )
  })

  records('totals of an account: money in and charges', async (bench) => {
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

function balanceTests(records: BenchTest): void {
  records(
    'each line of a ledger has the balance after it, on every page, with every filter, from either way to page',
    async (bench) => {
      const customer = await bench.customer(100n * RUB)
      const other = await bench.customer(7n * RUB)
      const { entries } = bench.store
      for (const [turn, amountMicro] of [5n, 11n, 300_001n, 17n, 23n, 1n].entries()) {
        const id = newId('gen-')
        await bench.hold(customer, RUB, id)
        if (turn % 2 === 0)
          await entries.post({
            accountId: customer.accountId,
            kind: turn === 2 ? 'refund' : 'topup',
            amountMicro: 3n * RUB + amountMicro,
            reason: 'test',
            reference: newId('ref-'),
            actor: 'admin',
            atMs: NOON_MS,
          })
        await bench.settle(customer, id, amountMicro)
        await bench.hold(other, RUB, `${id}-other`)
        await bench.settle(other, `${id}-other`, 2n)
      }
      // A hold is a part of the balance.
      await bench.hold(customer, 4n * RUB, newId('gen-'))
      const { data } = await entries.list(customer.accountId, { limit: 100, offset: 0 })
      assert.equal(data.length, 10)
      let balanceMicro = 0n
      const after = new Map<number, bigint>()
      for (const { id, amountMicro } of data.toReversed()) after.set(id, (balanceMicro += amountMicro))
      const money = await bench.money(customer.accountId)
      assert.equal(balanceMicro, money.available + money.held)
      const check = (rows: readonly LedgerEntry[]): void =>
        assert.deepEqual(
          rows.map((entry) => entry.balanceMicro),
          rows.map(({ id }) => after.get(id)),
        )
      check(data)
      for (let offset = 0; offset < 10; offset += 3)
        check((await entries.list(customer.accountId, { limit: 3, offset })).data)
      for (const kind of [null, 'money', 'charge', 'topup', 'refund'] as const) {
        const filter = kind === null ? {} : { kind }
        const seen: LedgerEntry[] = []
        for (let cursor: string | null = null; ;) {
          const page: Page<LedgerEntry> = await entries.list(
            customer.accountId,
            { limit: 2, offset: 0, cursor },
            filter,
          )
          seen.push(...page.data)
          if (page.next === undefined) break
          cursor = page.next
        }
        check(seen)
        check((await entries.list(customer.accountId, { limit: 2, offset: 1 }, filter)).data)
        const wanted = data.filter((entry) =>
          kind === null ? true : kind === 'money' ? entry.kind !== 'charge' : entry.kind === kind,
        )
        assert.deepEqual(
          seen.map(({ id }) => id),
          wanted.map(({ id }) => id),
        )
        assert.equal((await entries.list(customer.accountId, { limit: 1, offset: 0 }, filter)).total, wanted.length)
      }
    },
  )
}

function logTests(records: BenchTest): void {
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

function catalogTests(records: BenchTest): void {
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
    for (let index = 0; index < 5; index += 1)
      await store.events.append({ ...event(EVENT_ACTIONS[index] ?? 'sign_in'), atMs: NOON_MS - 5 + index })
    const times = async (fromMs?: number, toMs?: number): Promise<readonly number[]> =>
      (await store.events.list({ limit: 9, offset: 0 }, given({ fromMs, toMs }), 'at')).data.map(
        ({ atMs }) => atMs - NOON_MS,
      )
    assert.deepEqual(await times(NOON_MS - 4, NOON_MS - 2), [-4, -3])
    assert.deepEqual(await times(NOON_MS - 2), [-2, -1])
    assert.deepEqual(await times(undefined, NOON_MS - 4), [-5])
    assert.deepEqual(await times(NOON_MS), [])
    assert.deepEqual(await times(NOON_MS - 1, NOON_MS - 3), [])
    await Promise.all(Array.from({ length: 5 }, () => store.events.append(event('sign_out'))))
    const page = await store.events.list({ limit: 2, offset: 6 })
    assert.equal(page.total, 10)
    const [newest] = (await store.events.list({ limit: 1, offset: 0 }, { action: 'sign_' })).data
    const next = { action: 'sign_', id: newest?.id ?? 0 }
    const tries = Array.from({ length: 3 }, () => store.events.append(event('sign_in'), next))
    assert.equal((await Promise.all(tries)).filter(Boolean).length, 1, 'one of several is the next')
    assert.equal(await store.events.append({ ...event('sign_in'), object: 'acc_2' }, next), true)
    assert.equal(await store.events.append(event('sign_in'), { ...next, action: 'price_' }), true)
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
