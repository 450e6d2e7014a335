import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { OperatorError } from '../base/errors.ts'
import { accountLimitStatements } from './accounts/account-limit-migration.ts'
import { externalIdStatements } from './accounts/external-id-store.ts'
import { groupStatements } from './accounts/group-migration.ts'
import { orderStatements } from './accounts/order-migration.ts'
import { secretStatements } from './accounts/secret-migration.ts'
import { bookStatements } from './audit/book-migration.ts'
import { adminTokenStatements, consoleStatements, memberStatements } from './people/console-migration.ts'
import { big, text, type Database, type Sql } from './database.ts'
import { ALLOWANCE_INDEX } from './ledger/allowance-sum.ts'
import { markStatements } from './ledger/mark-migration.ts'
import { blockStatements } from './log/block-migration.ts'
import { logStatements } from './log/migration.ts'
import { noticeCodeStatements, noticeStatements } from './notices/notice-migration.ts'
import { CHUNK_STATEMENTS } from './postgres/chunk-statements.ts'
import { StoreUnavailableError } from '../ledger/store-unavailable-error.ts'

interface Migration {
  readonly version: number
  readonly name: string
  /**
   * The oldest program that works on this schema, by the newest version that it knows; absent = this one. During a
   * rolling restart the previous program still runs, so a column that it uses is removed one release later.
   * One for each dialect where they differ: nobody restarts the embedded store node by node.
   */
  readonly least?: number | Readonly<Record<Database['dialect'], number>>
  readonly statements: (dialect: Database['dialect']) => readonly string[]
}

/**
 * The differences between the dialects. `clustered` keeps rows within their text key: one tree to write instead of two.
 */
