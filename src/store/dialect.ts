import type { Database, Sql } from './database.ts'

/** The dialect of SQL; the statements of this file differ between the two, all others are the same in both. */
export type Dialect = Database['dialect']

/**
 * The end of a SELECT whose rows must stay unchanged until the transaction ends. Rows that refer to them may still be
 * inserted: with FOR UPDATE, the check of a foreign key would wait, outside the common order of locks, and so end in a
 * deadlock.
 */
export const ROW_LOCK = ' FOR NO KEY UPDATE'

/** The statement for SQLite, which has no row locks: one process owns its embedded store. */
export function withoutLocks(statement: string): string {
  return statement.replaceAll(/ FOR (?:NO KEY )?UPDATE(?: SKIP LOCKED)?/g, '')
}

/**
 * The condition that a column is in a list of texts; the list is one parameter, as JSON. PostgreSQL looks up an array
 * in the index of the column; rows of a list it may join with the whole table, while its statistics know a few rows
 * only.
 */
export function listedIds(dialect: Dialect, column = 'id'): string {
  return dialect === 'sqlite'
    ? `${column} IN (SELECT value FROM json_each(?))`
    : `${column} = ANY (ARRAY(SELECT json_array_elements_text(?::json)))`
}

/** The same for a column of whole numbers. */
export function listedNumbers(dialect: Dialect, column: string): string {
  return dialect === 'sqlite'
    ? listedIds(dialect, column)
    : `${column} = ANY (ARRAY(SELECT json_array_elements_text(?::json)::bigint))`
}

/** The condition that a text contains the parameter as it is written; SQLite's LIKE takes `ANN` for `ann`. */
export function contains(dialect: Dialect, column: string): string {
  return `${dialect === 'sqlite' ? 'instr' : 'strpos'}(${column}, ?) > 0`
}

/** The rows of a list of objects, which is one parameter, as JSON; `jsonField` reads the fields of its column `value`. */
export function listedRows(dialect: Dialect): string {
  return dialect === 'sqlite' ? 'json_each(?)' : 'json_array_elements(?::json)'
}

/**
 * `listedIds` for the ids of a table whose rows will change. On PostgreSQL the same statement locks them, in the order
 * in which charges lock them: charges need no second round trip, and no deadlock arises.
 */
export function lockedIds(dialect: Dialect, table: string): string {
  const condition = listedIds(dialect)
  return `id IN (SELECT id FROM ${table} WHERE ${condition} ORDER BY id${ROW_LOCK})`
}

/**
 * The condition `column = ?` for values that a partial index `WHERE column <> 'common'` covers completely. SQLite uses
 * the index only if the text repeats that condition. PostgreSQL derives it from the value; if it is repeated,
 * PostgreSQL considers the two independent, expects a hundredth of the rows and sorts all of them instead of reading
 * the index in order.
 */
export function uncommon(dialect: Dialect, column: string, common: string): string {
  return dialect === 'sqlite' ? `${column} <> '${common}' AND ${column} = ?` : `${column} = ?`
}

/** SQLite does not know how rows are spread: it would prefer another index, and read all of them. */
export function indexHint(dialect: Dialect, index: string | null): string {
  return index === null || dialect === 'postgres' ? '' : ` INDEXED BY ${index}`
}

/** A field of a JSON object, as a text or a number. */
export function jsonField(dialect: Dialect, column: string, field: string): string {
  return dialect === 'sqlite' ? `json_extract(${column}, '$.${field}')` : `(${column}::json->>'${field}')`
}

/** Writers of the table wait for each other. On SQLite every transaction waits for the one before. */
export async function lockTable({ dialect }: Database, sql: Sql, table: string): Promise<void> {
  if (dialect === 'postgres') await sql.run(`LOCK TABLE ${table} IN EXCLUSIVE MODE`)
}
