import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { decodeRows, encodeRows, PendingRows, runAll } from './pending-rows.ts'

const OLDER = [7n, 3n, 2n, 'head', 0n, 0n, 0n, 'seal', 'acc_1']
const NEWER = [7n, 3n, 2n, 'head', 0n, 0n, 0n, 'month 2026-11-01', 5n, 'seal', 'acc_2']

test('an account that an older program left in the journal keeps what that program did not know', () => {
  const database = new DatabaseSync(':memory:')
  database.exec(
    `CREATE TABLE account (id TEXT PRIMARY KEY, available BIGINT, held BIGINT, log_rows BIGINT, entry_head TEXT, free_hour BIGINT,
      free_insured BIGINT, free_spent BIGINT, limit_start TEXT, limit_spent BIGINT NOT NULL DEFAULT 0, seal TEXT);
     INSERT INTO account (id) VALUES ('acc_1'), ('acc_2')`,
  )
  const left = { accounts: [OLDER, NEWER], keys: [], holds: [], entries: [], log: [] }
  const rows = new PendingRows()
  rows.add(decodeRows(encodeRows(left)))
  runAll(rows.write((text, values) => void database.prepare(text).run(...values)))
  const found = database.prepare('SELECT id, available, limit_start, limit_spent, seal FROM account ORDER BY id').all()
  assert.deepEqual(
    found.map((row) => Object.values(row)),
    [
      ['acc_1', 7, null, 0, 'seal'],
      ['acc_2', 7, 'month 2026-11-01', 5, 'seal'],
    ],
  )
  database.close()
})

test('an account of a width that no program has written is refused in words', () => {
  const payload = encodeRows({ accounts: [NEWER.slice(1)], keys: [], holds: [], entries: [], log: [] })
  assert.throws(() => decodeRows(payload), /tollgate\.rows: start that program once/)
})
