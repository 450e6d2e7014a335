import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import {
  answersSeen,
  checkMoney,
  CRASH_BALANCE_MICRO,
  type Observed,
  clients,
  settled,
  untilExpired,
  untilServed,
  withWorld,
  type World,
} from '../../crash/crash-clients.ts'
import { startCuttingProxy } from './cutting-proxy.ts'
import { form } from '../../harness/form.ts'
import { auditClean } from '../../harness/api-client.ts'
import { until } from '../../harness/patience.ts'
import { startPostgres, startStandby, type Postgres, type Standby } from '../../harness/postgres.ts'

const ANSWERS = form({ short: 60, long: 400 })

/** A server before a primary with a standby, and a way to let the standby take over. */
async function withStandby(
  body: (world: World, standby: Standby, failOver: (isAway?: boolean) => Promise<void>) => Promise<void>,
) {
  const primary = await startPostgres()
  if (primary === null) return
  const { port } = new URL(primary.url)
  const proxy = await startCuttingProxy({ host: '127.0.0.1', port: Number(port) })
  const standby = await startStandby(primary)
  const failOver = async (isAway = false): Promise<void> => {
    await primary.halt()
    if (isAway) await standby.start()
    await standby.promote()
    proxy.moveTo(Number(new URL(standby.url).port))
  }
  const through = (url: string): string => url.replace(`:${port}/`, `:${proxy.port}/`)
  try {
    await withWorld(primary, (world) => body(world, standby, failOver), { through })
  } finally {
    await proxy.stop()
    await primary.stop()
    await standby.stop()
  }
}

test('the primary dies under load and its synchronous standby takes over: every end that a client saw is charged once', () =>
  withStandby(async (world, standby, failOver) => {
    await ask(world.postgres, `ALTER SYSTEM SET synchronous_standby_names = '*'`, 'SELECT pg_reload_conf()')
    const state = 'SELECT sync_state FROM pg_stat_replication'
    await until(20_000, 'it is synchronous', async () => (await ask(world.postgres, state)) === 'sync')
    const record: Observed = { whole: [], broken: new Set() }
    await clients(world, record, async () => {
      await answersSeen(record, ANSWERS)
      await failOver()
      await untilServed(world)
      await answersSeen(record, ANSWERS)
    })
    const moved = { ...world, databaseUrl: new URL(new URL(world.databaseUrl).pathname, standby.url).href }
    await untilExpired(moved)
    await settled(moved)
    await checkMoney(world.tollgate, world.account, record)
    assert.ok(record.whole.length >= 2 * ANSWERS)
  }))

test('a standby that had fallen behind takes over: what it had not is lost, and the rest of the books is whole', () =>
  withStandby(async (world, standby, failOver) => {
    const record: Observed = { whole: [], broken: new Set() }
    await clients(world, record, async () => {
      await answersSeen(record, ANSWERS)
      await standby.halt()
      await answersSeen(record, ANSWERS)
    })
    await settled(world)
    await failOver(true)
    await untilServed(world)
    const { body } = await world.tollgate.admin('GET', `/admin/v1/accounts/${world.account.id}`)
    const told = record.whole.reduce((sum, { cost }) => sum + cost, 0)
    assert.ok(CRASH_BALANCE_MICRO / 1e6 - Number(body.balance) < told, 'charges that the standby never had')
    const moved = { ...world, databaseUrl: new URL(new URL(world.databaseUrl).pathname, standby.url).href }
    await untilExpired(moved)
    await auditClean(world.tollgate)
  }))

/** The first value of the last statement's first row. */
async function ask({ url }: Pick<Postgres, 'url'>, ...statements: readonly string[]): Promise<unknown> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  let rows: Record<string, unknown>[] = []
  for (const text of statements) ({ rows } = await client.query<Record<string, unknown>>(text))
  await client.end()
  return Object.values(rows[0] ?? {})[0]
}
