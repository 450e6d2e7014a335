import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { openStore } from '../../src/store/open.ts'
import { StoreBusyError } from '../../src/store/sqlite-database.ts'
import { form } from '../harness/form.ts'
import { appendOnlyContract, type OpenedBelow } from './append-only.ts'
import { plantedViolations } from './planted-violations.ts'
import { storeContract } from './store-contract.ts'
import { storeProperties } from './store-properties.ts'

const directories: string[] = []
after(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})

/** In memory where the machine has such a place: the model test is about what is written, not about the disk. */
const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

function newDirectory(parent = tmpdir()): string {
  const directory = mkdtempSync(join(parent, 'tollgate-store-'))
  directories.push(directory)
  return directory
}

describe('embedded store', () => {
  const open = () => openStore({ dataDir: newDirectory(), databaseUrl: null })
  storeContract(open)
  storeProperties(() => openStore({ dataDir: newDirectory(MEMORY), databaseUrl: null }), { runs: form({ short: 50, long: 300 }), nodesMax: 4, budgetMs: 120_000 })
  const openBelow = async (): Promise<OpenedBelow> => {
    const dataDir = newDirectory()
    const store = await openStore({ dataDir, databaseUrl: null })
    const below = async (statement: string): Promise<void> => {
      const database = new DatabaseSync(join(dataDir, 'tollgate.db'))
      try {
        database.exec(statement)
      } finally {
        database.close()
      }
    }
    return { store, below, dropTriggers: ['entry', 'event'].flatMap((table) => [`DROP TRIGGER ${table}_no_update`, `DROP TRIGGER ${table}_no_delete`]) }
  }
  appendOnlyContract(openBelow)
  plantedViolations(openBelow)

  test('a second process finds the directory taken and says so in one sentence', async () => {
    const dataDir = newDirectory()
    const first = await openStore({ dataDir, databaseUrl: null })
    await assert.rejects(openStore({ dataDir, databaseUrl: null }), (error: unknown) => error instanceof StoreBusyError && error.message.includes(dataDir))
    await first.close()
    const second = await openStore({ dataDir, databaseUrl: null })
    await second.close()
  })

  test('bytes that no row names, as a kill in the middle leaves them, are swept; stored ones stay', async () => {
    const dataDir = newDirectory()
    const store = await openStore({ dataDir, databaseUrl: null })
    const kept = { id: 'img-1', accountId: 'acc_1', mediaType: 'image/png', tokenDigest: null, expiresAtMs: 10 }
    mkdirSync(join(dataDir, 'files'), { recursive: true })
    for (const name of ['dead.part', 'dead-too']) writeFileSync(join(dataDir, 'files', name), 'x')
    await store.files.put(kept, (async function* () { yield Buffer.from('bytes') })())
    await store.files.removeExpired(5)
    assert.equal(readdirSync(join(dataDir, 'files')).length, 1)
    await store.files.removeExpired(10)
    assert.deepEqual(readdirSync(join(dataDir, 'files')), [])
    await store.close()
  })

  test('what was committed is there after the store is opened again', async () => {
    const dataDir = newDirectory()
    const first = await openStore({ dataDir, databaseUrl: null })
    await first.accounts.create({ id: 'acc_1', name: 'kept', email: null, defaultModel: null, rateLimit: null, createdAtMs: 1 })
    await first.close()
    const second = await openStore({ dataDir, databaseUrl: null })
    assert.equal((await second.accounts.get('acc_1'))?.name, 'kept')
    await second.close()
  })
})
