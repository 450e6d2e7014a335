import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KeyWrap } from '../../src/ledger/key-wrap.ts'
import type { Store } from '../../src/store/store.ts'
import { Bench, NOON_MS, TestClock } from './ledger-fixture.ts'
import { twoEvents } from './planted-violations.ts'

export interface ColumnBelow {
  readonly table: string
  readonly column: string
  readonly type: 'whole' | 'text' | 'bytes'
  /** The table has rows. */
  readonly filled: boolean
  /** It has a value in one of them. */
  readonly valued: boolean
}

export interface OpenedBelow {
  readonly store: Store
  /** Closes the store, and opens it with another wrapping key. */
  openAgain(keyWrap: KeyWrap): Promise<Store>
  /** False once it was opened again. */
  isOpen(): boolean
  /** Runs SQL directly on the database, as an intruder or a careless operator would. */
  below(text: string): Promise<void>
  /** The columns of the database. */
  columns(): Promise<readonly ColumnBelow[]>
  /** The statements that remove triggers and foreign keys. */
  readonly dropTriggers: readonly string[]
}

/** Protection of the books against direct access to the database. */
export function appendOnlyContract(open: () => Promise<OpenedBelow>): void {
  const withBooks = async (body: (bench: Bench, opened: OpenedBelow) => Promise<void>): Promise<void> => {
    const opened = await open()
    const bench = new Bench(opened.store, new TestClock(NOON_MS))
    const customer = await bench.customer(1_000n)
    await bench.topUp(customer.accountId, 5n)
    await twoEvents(bench)
    await body(bench, opened)
    await opened.store.close()
  }
  const brokenChecks = async (bench: Bench): Promise<readonly string[]> => {
    const checks = await bench.store.audit.run({
      sinceMs: 0,
      nowMs: NOON_MS,
      replay: async (row) => ({
        costMicro: row.costMicro + row.shortfallMicro,
        providerCostMicro: row.providerCostMicro,
      }),
    })
    return checks.filter(({ violations }) => violations.length > 0).map(({ id }) => id)
  }

  test('the database itself refuses to change or delete an entry or an event', () =>
    withBooks(async (bench, { below }) => {
      for (const statement of [
        "UPDATE entry SET reason = 'x'",
        'DELETE FROM entry',
        "UPDATE event SET actor = 'x'",
        'DELETE FROM event',
      ]) {
        await assert.rejects(below(statement), /append-only/, statement)
      }
      await bench.auditClean()
    }))

  test('the database itself refuses a negative balance', () =>
    withBooks(async (bench, { below }) => {
      await assert.rejects(below('UPDATE account SET available = -1'))
      await assert.rejects(below('UPDATE account SET held = -1'))
      await bench.auditClean()
    }))

  for (const [what, statement] of [
    ['a removed event', 'DELETE FROM event WHERE id = (SELECT MIN(id) FROM event)'],
  ] as const) {
    test(`${what} is a violation of I16, triggers or not`, () =>
      withBooks(async (bench, { below, dropTriggers }) => {
        for (const drop of dropTriggers) await below(drop)
        await below(statement)
        assert.deepEqual(await brokenChecks(bench), ['I16'])
      }))
  }
}
