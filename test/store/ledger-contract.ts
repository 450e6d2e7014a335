import assert from 'node:assert/strict'
import { ApiError } from '../../src/base/errors.ts'
import { LedgerBatch } from '../../src/ledger/ledger-core.ts'
import type { LedgerChanges, LedgerRows } from '../../src/ledger/ledger-store.ts'
import type { Store } from '../../src/store/store.ts'
import { Bench, type BenchTest, benchTests, newId, NOON_MS } from './ledger-fixture.ts'

const RUB = 1_000_000n
const DAY_MS = 86_400_000

/** The money guarantees: hold → settle | void | expire → late settle. */
export function ledgerContract(open: () => Promise<Store>): void {
  const money = benchTests(open)
  holdTests(money)
  settleTests(money)
  limitTests(money)
  leaseTests(money)
}

function holdTests(money: BenchTest): void {
  money('a hold moves money from available to held, a repeat of it moves nothing', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    const id = newId('gen-')
    assert.deepEqual(await bench.hold(customer, 4n * RUB, id), { status: 'held' })
    assert.deepEqual(await bench.hold(customer, 4n * RUB, id), { status: 'held' })
    assert.deepEqual(await bench.money(customer.accountId), { available: 6n * RUB, held: 4n * RUB })
    assert.equal((await bench.spend(customer)).held, 4n * RUB)
  })

  money('a hold whose lease was renewed is still known when it is repeated', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    const id = newId('gen-')
    await bench.hold(customer, 4n * RUB, id)
    await bench.ledger.renew()
    assert.deepEqual(await bench.hold(customer, 4n * RUB, id), { status: 'held' })
    assert.deepEqual(await bench.money(customer.accountId), { available: 6n * RUB, held: 4n * RUB })
  })

  money('a hold that the balance cannot cover is refused whole, to the last micro-ruble', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    assert.deepEqual(await bench.hold(customer, 10n * RUB + 1n), {
      status: 'insufficient_balance',
      availableMicro: 10n * RUB,
    })
    assert.deepEqual(await bench.hold(customer, 10n * RUB), { status: 'held' })
    assert.deepEqual(await bench.hold(customer, 1n), { status: 'insufficient_balance', availableMicro: 0n })
  })

  money('of 100 holds at once as many are admitted as the balance covers', async (bench) => {
    const customer = await bench.customer(7n * RUB)
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => bench.hold(customer, RUB)))
    assert.equal(outcomes.filter(({ status }) => status === 'held').length, 7)
    assert.deepEqual(await bench.money(customer.accountId), { available: 0n, held: 7n * RUB })
  })

  money('a hold re-checks account and key: locked, deactivated, disabled, expired, deleted', async (bench) => {
    const reasonOf = async (customer: Awaited<ReturnType<Bench['customer']>>): Promise<string> => {
      const outcome = await bench.hold(customer, 1n)
      return outcome.status === 'refused' ? outcome.reason : outcome.status
    }
    const customer = await bench.customer(RUB, { expiresAtMs: NOON_MS + 1_000 })
    const periods = bench.ledger.periods(bench.clock.now())
    await bench.store.accounts.update(customer.accountId, { status: 'locked' })
    assert.equal(await reasonOf(customer), 'api_locked')
    await bench.store.accounts.update(customer.accountId, { status: 'deactivated' })
    assert.equal(await reasonOf(customer), 'account_deactivated')
    await bench.store.accounts.update(customer.accountId, { status: 'active' })
    await bench.store.keys.update(customer.keyId, { disabled: true }, periods)
    assert.equal(await reasonOf(customer), 'key_deactivated')
    await bench.store.keys.update(customer.keyId, { disabled: false }, periods)
    assert.equal(await reasonOf(customer), 'held')
    bench.clock.advance(1_000)
    assert.equal(await reasonOf(customer), 'key_expired')
    await bench.store.keys.delete(customer.keyId)
    assert.equal(await reasonOf(customer), 'invalid_api_key')
    assert.equal(await reasonOf({ ...customer, keyId: 'key_unknown' }), 'invalid_api_key')
  })

  money('amounts beyond 2^53 stay exact to the last micro-ruble', async (bench) => {
    const customer = await bench.customer(9_000_000_000_000_001n)
    const id = newId('gen-')
    await bench.hold(customer, 4n, id)
    await bench.settle(customer, id, 2n)
    assert.deepEqual(await bench.money(customer.accountId), { available: 8_999_999_999_999_999n, held: 0n })
  })
}

