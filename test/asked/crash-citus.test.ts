import assert from 'node:assert/strict'
import { after, before, describe, test, type TestContext } from 'node:test'
import { givenCitus, LAYOUTS, type Layout } from './citus.ts'
import { RunningServer } from '../harness/citus-server.ts'
import { answersSeen, checkMoney, crashAccount, crashClient, type Observed } from '../harness/crash-clients.ts'
import { direct } from '../harness/direct.ts'
import { NodeBench, until } from '../harness/node-bench.ts'
import type { Tollgate } from '../harness/server.ts'

const KILLS = 6
const CLIENTS = 6
const CATALOG = 'rate_limit: { requests: 100000, window: 60 }'

const citus = givenCitus()
const bench = (await NodeBench.start({ valkey: false })) ?? assert.fail('There is no PostgreSQL.')
after(() => bench.stop())

interface World {
  readonly database: string
  readonly nodes: Tollgate[]
  readonly account: Awaited<ReturnType<typeof crashAccount>>
  readonly record: Observed
}

/** Two nodes on a schema that is where the layout says, until the test ends. */
async function twoNodes(context: TestContext, layout: Layout): Promise<World> {
  const database = await citus.emptySchema(await citus.emptyDatabase())
  if (layout === 'schema') {
    const migrating = await node(database)
    await migrating.kill('SIGKILL')
    await citus.distribute(database)
  }
  const nodes = [await node(database), await node(database)]
  context.after(() => Promise.all(nodes.map((one) => one.kill('SIGKILL'))))
  return {
    database,
    nodes,
    account: await crashAccount(nodes[0] ?? assert.fail()),
    record: { whole: [], broken: new Set() },
  }
}

function node(database: string): Promise<Tollgate> {
  return bench.node(database, { catalog: CATALOG })
}

/** Clients ask while `during` runs; afterwards exactly the answers that they saw are charged. */
async function underLoad({ database, nodes, account, record }: World, during: () => Promise<void>): Promise<void> {
  const stopped = { now: false }
  const clients = Array.from({ length: CLIENTS }, (_, number) =>
    crashClient(() => nodes[number % nodes.length], account.key, number, record, stopped),
  )
  try {
    await during()
    await answersSeen(record, CLIENTS)
  } finally {
    stopped.now = true
    await Promise.all(clients)
  }
  const [one = assert.fail()] = nodes
  // The lease of a hold whose node died is a minute.
  await direct(database, "UPDATE hold SET lease_until = 1 WHERE state = 'open'")
  await until(60_000, 'no hold is left of who died', async () => {
    const left = await direct(database, "SELECT id FROM hold WHERE state = 'open' AND lease_until = 1")
    return left.length === 0
  })
  await until(
    60_000,
    'no hold is left',
    async () => (await one.admin('GET', `/admin/v1/accounts/${account.id}`)).body.reserved === 0,
  )
  await checkMoney(one, account, record)
}

function told(context: TestContext, what: string, { record }: World): void {
  context.diagnostic(`${what}, ${record.whole.length} answers seen whole, ${record.broken.size} cut`)
}

for (const layout of ['coordinator', 'schema'] as const)
  describe(LAYOUTS[layout], () => {
    test('kill -9 of nodes under load: exactly the answers that clients saw are charged', async (context) => {
      const world = await twoNodes(context, layout)
      await underLoad(world, async () => {
        for (let kill = 0; kill < KILLS; kill += 1) {
          await answersSeen(world.record, 2 * CLIENTS)
          await world.nodes[kill % 2]?.kill('SIGKILL')
          world.nodes[kill % 2] = await node(world.database)
        }
      })
      told(context, `${KILLS} kills of nodes`, world)
    })

    describe('with fsync', () => {
      let servers: readonly RunningServer[] = []
      before(async () => {
        servers = await Promise.all((await citus.servers()).map((url) => RunningServer.of(url)))
        for (const server of servers) await server.syncs('on')
      })
      after(async () => {
        for (const server of servers) await server.syncs('as configured')
      })

      test('kill -9 of PostgreSQL under load, of the coordinator and of the worker: exactly the answers that clients saw are charged', async (context) => {
        const world = await twoNodes(context, layout)
        const [coordinator = assert.fail()] = servers
        const [, ...workers] = await citus.servers()
        const rounds = [[coordinator]]
        if (layout === 'schema') {
          const port = String(await citus.place(world.database))
          const worker = servers[1 + workers.findIndex((url) => new URL(url).port === port)] ?? assert.fail()
          rounds.push([worker], [worker, coordinator])
        } else rounds.push([coordinator], servers.slice())
        await underLoad(world, async () => {
          for (const dying of rounds) {
            await answersSeen(world.record, 2 * CLIENTS)
            await Promise.all(dying.map((server) => server.kill()))
            for (const server of dying) await server.start()
          }
          await answersSeen(world.record, 2 * CLIENTS)
        })
        told(context, `${rounds.flat().length} kills of PostgreSQL`, world)
      })
    })
  })

test('a schema moves to the other worker while the nodes are stopped: the books are right before and after', async (context) => {
  const world = await twoNodes(context, 'schema')
  const place = await citus.place(world.database)
  await underLoad(world, async () => void (await answersSeen(world.record, 10 * CLIENTS)))
  for (const running of world.nodes) await running.kill('SIGTERM')
  assert.notEqual(await citus.move(world.database), place)
  for (const index of world.nodes.keys()) world.nodes[index] = await node(world.database)
  await checkMoney(world.nodes[0] ?? assert.fail(), world.account, world.record)
  await underLoad(world, async () => void (await answersSeen(world.record, 10 * CLIENTS)))
  told(context, 'one move', world)
})
