import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { direct, startPostgres, type Postgres } from '../harness/postgres.ts'
import { form, isLong } from '../harness/form.ts'
import { KEY_WRAP } from '../harness/key-wrap.ts'
import { accountLimitsContract } from './account-limits-contract.ts'
import { claimsContract } from './claims-contract.ts'
import { filesContract } from './files-contract.ts'
import { guardContract } from './guard-contract.ts'
import { jobsContract } from './jobs-contract.ts'
import { LockWatch } from './lock-watch.ts'
import { logPartsContract } from './log-parts-contract.ts'
import { noticesContract } from './notices-contract.ts'
import { recordsContract } from './records-contract.ts'
import { refusalsContract } from './refusals-contract.ts'
import { responsesContract } from './responses-contract.ts'
import { twoNodeContract } from './two-nodes.ts'
import { wordsContract } from './words-contract.ts'

/**
 * Tables that none of these contracts writes to: of migrations (`search_fill`: how far an older store is read), of the
 * books' key, and sums that wait for nobody.
 */
const UNWRITTEN = [
  'book',
  'booked_later',
  'entry_mark',
  'management_key',
  'schema_version',
  'search_fill',
  'statement_month',
]

const server: Postgres | null = await startPostgres()

if (server === null) test.skip('order of locks: no PostgreSQL on this machine')
else lockTests(server)

function lockTests(postgres: Postgres): void {
  const open = (url: string): Promise<Store> => openStore({ dataDir: '', databaseUrl: url, keyWrap: KEY_WRAP })
  describe('guarantees.md 3.1: every transaction takes its locks in one order', () => {
    const watch = new LockWatch()
    let databases = 0
    const create = async (template: string): Promise<string> => {
      databases += 1
      await direct(postgres.url, `CREATE DATABASE watched_${databases} TEMPLATE ${template} STRATEGY FILE_COPY`)
      return postgres.url.replace(/\/postgres$/, `/watched_${databases}`)
    }
    let migrated: Promise<string> | null = null
    const template = async (): Promise<string> => {
      const url = await create('template1')
      await (await open(url)).close()
      watch.start()
      return new URL(url).pathname.slice(1)
    }
    const newDatabase = async (): Promise<string> => create(await (migrated ??= template()))
    const openNew = async (): Promise<Store> => open(await newDatabase())
    after(async () => {
      await watch.stop()
      await postgres.stop()
    })

    recordsContract(openNew)
    jobsContract(openNew)
    const rest = [
      accountLimitsContract,
      guardContract,
      filesContract,
      claimsContract,
      refusalsContract,
      wordsContract,
      responsesContract,
      noticesContract,
    ]
    for (const contract of form({ short: [], long: rest })) contract(openNew)
    if (isLong) logPartsContract(newDatabase, open)
    if (isLong) twoNodeContract(newDatabase, open)

    test('no transactions can wait for each other in a ring', async () => {
      watch.assertOneOrder()
      if (!isLong) return
      const tables = await direct(
        await newDatabase(),
        `SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND NOT relispartition`,
      )
      const missing = tables.map(({ relname }) => String(relname)).filter((table) => !watch.written.has(table))
      assert.deepEqual(missing.toSorted(), UNWRITTEN)
    })
  })
}
