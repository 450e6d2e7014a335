import { sealedSelect, type BookSeal } from './book-seal.ts'
import type { SealedTable } from './columns.ts'
import type { Row, Sql, SqlValue } from '../database.ts'
import { wrongCounts } from '../page.ts'

const PAGE_ROWS = 1_000n

interface SealedRows {
  readonly table: SealedTable
  /** The name of the row in a violation, and the column that identifies it. */
  readonly name: string
  readonly key: string
  readonly pageRows?: bigint
}

/** Rows with a seal (I19); charged log rows are also read for their price (I17). */
const ROWS: readonly SealedRows[] = [
  { table: 'account_group', name: 'group of accounts', key: 'id' },
  { table: 'api_key', name: 'key', key: 'id' },
  { table: 'key_secret', name: 'replaced secret', key: 'id' },
  { table: 'hold', name: 'hold', key: 'id' },
  { table: 'generation', name: 'log row', key: 'id' },
  { table: 'redeem_code', name: 'code', key: 'id' },
  { table: 'payment_order', name: 'order', key: 'id' },
  { table: 'payment_refund', name: 'refund', key: 'id' },
  { table: 'job', name: 'job', key: 'id' },
  // A whole catalogue each.
  { table: 'catalog_version', name: 'version of the catalogue', key: 'version', pageRows: 4n },
]

/** Rows that were changed without us, page by page so that memory stays flat. */
export async function brokenRows(sql: Sql, seal: BookSeal, violationsMax: number): Promise<readonly string[]> {
  const violations: string[] = []
  for (const rows of ROWS) {
    await eachRow(sql, rows, (row) => {
      if (!seal.holds(rows.table, row)) violations.push(`${rows.name} ${String(row['generation_id'] ?? row[rows.key])}`)
      return violations.length < violationsMax
    })
  }
  return violations.slice(0, violationsMax)
}

/** Ends of chains that differ from their signed head, and missing rows that a head counts (I20). */
export async function brokenHeads(sql: Sql, seal: BookSeal, violationsMax: number): Promise<readonly string[]> {
  const violations: string[] = []
  await eachRow(sql, { table: 'account', name: 'account', key: 'id' }, (row) => {
    if (!seal.holds('account', row)) violations.push(`account ${String(row['id'])}: its head is not as it was signed`)
    return violations.length < violationsMax
  })
  const [head] = await sql.all(`SELECT ${sealedSelect('event_head')} FROM event_head WHERE id = 1`)
  if (head === undefined || !seal.holds('event_head', head))
    violations.push('events: their head is not as it was signed')
  const [kept] = await sql.all(`SELECT ${sealedSelect('log_kept')} FROM log_kept WHERE id = 1`)
  if (kept === undefined || !seal.holds('log_kept', kept))
    violations.push('log: the time until which rows may be gone is not as it was signed')
  await eachRow(sql, { table: 'row_count', name: 'row count', key: 'name' }, (row) => {
    if (!seal.holds('row_count', row))
      violations.push(`number of rows of ${String(row['name'])}: it is not as it was signed`)
    return true
  })
  violations.push(...(await wrongCounts(sql)))
  for (const text of CUT)
    for (const row of await sql.all(`SELECT what FROM (${text}) cut LIMIT ?`, [BigInt(violationsMax)]))
      violations.push(String(row['what']))
  return violations.slice(0, violationsMax)
}

const CUT: readonly string[] = [
  `SELECT 'account ' || a.id || ': its newest entries are missing' AS what FROM account a LEFT JOIN (SELECT account_id, MAX(id) AS last FROM entry GROUP BY account_id) n ON n.account_id = a.id
    LEFT JOIN entry e ON e.id = n.last WHERE COALESCE(e.hash, '') <> a.entry_head`,
  `SELECT 'events: the newest are missing' AS what FROM event_head h WHERE h.hash <> COALESCE((SELECT hash FROM event ORDER BY id DESC LIMIT 1), '')`,
  `SELECT 'account ' || a.id || ': rows of its log are gone without a sum' AS what FROM account a LEFT JOIN (SELECT account_id, SUM(requests) AS rows FROM removed_day GROUP BY account_id) r
    ON r.account_id = a.id WHERE a.log_dropped <> COALESCE(r.rows, 0)`,
  `SELECT 'account ' || a.id || ': its group is gone' AS what FROM account a LEFT JOIN account_group g ON g.id = a.group_id WHERE a.group_id IS NOT NULL AND g.id IS NULL`,
]

/** Stops when `visit` answers false. */
async function eachRow(
  sql: Sql,
  { table, key: column, pageRows = PAGE_ROWS }: SealedRows,
  visit: (row: Row) => boolean,
): Promise<void> {
  const columns = [...new Set([column, ...sealedSelect(table).split(', ')])].join(', ')
  let after: SqlValue | null = null
  for (;;) {
    const values: readonly SqlValue[] = after === null ? [pageRows] : [after, pageRows]
    const start = after === null ? '1 = 1' : `${column} > ?`
    const found: readonly Row[] = await sql.all(
      `SELECT ${columns} FROM ${table} WHERE ${start} ORDER BY ${column} LIMIT ?`,
      values,
    )
    for (const row of found) if (!visit(row)) return
    const last: unknown = found.at(-1)?.[column]
    if (found.length < Number(pageRows) || (typeof last !== 'string' && typeof last !== 'bigint')) return
    after = last
  }
}
