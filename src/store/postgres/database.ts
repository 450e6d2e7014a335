import { hash, randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import {
  refuseNul,
  big,
  LOOK_UP,
  text as textOf,
  textOrNull,
  type Database,
  type ReadOptions,
  type Row,
  type Sql,
  type SqlValue,
  type TransactionOptions,
} from '../database.ts'
import { OperatorError } from '../../base/errors.ts'
import { StoreUnavailableError } from '../../ledger/ledger-store.ts'

const POOL_MAX = 10
/** Connections for what each request looks up before its hold. */
const LOOK_UP_POOL_MAX = 4
/** One connection for the batch that is being written, and one for the next batch if the first connection breaks. */
const CHARGE_POOL_MAX = 2
const RETRIES_MAX = 5
/** How long a change of an account or a key is tried again, and the first pause. */
const CHANGE_MS = 10_000
const PAUSE_MS = 20
// guarantees.md 5: a stuck database must soon give a 503.
const CONNECT_MS = 2_000
const STATEMENT_MS = 2_000
const LOCK_MS = 1_000
/**
 * A waiting migration makes all later statements on its table wait, so it waits only as long as charges do not notice.
 * See migrate.
 */
const MIGRATION_LOCK_MS = 200
/** How often to look for the transaction that a migration waits for. */
const HOLDER_EVERY_MS = 50
const IDLE_IN_TRANSACTION_MS = 5_000
/**
 * A server that was stopped or cut off does not report its timeouts, so the client gives up a little later than the
 * server would.
 */
const ANSWER_MS = 3_000
/** If more requests wait for a connection of the pool, the server is overloaded. */
const WAITERS_MAX = 200
/** Deadlock and serialization failure: the transaction changed nothing and may be repeated. */
const RETRYABLE: ReadonlySet<string> = new Set(['40P01', '40001'])
const LOCK_NOT_AVAILABLE = '55P03'
const INT8 = 20
const NUMERIC = 1700

/** Sends the last statement, if there is one. */
export type LastStatement = () => Promise<void>

/** PostgreSQL ≥ 15 through a pool; every integer column is returned as a bigint. */
export class PostgresDatabase implements Database {
  readonly dialect = 'postgres'
  readonly coldWrites = null
  readonly #pool: pg.Pool
  /**
   * A separate pool: a charge that queued behind readers would keep its account locked for longer than a hold waits.
   */
  readonly #charges: pg.Pool
  /** Reports that take minutes may take all connections of the readers; a key behind them would be refused. */
  readonly #lookUps: pg.Pool
  readonly #pooler: Pooler

  /**
   * `url` with `pgbouncer=true` leads to a pooler in transaction mode: each transaction may run on another connection,
   * so nothing is set or prepared on a connection.
   */
  constructor(url: string) {
    this.#pooler = leadsToPooler(url) ? 'transaction' : 'none'
    const types = new pg.TypeOverrides()
    types.setTypeParser(INT8, (value) => BigInt(value))
    // A SUM of int8 is a numeric without a fraction.
    types.setTypeParser(NUMERIC, (value) => BigInt(value))
    const settings = (...more: readonly string[]): pg.PoolConfig =>
      this.#pooler === 'transaction'
        ? {}
        : { ...TIMEOUTS, options: ['jit=off', ...more].map((one) => `-c ${one}`).join(' ') }
    this.#pool = poolOf(url, types, { ...settings(), max: POOL_MAX })
    this.#charges = poolOf(url, types, { ...settings(...BY_INDEX), max: CHARGE_POOL_MAX, pipeline: true })
    this.#lookUps = poolOf(url, types, { ...settings(...BY_INDEX), max: LOOK_UP_POOL_MAX })
  }

  async all(text: string, values: readonly SqlValue[] = [], options: ReadOptions = {}): Promise<readonly Row[]> {
    if (options.byKey === true)
      return this.#once((client) => sqlOf(client, { pooler: this.#pooler }).all(text, values), this.#lookUps)
    return this.#once(async (client) => (await client.query<Record<string, unknown>>(statement(text, values))).rows)
  }

  async run(text: string, values: readonly SqlValue[] = []): Promise<number> {
    return this.#repeated(async (client) => (await client.query(statement(text, values))).rowCount ?? 0, this.#pool)
  }

  transaction<T>(work: (sql: Sql) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    const begun = { ...options, pooler: this.#pooler }
    if (options.purpose === 'migration') return this.#migration(work, begun)
    const pool = options.purpose === 'charge' ? this.#charges : this.#pool
    return this.#repeated((client) => transact(client, work, begun), pool, options.purpose === 'change' ? CHANGE_MS : 0)
  }

  /** If the migration does not get a lock, the error says which transaction has it. */
  async #migration<T>(work: (sql: Sql) => Promise<T>, begun: Begun): Promise<T> {
    let held: string | null = null
    let look: NodeJS.Timeout | undefined
    try {
      return await this.#once((client) => {
        const watched = async (sql: Sql): Promise<T> => {
          const [own = {}] = await sql.all('SELECT pg_backend_pid()::bigint AS pid')
          look = setInterval(() => {
            this.all(HOLDER, [big(own, 'pid')], LOOK_UP)
              // While the migration waits for nothing, the query finds none, and the last one found stays.
              .then(([row]) => (held = row === undefined ? held : holderOf(row)))
              .catch(() => undefined)
          }, HOLDER_EVERY_MS)
          return work(sql)
        }
        return transact(client, watched, begun)
      })
    } catch (thrown) {
      if (!isLockTimeout(thrown) || held === null) throw thrown
      throw new LockHeldError(held, { cause: thrown })
    } finally {
      clearInterval(look)
    }
  }

  /**
   * A transaction for charges in few round trips: `read` is sent with its beginning, and the statement that `write`
   * leaves is sent with its commit. Only one statement: if the driver could not send the first of two, the second would
   * still be committed.
   */
  charge<T>(read: (sql: Sql) => Promise<T>, write: (sql: Sql, found: T) => Promise<LastStatement>): Promise<void> {
    const options = { purpose: 'charge', pooler: this.#pooler } as const
    return this.#repeated((client) => transactCharge(client, { read, write }, options), this.#charges)
  }

  /** `forMs`: for how long it is repeated, with growing pauses and also after a lock timeout. */
  async #repeated<T>(work: (client: pg.PoolClient) => Promise<T>, pool: pg.Pool, forMs = 0): Promise<T> {
    const untilMs = performance.now() + forMs
    for (let tries = 1; ; tries += 1) {
      const isOver = performance.now() > untilMs
      try {
        return await this.#once(work, pool)
      } catch (thrown) {
        if (!RETRYABLE.has(codeOf(thrown)) && (isOver || !isLockTimeout(thrown))) throw thrown
        if (tries > RETRIES_MAX && isOver)
          throw new StoreUnavailableError('Too much is written to the same rows at once.', { cause: thrown })
      }
      if (!isOver) await delay(Math.min(tries, 10) * PAUSE_MS * (0.5 + randomInt(100) / 100))
    }
  }

  /**
   * Runs `work` on a connection of the pool; a broken connection is discarded and distinguished from a refused
   * statement.
   */
  async #once<T>(work: (client: pg.PoolClient) => Promise<T>, pool = this.#pool): Promise<T> {
    if (pool.waitingCount >= WAITERS_MAX)
      throw new StoreUnavailableError('Too many wait for a connection to the database.')
    let client: pg.PoolClient
    try {
      client = await pool.connect()
    } catch (thrown) {
      throw new StoreUnavailableError('The database takes no connection.', { cause: thrown })
    }
    let broken = false
    try {
      return await work(client)
    } catch (thrown) {
      if (!isOutage(thrown)) throw thrown
      broken = true
      throw new StoreUnavailableError('The connection to the database broke.', { cause: thrown })
    } finally {
      client.release(broken)
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool, this.#charges, this.#lookUps].map((pool) => pool.end()))
  }
}

