import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { LimitReset } from '../../src/ledger/ledger-store.ts'
import type { Store } from '../../src/store/store.ts'
import { Bench, newId, NOON_MS, TestClock, type Customer } from './ledger-fixture.ts'

type Step =
  | { readonly kind: 'hold'; readonly customer: number; readonly amount: bigint }
  | { readonly kind: 'settle'; readonly pick: number; readonly cost: bigint }
  | { readonly kind: 'void'; readonly pick: number; readonly insured: bigint }
  | { readonly kind: 'topup' | 'refund'; readonly customer: number; readonly amount: bigint }
  | { readonly kind: 'limit'; readonly customer: number; readonly amount: bigint | null; readonly reset: LimitReset | null }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'sweep' }

const amount = fc.bigInt(0n, 60n)
const customer = fc.nat(2)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('hold'), customer, amount }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('settle'), pick: fc.nat(30), cost: amount }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('void'), pick: fc.nat(30), insured: fc.bigInt(0n, 3n) }) },
  fc.record({ kind: fc.constantFrom('topup', 'refund'), customer, amount: fc.bigInt(1n, 80n) }),
  fc.record({ kind: fc.constant('limit'), customer, amount: fc.option(amount), reset: fc.constantFrom<(LimitReset | null)[]>(null, 'daily', 'weekly', 'monthly') }),
  fc.record({ kind: fc.constant('wait'), ms: fc.constantFrom(1_000, 30_000, 61_000, 13 * 3_600_000, 8 * 86_400_000) }),
  fc.constant<Step>({ kind: 'sweep' }),
)

/** Any sequence of operations, alone or many at once, leaves books that add up and follows a model of one line per rule. */
export function storeProperties(open: () => Promise<Store>, runs: number): void {
  test('random operations: the audit is clean and no account or key is overdrawn', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 12 }), async (rounds) => {
        const store = await open()
        try {
          await play(store, rounds)
        } finally {
          await store.close()
        }
      }),
      { numRuns: runs },
    )
  })
}

/** Money in and out as its outcomes told, which the store's own books must agree with. */
interface Books {
  readonly paidIn: bigint[]
  readonly charged: Map<string, bigint>
  readonly ownerOf: Map<string, number>
}

async function play(store: Store, rounds: readonly (readonly Step[])[]): Promise<void> {
  const bench = new Bench(store, new TestClock(NOON_MS))
  // Holds of this node die with it and are expired by the other.
  const doomed = new Bench(store, bench.clock, 'node-2')
  const customers = [await bench.customer(100n), await bench.customer(100n, { limitMicro: 70n }), await bench.customer(100n, { limitMicro: 40n, limitReset: 'daily' })]
  const books: Books = { paidIn: [100n, 100n, 100n], charged: new Map(), ownerOf: new Map() }
  const started: string[] = []
  for (const round of rounds) {
    // Steps of a round run at once and share group commits.
    await Promise.all(round.map((one, index) => take(one, index % 2 === 0 ? bench : doomed, customers, started, books)))
    // What is over its lease is swept before an audit would call it overdue.
    await bench.ledger.sweep()
    await doomed.ledger.sweep()
    await bench.auditClean()
  }
  for (const [index, { accountId }] of customers.entries()) {
    const charged = [...books.charged].filter(([id]) => books.ownerOf.get(id) === index).reduce((sum, [, cost]) => sum + cost, 0n)
    const { available, held } = await bench.money(accountId)
    assert.equal(available + held, (books.paidIn[index] ?? 0n) - charged)
  }
  await bench.ledger.stop()
  await doomed.ledger.stop()
}

async function take(one: Step, bench: Bench, customers: readonly Customer[], started: string[], books: Books): Promise<void> {
  const at = <T>(list: readonly T[], index: number): T | undefined => (list.length === 0 ? undefined : list[index % list.length])
  switch (one.kind) {
    case 'hold': {
      const owner = customers[one.customer]
      if (owner === undefined) return
      const id = newId('gen-')
      books.ownerOf.set(id, one.customer)
      started.push(id)
      await bench.hold(owner, one.amount, id)
      return
    }
    case 'settle':
    case 'void': {
      const id = at(started, one.pick)
      const owner = id === undefined ? undefined : customers[books.ownerOf.get(id) ?? 0]
      if (id === undefined || owner === undefined) return
      if (one.kind === 'void') {
        await bench.void(owner, id, one.insured)
        return
      }
      const outcome = await bench.settle(owner, id, one.cost)
      if (outcome.status === 'not_open') return
      assert.equal(books.charged.get(id) ?? outcome.chargedMicro, outcome.chargedMicro, 'A replayed settle answers the first charge.')
      books.charged.set(id, outcome.chargedMicro)
      return
    }
    case 'topup':
    case 'refund': {
      const owner = customers[one.customer]
      if (owner === undefined) return
      const outcome = await bench.store.entries.post({
        accountId: owner.accountId, kind: one.kind, amountMicro: one.amount, reason: 'property', reference: newId('ref-'), actor: 'test', atMs: bench.clock.now(),
      })
      if (outcome.status === 'created') books.paidIn[one.customer] = (books.paidIn[one.customer] ?? 0n) + (one.kind === 'topup' ? one.amount : -one.amount)
      return
    }
    case 'limit': {
      const owner = customers[one.customer]
      if (owner !== undefined) await bench.store.keys.update(owner.keyId, { limitMicro: one.amount, limitReset: one.reset }, bench.ledger.periods(bench.clock.now()))
      return
    }
    case 'wait':
      bench.clock.advance(one.ms)
      return
    case 'sweep':
      await bench.ledger.sweep()
  }
}
