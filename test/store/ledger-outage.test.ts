import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ApiError } from '../../src/errors.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { LedgerStore } from '../../src/ledger/ledger-store.ts'
import { openStore } from '../../src/store/open.ts'
import { StoreUnavailableError } from '../../src/store/store-unavailable-error.ts'
import { Bench, newId } from './ledger-fixture.ts'

/** What goes wrong with the next commits: refused before anything happened, or committed with the answer lost. */
type Fault = 'before' | 'after'

class FaultyLedger implements LedgerStore {
  /** As in a database on the network, so that each operation is a commit that can fail. */
  readonly decidesHoldsInMemory = false
  readonly #store: LedgerStore
  readonly faults: Fault[] = []

  constructor(store: LedgerStore) {
    this.#store = store
  }

  async commit(...values: Parameters<LedgerStore['commit']>): Promise<void> {
    const fault = this.faults.shift()
    if (fault !== 'before') await this.#store.commit(...values)
    if (fault !== undefined) throw new StoreUnavailableError(`The store was cut off ${fault} the commit.`)
  }

  flush(): Promise<void> {
    return this.#store.flush()
  }

  renewLeases(...values: Parameters<LedgerStore['renewLeases']>): Promise<void> {
    return this.#store.renewLeases(...values)
  }

  openHolds(...values: Parameters<LedgerStore['openHolds']>): ReturnType<LedgerStore['openHolds']> {
    return this.#store.openHolds(...values)
  }
}

async function withFaults(body: (bench: Bench<typeof systemClock>, faults: Fault[]) => Promise<void>): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-outage-'))
  const store = await openStore({ dataDir, databaseUrl: null })
  const ledger = new FaultyLedger(store.ledger)
  const bench = new Bench({ ...store, ledger }, systemClock)
  try {
    await body(bench, ledger.faults)
    await bench.auditClean()
  } finally {
    await bench.ledger.stop()
    await store.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

const isUnavailable = (error: unknown): boolean => error instanceof ApiError && error.errorName === 'service_unavailable' && error.details.retryAfterSeconds === 1

for (const fault of ['before', 'after'] as const) {
  test(`a settle cut off ${fault} its commit is sent again and charged once`, () =>
    withFaults(async (bench, faults) => {
      const customer = await bench.customer(100n)
      const id = newId('gen-')
      await bench.hold(customer, 10n, id)
      faults.push(fault, fault, fault)
      const outcome = await bench.settle(customer, id, 7n)
      assert.equal(outcome.status, fault === 'before' ? 'settled' : 'replayed')
      assert.deepEqual(await bench.money(customer.accountId), { available: 93n, held: 0n })
    }))
}

test('a hold met by an outage is refused at once; what it may have left is given back by its lease', () =>
  withFaults(async (bench, faults) => {
    const customer = await bench.customer(100n)
    faults.push('before')
    await assert.rejects(bench.hold(customer, 10n), isUnavailable)
    assert.deepEqual(await bench.hold(customer, 10n), { status: 'held' })
    assert.deepEqual(await bench.money(customer.accountId), { available: 90n, held: 10n })
  }))

test('a settle that outlasts its two seconds is refused and its hold stays settleable', () =>
  withFaults(async (bench, faults) => {
    const customer = await bench.customer(100n)
    const id = newId('gen-')
    await bench.hold(customer, 10n, id)
    faults.push(...Array.from({ length: 200 }, (): Fault => 'before'))
    const settling = bench.settle(customer, id, 7n)
    const started = performance.now()
    await assert.rejects(settling, isUnavailable)
    assert.ok(performance.now() - started < 4_000)
    faults.length = 0
    assert.equal((await bench.settle(customer, id, 7n)).status, 'settled')
  }))

test('while a settle waits for the store, new holds do not wait with it', () =>
  withFaults(async (bench, faults) => {
    const customer = await bench.customer(100n)
    const id = newId('gen-')
    await bench.hold(customer, 10n, id)
    faults.push('before', 'before', 'before')
    const settling = bench.settle(customer, id, 7n)
    await new Promise((resolve) => setImmediate(resolve))
    const started = performance.now()
    await assert.rejects(bench.hold(customer, 1n), isUnavailable)
    assert.ok(performance.now() - started < 50)
    assert.equal((await settling).status, 'settled')
    assert.equal((await bench.hold(customer, 1n)).status, 'held')
  }))