function settleTests(money: BenchTest): void {
  money('a settle charges the cost, gives the rest back and writes one log row', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    const id = newId('gen-')
    await bench.hold(customer, 4n * RUB, id)
    assert.deepEqual(await bench.settle(customer, id, 3n), { status: 'settled', chargedMicro: 3n, shortfallMicro: 0n })
    assert.deepEqual(await bench.money(customer.accountId), { available: 10n * RUB - 3n, held: 0n })
    assert.deepEqual(await bench.spend(customer), { total: 3n, day: 3n, week: 3n, month: 3n, held: 0n })
    const row = await bench.store.generations.get(id)
    assert.equal(row?.costMicro, 3n)
    assert.equal(row?.keyName, 'backend')
  })

  money('F13: fifty settles of one generation at once charge it once', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    const id = newId('gen-')
    await bench.hold(customer, 4n * RUB, id)
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => bench.settle(customer, id, RUB)))
    assert.equal(outcomes.filter(({ status }) => status === 'settled').length, 1)
    assert.ok(outcomes.every((outcome) => outcome.status !== 'not_open' && outcome.chargedMicro === RUB))
    assert.deepEqual(await bench.money(customer.accountId), { available: 9n * RUB, held: 0n })
  })

  money('a cost above the hold takes the available amount and books the rest as shortfall', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    const id = newId('gen-')
    await bench.hold(customer, 4n * RUB, id)
    assert.deepEqual(await bench.settle(customer, id, 25n * RUB), {
      status: 'settled',
      chargedMicro: 10n * RUB,
      shortfallMicro: 15n * RUB,
    })
    assert.deepEqual(await bench.money(customer.accountId), { available: 0n, held: 0n })
    assert.equal((await bench.store.generations.get(id))?.shortfallMicro, 15n * RUB)
  })

  money(
    'a cost above the hold takes no more than is available, also where the key limit leaves more',
    async (bench) => {
      const customer = await bench.customer(10n * RUB, { limitMicro: 50n * RUB })
      const id = newId('gen-')
      await bench.hold(customer, 4n * RUB, id)
      assert.deepEqual(await bench.settle(customer, id, 25n * RUB), {
        status: 'settled',
        chargedMicro: 10n * RUB,
        shortfallMicro: 15n * RUB,
      })
    },
  )

  money('a cost above the hold does not touch what other requests hold', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    const id = newId('gen-')
    await bench.hold(customer, 4n * RUB, id)
    await bench.hold(customer, 5n * RUB)
    const outcome = await bench.settle(customer, id, 25n * RUB)
    assert.ok(outcome.status === 'settled' && outcome.chargedMicro === 5n * RUB)
    assert.deepEqual(await bench.money(customer.accountId), { available: 0n, held: 5n * RUB })
  })

  money('F13: settle after void and void after settle move nothing', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    const [first, second] = [newId('gen-'), newId('gen-')]
    await bench.hold(customer, RUB, first)
    await bench.hold(customer, RUB, second)
    assert.deepEqual(await bench.void(customer, first, 7n), { status: 'voided' })
    assert.deepEqual(await bench.void(customer, first, 7n), { status: 'replayed' })
    assert.deepEqual(await bench.settle(customer, first, RUB), { status: 'not_open', state: 'voided' })
    await bench.settle(customer, second, RUB)
    assert.deepEqual(await bench.void(customer, second), { status: 'not_open', state: 'settled' })
    assert.deepEqual(await bench.settle(customer, 'gen-unknown', RUB), { status: 'not_open', state: 'missing' })
    assert.deepEqual(await bench.void(customer, 'gen-unknown'), { status: 'not_open', state: 'missing' })
    assert.deepEqual(await bench.money(customer.accountId), { available: 9n * RUB, held: 0n })
    assert.equal((await bench.store.generations.get(first))?.insuredMicro, 7n)
  })

  money('hold and settle of one generation may share a batch', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    const id = newId('gen-')
    const [held, settled] = await Promise.all([bench.hold(customer, RUB, id), bench.settle(customer, id, RUB)])
    assert.equal(held.status, 'held')
    assert.equal(settled.status, 'settled')
    assert.deepEqual(await bench.money(customer.accountId), { available: 9n * RUB, held: 0n })
  })

  money('a refused operation fails, and the others of its batch go through', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    const poisoned = bench.hold(customer, -1n)
    const others = Promise.all(Array.from({ length: 5 }, () => bench.hold(customer, RUB)))
    await assert.rejects(
      poisoned,
      (error: unknown) => error instanceof ApiError && error.errorName === 'service_unavailable',
    )
    assert.ok((await others).every(({ status }) => status === 'held'))
    assert.deepEqual(await bench.money(customer.accountId), { available: 5n * RUB, held: 5n * RUB })
  })
}

