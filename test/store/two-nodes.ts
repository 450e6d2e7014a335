import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../src/store/store.ts'
import { Bench, newId, NOON_MS, TestClock } from './ledger-fixture.ts'

/** What holds when several nodes share one database. */
export function twoNodeContract(newDatabase: () => Promise<string>, open: (url: string) => Promise<Store>): void {
  test('two nodes migrate an empty database at once', async () => {
    const url = await newDatabase()
    const stores = await Promise.all([open(url), open(url), open(url)])
    assert.equal((await stores[0]?.accounts.list({ query: null, limit: 1, offset: 0 }))?.total, 0)
    await Promise.all(stores.map((store) => store.close()))
  })

  test('two nodes race for the last ruble: never more than the balance is held or charged', async () => {
    const url = await newDatabase()
    const first = new Bench(await open(url), new TestClock(NOON_MS))
    const second = new Bench(await open(url), first.clock, 'node-2')
    const customers = [await first.customer(10n), await first.customer(10n), await first.customer(10n, { limitMicro: 5n })]
    for (let round = 0; round < 10; round += 1) {
      const ids = Array.from({ length: 20 }, () => newId('gen-'))
      const outcomes = await Promise.all(
        ids.map((id, index) => {
          const customer = customers[index % customers.length]
          assert.ok(customer)
          return (index % 2 === 0 ? first : second).hold(customer, 3n, id)
        }),
      )
      // Settled and voided by the other node, which races too.
      await Promise.all(
        ids.map((id, index) => {
          const customer = customers[index % customers.length]
          assert.ok(customer)
          if (outcomes[index]?.status !== 'held') return null
          const node = index % 2 === 0 ? second : first
          return index % 5 === 0 ? node.settle(customer, id, 1n) : Promise.all([node.void(customer, id), first.void(customer, id)])
        }),
      )
      await first.auditClean()
    }
    for (const { accountId } of customers) assert.equal((await first.money(accountId)).held, 0n)
    await first.store.close()
    await second.store.close()
  })

  test('two nodes settle one generation at once: charged once', async () => {
    const url = await newDatabase()
    const first = new Bench(await open(url), new TestClock(NOON_MS))
    const second = new Bench(await open(url), first.clock, 'node-2')
    const customer = await first.customer(1_000n)
    const ids = Array.from({ length: 20 }, () => newId('gen-'))
    await Promise.all(ids.map((id) => first.hold(customer, 10n, id)))
    const outcomes = await Promise.all(ids.flatMap((id) => [first.settle(customer, id, 7n), second.settle(customer, id, 7n)]))
    assert.equal(outcomes.filter(({ status }) => status === 'settled').length, 20)
    assert.equal(outcomes.filter(({ status }) => status === 'replayed').length, 20)
    assert.deepEqual(await first.money(customer.accountId), { available: 860n, held: 0n })
    await first.auditClean()
    await first.store.close()
    await second.store.close()
  })
}
