import type { Database } from '../database.ts'

const SEALED = [
  'account',
  'api_key',
  'hold',
  'generation',
  'redeem_code',
  'payment_order',
  'job',
  'log_kept',
  'catalog_version',
]
/** Tables whose rows are counted under a seal, since nothing else shows that a row was removed. */
export const COUNTED = ['account', 'api_key', 'redeem_code', 'payment_order', 'catalog_version']
const SUMS =
  'requests BIGINT NOT NULL, input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL, revenue BIGINT NOT NULL, provider_cost BIGINT NOT NULL, insured BIGINT NOT NULL, shortfall BIGINT NOT NULL'

/**
 * Seals of rows, signed ends of chains, sums of removed rows, and closed months. An empty seal has not been made yet.
 */
export function bookStatements(
  dialect: Database['dialect'],
  { blob, clustered }: { readonly blob: string; readonly clustered: string },
): readonly string[] {
  return [
    ...SEALED.map((table) => `ALTER TABLE ${table} ADD COLUMN seal TEXT NOT NULL DEFAULT ''`),
    // The first day that is not in a closed month; empty = no month is closed.
    `ALTER TABLE account ADD COLUMN open_day TEXT NOT NULL DEFAULT ''`,
    // The day of a charge in statements; empty = the day of the hold.
    `ALTER TABLE hold ADD COLUMN booked TEXT NOT NULL DEFAULT ''`,
    // Spent and held amounts above a lowered limit, and the period in which it was lowered, such as 'month 2026-11-01'.
    'ALTER TABLE api_key ADD COLUMN limit_over BIGINT',
    'ALTER TABLE api_key ADD COLUMN limit_over_start TEXT',
    ...(dialect === 'sqlite' ? exactExcess(dialect) : []),
    `CREATE TABLE row_count (name TEXT PRIMARY KEY, rows BIGINT NOT NULL, seal TEXT NOT NULL)${clustered}`,
    ...COUNTED.map((table) => `INSERT INTO row_count SELECT '${table}', COUNT(*), '' FROM ${table}`),
    `CREATE TABLE book (id BIGINT PRIMARY KEY CHECK (id = 1), sealed_key ${blob} NOT NULL)`,
    `CREATE TABLE event_head (id BIGINT PRIMARY KEY CHECK (id = 1), hash TEXT NOT NULL, seal TEXT NOT NULL)`,
    `INSERT INTO event_head SELECT 1, COALESCE((SELECT hash FROM event ORDER BY id DESC LIMIT 1), ''), ''`,
    `CREATE TABLE removed_day (
      account_id TEXT NOT NULL, day TEXT NOT NULL, key_id TEXT NOT NULL, model TEXT NOT NULL, provider TEXT NOT NULL, ${SUMS},
      PRIMARY KEY (account_id, day, key_id, model, provider))${clustered}`,
    ...(dialect === 'sqlite' ? [removedBefore(dialect)] : []),
    `CREATE TABLE booked_later (
      account_id TEXT NOT NULL, booked TEXT NOT NULL, placed TEXT NOT NULL, model TEXT NOT NULL, requests BIGINT NOT NULL, amount BIGINT NOT NULL,
      PRIMARY KEY (account_id, booked, placed, model))${clustered}`,
    `CREATE TABLE statement_month (
      account_id TEXT NOT NULL REFERENCES account(id), month TEXT NOT NULL, timezone TEXT NOT NULL, ends_at BIGINT NOT NULL, last_entry BIGINT NOT NULL, opening BIGINT NOT NULL, closing BIGINT NOT NULL,
      closed_at BIGINT NOT NULL, seal TEXT NOT NULL, PRIMARY KEY (account_id, month))${clustered}`,
    ...(dialect === 'postgres' ? ['ALTER TABLE node ADD COLUMN schema BIGINT NOT NULL DEFAULT 0'] : []),
  ]
}

