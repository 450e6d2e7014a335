import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { OperatorError } from '../base/errors.ts'
import type { Migration } from './migrations.ts'
import { migrate } from './migrations.ts'
import { WordStore } from './search/word-store.ts'
import { SqliteDatabase } from './sqlite/database.ts'
import { until } from '../../test/harness/patience.ts'
import { freshFolder } from '../../test/harness/lasting.ts'

const dataDir = freshFolder()
let stores = 0

function migration(version: number, statements: readonly string[], least?: number): Migration {
  const made = { version, name: `made up ${version}`, statements: { sqlite: statements, postgres: statements } }
  return least === undefined ? made : { ...made, least }
}

/** A store with these migrations after the baseline. */
async function store(...later: readonly Migration[]): Promise<SqliteDatabase> {
  const database = new SqliteDatabase(join(dataDir, String((stores += 1))))
  await migrate(database, later)
  return database
}

async function columns(database: SqliteDatabase): Promise<readonly unknown[]> {
  return (await database.all(`SELECT name FROM pragma_table_info('account') WHERE name LIKE 'later%'`)).map(
    (row) => row['name'],
  )
}

const ADDS = migration(2, ['ALTER TABLE account ADD COLUMN later BIGINT'], 1)
const REPLACES = migration(3, ['ALTER TABLE account RENAME COLUMN later TO later_name'])

test('each migration is applied once, in order; a new store and one that waited are the same', async () => {
  const waited = await store()
  for (const later of [[ADDS], [ADDS], [ADDS, REPLACES]]) await migrate(waited, later)
  const fresh = await store(ADDS, REPLACES)
  for (const database of [waited, fresh]) {
    assert.deepEqual(await columns(database), ['later_name'])
    assert.deepEqual(
      (await database.all('SELECT version, least FROM schema_version ORDER BY version')).map(Object.values),
      [
        [1n, 1n],
        [2n, 1n],
        [3n, 3n],
      ],
    )
    await database.close()
  }
})

test('a program works on a newer schema that allows it, and refuses one that does not', async () => {
  const database = await store(ADDS)
  await migrate(database, [])
  await migrate(database, [ADDS, REPLACES])
  for (const known of [[], [ADDS]])
    await assert.rejects(migrate(database, known), {
      name: OperatorError.name,
      message: `The store has schema 3, this program knows up to ${known.length + 1}: start the newer version.`,
    })
  await database.close()
})

test('a store whose migration has other statements is refused', async () => {
  const database = await store(ADDS)
  await assert.rejects(
    migrate(database, [migration(2, ['ALTER TABLE account ADD COLUMN later TEXT'], 1)]),
    /^OperatorError: Migration 2 of the store is not the one of this program: it was made by another build\.$/,
  )
  await database.close()
})

test('F14: a migration that fails leaves nothing, and the next start finishes it', async () => {
  const database = await store()
  await assert.rejects(migrate(database, [migration(2, [...ADDS.statements.sqlite, 'SELECT wrong FROM nowhere'], 1)]))
  assert.deepEqual(await columns(database), [])
  await migrate(database, [ADDS])
  assert.deepEqual(await columns(database), ['later'])
  await database.close()
})

test('accounts of a store from before the words are found after some batches, of which a crash loses none', async () => {
  const folder = join(dataDir, String((stores += 1)))
  const before = new SqliteDatabase(folder)
  await migrate(before, [])
  for (let index = 0; index < 450; index += 1)
    await before.run('INSERT INTO account (id, name, created_at) VALUES (?,?,?)', [
      `acc_${index}`,
      `ООО «Сорт ${index}»`,
      0n,
    ])
  await before.close()
  const database = new SqliteDatabase(folder)
  await migrate(database)
  const found = async (): Promise<number> => (await database.all('SELECT DISTINCT object_id FROM search_word')).length
  const first = new WordStore(database)
  first.fill()
  // As when its process ends after the first batch.
  await first.stop()
  assert.equal(await found(), 200)
  const words = new WordStore(database)
  words.fill()
  await until(20_000, 'the words of all accounts', async () => (await found()) === 450)
  await words.stop()
  const { conditions, values } = await words.finding('account', 'id', 'СОРТ 449')
  const rows = await database.all(['SELECT id FROM account WHERE', conditions.join(' AND ')].join(' '), values)
  assert.deepEqual(rows.map(Object.values), [['acc_449']])
  await database.close()
})
