import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StatementSheet } from '../../src/store/ledger/statement-store.ts'
import type { OpenedBelow } from './append-only.ts'
import { Bench, newId, TestClock, type Customer } from './ledger-fixture.ts'
import { brokenChecks } from './planted-violations.ts'

const DAY_MS = 86_400_000
const SEPTEMBER_MS = Date.UTC(2026, 8, 10, 12)
const OCTOBER_END_MS = Date.UTC(2026, 9, 31, 23, 30)
const CREDITS = 10_501

/** The statement of a past month does not change. */
export function statementsContract(open: () => Promise<OpenedBelow>): void {
  const withAccount = async (
    body: (parts: {
      readonly bench: Bench
      readonly customer: Customer
      readonly opened: OpenedBelow
      readonly read: (from: string, to: string, timezone?: string) => Promise<StatementSheet>
    }) => Promise<void>,
  ): Promise<void> => {
    const opened = await open()
    const bench = new Bench(opened.store, new TestClock(SEPTEMBER_MS))
    const customer = await bench.customer(1_000n)
    const read = async (from: string, to: string, timezone = 'UTC'): Promise<StatementSheet> => {
      const sheet = await opened.store.statements.read({
        accountId: customer.accountId,
        from,
        to,
        timezone,
        nowMs: bench.clock.now(),
      })
      assert.ok(sheet !== 'too_long')
      assert.equal(
        sheet.openingMicro + sheet.lines.reduce((sum, { amountMicro }) => sum + amountMicro, 0n),
        sheet.closingMicro,
      )
      return sheet
    }
    await body({ bench, customer, opened, read })
    assert.deepEqual(await brokenChecks(bench), [])
    await bench.ledger.stop()
    await opened.store.close()
  }
  const spend = async (bench: Bench, customer: Customer): Promise<void> => {
    const id = newId('gen-')
    await bench.hold(customer, 30n, id)
    await bench.settle(customer, id, 20n)
  }
  const ends = ({ openingMicro, closingMicro }: StatementSheet): readonly bigint[] => [openingMicro, closingMicro]

  test('charges by day and adjustments are the same in pages of one as in one page, and add up', () =>
    withAccount(async ({ bench, customer, opened: { store } }) => {
      for (let count = 0; count < 3; count += 1) {
        await spend(bench, customer)
        bench.clock.advance(DAY_MS)
      }
      for (const [reference, amountMicro] of [
        ['a', 5n],
        ['b', -3n],
      ] as const)
        await store.entries.post({
          accountId: customer.accountId,
          kind: 'adjustment',
          amountMicro,
          reason: 'r',
          reference,
          actor: 'token',
          atMs: bench.clock.now(),
        })
      for (const accountId of [null, customer.accountId]) {
        const query = { accountId, from: '2026-09-01', to: '2026-09-30' }
        const days = await store.charges.days({ ...query, after: null, limit: 100 })
        const times = { accountId, fromMs: SEPTEMBER_MS, toMs: OCTOBER_END_MS }
        const adjusted = await store.charges.adjustments({ ...times, after: null, limit: 100 })
        assert.deepEqual(
          days.map(({ day, chargedMicro }) => [day, chargedMicro]),
          [
            ['2026-09-10', 20n],
            ['2026-09-11', 20n],
            ['2026-09-12', 20n],
          ],
        )
        assert.deepEqual(
          adjusted.map(({ amountMicro }) => amountMicro),
          [5n, -3n],
        )
        const one = { limit: 1 }
        for (const [index, after] of [null, ...days].entries())
          assert.deepEqual(await store.charges.days({ ...query, ...one, after }), days.slice(index, index + 1))
        for (const [index, after] of [null, ...adjusted].entries())
          assert.deepEqual(
            await store.charges.adjustments({ ...times, ...one, after }),
            adjusted.slice(index, index + 1),
          )
      }
    }))

  test('a closed month stays as it is: a charge that settles late stands on the day it is booked, with its own day beside', () =>
    withAccount(async ({ bench, customer, read }) => {
      await spend(bench, customer)
      bench.clock.advance(OCTOBER_END_MS - SEPTEMBER_MS)
      await spend(bench, customer)
      const late = newId('gen-')
      const free = newId('gen-')
      for (const id of [late, free]) await bench.hold(customer, 30n, id)
      bench.clock.advance(2 * DAY_MS)
      const october = await read('2026-10-01', '2026-10-31')
      assert.deepEqual([october.closed, ...ends(october)], [true, 980n, 960n])
      await bench.settle(customer, late, 20n)
      // It is not charged, and is not among October's requests.
      await bench.void(customer, free)
      await bench.topUp(customer.accountId, 7n)
      assert.deepEqual(await read('2026-10-01', '2026-10-31'), october)
      const november = await read('2026-11-01', '2026-11-30')
      assert.deepEqual([november.closed, ...ends(november)], [false, 960n, 947n])
      assert.deepEqual(
        november.lines.map(({ kind, day, ofDay }) => [kind, day, ofDay]),
        [
          ['topup', '2026-11-02', null],
          ['charge', '2026-11-02', '2026-10-31'],
        ],
      )
      assert.deepEqual(ends(await read('2026-09-01', '2026-09-30')), [0n, 980n])
    }))

  test('an account of this month has no month to close', () =>
    withAccount(async ({ bench, customer, read }) => {
      await spend(bench, customer)
      const september = await read('2026-08-01', '2026-09-30')
      assert.deepEqual([september.closed, ...ends(september)], [false, 0n, 980n])
      assert.deepEqual(await brokenChecks(bench), [])
    }))

  test('an end that the journal held back over the close of its month is booked in the open one', () =>
    withAccount(async ({ bench, customer, read, opened }) => {
      bench.clock.advance(OCTOBER_END_MS - SEPTEMBER_MS)
      const id = newId('gen-')
      await bench.hold(customer, 30n, id)
      await bench.ledger.renew()
      bench.clock.advance(DAY_MS)
      const october = await read('2026-10-01', '2026-10-31')
      // As it was requested on the day before.
      const { LedgerBatch } = await import('../../src/ledger/ledger-core.ts')
      const settle = {
        op: 'settle',
        generationId: id,
        costMicro: 20n,
        providerCostMicro: 10n,
        insuredMicro: 0n,
        record: bench.record(customer, id),
        atMs: OCTOBER_END_MS,
        day: '2026-10-31',
      } as const
      await opened.store.ledger.commit(
        [settle],
        (rows) => {
          const batch = new LedgerBatch(rows)
          batch.apply(settle)
          return batch.changes()
        },
        true,
      )
      assert.deepEqual(await read('2026-10-01', '2026-10-31'), october)
      assert.deepEqual(
        (await read('2026-11-01', '2026-11-30')).lines.map(({ day, ofDay }) => [day, ofDay]),
        [['2026-11-01', '2026-10-31']],
      )
    }))

  test('another time zone leaves closed months as they are, and each month opens with what the one before closed with', () =>
    withAccount(async ({ bench, customer, read }) => {
      bench.clock.advance(OCTOBER_END_MS - SEPTEMBER_MS)
      await bench.topUp(customer.accountId, 5n)
      bench.clock.advance(DAY_MS)
      const october = await read('2026-10-01', '2026-10-31')
      for (const timezone of ['Europe/Moscow', 'Pacific/Honolulu', 'Pacific/Kiritimati']) {
        assert.deepEqual(await read('2026-10-01', '2026-10-31', timezone), october)
        assert.equal((await read('2026-11-01', '2026-11-30', timezone)).openingMicro, october.closingMicro)
      }
      bench.clock.advance(62 * DAY_MS)
      await spend(bench, customer)
      const months = ['2026-09', '2026-10', '2026-11', '2026-12', '2027-01']
      const sheets: StatementSheet[] = []
      for (const month of months)
        sheets.push(
          await read(
            `${month}-01`,
            month === '2026-12' || month === '2027-01' || month === '2026-10' ? `${month}-31` : `${month}-30`,
            'Europe/Moscow',
          ),
        )
      for (const [index, sheet] of sheets.entries())
        assert.equal(sheet.openingMicro, sheets[index - 1]?.closingMicro ?? 0n, months[index])
      assert.deepEqual(
        sheets.map(({ closed }) => closed),
        [true, true, true, true, false],
      )
    }))

  test(`with ${CREDITS} credits a month opens with what the one before it closed with`, () =>
    withAccount(async ({ bench, customer, opened, read }) => {
      // Not posted one by one: the reads here do not check the chain.
      const seeds =
        opened.store.kind === 'embedded'
          ? `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${CREDITS}) SELECT i FROM n`
          : `SELECT i FROM generate_series(1, ${CREDITS}) AS n (i)`
      await opened.below(
        `INSERT INTO entry (debit, credit, amount, kind, ref, account_id, created_at, hash) SELECT 'world', 'account:${customer.accountId}', 1, 'topup', 'many-' || i, '${customer.accountId}', ${OCTOBER_END_MS}, '' FROM (${seeds}) AS seeds`,
      )
      await opened.below(`UPDATE account SET available = available + ${CREDITS} WHERE id = '${customer.accountId}'`)
      bench.clock.advance(OCTOBER_END_MS - SEPTEMBER_MS)
      assert.deepEqual(ends(await read('2026-10-01', '2026-10-31')), [1_000n, 1_000n + BigInt(CREDITS)])
      await opened.below(`UPDATE account SET available = available - ${CREDITS} WHERE id = '${customer.accountId}'`)
      for (const drop of opened.dropTriggers) await opened.below(drop)
      await opened.below(`DELETE FROM entry WHERE ref LIKE 'many-%'`)
    }))

  for (const [what, statement] of [
    ['an opening balance that is not the closing one before', 'UPDATE statement_month SET opening = opening + 1'],
    ['a closing balance that its entries do not come to', 'UPDATE statement_month SET closing = closing + 1'],
    ['a closed month that is gone', "DELETE FROM statement_month WHERE month = '2026-10'"],
    ['closed months that are gone', 'DELETE FROM statement_month'],
  ] as const) {
    test(`I22 tells of ${what}`, () =>
      withAccount(async ({ bench, customer, opened, read }) => {
        await spend(bench, customer)
        bench.clock.advance(OCTOBER_END_MS + DAY_MS - SEPTEMBER_MS)
        await read('2026-10-01', '2026-10-31')
        assert.deepEqual(await brokenChecks(bench), [])
        await opened.below('CREATE TABLE kept AS SELECT * FROM statement_month')
        await opened.below(statement)
        assert.deepEqual(await brokenChecks(bench), ['I22'])
        for (const restore of ['DELETE FROM statement_month', 'INSERT INTO statement_month SELECT * FROM kept'])
          await opened.below(restore)
      }))
  }
}
