import { sealedSelect } from './audit/book-seal.ts'
import { big, text, type Sql, rowLock } from './database.ts'
import type { Sealing } from './sealed-row.ts'

/** Tables whose rows are never removed, and where nothing else shows a missing row. */
export type CountedTable =
  | 'account'
  | 'api_key'
  | 'redeem_code'
  | 'payment_order'
  | 'payment_refund'
  | 'catalog_version'

/** The name of each table's rows in a violation. */
const TABLES: Readonly<Record<CountedTable, string>> = {
  account: 'accounts',
  api_key: 'keys',
  redeem_code: 'codes',
  payment_order: 'orders',
  payment_refund: 'refunds',
  catalog_version: 'versions of the catalogue',
}

const SELECT = `SELECT ${sealedSelect('row_count')} FROM row_count`

/** Counts rows in the transaction that adds them. */
export async function countRows(sql: Sql, { dialect, seal }: Sealing, table: CountedTable, added = 1n): Promise<void> {
  const lock = rowLock(dialect)
  const [before] = await sql.all(`${SELECT} WHERE name = ?${lock}`, [table])
  // Somebody has removed the count itself; the audit reports it.
  if (before === undefined) return
  const rows = big(before, 'rows') + added
  await sql.run('UPDATE row_count SET rows = ?, seal = ? WHERE name = ?', [
    rows,
    seal.again('row_count', before, { rows }),
    table,
  ])
}

/**
 * Counts the rows again: an older program on PostgreSQL that ran beside this one did not count its rows. Inserts wait
 * meanwhile.
 */
export async function recount(sql: Sql): Promise<void> {
  await sql.all(`${SELECT} ORDER BY name FOR UPDATE`)
  for (const table of Object.keys(TABLES)) {
    await sql.run(`UPDATE row_count SET rows = (SELECT COUNT(*) FROM ${table}) WHERE name = ?`, [table])
  }
}

/** Counts that show rows removed or inserted without us. */
export async function wrongCounts(sql: Sql): Promise<readonly string[]> {
  const counts = new Map((await sql.all(SELECT)).map((row) => [text(row, 'name'), big(row, 'rows')]))
  const violations: string[] = []
  for (const [table, name] of Object.entries(TABLES)) {
    const [there = {}] = await sql.all(`SELECT COUNT(*) AS rows FROM ${table}`)
    const [is, was] = [big(there, 'rows'), counts.get(table)]
    if (is !== was) violations.push(`${name}: there are ${is}, and ${was ?? 'no number'} were made`)
  }
  return violations
}
