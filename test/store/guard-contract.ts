import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { VoidOutcome } from '../../src/ledger/ledger-store.ts'
import type { Store } from '../../src/store/store.ts'
import { Bench, newId, NOON_MS, TestClock, type Customer } from './ledger-fixture.ts'

const RUB = 1_000_000n
const HOUR_MS = 3_600_000

/** Free answers, until an account has used up its hour (guarantees.md rule 20). */
export function guardContract(open: () => Promise<Store>): void {
  const guard = (name: string, body: (bench: Bench, customer: Customer) => Promise<void>): void => {
    test(name, async () => {
      const bench = new Bench(await open(), new TestClock(NOON_MS))
      try {
        await body(bench, await bench.customer(10_000n * RUB))
        await bench.auditClean()
      } finally {
        await bench.ledger.stop()
        await bench.store.close()
      }
    })
  }

  guard('20 RUB an hour are free, and what follows them costs what the provider takes', async (bench, customer) => {
    assert.deepEqual(await guardedVoid(bench, customer, 20n * RUB), { status: 'voided' })
    // At the bound, not beyond it.
    assert.deepEqual(await guardedVoid(bench, customer, 1n), { status: 'voided' })
    const id = newId('gen-')
    assert.deepEqual(await guardedVoid(bench, customer, 3n, { id, insuredMicro: 5n }), {
      status: 'charged',
      chargedMicro: 3n,
      shortfallMicro: 0n,
    })
    assert.equal((await bench.money(customer.accountId)).available, 10_000n * RUB - 3n)
    const row = await bench.store.generations.get(id)
    assert.deepEqual(
      [row?.billingBasis, row?.costMicro, row?.providerCostMicro, row?.insuredMicro, row?.status],
      ['provider_cost', 3n, 3n, 2n, 'error'],
    )
    assert.equal((await bench.spend(customer)).day, 3n)
  })

  guard('one that is repeated after a lost answer is charged once, and told the same', async (bench, customer) => {
    await guardedVoid(bench, customer, 21n * RUB)
    const id = newId('gen-')
    const first = await guardedVoid(bench, customer, 7n, { id })
    assert.deepEqual(await voidAgain(bench, customer, id, 7n), first)
    assert.equal((await bench.money(customer.accountId)).available, 10_000n * RUB - 7n)
  })

  guard(
    'what an answer costs beyond its hold and the balance counts as well, and then what may exceed its hold is refused',
    async (bench, customer) => {
      const ask = async (generationId = newId('gen-')): ReturnType<Bench['ledger']['hold']> => {
        const placed = await bench.ledger.hold({
          generationId,
          accountId: customer.accountId,
          keyId: customer.keyId,
          amountMicro: 1n,
          priceVersion: 1,
          mayExceed: true,
          subject: { type: 'responses', model: 'openai/gpt-4o', requestId: 'r', streamed: false },
        })
        if (placed.status === 'held') await bench.void(customer, generationId)
        return placed
      }
      const id = newId('gen-')
      await bench.hold(customer, 9_999n * RUB, id)
      assert.equal((await ask()).status, 'held')
      const outcome = await bench.settle(customer, id, 10_600n * RUB)
      assert.ok(outcome.status === 'settled' && outcome.shortfallMicro > 600n * RUB - 1n)
      await bench.topUp(customer.accountId, 100n * RUB)
      assert.deepEqual(await ask(), { status: 'refused', reason: 'free_hour_used_up' })
      // Requests that cannot exceed their hold go on.
      assert.equal((await guardedVoid(bench, customer, 1n)).status, 'charged')
      bench.clock.advance(HOUR_MS)
      assert.equal((await ask()).status, 'held')
    },
  )

  guard('what no customer caused is booked and not counted', async (bench, customer) => {
    const id = newId('gen-')
    assert.deepEqual(await guardedVoid(bench, customer, 50n * RUB, { id, blamelessMicro: 50n * RUB }), {
      status: 'voided',
    })
    assert.equal((await bench.store.generations.get(id))?.insuredMicro, 50n * RUB)
    assert.equal((await guardedVoid(bench, customer, 20n * RUB)).status, 'voided')
    assert.equal((await guardedVoid(bench, customer, 1n)).status, 'voided')
    assert.equal((await guardedVoid(bench, customer, 1n)).status, 'charged')
  })

  guard(
    'after a loss few requests that may exceed their hold run at once: each holds the loss of the hour beside',
    async (bench, customer) => {
      const place = async (): Promise<bigint> => {
        const before = (await bench.money(customer.accountId)).held
        const placed = await bench.ledger.hold({
          generationId: newId('gen-'),
          accountId: customer.accountId,
          keyId: customer.keyId,
          amountMicro: 100n * RUB,
          priceVersion: 1,
          mayExceed: true,
          subject: { type: 'chat', model: 'openai/gpt-4o', requestId: 'r', streamed: false },
        })
        assert.equal(placed.status, 'held')
        return (await bench.money(customer.accountId)).held - before
      }
      assert.equal(await place(), 100n * RUB)
      await guardedVoid(bench, customer, 15n * RUB)
      assert.equal(await place(), 115n * RUB)
      await bench.hold(customer, 9_680n * RUB, newId('gen-'))
      // The last one takes what is left, and is not refused for it.
      assert.equal(await place(), 105n * RUB)
    },
  )

  guard('the next hour begins with nothing', async (bench, customer) => {
    await guardedVoid(bench, customer, 21n * RUB)
    bench.clock.advance(HOUR_MS - 1)
    assert.equal((await guardedVoid(bench, customer, 1n)).status, 'charged')
    bench.clock.advance(1)
    assert.equal((await guardedVoid(bench, customer, 1n)).status, 'voided')
  })

  guard('who spends much may have 5 % of it free', async (bench, customer) => {
    const id = newId('gen-')
    await bench.hold(customer, 800n * RUB, id)
    await bench.settle(customer, id, 800n * RUB)
    await guardedVoid(bench, customer, 40n * RUB)
    assert.equal((await guardedVoid(bench, customer, 1n)).status, 'voided')
    assert.equal((await guardedVoid(bench, customer, 1n)).status, 'charged')
  })

  guard('what no rule guards stays free, and so does every other account', async (bench, customer) => {
    await guardedVoid(bench, customer, 50n * RUB)
    const id = newId('gen-')
    await bench.hold(customer, RUB, id)
    assert.deepEqual(await bench.void(customer, id, 9n), { status: 'voided' })
    assert.equal((await guardedVoid(bench, await bench.customer(RUB), 9n)).status, 'voided')
  })

  guard('of fifty at once as many are free as cross the bound, and not one more', async (bench, customer) => {
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => guardedVoid(bench, customer, RUB)))
    // The one that crosses the bound is the last.
    assert.equal(outcomes.filter(({ status }) => status === 'voided').length, 21)
    assert.equal((await bench.money(customer.accountId)).available, (10_000n - 29n) * RUB)
  })

  guard('a hold that has expired stays free', async (bench, customer) => {
    await guardedVoid(bench, customer, 50n * RUB)
    const id = newId('gen-')
    await new Bench(bench.store, bench.clock, 'node-lost').hold(customer, RUB, id)
    bench.clock.advance(61_000)
    await bench.ledger.sweep()
    assert.equal((await voidAgain(bench, customer, id, 1n)).status, 'voided')
  })
}

type Ended = Pick<Bench, 'hold' | 'record' | 'ledger'>

export async function guardedVoid(
  bench: Ended,
  customer: Customer,
  costMicro: bigint,
  { id = newId('gen-'), insuredMicro = costMicro, blamelessMicro = 0n } = {},
): Promise<VoidOutcome> {
  await bench.hold(customer, costMicro, id)
  return voidAgain(bench, customer, id, costMicro, insuredMicro, blamelessMicro)
}

export function voidAgain(
  bench: Ended,
  customer: Customer,
  generationId: string,
  costMicro: bigint,
  insuredMicro = costMicro,
  blamelessMicro = 0n,
): Promise<VoidOutcome> {
  const record = { ...bench.record(customer, generationId), status: 'error', billingBasis: 'free' } as const
  return bench.ledger.void({
    generationId,
    insuredMicro,
    blamelessMicro,
    record,
    guarded: { costMicro, providerCostMicro: costMicro, record: { ...record, billingBasis: 'provider_cost' } },
  })
}
