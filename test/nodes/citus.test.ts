import assert from 'node:assert/strict'
import { after, describe, test, type TestContext } from 'node:test'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { Citus, direct } from '../harness/citus.ts'
import { answersSeen, checkMoney, crashAccount, crashClient, type Observed } from '../harness/crash-clients.ts'
import { KEY_WRAP } from '../harness/key-wrap.ts'
import { NodeBench } from '../harness/node-bench.ts'
import { allowancesContract } from '../store/allowances-contract.ts'
import { storeContract } from '../store/store-contract.ts'
import { storeProperties } from '../store/store-properties.ts'
import { twoNodeContract } from '../store/two-nodes.ts'

const KILLS = 6
const CLIENTS = 6
const MODEL = { runs: 5, nodesMax: 4, budgetMs: 1_200_000 }
const CATALOG = 'rate_limit: { requests: 100000, window: 60 }'

const address = process.env['TOLLGATE_TEST_CITUS']
if (address === undefined)
  throw new Error(
    'TOLLGATE_TEST_CITUS does not give the address of a coordinator, such as postgres://tollgate@127.0.0.1:5432/postgres',
  )
citusTests(new Citus(address))

function citusTests(citus: Citus): void {
  const newDatabase = (): Promise<string> => citus.emptyDatabase()
  const open = (url: string): Promise<Store> => openStore({ dataDir: '', databaseUrl: url, keyWrap: KEY_WRAP })

  describe('what Citus refuses of the schema and the statements, as docs/operations.md says', () => {
    const refused: readonly (readonly [string, string, RegExp])[] = [
      [
        'a row that its id alone makes unique',
        'SELECT create_distributed_table($$generation$$, $$account_id$$)',
        /cannot create constraint/,
      ],
      [
        'a table with a trigger',
        'SELECT create_distributed_table($$entry$$, $$account_id$$)',
        /because it has triggers/,
      ],
      [
        'a reference to a table that is not distributed',
        'SELECT create_distributed_table($$hold$$, $$account_id$$)',
        /must be a distributed table or a reference table/,
      ],
    ]
    test('constraints', async () => {
      const url = await newDatabase()
      await (await open(url)).close()
      for (const [what, statement, sentence] of refused) await assert.rejects(direct(url, statement), sentence, what)
    })

    test('the audit, once the sums of days are distributed and the accounts are not', async () => {
      const url = await newDatabase()
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

  const layouts = {
    'all tables on the coordinator': () => Promise.resolve(0),
    'a distributed schema, all of its tables on one worker': (url: string) => citus.distribute(url),
  }
  for (const [layout, place] of Object.entries(layouts))
    describe(layout, () => {
      const database = async (): Promise<string> => {
        const url = await citus.emptySchema()
        // Citus refuses one of the migrations on tables that are distributed.
        await (await open(url)).close()
        await place(url)
        return url
      }
      storeContract(async () => open(await database()))
      storeProperties(async () => open(await database()), MODEL)
      describe('two nodes', () => twoNodeContract(database, open))
      describe('allowances', () => allowancesContract(database, open))
      test('kill -9 of nodes under load: exactly the answers that clients saw are charged', async (context) => {
        await killedUnderLoad(context, await citus.emptySchema(), place)
      })
    })

  test('schemas are spread over the workers', async () => {
    const ports = new Set<number>()
    for (let made = 0; made < 2; made += 1) {
      const url = await citus.emptySchema()
      await (await open(url)).close()
      ports.add(await citus.distribute(url))
    }
    assert.equal(ports.size, 2)
  })
}

async function killedUnderLoad(
  context: TestContext,
  database: string,
  place: (url: string) => Promise<number>,
): Promise<void> {
  const shared = (await NodeBench.start({ valkey: false })) ?? assert.fail('There is no PostgreSQL.')
  after(() => shared.stop())
  const start = (): ReturnType<NodeBench['node']> => shared.node(database, { catalog: CATALOG })
  const migrating = await start()
  await migrating.kill('SIGKILL')
  await place(database)
  const nodes = [await start(), await start()]
  const account = await crashAccount(nodes[0] ?? assert.fail())
  const record: Observed = { whole: [], broken: new Set() }
  const stopped = { now: false }
  const clients = Array.from({ length: CLIENTS }, (_, number) =>
    crashClient(() => nodes[number % nodes.length], account.key, number, record, stopped),
  )
  try {
    for (let kill = 0; kill < KILLS; kill += 1) {
      await answersSeen(record, 2 * CLIENTS)
      await nodes[kill % 2]?.kill('SIGKILL')
      nodes[kill % 2] = await start()
    }
    await answersSeen(record, CLIENTS)
  } finally {
    stopped.now = true
    await Promise.all(clients)
  }
  context.diagnostic(`${KILLS} kills, ${record.whole.length} answers seen whole, ${record.broken.size} cut`)
  await checkMoney(nodes[0] ?? assert.fail(), account, record)
}
