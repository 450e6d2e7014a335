import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { percentile } from '../../harness/figures.ts'
import { form } from '../../harness/form.ts'
import { meanwhile, patient } from '../../harness/patience.ts'
import { startTollgate } from '../../harness/server.ts'
import { freshFolder, lasting } from '../../harness/lasting.ts'

/** Requests that read all of a large embedded store: no other request may wait for them. */
const ROWS = form({ short: 150_000, long: 600_000 })
/** A statement on the main thread would block for longer; a busy machine blocks for less. */
const STALL_MS_MAX = form({ short: 150, long: 500 })

const dataDir = freshFolder()
const first = await startTollgate({ dataDir })
const account = await first.createAccount()
await first.stop()
const accountId = account.id
fill(account.id)
// Rows without a charge: the audit has many findings.
const tollgate = await lasting(
  startTollgate({
    dataDir,
    audited: false,
    catalog: 'rate_limit: { requests: 100000, window: 1 }',
  }),
)
const key = (await tollgate.admin('POST', `/admin/v1/accounts/${account.id}/keys`, { name: 'k' })).body.key

/** Settled holds with their charges, and sums of many accounts by day. */
function fill(accountId: string): void {
  const database = new DatabaseSync(join(dataDir, 'tollgate.db'))
  const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${ROWS})`
  const keyId = String(database.prepare('SELECT id FROM api_key WHERE account_id = ?').get(accountId)?.['id'])
  database.exec(`PRAGMA synchronous=OFF;
    INSERT INTO hold (id, account_id, key_id, amount, state, price_version, subject, day, week, month, node, lease_until, placed_at, ended_at, charged, shortfall)
      ${numbers} SELECT printf('gen-%08d', n), '${accountId}', '${keyId}', 10, 'settled', 1, '{}', '2026-01-01', '2026-01-01', '2026-01-01', 'n', 0, 0, 0, 10, 0 FROM numbers;
    INSERT INTO entry (debit, credit, amount, kind, ref, account_id, created_at, hash) ${numbers} SELECT 'account:${accountId}', 'revenue', 10, 'charge', printf('gen-%08d', n), '${accountId}', 0, 'x' FROM numbers;
    INSERT INTO usage_day (account_id, day, key_id, model, provider, requests, input_tokens, output_tokens, revenue, provider_cost, insured, shortfall)
      ${numbers} SELECT 'acc_' || (n / 300), DATE('2026-01-01', '+' || (n % 300) || ' days'), 'key', 'm', 'p', 1, 1, 1, 1, 1, 0, 0 FROM numbers`)
  database.close()
}

const READS = {
  'an audit': () => '/admin/v1/audit',
  'a report of all accounts': () => '/admin/v1/usage?group_by=model&from=2026-01-01T00:00:00Z&to=2026-12-31T00:00:00Z',
  'a ledger page far down': () => `/admin/v1/accounts/${accountId}/ledger?limit=100&offset=250000`,
}

for (const [what, path] of Object.entries(READS)) {
  test(`${what} of ${ROWS} rows delays no other request`, async (t) => {
    const took: number[] = []
    const balance = async (): Promise<void> => {
      const startedMs = performance.now()
      assert.equal((await tollgate.get('/v1/user/balance', key)).status, 200)
      took.push(performance.now() - startedMs)
    }
    assert.equal((await meanwhile(tollgate.admin('GET', path()), balance, 5)).status, 200)
    t.diagnostic(
      `${took.length} balances meanwhile: p50 ${percentile(took, 0.5).toFixed(1)} ms, at most ${Math.max(...took).toFixed(0)} ms`,
    )
    assert.ok(Math.max(...took) < patient(STALL_MS_MAX), `${Math.max(...took)} ms`)
  })
}

test('a page far down is the right one, and its total exact', async () => {
  const { body } = await tollgate.admin('GET', `/admin/v1/accounts/${accountId}/ledger?limit=2&offset=${ROWS - 1}`)
  assert.deepEqual(
    [
      body.total,
      body.data.map(
        ({ kind, reference }: { readonly kind: string; readonly reference: string }) => `${kind} ${reference}`,
      ),
    ],
    [ROWS + 1, ['charge gen-00000001', `topup ${body.data[1].reference}`]],
  )
})
