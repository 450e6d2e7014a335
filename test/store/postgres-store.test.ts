import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, test } from 'node:test'
import pg from 'pg'
import { KEY_WRAP } from '../harness/key-wrap.ts'
import { CHANGE, type Sql, type SqlValue } from '../../src/store/database.ts'
import { listedIds } from '../../src/store/dialect.ts'
import { openFailure, openStore } from '../../src/store/open.ts'
import { holderOf, PostgresDatabase } from '../../src/store/postgres/database.ts'
import { arrayText } from '../../src/store/postgres/ledger.ts'
import { WordStore } from '../../src/store/search/word-store.ts'
import type { Store } from '../../src/store/store.ts'
import { StoreUnavailableError } from '../../src/ledger/ledger-store.ts'
import { direct, startPostgres, type Postgres } from '../harness/postgres.ts'
import { form } from '../harness/form.ts'
import { migrateLater } from '../harness/later-migration.ts'
import { patient, until } from '../harness/patience.ts'
import { startTollgate } from '../harness/server.ts'
import { Bench, newId, NOON_MS, TestClock } from './ledger-fixture.ts'
import { statementsContract } from './statements-contract.ts'
import { createJob } from './jobs-contract.ts'
import { storeContract } from './store-contract.ts'
import { storeProperties } from './store-properties.ts'
import { appendOnlyContract, type OpenedBelow } from './append-only.ts'
import { booksContract } from './books-contract.ts'
import { coveredColumns } from './covered-columns.ts'
import { pageContract } from './page-contract.ts'
import { ledgerDepthContract } from './ledger-depth-contract.ts'
import { logPartsContract } from './log-parts-contract.ts'
import { plantedViolations } from './planted-violations.ts'
import { openedBelow } from './postgres-below.ts'
import { outageContract } from './outage.ts'
import { allowancesContract } from './allowances-contract.ts'
import { twoNodeContract } from './two-nodes.ts'

/** Databases kept for the latest tests, of which each has two at most. */
const KEPT = 10

/** Changes of many rows that charges lock too: in another order each would wait for the other. */
const LOCKED_IN_ORDER: readonly (readonly [string, string, (store: Store, ids: readonly string[]) => Promise<void>])[] =
  [
    ['the time of a last use', 'api_key', (store, ids) => store.keys.touch(ids, NOON_MS)],
    // No account has a new job.
    ['a renewed lease of jobs', 'job', (store, ids) => store.jobs.renew(ids, '', NOON_MS)],
    ['a renewed lease', 'hold', (store, ids) => store.ledger.renewLeases(ids, NOON_MS)],
  ]

/** Ids of two new rows. */
async function twoRows(bench: Bench, table: string): Promise<readonly string[]> {
  const customer = await bench.customer(1_000n)
  if (table === 'api_key') return [customer.keyId, (await bench.customer(10n)).keyId]
  if (table === 'job') return [(await createJob(bench, customer)).id, (await createJob(bench, customer)).id]
  const ids = [newId('gen-'), newId('gen-')]
  for (const id of ids) await bench.hold(customer, 1n, id)
  return ids
}

const server: Postgres | null = await startPostgres()

if (server === null) test.skip('PostgreSQL store: no PostgreSQL on this machine')
else postgresTests(server)

