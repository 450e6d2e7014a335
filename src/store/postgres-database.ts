import pg from 'pg'
import type { Database, Row, Sql, SqlValue } from './database.ts'

const POOL_MAX = 16
const RETRIES_MAX = 5
/** Deadlock and serialization failure: the transaction did nothing and may be tried again. */
const RETRYABLE: ReadonlySet<string> = new Set(['40P01', '40001'])
const INT8 = 20
const NUMERIC = 1700

/** PostgreSQL ≥ 15 through a pool; every integer column comes back as a bigint. */
export class PostgresDatabase implements Database {
  readonly dialect = 'postgres'
  readonly #pool: pg.Pool

  constructor(url: string) {
    const types = new pg.TypeOverrides()
    types.setTypeParser(INT8, (value) => BigInt(value))
    // A SUM of int8 is a numeric without fraction.
    types.setTypeParser(NUMERIC, (value) => BigInt(value))
    this.#pool = new pg.Pool({
      connectionString: url,
      max: POOL_MAX,
      types,
      connectionTimeoutMillis: 2_000,
      statement_timeout: 60_000,
      idle_in_transaction_session_timeout: 30_000,
    })
    // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
    this.#pool.on('error', () => undefined)
  }

  async all(text: string, values: readonly SqlValue[] = []): Promise<readonly Row[]> {
    return (await this.#pool.query<Record<string, unknown>>(numbered(text), bound(values))).rows
  }

  async run(text: string, values: readonly SqlValue[] = []): Promise<number> {
    return (await this.#pool.query(numbered(text), bound(values))).rowCount ?? 0
  }

  async transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      const client = await this.#pool.connect()
      let broken = false
      try {
        await client.query('BEGIN')
        const result = await work(sqlOf(client))
        await client.query('COMMIT')
        return result
      } catch (thrown) {
        await client.query('ROLLBACK').catch(() => {
          broken = true
        })
        if (tries > RETRIES_MAX || !RETRYABLE.has(codeOf(thrown))) throw thrown
      } finally {
        client.release(broken)
      }
    }
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }
}

function sqlOf(client: pg.PoolClient): Sql {
  return {
    all: async (text, values = []) => (await client.query<Record<string, unknown>>(numbered(text), bound(values))).rows,
    run: async (text, values = []) => (await client.query(numbered(text), bound(values))).rowCount ?? 0,
  }
}

const numberedTexts = new Map<string, string>()
const NUMBERED_MAX = 512

/** `?` placeholders as `$1, $2, …`; no statement of this folder has a question mark of another meaning. */
function numbered(text: string): string {
  const known = numberedTexts.get(text)
  if (known !== undefined) return known
  let index = 0
  const result = text.replaceAll('?', () => `$${(index += 1)}`)
  if (numberedTexts.size >= NUMBERED_MAX) numberedTexts.clear()
  numberedTexts.set(text, result)
  return result
}

/** pg sends a bigint as text, exactly; a Uint8Array it takes only as a Buffer. */
function bound(values: readonly SqlValue[]): unknown[] {
  return values.map((value) => (value instanceof Uint8Array && !Buffer.isBuffer(value) ? Buffer.from(value) : value))
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
}
