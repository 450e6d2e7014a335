import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LedgerEntry, LedgerFilter } from '../../src/store/ledger/entry-store.ts'
import type { Page } from '../../src/store/page.ts'
import type { Store } from '../../src/store/store.ts'
import { ledgerStatements } from '../harness/full-log.ts'
import { KEY_WRAP } from '../harness/key-wrap.ts'
import type { OpenedBelow } from './append-only.ts'
import { Bench, newId, NOON_MS, TestClock, type Customer } from './ledger-fixture.ts'

/** Entries of the long ledger before it is read: more than one step of its marks makes, and not whole marks. */
const ROWS = 20_000
const SHORT_ROWS = 3_000
const PAGE = 50
const TURNS = 15
/** Milliseconds after the first entry: within a mark, over several, after the newest, none, and the wrong way round. */
const TIMES = [
  [0, 1],
  [0, 300],
  [255, 258],
  [5_000, 5_700],
  [ROWS - 60, ROWS + 500],
  [ROWS + 1, ROWS + 2],
  [900, 300],
] as const
/** Reading every entry above a page would cost a hundred times as much. */
const GROWTH_MAX = 6

async function checkPage(store: Store, id: string, offset: number, total: number): Promise<readonly LedgerEntry[]> {
  const page = await store.entries.list(id, { limit: PAGE, offset })
  assert.equal(page.total, total)
  assert.equal(page.data.length, Math.max(0, Math.min(PAGE, total - offset)))
  for (const [index, { balanceMicro, amountMicro }] of page.data.entries()) {
    const older = page.data[index + 1]
    if (older !== undefined) assert.equal(older.balanceMicro, (balanceMicro ?? 0n) - amountMicro)
  }
  return page.data
}

/** Every page of a ledger, in whatever order they are asked for. */
async function checkLedger(store: Store, { accountId }: Customer, total: number): Promise<void> {
  const account = await store.accounts.get(accountId)
  assert.ok(account !== null)
  const [newest] = await checkPage(store, accountId, 0, total)
  assert.equal(newest?.balanceMicro, account.availableMicro + account.heldMicro)
  const oldest = (await checkPage(store, accountId, total - PAGE, total)).at(-1)
  assert.equal(oldest?.balanceMicro, oldest?.amountMicro)
  for (const offset of [1, 255, 256, 257, 1_023, 1_025, 8_191, 8_192, 10_001, total - 3, total, total + 9]) {
    const here = await checkPage(store, accountId, offset, total)
    const next = await checkPage(store, accountId, offset + 1, total)
    assert.deepEqual(next.slice(0, PAGE - 1), here.slice(1))
  }
}

/**
 * Charge number n is of n micro-rubles, n ms after the top-up: those of a time are found at any depth, with their
 * balances.
 */
async function checkTimes({ entries }: Store, { accountId }: Customer, rows: number): Promise<void> {
  const whole = await entries.list(accountId, { limit: 1, offset: rows })
  const paidIn = whole.data[0]?.amountMicro ?? 0n
  for (const [from, to] of TIMES)
    for (const kind of [undefined, 'charge', 'money'] as const) {
      const filter = { fromMs: NOON_MS + from, toMs: NOON_MS + to, ...(kind === undefined ? {} : { kind }) }
      const wanted = Array.from({ length: Math.max(0, Math.min(to, rows + 1) - from) }, (_, index) =>
        BigInt(from + index),
      )
        .filter((n) => kind === undefined || (kind === 'money') === (n === 0n))
        .toReversed()
      const seen: LedgerEntry[] = []
      for (let cursor: string | null = null; ;) {
        const page: Page<LedgerEntry> = await entries.list(accountId, { limit: PAGE, offset: 0, cursor }, filter)
        assert.equal(page.total, wanted.length, `${from} to ${to}, ${kind}`)
        seen.push(...page.data)
        if (page.next === undefined) break
        cursor = page.next
      }
      const lines = (of: readonly LedgerEntry[]): unknown => of.map((entry) => [entry.amountMicro, entry.balanceMicro])
      const ends = wanted.map((n) => [n === 0n ? paidIn : -n, paidIn - (n * (n + 1n)) / 2n])
      assert.deepEqual(lines(seen), ends)
      assert.deepEqual(lines((await entries.list(accountId, { limit: 2, offset: 1 }, filter)).data), ends.slice(1, 3))
    }
}

