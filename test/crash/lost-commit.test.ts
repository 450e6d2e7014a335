import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { request } from 'undici'
import { foldStream } from '../harness/chat-fold.ts'
import { checkMoney, type Observed } from '../harness/crash-clients.ts'
import { startCuttingProxy, type CuttingProxy } from '../harness/cutting-proxy.ts'
import { form } from '../harness/form.ts'
import { clients, settled, untilExpired, untilServed, withWorld, type World } from '../harness/outage-world.ts'
import { until } from '../harness/patience.ts'
import { startPostgres, type Postgres } from '../harness/postgres.ts'

const LOAD_MS = form({ short: 0, long: 6_000, chaos: 60_000 })
const ROUNDS = form({ short: 5, long: 10, chaos: 100 })

const postgres: { current: Postgres | null } = { current: null }

before(async () => {
  postgres.current = await startPostgres()
})

after(() => postgres.current?.stop())

/** A server whose connections to its database go through the proxy. */
async function withProxy(body: (world: World, proxy: CuttingProxy) => Promise<void>): Promise<void> {
  if (postgres.current === null) return
  const { hostname, port } = new URL(postgres.current.url)
  const proxy = await startCuttingProxy({ host: hostname, port: Number(port) })
  try {
    await withWorld(postgres.current, (world) => body(world, proxy), {
      through: (url) => url.replace(`:${port}/`, `:${proxy.port}/`),
    })
  } finally {
    await proxy.stop()
  }
}

test('F3: answers to COMMIT are lost on the way, again and again: nothing is held or charged twice, and what clients saw is what was charged', (context) =>
  withProxy(async (world, proxy) => {
    const record: Observed = { whole: [], broken: new Set() }
    await clients(world, record, async () => {
      for (const every of [40, 10, 3]) {
        proxy.every(every)
        const before = proxy.cuts
        await until(60_000, 'three answers are lost', () => proxy.cuts >= before + 3)
        await delay(LOAD_MS / 3)
      }
      proxy.every(0)
    })
    await untilServed(world)
    context.diagnostic(`${proxy.cuts} lost answers to COMMIT; ${record.whole.length} answers seen whole`)
    assert.ok(proxy.cuts > 5 && record.whole.length > 20, `${proxy.cuts} cuts, ${record.whole.length} answers`)
    await untilExpired(world)
    await checkMoney(world.tollgate, world.account, record)
  }))

test('F3: the answer to the COMMIT of a settle is lost twice in a row: the client has the end of its answer soon, and pays once', (context) =>
  withProxy(async (world, proxy) => {
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
      // Its hold is placed, so what commits next is its end, or what else the server does just then.
      proxy.next(2)
      const startedMs = performance.now()
      const { done, error, usage } = foldStream(200, await response.body.text(), {})
      took.push(performance.now() - startedMs)
      assert.ok(done && error === null, JSON.stringify(error))
      record.whole.push({ id: String(response.headers['x-generation-id']), cost: Number(usage?.['cost']) })
    }
    context.diagnostic(`${proxy.cuts} lost answers; the slowest end came after ${Math.round(Math.max(...took))} ms`)
    assert.ok(proxy.cuts >= ROUNDS, `${proxy.cuts} cuts`)
    await settled(world)
    await checkMoney(world.tollgate, world.account, record)
  }))
