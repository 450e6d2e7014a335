import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../src/store/store.ts'
import { direct } from '../harness/postgres.ts'
import { Bench, newId, NOON_MS, TestClock } from './ledger-fixture.ts'

/** The usage log on PostgreSQL grows and shrinks by whole partitions. */
export function logPartsContract(newDatabase: () => Promise<string>, open: (url: string) => Promise<Store>): void {
  test('the log has parts of five million rows, made ahead; a part goes whole when all of it is old, and the books are right', async () => {
    const url = await newDatabase()
    const bench = new Bench(await open(url), new TestClock(NOON_MS))
    const customer = await bench.customer(1_000_000n)
    const answer = async (): Promise<void> => {
      const id = newId('gen-')
      await bench.hold(customer, 10n, id)
      bench.clock.advance(1_000)
      const record = { ...bench.record(customer, id), endUser: 'ann' }
      await bench.ledger.settle({ generationId: id, costMicro: 1n, providerCostMicro: 0n, insuredMicro: 0n, record })
    }
    const parts = async (): Promise<readonly unknown[]> =>
      (
        await direct(
          url,
          `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'generation'::regclass ORDER BY 1`,
        )
      ).map((row) => Object.values(row)[0])
    for (let count = 0; count < 3; count += 1) await answer()
    assert.deepEqual(await parts(), ['generation_0', 'generation_10000000', 'generation_5000000'])
    await direct(url, `SELECT setval('generation_number', 4999998)`)
    for (let count = 0; count < 4; count += 1) await answer()
    await bench.store.logUpkeep.makeRoom()
    await bench.store.logUpkeep.makeRoom()
    assert.deepEqual(await parts(), [
      'generation_0',
      'generation_10000000',
      'generation_15000000',
      'generation_5000000',
    ])
    await bench.auditClean()
    assert.equal(
      (await bench.store.generations.list({ accountId: customer.accountId, limit: 10, offset: 0 })).data.length,
      7,
    )
    // Five rows are in the first partition; its last one is not old yet.
    assert.equal(await bench.store.logUpkeep.removeSome(NOON_MS + 5_000), 4)
    assert.equal(await bench.store.logUpkeep.removeSome(NOON_MS + 6_000), 1)
    assert.deepEqual(await parts(), ['generation_10000000', 'generation_15000000', 'generation_5000000'])
    await bench.auditClean()
    const page = await bench.store.generations.list({ accountId: customer.accountId, limit: 10, offset: 0 })
    assert.deepEqual([page.total, page.data.length], [2, 2])
    const named = { accountId: customer.accountId, endUser: 'ann', limit: 10, offset: 0 }
    assert.deepEqual((await bench.store.generations.list(named)).data, page.data)
    assert.equal(await bench.store.logUpkeep.removeEndUsers(), 5, 'the names go with the rows')
    assert.deepEqual((await bench.store.generations.list(named)).data, page.data)
    await answer()
    await bench.auditClean()
    await bench.store.close()
  })
}
