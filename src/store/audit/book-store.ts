import { randomBytes } from 'node:crypto'
import type { KeyWrap } from '../../ledger/key-wrap.ts'
import { BookSeal, sealedSelect } from './book-seal.ts'
import { exactExcess, removedBefore } from './book-migration.ts'
import { recount } from '../row-count.ts'
import type { SealedTable } from './columns.ts'
import { bytes, text, type Database, type Row, type Sql, type SqlValue, rowLock } from '../database.ts'

const KEY_BYTES = 32
const PURPOSE = 'book'
/** Rows that are sealed in one step of an upgrade: their accounts wait a few milliseconds. */
const STEP_ROWS = 500n
/** A node that has not reported for this long is gone. */
const LIVE_MS = 15_000

/** Tables with rows that are older than seals, and the key by which they are read. */
const OLDER: readonly (readonly [SealedTable, string])[] = [
  ['account', 'id'],
  ['account_group', 'id'],
  ['api_key', 'id'],
  ['hold', 'id'],
  ['generation', 'id'],
  ['redeem_code', 'id'],
  ['payment_order', 'id'],
  ['payment_refund', 'id'],
  ['event_head', 'id'],
  ['job', 'id'],
  ['log_kept', 'id'],
  ['row_count', 'name'],
  ['catalog_version', 'version'],
]

interface Book {
  readonly key: Buffer
  readonly sealed: boolean
}

/**
 * Decrypts the key of the seals; a store without one gets one. Throws WrappingKeyError when the wrapping key is another
 * one.
 */
export async function openBooks(database: Database, wrap: KeyWrap, sealingSchema: number): Promise<Books> {
  const book = (await read(database, wrap)) ?? (await create(database, wrap))
  return new Books(database, wrap, new BookSeal(book.key), sealingSchema)
}

/** The key of the seals, and whether every row has a seal. */
export class Books {
  readonly seal: BookSeal
  readonly #database: Database
  readonly #wrap: KeyWrap
  readonly #sealingSchema: number

  constructor(database: Database, wrap: KeyWrap, seal: BookSeal, sealingSchema: number) {
    this.#database = database
    this.#wrap = wrap
    this.seal = seal
    this.#sealingSchema = sealingSchema
  }