function postgresTests(postgres: Postgres): void {
  const open = (url: string) => openStore({ dataDir: '', databaseUrl: url, keyWrap: KEY_WRAP })
  describe('PostgreSQL store', () => {
    let databases = 0
    after(() => postgres.stop())
    const emptyDatabase = async (template = 'template1'): Promise<string> => {
      databases += 1
      await direct(
        postgres.url,
        `CREATE DATABASE contract_${databases} TEMPLATE ${template} STRATEGY FILE_COPY`,
        // Databases of finished tests; the first is the template.
        ...(databases > KEPT + 1 ? [`DROP DATABASE contract_${databases - KEPT} WITH (FORCE)`] : []),
      )
      return postgres.url.replace(/\/postgres$/, `/contract_${databases}`)
    }
    let migrated: Promise<string> | null = null
    const template = async (): Promise<string> => {
      const url = await emptyDatabase()
      await (await open(url)).close()
      return new URL(url).pathname.slice(1)
    }
    // A separate database for each test, since an audit reads everything; migrated once for all of them.
    const newDatabase = async (): Promise<string> => emptyDatabase(await (migrated ??= template()))
    for (const [what, table, change] of LOCKED_IN_ORDER)
      test(`${what} locks rows in the order of charges, and waits for one while it has none behind it`, async () => {
        const url = await newDatabase()
        const store = await open(url)
        const bench = new Bench(store, new TestClock(NOON_MS))
        const ids = await twoRows(bench, table)
        const [first = '', second = ''] = ids.toSorted()
        const charge = new pg.Client({ connectionString: url })
        await charge.connect()
        await charge.query('BEGIN')
        await charge.query(`SELECT id FROM ${table} WHERE id = $1 FOR UPDATE`, [first])
        const changed = change(store, [second, first])
        await until(10_000, 'it waits for the first row', async () => {
          const waiting = await direct(url, `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'`)
          return waiting.length > 0
        })
        await charge.query(`SELECT id FROM ${table} WHERE id = $1 FOR UPDATE NOWAIT`, [second])
        await charge.query('COMMIT')
        await charge.end()
        await changed
        await store.close()
      })
    test('a search and its words are read by index, though the statistics know a few words only', async () => {
      const url = await newDatabase()
      const words = (from: number, to: number): string =>
        `INSERT INTO search_word SELECT 'account', 'client', 'acc_' || n FROM generate_series(${from}, ${to}) AS n`
      await direct(
        url,
        'ALTER TABLE search_word SET (autovacuum_enabled = false)',
        words(1, 30),
        'ANALYZE search_word',
        words(31, 20_000),
      )
      const database = new PostgresDatabase(url)
      const planOf = async (text: string, values: readonly SqlValue[]): Promise<string> =>
        (await database.all(`EXPLAIN ${text}`, values)).flatMap(Object.values).join('\n')
      const ids = JSON.stringify(['acc_7', 'acc_8'])
      const written = await planOf(
        `DELETE FROM search_word WHERE kind = 'account' AND ${listedIds('postgres', 'object_id')}`,
        [ids],
      )
      assert.match(written, /Index Cond: .*object_id = ANY/)
      const found = await new WordStore(database).finding('account', 'id', 'client')
      assert.notEqual(found.common, null)
      const read = await planOf(
        `SELECT id FROM account WHERE ${found.conditions.join(' AND ')} ORDER BY created_at LIMIT 50`,
        found.values,
      )
      assert.match(read, /Index Cond: .*object_id = account\.id/)
      assert.match(read, /SubPlan/)
      await database.close()
    })
    test('a search is answered while another node writes words for too long', async () => {
      const url = await newDatabase()
      const store = await open(url)
      await new Bench(store, new TestClock(NOON_MS)).customer(1_000n)
      const other = new pg.Client({ connectionString: url })
      await other.connect()
      await other.query('BEGIN')
      await other.query('SELECT place FROM search_fill FOR UPDATE')
      const list = async (query: string): Promise<number> =>
        (await store.accounts.list({ query, limit: 10, offset: 0 })).data.length
      assert.equal(await list('acc'), 0, 'its words are not written yet')
      await other.query('COMMIT')
      await other.end()
      assert.equal(await list('acc'), 1)
      await store.close()
    })
    test('a key is looked up while reports have all connections of readers', async () => {
      const url = await newDatabase()
      const store = await open(url)
      const customer = await new Bench(store, new TestClock(NOON_MS)).customer(1_000n)
      const holder = new pg.Client({ connectionString: url })
      await holder.connect()
      await holder.query('BEGIN')
      await holder.query('LOCK TABLE event IN ACCESS EXCLUSIVE MODE')
      // More than any pool has.
      const reports = Array.from({ length: 20 }, () => store.events.list({ limit: 1, offset: 0 }).catch(() => null))
      await until(10_000, 'the reports wait for the table', async () => {
        const waiting = await direct(url, `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'`)
        return waiting.length >= 10
      })
      const owner = await store.keys.findByDigest(customer.digest)
      const left = await direct(url, `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'`)
      assert.equal(owner?.account.id, customer.accountId)
      assert.ok(left.length >= 10, 'the reports still waited')
      await holder.end()
      await Promise.all(reports)
      await store.close()
    })
    test('what the server breaks off is an outage, and no error of ours', async () => {
      const url = await newDatabase()
      const database = new PostgresDatabase(url)
      const broken = (what: string, work: (sql: Sql) => Promise<unknown>): Promise<void> =>
        assert.rejects(database.transaction(work), StoreUnavailableError, what)
      try {
        await broken('a transaction that stood still, as on a machine that did', async (sql) => {
          const [row] = await sql.all('SELECT pg_backend_pid() AS pid')
          await sql.run("SET LOCAL idle_in_transaction_session_timeout = '20ms'")
          await until(10_000, 'the server has ended it', async () => {
            const left = await direct(url, `SELECT 1 FROM pg_stat_activity WHERE pid = ${Number(row?.['pid'])}`)
            return left.length === 0
          })
          await sql.all('SELECT 1 AS one')
        })
        await broken('rows that everybody wants', (sql) =>
          sql.run("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$"),
        )
        let tries = 0
        await database.transaction(async (sql) => {
          tries += 1
          // A lock that was not there in time, then a deadlock, more often than a charge is tried.
          const code = tries % 2 === 0 ? '40P01' : '55P03'
          if (tries < 12) await sql.run(`DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '${code}'; END $$`)
        }, CHANGE)
        assert.equal(tries, 12, 'a change is tried until it is done')
        await broken('a server that only reads', async (sql) => {
          await sql.run('SET TRANSACTION READ ONLY')
          await sql.run('CREATE TABLE none (id int)')
        })
        await assert.rejects(database.all('SELECT none'), { name: 'error' }, 'a statement of ours that is wrong')
      } finally {
        await database.close()
      }
    })
    test('texts of an array arrive as they are, whatever is in them', async () => {
      const database = new PostgresDatabase(await newDatabase())
      const texts = [
        '',
        'plain',
        'NULL',
        '{a,b}',
        '"q" \\ \\n \\" /',
        'line\nbreak\ttab\u0001\u001F\u007F',
        '№ «да» 😀\u2028"\\',
      ]
      try {
        const rows = await database.all('SELECT unnest(?::text[]) AS text', [arrayText([...texts, null])])
        assert.deepEqual(
          rows.map(({ text }) => text),
          [...texts, null],
        )
      } finally {
        await database.close()
      }
    })
    test('a charge whose last statement fails leaves nothing, and nothing of a failed read is built on', async () => {
      const database = new PostgresDatabase(await newDatabase())
      const insert = (id: string): string => `INSERT INTO left_over VALUES (${id})`
      const ids = async (): Promise<unknown[]> => (await database.all('SELECT id FROM left_over')).map(({ id }) => id)
      const nothing = (): Promise<void> => Promise.resolve()
      try {
        await database.run('CREATE TABLE left_over (id int8)')
        const read = (sql: Sql) => Promise.all([sql.all('SELECT 1 AS one'), sql.all('SELECT 2 AS one')])
        const failing = async (sql: Sql) => {
          await sql.run(insert('1'))
          return async () => void (await sql.run(insert('1 / 0')))
        }
        await assert.rejects(database.charge(read, failing), { code: '22012' })
        const faulty = (sql: Sql) => Promise.all([sql.all('SELECT 1 / 0'), sql.run(insert('2'))])
        await assert.rejects(
          database.charge(faulty, () => assert.fail('nothing is decided')),
          { code: '22012' },
        )
        assert.deepEqual(await ids(), [])
        await database.charge(read, async (sql) => async () => void (await sql.run(insert('3'))))
        await database.charge(read, async () => nothing)
        assert.deepEqual(await ids(), [3n])
      } finally {
        await database.close()
      }
    })
    storeContract(async () => open(await newDatabase()))
    storeProperties(async () => open(await newDatabase()), {
      runs: form({ short: 5, long: 100 }),
      nodesMax: 8,
      budgetMs: 400_000,
    })
    twoNodeContract(newDatabase, open)
    describe('allowances', () => allowancesContract(newDatabase, open))
    const openBelow = async (): Promise<OpenedBelow> => openedBelow(await newDatabase(), open)
    appendOnlyContract(openBelow)
    plantedViolations(openBelow, 3)
    // Each of its audits is many round trips; the embedded store tests more.
    coveredColumns(openBelow, 12)
    booksContract(openBelow)
    statementsContract(openBelow)
    ledgerDepthContract(openBelow)
    pageContract(openBelow, (text) => `CAST(CAST(${text} AS TEXT) AS BYTEA)`)
    test('a database that acknowledges commits before they are on the disk is refused, however it was told to, before anything is written', async () => {
      const url = await emptyDatabase()
      const { pathname } = new URL(url)
      await open(url).then((store) => store.close())
      const refused = async (given: string): Promise<void> => {
        await assert.rejects(
          open(given),
          (thrown: Error) =>
            thrown.name === 'UnsafeCommitError' &&
            /^PostgreSQL has synchronous_commit=off for this connection \(set by: [\w ]+\), so .+ start again\.$/.test(
              thrown.message,
            ),
        )
      }
      await refused(`${url}?options=${encodeURIComponent('-c synchronous_commit=off')}`)
      await direct(url, `ALTER DATABASE ${pathname.slice(1)} SET synchronous_commit = off`)
      await refused(url)
      await assert.rejects(
        startTollgate({ env: { DATABASE_URL: url, TOLLGATE_KEK: randomBytes(32).toString('base64') } }),
        (thrown: Error) => {
          assert.match(
            thrown.message,
            /^ended with 2 before it was ready\n\s*tollgate: PostgreSQL has synchronous_commit=off[^\n]+\n?$/,
          )
          return true
        },
      )
      await direct(url, `ALTER DATABASE ${pathname.slice(1)} SET synchronous_commit = local`)
      await open(url).then((store) => store.close())
    })
    test('chunks that no file names are swept when they are old, on whichever node', async () => {
      const url = await newDatabase()
      const [first, second] = [await open(url), await open(url)]
      const file = { id: 'img-1', accountId: 'acc_1', mediaType: 'image/png', tokenDigest: null, expiresAtMs: 9e15 }
      const chunk = (content: string, createdAtMs: number) =>
        direct(url, `INSERT INTO stored_chunk VALUES ('${content}', 0, 'x', ${createdAtMs})`)
      await first.files.put(
        file,
        (async function* () {
          yield Buffer.from('bytes')
        })(),
      )
      const nowMs = Date.now()
      await chunk('dead', nowMs - 24 * 3_600_000)
      await chunk('being-written', nowMs)
      assert.equal(await second.files.removeExpired(nowMs), 0)
      assert.deepEqual((await direct(url, 'SELECT count(*)::int AS count FROM stored_chunk'))[0], { count: 2 })
      const parts: Buffer[] = []
      for await (const part of second.files.read('img-1', { start: 1, end: 3 })) parts.push(part)
      assert.equal(Buffer.concat(parts).toString(), 'yte')
      await Promise.all([first.close(), second.close()])
    })
    logPartsContract(newDatabase, open)
    migrationTests(emptyDatabase, open)
    outageContract(newDatabase, open, () => postgres.crash())
  })
}

