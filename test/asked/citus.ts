import { after } from 'node:test'
import pg from 'pg'
import { direct } from '../harness/postgres.ts'
import { until } from '../harness/patience.ts'

/** Databases kept for the latest tests: Citus has a process of its own for each database. */
const KEPT = 3
const COPIED_MS = 30_000
/** Somebody is connected to the database. */
const IN_USE = '55006'

/** Where the tables of a Tollgate are. Both begin with a migrated schema on the coordinator. */
export const LAYOUTS: Readonly<Record<'coordinator' | 'schema', string>> = {
  coordinator: 'all tables on the coordinator',
  schema: 'a distributed schema, all of its tables on one worker',
}

export type Layout = keyof typeof LAYOUTS

/** The cluster of the setting. */
export function givenCitus(): Citus {
  const address = process.env['TOLLGATE_TEST_CITUS']
  if (address === undefined)
    throw new Error(
      'TOLLGATE_TEST_CITUS does not give the address of a coordinator, such as postgres://tollgate@127.0.0.1:5432/postgres',
    )
  return new Citus(address)
}

/** A cluster that runs already: databases in it, each on all of its servers. */
export class Citus {
  readonly #url: string
  #databases = 0
  readonly #kept: string[] = []
  readonly #templates: string[] = []
  readonly #roles: string[] = []

  /** The address of a coordinator that knows its workers. */
  constructor(url: string) {
    this.#url = url
    after(async () => {
      for (const name of [...this.#kept, ...this.#templates]) await this.#drop(name)
      for (const role of this.#roles)
        for (const server of await this.servers()) await direct(server, `DROP ROLE IF EXISTS ${role}`)
    })
  }

  /** The address of a database that only has the extension. */
  async emptyDatabase(): Promise<string> {
    const name = await this.#newName()
    const [coordinator = this.#url, ...workers] = await this.servers()
    for (const server of [coordinator, ...workers]) {
      await direct(server, `CREATE DATABASE ${name}`)
      await direct(within(server, name), 'CREATE EXTENSION citus')
    }
    const url = within(coordinator, name)
    await direct(url, `SELECT citus_set_coordinator_host(${place(coordinator)})`)
    for (const worker of workers) await direct(url, `SELECT citus_add_node(${place(worker)})`)
    return url
  }

  /** The address of an empty schema in the database, by a role of its own name. */
  async emptySchema(database: string): Promise<string> {
    const name = `tollgate_test_${process.pid}_part_${this.#roles.length + 1}`
    this.#roles.push(name)
    await direct(database, `CREATE ROLE ${name} LOGIN`)
    await direct(database, `CREATE SCHEMA AUTHORIZATION ${name}`)
    const url = new URL(database)
    url.username = name
    return url.href
  }

  /**
   * Moves a schema's tables to one worker, which Citus chooses; the answer is its port. The Tollgate in it has been
   * migrated.
   */
  async distribute(schema: string): Promise<number> {
    await direct(this.#asOwner(schema), `SELECT citus_schema_distribute('${new URL(schema).username}')`)
    return this.place(schema)
  }

  /** Moves a distributed schema to the other worker; the answer is its port. */
  async move(schema: string): Promise<number> {
    const from = await this.place(schema)
    const to = (await this.servers()).slice(1).find((worker) => new URL(worker).port !== String(from)) ?? ''
    await direct(
      this.#asOwner(schema),
      `SELECT citus_schema_move('${new URL(schema).username}', ${place(to)}, 'block_writes')`,
    )
    return this.place(schema)
  }

  /** The port of the one worker that has all tables of a distributed schema. */
  async place(schema: string): Promise<number> {
    const [row] = await direct(
      this.#asOwner(schema),
      `SELECT min(nodeport)::int AS port, count(DISTINCT nodeport)::int AS places FROM citus_shards
       WHERE split_part(table_name::text, '.', 1) = '${new URL(schema).username}'`,
    )
    if (row?.['places'] !== 1) throw new Error(`The tables of ${schema} are in ${String(row?.['places'])} places.`)
    return Number(row['port'])
  }

  /** From now on nobody connects to the database of the address, and `copy` makes others of it. */
  async freeze(url: string): Promise<string> {
    const name = nameIn(url)
    this.#kept.splice(this.#kept.indexOf(name), 1)
    this.#templates.push(name)
    for (const server of await this.servers()) await direct(server, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
    return url
  }

  /** The same address in a copy of the database on all servers: copying is faster than migrating and distributing. */
  async copy(frozen: string): Promise<string> {
    const name = await this.#newName()
    const template = nameIn(frozen)
    await Promise.all((await this.servers()).map((server) => copyDatabase(server, name, template)))
    return within(frozen, name)
  }

  /** The addresses of the servers, the coordinator first. */
  async servers(): Promise<readonly string[]> {
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

  /** The schema's address by the owner of the cluster. */
  #asOwner(schema: string): string {
    const url = new URL(schema)
    url.username = new URL(this.#url).username
    return url.href
  }

  /** Of a database to be made, of which the oldest goes. */
  async #newName(): Promise<string> {
    this.#databases += 1
    const name = `tollgate_test_${process.pid}_${this.#databases}`
    this.#kept.push(name)
    if (this.#kept.length > KEPT) await this.#drop(this.#kept.shift() ?? '')
    return name
  }

  async #drop(name: string): Promise<void> {
    const servers = await this.servers()
    await Promise.all(servers.map((server) => direct(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)))
  }
}

/** Processes of Citus may still be connected to the template: they are ended until none is. */
async function copyDatabase(server: string, name: string, template: string): Promise<void> {
  await until(COPIED_MS, `${template} is copied`, async () => {
    await direct(server, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${template}'`)
    try {
      await direct(server, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`)
      return true
    } catch (thrown) {
      if (thrown instanceof pg.DatabaseError && thrown.code === IN_USE) return false
      throw thrown
    }
  })
}

function nameIn(url: string): string {
  return new URL(url).pathname.slice(1)
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
