import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../src/base/errors.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { Store } from '../../src/store/store.ts'
import { Bench, newId } from './ledger-fixture.ts'

const ANSWERS = 120
const ANSWER_MICRO = 7n

/** Guarantees when the database goes away in the middle of the work. */
export function outageContract(
  newDatabase: () => Promise<string>,
  open: (url: string) => Promise<Store>,
  crash: () => Promise<void>,
): void {
  test('the database crashes under load: acknowledged charges are there once, the others at most once, and work goes on', async () => {
    const url = await newDatabase()
    const bench = new Bench(await open(url), systemClock)
    const customer = await bench.customer(1_000_000n)
    const acknowledged: string[] = []
    const refused: string[] = []
    const answer = async (): Promise<void> => {
      const id = newId('gen-')
      try {
        assert.equal((await bench.hold(customer, 10n, id)).status, 'held')
        await bench.settle(customer, id, ANSWER_MICRO)
        acknowledged.push(id)
      } catch (thrown) {
        assert.ok(thrown instanceof ApiError && thrown.errorName === 'service_unavailable', String(thrown))
        refused.push(id)
      }
    }
    let crashing: Promise<void> | null = null
    for (let count = 0; count < ANSWERS; count += 6) {
      if (count === ANSWERS / 2) crashing = crash()
      await Promise.all(Array.from({ length: 6 }, answer))
    }
    await crashing
    await answer()
    for (const id of acknowledged) assert.equal((await bench.store.generations.get(id))?.costMicro, ANSWER_MICRO)
    const { total } = await bench.store.generations.list({ accountId: customer.accountId, limit: 1, offset: 0 })
    assert.ok(total >= acknowledged.length && total <= acknowledged.length + refused.length)
    const { available, held } = await bench.money(customer.accountId)
    assert.equal(available + held, 1_000_000n - BigInt(total) * ANSWER_MICRO)
    assert.ok(acknowledged.length >= ANSWERS / 2, `${acknowledged.length} answers were acknowledged.`)
    await bench.auditClean()
    await bench.ledger.stop()
    await bench.store.close()
  })
}
