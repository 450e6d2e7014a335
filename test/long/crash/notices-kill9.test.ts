import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import pg from 'pg'
import type { ApiClient } from '../../harness/api-client.ts'
import { form } from '../../harness/form.ts'
import { NodeBench } from '../../harness/node-bench.ts'
import { RECEIVERS, startReceivers, type NoticeReceivers } from '../../harness/notice-receivers.ts'
import { paced, until } from '../../harness/patience.ts'
import { startTollgate, type Tollgate } from '../../harness/server.ts'
import { createVideo } from '../../harness/video-jobs.ts'
import { freshFolder } from '../../harness/lasting.ts'

/**
 * Kill -9 between the cause of a notice and its delivery: the outbox has it exactly once, and each receiver gets it at
 * least once, with one id and one text.
 */

const KINDS = ['balance.low', 'limit.near', 'job.ended'] as const
const ROUNDS = form({ short: 2, long: 10, chaos: 60 })
/** Accounts of a round, each of which asks once. */
const ACCOUNTS = form({ short: 6, long: 12, chaos: 12 })
const ARRIVE_MS = 60_000
/** Longer than the longest wait for an answer, in the long form. */
const AWAKE_MS = form({ short: 500, long: 12_000 })
const CATALOG = 'rate_limit: { requests: 100000, window: 60 }'

interface Account {
  readonly id: string
  readonly key: string
}

/** Its first answer takes the balance below the threshold, and its key to 80 % of the limit. */
function newPayer(server: ApiClient): Promise<Account> {
  return server.createAccount({ balance: 100, key: { limit: 0.0075 } })
}

function ask(server: ApiClient, { key }: Account): Promise<unknown> {
  const content = 'x\nsandbox: words=100 gap_ms=0'
  const body = { model: 'sandbox/chat', max_tokens: 100, messages: [{ role: 'user', content }] }
  return server.post('/v1/chat/completions', key, body)
}

/** What the usage log says that happened: an answer that was charged, or a video job that was. */
async function happened(server: ApiClient): Promise<readonly string[]> {
  const { body } = await server.admin('GET', '/admin/v1/generations?limit=1000')
  const rows: readonly { readonly account: string; readonly type: string; readonly total_cost: number }[] = body.data
  return rows
    .filter(({ total_cost: cost }) => cost > 0)
    .flatMap(({ account, type }) =>
      type === 'video' ? [`job.ended ${account}`] : [`balance.low ${account}`, `limit.near ${account}`],
    )
    .toSorted()
}

interface DeliveryRow {
  readonly notice: { readonly id: string; readonly type: string; readonly account: string }
  readonly state: string
  readonly attempts: number
}

async function deliveries(server: ApiClient): Promise<readonly DeliveryRow[]> {
  return (await server.admin('GET', '/admin/v1/notices/deliveries?limit=1000')).body.data
}

/** The notices of the outbox, by id. */
function outbox(rows: readonly DeliveryRow[]): ReadonlyMap<string, string> {
  return new Map(rows.map(({ notice: { id, type, account } }) => [id, `${type} ${account}`]))
}

/** Everything that happened was told: once in the outbox, to each receiver, with the same words in each attempt. */
async function checkTold(server: ApiClient, receivers: NoticeReceivers): Promise<readonly DeliveryRow[]> {
  let rows: readonly DeliveryRow[] = []
  let causes: readonly string[] = []
  await until(ARRIVE_MS, 'every message is sent', async () => {
    causes = await happened(server)
    rows = await deliveries(server)
    return rows.length >= RECEIVERS.length * causes.length && rows.every(({ state }) => state === 'sent')
  }).catch(() => undefined)
  const ids = outbox(rows)
  assert.deepEqual([...ids.values()].toSorted(), causes, 'the outbox has each cause once')
  assert.deepEqual(
    rows.filter(({ state }) => state !== 'sent'),
    [],
  )
  assert.equal(rows.length, RECEIVERS.length * ids.size, 'a message of each to each receiver')
  const taken = receivers.taken()
  for (const by of RECEIVERS) {
    const mine = taken.filter((one) => one.by === by)
    assert.deepEqual(
      [...new Set(mine.map(({ id }) => id))].toSorted(),
      [...ids.keys()].toSorted(),
      `${by} was told of each`,
    )
    assert.equal(new Set(mine.map(({ said }) => said)).size, ids.size, `${by} was told the same in each attempt`)
  }
  return rows
}

