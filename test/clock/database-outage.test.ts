import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  answersSeen,
  checkMoney,
  type Observed,
  ask,
  clients,
  held,
  inShared,
  settled,
  startWorld,
  untilExpired,
  untilServed,
  type World,
} from '../crash/crash-clients.ts'
import { form } from '../harness/form.ts'
import { paced, patient, until } from '../harness/patience.ts'
import { startPostgres, type Postgres } from '../harness/postgres.ts'
import { mountSmallDisk, type SmallDisk } from '../crash/small-disk.ts'
import { refused } from '../harness/refused.ts'

const TURNS = form({ short: 2, long: 8 })
const ROUNDS = form({ short: 1, long: 3, chaos: 20 })
const DISK_MB = 80
/**
 * F2: new paid requests are refused within a second, and served again two seconds after the database accepts
 * connections; plus the delay of a loaded machine.
 */
const REFUSED_MS = 1_000
const SERVED_MS = 2_000
const SLACK_MS = 1_500

let postgres: Postgres | null = null
let disk: SmallDisk | null = null
let shared: World | null = null

before(async () => {
  postgres = await startPostgres()
  if (postgres === null) return
  disk = mountSmallDisk(DISK_MB)
  shared = await startWorld(postgres, disk === null ? {} : { dataDir: disk.path })
})

after(async () => {
  await shared?.stop()
  await postgres?.stop()
  disk?.stop()
})

const withWorld = (body: (world: World) => Promise<void>): Promise<void> => inShared(shared, body)

test('F2: the database is gone for longer than a settle waits: answers end, are journaled, and are charged once it is back', () =>
  withWorld(async (world) => {
    const record: Observed = { whole: [], broken: new Set() }
    const stream = ask(world, 'words=30 gap_ms=80', { stream: true })
    const plain = ask(world, 'delay_ms=2000 words=3')
    await held(world, 2)
    await world.postgres.halt()
    const [streamed, answered] = await Promise.all([stream, plain])
    assert.match(streamed.text, /"cost":[\d.e-]+[\s\S]*data: \[DONE\]/, 'a stream in progress finishes')
    assert.equal(answered.status, 200, answered.text)
    record.whole.push({ id: answered.body.id, cost: answered.body.usage.cost })
    const refusedMs = performance.now()
    const answer = await ask(world, 'words=1')
    refused(answer, 503, 'service_unavailable')
    assert.ok(Number(answer.headers['retry-after']) >= 1)
    assert.ok(performance.now() - refusedMs < patient(REFUSED_MS + SLACK_MS))
    await world.postgres.start()
    const servedMs = await untilServed(world)
    assert.ok(servedMs < patient(SERVED_MS + SLACK_MS), `served after ${servedMs} ms`)
    await settled(world)
    const log = await world.tollgate.admin('GET', `/admin/v1/generations?account=${world.account.id}`)
    assert.equal(log.body.data.filter((row: { status: string }) => row.status === 'completed').length, 3)
    await checkMoney(world.tollgate, world.account, record)
  }))

for (const [how, stop] of [
  ['is gone', (world: World) => world.postgres.halt().then(() => () => world.postgres.start())],
  ['hangs', (world: World) => world.postgres.stall()],
] as const) {
  test(`F2: the database ${how} while no request comes: /readyz says 503, liveness goes on, and the node is ready again by itself`, () =>
    withWorld(async (world) => {
      const status = async (path: string): Promise<number> => (await world.tollgate.request('GET', path)).status
      const told = (): number =>
        world.tollgate.logs().filter((line) => line.includes('The database cannot be reached')).length
      await until(20_000, 'it is ready', async () => (await status('/readyz')) === 200)
      const before = told()
      const resume = await stop(world)
      try {
        await until(15_000, 'it is not ready', async () => (await status('/readyz')) === 503)
        for (const path of ['/healthz', '/v1/health']) assert.equal(await status(path), 200, path)
      } finally {
        await resume()
      }
      await until(20_000, 'it is ready again', async () => (await status('/readyz')) === 200)
      assert.equal(told() - before, 1)
    }))
}