function words(dialect: Database['dialect']): {
  readonly blob: string
  readonly serial: string
  readonly clustered: string
} {
  return dialect === 'sqlite'
    ? { blob: 'BLOB', serial: 'INTEGER PRIMARY KEY', clustered: ' WITHOUT ROWID' }
    : { blob: 'BYTEA', serial: 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY', clustered: '' }
}

/** Statements that make a table append-only in the dialect's own way. */
function appendOnly(dialect: Database['dialect'], table: string): readonly string[] {
  const refusal = `${table} is append-only`
  if (dialect === 'sqlite') {
    return ['UPDATE', 'DELETE'].map(
      (verb) =>
        `CREATE TRIGGER ${table}_no_${verb.toLowerCase()} BEFORE ${verb} ON ${table} BEGIN SELECT RAISE(ABORT, '${refusal}'); END`,
    )
  }
  return [
    `CREATE FUNCTION ${table}_refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '${refusal}'; END $$`,
    `CREATE TRIGGER ${table}_append_only BEFORE UPDATE OR DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION ${table}_refuse()`,
  ]
}

/** An arbitrary advisory lock that no other program uses in this database. */
const MIGRATION_LOCK = 7_465_617_204n

const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    name: 'accounts, keys, ledger, log',
    statements: (dialect) => {
      const { blob, serial, clustered } = words(dialect)
      return [
        `CREATE TABLE account (
          id TEXT PRIMARY KEY, name TEXT NOT NULL, email TEXT, status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active','deactivated','locked')),
          default_model TEXT, rate_limit TEXT, allowed_models TEXT,
          available BIGINT NOT NULL DEFAULT 0 CHECK (available >= 0), held BIGINT NOT NULL DEFAULT 0 CHECK (held >= 0),
          log_rows BIGINT NOT NULL DEFAULT 0, entry_head TEXT NOT NULL DEFAULT '', created_at BIGINT NOT NULL)${clustered}`,
        `CREATE TABLE api_key (
          id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), name TEXT NOT NULL, digest ${blob} NOT NULL UNIQUE, label TEXT NOT NULL,
          disabled BIGINT NOT NULL DEFAULT 0, deleted BIGINT NOT NULL DEFAULT 0,
          spend_limit BIGINT CHECK (spend_limit >= 0), limit_reset TEXT CHECK (limit_reset IN ('daily','weekly','monthly')),
          expires_at BIGINT, allowed_models TEXT, held BIGINT NOT NULL DEFAULT 0 CHECK (held >= 0), created_at BIGINT NOT NULL, last_used_at BIGINT)${clustered}`,
        `CREATE INDEX api_key_account ON api_key (account_id, created_at)`,
        `CREATE TABLE key_spend (
          key_id TEXT NOT NULL REFERENCES api_key(id), period TEXT NOT NULL, start TEXT NOT NULL,
          spent BIGINT NOT NULL DEFAULT 0 CHECK (spent >= 0), excess BIGINT NOT NULL DEFAULT 0 CHECK (excess >= 0), PRIMARY KEY (key_id, period, start))${clustered}`,
        `CREATE TABLE hold (
          id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), key_id TEXT NOT NULL REFERENCES api_key(id),
          amount BIGINT NOT NULL CHECK (amount >= 0), state TEXT NOT NULL CHECK (state IN ('open','settled','voided','expired','settled_late')),
          price_version BIGINT NOT NULL, subject TEXT NOT NULL, day TEXT NOT NULL, week TEXT NOT NULL, month TEXT NOT NULL,
          node TEXT NOT NULL, lease_until BIGINT NOT NULL, placed_at BIGINT NOT NULL, ended_at BIGINT,
          charged BIGINT CHECK (charged >= 0), shortfall BIGINT CHECK (shortfall >= 0))${clustered}`,
        `CREATE INDEX hold_open ON hold (lease_until) WHERE state = 'open'`,
        `CREATE TABLE entry (
          id ${serial}, debit TEXT NOT NULL, credit TEXT NOT NULL, amount BIGINT NOT NULL CHECK (amount >= 0), kind TEXT NOT NULL, ref TEXT NOT NULL,
          account_id TEXT NOT NULL REFERENCES account(id), reason TEXT, actor TEXT, created_at BIGINT NOT NULL, hash TEXT NOT NULL, UNIQUE (kind, ref))`,
        `CREATE INDEX entry_account ON entry (account_id, id)`,
        `CREATE TABLE generation (
          id ${serial}, generation_id TEXT NOT NULL UNIQUE, account_id TEXT NOT NULL, seq BIGINT NOT NULL, key_id TEXT NOT NULL, request_id TEXT NOT NULL,
          type TEXT NOT NULL, model TEXT NOT NULL, provider TEXT, status TEXT NOT NULL, cost BIGINT NOT NULL, provider_cost BIGINT NOT NULL,
          shortfall BIGINT NOT NULL, insured BIGINT NOT NULL, input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL,
          price_version BIGINT NOT NULL, created_at BIGINT NOT NULL, ended_at BIGINT NOT NULL, record TEXT NOT NULL, UNIQUE (account_id, seq))`,
        `CREATE INDEX generation_request ON generation (request_id)`,
        `CREATE TABLE usage_day (
          account_id TEXT NOT NULL, day TEXT NOT NULL, key_id TEXT NOT NULL, model TEXT NOT NULL, provider TEXT NOT NULL, requests BIGINT NOT NULL,
          input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL, revenue BIGINT NOT NULL, provider_cost BIGINT NOT NULL,
          insured BIGINT NOT NULL, shortfall BIGINT NOT NULL, PRIMARY KEY (account_id, day, key_id, model, provider))${clustered}`,
        // The embedded store sums up the log in steps and stores its progress; PostgreSQL does it with each row.
        ...(dialect === 'sqlite'
          ? ['CREATE TABLE rolled_up (generation BIGINT NOT NULL)', 'INSERT INTO rolled_up VALUES (0)']
          : []),
        `CREATE TABLE catalog_version (version BIGINT PRIMARY KEY, document TEXT NOT NULL, credentials ${blob} NOT NULL, file_digest TEXT, created_at BIGINT NOT NULL)`,
        `CREATE TABLE event (
          id ${serial}, at BIGINT NOT NULL, actor TEXT NOT NULL, ip TEXT, action TEXT NOT NULL, object TEXT NOT NULL, before TEXT, after TEXT, hash TEXT NOT NULL)`,
        `CREATE TABLE administrator (id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE, password_hash TEXT, created_at BIGINT NOT NULL)`,
        `CREATE TABLE admin_session (hash TEXT PRIMARY KEY, administrator_id TEXT NOT NULL REFERENCES administrator(id), expires_at BIGINT NOT NULL)`,
        `CREATE TABLE setup_token (hash TEXT PRIMARY KEY, administrator_id TEXT REFERENCES administrator(id), expires_at BIGINT NOT NULL)`,
        ...appendOnly(dialect, 'entry'),
        ...appendOnly(dialect, 'event'),
      ]
    },
  },
  {
    version: 2,
    name: 'stored files',
    least: 1,
    statements: (dialect) => {
      const { blob, clustered } = words(dialect)
      return [
        `CREATE TABLE stored_file (
          id TEXT PRIMARY KEY, account_id TEXT NOT NULL, media_type TEXT NOT NULL, bytes BIGINT NOT NULL CHECK (bytes >= 0), content TEXT NOT NULL UNIQUE,
          token_digest ${blob}, created_at BIGINT NOT NULL, expires_at BIGINT NOT NULL)${clustered}`,
        'CREATE INDEX stored_file_expiry ON stored_file (expires_at)',
        ...(dialect === 'postgres' ? CHUNK_STATEMENTS : []),
      ]
    },
  },
  {
    version: 3,
    name: 'jobs',
    least: 1,
    statements: (dialect) => {
      const { blob, clustered } = words(dialect)
      return [
        `CREATE TABLE job (
          id TEXT PRIMARY KEY REFERENCES hold(id), account_id TEXT NOT NULL REFERENCES account(id), key_id TEXT NOT NULL REFERENCES api_key(id), request_id TEXT NOT NULL,
          model TEXT NOT NULL, request ${blob} NOT NULL, price_version BIGINT NOT NULL, hold BIGINT NOT NULL CHECK (hold >= 0), created_at BIGINT NOT NULL, deadline BIGINT NOT NULL,
          version BIGINT NOT NULL, lease_owner TEXT NOT NULL, lease_until BIGINT NOT NULL,
          status TEXT NOT NULL CHECK (status IN ('pending','in_progress','completed','failed','expired','cancelled')),
          phase TEXT NOT NULL CHECK (phase IN ('ready','sending','parked','accepted')), progress BIGINT NOT NULL, due_at BIGINT NOT NULL,
          completed_at BIGINT, expires_at BIGINT, details TEXT NOT NULL)${clustered}`,
        `CREATE INDEX job_due ON job (due_at) WHERE status IN ('pending','in_progress')`,
        `CREATE INDEX job_history ON job (account_id, completed_at) WHERE status = 'completed'`,
      ]
    },
  },
  {
    version: 4,
    name: 'nodes that share a database',
    least: 1,
    statements: (dialect) =>
      dialect === 'sqlite'
        ? []
        : [
            'CREATE TABLE node (id TEXT PRIMARY KEY, started_at BIGINT NOT NULL, seen_at BIGINT NOT NULL)',
            'CREATE TABLE ip_block (ip TEXT PRIMARY KEY, until BIGINT NOT NULL, blocks BIGINT NOT NULL, changed_at BIGINT NOT NULL)',
            'CREATE INDEX ip_block_changed ON ip_block (changed_at)',
          ],
  },
  { version: 5, name: 'console', statements: (dialect) => consoleStatements(dialect, words(dialect)) },
  {
    version: 6,
    name: 'idempotency keys',
    least: 5,
    statements: (dialect) => {
      const { blob, clustered } = words(dialect)
      return [
        `CREATE TABLE idempotency_key (
          id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), request_digest TEXT NOT NULL, generation_id TEXT NOT NULL,
          state TEXT NOT NULL CHECK (state IN ('running','ended')), answer ${blob}, claimed_at BIGINT NOT NULL, expires_at BIGINT NOT NULL)${clustered}`,
        'CREATE INDEX idempotency_key_expiry ON idempotency_key (expires_at)',
      ]
    },
  },
  { version: 7, name: 'a log of any length', least: 6, statements: logStatements },
  {
    version: 8,
    name: 'what is free in an hour',
    least: 7,
    statements: () =>
      ['free_hour', 'free_insured', 'free_spent'].map(
        (column) => `ALTER TABLE account ADD COLUMN ${column} BIGINT NOT NULL DEFAULT 0`,
      ),
  },
  {
    version: 9,
    name: 'identities and devices of users',
    least: 8,
    statements: () => [
      'ALTER TABLE console_user ADD COLUMN oidc_email TEXT',
      'ALTER TABLE console_user ADD COLUMN oidc_linked_at BIGINT',
      'ALTER TABLE sign_in ADD COLUMN device TEXT',
      'CREATE INDEX sign_in_device ON sign_in (device, at) WHERE device IS NOT NULL',
      `CREATE INDEX sign_in_known ON sign_in (email, ip_key, at) WHERE outcome = 'succeeded'`,
    ],
  },
  { version: 10, name: 'signed books', least: 8, statements: (dialect) => bookStatements(dialect, words(dialect)) },
  {
    version: 11,
    name: 'open orders are asked for, and refunds',
    least: 8,
    statements: (dialect) => {
      const { clustered } = words(dialect)
      return [
        'ALTER TABLE payment_order ADD COLUMN due_at BIGINT NOT NULL DEFAULT 0',
        'ALTER TABLE payment_order ADD COLUMN checks BIGINT NOT NULL DEFAULT 0',
        `CREATE INDEX payment_order_due ON payment_order (due_at) WHERE state = 'pending'`,
        `CREATE TABLE payment_refund (
          id TEXT PRIMARY KEY, order_id TEXT NOT NULL REFERENCES payment_order(id), account_id TEXT NOT NULL REFERENCES account(id),
          amount BIGINT NOT NULL CHECK (amount > 0), booked BIGINT NOT NULL CHECK (booked >= 0 AND booked <= amount), at BIGINT NOT NULL, seal TEXT NOT NULL)${clustered}`,
        'CREATE INDEX payment_refund_order ON payment_refund (order_id)',
        `INSERT INTO row_count VALUES ('payment_refund', 0, '')`,
      ]
    },
  },
  {
    version: 12,
    name: 'events by action',
    least: 8,
    statements: () => ['CREATE INDEX event_action ON event (action, id)'],
  },
  {
    version: 13,
    name: 'jobs of an account in order',
    least: 8,
    statements: () => ['CREATE INDEX job_account ON job (account_id, created_at, id)'],
  },
  {
    version: 14,
    name: 'limits of keys',
    least: 8,
    statements: () => ['ALTER TABLE api_key ADD COLUMN limits TEXT'],
  },
  {
    version: 15,
    name: 'keys that manage keys',
    least: 8,
    statements: (dialect) => {
      const { blob, clustered } = words(dialect)
      return [
        `CREATE TABLE management_key (
          id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), name TEXT NOT NULL, digest ${blob} NOT NULL UNIQUE, label TEXT NOT NULL,
          expires_at BIGINT, created_at BIGINT NOT NULL, last_used_at BIGINT)${clustered}`,
        'CREATE INDEX management_key_account ON management_key (account_id, created_at)',
      ]
    },
  },
  {
    version: 16,
    name: 'kept answers',
    least: 8,
    statements: (dialect) => {
      const { blob } = words(dialect)
      return [
        `CREATE TABLE kept_response (
          id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), previous_id TEXT, state TEXT NOT NULL CHECK (state IN ('running','ended')),
          bytes BIGINT NOT NULL, created_at BIGINT NOT NULL, input ${blob} NOT NULL, answer ${blob} NOT NULL)`,
        // Counting the kept answers of an account reads only this index.
        'CREATE INDEX kept_response_account ON kept_response (account_id, created_at, id, bytes)',
        'CREATE INDEX kept_response_age ON kept_response (created_at)',
      ]
    },
  },
  {
    version: 17,
    name: 'allowances of nodes',
    least: 8,
    // The one process of an embedded store has none.
    statements: (dialect) => (dialect === 'sqlite' ? [] : [ALLOWANCE_INDEX]),
  },
  {
    version: 18,
    name: 'what prompt caches saved',
    least: 8,
    statements: () => ['ALTER TABLE app_day ADD COLUMN saved BIGINT NOT NULL DEFAULT 0'],
  },
  {
    version: 19,
    name: 'rows that wait beside the embedded store',
    // An older program would not look for them.
    least: { sqlite: 19, postgres: 8 },
    statements: (dialect) =>
      dialect === 'sqlite'
        ? [
            'CREATE TABLE row_journal (position BIGINT NOT NULL, mark BIGINT NOT NULL)',
            'INSERT INTO row_journal VALUES (0, 0)',
          ]
        : [],
  },
  {
    version: 20,
    name: 'admin tokens and roles of operators',
    least: { sqlite: 19, postgres: 8 },
    statements: (dialect) => adminTokenStatements(words(dialect)),
  },
  {
    version: 21,
    name: 'a mark that stops a kept answer',
    least: { sqlite: 19, postgres: 8 },
    statements: () => ['ALTER TABLE kept_response ADD COLUMN stopped BIGINT NOT NULL DEFAULT 0'],
  },
  {
    version: 22,
    name: 'notices',
    least: { sqlite: 19, postgres: 8 },
    statements: (dialect) => noticeStatements(words(dialect)),
  },
  {
    version: 23,
    name: 'accounts whose holds the database decides',
    least: { sqlite: 19, postgres: 8 },
    statements: () => ['ALTER TABLE account ADD COLUMN exact_holds BIGINT NOT NULL DEFAULT 0'],
  },
  {
    version: 24,
    name: 'larger halves of the journal of rows',
    // An older program would not look into all of it.
    least: { sqlite: 24, postgres: 8 },
    statements: () => [],
  },
  {
    version: 25,
    name: 'codes of receivers of notices',
    least: { sqlite: 24, postgres: 8 },
    statements: noticeCodeStatements,
  },
  {
    version: 26,
    name: 'markups of accounts and their groups',
    least: { sqlite: 24, postgres: 8 },
    statements: (dialect) => groupStatements(words(dialect)),
  },
  {
    version: 27,
    name: 'blocks of the log by model and key',
    // An older program would miss the indexes that go when all rows are in blocks.
    least: { sqlite: 27, postgres: 8 },
    statements: (dialect) => blockStatements(dialect, words(dialect).clustered),
  },
  {
    version: 28,
    name: 'external ids',
    least: { sqlite: 24, postgres: 8 },
    statements: (dialect) => externalIdStatements(words(dialect)),
  },
  {
    version: 29,
    name: 'replaced secrets of keys, until they end',
    // An older program refuses them.
    least: { sqlite: 27, postgres: 8 },
    statements: (dialect) => secretStatements(words(dialect)),
  },
  {
    version: 30,
    name: 'people of an account',
    least: { sqlite: 27, postgres: 8 },
    statements: (dialect) => memberStatements(words(dialect)),
  },
  { version: 31, name: 'orders of lists', least: { sqlite: 27, postgres: 8 }, statements: orderStatements },
  { version: 32, name: 'limits of accounts', least: { sqlite: 32, postgres: 8 }, statements: accountLimitStatements },
  {
    version: 33,
    name: 'marks in ledgers',
    least: { sqlite: 27, postgres: 8 },
    statements: (dialect) => markStatements(words(dialect).clustered),
  },
]

