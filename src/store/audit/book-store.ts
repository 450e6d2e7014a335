import { randomBytes } from 'node:crypto'
import type { KeyWrap } from '../../ledger/key-wrap.ts'
import { BookSeal, sealedSelect } from './book-seal.ts'
import { bytes, text, type Database, type Row, type Sql, type SqlValue } from '../database.ts'
import { ROW_LOCK } from '../dialect.ts'

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
