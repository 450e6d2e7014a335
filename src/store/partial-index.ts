import type { Database } from './database.ts'

/**
 * The condition `column = ?` for values of which a partial index `WHERE column <> 'common'` has every row. SQLite takes
 * the index only where the text says so too. PostgreSQL proves it from the value; said twice, it takes the two for
 * independent, expects a hundredth of the rows and sorts all of them instead of reading the index in order.
 */
export function uncommon(dialect: Database['dialect'], column: string, common: string): string {
  return dialect === 'sqlite' ? `${column} <> '${common}' AND ${column} = ?` : `${column} = ?`
}
