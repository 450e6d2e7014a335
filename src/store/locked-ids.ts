import type { Database } from './database.ts'

/**
 * A condition for the ids of a JSON list, in one parameter. On PostgreSQL it locks their rows in the order in which
 * charges lock them, in the same statement that changes them: charges wait for no second round trip, and no deadlock
 * arises.
 */
export function lockedIds(dialect: Database['dialect'], table: string): string {
  const condition = listedIds(dialect)
  return dialect === 'sqlite' ? condition : `id IN (SELECT id FROM ${table} WHERE ${condition} ORDER BY id FOR UPDATE)`
}

/** The same without a lock, to read. */
export function listedIds(dialect: Database['dialect']): string {
  return dialect === 'sqlite'
    ? 'id IN (SELECT value FROM json_each(?))'
    : 'id IN (SELECT json_array_elements_text(?::json))'
}
