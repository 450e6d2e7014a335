import assert from 'node:assert/strict'
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import { ApiClient } from '../harness/api-client.ts'
import { answersSeen, checkMoney, crashAccount, crashClient, type Observed } from '../harness/crash-clients.ts'
import { postgresBin, startPostgres, type Postgres } from '../harness/postgres.ts'
import { found, until } from '../harness/patience.ts'
import { COMPILED, startTollgate, type Tollgate } from '../harness/server.ts'

/** The restore drill: the commands of docs/operations.md as they stand there, under load, and a machine that is lost. */

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8')
const CLIENTS = 8
const TOKEN = 'restore-drill-token-of-the-operator'

/** Of the section on backups, in their order. */
const [BACKUP = '', RESTORE = '', DUMP = '', RESTORE_DUMP = ''] = [
  ...(PAGE.split('\n## ').find((section) => section.startsWith('Backup and restore')) ?? '').matchAll(
    /```sh\n([^]*?)```/g,
  ),
].map(([, commands = '']) => commands)

let root: string
const running: ChildProcess[] = []

before(() => {
  root = mkdtempSync(join(tmpdir(), 'tollgate-drill-'))
  for (const folder of ['backups', 'safe/place', 'bin', 'data']) mkdirSync(join(root, folder), { recursive: true })
  const program = join(import.meta.dirname, '../../bin/tollgate.js')
  writeFileSync(join(root, 'bin/tollgate'), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`)
  chmodSync(join(root, 'bin/tollgate'), 0o755)
})
after(async () => {
  for (const child of running) await gone(child)
  rmSync(root, { recursive: true, force: true })
})

/** The shell that runs a block of the page; only its absolute paths are in the drill's folder. */
function shell(commands: string, env: Readonly<Record<string, string>>): [string, string[], object] {
  assert.notEqual(commands, '', 'the page has the command')
  const here = commands.replaceAll(/(?<=[\s=])\/(?=backups\/|safe\/)/g, `${root}/`)
  const bins = [join(root, 'bin'), postgresBin() ?? '', process.env['PATH'] ?? '']
  const own = { PATH: bins.join(':'), HOST: '127.0.0.1', PORT: '0', TOLLGATE_ADMIN_TOKEN: TOKEN, ...COMPILED, ...env }
  return ['sh', ['-ec', here], { cwd: root, env: own }]
}

function run(commands: string, env: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const [program, words, options] = shell(commands, env)
  return promisify(execFile)(program, words, options)
}

/** Runs a block that ends with the start of a server. */
async function restored(commands: string, env: Readonly<Record<string, string>> = {}): Promise<ApiClient> {
  const [program, words, options] = shell(commands, env)
  const child = spawn(program, words, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  running.push(child)
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (said += String(part)))
  const url = await found(60_000, 'the restored server is ready', () => {
    assert.equal(child.exitCode, null, said)
    return /Tollgate ready on (http:\/\/\S+)/.exec(said)?.[1]
  })
  return new ApiClient(url, TOKEN)
}

async function gone(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const ended = once(child, 'exit')
  process.kill(-child.pid, 'SIGKILL')
  await ended
}

interface Machine {
  readonly node: Tollgate
  /** Answers when the copy is complete. */
  readonly backup: () => Promise<unknown>
  /** With all its data. */
  readonly lose: () => Promise<void>
  readonly restore: () => Promise<ApiClient>
}

const topUp = (server: ApiClient, id: string, reference: string): ReturnType<ApiClient['admin']> =>
  server.admin('POST', `/admin/v1/accounts/${id}/ledger`, { kind: 'topup', amount: 10, reason: 'bank', reference })

async function drill(context: TestContext, { node, backup, lose, restore }: Machine): Promise<void> {
  const account = await crashAccount(node)
  const payer = await node.createAccount({ balance: 0 })
  await topUp(node, payer.id, 'early')
  const record: Observed = { whole: [], broken: new Set() }
  const stopped = { now: false }
  const clients = Array.from({ length: CLIENTS }, (_value, number) =>
    crashClient(() => node, account.key, number, record, stopped),
  )
  await answersSeen(record, 2 * CLIENTS)
  const acknowledged = record.whole.map(({ id }) => id)
  await backup()
  await topUp(node, payer.id, 'late')
  await answersSeen(record, 2 * CLIENTS)
  stopped.now = true
  await lose()
  await Promise.all(clients)

  const copy = await restore()
  await until(
    60_000,
    'money that was held is given back',
    async () => (await copy.admin('GET', `/admin/v1/accounts/${account.id}`)).body.reserved === 0,
  )
  const { body } = await copy.admin('GET', `/admin/v1/generations?account=${account.id}&limit=1000`)
  const rows: readonly { readonly generation_id: string; readonly total_cost: number }[] = body.data
  // One that was under way when the copy was made has a row there, as a lost request that costs nothing.
  const there = new Set(rows.filter(({ total_cost: cost }) => cost > 0).map((row) => row.generation_id))
  assert.deepEqual(
    acknowledged.filter((id) => !there.has(id)),
    [],
    'every answer that a client had before the backup began is there',
  )
  const kept = record.whole.filter(({ id }) => there.has(id))
  await checkMoney(copy, account, { whole: kept, broken: record.broken })
  const lost = record.whole.filter(({ id }) => !there.has(id))
  assert.ok(lost.length > 0, 'what came after the backup is lost, and counted')
  const cost = lost.reduce((sum, one) => sum + one.cost, 0)
  context.diagnostic(
    `${acknowledged.length} answers before the backup, all there; ${kept.length} in all; ${lost.length} later ones lost, ${cost.toFixed(4)} RUB`,
  )

  for (const reference of ['early', 'late']) await topUp(copy, payer.id, reference)
  assert.equal((await copy.admin('GET', `/admin/v1/accounts/${payer.id}`)).body.balance, 20, 'each top-up once')
  const again: Observed = { whole: [], broken: new Set() }
  const over = { now: false }
  const client = crashClient(() => copy, account.key, 0, again, over)
  await answersSeen(again, 2)
  over.now = true
  await client
}

test('the embedded store: backup, loss and restore by the commands of the page, under load', async (context) => {
  const data = join(root, 'data')
  const node = await startTollgate({ dataDir: data, audited: false })
  cpSync(join(data, 'kek'), join(root, 'safe/place/kek'))
  await drill(context, {
    node,
    backup: () => run(BACKUP),
    lose: async () => {
      await node.kill('SIGKILL')
      renameSync(data, join(root, 'lost'))
    },
    restore: () => restored(RESTORE),
  })
})

test('PostgreSQL: dump, loss and restore on another server by the commands of the page, under load', async (context) => {
  const lost = await startPostgres()
  if (lost === null) return context.skip('no PostgreSQL on this machine')
  const servers: Postgres[] = [lost]
  try {
    const env = { TOLLGATE_KEK: Buffer.alloc(32, 7).toString('base64') }
    const node = await startTollgate({ audited: false, env: { ...env, DATABASE_URL: lost.url } })
    await drill(context, {
      node,
      backup: () => run(DUMP, { DATABASE_URL: lost.url }),
      lose: async () => {
        await Promise.all([node.kill('SIGKILL'), lost.halt()])
      },
      restore: async () => {
        const other = await startPostgres()
        assert.ok(other !== null)
        servers.push(other)
        const copy = await restored(RESTORE_DUMP, {
          ...env,
          DATABASE_URL: other.url,
          TOLLGATE_DATA: join(root, 'node'),
        })
        await leasesEnd(other.url)
        return copy
      },
    })
  } finally {
    for (const child of running) await gone(child)
    for (const server of servers) await server.stop()
  }
})

/** As if the leases of the lost node were over; until the new one has given back what was held. */
async function leasesEnd(database: string): Promise<void> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  await client.query("UPDATE hold SET lease_until = 1 WHERE state = 'open'")
  await until(60_000, 'holds of the lost node are given back', async () => {
    const { rowCount } = await client.query("SELECT id FROM hold WHERE state = 'open' AND lease_until = 1")
    return rowCount === 0
  })
  await client.end()
}