/** Programs from this version on seal what they write. */
export const SEALING_SCHEMA = 10

/** The newest schema that this program knows. */
export const NEWEST_SCHEMA = MIGRATIONS.at(-1)?.version ?? 0

/** The schema of the last release. Later migrations have only run in development and may still change. */
const RELEASED = 8

/** The name of the first migration that the last release does not know. */
export const FIRST_UNRELEASED_MIGRATION = MIGRATIONS.find(({ version }) => version > RELEASED)?.name ?? ''

/** Time between two tries to get a lock: of a busy table, or of the migrations. */
const PAUSE_MS = 250
const PATIENCE_MS = 60_000

class MigratingElsewhereError extends Error {
  override readonly name = 'MigratingElsewhereError'
}

/**
 * Brings the schema to this version, forward only, each migration in its own transaction. Answers the schema's version;
 * refuses a schema that this program is too old for, and one whose migrations differ from this program's.
 */
export async function migrate(database: Database): Promise<number> {
  await patiently(() => database.transaction((sql) => begin(database, sql), { purpose: 'migration' }))
  for (const migration of MIGRATIONS) {
    await patiently(() => database.transaction((sql) => apply(database, sql, migration), { purpose: 'migration' }))
  }
  return currentVersion(database)
}

/**
 * A statement that waits for a busy table blocks everybody after it, so it gives up after two seconds, lets them
 * through and tries again. A starting node waits in the same way for one that migrates.
 */