test('F2: the database hangs (SIGSTOP): refused within a second, answers end after two, all charged once when it goes on', () =>
  withWorld(async (world) => {
    const record: Observed = { whole: [], broken: new Set() }
    await clients(world, record, async () => {
      await answersSeen(record, 8)
      const resume = await world.postgres.stall()
      const stalledMs = performance.now()
      try {
        for (let turn = 0; turn < TURNS; turn += 1) {
          const startedMs = performance.now()
          const answer = await ask(world, 'words=1')
          // A key at work is sold what was set aside for it, until the node knows.
          const isSold = answer.status === 200 && startedMs - stalledMs < patient(REFUSED_MS)
          if (isSold) continue
          assert.equal(answer.status, 503, answer.text)
          assert.ok(
            performance.now() - startedMs < patient(REFUSED_MS + SLACK_MS),
            `refused after ${performance.now() - startedMs} ms`,
          )
          await paced(500, 'a client asks again and again while it hangs')
        }
      } finally {
        resume()
      }
      await untilServed(world)
    })
    await settled(world)
    await checkMoney(world.tollgate, world.account, record)
    assert.ok(record.whole.length > 0)
  }))

test('kill -9 while the database is down, again and again: every end that a client saw is charged once after the restart', () =>
  withWorld(async (world) => {
    const record: Observed = { whole: [], broken: new Set() }
    let journaled = 0
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = record.whole.length
      const beganMs = Date.now()
      // These end while the database is down.
      const late = Array.from({ length: 8 }, (_value, index) =>
        ask(world, `delay_ms=${2_000 + index * 150} words=${5 + index}`).catch(() => null),
      )
      await held(world, 8, beganMs)
      await clients(world, record, async () => {
        await answersSeen(record, 1)
        await world.postgres.halt()
        // In every other round the process dies before the first of them has its answer.
        if (round % 2 === 0) await Promise.any(late.map(async (answer) => assert.equal((await answer)?.status, 200)))
        else await paced(1_500, 'a death at this moment of the outage')
        await world.tollgate.kill('SIGKILL')
        for (const answer of await Promise.all(late)) {
          if (answer?.status !== 200) continue
          record.whole.push({ id: answer.body.id, cost: answer.body.usage.cost })
          journaled += 1
        }
        await world.postgres.start()
        await world.restart()
      })
      assert.ok(record.whole.length > before)
    }
    assert.ok(journaled > 0, 'answers ended during the outages')
    await untilExpired(world)
    await checkMoney(world.tollgate, world.account, record)
  }))

test('the server stops during an outage without waiting for it, and the next one charges what it left', () =>
  withWorld(async (world) => {
    const answer = ask(world, 'delay_ms=1500 words=3')
    await held(world, 1)
    await world.postgres.halt()
    assert.equal((await ask(world, 'words=1')).status, 503, 'the server knows of the outage')
    const startedMs = performance.now()
    await world.tollgate.kill('SIGTERM')
    assert.ok(performance.now() - startedMs < patient(10_000))
    const { status, body } = await answer
    assert.equal(status, 200)
    await world.postgres.start()
    await world.restart()
    await settled(world)
    await checkMoney(world.tollgate, world.account, {
      whole: [{ id: body.id, cost: body.usage.cost }],
      broken: new Set(),
    })
  }))

test('a read during an outage is 503 with Retry-After, and never an internal error', () =>
  withWorld(async (world) => {
    await world.postgres.halt()
    const { tollgate, account } = world
    const answers = await Promise.all([
      tollgate.get('/v1/generation', account.key),
      tollgate.get('/v1/user/balance', account.key),
      tollgate.get('/v1/videos', account.key),
      tollgate.admin('GET', '/admin/v1/accounts'),
      tollgate.admin('GET', '/admin/v1/generations'),
    ])
    for (const answer of answers) {
      assert.deepEqual(
        [answer.status, answer.body.error?.metadata.error_type],
        [503, 'service_unavailable'],
        answer.text,
      )
      assert.match(String(answer.headers['retry-after']), /^[1-5]$/)
    }
    await world.postgres.start()
    await untilServed(world)
  }))

test('F6: with its own disk full, answers that end in an outage are journaled and charged', () =>
  withWorld(async (world) => {
    if (disk === null) return
    const answers = Array.from({ length: 20 }, (_value, index) => ask(world, `delay_ms=3000 words=${index + 1}`))
    await held(world, 20)
    disk.fill()
    await world.postgres.halt()
    const record: Observed = {
      whole: (await Promise.all(answers)).map(
        ({ status, body, text }) => (assert.equal(status, 200, text), { id: body.id, cost: body.usage.cost }),
      ),
      broken: new Set(),
    }
    await world.tollgate.kill('SIGKILL')
    disk.free()
    await world.postgres.start()
    await world.restart()
    await settled(world)
    await checkMoney(world.tollgate, world.account, record)
  }))
