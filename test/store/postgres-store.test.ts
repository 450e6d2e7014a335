import { after, describe, test } from 'node:test'
import pg from 'pg'
import { openStore } from '../../src/store/open.ts'
import { startPostgres, type Postgres } from '../harness/postgres.ts'
import { storeContract } from './store-contract.ts'
import { storeProperties } from './store-properties.ts'
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
      const admin = new pg.Client({ connectionString: postgres.url })
      await admin.connect()
      await admin.query(`CREATE DATABASE contract_${databases}`)
      await admin.end()
      return postgres.url.replace(/\/postgres$/, `/contract_${databases}`)
    }
    storeContract(async () => open(await newDatabase()))
    storeProperties(async () => open(await newDatabase()), 8)
    twoNodeContract(newDatabase, open)
    outageContract(newDatabase, open, () => postgres.crash())
  })
}
