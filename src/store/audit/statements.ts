import { sealedSelect, type BookSeal } from './book-seal.ts'
import { big, text, type Row, type Sql } from '../database.ts'
import { isoDay } from '../../base/time.ts'

const PAGE_ROWS = 1_000n

/** The last closing balance must equal the entries and charges until then. */
const CLOSINGS = `SELECT 'statements of ' || s.account_id || ': ' || s.month || ' closes with another balance than its entries' AS what
  FROM statement_month s JOIN account a ON a.id = s.account_id AND SUBSTR(a.open_day, 1, 7) > s.month
  WHERE s.month = (SELECT MAX(n.month) FROM statement_month n WHERE n.account_id = s.account_id) AND s.closing <>
    (SELECT COALESCE(SUM(CASE WHEN e.credit = 'account:' || e.account_id THEN e.amount ELSE -e.amount END), 0) FROM entry e
      WHERE e.account_id = s.account_id AND e.kind <> 'charge' AND e.kind IN ('topup', 'refund', 'adjustment') AND e.id <= s.last_entry AND e.created_at < s.ends_at)
    - (SELECT COALESCE(SUM(u.revenue), 0) FROM usage_day u WHERE u.account_id = s.account_id AND u.day < a.open_day)
    + (SELECT COALESCE(SUM(b.amount), 0) FROM booked_later b WHERE b.account_id = s.account_id AND b.placed < a.open_day AND b.booked >= a.open_day)`

/** Closed months that do not follow one another, or have changed since (I22). */
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