function limitTests(money: BenchTest): void {
  money('spent + held + the new hold never exceeds a key limit', async (bench) => {
    const customer = await bench.customer(100n * RUB, { limitMicro: 10n * RUB })
    const [first, second] = [newId('gen-'), newId('gen-')]
    await bench.hold(customer, 4n * RUB, first)
    await bench.settle(customer, first, 3n * RUB)
    assert.equal((await bench.hold(customer, 5n * RUB, second)).status, 'held')
    assert.deepEqual(await bench.hold(customer, 2n * RUB + 1n), {
      status: 'limit_exceeded',
      limitMicro: 10n * RUB,
      limitReset: null,
      spentMicro: 3n * RUB,
      heldMicro: 5n * RUB,
    })
    assert.equal((await bench.hold(customer, 2n * RUB)).status, 'held')
  })

  money('the first charge of a period counts for the holds that share its commit', async (bench) => {
    const customer = await bench.customer(100n * RUB, { limitMicro: 10n * RUB })
    const id = newId('gen-')
    await bench.hold(customer, 4n * RUB, id)
    const [, next] = await Promise.all([bench.settle(customer, id, 4n * RUB), bench.hold(customer, 7n * RUB)])
    assert.equal(next.status, 'limit_exceeded')
    assert.equal((await bench.hold(customer, 6n * RUB)).status, 'held')
  })

  money('a cost above the hold takes no more than the key limit leaves', async (bench) => {
    const customer = await bench.customer(100n * RUB, { limitMicro: 10n * RUB })
    const id = newId('gen-')
    await bench.hold(customer, 4n * RUB, id)
    assert.deepEqual(await bench.settle(customer, id, 12n * RUB), {
      status: 'settled',
      chargedMicro: 10n * RUB,
      shortfallMicro: 2n * RUB,
    })
  })

  for (const [limitReset, ms] of [
    ['daily', DAY_MS],
    ['weekly', 7 * DAY_MS],
    ['monthly', 31 * DAY_MS],
  ] as const) {
    money(`a ${limitReset} limit starts afresh with the next period, and only then`, async (bench) => {
      const customer = await bench.customer(100n * RUB, { limitMicro: 5n * RUB, limitReset })
      const id = newId('gen-')
      await bench.hold(customer, 5n * RUB, id)
      await bench.settle(customer, id, 5n * RUB)
      bench.clock.advance(11 * 3_600_000)
      assert.equal((await bench.hold(customer, 1n)).status, 'limit_exceeded')
      bench.clock.advance(ms)
      assert.equal((await bench.hold(customer, 5n * RUB)).status, 'held')
    })
  }

  money('F9: a charge belongs to the period its hold was placed in', async (bench) => {
    const customer = await bench.customer(100n * RUB, { limitMicro: 5n * RUB, limitReset: 'daily' })
    const id = newId('gen-')
    await bench.hold(customer, 5n * RUB, id)
    bench.clock.advance(DAY_MS)
    await bench.settle(customer, id, 5n * RUB)
    assert.equal((await bench.spend(customer)).day, 0n)
    assert.equal((await bench.spendAt(customer, NOON_MS)).day, 5n * RUB)
    assert.equal((await bench.hold(customer, 5n * RUB)).status, 'held')
  })

  money(
    'changing a limit never clears what is spent; changing its kind starts from the running totals',
    async (bench) => {
      const customer = await bench.customer(100n * RUB, { limitMicro: 5n * RUB })
      const id = newId('gen-')
      await bench.hold(customer, 5n * RUB, id)
      await bench.settle(customer, id, 5n * RUB)
      const periods = bench.ledger.periods(bench.clock.now())
      await bench.store.keys.update(customer.keyId, { limitMicro: 6n * RUB }, periods)
      assert.equal((await bench.hold(customer, RUB + 1n)).status, 'limit_exceeded')
      await bench.store.keys.update(customer.keyId, { limitReset: 'daily' }, periods)
      assert.equal((await bench.hold(customer, RUB + 1n)).status, 'limit_exceeded')
      await bench.store.keys.update(customer.keyId, { limitMicro: 2n * RUB }, periods)
      assert.equal((await bench.hold(customer, 1n)).status, 'limit_exceeded')
      await bench.store.keys.update(customer.keyId, { limitMicro: null }, periods)
      assert.equal((await bench.hold(customer, 50n * RUB)).status, 'held')
    },
  )
}

