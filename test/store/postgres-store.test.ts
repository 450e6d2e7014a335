import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { openStore } from '../../src/store/open.ts'
import { startPostgres, type Postgres } from '../harness/postgres.ts'
import { storeContract } from './store-contract.ts'
import { storeProperties } from './store-properties.ts'
import { twoNodeContract } from './two-nodes.ts'

const server: Postgres | null = await startPostgres()

if (server === null) test.skip('PostgreSQL store: no PostgreSQL on this machine')
else postgresTests(server)

function postgresTests(postgres: Postgres): void {
  const open = (url: string) => openStore({ dataDir: '', databaseUrl: url })
  describe('PostgreSQL store', () => {
    let databases = 0
    let admin = new pg.Client({ connectionString: postgres.url })
    before(async () => {
      await admin.connect()
    })
    after(async () => {
      await admin.end()
      await postgres.stop()
    })
    // A database of its own for each test, since an audit reads everything there is.
    const newDatabase = async (): Promise<string> => {
      databases += 1
      await admin.query(`CREATE DATABASE contract_${databases}`)
      return postgres.url.replace(/\/postgres$/, `/contract_${databases}`)
    }
    storeContract(async () => open(await newDatabase()))
    storeProperties(async () => open(await newDatabase()), 8)
    twoNodeContract(newDatabase, open)
  })
}
