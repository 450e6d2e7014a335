import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import {
  answersSeen,
  crashAccount,
  crashClient,
  CRASH_BALANCE_MICRO,
  type Observed,
} from '../../crash/crash-clients.ts'
import { form, isLong } from '../../harness/form.ts'
import { startTollgate, type Tollgate } from '../../harness/server.ts'
import { paced, until } from '../../harness/patience.ts'
import { freshFolder, lasting } from '../../harness/lasting.ts'

const ROUNDS = form({ short: 1, long: 6 })
/** A kill after the end of the backup does not count. */
const MORE = 5
const COMMAND = join(import.meta.dirname, '../../../bin/tollgate.js')

interface World {
  readonly root: string
  readonly dataDir: string
  tollgate: Tollgate
}

/** One for all tests; the last one kills it. */

const root = freshFolder()
const dataDir = join(root, 'data')
mkdirSync(dataDir)
const world: World = { root, dataDir, tollgate: await startTollgate({ dataDir }) }

after(async () => {
  await world.tollgate.kill('SIGKILL')
  rmSync(world.root, { recursive: true, force: true })
})

function environment(dataDir: string): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], TOLLGATE_DATA: dataDir }
}

async function backup(
  { root, dataDir }: World,
  name: string,
): Promise<{ bytes: number; files: number; missing: number }> {
  const { stdout } = await promisify(execFile)(process.execPath, [COMMAND, 'backup', join(root, name), '--json'], {
    cwd: root,
    env: environment(dataDir),
  })
  return JSON.parse(stdout)
}

/** As docs/operations.md describes it: the directory unchanged, and the key from elsewhere. */
function restore({ root, dataDir }: World, name: string): string {
  const restored = join(root, `restored-${name}`)
  cpSync(join(root, name), restored, { recursive: true })
  cpSync(join(dataDir, 'kek'), join(restored, 'kek'))
  return restored
}

async function audited(dataDir: string): Promise<void> {
  const { stdout } = await promisify(execFile)(process.execPath, [COMMAND, 'audit', '--json'], {
    cwd: dataDir,
    env: environment(dataDir),
  })
  assert.equal(JSON.parse(stdout).violations, 0, stdout)
}

async function picture(tollgate: Tollgate, key: string): Promise<string> {
  const answer = await tollgate.post('/v1/images/generations', key, { model: 'sandbox/image', prompt: 'a cat' })
  assert.equal(answer.status, 200, answer.text)
  return String(answer.body.data[0].url)
}

test('a backup under load: restored and started, its audit is clean, its books are those of one moment, its pictures are there', async () => {
  const { tollgate } = world
  const account = await crashAccount(tollgate)
  const url = new URL(await picture(tollgate, account.key))
  const record: Observed = { whole: [], broken: new Set() }
  const stopped = { now: false }
  const clients = Array.from({ length: 8 }, (_value, number) =>
    crashClient(() => tollgate, account.key, number, record, stopped),
  )
  await answersSeen(record, 8)
  const before = record.whole.length
  const report = await backup(world, 'first')
  const seen = record.whole.length
  // Each client may have one more answer than it has seen whole.
  const after = seen + clients.length
  assert.ok(seen > before, 'clients are answered while it runs')
  assert.deepEqual([report.files, report.missing], [1, 0])
  await answersSeen(record, 1)
  stopped.now = true
  await Promise.all(clients)
  assert.equal((await tollgate.admin('GET', '/admin/v1/audit')).body.violations, 0, 'the original was left as it was')
  const dataDir = restore(world, 'first')
  await audited(dataDir)
  const copy = await lasting(startTollgate({ dataDir }))
  assert.equal((await copy.admin('GET', '/admin/v1/audit')).body.violations, 0)
  const log = await copy.admin('GET', `/admin/v1/generations?account=${account.id}&limit=1000&status=completed`)
  assert.ok(log.body.total >= before && log.body.total <= after + 1, `${before} ≤ ${log.body.total} ≤ ${after + 1}`)
  const { body } = await copy.admin('GET', `/admin/v1/accounts/${account.id}`)
  assert.ok(body.balance * 1e6 < CRASH_BALANCE_MICRO)
  assert.equal(body.reserved, 0)
  assert.equal((await copy.request('GET', `${url.pathname}${url.search}`)).status, 200)
  const answer = await copy.post('/v1/chat/completions', account.key, {
    model: 'sandbox/chat',
    messages: [{ role: 'user', content: 'Hello' }],
  })
  assert.equal(answer.status, 200, answer.text)
})

