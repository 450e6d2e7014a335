import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { OperatorError } from '../base/errors.ts'
import type { KeyWrap } from '../ledger/key-wrap.ts'
import { systemClock } from '../base/clock.ts'
import { openBooks } from './audit/book-seal.ts'
import { big, text, type Row, type Sql, type SqlValue } from './database.ts'
import { readFileRow } from './files/file-store.ts'
import { LogUpkeep } from './log/upkeep.ts'
import { migrate } from './migrations.ts'
import { ChunkBytes } from './postgres/chunk-bytes.ts'
import { PostgresDatabase } from './postgres/database.ts'
import { refuseUnfit } from './open.ts'
import { SqliteDatabase } from './sqlite/database.ts'
import { DiskBytes } from './sqlite/disk-bytes.ts'
import { JournalFileBytes } from './sqlite/row-journal.ts'
import { SqliteLedger } from './sqlite/ledger.ts'

export interface CopyReport {
  readonly tables: number
  readonly rows: number
  readonly files: number
  /** Rows of files whose bytes are no longer on the disk; the copy does not have them either. */
  readonly missing: number
}

export interface CopyOptions {
  readonly dataDir: string
  readonly databaseUrl: string
  /** Decrypts the key of the seals in both stores. */
  readonly keyWrap: KeyWrap
}

/** Tables that each store has only for itself: versions of its schema, and how far the embedded store has got. */
const OWN = ['schema_version', 'rolled_up', 'row_journal']
/** The rows of one statement: the widest table makes some ten thousand values, of which at most 65,535 are allowed. */
const BATCH_ROWS = 400
const ROW_NAME_CHARS_MAX = 100
const OPEN_HOLDS = `SELECT COUNT(*) AS rows FROM hold WHERE state = 'open' AND id NOT IN (SELECT id FROM job)`

/**
 * Copies the embedded store into an empty PostgreSQL database: every row in one transaction, each compared with what
 * was written, after the bytes of stored files. Throws an OperatorError if the database is not empty, or if a killed
 * server has left open holds; throws StoreBusyError while a server has the embedded store open.
 */
