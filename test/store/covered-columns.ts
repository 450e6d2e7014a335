import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COVERED, WITHOUT_MONEY, type TableCover } from '../../src/store/audit/columns.ts'
import type { ColumnBelow, OpenedBelow } from './append-only.ts'
import { form } from '../harness/form.ts'
import { brokenChecks, withBooks } from './planted-violations.ts'

const COVERS: readonly (readonly [string, TableCover])[] = Object.entries(COVERED)

/** Tables without rows in these books: damage to closed months is planted where they are made. */
const EMPTY = ['statement_month']
/** Rows that end: a missing one only refuses a replaced secret early. */
const ENDING = ['key_secret']
/** Columns for which the schema allows no other value. */
const REFUSED = ['event_head.id', 'log_kept.id']
/** Words that the schema restricts, each with another one that no row has. */
const WORDS: Readonly<Record<string, readonly [from: string, to: string]>> = {
  'account.status': ['active', 'locked'],
  'account.limit_reset': ['monthly', 'daily'],
  'hold.state': ['voided', 'expired'],
  'payment_order.state': ['pending', 'cancelled'],
  'job.status': ['pending', 'in_progress'],
  'job.phase': ['ready', 'parked'],
}

type Told = Pick<TableCover, 'sealed' | 'chained' | 'checked'>

function toldOf({ sealed = [], chained = [], checked = {} }: Told): readonly string[] {
  return [...sealed, ...chained, ...Object.keys(checked)]
}

interface Change {
  readonly change: string
  readonly back: string
}

/** Changes of every row's value, each with its reversal; the first that the schema allows counts. */
function changesOf({ table, column, type, valued }: ColumnBelow): readonly Change[] {
  const set = (value: string, where = ''): string => `UPDATE ${table} SET "${column}" = ${value}${where}`
  const words = WORDS[`${table}.${column}`]
  if (words !== undefined)
    return [
      {
        change: set(`'${words[1]}'`, ` WHERE "${column}" = '${words[0]}'`),
        back: set(`'${words[0]}'`, ` WHERE "${column}" = '${words[1]}'`),
      },
    ]
  if (!valued)
    return ['1', `'daily'`].map((value) => ({ change: set(type === 'whole' ? '1' : value), back: set('NULL') }))
  // A step that gives no other row's number, and the smallest ones.
  if (type === 'whole')
    return [
      ['+ 1000', '- 1000'],
      ['+ 1', '- 1'],
      ['- 1', '+ 1'],
    ].map(([there, back]) => ({ change: set(`"${column}" ${there}`), back: set(`"${column}" ${back}`) }))
  const cut = set(`SUBSTR("${column}", 1, LENGTH("${column}") - 1)`)
  // Still valid JSON.
  if (type === 'text') return [{ change: set(`"${column}" || ' '`), back: cut }]
  return [`"${column}" || '\\x41'::bytea`, `CAST("${column}" || x'41' AS BLOB)`].map((value) => ({
    change: set(value),
    back: cut,
  }))
}

/** Every column is classified, and each protected column is protected; the short form tests one of so many. */
export function coveredColumns(open: () => Promise<OpenedBelow>, every: number): void {
  test('each column of the schema has one place in the table of what protects it, and each that bears nothing a reason', async () => {
    const opened = await open()
    const real = (await opened.columns()).filter(
      ({ table }) => WITHOUT_MONEY[table] === undefined && !/^generation_\d+$|^sqlite_/.test(table),
    )
    const names = (rows: readonly { readonly table: string; readonly column: string }[]): readonly string[] =>
      rows.map(({ table, column }) => `${table}.${column}`).toSorted()
    const there = new Set(real.map(({ table }) => table))
    // Some tables are in only one of the stores.
    const covered = COVERS.filter(([table]) => there.has(table)).flatMap(([table, cover]) =>
      [...toldOf(cover), ...Object.keys(cover.free ?? {})].map((column) => ({ table, column })),
    )
    assert.deepEqual(names(covered), names(real), 'a new column says in src/store/audit/columns.ts what protects it')
    for (const [table, { free = {} }] of COVERS)
      for (const [column, reason] of Object.entries(free)) assert.ok(reason.length > 5, `${table}.${column}`)
    await opened.store.close()
  })

  test('the audit tells of another value in any column that bears money, ownership, limits or the time of a booking', () =>
    withBooks(open, async (bench, { below, columns }) => {
      const told = (await columns()).filter(({ table, column }) =>
        toldOf(COVERS.find(([name]) => name === table)?.[1] ?? {}).includes(column),
      )
      assert.deepEqual([...new Set(told.filter(({ filled }) => !filled).map(({ table }) => table))].toSorted(), EMPTY)
      const untold: string[] = []
      const refused: string[] = []
      const asked = told
        .filter(({ filled }) => filled)
        .filter((_place, index) => index % form({ short: every, long: 1 }) === 0)
      for (const place of asked) {
        const name = `${place.table}.${place.column}`
        const done = await firstOf(changesOf(place), ({ change }) => below(change))
        if (done === null) {
          refused.push(name)
          continue
        }
        if ((await brokenChecks(bench)).length === 0) untold.push(name)
        await below(done.back)
      }
      assert.deepEqual(untold, [])
      assert.deepEqual(
        refused.filter((name) => !REFUSED.includes(name)),
        [],
      )
      assert.ok(asked.length >= form({ short: 100 / every, long: 100 }), String(asked.length))
      assert.deepEqual(await brokenChecks(bench), [])
    }))

  test('the audit tells of rows that are gone from any table that bears something: the last of them, or all', () =>
    withBooks(open, async (bench, { below, columns }) => {
      const filled = new Set((await columns()).flatMap(({ table, filled: some }) => (some ? [table] : [])))
      const untold: string[] = []
      for (const [place, [table, cover]] of COVERS.entries()) {
        const [first] = toldOf(cover)
        if (first === undefined || !filled.has(table) || ENDING.includes(table)) continue
        if (place % form({ short: 3, long: 1 }) !== 0) continue
        await below(`CREATE TABLE kept_rows AS SELECT * FROM ${table}`)
        const ways = ['', ` WHERE "${first}" = (SELECT MAX("${first}") FROM ${table})`]
        for (const which of form({ short: ways.slice(place % 2, (place % 2) + 1), long: ways })) {
          await below(`DELETE FROM ${table}${which}`)
          if ((await brokenChecks(bench)).length === 0) untold.push(`${table}${which}`)
          await below(`DELETE FROM ${table}`)
          // PostgreSQL numbers entries and events itself, unless the statement overrides it.
          await firstOf([` OVERRIDING SYSTEM VALUE`, ''], (words) =>
            below(`INSERT INTO ${table}${words} SELECT * FROM kept_rows`),
          )
        }
        await below('DROP TABLE kept_rows')
      }
      assert.deepEqual(untold, [])
      assert.deepEqual(await brokenChecks(bench), [])
    }))
}

/** The first that `tried` does not refuse; null = it refuses all. */
async function firstOf<T>(ways: readonly T[], tried: (way: T) => Promise<void>): Promise<T | null> {
  for (const way of ways)
    if (
      await tried(way).then(
        () => true,
        () => false,
      )
    )
      return way
  return null
}