function poolOf(url: string, types: pg.TypeOverrides, config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    types,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    ...config,
  })
  // The pool replaces an idle connection that breaks; without a listener its error would end the process.
  pool.on('error', () => undefined)
  // The same for a connection that breaks between two statements of a transaction; the next statement fails.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

type Pooler = 'none' | 'transaction'

function leadsToPooler(url: string): boolean {
  return URL.canParse(url) && new URL(url).searchParams.get('pgbouncer') === 'true'
}

const TIMEOUTS = {
  statement_timeout: STATEMENT_MS,
  lock_timeout: LOCK_MS,
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
}
/**
 * Short transactions find rows by their keys. The planner has no statistics for a new table and would keep a plan that
 * reads all of it: 509 pairs of hold and settle per second instead of 1,166.
 */
const BY_INDEX = ['enable_seqscan=off', 'enable_hashjoin=off', 'enable_mergejoin=off']

function beginWith(settings: readonly string[]): string {
  return ['BEGIN', ...settings.map((setting) => `SET LOCAL ${setting}`)].join('; ')
}

/** A pooler's connections do not have our settings, so each transaction sets them. */
const BEGIN_POOLED = beginWith([
  'jit=off',
  ...Object.entries(TIMEOUTS).map(([name, ms]) => `${name}=${ms}`),
  ...BY_INDEX,
])
const BEGIN_SHORT = {
  none: { charge: 'BEGIN', other: beginWith(BY_INDEX) },
  transaction: { charge: BEGIN_POOLED, other: BEGIN_POOLED },
} as const
const BEGIN_PATIENT = {
  snapshot: () => 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0',
  migration: (lockMs: number) => `BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = ${lockMs}`,
} as const

