import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../src/store/store.ts'
import { Bench, newId, NOON_MS, TestClock } from './ledger-fixture.ts'

/** Guarantees when several nodes share one database. */
export function twoNodeContract(newDatabase: () => Promise<string>, open: (url: string) => Promise<Store>): void {
  test('two nodes migrate an empty database at once', async () => {
    const url = await newDatabase()
    const stores = await Promise.all([open(url), open(url), open(url)])
    assert.equal((await stores[0]?.accounts.list({ query: null, limit: 1, offset: 0 }))?.total, 0)
    await Promise.all(stores.map((store) => store.close()))
  })

  test('F11: two nodes race for the last ruble: never more than the balance is held or charged', async () => {
    const url = await newDatabase()
    const first = new Bench(await open(url), new TestClock(NOON_MS))
    const second = new Bench(await open(url), first.clock, 'node-2')
    const customers = [
      await first.customer(10n),
      await first.customer(10n),
      await first.customer(10n, { limitMicro: 5n }),
    ]
    for (let round = 0; round < 10; round += 1) {
      const ids = Array.from({ length: 20 }, () => newId('gen-'))
      const outcomes = await Promise.all(
        ids.map((id, index) => {
          const customer = customers[index % customers.length]
          assert.ok(customer)
          return (index % 2 === 0 ? first : second).hold(customer, 3n, id)
        }),
      )
      // Settled and voided by the other node, at the same time.
      await Promise.all(
        ids.map((id, index) => {
          const customer = customers[index % customers.length]
          assert.ok(customer)
          if (outcomes[index]?.status !== 'held') return null
          const node = index % 2 === 0 ? second : first
          return index % 5 === 0
            ? node.settle(customer, id, 1n)
            : Promise.all([node.void(customer, id), first.void(customer, id)])
        }),
      )
      await first.auditClean()
    }
    for (const { accountId } of customers) assert.equal((await first.money(accountId)).held, 0n)
    await first.store.close()
    await second.store.close()
  })

  test('F11: two nodes race for the last ruble of an account limit with several keys: it is never passed', async () => {
    const url = await newDatabase()
    const first = new Bench(await open(url), new TestClock(NOON_MS))
    const second = new Bench(await open(url), first.clock, 'node-2')
    const customer = await first.customer(1_000n, {}, { limitMicro: 50n, limitReset: 'daily' })
    const keys = [
      customer,
      await first.key(customer.accountId),
      await first.key(customer.accountId, { limitMicro: 90n }),
    ]
    for (let day = 0; day < 2; day += 1) {
      let charged = 0n
      for (let round = 0; round < 8; round += 1) {
        const ids = Array.from({ length: 18 }, () => newId('gen-'))
        const asked = ids.map((id, index) => ({
          id,
          key: keys[index % 3] ?? customer,
          node: index % 2 ? first : second,
        }))
        const outcomes = await Promise.all(asked.map(({ id, key, node }) => node.hold(key, 7n, id)))
        const held = asked.filter((_, index) => outcomes[index]?.status === 'held')
        assert.ok(charged + 7n * BigInt(held.length) <= 50n, `${held.length} of 7 are held, and ${charged} are spent`)
        // Every other answer costs more than its hold.
        const ends = await Promise.all(
          held.map(({ id, key, node }, index) =>
            (node === first ? second : first).settle(key, id, index % 2 ? 2n : 9n),
          ),
        )
        for (const end of ends) if ('chargedMicro' in end) charged += end.chargedMicro
        await first.auditClean()
      }
      assert.ok(charged <= 50n && charged > 43n, `${charged} of a limit of 50 are spent`)
      first.clock.advance(86_400_000)
    }
    await first.store.close()
    await second.store.close()
  })

  test('F13: two nodes settle one generation at once: charged once', async () => {
    const url = await newDatabase()
    const first = new Bench(await open(url), new TestClock(NOON_MS))
    const second = new Bench(await open(url), first.clock, 'node-2')
    const customer = await first.customer(1_000n)
    const ids = Array.from({ length: 20 }, () => newId('gen-'))
    await Promise.all(ids.map((id) => first.hold(customer, 10n, id)))
    const outcomes = await Promise.all(
      ids.flatMap((id) => [first.settle(customer, id, 7n), second.settle(customer, id, 7n)]),
    )
    assert.equal(outcomes.filter(({ status }) => status === 'settled').length, 20)
    assert.equal(outcomes.filter(({ status }) => status === 'replayed').length, 20)
    assert.deepEqual(await first.money(customer.accountId), { available: 860n, held: 0n })
    await first.auditClean()
    await first.store.close()
    await second.store.close()
  })

  test('only the oldest live node leads, and the next one when it goes; all have one time', async () => {
    const url = await newDatabase()
    const stores = await Promise.all([open(url), open(url), open(url)])
    const beat = async (index: number) => (await stores[index]?.nodes?.beat(`node-${index}`)) ?? assert.fail()
    assert.deepEqual([(await beat(0)).leads, (await beat(1)).leads, (await beat(2)).leads], [true, false, false])
    const views = [await beat(0), await beat(1), await beat(2)]
    assert.deepEqual(
      views.map(({ nodes, leads }) => [nodes, leads]),
      [
        [3, true],
        [3, false],
        [3, false],
      ],
    )
    assert.ok(Math.abs((views[0]?.nowMs ?? 0) - Date.now()) < 5_000)
    await stores[0]?.nodes?.leave('node-0')
    assert.deepEqual([(await beat(1)).leads, (await beat(2)).leads], [true, false])
    await Promise.all(stores.map((store) => store.close()))
  })

  test('each node learns of a block once, and the longer of two wins', async () => {
    const url = await newDatabase()
    const stores = await Promise.all([open(url), open(url)])
    await stores[0]?.nodes?.block({ ip: '203.0.113.9', leftMs: 600_000, blocks: 2 })
    await stores[1]?.nodes?.block({ ip: '203.0.113.9', leftMs: 60_000, blocks: 1 })
    for (const store of stores) {
      const [block] = (await store.nodes?.beat('node'))?.blocks ?? []
      assert.deepEqual([block?.ip, block?.blocks], ['203.0.113.9', 2])
      assert.ok(block !== undefined && block.leftMs > 590_000 && block.leftMs <= 600_000, String(block?.leftMs))
    }
    await Promise.all(stores.map((store) => store.close()))
  })

  test('two sweepers at once expire a hold of a dead node once', async () => {
    const url = await newDatabase()
    const first = new Bench(await open(url), new TestClock(NOON_MS))
    const second = new Bench(await open(url), first.clock, 'node-2')
    const dead = new Bench(await open(url), first.clock, 'node-3')
    const customer = await first.customer(1_000n)
    await Promise.all(Array.from({ length: 20 }, () => dead.hold(customer, 10n)))
    first.clock.advance(61_000)
    await Promise.all([first.ledger.sweep(), second.ledger.sweep(), first.ledger.sweep()])
    assert.deepEqual(await first.money(customer.accountId), { available: 1_000n, held: 0n })
    await first.auditClean()
    for (const { store } of [first, second, dead]) await store.close()
  })
}
