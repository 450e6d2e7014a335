import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { request } from 'undici'
import { foldStream } from '../../harness/chat-fold.ts'
import {
  checkMoney,
  type Observed,
  clients,
  inShared,
  settled,
  startWorld,
  untilExpired,
  untilServed,
  type World,
} from '../../crash/crash-clients.ts'
import { startCuttingProxy, type CuttingProxy } from './cutting-proxy.ts'
import { form } from '../../harness/form.ts'
import { paced, until } from '../../harness/patience.ts'
import { startPostgres, type Postgres } from '../../harness/postgres.ts'

const LOAD_MS = form({ short: 0, long: 6_000, chaos: 60_000 })
const ROUNDS = form({ short: 2, long: 10, chaos: 100 })
/** In each stage one of so many answers to COMMIT is lost. */
const STAGES: readonly number[] = form({ short: [10, 3], long: [40, 10, 3], chaos: [40, 10, 3] })
const LOST = 3

let postgres: Postgres | null = null
let proxy: CuttingProxy | null = null
/** A server whose connections to its database go through the proxy. */
let shared: World | null = null

before(async () => {
  postgres = await startPostgres()
  if (postgres === null) return
  const { hostname, port } = new URL(postgres.url)
  const between = await startCuttingProxy({ host: hostname, port: Number(port) })
  proxy = between
  shared = await startWorld(postgres, { through: (url) => url.replace(`:${port}/`, `:${between.port}/`) })
})

after(async () => {
  await shared?.stop()
  await proxy?.stop()
  await postgres?.stop()
})

/** And the number of answers that the test has lost so far. */
function withProxy(body: (world: World, proxy: CuttingProxy, cuts: () => number) => Promise<void>): Promise<void> {
  return inShared(shared, async (world) => {
    if (proxy === null) return
    const { cuts } = proxy
    const between = proxy
    await body(world, between, () => between.cuts - cuts)
  })
}

test('F3: answers to COMMIT are lost on the way, again and again: nothing is held or charged twice, and exactly the answers that clients saw are charged', (context) =>
  withProxy(async (world, proxy, cuts) => {
    const record: Observed = { whole: [], broken: new Set() }
    await clients(world, record, async () => {
      for (const every of STAGES) {
        proxy.every(every)
        const before = cuts()
        await until(60_000, 'three answers are lost', () => cuts() >= before + LOST)
        await paced(LOAD_MS / STAGES.length, 'a load that lasts')
      }
      proxy.every(0)
    })
    await untilServed(world)
    context.diagnostic(`${cuts()} lost answers to COMMIT; ${record.whole.length} answers seen whole`)
    assert.ok(
      cuts() >= LOST * STAGES.length && record.whole.length > LOST * STAGES.length,
      `${cuts()} cuts, ${record.whole.length} answers`,
    )
    await untilExpired(world)
    await checkMoney(world.tollgate, world.account, record)
  }))

test('F3: the answer to the COMMIT of a settle is lost twice in a row: the client has the end of its answer soon, and pays once', (context) =>
  withProxy(async (world, proxy, cuts) => {
    const record: Observed = { whole: [], broken: new Set() }
    const took: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      const response = await request(`${world.tollgate.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${world.account.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'sandbox/chat',
          stream: true,
          max_tokens: 100,
          messages: [{ role: 'user', content: 'Hello\nsandbox: words=4 gap_ms=20' }],
        }),
      })
      assert.equal(response.statusCode, 200)
      // Its hold is placed, so the next commit is its end, or other work of the server.
      proxy.next(2)
      const startedMs = performance.now()
      const { done, error, usage } = foldStream(200, await response.body.text(), {})
      took.push(performance.now() - startedMs)
      assert.ok(done && error === null, JSON.stringify(error))
      record.whole.push({ id: String(response.headers['x-generation-id']), cost: Number(usage?.['cost']) })
    }
    context.diagnostic(`${cuts()} lost answers; the slowest end came after ${Math.round(Math.max(...took))} ms`)
    assert.ok(cuts() >= ROUNDS, `${cuts()} cuts`)
    await settled(world)
    await checkMoney(world.tollgate, world.account, record)
  }))