type Begun = TransactionOptions & { readonly pooler: Pooler }

/** The first statement of a transaction. Connections for charges have the settings from the start. */
function begin(options: Begun): string {
  return patient(options) ?? BEGIN_SHORT[options.pooler][options.purpose === 'charge' ? 'charge' : 'other']
}

/** The first statement of a long transaction; null = the transaction is short. */
function patient({ purpose, lockMs = MIGRATION_LOCK_MS }: TransactionOptions): string | null {
  return purpose === 'snapshot' || purpose === 'migration' ? BEGIN_PATIENT[purpose](lockMs) : null
}

async function transact<T>(client: pg.PoolClient, work: (sql: Sql) => Promise<T>, options: Begun): Promise<T> {
  await client.query(within(begin(options)))
  try {
    const result = await work(sqlOf(client, options))
    await client.query(within('COMMIT'))
    return result
  } catch (thrown) {
    await rollBack(client)
    throw thrown
  }
}

async function transactCharge<T>(
  client: pg.PoolClient,
  charge: {
    readonly read: (sql: Sql) => Promise<T>
    readonly write: (sql: Sql, found: T) => Promise<LastStatement>
  },
  options: Begun,
): Promise<void> {
  const sql = sqlOf(client, options)
  try {
    const [, found] = await Promise.all([client.query(within(begin(options))), charge.read(sql)])
    const last = await charge.write(sql, found)
    // If the last statement fails, the server's COMMIT rolls back.
    await Promise.all([last(), client.query(within('COMMIT'))])
  } catch (thrown) {
    await rollBack(client)
    throw thrown
  }
}

function sqlOf(client: pg.PoolClient, options: Begun): Sql {
  return {
    all: async (text, values = []) =>
      (await client.query<Record<string, unknown>>(prepared(text, values, options))).rows,
    run: async (text, values = []) => (await client.query(prepared(text, values, options))).rowCount ?? 0,
  }
}

/** A broken connection has nothing to roll back, and the first error is more useful than the second. */
async function rollBack(client: pg.PoolClient): Promise<void> {
  await client.query(within('ROLLBACK')).catch(() => undefined)
}

type Timed = pg.QueryConfig & { readonly query_timeout?: number }

function within(text: string): Timed {
  return { text, query_timeout: ANSWER_MS }
}

function statement(text: string, values: readonly SqlValue[]): Timed {
  return { text: numbered(text).text, values: bound(values), query_timeout: ANSWER_MS }
}

/** Transactions run the same few texts over and over: planning them each time would cost more than running them. */
function prepared(text: string, values: readonly SqlValue[], options: Begun): Timed {
  if (patient(options) !== null) return { text: numbered(text).text, values: bound(values) }
  return { ...statement(text, values), ...(options.pooler === 'none' ? { name: numbered(text).name } : {}) }
}

/**
 * True for everything but a statement that the server refused: lost sockets, our timeouts, and a server that is
 * shutting down.
 */
function isOutage(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  if (!(thrown instanceof pg.DatabaseError))
    return OURS.test(thrown.message) || ('code' in thrown && String(thrown.code).startsWith('E'))
  const code = thrown.code ?? ''
  return OUTAGE_CLASSES.has(code.slice(0, 2)) || OUTAGES.has(code)
}

/**
 * Classes of PostgreSQL's error codes: connection, resources (disk full), operator intervention (shutdown, timeout),
 * system error.
 */
const OUTAGE_CLASSES: ReadonlySet<string> = new Set(['08', '53', '57', '58'])
/**
 * A lock not available; a transaction that was idle for too long, as on a machine that was suspended; a read-only
 * transaction.
 */
const OUTAGES: ReadonlySet<string> = new Set([LOCK_NOT_AVAILABLE, '25P03', '25006'])

/** The driver's messages for a closed socket or a timeout, which have no code. */
const OURS = /connection terminated|connection error|query read timeout|timeout exceeded|not queryable|ended by|closed/i

