import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'
import { openStore } from '../../src/store/open.ts'
import { KEY_WRAP } from '../harness/key-wrap.ts'
import { Bench, NOON_MS, TestClock, type Customer } from './ledger-fixture.ts'
import { freshFolder } from '../harness/lasting.ts'

const SPACING_MS = 5
const TURNS = 50

interface Paced {
  readonly bench: Bench
  readonly customer: Customer
}

/** A ledger on the embedded store whose clock stands still, so that work that waits for the clock never runs. */
async function paced(context: TestContext): Promise<Paced> {
  const dataDir = freshFolder()
  const store = await openStore({ dataDir, databaseUrl: null, keyWrap: KEY_WRAP })
  context.after(async () => {
    await store.close()
  })
  const bench = new Bench(store, new TestClock(NOON_MS), 'node-1', { commitSpacingMs: SPACING_MS })
  return { bench, customer: await bench.customer(1_000_000n) }
}

async function held({ bench, customer }: Paced, ids: readonly string[]): Promise<void> {
  for (const id of ids) assert.equal((await bench.hold(customer, 10n, id)).status, 'held')
}

test('a lone request waits for no commit but its own', async (context) => {
  const one = await paced(context)
  for (const id of ['gen-1', 'gen-2', 'gen-3']) {
    await held(one, [id])
    assert.equal((await one.bench.settle(one.customer, id, 1n)).status, 'settled')
  }
})

test('where many requests run, ends that come close together share a commit', async (context) => {
  const many = await paced(context)
  const ids = Array.from({ length: 20 }, (_, index) => `gen-${index}`)
  await held(many, ids)
  const [first = '', second = ''] = ids
  await many.bench.settle(many.customer, first, 1n)
  let over = false
  const settled = many.bench.settle(many.customer, second, 1n).then(() => (over = true))
  for (let turn = 0; turn < TURNS; turn += 1) await nextTurn()
  assert.equal(over, false)
  many.bench.clock.advance(SPACING_MS)
  await settled
})
