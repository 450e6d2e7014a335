import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { givenCitus, LAYOUTS, type Layout } from './citus.ts'
import { direct } from '../harness/postgres.ts'
import { KEY_WRAP } from '../harness/key-wrap.ts'
import { allowancesContract } from '../store/allowances-contract.ts'
import { Bench, newId, NOON_MS, TestClock } from '../store/ledger-fixture.ts'
import { logPartsContract } from '../store/log-parts-contract.ts'
import { openedBelow } from '../store/postgres-below.ts'
import { statementsContract } from '../store/statements-contract.ts'
import { storeContract } from '../store/store-contract.ts'
import { storeProperties } from '../store/store-properties.ts'
import { twoNodeContract } from '../store/two-nodes.ts'

const MODEL = { runs: 5, nodesMax: 4, budgetMs: 1_200_000 }
const citus = givenCitus()
const open = (url: string): Promise<Store> => openStore({ dataDir: '', databaseUrl: url, keyWrap: KEY_WRAP })

describe('what Citus refuses of the schema and the statements, as decision 17 says', () => {
  const refused: readonly (readonly [string, string, string, RegExp])[] = [
    ['a row that its id alone makes unique', 'generation', 'on', /cannot create constraint/],
    ['a table with a trigger', 'entry', 'off', /because it has triggers/],
    [
      'a reference to a table that is not distributed',
      'hold',
      'on',
      /must be a distributed table or a reference table/,
    ],
  ]
  for (const [what, table, unsafeTriggers, sentence] of refused)
    test(what, async () => {
      const url = await citus.emptyDatabase()
      await (await open(url)).close()
      const spread = `SELECT create_distributed_table('${table}', 'account_id')`
      await assert.rejects(direct(url, `SET citus.enable_unsafe_triggers = ${unsafeTriggers}`, spread), sentence)
    })

  test('the audit, once the sums of days are distributed and the accounts are not', async () => {
    const url = await citus.emptyDatabase()
    const store = await open(url)
    for (const table of ['usage_day', 'app_day', 'booked_later'])
      await direct(url, `SELECT create_distributed_table('${table}', 'account_id')`)
    const audit = store.audit.run({ sinceMs: 0, nowMs: Date.now(), replay: () => Promise.resolve(null) })
    await assert.rejects(audit, /direct joins between distributed and local tables/)
    await store.close()
  })

  test('accounts that are locked together', async () => {
    const url = await citus.emptyDatabase()
    await direct(url, 'CREATE TABLE account (id text PRIMARY KEY)')
    await direct(url, `SELECT create_distributed_table('account', 'id')`)
    const lock = (ids: string): Promise<unknown> =>
      direct(url, `SELECT id FROM account WHERE id = ANY('${ids}'::text[]) ORDER BY id FOR UPDATE`)
    await lock('{a}')
    await assert.rejects(lock('{a,b}'), /could not run distributed query with FOR UPDATE/)
  })
})

const PLACED: Readonly<Record<Layout, (url: string) => Promise<unknown>>> = {
  coordinator: () => Promise.resolve(),
  schema: (url) => citus.distribute(url),
}
for (const layout of ['coordinator', 'schema'] as const)
  describe(LAYOUTS[layout], () => {
    let made: Promise<string> | null = null
    const template = async (): Promise<string> => {
      const url = await citus.emptySchema(await citus.emptyDatabase())
      await (await open(url)).close()
      await PLACED[layout](url)
      return citus.freeze(url)
    }
    const database = async (): Promise<string> => citus.copy(await (made ??= template()))
    const openBelow = async (): ReturnType<typeof openedBelow> => openedBelow(await database(), open)
    storeContract(async () => open(await database()))
    describe('model', () => storeProperties(async () => open(await database()), MODEL))
    describe('two nodes', () => twoNodeContract(database, open))
    describe('allowances', () => allowancesContract(database, open))
    describe('statements', () => statementsContract(openBelow))
    describe('parts of the log', () => logPartsContract(database, open))
  })

test('schemas of one database are spread over the workers', async () => {
  const url = await citus.emptyDatabase()
  const ports = new Set<number>()
  for (let made = 0; made < 2; made += 1) {
    const schema = await citus.emptySchema(url)
    await (await open(schema)).close()
    ports.add(await citus.distribute(schema))
  }
  assert.equal(ports.size, 2)
})

test('a later release changes a distributed schema: columns, indexes, tables; a check is a statement of its own', async () => {
  const schema = await citus.emptySchema(await citus.emptyDatabase())
  const bench = new Bench(await open(schema), new TestClock(NOON_MS))
  const customer = await bench.customer(1_000n)
  const port = await citus.distribute(schema)
  await direct(
    schema,
    'ALTER TABLE account ADD COLUMN later BIGINT NOT NULL DEFAULT 7',
    'ALTER TABLE account ADD CONSTRAINT account_later CHECK (later >= 0)',
    'CREATE INDEX account_by_later ON account (later)',
    'CREATE TABLE later (id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES account(id), amount BIGINT NOT NULL CHECK (amount > 0))',
    'ALTER TABLE api_key ADD COLUMN later_id TEXT REFERENCES later(id)',
  )
  await assert.rejects(
    direct(schema, 'ALTER TABLE account ADD COLUMN refused BIGINT CHECK (refused >= 0)'),
    /cannot execute ADD COLUMN command with PRIMARY KEY, UNIQUE, FOREIGN and CHECK constraints/,
  )
  assert.equal(await citus.place(schema), port)
  const id = newId('gen-')
  await bench.hold(customer, 10n, id)
  await bench.settle(customer, id, 3n)
  await direct(schema, `INSERT INTO later SELECT 'first', id, later FROM account`)
  const [row] = await direct(
    schema,
    'SELECT amount, available FROM later JOIN account ON account.id = later.account_id',
  )
  assert.deepEqual(row, { amount: '7', available: '997' })
  await bench.auditClean()
  await bench.store.close()
})