describe('notices of the embedded store', async () => {
  const dataDir = freshFolder()
  const receivers = await startReceivers()
  const start = (): Promise<Tollgate> => startTollgate({ dataDir, catalog: CATALOG, env: { ...receivers.env } })
  let tollgate = await start()
  await receivers.connect(tollgate, KINDS)
  after(() => tollgate.stop())

  const again = async (): Promise<void> => {
    await tollgate.kill('SIGKILL')
    tollgate = await start()
  }

  test('killed when its cause is charged, before it is sent', async () => {
    await ask(tollgate, await newPayer(tollgate))
    await again()
    await checkTold(tollgate, receivers)
  })

  test('killed while every receiver has it and none has answered: sent again with its id, at once after the start', async () => {
    const offered = offeredToAll(receivers)
    receivers.hang(true)
    await ask(tollgate, await newPayer(tollgate))
    await offered
    await tollgate.kill('SIGKILL')
    receivers.hang(false)
    tollgate = await start()
    const rows = await checkTold(tollgate, receivers)
    assert.ok(rows.filter(({ attempts }) => attempts > 1).length >= RECEIVERS.length)
  })

  test('killed when a receiver has taken it, before or while that is noted', async () => {
    const before = receivers.taken().length
    await ask(tollgate, await newPayer(tollgate))
    await until(ARRIVE_MS, 'one is taken', () => receivers.taken().length > before, 1)
    await again()
    await checkTold(tollgate, receivers)
  })

  test('killed again and again while thresholds are passed and jobs end', async (context) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const payers: Account[] = []
      for (let count = 0; count < ACCOUNTS; count += 1) payers.push(await newPayer(tollgate))
      // Below the threshold from the start.
      const filmer = await tollgate.createAccount({ balance: 50 })
      const running = tollgate
      const asked = [
        createVideo(running, filmer.key, { model: 'sandbox/video', prompt: 'x' }),
        ...payers.map(async (payer, index) => {
          await paced(index * 150, 'the pace of the clients')
          await ask(running, payer)
        }),
      ]
      const ends = Promise.allSettled(asked)
      await paced(100 + ((round * 331) % 2_500), 'a death at another moment')
      await again()
      await ends
    }
    const rows = await checkTold(tollgate, receivers)
    context.diagnostic(`${rows.length} messages, ${receivers.taken().length - rows.length} of them taken again`)
  })
})

const bench = await NodeBench.start({ valkey: false })
if (bench === null) test.skip('notices of two nodes: no PostgreSQL on this machine')
else nodesTests(bench)

function nodesTests(shared: NodeBench): void {
  describe('notices of two nodes', async () => {
    const receivers = await startReceivers()
    const database = await shared.newDatabase()
    const start = (): Promise<Tollgate> => shared.node(database, { catalog: CATALOG, env: { ...receivers.env } })

    after(() => shared.stop())
    const node = (index: number): Tollgate => nodes[index] ?? assert.fail()
    let nodes = [await start(), await start()]
    await receivers.connect(node(0), KINDS)

    test('while both live, no message is sent twice', async () => {
      const payers = await Promise.all(Array.from({ length: ACCOUNTS }, () => newPayer(node(0))))
      await Promise.all(payers.map((payer, index) => ask(node(index % 2), payer)))
      const rows = await checkTold(node(1), receivers)
      assert.equal(receivers.taken().length, rows.length)
    })

    test('a sender that stands still beyond its lease, and one that is killed: the other sends the same ids, once', async () => {
      // The node that has lived longest sends.
      const [paused, other] = [node(0), node(1)]
      const before = receivers.taken().length
      const waiting = offeredToAll(receivers)
      receivers.hang(true)
      await ask(other, await newPayer(other))
      await waiting
      process.kill(paused.pid, 'SIGSTOP')
      receivers.hang(false)
      await leasesEnd(database)
      const rows = await checkTold(other, receivers)
      assert.equal(receivers.taken().length - before, 2 * RECEIVERS.length, 'two notices, each once to each receiver')
      process.kill(paused.pid, 'SIGCONT')
      await paced(AWAKE_MS, 'attempts of a node that comes back end')
      assert.deepEqual(await deliveries(other), rows)
      await paused.kill('SIGKILL')
      const next = await start()
      nodes = [other, next]
      const offered = offeredToAll(receivers)
      receivers.hang(true)
      await ask(next, await newPayer(next))
      await offered
      await other.kill('SIGKILL')
      receivers.hang(false)
      await leasesEnd(database)
      await checkTold(next, receivers)
    })
  })
}

/** Until each has been offered another message. */
async function offeredToAll(receivers: NoticeReceivers): Promise<void> {
  const before = receivers.offered()
  await until(ARRIVE_MS, 'each receiver is offered one', () =>
    RECEIVERS.every((by) => receivers.offered()[by] > before[by]),
  )
}

/** As if the leases of those that were taken were over. */
async function leasesEnd(database: string): Promise<void> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  await client.query("UPDATE notice_delivery SET lease_until = 1 WHERE state = 'pending' AND lease_until > 0")
  await client.end()
}
