import { ownValue } from '../base/own-value.ts'
import { sealedSelect, type BookSeal } from './audit/book-seal.ts'
import type { SealedTable } from './audit/columns.ts'
import {
  big,
  bigOrNull,
  bit,
  bytes,
  integer,
  integerOrNull,
  json,
  text,
  textOrNull,
  type Database,
  type ReadOptions,
  type Row,
  type Sql,
  type SqlValue,
} from './database.ts'
import { ROW_LOCK } from './dialect.ts'

/** A column as a field of a record: how it is read and written. */
interface Column<T> {
  readonly name: string
  /** An expression that replaces the column in a SELECT; such a field is not written. */
  readonly sql: string | undefined
  read(row: Row, name: string): T
  write(value: T): SqlValue
}

type Columns = Readonly<Record<string, Column<unknown>>>
type ValueOf<C> = C extends Column<infer T> ? T : never
type Read<C extends Columns> = { readonly [K in keyof C]: ValueOf<C[K]> }
/** The record type of a table's rows. */
export type RecordOf<R> = R extends Rows<infer C> ? Read<C> : never

/** Columns with their values; one that is undefined is left out. */
export type Cells = Readonly<Record<string, SqlValue | undefined>>

/** `of` is the table's alias in the query; `prefix` comes before the names of its columns in the result, for joins. */
interface Naming {
  readonly of?: string
  readonly prefix?: string
}

/** The record that a table's rows are read as: each field with its column, in one place. */
export class Rows<C extends Columns> {
  /** The columns of a SELECT. */
  readonly list: string
  readonly from: string
  /** The columns that are written. */
  readonly names: readonly string[]
  readonly #entries: readonly (readonly [field: string, name: string, column: Column<unknown>])[]

  constructor(table: string, columns: C, { of, prefix = '' }: Naming = {}) {
    const letter = of === undefined ? '' : `${of}.`
    this.from = of === undefined ? table : `${table} ${of}`
    this.#entries = Object.entries(columns).map(([field, one]) => [field, prefix + one.name, one])
    this.names = Object.values(columns).flatMap((one) => (one.sql === undefined ? [one.name] : []))
    this.list = this.#entries
      .map(
        ([, name, own]) =>
          (own.sql === undefined ? `${letter}${own.name}` : own.sql) +
          (own.sql === undefined && prefix === '' ? '' : ` AS ${name}`),
      )
      .join(', ')
  }

  read(row: Row): Read<C> {
    const record: Record<string, unknown> = {}
    for (const [field, name, own] of this.#entries) record[field] = own.read(row, name)
    // The loop has set each field from its column.
    return record as Read<C>
  }

  /** `rest`: what follows the table's name in the statement. */
  async all(
    sql: Pick<Database, 'all'>,
    rest: string,
    values: readonly SqlValue[] = [],
    options?: ReadOptions,
  ): Promise<readonly Read<C>[]> {
    const [columns, table] = [this.list, this.from]
    const rows = await sql.all(`SELECT ${columns} FROM ${table} ${rest}`, values, options)
    return rows.map((row) => this.read(row))
  }

  /** null = no row matches. */
  async one(...query: Parameters<Rows<C>['all']>): Promise<Read<C> | null> {
    return (await this.all(...query))[0] ?? null
  }

  /** The given fields as columns to write. */
  cells(fields: { readonly [K in keyof C]?: ValueOf<C[K]> | undefined }): Cells {
    const cells: Record<string, SqlValue> = {}
    for (const [field, , own] of this.#entries) {
      const value = ownValue<unknown>(fields, field)
      if (value !== undefined && own.sql === undefined) cells[own.name] = own.write(value)
    }
    return cells
  }
}

const kind =
  <T>(read: (row: Row, name: string) => T, write: (value: T) => SqlValue) =>
  (name: string, sql?: string): Column<T> => ({ name, sql, read, write })

const asIs = (value: SqlValue): SqlValue => value

/** Kinds of columns. A text may have a narrower type if a CHECK, or its only writer, allows no other words. */
export const column = {
  text: <T extends string = string>(name: string, sql?: string): Column<T> =>
    kind<T>((row, own) => text(row, own) as T, asIs)(name, sql),
  textOrNull: <T extends string = string>(name: string, sql?: string): Column<T | null> =>
    kind<T | null>((row, own) => textOrNull(row, own) as T | null, asIs)(name, sql),
  integer: kind(integer, BigInt),
  integerOrNull: kind(integerOrNull, bigintOrNull),
  big: kind(big, asIs),
  bigOrNull: kind(bigOrNull, asIs),
  flag: kind((row, name) => big(row, name) !== 0n, bit),
  bytes: kind(bytes, asIs),
  bytesOrNull: kind((row, name) => (row[name] === null ? null : bytes(row, name)), asIs),
  /** The store wrote the JSON itself, so it needs no validation. */
  json: <T>(name: string): Column<T> => kind<T>((row, own) => JSON.parse(text(row, own)) as T, JSON.stringify)(name),
  jsonOrNull: <T>(name: string): Column<T | null> => kind<T | null>(json<T>, jsonText)(name),
} as const

export function bigintOrNull(value: number | null): bigint | null {
  return value === null ? null : BigInt(value)
}

export function jsonText(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value)
}

