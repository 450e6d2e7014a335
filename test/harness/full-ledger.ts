import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const STEP_ROWS = 250_000

/**
 * SQL that writes a top-up and then `rows` charges of an account, of one micro-ruble more each time, the same in both
 * dialects. The account's balance is 1,000 ₽ after them.
 */
export function* ledgerStatements(accountId: string, rows: number, startMs: number): Generator<string> {
  const own = `'account:${accountId}'`
  const columns = 'debit, credit, amount, kind, ref, account_id, reason, actor, created_at, hash'
  const sum = (BigInt(rows) * BigInt(rows + 1)) / 2n
  yield `INSERT INTO entry (${columns}) VALUES ('world', ${own}, ${sum + 1_000_000_000n}, 'topup', 'full-${accountId}', '${accountId}', 'full', 'bench', ${startMs}, '')`
  for (let from = 1; from <= rows; from += STEP_ROWS) {
    const to = Math.min(rows, from + STEP_ROWS - 1)
    yield `INSERT INTO entry (${columns})
      WITH RECURSIVE numbers (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM numbers WHERE n < ${to})
      SELECT ${own}, 'revenue', n, 'charge', '${accountId}-' || n, '${accountId}', NULL, NULL, ${startMs} + n, '' FROM numbers`
  }
  yield `UPDATE account SET available = available + 1000000000, log_rows = ${rows} WHERE id = '${accountId}'`
}

/** SQL that makes so many accounts with names of their own. */
export function accountsStatement(rows: number, startMs: number): string {
  return `INSERT INTO account (id, name, email, created_at)
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rows})
    SELECT 'acc_full_' || n, 'Client ' || n, 'client' || n || '@example.com', ${startMs} + n FROM numbers`
}

/** Writes a ledger and accounts into the embedded store of a directory that no server has open. */
export function fillEmbeddedLists(
  dataDir: string,
  accountId: string,
  { entries, accounts }: { readonly entries: number; readonly accounts: number },
  startMs: number,
): void {
  const database = new DatabaseSync(join(dataDir, 'tollgate.db'))
  database.exec('PRAGMA synchronous=OFF; PRAGMA cache_size=-400000')
  database.exec(accountsStatement(accounts, startMs))
  for (const statement of ledgerStatements(accountId, entries, startMs)) database.exec(statement)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
}
