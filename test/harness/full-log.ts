import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const STEP_ROWS = 250_000

/**
 * SQL that writes a top-up and then `rows` charges of an account, each one micro-ruble more than the one before; the
 * same in both dialects. The account's balance is 1,000 ₽ after them.
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

/** SQL that creates `rows` accounts, each with its own name. */
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

/** One account has half of the rows, a thousand others share the rest. */
export const OTHER_ACCOUNTS = 1_000
export const ROW_STEP_MS = 1_000
const COLUMNS =
  'generation_id, account_id, seq, key_id, request_id, type, model, provider, status, cost, provider_cost, shortfall, insured, input_tokens, output_tokens, price_version, created_at, ended_at, record'
const DETAILS = {
  endpointId: 'openai/m',
  upstreamId: 'chatcmpl-0123456789',
  finishReason: 'stop',
  usage: { input: 24, output: 9 },
  cachedTokens: 0,
  reasoningTokens: 0,
  billingBasis: 'provider_usage',
  flagged: false,
  streamed: true,
  attempts: 1,
  latencyMs: 310,
  durationMs: 820,
}
const RECORDS = {
  openai: JSON.stringify({ providerName: 'OpenAI', ...DETAILS }),
  azure: JSON.stringify({ providerName: 'Azure', ...DETAILS }),
  app: JSON.stringify({ providerName: 'OpenAI', ...DETAILS, appTitle: 'Notes', appUrl: 'https://notes.example' }),
}

export interface FullLog {
  readonly rows: number
  /** The account that half of the log belongs to; it exists, or `accountStatements` creates it. */
  readonly large: string
  /** The time of row number 0; each row is a second later. */
  readonly startMs: number
}

/**
 * Row number n of the log as SQL, the same in both dialects: 20 models in turn and another one in every 50,000th row, a
 * failure in every hundredth, an app in every eighth, a row per second. `n` and `half` are the number and half of it,
 * rounded down.
 */
function rowSql({ large, startMs }: FullLog): string {
  return `'gen-' || (${Math.floor(startMs / 1_000)} + n) || '-bench', CASE WHEN n % 2 = 0 THEN '${large}' ELSE 'acc_' || (half % ${OTHER_ACCOUNTS}) END, CASE WHEN n % 2 = 0 THEN half + 1 ELSE half / ${OTHER_ACCOUNTS} + 1 END,
  CASE WHEN n % 2 = 0 THEN 'key_large_' || (half % 3) ELSE 'key_' || (half % ${OTHER_ACCOUNTS}) END, 'req-' || (n / 3), CASE WHEN n % 10 = 4 THEN 'embeddings' ELSE 'chat' END,
  CASE WHEN n % 50000 = 8 THEN 'rare/model' ELSE 'vendor/model-' || (half % 20) END, CASE WHEN n % 4 < 2 THEN 'openai' ELSE 'azure' END,
  CASE WHEN n % 100 = 6 THEN 'error' ELSE 'completed' END, 900, 450, 0, 0, 24, 9, 1, ${startMs} + n * ${ROW_STEP_MS}, ${startMs} + n * ${ROW_STEP_MS} + 820,
  CASE WHEN n % 8 = 0 THEN '${RECORDS.app}' WHEN n % 4 < 2 THEN '${RECORDS.openai}' ELSE '${RECORDS.azure}' END`
}

/** The statements that write the rows in batches; `to`: how many rows are written after each. */
export function* rowStatements(
  log: FullLog,
  dialect: 'sqlite' | 'postgres',
): Generator<{ readonly to: number; readonly statement: string }> {
  for (let from = 0; from < log.rows; from += STEP_ROWS) {
    const to = Math.min(log.rows, from + STEP_ROWS)
    const statement =
      dialect === 'sqlite'
        ? `INSERT INTO generation (${COLUMNS}) WITH RECURSIVE numbers (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${to}) SELECT ${rowSql(log)} FROM (SELECT n, n / 2 AS half FROM numbers)`
        : `INSERT INTO generation (${COLUMNS}) SELECT ${rowSql(log)} FROM (SELECT n, n / 2 AS half FROM generate_series(${from}::bigint, ${to - 1}::bigint) AS numbers (n)) AS halves`
    yield { to, statement }
  }
}