function givenOf(cells: Cells): readonly (readonly [string, SqlValue])[] {
  return Object.entries(cells).filter((pair): pair is [string, SqlValue] => pair[1] !== undefined)
}

/** A statement with its values. */
export type Statement = readonly [text: string, values: readonly SqlValue[]]

/** Adds a row. `conflict`: the clause for a row that exists already. */
export function insertion(table: string, cells: Cells, conflict = ''): Statement {
  const given = givenOf(cells)
  const names = given.map(([name]) => name)
  const marks = names.map(() => '?').join(',')
  return [`INSERT INTO ${table} (${names.join(', ')}) VALUES (${marks})${conflict}`, given.map(([, value]) => value)]
}

/** The same with its seal, for which a missing column is null. */
export function sealedInsertion(seal: BookSeal, table: SealedTable, cells: Cells, conflict = ''): Statement {
  return insertion(table, { ...cells, seal: seal.ofRow(table, cells) }, conflict)
}

/** Returns how many rows were added. */
export function insertRow(sql: Pick<Sql, 'run'>, ...row: Parameters<typeof insertion>): Promise<number> {
  return sql.run(...insertion(...row))
}

export function insertSealed(sql: Pick<Sql, 'run'>, ...row: Parameters<typeof sealedInsertion>): Promise<number> {
  return sql.run(...sealedInsertion(...row))
}

/** Changes rows by id; returns their number. */
export async function updateRow(sql: Pick<Sql, 'run'>, table: string, id: string, cells: Cells): Promise<number> {
  const given = givenOf(cells)
  if (given.length === 0) return 0
  const sets = given.map(([name]) => `${name} = ?`)
  return sql.run(`UPDATE ${table} SET ${sets.join(', ')} WHERE id = ?`, [...given.map(([, value]) => value), id])
}

const CHANGED_PAGE = 100n

/**
 * Changes rows one by one, a hundred in each transaction; returns their number. `select` ends with `id > ? ORDER BY id
 * LIMIT ?`.
 */
export async function changeEach(
  database: Database,
  select: string,
  change: (sql: Sql, row: Row) => Promise<unknown>,
): Promise<number> {
  for (let after = '', count = 0; ;) {
    const ids = await database.transaction(async (sql) => {
      const rows = await sql.all(select, [after, CHANGED_PAGE])
      for (const row of rows) await change(sql, row)
      return rows.map((row) => text(row, 'id'))
    })
    count += ids.length
    after = ids.at(-1) ?? after
    if (ids.length < Number(CHANGED_PAGE)) return count
  }
}

/** If it is not met, nothing changes. */
export interface RowCondition {
  readonly where: string
  readonly values?: readonly SqlValue[]
}

/**
 * Changes a row by its id and renews its seal, unless the seal was broken; returns how many rows changed, 0 or 1. One
 * statement writes both: if a transaction writes a row twice, PostgreSQL checks its foreign keys again, and that check
 * would lock the account after the key.
 */
export async function changeRow(
  sql: Sql,
  seal: BookSeal,
  table: SealedTable,
  id: string,
  cells: Cells,
  condition?: RowCondition,
): Promise<number> {
  const given = givenOf(cells)
  if (given.length === 0) return 0
  const where = condition === undefined ? '' : ` AND ${condition.where}`
  const select = `SELECT ${sealedSelect(table)} FROM ${table} WHERE id = ?${where}${ROW_LOCK}`
  const [before] = await sql.all(select, [id, ...(condition?.values ?? [])])
  if (before === undefined) return 0
  return updateRow(sql, table, id, { ...cells, seal: seal.again(table, before, Object.fromEntries(given)) })
}
