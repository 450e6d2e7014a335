import assert from 'node:assert/strict'
import type { AccountPatch } from '../../src/store/accounts/account-store.ts'
import { accountLimit } from '../../src/api/records/limits-body.ts'
import type { Store } from '../../src/store/store.ts'
import { Bench, benchTests, newId, NOON_MS, TestClock, type Customer } from './ledger-fixture.ts'

const RUB = 1_000_000n
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** The limit that all keys of an account have together. */
export function accountLimitsContract(open: () => Promise<Store>): void {
  const money = benchTests(open)

  const charge = async (bench: Bench, customer: Customer, micro: bigint): Promise<void> => {
    const id = newId('gen-')
    assert.deepEqual(await bench.hold(customer, micro, id), { status: 'held' })
    assert.equal((await bench.settle(customer, id, micro)).status, 'settled')
  }
  const change = (bench: Bench, { accountId }: Customer, patch: AccountPatch): Promise<unknown> =>
    bench.store.accounts.update(accountId, patch, bench.ledger.periods(bench.clock.now()))
  const shown = async (bench: Bench, { accountId }: Customer): Promise<ReturnType<typeof accountLimit>> => {
    const account = await bench.store.accounts.get(accountId)
    assert.ok(account)
    const atMs = bench.clock.now()
    return accountLimit(account, { periods: bench.ledger.periods(atMs), atMs, timezone: 'UTC' })
  }

  money('spent + held + the new hold of all keys together never exceeds the limit of their account', async (bench) => {
    const one = await bench.customer(100n * RUB, {}, { limitMicro: 10n * RUB, limitReset: 'monthly' })
    const two = await bench.key(one.accountId)
    await charge(bench, one, 3n * RUB)
    assert.equal((await bench.hold(two, 5n * RUB)).status, 'held')
    for (const customer of [one, two])
      assert.deepEqual(await bench.hold(customer, 2n * RUB + 1n), {
        status: 'limit_exceeded',
        limitMicro: 10n * RUB,
        limitReset: 'monthly',
        spentMicro: 3n * RUB,
        heldMicro: 5n * RUB,
        ofAccount: true,
      })
    assert.equal((await bench.hold(one, 2n * RUB)).status, 'held')
    assert.deepEqual(await shown(bench, one), {
      limit: 10,
      limit_reset: 'monthly',
      limit_used: 3,
      limit_remaining: 0,
      limit_resets_at: '2026-12-01T00:00:00Z',
    })
  })

  money('of 100 holds at once by three keys as many are admitted as the limit of the account leaves', async (bench) => {
    const one = await bench.customer(1_000n * RUB, {}, { limitMicro: 7n * RUB })
    const keys = [one, await bench.key(one.accountId), await bench.key(one.accountId)]
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, index) => bench.hold(keys[index % 3] ?? one, RUB)),
    )
    assert.equal(outcomes.filter(({ status }) => status === 'held').length, 7)
  })

  money(
    'the limit of a key is named before that of its account, and the lower one bounds an overrun',
    async (bench) => {
      const customer = await bench.customer(100n * RUB, { limitMicro: 8n * RUB }, { limitMicro: 6n * RUB })
      const outcome = await bench.hold(customer, 9n * RUB)
      assert.ok(outcome.status === 'limit_exceeded' && outcome.limitMicro === 8n * RUB)
      const other = await bench.hold(customer, 7n * RUB)
      assert.ok(other.status === 'limit_exceeded' && other.ofAccount === true)
      const id = newId('gen-')
      await bench.hold(customer, RUB, id)
      assert.deepEqual(await bench.settle(customer, id, 50n * RUB), {
        status: 'settled',
        chargedMicro: 6n * RUB,
        shortfallMicro: 44n * RUB,
      })
    },
  )

  money('an overrun takes nothing of what other keys hold within the limit of the account', async (bench) => {
    const one = await bench.customer(100n * RUB, {}, { limitMicro: 10n * RUB })
    const two = await bench.key(one.accountId)
    const id = newId('gen-')
    await bench.hold(one, 2n * RUB, id)
    await bench.hold(two, 5n * RUB)
    const outcome = await bench.settle(one, id, 50n * RUB)
    assert.ok(outcome.status === 'settled' && outcome.chargedMicro === 5n * RUB)
  })

  money('the charge of a batch counts for the holds of other keys that share its commit', async (bench) => {
    const one = await bench.customer(100n * RUB, {}, { limitMicro: 10n * RUB, limitReset: 'daily' })
    const two = await bench.key(one.accountId)
    const id = newId('gen-')
    await bench.hold(one, 4n * RUB, id)
    const [, next] = await Promise.all([bench.settle(one, id, 4n * RUB), bench.hold(two, 7n * RUB)])
    assert.equal(next.status, 'limit_exceeded')
    assert.equal((await bench.hold(two, 6n * RUB)).status, 'held')
  })

  for (const [limitReset, ms] of [
    ['daily', DAY_MS],
    ['weekly', 7 * DAY_MS],
    ['monthly', 31 * DAY_MS],
  ] as const)
    money(`a ${limitReset} limit of an account starts afresh with the next period, and only then`, async (bench) => {
      const one = await bench.customer(100n * RUB, {}, { limitMicro: 5n * RUB, limitReset })
      const two = await bench.key(one.accountId)
      await charge(bench, one, 5n * RUB)
      bench.clock.advance(11 * HOUR_MS)
      assert.equal((await bench.hold(two, 1n)).status, 'limit_exceeded')
      bench.clock.advance(ms)
      assert.equal((await shown(bench, one)).limit_used, 0)
      await charge(bench, two, 5n * RUB)
      assert.equal((await bench.hold(one, 1n)).status, 'limit_exceeded')
    })

  money('F9: an answer that ends in the next period counts in that of its hold', async (bench) => {
    const one = await bench.customer(100n * RUB, {}, { limitMicro: 5n * RUB, limitReset: 'daily' })
    const [late, later] = [newId('gen-'), newId('gen-')]
    await bench.hold(one, RUB, late)
    await bench.hold(one, RUB, later)
    bench.clock.advance(DAY_MS)
    // Before and after the account has met a request of the new day.
    await bench.settle(one, late, RUB)
    await charge(bench, one, 2n * RUB)
    await bench.settle(one, later, RUB)
    assert.equal((await shown(bench, one)).limit_used, 2)
    assert.equal((await bench.hold(one, 3n * RUB)).status, 'held')
    assert.equal((await bench.hold(one, 1n)).status, 'limit_exceeded')
  })

  money('nodes whose clocks differ at midnight each count the period of their own day, exactly', async (bench) => {
    bench.clock.advance(12 * HOUR_MS - 1_000)
    const one = await bench.customer(100n * RUB, {}, { limitMicro: 10n * RUB, limitReset: 'daily' })
    const two = await bench.key(one.accountId)
    const ahead = new Bench(bench.store, new TestClock(bench.clock.now() + 2_000), 'node-ahead')
    await charge(bench, one, 8n * RUB)
    // It turns the account to the next day.
    await charge(ahead, two, 6n * RUB)
    const old = await bench.hold(one, 2n * RUB + 1n)
    assert.ok(old.status === 'limit_exceeded' && old.spentMicro === 8n * RUB)
    await charge(bench, two, RUB)
    const next = await ahead.hold(one, 4n * RUB + 1n)
    assert.ok(next.status === 'limit_exceeded' && next.spentMicro === 6n * RUB)
    const last = await bench.hold(two, RUB + 1n)
    assert.ok(last.status === 'limit_exceeded' && last.spentMicro === 9n * RUB)
    await bench.auditClean()
    // A limit that is changed by the clock behind keeps what the other has counted.
    await change(bench, one, { limitMicro: 7n * RUB })
    const changed = await ahead.hold(one, RUB + 1n)
    assert.ok(changed.status === 'limit_exceeded' && changed.spentMicro === 6n * RUB)
    await ahead.ledger.stop()
  })

  money('a limit counts what was spent before it was set, by keys that are deleted too', async (bench) => {
    const one = await bench.customer(100n * RUB)
    const two = await bench.key(one.accountId)
    await charge(bench, one, 3n * RUB)
    await charge(bench, two, 2n * RUB)
    await bench.store.keys.delete(two.keyId)
    await change(bench, one, { limitMicro: 6n * RUB, limitReset: 'daily' })
    assert.equal((await shown(bench, one)).limit_used, 5)
    const outcome = await bench.hold(one, RUB + 1n)
    assert.ok(outcome.status === 'limit_exceeded' && outcome.spentMicro === 5n * RUB)
  })

  money('changing a limit never clears what is spent; taking it off ends it', async (bench) => {
    const one = await bench.customer(100n * RUB, {}, { limitMicro: 5n * RUB })
    await charge(bench, one, 5n * RUB)
    bench.clock.advance(DAY_MS)
    await change(bench, one, { limitMicro: 6n * RUB })
    assert.equal((await bench.hold(one, RUB + 1n)).status, 'limit_exceeded')
    // Nothing was spent today.
    await change(bench, one, { limitReset: 'daily' })
    await charge(bench, one, 6n * RUB)
    await change(bench, one, { limitMicro: 2n * RUB })
    assert.equal((await bench.hold(one, 1n)).status, 'limit_exceeded')
    await bench.auditClean()
    await change(bench, one, { limitReset: 'monthly', limitMicro: 12n * RUB })
    const month = await bench.hold(one, RUB + 1n)
    assert.ok(month.status === 'limit_exceeded' && month.spentMicro === 11n * RUB)
    await change(bench, one, { limitMicro: null, limitReset: null })
    assert.equal((await bench.hold(one, 50n * RUB)).status, 'held')
  })

  money('a limit that is lowered below what is held refuses, and the answers that run are charged', async (bench) => {
    const one = await bench.customer(100n * RUB, {}, { limitMicro: 50n * RUB })
    const id = newId('gen-')
    await bench.hold(one, 40n * RUB, id)
    await change(bench, one, { limitMicro: 10n * RUB })
    await bench.auditClean()
    assert.equal((await bench.hold(one, 1n)).status, 'limit_exceeded')
    assert.deepEqual(await bench.settle(one, id, 45n * RUB), {
      status: 'settled',
      chargedMicro: 40n * RUB,
      shortfallMicro: 5n * RUB,
    })
    await bench.auditClean()
    assert.equal((await bench.hold(one, 1n)).status, 'limit_exceeded')
  })

  money('a late settle takes no more than the limit of the account leaves', async (bench) => {
    const one = await bench.customer(100n * RUB, {}, { limitMicro: 10n * RUB, limitReset: 'daily' })
    const two = await bench.key(one.accountId)
    const id = newId('gen-')
    const lost = new Bench(bench.store, bench.clock, 'node-lost')
    await lost.hold(one, 4n * RUB, id)
    bench.clock.advance(61_000)
    await bench.ledger.sweep()
    const other = newId('gen-')
    await bench.hold(two, 9n * RUB, other)
    assert.deepEqual(await bench.settle(one, id, 3n * RUB), {
      status: 'settled_late',
      chargedMicro: RUB,
      shortfallMicro: 2n * RUB,
    })
    assert.deepEqual(await bench.void(two, other), { status: 'voided' })
    assert.equal((await shown(bench, one)).limit_used, 1)
  })

  money('an account without a limit counts nothing in its row', async (bench) => {
    const one = await bench.customer(100n * RUB)
    await charge(bench, one, RUB)
    const account = await bench.store.accounts.get(one.accountId)
    assert.deepEqual([account?.limitStart, account?.limitSpentMicro], [null, 0n])
    assert.equal(bench.clock.now(), NOON_MS)
  })
}
