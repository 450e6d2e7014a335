import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pg from 'pg'
import { FIRST_UNRELEASED_MIGRATION } from '../../src/store/migrations.ts'
import { auditClean } from '../harness/audit.ts'
import {
  answersSeen,
  checkMoney,
  crashAccount,
  crashClient,
  CRASH_LIMIT,
  type Observed,
} from '../harness/crash-clients.ts'
import { until } from '../harness/patience.ts'
import { programsBefore } from '../harness/older-program.ts'
import { startPostgres } from '../harness/postgres.ts'
import { startTollgate, type Tollgate } from '../harness/server.ts'

/** A store that an older release has filled, on both kinds, opened by this program. */

const CLIENTS = 4
const ANSWERS = 24
const programs = programsBefore(FIRST_UNRELEASED_MIGRATION)
const postgres = programs.size === 0 ? null : await startPostgres()
after(() => postgres?.stop())

if (programs.size === 0) test.skip('stores of older releases: no history')
for (const [name, { main, commit }] of programs) {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-released-'))
  after(() => rmSync(dataDir, { recursive: true, force: true }))

  test(`the embedded store of ${name}, killed under load: this program opens it, and the books are right`, () =>
    upgraded('SIGKILL', (older) => startTollgate({ dataDir, audited: false, ...(older ? { main } : {}) })))

  test(
    `the database of ${name}: this program opens it, and the books are right`,
    { skip: postgres === null },
    async () => {
      const url = await emptyDatabase(postgres?.url ?? '', `released_${commit}`)
      const env = { DATABASE_URL: url, TOLLGATE_KEK: Buffer.alloc(32, 7).toString('base64') }
      return upgraded('SIGTERM', (older) => startTollgate({ audited: false, env, ...(older ? { main } : {}) }))
    },
  )

  async function upgraded(signal: 'SIGKILL' | 'SIGTERM', start: (older: boolean) => Promise<Tollgate>): Promise<void> {
    const older = await start(true)
    const { account, record } = await filled(older, signal)
    const newer = await start(false)
    try {
      await until(
        30_000,
        'no hold is left',
        async () => (await newer.admin('GET', `/admin/v1/accounts/${account.id}`)).body.reserved === 0,
      )
      await checkMoney(newer, account, record)
      const limited = await newer.admin('PATCH', `/admin/v1/accounts/${account.id}`, CRASH_LIMIT)
      assert.equal(limited.status, 200, limited.text)
      const later = await underLoad(newer, account.key, () => Promise.resolve())
      await checkMoney(newer, account, {
        whole: [...record.whole, ...later.whole],
        broken: new Set([...record.broken, ...later.broken]),
      })
      await auditClean(newer)
    } finally {
      await newer.stop()
    }
  }
}

async function filled(older: Tollgate, signal: 'SIGKILL' | 'SIGTERM') {
  try {
    const account = await crashAccount(older, {})
    return { account, record: await underLoad(older, account.key, () => older.kill(signal)) }
  } finally {
    if (older.exitCode === null) await older.kill('SIGKILL')
  }
}

async function emptyDatabase(server: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  return server.replace(/\/postgres$/, `/${name}`)
}

async function underLoad(server: Tollgate, key: string, end: () => Promise<void>): Promise<Observed> {
  const record: Observed = { whole: [], broken: new Set() }
  const stopped = { now: false }
  const clients = Array.from({ length: CLIENTS }, (_value, number) =>
    crashClient(() => server, key, number, record, stopped),
  )
  try {
    await answersSeen(record, ANSWERS)
    await end()
  } finally {
    stopped.now = true
    await Promise.all(clients)
  }
  assert.ok(record.whole.length >= ANSWERS)
  return record
}
