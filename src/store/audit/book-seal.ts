import { hash, randomBytes } from 'node:crypto'
import type { KeyWrap } from '../../ledger/key-wrap.ts'
import { type Database, type Row, type Sql, type SqlValue, bytes, text } from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'
import { type SealedTable, sealedColumns } from './columns.ts'

/** 128 bits of the hash, in base64url. */
const SEAL_CHARS = 22

/**
 * The keyed hash of a row's columns. The store has its key only in encrypted form, so a person who reaches only the
 * database can change a row but not its seal. Two one-shot hashes with a key block each (HMAC's construction) cost half
 * as much as `createHmac`.
 */
export class BookSeal {
  readonly #inner: string
  readonly #outer: string

  constructor(key: Buffer) {
    const hex = key.toString('hex')
    // 64 characters: one block of SHA-256.
    this.#inner = hash('sha256', `seal inner ${hex}`, 'hex')
    this.#outer = hash('sha256', `seal outer ${hex}`, 'hex')
  }

  /** The seal of a table's sealed columns, given in their order. */
  of(table: SealedTable, values: readonly unknown[]): string {
    let length = values.length
    while (length > 0 && (values[length - 1] ?? null) === null) length -= 1
    let text: string = table
    // Each value is preceded by its length, so that no text runs into the next; JSON would escape every quotation mark
    // in a log row's details.
    for (let place = 0; place < length; place += 1) text += plain(values[place])
    return this.#keyed(text)
  }

  #keyed(text: string): string {
    return hash('sha256', this.#outer + hash('sha256', this.#inner + text, 'hex'), 'base64url').slice(0, SEAL_CHARS)
  }

  /**
   * The form in which providers see a name of an account: the same on every node, after a restart and under another
   * wrapping key, and impossible to guess without the seals' key. 22 characters of base64url.
   */
  outwardName(accountId: string, name: string): string {
    return this.#keyed(`outward name${plain(accountId)}${plain(name)}`)
  }

  /** The seal of a row that was read with these columns. */
  ofRow(table: SealedTable, row: Row): string {
    return this.of(
      table,
      sealedColumns(table).map((column) => row[column]),
    )
  }

  /**
   * The seal of a row after our change; empty = somebody else had changed the row, so that our change does not hide
   * theirs.
   */
  again(table: SealedTable, before: Row, changed: Row): string {
    return this.holds(table, before) ? this.ofRow(table, { ...before, ...changed }) : ''
  }

  /** Whether the row is the same as when it was sealed. */
  holds(table: SealedTable, row: Row): boolean {
    return row['seal'] === this.ofRow(table, row)
  }
}

function plain(value: unknown): string {
  if (value === null || value === undefined) return ' -'
  const text = value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)
  return ` ${text.length}:${text}`
}

/** A table's sealed columns and the seal, for a SELECT. */
export function sealedSelect(table: SealedTable): string {
  return [...sealedColumns(table), 'seal'].join(', ')
}

/** The indexes of a table's sealed columns in a list of its columns. */
export function sealedPlaces(table: SealedTable, columns: readonly string[]): readonly number[] {
  return sealedColumns(table).map((column) => {
    const place = columns.indexOf(column)
    if (place === -1) throw new Error(`Column ${column} of ${table} is sealed and not among those written.`)
    return place
  })
}

const KEY_BYTES = 32
const PURPOSE = 'book'

/**
 * Decrypts the key of the seals; a store without one gets one. Throws WrappingKeyError if the wrapping key is another
 * one.
 */
export async function openBooks(database: Database, wrap: KeyWrap): Promise<Books> {
  const key = (await read(database, wrap)) ?? (await create(database, wrap))
  return new Books(database, wrap, new BookSeal(key))
}

/** The key of the seals. */
export class Books {
  readonly seal: BookSeal
  readonly #database: Database
  readonly #wrap: KeyWrap

  constructor(database: Database, wrap: KeyWrap, seal: BookSeal) {
    this.#database = database
    this.#wrap = wrap
    this.seal = seal
  }

  /** Encrypts the key of the seals with the first wrapping key. */
  async rewrap(): Promise<void> {
    await this.#database.transaction(async (sql) => {
      const key = await read(sql, this.#wrap, ROW_LOCK)
      if (key === null) return
      await sql.run('UPDATE book SET sealed_key = ? WHERE id = 1', [this.#wrap.encrypt(key, PURPOSE)])
    })
  }
}

function valueOf(row: Row, column: string): SqlValue {
  const value = row[column]
  return typeof value === 'bigint' ? value : text(row, column)
}

async function read(sql: Sql, wrap: KeyWrap, lock = ''): Promise<Buffer | null> {
  const [row] = await sql.all(`SELECT sealed_key FROM book WHERE id = 1${lock}`)
  return row === undefined ? null : wrap.decrypt(bytes(row, 'sealed_key'), PURPOSE)
}

/**
 * Makes the key of the seals. An empty store is sealed from the beginning. A store with seals whose key is lost is not
 * sealed again: our rows could no longer be distinguished from changed ones, and the audit must report that.
 */
async function create(database: Database, wrap: KeyWrap): Promise<Buffer> {
  return database.transaction(async (sql) => {
    const made = randomBytes(KEY_BYTES)
    const isFirst = await sql.run('INSERT INTO book (id, sealed_key) VALUES (1, ?) ON CONFLICT (id) DO NOTHING', [
      wrap.encrypt(made, PURPOSE),
    ])
    // Another node may have been first.
    if (isFirst === 0) return (await read(sql, wrap)) ?? made
    await sealEmpty(sql, new BookSeal(made))
    return made
  })
}

/** Seals the rows that the schema itself makes in every store. */
export async function sealEmpty(sql: Sql, seal: BookSeal): Promise<void> {
  for (const [table, column] of [
    ['event_head', 'id'],
    ['log_kept', 'id'],
    ['row_count', 'name'],
  ] as const) {
    for (const row of await sql.all(`SELECT ${sealedSelect(table)} FROM ${table} WHERE seal = ''`)) {
      await sql.run(`UPDATE ${table} SET seal = ? WHERE ${column} = ?`, [seal.ofRow(table, row), valueOf(row, column)])
    }
  }
}