function migrationTests(emptyDatabase: () => Promise<string>, open: (url: string) => Promise<Store>): void {
  test('a node that starts waits for the one that migrates', async () => {
    const url = await emptyDatabase()
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query('SELECT pg_advisory_lock(7465617204)')
    let opened = false
    const opening = open(url).finally(() => (opened = true))
    await until(20_000, 'it has been refused the lock', async () => {
      const refused = await direct(
        url,
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'ROLLBACK%'",
      )
      return refused.length > 0
    })
    assert.equal(opened, false)
    await client.end()
    await (await opening).close()
  })

  test('F14: a migration that meets a busy table lets others through and tries again', async () => {
    const url = await emptyDatabase()
    await (await open(url)).close()
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query('BEGIN; LOCK TABLE schema_version IN SHARE MODE')
    const migrating = migrateLater(url)
    await until(20_000, 'it waits for the table', async () => {
      const waiting = await direct(
        url,
        "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'schema_version'::regclass",
      )
      return waiting.length > 0
    })
    // Who queues behind the waiting one gets through when that one gives up, before a charge would.
    for (let looks = 0; looks < 5; looks += 1) {
      const fromMs = performance.now()
      await direct(url, 'SELECT * FROM schema_version')
      assert.ok(performance.now() - fromMs < patient(800), 'it waited as long as the migration')
    }
    // Transactions that last longer than its first waits, one after another, do not keep it out for ever.
    await until(20_000, 'it waits for longer', async () => {
      const waiting = await direct(
        url,
        "SELECT 1 FROM pg_locks WHERE NOT granted AND clock_timestamp() - waitstart > interval '300 ms'",
      )
      return waiting.length > 0
    })
    await client.end()
    await migrating
  })

  test('a migration that waited in vain names the table, and who has held it for long, but nothing that may be a secret', async () => {
    const url = await emptyDatabase()
    await direct(url, 'CREATE TABLE busy (id int8, name text)')
    const database = new PostgresDatabase(url)
    const holder = new pg.Client({ connectionString: url })
    await holder.connect()
    try {
      await holder.query('BEGIN')
      await holder.query("SELECT count(*)\n FROM busy WHERE name <> 'hunter2' AND id > 0")
      for (const [what, statement] of [
        ['a table', 'ALTER TABLE busy ADD COLUMN more int8'],
        ['all of it', 'DROP TABLE busy'],
      ] as const)
        await assert.rejects(
          database.transaction((sql) => sql.run(statement), { purpose: 'migration' }),
          (thrown: Error) => {
            assert.equal(thrown.name, 'LockHeldError', what)
            assert.equal(
              thrown.message,
              'PostgreSQL: busy is locked by transactions of less than 10 s. Try again when there is less load.',
            )
            assert.equal(
              openFailure(thrown, { dataDir: '', databaseUrl: url }),
              thrown,
              'the operator sees it as it is',
            )
            return true
          },
        )
      const query = "SELECT count(*)\n FROM busy WHERE name <> 'hunter2' AND id > 0"
      for (const [pid, seconds] of [
        [7n, 10n],
        [0n, 0n],
      ] as const)
        assert.equal(
          holderOf({ what: 'busy', pid, query, seconds }),
          `PostgreSQL: process ${pid} has locked busy in a transaction of ${seconds} s: SELECT count(*) FROM busy WHERE name <> …. Wait until it has ended, or end it with pg_terminate_backend(${pid}), and start again.`,
        )
    } finally {
      await holder.end()
      await database.close()
    }
  })
}
