import { sealedSelect, type BookSeal } from './book-seal.ts'
import type { SealedTable } from './columns.ts'
import { type Row, type Sql, type SqlValue, big, text, integer, textOrNull } from '../database.ts'
import { wrongCounts } from '../page.ts'
import { isoDay } from '../../base/time.ts'
import { CHAINED_EVENTS, eventHash } from '../events/event-store.ts'
import { entryHash } from '../../ledger/hash-chain.ts'

const PAGE_ROWS = 1_000n

interface SealedRows {
  readonly table: SealedTable
  /** What a violation calls the row, and the column that identifies it. */
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
  // Each of these rows has a whole catalogue.
  { table: 'catalog_version', name: 'version of the catalogue', key: 'version', pageRows: 4n },
]

/** Rows that were changed without this program, page by page so that memory stays flat. */
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

/** Stops when `visit` returns false. */
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

/** The last closing balance must equal the sum of the entries and charges until then. */
const CLOSINGS = `SELECT 'statements of ' || s.account_id || ': ' || s.month || ' closes with another balance than its entries' AS what
  FROM statement_month s JOIN account a ON a.id = s.account_id AND SUBSTR(a.open_day, 1, 7) > s.month
  WHERE s.month = (SELECT MAX(n.month) FROM statement_month n WHERE n.account_id = s.account_id) AND s.closing <>
    (SELECT COALESCE(SUM(CASE WHEN e.credit = 'account:' || e.account_id THEN e.amount ELSE -e.amount END), 0) FROM entry e
      WHERE e.account_id = s.account_id AND e.kind <> 'charge' AND e.kind IN ('topup', 'refund', 'adjustment') AND e.id <= s.last_entry AND e.created_at < s.ends_at)
    - (SELECT COALESCE(SUM(u.revenue), 0) FROM usage_day u WHERE u.account_id = s.account_id AND u.day < a.open_day)
    + (SELECT COALESCE(SUM(b.amount), 0) FROM booked_later b WHERE b.account_id = s.account_id AND b.placed < a.open_day AND b.booked >= a.open_day)`

/** Closed months that do not follow one another, or have changed since they were closed (I22). */
export async function brokenStatements(sql: Sql, seal: BookSeal, violationsMax: number): Promise<readonly string[]> {
  const violations = (await sql.all(`SELECT what FROM (${CLOSINGS}) broken LIMIT ?`, [BigInt(violationsMax)])).map(
    (row) => String(row['what']),
  )
  let [accountId, month, closing, openDay] = ['', '', 0n, '']
  const end = (): void => {
    if (accountId !== '' && openDay !== monthAfter(month))
      violations.push(`statements of ${accountId}: its newest closed month is not ${month}`)
  }
  for (;;) {
    const rows: readonly Row[] = await sql.all(
      `SELECT open_day, ${COLUMNS} FROM statement_month s JOIN account a ON a.id = s.account_id WHERE (s.account_id, s.month) > (?, ?) ORDER BY s.account_id, s.month LIMIT ?`,
      [accountId, month, PAGE_ROWS],
    )
    for (const row of rows) {
      const isNext = text(row, 'account_id') === accountId
      if (!isNext) end()
      const follows = isNext
        ? `${text(row, 'month')}-01` === monthAfter(month) && big(row, 'opening') === closing
        : big(row, 'opening') === 0n
      accountId = text(row, 'account_id')
      month = text(row, 'month')
      closing = big(row, 'closing')
      openDay = text(row, 'open_day')
      if (!follows) violations.push(`statements of ${accountId}: ${month} does not follow the month before`)
      if (!seal.holds('statement_month', row))
        violations.push(`statements of ${accountId}: ${month} is not as it was closed`)
      if (violations.length >= violationsMax) return violations
    }
    if (rows.length < Number(PAGE_ROWS)) break
  }
  end()
  const [lost] = await sql.all(
    `SELECT COUNT(*) AS lost FROM account a WHERE a.open_day <> '' AND NOT EXISTS (SELECT 1 FROM statement_month s WHERE s.account_id = a.id)`,
  )
  if (lost !== undefined && big(lost, 'lost') > 0n)
    violations.push(`statements: closed months of ${big(lost, 'lost')} accounts are gone`)
  return violations.slice(0, violationsMax)
}

const COLUMNS = sealedSelect('statement_month')
  .split(', ')
  .map((name) => `s.${name} AS ${name}`)
  .join(', ')

/** The first day of the month after one such as 2026-11. */
function monthAfter(month: string): string {
  const [year = '', number = ''] = month.split('-')
  return isoDay(Date.UTC(Number(year), Number(number), 1))
}

/** Follows the hash chains of entries and events from their first row, page by page so that memory stays flat (I16). */
export async function brokenChains(sql: Sql, violationsMax: number): Promise<readonly string[]> {
  return [...(await brokenEntries(sql)), ...(await brokenEvents(sql))].slice(0, violationsMax)
}

async function brokenEntries(sql: Sql): Promise<readonly string[]> {
  const violations: string[] = []
  let [account, id, previous, head] = ['', 0n, '', '']
  const closeAccount = (): void => {
    if (previous !== head) violations.push(`account ${account}: its newest entries are missing`)
  }
  for (;;) {
    const rows = await nextEntries(sql, account, id)
    for (const row of rows) {
      if (text(row, 'account_id') !== account) {
        closeAccount()
        account = text(row, 'account_id')
        previous = ''
        head = text(row, 'entry_head')
      }
      id = big(row, 'id')
      if (entryHash(previous, chained(row)) !== text(row, 'hash')) violations.push(`entry ${id}`)
      previous = text(row, 'hash')
    }
    if (rows.length === 0) break
  }
  closeAccount()
  return violations
}

const ENTRIES = `SELECT e.id AS id, debit, credit, amount, kind, ref, account_id, reason, actor, e.created_at AS created_at, hash, entry_head
  FROM entry e JOIN account a ON a.id = e.account_id`

/**
 * The remaining entries of the account, else those of the next accounts. With a single condition, SQLite would read all
 * earlier rows again at each page.
 */
async function nextEntries(sql: Sql, account: string, id: bigint): Promise<readonly Row[]> {
  const rest = await sql.all(`${ENTRIES} WHERE e.account_id = ? AND e.id > ? ORDER BY e.id LIMIT ?`, [
    account,
    id,
    PAGE_ROWS,
  ])
  return rest.length > 0
    ? rest
    : sql.all(`${ENTRIES} WHERE e.account_id > ? ORDER BY e.account_id, e.id LIMIT ?`, [account, PAGE_ROWS])
}

function chained(row: Row): Parameters<typeof entryHash>[1] {
  return {
    debit: text(row, 'debit'),
    credit: text(row, 'credit'),
    amountMicro: big(row, 'amount'),
    kind: text(row, 'kind'),
    reference: text(row, 'ref'),
    accountId: text(row, 'account_id'),
    reason: textOrNull(row, 'reason'),
    actor: textOrNull(row, 'actor'),
    atMs: integer(row, 'created_at'),
  }
}

async function brokenEvents(sql: Sql): Promise<readonly string[]> {
  const violations: string[] = []
  let [id, previous] = [0, '']
  for (;;) {
    const events = await CHAINED_EVENTS.all(sql, 'WHERE id > ? ORDER BY id LIMIT ?', [BigInt(id), PAGE_ROWS])
    for (const { hash, ...event } of events) {
      id = event.id
      if (eventHash(previous, event) !== hash) violations.push(`event ${id}`)
      previous = hash
    }
    if (events.length < Number(PAGE_ROWS)) return violations
  }
}
