import { after, describe, test } from 'node:test'
import pg from 'pg'
import { openStore } from '../../src/store/open.ts'
import { startPostgres, type Postgres } from '../harness/postgres.ts'
import { storeContract } from './store-contract.ts'
import { storeProperties } from './store-properties.ts'
import { appendOnlyContract } from './append-only.ts'
import { outageContract } from './outage.ts'
import { twoNodeContract } from './two-nodes.ts'

const server: Postgres | null = await startPostgres()

if (server === null) test.skip('PostgreSQL store: no PostgreSQL on this machine')
else postgresTests(server)

function postgresTests(postgres: Postgres): void {
  const open = (url: string) => openStore({ dataDir: '', databaseUrl: url })
  describe('PostgreSQL store', () => {
    let databases = 0
    after(() => postgres.stop())
    // A database of its own for each test, since an audit reads everything there is.
    const newDatabase = async (): Promise<string> => {
      databases += 1
      await direct(postgres.url, `CREATE DATABASE contract_${databases}`)
      return postgres.url.replace(/\/postgres$/, `/contract_${databases}`)
    }
    storeContract(async () => open(await newDatabase()))
    storeProperties(async () => open(await newDatabase()), { runs: 100, nodesMax: 8, budgetMs: 240_000 })
    twoNodeContract(newDatabase, open)
    appendOnlyContract(async () => {
      const url = await newDatabase()
      const store = await open(url)
      return { store, below: (statement) => direct(url, statement), dropTriggers: ['entry', 'event'].map((table) => `DROP TRIGGER ${table}_append_only ON ${table}`) }
    })
    outageContract(newDatabase, open, () => postgres.crash())
  })
}

async function direct(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
