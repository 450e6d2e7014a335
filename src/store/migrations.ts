import { createHash, randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { OperatorError } from '../base/errors.ts'
import { big, text, type Database, type Sql } from './database.ts'
import { LockHeldError } from './postgres/database.ts'
import { StoreUnavailableError } from '../ledger/ledger-store.ts'

/** A change of the schema after the one of the `.sql` files. A store has each once, in the order of their versions. */
export interface Migration {
  /** From 2 on, without gaps. */
  readonly version: number
  readonly name: string
  /**
   * The oldest program that works with this schema, named by the newest version that it knows; absent = only programs
   * that know this version. During a rolling restart the previous program still runs, so a column that it uses is
   * removed one release later.
   */
  readonly least?: number
  /**
   * They change one busy table at most, since a migration would keep the first one locked while it waits for the
   * second. Released statements never change: a store that has run them refuses different ones.
   */
  readonly statements: Readonly<Record<Database['dialect'], readonly string[]>>
}

/** Records that are there already; null = there are none, or the words of all are written. */
const FILL = `INSERT INTO search_fill (kind, place) SELECT 'account', (SELECT '' FROM account LIMIT 1)
  UNION ALL SELECT 'api_key', (SELECT '' FROM api_key LIMIT 1)
  UNION ALL SELECT 'console_user', (SELECT '' FROM console_user LIMIT 1)`

/**
 * Words of names, e-mails and ids, by which records are found: the words, and records whose words are still to be
 * written.
 */
const SEARCH_TABLES: Migration['statements'] = {
  sqlite: [
    'CREATE TABLE search_word (kind TEXT NOT NULL, word TEXT NOT NULL, object_id TEXT NOT NULL, PRIMARY KEY (kind, word, object_id)) WITHOUT ROWID',
    'CREATE INDEX search_word_object ON search_word (kind, object_id, word)',
    'CREATE TABLE search_due (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, object_id TEXT NOT NULL)',
    'CREATE TABLE search_fill (kind TEXT PRIMARY KEY, place TEXT) WITHOUT ROWID',
    FILL,
  ],
  postgres: [
    // Ranges of beginnings need the order of bytes.
    'CREATE TABLE search_word (kind TEXT NOT NULL, word TEXT COLLATE "C" NOT NULL, object_id TEXT NOT NULL, PRIMARY KEY (kind, word, object_id))',
    'CREATE INDEX search_word_object ON search_word (kind, object_id, word)',
    'CREATE TABLE search_due (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind TEXT NOT NULL, object_id TEXT NOT NULL)',
    'CREATE TABLE search_fill (kind TEXT PRIMARY KEY, place TEXT)',
    FILL,
    'CREATE FUNCTION search_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO search_due (kind, object_id) VALUES (TG_TABLE_NAME, NEW.id); RETURN NULL; END $$',
    `CREATE FUNCTION search_note_named() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE named external_id := COALESCE(NEW, OLD); BEGIN INSERT INTO search_due (kind, object_id) SELECT kind, named.object_id FROM search_fill WHERE kind = CASE named.kind WHEN 'key' THEN 'api_key' WHEN 'user' THEN 'console_user' ELSE named.kind END; RETURN NULL; END $$`,
  ],
}

/** A note of each record whose texts change, made where they change: a program that knows nothing of it makes it too. */
function notes(table: string, columns: string): Migration['statements'] {
  const text = `BEGIN INSERT INTO search_due (kind, object_id) VALUES ('${table}', NEW.id); END`
  return {
    sqlite: [
      `CREATE TRIGGER ${table}_search_new AFTER INSERT ON ${table} ${text}`,
      `CREATE TRIGGER ${table}_search AFTER UPDATE OF ${columns} ON ${table} ${text}`,
    ],
    postgres: [
      `CREATE TRIGGER ${table}_search AFTER INSERT OR UPDATE OF ${columns} ON ${table} FOR EACH ROW EXECUTE FUNCTION search_note()`,
    ],
  }
}

const noteNamed = (by: string): string =>
  `BEGIN INSERT INTO search_due (kind, object_id) SELECT kind, ${by}.object_id FROM search_fill WHERE kind = CASE ${by}.kind WHEN 'key' THEN 'api_key' WHEN 'user' THEN 'console_user' ELSE ${by}.kind END; END`
const [NOTE_NEW, NOTE_OLD] = [noteNamed('NEW'), noteNamed('OLD')]
const NAMED_NOTES: Migration['statements'] = {
  sqlite: [
    `CREATE TRIGGER external_id_search_new AFTER INSERT ON external_id ${NOTE_NEW}`,
    `CREATE TRIGGER external_id_search AFTER DELETE ON external_id ${NOTE_OLD}`,
  ],
  postgres: [
    'CREATE TRIGGER external_id_search AFTER INSERT OR DELETE ON external_id FOR EACH ROW EXECUTE FUNCTION search_note_named()',
  ],
}

/** Requests of a minute's refusals that are not the newest of them, so that each is found by its id. */
const REFUSED_IDS = [
  'CREATE TABLE refused_request (refusal_id TEXT NOT NULL REFERENCES refusal(id) ON DELETE CASCADE, request_id TEXT NOT NULL, PRIMARY KEY (refusal_id, request_id))',
  'CREATE INDEX refused_request_id ON refused_request (request_id)',
]

/** What operators write down about an account. They have no reference to it: accounts are never removed. */
const NOTES = [
  'CREATE TABLE account_note (id TEXT PRIMARY KEY, account_id TEXT NOT NULL, author TEXT NOT NULL, text TEXT NOT NULL, created_at BIGINT NOT NULL)',
  'CREATE INDEX account_note_account ON account_note (account_id, created_at DESC, id)',
]

/**
 * The rows of the log that name an end user, with when they ended. An index of the log itself would be built over all
 * of its rows while charges wait; a trigger costs SQLite 13 µs of each charge, whether it names one or not.
 */
const END_USERS = [
  'CREATE TABLE generation_end_user (account_id TEXT NOT NULL, end_user TEXT NOT NULL, seq BIGINT NOT NULL, ended_at BIGINT NOT NULL, PRIMARY KEY (account_id, end_user, seq))',
  'CREATE INDEX generation_end_user_age ON generation_end_user (ended_at)',
]

/** The migrations after the baseline. */
export const LATER: readonly Migration[] = [
  { version: 2, name: 'words of names', least: 1, statements: SEARCH_TABLES },
  { version: 3, name: 'words of accounts', least: 1, statements: notes('account', 'name, email') },
  { version: 4, name: 'words of keys', least: 1, statements: notes('api_key', 'name, label') },
  { version: 5, name: 'words of people', least: 1, statements: notes('console_user', 'name, email') },
  { version: 6, name: 'words of external ids', least: 1, statements: NAMED_NOTES },
  { version: 7, name: 'ids of refused requests', least: 1, statements: { sqlite: REFUSED_IDS, postgres: REFUSED_IDS } },
  { version: 8, name: 'notes on accounts', least: 1, statements: { sqlite: NOTES, postgres: NOTES } },
  { version: 9, name: 'end users of the log', least: 1, statements: { sqlite: END_USERS, postgres: END_USERS } },
]

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