const PERIOD = `CASE k.limit_reset WHEN 'daily' THEN 'day' WHEN 'weekly' THEN 'week' WHEN 'monthly' THEN 'month' ELSE 'total' END`

/**
 * An older program adds what a lowered limit left to its period's excess, where it cannot be told from other amounts.
 * This moves it to the key, so that the excess is only what charges took beyond their holds. On PostgreSQL it waits
 * until no older program runs.
 */
export function exactExcess(dialect: Database['dialect']): readonly string[] {
  // Charges that the embedded store's sums do not have yet follow with them.
  const summed =
    dialect === 'sqlite'
      ? ' AND NOT EXISTS (SELECT 1 FROM generation g WHERE g.generation_id = hold.id AND g.id > (SELECT generation FROM rolled_up))'
      : ''
  const beyond = beyondHolds(summed)
  return [
    `UPDATE api_key SET limit_over = o.excess, limit_over_start = o.place FROM (SELECT k.id AS id, s.excess AS excess, s.period || ' ' || s.start AS place FROM api_key k
      JOIN key_spend s ON s.key_id = k.id AND s.period = ${PERIOD} WHERE k.spend_limit IS NOT NULL AND s.excess > 0
        AND s.start = (SELECT MAX(n.start) FROM key_spend n WHERE n.key_id = k.id AND n.period = s.period)) AS o WHERE o.id = api_key.id`,
    `UPDATE key_spend SET excess = b.beyond FROM (${beyond}) AS b
      WHERE b.key_id = key_spend.key_id AND b.period = key_spend.period AND b.start = key_spend.start AND b.beyond <> key_spend.excess`,
    // No charge was made in these.
    'UPDATE key_spend SET excess = 0 WHERE spent = 0 AND excess <> 0',
  ]
}

/** The sum of charges of each key and period, and what they took beyond their holds. */
export function beyondHolds(condition = ''): string {
  const beyond = `CASE WHEN state = 'settled_late' THEN charged WHEN charged > amount THEN charged - amount ELSE 0 END`
  return ['total', 'day', 'week', 'month']
    .map((period) => {
      const start = period === 'total' ? `''` : period
      return `SELECT key_id, '${period}' AS period, ${start} AS start, COUNT(*) AS charges, CAST(SUM(${beyond}) AS BIGINT) AS beyond
      FROM hold WHERE state IN ('settled', 'settled_late')${condition} GROUP BY key_id${period === 'total' ? '' : `, ${period}`}`
    })
    .join(' UNION ALL ')
}

/**
 * The sums of rows that retention removed before it counted them: the day sums without the existing rows. For a log
 * that lost nothing, nothing is read. On PostgreSQL it waits until no older program removes rows at the same time.
 */
export function removedBefore(dialect: Database['dialect']): string {
  const names = ['requests', 'input_tokens', 'output_tokens', 'revenue', 'provider_cost', 'insured', 'shortfall']
  const condition = dialect === 'sqlite' ? 'AND g.id <= (SELECT generation FROM rolled_up)' : ''
  return `INSERT INTO removed_day (account_id, day, key_id, model, provider, ${names.join(', ')})
    SELECT account_id, day, key_id, model, provider, ${names.map((name) => `SUM(${name})`).join(', ')} FROM (
      SELECT account_id, day, key_id, model, provider, ${names.join(', ')} FROM usage_day WHERE (SELECT MAX(before_at) FROM log_kept) > 0
      UNION ALL SELECT g.account_id, h.day, g.key_id, g.model, COALESCE(g.provider, ''), -1, -g.input_tokens, -g.output_tokens, -g.cost, -g.provider_cost, -g.insured, -g.shortfall
        FROM generation g JOIN hold h ON h.id = g.generation_id WHERE (SELECT MAX(before_at) FROM log_kept) > 0 ${condition}
    ) AS sums GROUP BY account_id, day, key_id, model, provider HAVING SUM(requests) <> 0`
}
