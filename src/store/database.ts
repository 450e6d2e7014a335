import { ApiError } from '../base/errors.ts'

/**
 * A bound value. Money is always a bigint: a JS number binds as REAL in SQLite and loses the last digits of a large
 * balance.
 */
export type SqlValue = string | bigint | Uint8Array | null
export type Row = Readonly<Record<string, unknown>>

/** The statements of one connection. Placeholders are `?`, in order, in both dialects. */
export interface Sql {
  all(text: string, values?: readonly SqlValue[]): Promise<readonly Row[]>
  /** Returns the number of changed rows. */
  run(text: string, values?: readonly SqlValue[]): Promise<number>
}

export interface TransactionOptions {
  /**
   * `snapshot`: reads one state of the data without delaying other work. `migration`: changes the schema. Both take the
   * time that they need. `charge`: holds and their ends, which wait for no other work of this process. `note`: writes
   * data on which nothing depends, such as a time of use. `change`: a person's decision about an account, its keys and
   * its people. It is tried for longer, since it must be possible to switch off a key under load.
   */
  readonly purpose?: 'snapshot' | 'migration' | 'charge' | 'note' | 'change'
  /** For a migration: how long it waits for a busy table. */
  readonly lockMs?: number
}

export interface ReadOptions {
  /** Reads no amount that holds and settles change, so holds that wait to be written need not be written first. */
  readonly withoutAmounts?: boolean
  /** Finds a row by its key, again and again: it is planned once, and no report makes it wait for a connection. */
  readonly byKey?: boolean
}

/** Options for what each request needs before it is paid: the rules of a key and of its account. */
export const LOOK_UP: ReadOptions = { withoutAmounts: true, byKey: true }

/** Options for a decision about an account, its keys or its people. */
export const CHANGE: TransactionOptions = { purpose: 'change' }

/** A SQL database, embedded or PostgreSQL. */
export interface Database extends Sql {
  readonly dialect: 'sqlite' | 'postgres'
  /**
   * Grows with every write that is neither the ledger's nor a note, so that rows read at the same number are known to
   * be unchanged; null = other processes write too.
   */
  readonly coldWrites: number | null
  all(text: string, values?: readonly SqlValue[], options?: ReadOptions): Promise<readonly Row[]>
  /** Commits when `work` resolves, rolls back when it rejects. Durable when it resolves. */
  transaction<T>(work: (sql: Sql) => Promise<T>, options?: TransactionOptions): Promise<T>
  close(): Promise<void>
}

/** Reads one state of the data without delaying other work: for all accounts together there may be millions of rows. */
export function readBeside(
  database: Pick<Database, 'transaction'>,
  sqlText: string,
  values: readonly SqlValue[],
): Promise<readonly Row[]> {
  return database.transaction((sql) => sql.all(sqlText, values), { purpose: 'snapshot' })
}

/** Reads a column that the schema defines as a text. */
export function text(row: Row, column: string): string {
  const value = row[column]
  if (typeof value !== 'string') throw new TypeError(`Column ${column} is not a text.`)
  return value
}

export function textOrNull(row: Row, column: string): string | null {
  return row[column] === null || row[column] === undefined ? null : text(row, column)
}

/** Reads an integer; both drivers are set to return every integer as a bigint. */
export function big(row: Row, column: string): bigint {
  const value = row[column]
  if (typeof value !== 'bigint') throw new TypeError(`Column ${column} is not an integer.`)
  return value
}

export function bigOrNull(row: Row, column: string): bigint | null {
  return row[column] === null || row[column] === undefined ? null : big(row, column)
}

export function integer(row: Row, column: string): number {
  return Number(big(row, column))
}

export function integerOrNull(row: Row, column: string): number | null {
  const value = bigOrNull(row, column)
  return value === null ? null : Number(value)
}

export function json<T>(row: Row, column: string): T | null {
  const value = textOrNull(row, column)
  // The store itself wrote it, so it needs no validation.
  return value === null ? null : (JSON.parse(value) as T)
}

export function bytes(row: Row, column: string): Buffer {
  const value = row[column]
  if (!(value instanceof Uint8Array)) throw new TypeError(`Column ${column} is not a blob.`)
  return Buffer.from(value)
}

export function bit(value: boolean): bigint {
  return value ? 1n : 0n
}

/**
 * PostgreSQL refuses NUL in a text, and the embedded store would hold it until the store is copied there. The edge
 * names the request's field that has one; this refuses NUL that came another way.
 */
export function refuseNul(values: readonly SqlValue[]): void {
  for (const value of values)
    if (typeof value === 'string' && value.includes('\0'))
      throw new ApiError('invalid_input', 'A text holds the character NUL (U+0000), which the store cannot hold')
}
