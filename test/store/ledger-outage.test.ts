import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { ApiError } from '../../src/base/errors.ts'
import { systemClock } from '../../src/base/clock.ts'
import { type LedgerStore, StoreUnavailableError } from '../../src/ledger/ledger-store.ts'
import { EndJournal } from '../../src/ledger/end-journal.ts'
import type { Journal } from '../../src/ledger/end-journal.ts'
import { openJournal } from '../../src/store/sqlite/journal-file.ts'
import { KEY_WRAP } from '../harness/key-wrap.ts'
import { openStore } from '../../src/store/open.ts'
import { guardedVoid, voidAgain } from './guard-contract.ts'
import { Bench, newId } from './ledger-fixture.ts'
import { patient, until } from '../harness/patience.ts'
import { freshFolder } from '../harness/lasting.ts'

/** The operator's messages in an outage, and no others. */
const TOLD = [
  'The store was cut off before the commit. Paid requests are refused until it takes a write again',
  'The store takes charges again',
]

/** The fault of the next commits: refused before it takes effect, or committed with the answer lost. */
type Fault = 'before' | 'after'

class FaultyLedger implements LedgerStore {
  /** As with a database on the network, each operation is a commit that can fail. */
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
  const dataDir = freshFolder()
  const store = await openStore({ dataDir, databaseUrl: null, keyWrap: KEY_WRAP })
  const ledger = new FaultyLedger(store.ledger)
  const bench = new Bench({ ...store, ledger }, systemClock)
  try {
    await body(bench, ledger.faults)
    await bench.auditClean()
  } finally {
    await bench.ledger.stop()
    await store.close()
  }
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof ApiError && error.errorName === 'service_unavailable' && error.details.retryAfterSeconds === 1

for (const fault of ['before', 'after'] as const) {
  test(`F3: a settle cut off ${fault} its commit is sent again and charged once`, () =>
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
    assert.ok(performance.now() - started < patient(4_000))
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
    assert.ok(performance.now() - started < patient(50))
    assert.equal((await settling).status, 'settled')
    assert.equal((await bench.hold(customer, 1n)).status, 'held')
  }))

/** The same with a journal in its own directory; `restart` is the process that starts after a kill. */
async function withJournal(
  body: (
    bench: Bench<typeof systemClock>,
    faults: Fault[],
    world: {
      readonly journal: Journal
      readonly notices: string[]
      readonly restart: () => Promise<Bench<typeof systemClock>>
    },
  ) => Promise<void>,
): Promise<void> {
  const dataDir = freshFolder()
  const store = await openStore({ dataDir, databaseUrl: null, keyWrap: KEY_WRAP })
  const ledger = new FaultyLedger(store.ledger)
  const notices: string[] = []
  const notice = (message: string): number => notices.push(message)
  const journals = [await openJournal(join(dataDir, 'journal'))]
  const [journal] = journals
  assert.ok(journal)
  const bench = new Bench({ ...store, ledger }, systemClock, 'node-1', { journal: new EndJournal(journal), notice })
  const restart = async (): Promise<Bench<typeof systemClock>> => {
    await journals.at(-1)?.close()
    const next = await openJournal(join(dataDir, 'journal'))
    journals.push(next)
    const again = new Bench({ ...store, kind: 'postgres', ledger }, systemClock, 'node-2', {
      journal: new EndJournal(next),
      notice,
    })
    await again.ledger.start()
    return again
  }
  try {
    await body(bench, ledger.faults, { journal, notices, restart })
    await bench.auditClean()
  } finally {
    ledger.faults.length = 0
    await bench.ledger.stop()
    await journals.at(-1)?.close()
    await store.close()
  }
}

const down = (faults: Fault[]): void => void faults.push(...Array.from({ length: 500 }, (): Fault => 'before'))

test('with a journal, a settle that outlasts two seconds is answered, and in the store once it is back; a void too', () =>
  withJournal(async (bench, faults, { journal, notices }) => {
    const customer = await bench.customer(100n)
    const [charged, free] = [newId('gen-'), newId('gen-')]
    await bench.hold(customer, 10n, charged)
    await bench.hold(customer, 20n, free)
    down(faults)
    const started = performance.now()
    assert.deepEqual(await Promise.all([bench.settle(customer, charged, 7n), bench.void(customer, free)]), [
      { status: 'journaled', chargedMicro: 7n, shortfallMicro: 0n },
      { status: 'journaled' },
    ])
    const tookMs = performance.now() - started
    assert.ok(tookMs > 1_900 && tookMs < patient(3_000), `${tookMs} ms`)
    assert.equal(journal.open, 2)
    await assert.rejects(bench.hold(customer, 1n), isUnavailable)
    assert.deepEqual(await bench.money(customer.accountId), { available: 70n, held: 30n })
    faults.length = 0
    await until(10_000, 'the journal is brought', () => journal.open === 0)
    assert.deepEqual(await bench.money(customer.accountId), { available: 93n, held: 0n })
    assert.deepEqual(await bench.spend(customer).then(({ total }) => total), 7n)
    assert.deepEqual(notices, TOLD)
  }))