/** A statement as the server takes it, and its name where it is prepared. */
interface KnownText {
  readonly text: string
  readonly name: string
}

const known = new Map<string, KnownText>()
const KNOWN_MAX = 512

/** Replaces `?` placeholders by `$1, $2, …`; statements of this folder have no other question marks. */
function numbered(text: string): KnownText {
  const found = known.get(text)
  if (found !== undefined) return found
  let index = 0
  const made = { text: text.replaceAll('?', () => `$${(index += 1)}`), name: hash('md5', text) }
  if (known.size >= KNOWN_MAX) known.clear()
  known.set(text, made)
  return made
}

/** pg sends a bigint as text, exactly; it accepts a Uint8Array only as a Buffer. */
function bound(values: readonly SqlValue[]): unknown[] {
  refuseNul(values)
  return values.map((value) => (value instanceof Uint8Array && !Buffer.isBuffer(value) ? Buffer.from(value) : value))
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
}

function isLockTimeout(thrown: unknown): boolean {
  return thrown instanceof StoreUnavailableError && codeOf(thrown.cause) === LOCK_NOT_AVAILABLE
}

/** Another transaction has locked a table that a migration needs. */
export class LockHeldError extends OperatorError {
  override readonly name = 'LockHeldError'
}

/**
 * Of the processes that a process waits for, the one whose transaction is the oldest. A prepared transaction has no
 * process.
 */
const HOLDER = `SELECT COALESCE(w.relation::regclass::text, w.locktype) AS what, b.pid::bigint AS pid, a.query AS query,
    COALESCE(EXTRACT(EPOCH FROM clock_timestamp() - a.xact_start), 0)::bigint AS seconds
  FROM pg_locks w CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) AS b(pid) LEFT JOIN pg_stat_activity a ON a.pid = b.pid
  WHERE w.pid = ? AND NOT w.granted ORDER BY a.xact_start LIMIT 1`
const QUERY_CHARS = 100

/** Transactions of a node are shorter, except those of reports and backups. */
const LONG_S = 10n

/**
 * Names what keeps a migration from a table: a transaction that has locked it for long, or load. A quoted text may be a
 * secret or a customer's data, so the query is shown only up to the first one.
 */
export function holderOf(row: Row): string {
  const pid = big(row, 'pid')
  // A prepared transaction has no process, and may be of any age.
  if (pid !== 0n && big(row, 'seconds') < LONG_S)
    return `PostgreSQL: ${textOf(row, 'what')} is locked by transactions of less than ${LONG_S} s. Try again when there is less load.`
  const query = (textOrNull(row, 'query') ?? '')
    .replace(/['$].*/s, '…')
    .replaceAll(/\s+/g, ' ')
    .slice(0, QUERY_CHARS)
  return `PostgreSQL: process ${pid} has locked ${textOf(row, 'what')} in a transaction of ${big(row, 'seconds')} s: ${query}. Wait until it has ended, or end it with pg_terminate_backend(${pid}), and start again.`
}

/**
 * Refuses a pooler that the settings do not name: statements that are prepared on one of its connections would be
 * missing on the next.
 */
export async function refuseHiddenPooler(database: Pick<Database, 'all'>, url: string): Promise<void> {
  if (leadsToPooler(url)) return
  const [row] = await database.all(`SELECT setting FROM pg_settings WHERE name = 'lock_timeout'`)
  if (row === undefined || textOf(row, 'setting') === String(LOCK_MS)) return
  throw new OperatorError(
    'DATABASE_URL: the settings of a connection do not arrive, as through PgBouncer with ignore_startup_parameters: add ?pgbouncer=true to it.',
  )
}

/** The database may lose acknowledged commits, so it must not be used for money. */
class UnsafeCommitError extends OperatorError {
  override readonly name = 'UnsafeCommitError'
}

/**
 * Refuses a PostgreSQL that acknowledges commits before they are on the disk. The setting of our own connections
 * counts: it can come from the server, the database, the role or the URL.
 */
export async function refuseUnsafeCommits(database: Pick<Database, 'all'>): Promise<void> {
  const [row] = await database.all(`SELECT setting, source FROM pg_settings WHERE name = 'synchronous_commit'`)
  if (row === undefined || textOf(row, 'setting') !== 'off') return
  const setBy = textOf(row, 'source')
  throw new UnsafeCommitError(
    `PostgreSQL has synchronous_commit=off for this connection (set by: ${setBy}), so a crash of the database may lose charges that customers were told of. Set it to on, for the role if not for the server, and start again.`,
  )
}