export async function copyStore({ dataDir, databaseUrl, keyWrap }: CopyOptions): Promise<CopyReport> {
  const source = new SqliteDatabase(dataDir)
  try {
    await migrate(source)
    const { seal } = await openBooks(source, keyWrap)
    new SqliteLedger(source, seal, new JournalFileBytes(dataDir)).open()
    await refuseOpenHolds(source)
    const target = new PostgresDatabase(databaseUrl)
    try {
      await refuseUnfit(target, databaseUrl)
      await migrate(target)
      await refuseUsed(target)
      await makeRoom(source, target, new LogUpkeep(target, seal))
      const { files, missing } = await copyFiles(source, target, join(dataDir, 'files'))
      const tables = await tablesOf(source)
      const rows = await target.transaction((sql) => copyTables(source, sql, tables, new Set(missing)), {
        purpose: 'migration',
      })
      return { tables: tables.length, rows, files, missing: missing.length }
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

/**
 * Refuses a store with open holds: the next start of the embedded store ends them, but on PostgreSQL they would expire
 * and leave no row in the log.
 */
async function refuseOpenHolds(source: SqliteDatabase): Promise<void> {
  const [open = {}] = await source.all(OPEN_HOLDS)
  if (big(open, 'rows') > 0n)
    throw new OperatorError(
      `${big(open, 'rows')} holds are open, because the server was killed: start it on the embedded store, stop it, and copy then.`,
    )
}

async function refuseUsed(target: PostgresDatabase): Promise<void> {
  for (const table of ['account', 'catalog_version', 'console_user', 'event']) {
    const [row] = await target.all(`SELECT 1 AS used FROM ${table} LIMIT 1`)
    if (row !== undefined)
      throw new OperatorError(`The database of DATABASE_URL is in use: its table ${table} has rows. Name an empty one.`)
  }
}

/** Makes partitions of the log for all row numbers in use. */
async function makeRoom(source: SqliteDatabase, target: PostgresDatabase, upkeep: LogUpkeep): Promise<void> {
  const [newest = {}] = await source.all('SELECT COALESCE(MAX(id), 0) AS id FROM generation')
  await target.all(`SELECT setval('generation_number', ?, false)`, [big(newest, 'id') + 1n])
  await upkeep.makeRoom()
}

/** Copies the bytes of files. If a copy fails, the next one overwrites them. */
async function copyFiles(
  source: SqliteDatabase,
  target: PostgresDatabase,
  directory: string,
): Promise<{ readonly files: number; readonly missing: readonly string[] }> {
  const [from, to] = [new DiskBytes(directory), new ChunkBytes(target, systemClock)]
  const missing: string[] = []
  const rows = (await source.all('SELECT * FROM stored_file')).map(readFileRow)
  for (const row of rows) {
    await to.remove(row.content)
    await to.write(row.content, from.read(row, 0, Math.max(0, row.bytes - 1))).catch((thrown: unknown) => {
      if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT')) throw thrown
      missing.push(row.content)
    })
  }
  return { files: rows.length - missing.length, missing }
}

interface Table {
  readonly name: string
  readonly columns: readonly string[]
}

/** The tables in an order in which a table comes before those that refer to it. */
async function tablesOf(source: SqliteDatabase): Promise<readonly Table[]> {
  const names = (
    await source.all(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name`)
  ).map((row) => text(row, 'name'))
  const ordered = new Map<string, Table>()
  const add = async (name: string): Promise<void> => {
    if (ordered.has(name) || OWN.includes(name)) return
    const parents = await source.all('SELECT DISTINCT "table" AS parent FROM pragma_foreign_key_list(?)', [name])
    for (const row of parents) if (text(row, 'parent') !== name) await add(text(row, 'parent'))
    const columns = await source.all('SELECT name FROM pragma_table_info(?) ORDER BY cid', [name])
    ordered.set(name, { name, columns: columns.map((row) => text(row, 'name')) })
  }
  for (const name of names) await add(name)
  return [...ordered.values()]
}

async function copyTables(
  source: SqliteDatabase,
  sql: Sql,
  tables: readonly Table[],
  missing: ReadonlySet<string>,
): Promise<number> {
  let copied = 0
  for (const one of tables) {
    const { name: table } = one
    const columns = one.columns.join(', ')
    // Migrations have written some rows.
    await sql.run(`DELETE FROM ${table}`)
    let batch: Row[] = []
    for (const row of source.prepare(`SELECT ${columns} FROM ${table}`).iterate()) {
      if (table === 'stored_file' && missing.has(text(row, 'content'))) continue
      batch.push(row)
      if (batch.length < BATCH_ROWS) continue
      copied += await insert(sql, one, batch)
      batch = []
    }
    copied += await insert(sql, one, batch)
    await goOnAfter(sql, table)
  }
  return copied
}

/** Returns the number of rows. */
async function insert(sql: Sql, { name: table, columns: names }: Table, rows: readonly Row[]): Promise<number> {
  if (rows.length === 0) return 0
  const columns = names.join(', ')
  const marks = rows.map(() => `(${names.map(() => '?').join(',')})`).join(',')
  for (const row of rows) refuseNulRow(table, names, row)
  const valuesOf = (row: Row): readonly SqlValue[] => names.map((name) => valueOf(row, name))
  const values = rows.map(valuesOf)
  const written = await sql.all(
    `INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE VALUES ${marks} RETURNING ${columns}`,
    values.flat(),
  )
  if (!isDeepStrictEqual(written.map(valuesOf), values))
    throw new OperatorError(`PostgreSQL has changed rows of ${table} while it wrote them: nothing was copied.`)
  return rows.length
}

/** Tables whose rows the hash chains and seals verify. */
const FINAL_TABLES: ReadonlySet<string> = new Set(['entry', 'event', 'generation'])

/** Refuses NUL, which the embedded store can hold in a text but PostgreSQL cannot. */
function refuseNulRow(table: string, columns: readonly string[], row: Row): void {
  const column = columns.find((name) => {
    const value = row[name]
    return typeof value === 'string' && value.includes('\0')
  })
  if (column === undefined) return
  const id = JSON.stringify(String(row[columns[0] ?? ''])).slice(0, ROW_NAME_CHARS_MAX)
  throw new OperatorError(
    `Row ${columns[0]} = ${id} of table ${table} holds the character NUL in its column ${column}, which PostgreSQL cannot hold: nothing was copied. ${FINAL_TABLES.has(table) ? 'Such a row is never changed, so this store stays an embedded one' : 'Change it on the embedded store, and copy then'}.`,
  )
}

function valueOf(row: Row, column: string): SqlValue {
  const value = row[column]
  if (value === null || typeof value === 'string' || typeof value === 'bigint') return value
  if (value instanceof Uint8Array) return Buffer.from(value)
  throw new TypeError(`Column ${column} has a value of no known type.`)
}

/** Makes the numbers that the database assigns continue after the copied ones. */
async function goOnAfter(sql: Sql, table: string): Promise<void> {
  const [identity] = await sql.all(
    `SELECT column_name AS name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ? AND is_identity = 'YES'`,
    [table],
  )
  if (identity === undefined) return
  const column = text(identity, 'name')
  const [most = {}] = await sql.all(`SELECT COALESCE(MAX(${column}), 0) AS most FROM ${table}`)
  await sql.all('SELECT setval(pg_get_serial_sequence(?, ?), ?, false)', [table, column, big(most, 'most') + 1n])
}