test('F3: killed during the outage: the next process charges what the journal holds, once, also when the store had it after all', () =>
  withJournal(async (bench, faults, { restart }) => {
    const customer = await bench.customer(100n)
    const ids = [newId('gen-'), newId('gen-'), newId('gen-')] as const
    for (const id of ids) await bench.hold(customer, 10n, id)
    // The first commit reaches the store, its answer does not.
    faults.push('after')
    down(faults)
    const outcomes = await Promise.all(ids.map((id) => bench.settle(customer, id, 7n)))
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['journaled', 'journaled', 'journaled'],
    )
    await bench.ledger.stop()
    faults.length = 0
    const again = await restart()
    await again.ledger.stop()
    assert.deepEqual(await bench.money(customer.accountId), { available: 79n, held: 0n })
    const third = await restart()
    await third.ledger.stop()
    assert.deepEqual(await bench.money(customer.accountId), { available: 79n, held: 0n })
  }))

test('the hold of a journaled answer that expired meanwhile is charged late, once', () =>
  withJournal(async (bench, faults, { restart }) => {
    const customer = await bench.customer(100n)
    const id = newId('gen-')
    await bench.hold(customer, 10n, id)
    down(faults)
    assert.equal((await bench.settle(customer, id, 7n)).status, 'journaled')
    await bench.ledger.stop()
    faults.length = 0
    const other = new Bench(bench.store, systemClock, 'node-3')
    await other.store.ledger.renewLeases([id], 1)
    await other.ledger.sweep()
    assert.deepEqual(await bench.money(customer.accountId), { available: 100n, held: 0n })
    const again = await restart()
    await again.ledger.stop()
    assert.deepEqual(await bench.money(customer.accountId), { available: 93n, held: 0n })
  }))

test('a journal that cannot be written leaves it as without one: the answer is refused, its hold stays settleable', () =>
  withJournal(async (bench, faults, { journal, notices }) => {
    const customer = await bench.customer(100n)
    const id = newId('gen-')
    await bench.hold(customer, 10n, id)
    for (const large of Array.from({ length: 64 }, () => Buffer.alloc(1_048_536))) await journal.append([large])
    down(faults)
    await assert.rejects(bench.settle(customer, id, 7n), isUnavailable)
    assert.match(notices.join(), /journal cannot be written: The journal is full/)
    faults.length = 0
    assert.equal((await bench.settle(customer, id, 7n)).status, 'settled')
  }))

test('a settle that the store takes while it is written to the journal is charged once, and the journal has nothing to bring', () =>
  withJournal(async (bench, faults, { journal, notices }) => {
    const customer = await bench.customer(100n)
    const id = newId('gen-')
    await bench.hold(customer, 10n, id)
    const append = journal.append.bind(journal)
    const disk = Promise.withResolvers<void>()
    let written: Promise<unknown> = Promise.resolve()
    journal.append = (payloads) => {
      // The store returns at this moment, and is faster than the disk.
      faults.length = 0
      const slow = disk.promise.then(() => append(payloads))
      written = slow
      return slow
    }
    down(faults)
    assert.deepEqual(await bench.settle(customer, id, 7n), { status: 'settled', chargedMicro: 7n, shortfallMicro: 0n })
    disk.resolve()
    await written
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(new EndJournal(journal).open, 0)
    assert.deepEqual(await bench.money(customer.accountId), { available: 93n, held: 0n })
    assert.deepEqual(notices, TOLD)
  }))

test('what the journal has told to be free is not charged when the store takes it, however much was free before', () =>
  withJournal(async (bench, _faults, { journal }) => {
    const rich = 100_000_000n
    const customer = await bench.customer(rich)
    await guardedVoid(bench, customer, 21_000_000n)
    const [first, free] = [newId('gen-'), newId('gen-')]
    for (const id of [first, free]) await bench.hold(customer, 10n, id)
    const { ledger } = bench.store
    const commit = ledger.commit.bind(ledger)
    const stuck = Promise.withResolvers<void>()
    ledger.commit = async (...values) => {
      await stuck.promise
      await commit(...values)
    }
    const settling = bench.settle(customer, first, 7n)
    // The write of the settle is stuck, so the store has not heard of this end when it goes to the journal.
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(await voidAgain(bench, customer, free, 3n), { status: 'journaled' })
    await settling
    stuck.resolve()
    await until(10_000, 'the journal is brought', () => journal.open === 0)
    assert.deepEqual(await bench.money(customer.accountId), { available: rich - 7n, held: 0n })
    assert.equal((await guardedVoid(bench, customer, 3n)).status, 'charged')
  }))

test('a hold that a stuck store takes after its asker was refused is given back', () =>
  withJournal(async (bench) => {
    const customer = await bench.customer(100n)
    const { ledger } = bench.store
    const commit = ledger.commit.bind(ledger)
    const stuck = Promise.withResolvers<void>()
    ledger.commit = async (...values) => {
      await stuck.promise
      await commit(...values)
    }
    const started = performance.now()
    await assert.rejects(bench.hold(customer, 10n), isUnavailable)
    assert.ok(performance.now() - started < patient(1_000))
    await assert.rejects(bench.hold(customer, 10n), isUnavailable)
    assert.ok(performance.now() - started < patient(1_100), 'the next one does not wait')
    stuck.resolve()
    await bench.ledger.stop()
    assert.deepEqual(await bench.money(customer.accountId), { available: 100n, held: 0n })
    assert.equal((await bench.store.generations.list({ accountId: customer.accountId, limit: 1, offset: 0 })).total, 0)
  }))
