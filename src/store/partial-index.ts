import type { Database } from './database.ts'

/**
 * The condition `column = ?` for values that a partial index `WHERE column <> 'common'` covers completely. SQLite uses
 * the index only if the text repeats that condition. PostgreSQL derives it from the value; if it is repeated,
 * PostgreSQL takes the two for independent, expects a hundredth of the rows and sorts all of them instead of reading
 * the index in order.
 */
export function uncommon(dialect: Database['dialect'], column: string, common: string): string {
  return dialect === 'sqlite' ? `${column} <> '${common}' AND ${column} = ?` : `${column} = ?`
}