async function patiently(work: () => Promise<void>): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      return await work()
    } catch (thrown) {
      if (!isBusy(thrown) || performance.now() > untilMs) throw thrown
    }
    await delay(PAUSE_MS)
  }
}

function isBusy(thrown: unknown): boolean {
  if (thrown instanceof MigratingElsewhereError) return true
  const cause: unknown = thrown instanceof StoreUnavailableError ? thrown.cause : null
  return cause instanceof Error && 'code' in cause && cause.code === '55P03'
}

/** One migrator at a time. On SQLite the transaction itself is exclusive. */
async function lock({ dialect }: Database, sql: Sql): Promise<void> {
  if (dialect === 'sqlite') return
  const [row] = await sql.all('SELECT pg_try_advisory_xact_lock(?)::int::bigint AS taken', [MIGRATION_LOCK])
  if (row === undefined || big(row, 'taken') === 0n)
    throw new MigratingElsewhereError('Another process migrates the database.')
}

async function begin(database: Database, sql: Sql): Promise<void> {
  // Locked before the first table: CREATE TABLE IF NOT EXISTS fails when two processes run it at once.
  await lock(database, sql)
  await sql.run('CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY, name TEXT NOT NULL)')
  await sql.run(
    'CREATE TABLE IF NOT EXISTS schema_guard (version BIGINT PRIMARY KEY, least BIGINT NOT NULL, checksum TEXT NOT NULL)',
  )
  await refuseStrange(database, sql)
}