  /** Once this is true a row without a seal is a violation. */
  async isSealed(sql: Sql): Promise<boolean> {
    return (await read(sql, this.#wrap))?.sealed ?? true
  }

  /**
   * Seals rows that an older program wrote, and records that under the wrapping key; does nothing when it is done
   * already, or while an older program still runs.
   */
  async sealOlder(): Promise<void> {
    if (await this.isSealed(this.#database)) return
    if (await this.#olderLives()) return
    // From now on no older program can start: it would write rows without seals.
    await this.#database.run('UPDATE schema_guard SET least = ? WHERE version = ? AND least < ?', [
      BigInt(this.#sealingSchema),
      BigInt(this.#sealingSchema),
      BigInt(this.#sealingSchema),
    ])
    if (await this.#olderLives()) return
    await this.#database.transaction((sql) => this.#takeStock(sql))
    if (this.#database.dialect === 'postgres')
      for (const statement of exactExcess('postgres'))
        await this.#database.transaction((sql) => sql.run(statement), { purpose: 'migration' })
    for (const [table, key] of OLDER) await this.#sealAll(table, key)
    await this.#write(true)
  }

  /** Encrypts the key of the seals with the first wrapping key. */
  async rewrap(): Promise<void> {
    await this.#write(null)
  }

  async #write(sealed: boolean | null): Promise<void> {
    await this.#database.transaction(async (sql) => {
      const lock = rowLock(this.#database.dialect)
      const book = await read(sql, this.#wrap, lock)
      if (book === null) return
      await sql.run('UPDATE book SET sealed_key = ? WHERE id = 1', [
        wrapped(this.#wrap, { key: book.key, sealed: sealed ?? book.sealed }),
      ])
    })
  }

  /** Whether an older program runs on another node, or did a moment ago. */
  async #olderLives(): Promise<boolean> {
    if (this.#database.dialect === 'sqlite') return false
    const rows = await this.#database.all(
      'SELECT id FROM node WHERE schema < ? AND seen_at > (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint - ?',
      [BigInt(this.#sealingSchema), BigInt(LIVE_MS)],
    )
    return rows.length > 0
  }

  /**
   * Records what an older program running beside this one did not: the end of the events, and the rows that it removed
   * from the log.
   */
  async #takeStock(sql: Sql): Promise<void> {
    if (this.#database.dialect === 'sqlite') return
    await sql.run('LOCK TABLE event IN EXCLUSIVE MODE')
    await sql.run(
      `UPDATE event_head SET hash = COALESCE((SELECT hash FROM event ORDER BY id DESC LIMIT 1), '') WHERE id = 1`,
    )
    await sql.run('DELETE FROM removed_day')
    await sql.run(removedBefore('postgres'))
    await recount(sql)
  }

  async #sealAll(table: SealedTable, column: string): Promise<void> {
    const lock = rowLock(this.#database.dialect)
    const columns = [...new Set([column, ...sealedSelect(table).split(', ')])].join(', ')
    let after: SqlValue | null = null
    for (;;) {
      const where: string = after === null ? '1 = 1' : `${column} > ?`
      const values: readonly SqlValue[] = [...(after === null ? [] : [after]), STEP_ROWS]
      const rows: readonly Row[] = await this.#database.transaction(async (sql) => {
        const found = await sql.all(
          `SELECT ${columns} FROM ${table} WHERE ${where} ORDER BY ${column} LIMIT ?${lock}`,
          values,
        )
        for (const row of found) {
          const seal = this.seal.ofRow(table, row)
          if (seal !== row['seal'])
            await sql.run(`UPDATE ${table} SET seal = ? WHERE ${column} = ?`, [seal, valueOf(row, column)])
        }
        return found
      })
      const last = rows.at(-1)
      if (last === undefined || rows.length < Number(STEP_ROWS)) return
      after = valueOf(last, column)
    }
  }
}

function valueOf(row: Row, column: string): SqlValue {
  const value = row[column]
  return typeof value === 'bigint' ? value : text(row, column)
}

async function read(sql: Sql, wrap: KeyWrap, lock = ''): Promise<Book | null> {
  const [row] = await sql.all(`SELECT sealed_key FROM book WHERE id = 1${lock}`)
  if (row === undefined) return null
  const plain = wrap.decrypt(bytes(row, 'sealed_key'), PURPOSE)
  return { key: plain.subarray(0, KEY_BYTES), sealed: plain[KEY_BYTES] === 1 }
}

function wrapped(wrap: KeyWrap, { key, sealed }: Book): Buffer {
  return wrap.encrypt(Buffer.concat([key, Buffer.from([sealed ? 1 : 0])]), PURPOSE)
}

/**
 * An empty store is sealed from the beginning. A store with seals whose key is lost is not sealed again: our rows can
 * no longer be told from changed ones, and the audit must report that.
 */
async function create(database: Database, wrap: KeyWrap): Promise<Book> {
  return database.transaction(async (sql) => {
    const [row] = await sql.all(
      `SELECT (SELECT COUNT(*) FROM account WHERE seal <> '') AS sealed, (SELECT COUNT(*) FROM account) + (SELECT COUNT(*) FROM event) AS rows`,
    )
    const made = { key: randomBytes(KEY_BYTES), sealed: row?.['rows'] === 0n || row?.['sealed'] !== 0n }
    await sql.run('INSERT INTO book (id, sealed_key) VALUES (1, ?) ON CONFLICT (id) DO NOTHING', [wrapped(wrap, made)])
    // Another node may have been first.
    const book = (await read(sql, wrap)) ?? made
    if (book.sealed) {
      if (row?.['rows'] === 0n) await sealEmpty(sql, new BookSeal(book.key))
    }
    return book
  })
}

/** Seals the rows that every store has from its schema on. */
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
