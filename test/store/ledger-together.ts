import assert from 'node:assert/strict'
import fc from 'fast-check'
import { ApiError } from '../../src/base/errors.ts'
import type { Bench, Customer } from './ledger-fixture.ts'
import type { LedgerModel, Operation } from './ledger-model.ts'

/** A store with several nodes, all with the same clock, which stands still between commands. */
export interface Nodes {
  readonly benches: readonly Bench[]
  readonly customers: readonly Customer[]
  /** Running holds of each node, by index. */
  readonly running: readonly Set<string>[]
}

export interface Task {
  readonly operation: Operation | null
  /** Counts through the nodes. */
  readonly at: number
}

/** Runs concurrent operations, and finds an order in which the model gives the same answers and the same books. */
export async function run(model: LedgerModel, nodes: Nodes, tasks: readonly Task[]): Promise<void> {
  const wanted = tasks.flatMap(({ operation, at }) =>
    operation === null ? [] : [{ operation, index: at % nodes.benches.length }],
  )
  const answers = await Promise.all(wanted.map(({ operation, index }) => perform(operation, nodes, index, model)))
  const seen = wanted.map(({ operation }, position) => ({ operation, answer: answers[position] }))
  const books = await booksOf(nodes, [...new Set(seen.flatMap(({ operation }) => touched(operation, model)))])
  const order = explained(model, seen, books)
  assert.ok(
    order !== null,
    `No order of the operations explains what came of them: ${fc.stringify(seen)}, books ${fc.stringify(books)}`,
  )
  for (const operation of order) model.apply(operation)
}

interface Seen {
  readonly operation: Operation
  readonly answer: unknown
}
type Books = readonly { readonly customer: number; readonly available: bigint; readonly held: bigint }[]

function explained(model: LedgerModel, left: readonly Seen[], books: Books): readonly Operation[] | null {
  if (left.length === 0)
    return books.every(
      ({ customer: whose, available, held }) => model.available[whose] === available && model.held(whose) === held,
    )
      ? []
      : null
  for (const [index, { operation, answer }] of left.entries()) {
    const next = model.clone()
    if (!matches(next.apply(operation), answer)) continue
    const rest = explained(next, left.toSpliced(index, 1), books)
    if (rest !== null) return [operation, ...rest]
  }
  return null
}

function matches(expected: object, answer: unknown): boolean {
  try {
    assert.deepEqual(answer, expected)
    return true
  } catch {
    return false
  }
}

async function perform(operation: Operation, nodes: Nodes, index: number, model: LedgerModel): Promise<unknown> {
  const bench = nodes.benches[index]
  const running = nodes.running[index]
  assert.ok(bench !== undefined && running !== undefined)
  const owner = (whose: number): Customer => {
    const found = nodes.customers[whose]
    assert.ok(found)
    return found
  }
  const { ledger, store, clock } = bench
  switch (operation.op) {
    case 'hold': {
      const { accountId, keyId } = owner(operation.customer)
      try {
        const outcome = await ledger.hold({
          generationId: operation.id,
          accountId,
          keyId,
          amountMicro: operation.amount,
          priceVersion: model.priceVersion,
          subject: { type: 'chat', model: 'openai/gpt-4o', requestId: operation.id, streamed: false },
        })
        if (outcome.status === 'held') running.add(operation.id)
        return outcome
      } catch (thrown) {
        assert.ok(thrown instanceof ApiError && thrown.errorName === 'service_unavailable', String(thrown))
        return { status: 'refused_by_store' }
      }
    }
    case 'settle': {
      running.delete(operation.id)
      const record = {
        ...bench.record(owner(model.holds.get(operation.id)?.customer ?? 0), operation.id),
        usage: { output: operation.units },
        priceVersion: model.holds.get(operation.id)?.priceVersion ?? 0,
      }
      return ledger.settle({
        generationId: operation.id,
        costMicro: model.cost(operation.id, operation.units),
        providerCostMicro: 1n,
        insuredMicro: 0n,
        record,
      })
    }
    case 'void':
      running.delete(operation.id)
      return ledger.void({
        generationId: operation.id,
        insuredMicro: operation.insured,
        record: {
          ...bench.record(owner(model.holds.get(operation.id)?.customer ?? 0), operation.id),
          status: 'error',
          billingBasis: 'free',
          priceVersion: model.holds.get(operation.id)?.priceVersion ?? 0,
        },
      })
    case 'pay': {
      const { customer: whose, kind, amount: amountMicro, reference } = operation.payment
      const { status } = await store.entries.post({
        accountId: owner(whose).accountId,
        kind,
        amountMicro,
        reason: 'model',
        reference,
        actor: 'test',
        atMs: clock.now(),
      })
      return { status }
    }
    case 'limit': {
      const { accountId, keyId } = owner(operation.customer)
      const patch = { limitMicro: operation.limit, limitReset: operation.reset }
      const periods = ledger.periods(clock.now())
      if (operation.ofAccount === true) await store.accounts.update(accountId, patch, periods)
      else await store.keys.update(keyId, patch, periods)
      return { status: 'done' }
    }
    case 'expire':
      throw new Error('Leases end by a sweep.')
  }
}

function touched(operation: Operation, model: LedgerModel): readonly number[] {
  if (operation.op === 'pay') return [operation.payment.customer]
  if (operation.op === 'hold' || operation.op === 'limit') return [operation.customer]
  const hold = model.holds.get(operation.id)
  return hold === undefined ? [] : [hold.customer]
}

export async function booksOf({ benches, customers }: Nodes, whose: readonly number[]): Promise<Books> {
  const [bench] = benches
  assert.ok(bench)
  return Promise.all(
    whose.map(async (index) => ({ customer: index, ...(await bench.money(customers[index]?.accountId ?? '')) })),
  )
}
