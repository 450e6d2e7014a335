import { sealedSelect, type BookSeal } from './audit/book-seal.ts'
import type { SealedTable } from './audit/columns.ts'
import type { Sql, SqlValue } from './database.ts'
import { ROW_LOCK } from './dialect.ts'

/** The new values of columns; one that is undefined stays. */
export type RowChange = Readonly<Record<string, SqlValue | undefined>>

/** If it does not hold, nothing changes. */
export interface RowCondition {
  readonly where: string
  readonly values?: readonly SqlValue[]
}

/**
 * Changes a row by its id and renews its seal, unless the seal was broken; answers how many rows changed, 0 or 1. One
 * statement writes both: a row that its own transaction has written is checked again for its foreign keys, and that
 * check would lock the account after the key.
 */
export async function changeRow(
  sql: Sql,
  seal: BookSeal,
  table: SealedTable,
  id: string,
  change: RowChange,
  condition?: RowCondition,
): Promise<number> {
  const given = Object.entries(change).filter((pair): pair is [string, SqlValue] => pair[1] !== undefined)
  if (given.length === 0) return 0
  const where = condition === undefined ? '' : ` AND ${condition.where}`
  const select = `SELECT ${sealedSelect(table)} FROM ${table} WHERE id = ?${where}${ROW_LOCK}`
  const [before] = await sql.all(select, [id, ...(condition?.values ?? [])])
  if (before === undefined) return 0
  const sets = [...given.map(([column]) => `${column} = ?`), 'seal = ?']
  const after = seal.again(table, before, Object.fromEntries(given))
  await sql.run(`UPDATE ${table} SET ${sets.join(', ')} WHERE id = ?`, [...given.map(([, value]) => value), after, id])
  return 1
}
