import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { GenerationRow } from '../../src/ledger/generation-record.ts'
import type { LogFilter } from '../../src/ledger/log-filters.ts'
import type { Store } from '../../src/store/store.ts'
import { form } from '../harness/form.ts'
import { KEY_WRAP } from '../harness/key-wrap.ts'
import type { OpenedBelow } from './append-only.ts'
import { expected } from './log-contract.ts'
import { Bench, newId, NOON_MS, TestClock, type Customer } from './ledger-fixture.ts'

const MODELS = ['openai/gpt-4o', 'openai/gpt-4o-mini', 'rare/model'] as const
/** Some blocks of the first account are whole, and its last one is not. */
const ROWS = 400
const TOGETHER = 50
const RUNS = form({ short: 40, long: 400 })

const filterOf = ({ accountId }: Customer, keys: readonly string[]): fc.Arbitrary<LogFilter> =>
  fc
    .record(
      {
        model: fc.constantFrom(...MODELS, 'no/model'),
        keyId: fc.constantFrom(...keys),
        type: fc.constantFrom('chat', 'embeddings'),
        provider: fc.constantFrom('openai', 'azure'),
        fromMs: fc.integer({ min: NOON_MS, max: NOON_MS + ROWS * 1_000 }),
        toMs: fc.integer({ min: NOON_MS, max: NOON_MS + ROWS * 1_000 }),
      },
      { requiredKeys: [] },
    )
    .map((filter) => ({ ...filter, accountId }))

/** Random rows of two keys of an account, with some of another account among them. */
async function fill(bench: Bench, [first, second, other]: readonly [Customer, Customer, Customer], rows: number) {
  const random = fc.sample(fc.noBias(fc.nat(99)), rows)
  const settled = random.map((number) => ({
    number,
    id: newId('gen-'),
    customer: number < 10 ? other : number % 3 === 0 ? second : first,
  }))
  for (let from = 0; from < rows; from += TOGETHER) {
    const some = settled.slice(from, from + TOGETHER)
    await Promise.all(some.map(({ customer, id }) => bench.hold(customer, 10n, id)))
    for (const { number, customer, id } of some) {
      bench.clock.advance(1_000)
      await bench.ledger.settle({
        generationId: id,
        costMicro: 3n,
        providerCostMicro: 1n,
        insuredMicro: 0n,
        record: {
          ...bench.record(customer, id),
          model: MODELS[number === 50 ? 2 : number % 2] ?? '',
          type: number % 4 === 1 ? 'embeddings' : 'chat',
          providerSlug: number % 5 < 2 ? 'azure' : 'openai',
        },
      })
    }
  }
}

async function all(store: Store, accountId: string): Promise<readonly GenerationRow[]> {
  return (await store.generations.list({ accountId, limit: 1_000, offset: 0 })).data
}

/** Each page of the operator and of the customer is as if every row had been looked at. */
async function checkPages(store: Store, customers: readonly [Customer, Customer, Customer]): Promise<void> {
  const [first] = customers
  const rows = await all(store, first.accountId)
  const keys = customers.map(({ keyId }) => keyId)
  await fc.assert(
    fc.asyncProperty(
      filterOf(first, keys),
      fc.integer({ min: 1, max: 300 }),
      fc.nat(ROWS),
      async (filter, limit, offset) => {
        const found = expected(rows, { ...filter, limit, offset })
        const page = await store.generations.list({ ...filter, limit, offset })
        const ids = (some: readonly GenerationRow[]): readonly number[] => some.map(({ id }) => id)
        assert.deepEqual(ids(page.data), ids(found.slice(offset, offset + limit)))
        assert.equal(page.total, found.length)
        const own = { ...filter, accountId: first.accountId, beforeSeq: null, limit }
        const newest = await store.log.page(own)
        assert.deepEqual(ids(newest.data), ids(found.slice(0, limit)))
        assert.equal(newest.searchedToMs, null)
        if (newest.nextSeq === null) return assert.ok(found.length <= limit)
        const next = await store.log.page({ ...own, beforeSeq: newest.nextSeq })
        assert.deepEqual(ids(next.data), ids(found.slice(limit, 2 * limit)))
      },
    ),
    { numRuns: RUNS },
  )
}

/** The blocks of an account's log, in which the rows of a model or a key are found. */
export function logBlocksContract(open: () => Promise<OpenedBelow>): void {
  test('pages of a model or a key are those of a full scan: by blocks, in an older store before and after its rows are in blocks, and after rows were removed', async () => {
    const opened = await open()
    const clock = new TestClock(NOON_MS)
    let bench = new Bench(opened.store, clock)
    const first = await bench.customer(1_000_000n)
    const second = await bench.key(first.accountId)
    const customers = [first, second, await bench.customer(1_000_000n)] as const
    await fill(bench, customers, ROWS - TOGETHER)
    await checkPages(bench.store, customers)
    await bench.auditClean()
    await bench.ledger.stop()

    // As a store of an older program is after the migration: its rows are in no block.
    for (const statement of [
      'CREATE INDEX IF NOT EXISTS generation_model ON generation (account_id, model, seq)',
      'CREATE INDEX IF NOT EXISTS generation_key ON generation (account_id, key_id, seq)',
      'DELETE FROM log_block',
      'UPDATE log_block_fill SET done = 0, last = (SELECT MAX(id) FROM generation)',
    ])
      await opened.below(statement)
    bench = new Bench(await opened.openAgain(KEY_WRAP), clock)
    await fill(bench, customers, TOGETHER)
    await checkPages(bench.store, customers)
    await bench.auditClean()
    const { logUpkeep } = bench.store
    while (!(await logUpkeep.fillBlocks()));
    await checkPages(bench.store, customers)
    await bench.auditClean()

    assert.ok((await logUpkeep.removeSome(NOON_MS + 150_000)) > 100)
    await checkPages(bench.store, customers)
    await bench.auditClean()
    await bench.ledger.stop()

    await opened.below(`UPDATE log_block SET bits = 0 WHERE field = 'key' AND block = 3`)
    assert.deepEqual(
      (await bench.store.audit.run({ sinceMs: 0, nowMs: clock.now(), replay: async (row) => row }))
        .filter(({ violations }) => violations.length > 0)
        .map(({ id }) => id),
      ['I15'],
    )
    await bench.store.close()
  })
}
