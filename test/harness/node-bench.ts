import { randomBytes } from 'node:crypto'
import { type ApiClient, auditClean } from './api-client.ts'

export { until } from './patience.ts'
import { startPgBouncer, type PgBouncer } from './pgbouncer.ts'
import { direct, startPostgres, type Postgres } from './postgres.ts'
import { startTollgate, type Answer, type Tollgate } from './server.ts'
import { startValkey, startValkeyCluster, type TestValkey } from './valkey.ts'

/** Valkey may answer late on a busy machine; for exact counts a node must wait for it. */
const VALKEY_TIMEOUT_MS = 30_000

const VALKEYS = { one: startValkey, cluster: startValkeyCluster }

/** A PostgreSQL, a Valkey if requested, and any number of server processes that share them. */
export class NodeBench {
  readonly postgres: Postgres
  readonly valkey: TestValkey | null
  readonly pooler: PgBouncer | null
  readonly #env: Record<string, string>
  /** Each node, with its database. */
  readonly #nodes = new Map<Tollgate, string>()
  #databases = 0

  private constructor(postgres: Postgres, valkey: TestValkey | null, pooler: PgBouncer | null) {
    this.postgres = postgres
    this.pooler = pooler
    this.valkey = valkey
    this.#env = {
      TOLLGATE_KEK: randomBytes(32).toString('base64'),
      TOLLGATE_ADMIN_TOKEN: randomBytes(24).toString('hex'),
    }
  }

  /** null if one of the programs is not installed. */
  static async start(options: {
    readonly valkey: boolean | 'cluster'
    readonly pgbouncer?: boolean
  }): Promise<NodeBench | null> {
    const postgres = await startPostgres()
    const valkey = options.valkey === false ? null : await VALKEYS[options.valkey === true ? 'one' : 'cluster']()
    const pooler = options.pgbouncer === true && postgres !== null ? await startPgBouncer(postgres.url) : null
    const isWhole =
      postgres !== null &&
      (valkey !== null || options.valkey === false) &&
      (pooler !== null || options.pgbouncer !== true)
    if (isWhole) return new NodeBench(postgres, valkey, pooler)
    await pooler?.stop()
    await postgres?.stop()
    await valkey?.stop()
    return null
  }

  /** Creates an empty database, and returns its URL. */
  async newDatabase(): Promise<string> {
    this.#databases += 1
    await direct(this.postgres.url, `CREATE DATABASE nodes_${this.#databases}`)
    if (this.pooler !== null) return `${this.pooler.url(`nodes_${this.#databases}`)}?pgbouncer=true`
    return this.postgres.url.replace(/\/postgres$/, `/nodes_${this.#databases}`)
  }

  /**
   * Starts another server on that database. Unless `valkey: false`, it uses the Valkey and waits long for it; `hasty` =
   * it waits as briefly as a server does by default.
   */
  async node(
    database: string,
    options: {
      readonly catalog?: string
      readonly valkey?: boolean
      readonly hasty?: boolean
      readonly env?: Record<string, string>
    } = {},
  ): Promise<Tollgate> {
    const shared = this.valkey === null || options.valkey === false ? {} : { VALKEY_URL: this.valkey.url }
    const patience = options.hasty === true ? {} : { TOLLGATE_VALKEY_TIMEOUT_MS: String(VALKEY_TIMEOUT_MS) }
    const env = { ...this.#env, ...patience, DATABASE_URL: database, ...shared, ...options.env }
    const node = await startTollgate({
      env,
      audited: false,
      ...(options.catalog === undefined ? {} : { catalog: options.catalog }),
    })
    this.#nodes.set(node, database)
    return node
  }

  /** Two servers on that database, with a rate limit that no test reaches. */
  pair(database: string): Promise<readonly [Tollgate, Tollgate]> {
    const options = { catalog: 'rate_limit: { requests: 100000, window: 60 }' }
    return Promise.all([this.node(database, options), this.node(database, options)])
  }

  /** The books of each database are audited once, by a running node. */
  async stop(): Promise<void> {
    const nodes = [...this.#nodes.keys()]
    const living = new Map([...this.#nodes].filter(([node]) => node.runs).map(([node, database]) => [database, node]))
    try {
      for (const node of living.values()) await auditClean(node)
    } finally {
      // Their last seconds are not tested, so they are killed; but a killed process would not report its coverage.
      if (process.env['NODE_V8_COVERAGE'] === undefined) await Promise.all(nodes.map((node) => node.kill('SIGKILL')))
      await Promise.all(nodes.map((node) => node.stop()))
      await this.pooler?.stop()
      await this.postgres.stop()
      await this.valkey?.stop()
    }
  }
}

export function ask(
  node: ApiClient,
  key: string,
  line: string,
  extra: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  return node.request('POST', '/v1/chat/completions', {
    key,
    headers,
    body: {
      model: 'sandbox/chat',
      max_tokens: 50,
      messages: [{ role: 'user', content: `Hello\nsandbox: ${line}` }],
      ...extra,
    },
  })
}
