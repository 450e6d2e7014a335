import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { until } from '../../../test/harness/patience.ts'
import { big } from '../database.ts'
import { SqliteDatabase, WAL_LENGTH } from './database.ts'
import { freshFolder } from '../../../test/harness/lasting.ts'

const BYTES = 17 * 1_048_576

const directory = freshFolder()
test('a long write-ahead log is moved into the database by a thread, and begins anew', async () => {
  const database = new SqliteDatabase(directory)
  const length = (): readonly bigint[] => {
    const row = database.prepare(WAL_LENGTH).get() ?? {}
    return [big(row, 'log'), big(row, 'checkpointed')]
  }
  const bytes = (): number => statSync(join(directory, 'tollgate.db')).size
  await database.run('CREATE TABLE big (data BLOB)')
  await database.run('INSERT INTO big VALUES (ZEROBLOB(?))', [BigInt(BYTES)])
  assert.ok((length()[0] ?? 0n) > 4_000n)
  await until(10_000, 'all pages are moved', () => bytes() >= BYTES && length()[0] === length()[1])
  await database.run('INSERT INTO big VALUES (ZEROBLOB(1))')
  assert.ok((length()[0] ?? 0n) < 10n, 'the log has only what came after')
  await database.close()
  const again = new SqliteDatabase(directory)
  assert.equal((await again.all('SELECT 1 FROM big')).length, 2)
  await again.close()
})