function leaseTests(money: BenchTest): void {
  money('F13: a hold whose process is gone expires and may still be settled once, late', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    const id = newId('gen-')
    const lost = new Bench(bench.store, bench.clock, 'node-lost')
    await lost.hold(customer, 4n * RUB, id)
    bench.clock.advance(61_000)
    await bench.ledger.sweep()
    assert.deepEqual(await bench.money(customer.accountId), { available: 10n * RUB, held: 0n })
    const other = newId('gen-')
    await bench.hold(customer, 9n * RUB, other)
    assert.deepEqual(await bench.settle(customer, id, 3n * RUB), {
      status: 'settled_late',
      chargedMicro: RUB,
      shortfallMicro: 2n * RUB,
    })
    assert.deepEqual(await bench.settle(customer, id, 3n * RUB), {
      status: 'replayed',
      chargedMicro: RUB,
      shortfallMicro: 2n * RUB,
    })
    assert.deepEqual(await bench.money(customer.accountId), { available: 0n, held: 9n * RUB })
    assert.deepEqual(await bench.void(customer, other), { status: 'voided' })
  })

  money('F13: an expired hold that is voided stays closed: no second log row, no late charge', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    const id = newId('gen-')
    const lost = new Bench(bench.store, bench.clock, 'node-lost')
    await lost.hold(customer, 4n * RUB, id)
    bench.clock.advance(61_000)
    await bench.ledger.sweep()
    assert.deepEqual(await bench.void(customer, id, 5n), { status: 'voided' })
    assert.deepEqual(await bench.void(customer, id, 5n), { status: 'replayed' })
    assert.deepEqual(await bench.settle(customer, id, 3n), { status: 'not_open', state: 'voided' })
    assert.equal((await bench.store.generations.list({ accountId: customer.accountId, limit: 10, offset: 0 })).total, 1)
  })

  money('a hold that is renewed after a sweeper found it overdue is kept', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    const id = newId('gen-')
    await bench.hold(customer, 4n * RUB, id)
    bench.clock.advance(61_000)
    const overdue = await bench.store.ledger.openHolds(bench.clock.now())
    assert.deepEqual(
      overdue.map((hold) => hold.id),
      [id],
    )
    await bench.ledger.renew()
    const expire = { op: 'expire', generationId: id, atMs: bench.clock.now() } as const
    const outcomes: unknown[] = []
    const decide = (rows: LedgerRows): LedgerChanges => {
      const batch = new LedgerBatch(rows)
      outcomes.push(batch.apply(expire))
      return batch.changes()
    }
    await bench.store.ledger.commit([expire], decide, true)
    assert.deepEqual(outcomes, [{ status: 'kept' }])
    assert.deepEqual(await bench.money(customer.accountId), { available: 6n * RUB, held: 4n * RUB })
  })

  money('a running hold is renewed and never expires; a settled one is renewed no more', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    const id = newId('gen-')
    await bench.hold(customer, 4n * RUB, id)
    for (let beat = 0; beat < 10; beat += 1) {
      bench.clock.advance(20_000)
      await bench.ledger.renew()
      await bench.ledger.sweep()
    }
    assert.deepEqual(await bench.money(customer.accountId), { available: 6n * RUB, held: 4n * RUB })
    assert.equal((await bench.settle(customer, id, RUB)).status, 'settled')
  })

  money('F8: a wall clock that jumps 40 days ahead expires no running hold', async (bench) => {
    const customer = await bench.customer(10n * RUB)
    await bench.hold(customer, 4n * RUB)
    bench.clock.advance(40 * DAY_MS)
    await bench.ledger.sweep()
    assert.deepEqual(await bench.money(customer.accountId), { available: 6n * RUB, held: 4n * RUB })
    await bench.ledger.renew()
  })

  money(
    'at the start of a store with one process every hold left open is voided, with a free log row',
    async (bench) => {
      if (bench.store.kind !== 'embedded') return
      const customer = await bench.customer(10n * RUB)
      const id = newId('gen-')
      await bench.hold(customer, 4n * RUB, id)
      const next = new Bench(bench.store, bench.clock, 'node-2')
      assert.equal(await next.ledger.start(), 1)
      await next.ledger.stop()
      assert.deepEqual(await bench.money(customer.accountId), { available: 10n * RUB, held: 0n })
      const row = await bench.store.generations.get(id)
      assert.deepEqual([row?.status, row?.costMicro], ['error', 0n])
    },
  )
}
