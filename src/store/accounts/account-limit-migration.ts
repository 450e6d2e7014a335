/**
 * What all keys of an account may spend in a period, and what they have spent in its newest one. An older program could
 * not read these rows in the journal of an embedded store.
 */
export function accountLimitStatements(): readonly string[] {
  return [
    'spend_limit BIGINT CHECK (spend_limit >= 0)',
    "limit_reset TEXT CHECK (limit_reset IN ('daily','weekly','monthly'))",
    // The newest period that is counted, such as 'month 2026-11-01'.
    'limit_start TEXT',
    'limit_spent BIGINT NOT NULL DEFAULT 0 CHECK (limit_spent >= 0)',
    // Spent and held amounts above a lowered limit, and the period in which it was lowered.
    'limit_over BIGINT',
    'limit_over_start TEXT',
  ].map((column) => `ALTER TABLE account ADD COLUMN ${column}`)
}
