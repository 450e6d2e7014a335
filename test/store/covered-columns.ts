import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COVERED, WITHOUT_MONEY, type TableCover } from '../../src/store/columns.ts'
import type { OpenedBelow } from './append-only.ts'
import { brokenChecks, withBooks } from './planted-violations.ts'

/** Columns whose change nothing tells of, each with the reason. */
const UNTOLD: Readonly<Record<string, string>> = {
  'key_spend.excess': 'more of it only loosens I6, and a lowered limit leaves any amount of it',
}
const COVERS: readonly (readonly [string, TableCover])[] = Object.entries(COVERED)

function columnsOf({ sealed = [], chained = [], checked = {}, free = {} }: TableCover): readonly string[] {
  return [...sealed, ...chained, ...Object.keys(checked), ...Object.keys(free)]
}

/** Every column is classified, and what is said to be protected is. */
export function coveredColumns(open: () => Promise<OpenedBelow>): void {
  test('each column of the schema has one place in the table of what protects it', async () => {
    const opened = await open()
    const real = (await opened.columns()).filter(
      ({ table }) => WITHOUT_MONEY[table] === undefined && !/^generation_\d+$|^sqlite_/.test(table),
    )
    const names = (rows: readonly { readonly table: string; readonly column: string }[]): readonly string[] =>
      rows.map(({ table, column }) => `${table}.${column}`).toSorted()
    const there = new Set(real.map(({ table }) => table))
    // Not every table is in both stores.
    const covered = COVERS.filter(([table]) => there.has(table)).flatMap(([table, cover]) =>
      columnsOf(cover).map((column) => ({ table, column })),
    )
    assert.deepEqual(names(covered), names(real), 'a new column says in src/store/columns.ts what protects it')
    await opened.store.close()
  })

  test('one changed amount in any column of money, and any changed number under a seal or a chain, is found', () =>
    withBooks(open, async (bench, { below, columns }) => {
      const numbers = (await columns()).filter(({ table, column, whole }) => whole && isTold(table, column))
      assert.deepEqual(
        [...new Set(numbers.filter(({ filled }) => !filled).map(({ table }) => table))].toSorted(),
        EMPTY,
      )
      const unseen: string[] = []
      let seen = 0
      for (const { table, column, filled } of numbers) {
        const change = (sign: '+' | '-'): Promise<boolean> =>
          below(`UPDATE ${table} SET ${column} = ${column} ${sign} 1 WHERE ${column} IS NOT NULL`).then(
            () => true,
            () => false,
          )
        // What the schema refuses needs no audit.
        if (!filled || !(await change('+'))) continue
        if ((await brokenChecks(bench)).length === 0) unseen.push(`${table}.${column}`)
        else seen += 1
        assert.ok(await change('-'), `${table}.${column}`)
      }
      assert.deepEqual(unseen, Object.keys(UNTOLD))
      assert.ok(seen >= 40, String(seen))
      assert.deepEqual(await brokenChecks(bench), [])
    }))
}

/** Books of jobs and of statements are planted on where they are made. */
const EMPTY = ['job', 'statement_month']
const MONEY = new Set([
  'available',
  'held',
  'spend_limit',
  'spent',
  'excess',
  'amount',
  'charged',
  'shortfall',
  'cost',
  'provider_cost',
  'insured',
  'revenue',
  'opening',
  'closing',
  'hold',
  'free_insured',
  'free_spent',
])

function isTold(table: string, column: string): boolean {
  const cover = COVERS.find(([name]) => name === table)?.[1]
  return (
    cover !== undefined &&
    (MONEY.has(column) || cover.sealed?.includes(column) === true || cover.chained?.includes(column) === true)
  )
}
