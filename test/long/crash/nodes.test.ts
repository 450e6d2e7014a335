import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import pg from 'pg'
import { answersSeen, checkMoney, crashAccount, crashClient, type Observed } from '../../crash/crash-clients.ts'
import { auditClean } from '../../harness/api-client.ts'
import { spread } from '../../harness/figures.ts'
import { form } from '../../harness/form.ts'
import { ask, NodeBench, until } from '../../harness/node-bench.ts'
import { paced, admitted } from '../../harness/patience.ts'
import type { Tollgate } from '../../harness/server.ts'

/** Or as many as a busy machine manages in these minutes. */
const KILLS = form({ short: 2, long: 6, chaos: 200 })
/** In the first round one node dies, in the second one soon after the other, in the third PostgreSQL. */
const FIRST_ROUND = form({ short: 1, long: 0, chaos: 0 })
/** Until one of them has met a stream. */
const MORE = 10
const CRASHES = form({ short: 1, long: 1, chaos: 20 })
const MINUTES = Number(process.env['TOLLGATE_CHAOS_MINUTES'] ?? 60)
const CLIENTS = form({ short: 6, long: 10, chaos: 10 })
const LOAD_MS = 400
/** The figure is 2 s; a machine that many tests share is slower. */
const SERVES_MS = 10_000
const CATALOG = 'rate_limit: { requests: 100000, window: 60 }'

const bench = await NodeBench.start({ valkey: true })
if (bench === null) test.skip('crashes of nodes: no PostgreSQL or no Valkey on this machine')
else crashTests(bench)

function crashTests(shared: NodeBench): void {
  describe('crashes of nodes', async () => {
    const start = (): Promise<Tollgate> => shared.node(database, { catalog: CATALOG })
    const database = await shared.newDatabase()
    const nodes: Tollgate[] = [await start(), await start()]
    after(() => shared.stop())

    test('F1, F2, R2: kill -9 of one node and of both, and crashes of PostgreSQL, under load: exactly the answers that clients saw are charged', async (context) => {
      const account = await crashAccount(nodes[0] ?? assert.fail())
      const record: Observed = { whole: [], broken: new Set() }
      const ready: number[] = []
      const crashes: number[] = []
      let kills = 0
      const stopped = { now: false }
      const clients = Array.from({ length: CLIENTS }, (_, number) =>
        crashClient(() => nodes[number % nodes.length], account.key, number, record, stopped),
      )
      try {
        const untilMs = performance.now() + MINUTES * 60_000
        for (
          let round = FIRST_ROUND;
          (kills < KILLS || crashes.length < CRASHES || (record.broken.size === 0 && kills < KILLS + MORE)) &&
          performance.now() < untilMs;
          round += 1
        ) {
          await answersSeen(record, 2 * CLIENTS)
          if (round % 6 === 2) {
            await shared.postgres.crash()
            const seen = record.whole.length
            crashes.push(
              await until(
                SERVES_MS,
                'R5: requests are served after PostgreSQL is back',
                async () => record.whole.length > seen + CLIENTS,
              ),
            )
            continue
          }
          // One node, or one soon after the other.
          const dying = round % 5 === 0 ? [0] : [round % 2, 1 - (round % 2)]
          for (const index of dying) {
            await nodes[index]?.kill('SIGKILL')
            kills += 1
            await paced(LOAD_MS / 4, 'one node dies soon after the other')
          }
          const startedMs = performance.now()
          await Promise.all(dying.map(async (index) => void (nodes[index] = await start())))
          ready.push(performance.now() - startedMs)
        }
      } finally {
        stopped.now = true
        await Promise.all(clients)
      }
      const [one = assert.fail()] = nodes
      context.diagnostic(
        `${kills} kills, ${crashes.length} crashes of PostgreSQL, ${record.whole.length} answers seen whole, ${record.broken.size} cut`,
      )
      context.diagnostic(
        `a node or two ready again: ${spread(ready)}; served again after PostgreSQL was back: ${spread(crashes)}`,
      )
      assert.ok(record.whole.length > kills, `only ${record.whole.length} answers were completed`)
      assert.ok(record.broken.size > 0, 'no stream was cut: the load did not reach the crashes')
      await leasesEnd(database)
      await until(
        20_000,
        'the holds and allowances of dead nodes are given back',
        async () => (await leasesOver(database)) === 0,
      )
      assert.equal((await one.admin('GET', `/admin/v1/accounts/${account.id}`)).body.reserved, 0)
      await checkMoney(one, account, record)
    })

    test('a rolling restart behind a balancer fails no request and breaks no stream', async () => {
      const balancer = new Balancer(nodes)
      const { key } = await crashAccount(balancer.pick())
      const statuses: number[] = []
      let running = true
      const clients = Array.from({ length: 6 }, async (_, number) => {
        while (running)
          statuses.push(
            (await admitted(() => ask(balancer.pick(), key, 'words=8 gap_ms=20', { stream: number % 2 === 0 }))).status,
          )
      })
      try {
        for (const index of form({ short: [0], long: [0, 1] })) {
          await balancer.all[index]?.kill('SIGTERM')
          assert.equal(balancer.all[index]?.exitCode, 0)
          balancer.all[index] = await start()
        }
        const before = statuses.length
        await until(30_000, 'the restarted node has its share', () => statuses.length >= before + 20)
      } finally {
        running = false
        await Promise.all(clients)
        balancer.stop()
      }
      assert.ok(statuses.length > 50, String(statuses.length))
      assert.deepEqual(
        statuses.filter((status) => status !== 200),
        [],
      )
      await auditClean(balancer.pick())
    })
  })
}

/** Advances past every lease of a dead node. */
async function leasesEnd(database: string): Promise<void> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  await client.query("UPDATE hold SET lease_until = 1 WHERE state = 'open'")
  await client.end()
}

/** Open holds that no node renews. */
async function leasesOver(database: string): Promise<number> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  const { rowCount } = await client.query("SELECT id FROM hold WHERE state = 'open' AND lease_until = 1")
  await client.end()
  return rowCount ?? 0
}

/** Sends requests to the nodes that were ready at the last check. */
class Balancer {
  readonly all: Tollgate[]
  #ready: Tollgate[]
  #next = 0
  readonly #timer: NodeJS.Timeout

  constructor(nodes: Tollgate[]) {
    this.all = nodes
    this.#ready = [...nodes]
    this.#timer = setInterval(() => void this.#look(), 500)
  }

  pick(): Tollgate {
    this.#next += 1
    return this.#ready[this.#next % this.#ready.length] ?? assert.fail('no node is ready')
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    const looks = this.all.map((node) =>
      node.request('GET', '/readyz').then(
        ({ status }) => (status === 200 ? [node] : []),
        () => [],
      ),
    )
    this.#ready = (await Promise.all(looks)).flat()
  }
}