async function refuseStrange({ dialect }: Database, sql: Sql): Promise<void> {
  const newest = MIGRATIONS.at(-1)?.version ?? 0
  const current = await currentVersion(sql)
  const guards = await sql.all('SELECT version, least, checksum FROM schema_guard ORDER BY version')
  const least = guards.reduce(
    (most, row) => (big(row, 'version') > BigInt(newest) && big(row, 'least') > most ? big(row, 'least') : most),
    0n,
  )
  const unknown = current > newest && !guards.some((row) => big(row, 'version') === BigInt(current))
  if (unknown || least > BigInt(newest))
    throw new OperatorError(
      `The store has schema ${current}, this program knows up to ${newest}: start the newer version.`,
    )
  for (const migration of MIGRATIONS) {
    const applied = guards.find((row) => big(row, 'version') === BigInt(migration.version))
    if (applied !== undefined && text(applied, 'checksum') !== checksum(migration, dialect)) {
      throw new OperatorError(
        `Migration ${migration.version} of the store is not the one of this program: it was made by another build.`,
      )
    }
  }
}

async function apply(database: Database, sql: Sql, migration: Migration): Promise<void> {
  await lock(database, sql)
  if (migration.version <= (await currentVersion(sql))) return
  for (const statement of migration.statements(database.dialect)) await sql.run(statement)
  const { version, name } = migration
  const least = typeof migration.least === 'object' ? migration.least[database.dialect] : (migration.least ?? version)
  await sql.run('INSERT INTO schema_version (version, name) VALUES (?, ?)', [BigInt(version), name])
  await sql.run('INSERT INTO schema_guard (version, least, checksum) VALUES (?, ?, ?)', [
    BigInt(version),
    BigInt(least),
    checksum(migration, database.dialect),
  ])
}

async function currentVersion(sql: Sql): Promise<number> {
  const [row] = await sql.all('SELECT COALESCE(MAX(version), 0) AS version FROM schema_version')
  return Number(row?.['version'] ?? 0)
}

/** Version and checksum of each. A store that has one with another checksum does not start. */
export function migrationChecksums(dialect: Database['dialect']): readonly string[] {
  return MIGRATIONS.map((migration) => `${migration.version} ${checksum(migration, dialect).slice(0, 12)}`)
}

function checksum({ statements }: Migration, dialect: Database['dialect']): string {
  return createHash('sha256').update(statements(dialect).join(';\n')).digest('hex')
}
