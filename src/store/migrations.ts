import { createHash, randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { OperatorError } from '../base/errors.ts'
import { big, text, type Database, type Sql } from './database.ts'
import { LATER, type Migration } from './later-migrations.ts'
import { LockHeldError } from './postgres/database.ts'
import { StoreUnavailableError } from '../ledger/ledger-store.ts'

const BASELINE = {
  sqlite: new URL('./sqlite-schema.sql', import.meta.url),
  postgres: new URL('./postgres-schema.sql', import.meta.url),
} as const
/** Only the beginning of a statement is not indented. */
const BETWEEN_STATEMENTS = /;\n(?! )/

function migrations(dialect: Database['dialect'], later: readonly Migration[]): readonly Step[] {
  const statements = readFileSync(BASELINE[dialect], 'utf8')
    .replaceAll(/^ *--.*\n/gm, '')
    .split(BETWEEN_STATEMENTS)
    .filter((statement) => statement.trim() !== '')
  return [
    { version: 1, name: 'baseline', least: 1, statements },
    ...later.map((one) => ({ ...one, least: one.least ?? one.version, statements: one.statements[dialect] })),
  ]
}

interface Step {
  readonly version: number
  readonly name: string
  readonly least: number
  readonly statements: readonly string[]
}

/** An arbitrary advisory lock number that no other program uses in this database. */
const MIGRATION_LOCK = 7_465_617_204n

/**
 * How long a migration waits for a busy table: in the first try, the second and so on, then from the first again. All
 * others wait behind the migration meanwhile, a charge up to a second. Short waits help when transactions wait for each
 * other behind the migration, long ones when one transaction is slow.
 */
const WAITS_MS = [200, 400, 600, 800]
/** Pause before checking again whether another process has migrated. */
const LOOK_MS = 250
const PATIENCE_MS = 60_000

class MigratingElsewhereError extends OperatorError {
  override readonly name = 'MigratingElsewhereError'
}

/**
 * Brings the schema to this version, forward only, each migration in its own transaction; `later` are those after the
 * baseline. Throws an OperatorError for a schema that this program is too old for, for one whose migrations differ from
 * this program's, and for a table that stays busy for a minute.
 */
export async function migrate(database: Database, later = LATER): Promise<void> {
  const steps = migrations(database.dialect, later)
  const apart = (step: (sql: Sql) => Promise<void>): Promise<void> =>
    patiently((lockMs) => database.transaction(step, { purpose: 'migration', lockMs }))
  await apart((sql) => begin(database, sql, steps))
  for (const step of steps) await apart((sql) => apply(database, sql, step))
}

/**
 * A statement that waits for a busy table blocks all later ones, so it soon gives up, pauses for about as long to let
 * them through, and tries again. A starting node waits while another one migrates, and blocks nothing.
 */
async function patiently(work: (lockMs: number) => Promise<void>): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS
  for (let tries = 0; ;) {
    let pauseMs = WAITS_MS[tries % WAITS_MS.length] ?? LOOK_MS
    try {
      return await work(pauseMs)
    } catch (thrown) {
      if (!isBusy(thrown) || performance.now() > untilMs) throw thrown
      if (thrown instanceof MigratingElsewhereError) pauseMs = LOOK_MS
      else tries += 1
    }
    await delay(pauseMs * (0.5 + randomInt(50) / 100))
  }
}

function isBusy(thrown: unknown): boolean {
  if (thrown instanceof MigratingElsewhereError || thrown instanceof LockHeldError) return true
  const cause: unknown = thrown instanceof StoreUnavailableError ? thrown.cause : null
  return cause instanceof Error && 'code' in cause && cause.code === '55P03'
}

/** One process migrates at a time. On SQLite the transaction itself is exclusive. */
async function lock({ dialect }: Database, sql: Sql): Promise<void> {
  if (dialect === 'sqlite') return
  const [row] = await sql.all('SELECT pg_try_advisory_xact_lock(?)::int::bigint AS taken', [MIGRATION_LOCK])
  if (row === undefined || big(row, 'taken') === 0n)
    throw new MigratingElsewhereError('Another process migrates the database.')
}

async function begin(database: Database, sql: Sql, steps: readonly Step[]): Promise<void> {
  // The lock comes before the first table: CREATE TABLE IF NOT EXISTS fails when two processes run it at once.
  await lock(database, sql)
  await sql.run(
    'CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY, name TEXT NOT NULL, least BIGINT NOT NULL, checksum TEXT NOT NULL)',
  )
  const newest = steps.length
  for (const row of await sql.all('SELECT version, least, checksum FROM schema_version ORDER BY version')) {
    const version = big(row, 'version')
    const own = steps[Number(version) - 1]
    if (own !== undefined && text(row, 'checksum') !== checksum(own))
      throw new OperatorError(
        `Migration ${version} of the store is not the one of this program: it was made by another build.`,
      )
    if (own === undefined && big(row, 'least') > BigInt(newest))
      throw new OperatorError(
        `The store has schema ${version}, this program knows up to ${newest}: start the newer version.`,
      )
  }
}

async function apply(database: Database, sql: Sql, step: Step): Promise<void> {
  await lock(database, sql)
  const { version, name, least, statements } = step
  if ((await sql.all('SELECT 1 FROM schema_version WHERE version = ?', [BigInt(version)])).length > 0) return
  for (const statement of statements) await sql.run(statement)
  await sql.run('INSERT INTO schema_version (version, name, least, checksum) VALUES (?, ?, ?, ?)', [
    BigInt(version),
    name,
    BigInt(least),
    checksum(step),
  ])
}

/** A checksum of the statements alone, so that their layout and comments may change. */
function checksum({ statements }: Step): string {
  return createHash('sha256').update(statements.join(';').replaceAll(/\s+/g, ' ')).digest('hex')
}
