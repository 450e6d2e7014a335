import { sealedSelect, type BookSeal } from './audit/book-seal.ts'
import type { SealedTable } from './audit/columns.ts'
import { rowLock, type Database, type Sql, type SqlValue } from './database.ts'

/** The lock and the seal of a row. */
export interface Sealing {
  readonly dialect: Database['dialect']
  readonly seal: BookSeal
}

export interface RowChange {
  /** Such as `status = ?`. */
  readonly sets: readonly string[]
  readonly values: readonly SqlValue[]
  /** If it does not hold, nothing changes. */
  readonly where?: string
  readonly whereValues?: readonly SqlValue[]
}

/** Changes a row by its id and renews its seal, unless the seal was broken; answers how many rows changed, 0 or 1. */
export async function changeRow(
  sql: Sql,
  { dialect, seal }: Sealing,
  table: SealedTable,
  id: string,
  change: RowChange,
): Promise<number> {
  const { sets } = change
  const select = `SELECT ${sealedSelect(table)} FROM ${table} WHERE id = ?`
  const condition = change.where === undefined ? '' : ` AND ${change.where}`
  const lock = rowLock(dialect)
  const [before] = await sql.all(`${select}${condition}${lock}`, [id, ...(change.whereValues ?? [])])
  if (before === undefined) return 0
  await sql.run(`UPDATE ${table} SET ${sets.join(', ')} WHERE id = ?`, [...change.values, id])
  const [after = {}] = await sql.all(select, [id])
  await sql.run(`UPDATE ${table} SET seal = ? WHERE id = ?`, [seal.again(table, before, after), id])
  return 1
}