/**
 * The accounts and keys to which the rows refer; with `there`, the large account exists and only gets its keys and its
 * count.
 */
export function accountStatements(
  { rows, large, startMs }: FullLog,
  dialect: 'sqlite' | 'postgres',
  there = false,
): readonly string[] {
  const otherRows = Math.floor(rows / 2)
  const digest = (index: number): string => {
    const hex = index.toString(16).padStart(64, '0')
    return dialect === 'sqlite' ? `X'${hex}'` : `'\\x${hex}'`
  }
  const names = [
    ...(there ? [] : [large]),
    ...Array.from({ length: OTHER_ACCOUNTS }, (_value, index) => `acc_${index}`),
  ]
  const keys = [
    ...[0, 1, 2].map((index) => [`key_large_${index}`, large]),
    ...Array.from({ length: OTHER_ACCOUNTS }, (_value, index) => [`key_${index}`, `acc_${index}`]),
  ]
  const counts = (name: string): number =>
    name === large ? rows - otherRows : Math.ceil((otherRows - Number(name.slice(4))) / OTHER_ACCOUNTS)
  return [
    `INSERT INTO account (id, name, log_rows, created_at) VALUES ${names.map((name) => `('${name}', 'bench', ${counts(name)}, ${startMs})`).join(', ')}`,
    ...(there ? [`UPDATE account SET log_rows = ${counts(large)} WHERE id = '${large}'`] : []),
    ...keys.map(
      ([id, account], index) =>
        `INSERT INTO api_key (id, account_id, name, digest, label, created_at) VALUES ('${id}', '${account}', '${id?.replaceAll('_', ' ')}', ${digest(index)}, 'sk', ${startMs})`,
    ),
  ]
}

/** Writes the log into the embedded store of a directory that no server has open. */
export function fillEmbeddedLog(
  dataDir: string,
  log: FullLog,
  { there = false, told }: { readonly there?: boolean; readonly told?: (rows: number) => void } = {},
): void {
  const database = new DatabaseSync(join(dataDir, 'tollgate.db'))
  database.exec('PRAGMA synchronous=OFF; PRAGMA cache_size=-400000')
  for (const statement of accountStatements(log, 'sqlite', there)) database.exec(statement)
  for (const { to, statement } of rowStatements(log, 'sqlite')) {
    database.exec(statement)
    told?.(to)
  }
  if (there) sums(database, log)
  database.exec(
    `UPDATE rolled_up SET generation = (SELECT COALESCE(MAX(id), 0) FROM generation); PRAGMA wal_checkpoint(TRUNCATE)`,
  )
  database.close()
}

/** Writes the sums of the large account, since the roll-up reads days from holds, and these rows have none. */
function sums(database: DatabaseSync, { large }: FullLog): void {
  const own = `SELECT account_id, DATE(ended_at / 1000, 'unixepoch') AS day, key_id, model`
  const group = `FROM generation NOT INDEXED WHERE account_id = '${large}' GROUP BY account_id, day, key_id, model`
  const app = `CASE WHEN (seq - 1) % 4 = 0 THEN 'https://notes.example' ELSE '' END`
  database.exec(`INSERT INTO app_day (account_id, day, key_id, model, app, title, requests, errors, input_tokens, output_tokens, cost, last_at)
    ${own}, ${app} AS app, CASE WHEN (seq - 1) % 4 = 0 THEN 'Notes' END, COUNT(*), SUM(status = 'error'), SUM(input_tokens), SUM(output_tokens), SUM(cost), MAX(ended_at) ${group}, app`)
  database.exec(`INSERT INTO usage_day (account_id, day, key_id, model, provider, requests, input_tokens, output_tokens, revenue, provider_cost, insured, shortfall)
    ${own}, provider, COUNT(*), SUM(input_tokens), SUM(output_tokens), SUM(cost), SUM(provider_cost), 0, 0 ${group}, provider`)
}