/** The median of the times that reading a page takes. */
async function pageMs(store: Store, accountId: string, offset: number, filter: LedgerFilter = {}): Promise<number> {
  const took: number[] = []
  for (let turn = 0; turn < TURNS; turn += 1) {
    const startMs = performance.now()
    await store.entries.list(accountId, { limit: PAGE, offset: offset + turn }, filter)
    took.push(performance.now() - startMs)
  }
  return took.toSorted((one, other) => one - other)[Math.floor(TURNS / 2)] ?? 0
}

/** Ledgers that are long. */
export function ledgerDepthContract(open: () => Promise<OpenedBelow>): void {
  test('the page at the end of a long ledger costs what the first costs, and every line has its balance, before and after its marks are made', async () => {
    const opened = await open()
    const clock = new TestClock(NOON_MS)
    let bench = new Bench(opened.store, clock)
    const long = await bench.customer(0n)
    const other = await bench.customer(0n)
    await bench.ledger.stop()
    for (const { accountId } of [long, other])
      for (const statement of ledgerStatements(accountId, accountId === long.accountId ? ROWS : SHORT_ROWS, NOON_MS))
        await opened.below(statement)
    // What the operator has lost is in no account's ledger.
    await opened.below(
      `INSERT INTO entry (debit, credit, amount, kind, ref, account_id, created_at, hash) SELECT 'insured', 'world', 5, 'insured', ref, account_id, created_at, '' FROM entry WHERE kind = 'charge' AND amount % 7 = 0`,
    )
    bench = new Bench(await opened.openAgain(KEY_WRAP), clock)
    const { store } = bench

    // The first reader makes marks, for as many entries as it must.
    await checkLedger(store, long, ROWS + 1)
    const [first, last] = [
      await pageMs(store, long.accountId, 0),
      await pageMs(store, long.accountId, ROWS - PAGE - TURNS),
    ]
    assert.ok(last < first * GROWTH_MAX, `the first page ${first.toFixed(2)} ms, the last ${last.toFixed(2)} ms`)
    await checkTimes(store, long, ROWS)
    const middle = await pageMs(store, long.accountId, 0, { fromMs: NOON_MS + 9_000, toMs: NOON_MS + 9_500 })
    assert.ok(
      middle < first * GROWTH_MAX,
      `the first page ${first.toFixed(2)} ms, one of a time ${middle.toFixed(2)} ms`,
    )
    // The rest is made in the background, in ledgers that nobody reads too.
    const order: string[] = []
    for (let after: string | null = ''; after !== null; after = await store.entries.fillMarks(after)) order.push(after)
    assert.deepEqual(order, order.toSorted())
    await checkLedger(store, long, ROWS + 1)
    await checkLedger(store, other, SHORT_ROWS + 1)

    // Entries that come later are counted, and those of requests have no marks yet.
    for (let turn = 0; turn < 3; turn += 1) {
      const id = newId('gen-')
      await bench.hold(long, 10n, id)
      await bench.settle(long, id, 7n)
      await bench.topUp(long.accountId, 5n)
    }
    await checkLedger(store, long, ROWS + 7)
    await bench.ledger.stop()

    const broken = async (): Promise<readonly string[]> =>
      (await store.audit.run({ sinceMs: 0, nowMs: clock.now(), replay: async (row) => row }))
        .filter(({ id }) => id === 'I2')
        .flatMap(({ violations }) => violations)
    assert.deepEqual(await broken(), [])
    await opened.below(
      `UPDATE entry_mark SET balance = balance + 1 WHERE account_id = '${long.accountId}' AND nth = 20`,
    )
    assert.deepEqual(
      (await broken()).toSorted(),
      [20, 21].map((nth) => `ledger of ${long.accountId}: mark ${nth} is not what its entries add up to`),
    )
    await store.close()
  })
}
