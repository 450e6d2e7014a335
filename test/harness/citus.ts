import { after } from 'node:test'
import pg from 'pg'

/** Databases and schemas kept for the latest tests: Citus has a process of its own for each database. */
const KEPT = 4

/** A cluster that runs already: databases in it, each on all of its servers. */
export class Citus {
  readonly #url: string
  #made = 0
  /** The database of the schemas. */
  #home: Promise<string> | null = null
  #schemas = 0

  /** The address of a coordinator that knows its workers. */
  constructor(url: string) {
    this.#url = url
    after(() => Promise.all(Array.from({ length: this.#made }, (_, index) => this.#drop(index + 1))))
  }

  /** The address of a database that only has the extension. */
  async emptyDatabase(): Promise<string> {
    this.#made += 1
    const name = nameOf(this.#made)
    if (this.#made > KEPT) await this.#drop(this.#made - KEPT)
    const [coordinator = this.#url, ...workers] = await this.#servers()
    for (const server of [coordinator, ...workers]) {
      await direct(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      await direct(server, `CREATE DATABASE ${name}`)
      await direct(within(server, name), 'CREATE EXTENSION citus')
    }
    const url = within(coordinator, name)
    await direct(url, `SELECT citus_set_coordinator_host(${place(coordinator)})`)
    for (const worker of workers) await direct(url, `SELECT citus_add_node(${place(worker)})`)
    return url
  }

  /** The address of an empty schema in one database for all, by a role of its own name. */
  async emptySchema(): Promise<string> {
    this.#home ??= this.emptyDatabase()
    const url = await this.#home
    this.#schemas += 1
    const name = schemaOf(this.#schemas)
    if (this.#schemas > KEPT) await direct(url, `DROP SCHEMA ${schemaOf(this.#schemas - KEPT)} CASCADE`)
    await direct(url, `DROP ROLE IF EXISTS ${name}`)
    await direct(url, `CREATE ROLE ${name} LOGIN`)
    await direct(url, `CREATE SCHEMA AUTHORIZATION ${name}`)
    const own = new URL(url)
    own.username = name
    return own.href
  }

  /** Moves a schema's tables to one worker, which Citus chooses; the answer is its port. */
  async distribute(schema: string): Promise<number> {
    const { username: name } = new URL(schema)
    const url = (await this.#home) ?? schema
    await direct(url, `SELECT citus_schema_distribute('${name}')`)
    const [row] = await direct(
      url,
      `SELECT min(nodeport)::int AS port, count(DISTINCT nodeport)::int AS places FROM citus_shards
       WHERE split_part(table_name::text, '.', 1) = '${name}'`,
    )
    if (row?.['places'] !== 1) throw new Error(`The tables of ${name} are in ${String(row?.['places'])} places.`)
    return Number(row['port'])
  }

  async #drop(number: number): Promise<void> {
    const [coordinator = this.#url, ...workers] = await this.#servers()
    for (const server of [coordinator, ...workers])
      await direct(server, `DROP DATABASE IF EXISTS ${nameOf(number)} WITH (FORCE)`)
  }

  /** The coordinator first. */
  async #servers(): Promise<readonly string[]> {
    const nodes = await direct(
      this.#url,
      'SELECT nodename, nodeport FROM pg_dist_node WHERE groupid > 0 ORDER BY nodeid',
    )
    if (nodes.length < 2)
      throw new Error('The coordinator has fewer than two workers: SELECT citus_add_node(host, port).')
    const workers = nodes.map(({ nodename, nodeport }) => {
      const url = new URL(this.#url)
      url.hostname = String(nodename)
      url.port = String(nodeport)
      return url.href
    })
    return [this.#url, ...workers]
  }
}

function schemaOf(number: number): string {
  return `part_${number}`
}

function nameOf(number: number): string {
  return `tollgate_test_${process.pid}_${number}`
}

function within(server: string, database: string): string {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}

function place(server: string): string {
  const { hostname, port } = new URL(server)
  return `'${hostname}', ${port}`
}

/** Runs one statement on a connection of its own. */
export async function direct(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}
