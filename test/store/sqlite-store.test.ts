import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { KEY_WRAP } from '../harness/key-wrap.ts'
import { openStore } from '../../src/store/open.ts'
import { StoreBusyError } from '../../src/store/sqlite/database.ts'
import { form } from '../harness/form.ts'
import { noStall } from '../harness/patience.ts'
import { lastMoneyRace } from './allowances-contract.ts'
import { appendOnlyContract, type OpenedBelow } from './append-only.ts'
import { booksContract } from './books-contract.ts'
import { coveredColumns } from './covered-columns.ts'
import { benchTests } from './ledger-fixture.ts'
import { pageContract } from './page-contract.ts'
import { ledgerDepthContract } from './ledger-depth-contract.ts'
import { plantedViolations } from './planted-violations.ts'
import { statementsContract } from './statements-contract.ts'
import { storeContract } from './store-contract.ts'
import { storeProperties } from './store-properties.ts'

const directories: string[] = []
after(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})

/** In memory if the machine has such a folder: the model test is about the written rows, not the disk. */
const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

function newDirectory(parent = tmpdir()): string {
  const directory = mkdtempSync(join(parent, 'tollgate-store-'))
  directories.push(directory)
  return directory
}

const empty = newDirectory(MEMORY)
await (await openStore({ dataDir: empty, databaseUrl: null, keyWrap: KEY_WRAP })).close()

/** A directory with an empty store: a copy of one that was migrated once for all tests. */
function migrated(parent = tmpdir()): string {
  const directory = newDirectory(parent)
  cpSync(empty, directory, { recursive: true })
  return directory
}

describe('embedded store', () => {
  const open = () => openStore({ dataDir: migrated(), databaseUrl: null, keyWrap: KEY_WRAP })
  storeContract(open)
  benchTests(open)(
    'R4, all: requests race for the last money of an account and of a key: never more than there is',
    (bench) => lastMoneyRace(bench, bench, 'all'),
  )
  storeProperties(() => openStore({ dataDir: migrated(MEMORY), databaseUrl: null, keyWrap: KEY_WRAP }), {
    runs: form({ short: 12, long: 500 }),
    nodesMax: 4,
    budgetMs: 400_000,
  })
  const openBelow = async (): Promise<OpenedBelow> => {
    const dataDir = migrated()
    const store = await openStore({ dataDir, databaseUrl: null, keyWrap: KEY_WRAP })
    const below = async (statement: string): Promise<void> => {
      const database = new DatabaseSync(join(dataDir, 'tollgate.db'), { enableForeignKeyConstraints: false })
      try {
        database.exec(statement)
      } finally {
        database.close()
      }
    }
    const columns: OpenedBelow['columns'] = async () => {
      const database = new DatabaseSync(join(dataDir, 'tollgate.db'))
      try {
        const rows = database
          .prepare(
            "SELECT m.name AS name, p.name AS column_name, p.type AS type FROM sqlite_master m JOIN pragma_table_info(m.name) p WHERE m.type = 'table'",
          )
          .all()
        const some = (from: string): boolean => database.prepare(`SELECT 1 FROM ${from} LIMIT 1`).get() !== undefined
        return rows.map((row) => {
          const [table, column, type] = [String(row['name']), String(row['column_name']), String(row['type'])]
          return {
            table,
            column,
            type: /INT/.test(type) ? 'whole' : type === 'BLOB' ? 'bytes' : 'text',
            filled: some(table),
            valued: some(`${table} WHERE "${column}" IS NOT NULL`),
          }
        })
      } finally {
        database.close()
      }
    }
    let isOpen = true
    const openAgain: OpenedBelow['openAgain'] = async (keyWrap) => {
      if (isOpen) await store.close()
      isOpen = false
      return openStore({ dataDir, databaseUrl: null, keyWrap })
    }
    return {
      store,
      openAgain,
      isOpen: () => isOpen,
      below,
      columns,
      dropTriggers: ['entry', 'event'].flatMap((table) => [
        `DROP TRIGGER ${table}_no_update`,
        `DROP TRIGGER ${table}_no_delete`,
      ]),
    }
  }
  appendOnlyContract(openBelow)
  plantedViolations(openBelow, 1)
  coveredColumns(openBelow, 4)
  booksContract(openBelow)
  statementsContract(openBelow)
  ledgerDepthContract(openBelow)
  pageContract(openBelow, (text) => `CAST(${text} AS TEXT)`)

  test('a second process finds the directory taken and says so in one sentence', async () => {
    const dataDir = newDirectory()
    const first = await openStore({ dataDir, databaseUrl: null, keyWrap: KEY_WRAP })
    await assert.rejects(
      openStore({ dataDir, databaseUrl: null, keyWrap: KEY_WRAP }),
      (error: unknown) => error instanceof StoreBusyError && error.message.includes(dataDir),
    )
    await first.close()
    const second = await openStore({ dataDir, databaseUrl: null, keyWrap: KEY_WRAP })
    await second.close()
  })

  test('bytes that no row names, as a kill in the middle leaves them, are swept; stored ones stay', async () => {
    const dataDir = newDirectory()
    const store = await openStore({ dataDir, databaseUrl: null, keyWrap: KEY_WRAP })
    const kept = { id: 'img-1', accountId: 'acc_1', mediaType: 'image/png', tokenDigest: null, expiresAtMs: 10 }
    mkdirSync(join(dataDir, 'files'), { recursive: true })
    for (const name of ['dead.part', 'dead-too']) writeFileSync(join(dataDir, 'files', name), 'x')
    await store.files.put(
      kept,
      (async function* () {
        yield Buffer.from('bytes')
      })(),
    )
    await store.files.removeExpired(5)
    assert.equal(readdirSync(join(dataDir, 'files')).length, 1)
    await store.files.removeExpired(10)
    assert.deepEqual(readdirSync(join(dataDir, 'files')), [])
    await store.close()
  })

  test('a conversation of 1,000 turns is read at once, whatever else its account keeps', async () => {
    const dataDir = migrated(MEMORY)
    const store = await openStore({ dataDir, databaseUrl: null, keyWrap: KEY_WRAP })
    const database = new DatabaseSync(join(dataDir, 'tollgate.db'), { enableForeignKeyConstraints: false })
    database.exec(`WITH RECURSIVE made (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM made WHERE n < 10000)
      INSERT INTO kept_response (id, account_id, previous_id, state, bytes, created_at, input, answer)
      SELECT 'gen-' || n, 'acc_1', CASE WHEN n % 1000 = 1 THEN NULL ELSE 'gen-' || (n - 1) END, 'ended', 2, n, x'00', x'00' FROM made`)
    database.close()
    const turns = await noStall('the turns', () => store.responses.turns({ accountId: 'acc_1' }, 'gen-10000', 0))
    const ids = turns.map(({ id }) => id)
    const contents = await noStall('their contents', () => store.responses.contents('acc_1', ids, 0))
    assert.deepEqual([turns.length, turns[0]?.id, contents.length], [1_000, 'gen-9001', 1_000])
    await store.close()
  })

  test('a committed record is there after the store is opened again', async () => {
    const dataDir = newDirectory()
    const first = await openStore({ dataDir, databaseUrl: null, keyWrap: KEY_WRAP })
    await first.accounts.create({
      id: 'acc_1',
      name: 'kept',
      email: null,
      defaultModel: null,
      rateLimit: null,
      createdAtMs: 1,
    })
    await first.close()
    const second = await openStore({ dataDir, databaseUrl: null, keyWrap: KEY_WRAP })
    assert.equal((await second.accounts.get('acc_1'))?.name, 'kept')
    await second.close()
  })
})