test('kill -9 during a backup leaves no directory of that name and the server as it was; the next one is whole', async () => {
  const account = await crashAccount(world.tollgate)
  for (let count = 0; count < 5; count += 1) await picture(world.tollgate, account.key)
  let killed = 0
  for (let round = 0; round < ROUNDS || (killed === 0 && round < ROUNDS + MORE); round += 1) {
    const child = spawn(process.execPath, [COMMAND, 'backup', join(world.root, 'copy')], {
      cwd: world.root,
      env: environment(world.dataDir),
      stdio: 'ignore',
    })
    const ended = once(child, 'exit')
    // Most of the time is the start; the copy itself takes some tens of milliseconds.
    const watch = setInterval(() => {
      if (existsSync(join(world.root, 'copy.part')))
        void paced(round * 3, 'a death at another moment').then(() => child.kill('SIGKILL'))
    }, 1)
    const [, signal] = await ended
    clearInterval(watch)
    if (signal !== 'SIGKILL') {
      rmSync(join(world.root, 'copy'), { recursive: true })
      continue
    }
    killed += 1
    assert.equal(existsSync(join(world.root, 'copy')), false)
  }
  assert.ok(killed > 0)
  assert.equal((await world.tollgate.admin('GET', '/admin/v1/audit')).body.violations, 0)
  assert.equal((await backup(world, 'copy')).files, 6)
  assert.deepEqual(
    readdirSync(world.root).filter((name) => name.endsWith('.part')),
    [],
  )
  if (isLong) await audited(restore(world, 'copy'))
})

test('a backup names its problem in one line: an existing directory, no store, PostgreSQL', async () => {
  const refused = (directory: string, env: NodeJS.ProcessEnv): Promise<string> =>
    promisify(execFile)(process.execPath, [COMMAND, 'backup', directory], { cwd: world.root, env }).then(
      () => 'done',
      (thrown: { code: number; stderr: string }) => `${thrown.code} ${thrown.stderr}`,
    )
  cpSync(world.dataDir, join(world.root, 'there'), { recursive: true })
  assert.match(await refused(join(world.root, 'there'), environment(world.dataDir)), /^1 tollgate: .*is there already/)
  assert.match(
    await refused(join(world.root, 'other'), environment(join(world.root, 'nothing'))),
    /^1 tollgate: There is no store/,
  )
  assert.match(
    await refused(join(world.root, 'other'), {
      ...environment(world.dataDir),
      DATABASE_URL: 'postgres://a@127.0.0.1:1/a',
      TOLLGATE_KEK: Buffer.alloc(32, 1).toString('base64'),
    }),
    /^1 tollgate: .*pg_dump/,
  )
})

test('kill -9 of the server during a backup: the copy and the original are both clean', async () => {
  const { tollgate } = world
  const account = await crashAccount(tollgate)
  const record: Observed = { whole: [], broken: new Set() }
  const stopped = { now: false }
  const clients = Array.from({ length: 8 }, (_value, number) =>
    crashClient(() => tollgate, account.key, number, record, stopped),
  )
  await answersSeen(record, 8)
  const running = backup(world, 'last')
  await until(
    30_000,
    'the backup has begun',
    () => existsSync(join(world.root, 'last.part')) || existsSync(join(world.root, 'last')),
    2,
  )
  await tollgate.kill('SIGKILL')
  stopped.now = true
  await Promise.all(clients)
  await running
  await audited(restore(world, 'last'))
  await audited(world.dataDir)
})
