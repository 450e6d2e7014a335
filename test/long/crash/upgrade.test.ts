import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, before as beforeAll, describe, test } from 'node:test'
import pg from 'pg'
import { answersSeen, checkMoney, crashAccount, crashClient, type Observed } from '../../crash/crash-clients.ts'
import { direct } from '../../harness/postgres.ts'
import { form } from '../../harness/form.ts'
import { NodeBench, until } from '../../harness/node-bench.ts'
import { migrateLater } from '../../harness/later-migration.ts'
import type { Tollgate } from '../../harness/server.ts'
import { paced } from '../../harness/patience.ts'

const STAGE_MS = form({ short: 0, long: 1_500, chaos: 20_000 })
/** Nodes that run while a node of the next release migrates. */
const OLDER = form({ short: [0], long: [0, 1] })
const ROUNDS = form({ short: 1, long: 4 })
const CLIENTS = form({ short: 4, long: 8 })
const CATALOG = 'rate_limit: { requests: 100000, window: 60 }'
const NEXT_RELEASE = join(import.meta.dirname, '../../harness/later-migration.ts')

const bench = await NodeBench.start({ valkey: false })
if (bench === null) test.skip('upgrades: no PostgreSQL on this machine')
else upgradeTests(bench)

function upgradeTests(shared: NodeBench): void {
  describe('upgrades', () => {
    const record: Observed = { whole: [], broken: new Set() }
    const nodes: Tollgate[] = []
    let database = ''
    let account: Awaited<ReturnType<typeof crashAccount>>
    const start = (): Promise<Tollgate> => shared.node(database, { catalog: CATALOG })
    beforeAll(async () => {
      database = await shared.newDatabase()
      nodes.push(...(await Promise.all(OLDER.map(start))))
      account = await crashAccount(nodes[0] ?? assert.fail())
    })
    after(() => shared.stop())

    test('F14: killed in the middle of a migration, again and again: nothing is left of it, and nodes work on', async () => {
      await underLoad(nodes, account.key, record, async () => {
        for (let round = 0; round < ROUNDS; round += 1) await killedWhileMigrating(database)
        await answersSeen(record, CLIENTS)
      })
      assert.equal(record.broken.size, 0, 'no stream broke')
    })

    test('F14: the next start finishes it under load; on a schema of the next release nodes work on, and are replaced: no stream breaks, and the books are right', async (context) => {
      const served: number[] = []
      await underLoad(nodes, account.key, record, async () => {
        const stage = async (): Promise<void> => {
          const from = record.whole.length
          await answersSeen(record, 2 * CLIENTS)
          await paced(STAGE_MS, 'a load that lasts')
          served.push(record.whole.length - from)
        }
        await stage()
        await migrateLater(database)
        assert.equal(await hasLater(database), true)
        nodes.push(await start())
        await stage()
        for (const index of OLDER) {
          await replace(nodes, index, start)
          await stage()
        }
      })
      context.diagnostic(`${served.join(', ')} answers seen whole by stage`)
      assert.ok(
        served.every((count) => count > 0),
        String(served),
      )
      assert.equal(record.broken.size, 0, 'no stream broke')
      const [one = assert.fail()] = nodes
      await until(
        20_000,
        'no hold is left',
        async () => (await one.admin('GET', `/admin/v1/accounts/${account.id}`)).body.reserved === 0,
      )
      await checkMoney(one, account, record)
    })
  })
}

async function killedWhileMigrating(database: string): Promise<void> {
  // The last statement of a migration waits while its own table is locked.
  const holder = new pg.Client({ connectionString: database })
  holder.on('error', () => undefined)
  await holder.connect()
  await holder.query('BEGIN; LOCK TABLE schema_version IN SHARE MODE')
  const child = spawn(process.execPath, [NEXT_RELEASE, database], { stdio: 'ignore' })
  await until(
    60_000,
    'it migrates',
    async () =>
      (await holder.query("SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'schema_version'::regclass"))
        .rowCount !== 0,
  )
  child.kill('SIGKILL')
  await once(child, 'exit')
  await holder.query('COMMIT')
  await until(20_000, 'its transaction is gone', async () => !(await isMigrating(holder)))
  await holder.end()
  assert.equal(await hasLater(database), false)
}

async function isMigrating(client: pg.Client): Promise<boolean> {
  const { rowCount } = await client.query(
    "SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 'api_key'::regclass",
  )
  return rowCount !== 0
}

async function hasLater(database: string): Promise<boolean> {
  const columns = "SELECT 1 FROM information_schema.columns WHERE table_name = 'api_key' AND column_name = 'later'"
  return (await direct(database, columns)).length > 0
}

async function underLoad(
  nodes: readonly Tollgate[],
  key: string,
  record: Observed,
  during: () => Promise<void>,
): Promise<void> {
  const stopped = { now: false }
  const clients = Array.from({ length: CLIENTS }, (_, number) =>
    crashClient(() => nodes[number % nodes.length], key, number, record, stopped),
  )
  try {
    await during()
  } finally {
    stopped.now = true
    await Promise.all(clients)
  }
}

/** As in a rolling restart: clients use another node first, then the node gets SIGTERM. */
async function replace(nodes: Tollgate[], index: number, start: () => Promise<Tollgate>): Promise<void> {
  const old = nodes[index] ?? assert.fail()
  nodes[index] = nodes.at(-1) ?? assert.fail()
  await old.kill('SIGTERM')
  assert.equal(old.exitCode, 0)
  nodes[index] = await start()
}
