import assert from 'node:assert/strict'
import { digestOf } from '../../src/access/api-key.ts'
import { type BenchTest, newId, NOON_MS } from './ledger-fixture.ts'

const RUB = 1_000_000n

export function keyListTests(records: BenchTest): void {
  records('what pages, sums and ends say of many keys is what each key says', async (bench) => {
    const { keys } = bench.store
    const first = await bench.customer(100n * RUB)
    const { accountId } = first
    const periods = bench.ledger.periods(NOON_MS)
    const make = (index: number, most?: number): Promise<unknown> =>
      keys.create(
        {
          id: `key_${index}`,
          accountId,
          name: index % 2 === 0 ? `Ключ ${index}` : `50%_${index}`,
          digest: digestOf(`sk-${index}`),
          label: `sk-tg-${index}`,
          limitMicro: index % 3 === 0 ? 10n * RUB : null,
          limitReset: index % 6 === 0 ? 'monthly' : null,
          expiresAtMs: index % 5 === 0 ? NOON_MS + index : null,
          allowedModels: null,
          createdAtMs: NOON_MS + index,
          disabled: index % 7 === 0,
        },
        most,
      )
    for (let index = 1; index <= 20; index += 1) await make(index)
    for (const [index, micro] of [
      [3, 8n],
      [6, 7n],
      [12, 9n],
      [1, 2n],
    ] as const) {
      const customer = { ...first, keyId: `key_${index}` }
      const id = newId('gen-')
      await bench.hold(customer, micro * RUB, id)
      await bench.settle(customer, id, micro * RUB)
    }
    const filter = { accountId }
    const all = (await keys.lists.page(filter, periods, { limit: 100, offset: 0 })).data
    assert.deepEqual(
      all.map(({ key }) => key.id),
      [...Array.from({ length: 20 }, (_, index) => `key_${20 - index}`), first.keyId],
    )
    const single = await Promise.all(all.map(({ key }) => keys.get(key.id, periods)))
    assert.deepEqual(all, single)
    const pages = await Promise.all([0, 7, 14].map((offset) => keys.lists.page(filter, periods, { limit: 7, offset })))
    assert.deepEqual([pages.flatMap(({ data }) => data), pages[0]?.total], [all, 21])
    const ids = async (more: object): Promise<readonly string[]> =>
      (await keys.lists.page({ ...filter, ...more }, periods, { limit: 100, offset: 0 })).data.map(({ key }) => key.id)
    assert.deepEqual(await ids({ disabled: true }), ['key_14', 'key_7'])
    assert.deepEqual(await ids({ search: '50%_1' }), ['key_19', 'key_17', 'key_15', 'key_13', 'key_11', 'key_1'])
    assert.deepEqual(await ids({ search: 'Ключ 4' }), ['key_4'])
    assert.deepEqual(await ids({ search: 'SK-TG-20' }), ['key_20'])
    assert.deepEqual(await ids({ madeBy: 'usr_nobody' }), [])
    assert.deepEqual(await keys.lists.sums(filter, periods), { keys: 21, hasUsed: false, spentMicro: 26n * RUB })
    assert.deepEqual([...(await keys.lists.byMaker(accountId, periods))], [[null, { keys: 21, spentMicro: 26n * RUB }]])
    const near = await keys.lists.nearEnd(filter, periods, { beforeMs: NOON_MS + 15, most: 10 })
    assert.deepEqual(
      near.map(({ key }) => key.id),
      ['key_12', 'key_10', 'key_5', 'key_3'],
    )
    // Made at once, they are no more than an account may have.
    const made = await Promise.allSettled([31, 32, 33, 34, 35].map((index) => make(index, 23)))
    assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 2)
    assert.equal((await keys.lists.sums(filter, periods)).keys, 23)
  })
}
