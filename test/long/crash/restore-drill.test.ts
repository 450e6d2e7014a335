import assert from 'node:assert/strict'
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import { ApiClient } from '../../harness/api-client.ts'
import { answersSeen, checkMoney, crashAccount, crashClient, type Observed } from '../../crash/crash-clients.ts'
import { freePort } from '../../harness/program.ts'
import { asOwner, postgresBin, serverOwner, startPostgres, type Postgres } from '../../harness/postgres.ts'
import { found, until } from '../../harness/patience.ts'
import { COMPILED, startTollgate, type Tollgate } from '../../harness/server.ts'
import { freshFolder } from '../../harness/lasting.ts'

/** The restore drill: the commands of docs/operations.md as they stand there, under load, and a machine that is lost. */

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/operations.md'), 'utf8')
const CLIENTS = 8
const TOKEN = 'restore-drill-token-of-the-operator'

/** Of the section on backups, in their order. */
const SECTION = PAGE.split('\n## ').find((section) => section.startsWith('Backup and restore')) ?? ''
const [BACKUP = '', RESTORE = '', DUMP = '', RESTORE_DUMP = '', BASE = '', RESTORE_BASE = ''] = [
  ...SECTION.matchAll(/```sh\n([^]*?)```/g),
].map(([, commands = '']) => commands)
const START = RESTORE_DUMP.trim().split('\n').at(-1) ?? ''

const running: ChildProcess[] = []

const root = freshFolder()
for (const folder of ['backups', 'safe/place', 'bin', 'data']) mkdirSync(join(root, folder), { recursive: true })
const program = join(import.meta.dirname, '../../../bin/tollgate.js')
writeFileSync(join(root, 'bin/tollgate'), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`)
chmodSync(join(root, 'bin/tollgate'), 0o755)
after(async () => {
  for (const child of running) await gone(child)
})

/** Absolute paths of the page are in the drill's folder. */
function inDrill(text: string): string {
  return text.replaceAll(/(?<=[\s=])\/(?=backups\/|safe\/|restored\b)/g, `${root}/`)
}

/** The shell that runs a block of the page. */
function shell(commands: string, env: Readonly<Record<string, string>>): [string, string[], object] {
  assert.notEqual(commands, '', 'the page has the command')
  const here = inDrill(commands)
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
  /** Taken under load before the answers that must not be lost. */
  readonly base?: () => Promise<unknown>
  /** Answers when the copy is complete. */
  readonly backup: () => Promise<unknown>
  /** With all its data. */
  readonly lose: () => Promise<void>
  readonly restore: () => Promise<ApiClient>
}

const topUp = (server: ApiClient, id: string, reference: string): ReturnType<ApiClient['admin']> =>
  server.admin('POST', `/admin/v1/accounts/${id}/ledger`, { kind: 'topup', amount: 10, reason: 'bank', reference })

async function drill(context: TestContext, { node, base, backup, lose, restore }: Machine): Promise<void> {
  const account = await crashAccount(node)
  const payer = await node.createAccount({ balance: 0 })
  await topUp(node, payer.id, 'early')
  const record: Observed = { whole: [], broken: new Set() }
  const stopped = { now: false }
  const clients = Array.from({ length: CLIENTS }, (_value, number) =>
    crashClient(() => node, account.key, number, record, stopped),
  )
  await answersSeen(record, 2 * CLIENTS)
  if (base !== undefined) {
    await base()
    await answersSeen(record, 2 * CLIENTS)
  }
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

test('PostgreSQL: base backup and archived log, restored to the moment before a wrong statement, under load', async (context) => {
  const owner = await serverOwner()
  const archive = join(root, 'backups/wal')
  mkdirSync(archive)
  // PostgreSQL runs as another user, who comes through to its folders.
  chmodSync(root, 0o755)
  for (const folder of ['backups', 'backups/wal', '.'])
    if (owner !== null) chownSync(join(root, folder), owner.uid, owner.gid)
  const settings = [...(/```ini\n([^]*?)```/.exec(SECTION)?.[1] ?? '').matchAll(/^(\w+) = '?(.*?)'?$/gm)]
  assert.deepEqual(
    settings.map(([, name]) => name),
    ['archive_mode', 'archive_command', 'archive_timeout'],
  )
  const lost = await startPostgres(tmpdir(), [
    'fsync=off',
    ...settings.map(([, name = '', value = '']) => `${name}=${inDrill(value)}`),
  ])
  if (lost === null) return context.skip('no PostgreSQL on this machine')
  const run = async (commands: string, env: Readonly<Record<string, string>> = {}): Promise<unknown> => {
    const [program, words, options] = shell(commands, env)
    return promisify(execFile)(...asOwner(owner, program, words), options)
  }
  try {
    const env = { TOLLGATE_KEK: Buffer.alloc(32, 7).toString('base64') }
    // Of the restored server, whose settings are those of the base backup.
    await query(lost.url, `ALTER SYSTEM SET unix_socket_directories = '${root}'`)
    const node = await startTollgate({ audited: false, env: { ...env, DATABASE_URL: lost.url } })
    let moment = ''
    await drill(context, {
      node,
      base: () => {
        const { port: at, username } = new URL(lost.url)
        return run(BASE, { PGHOST: '127.0.0.1', PGPORT: at, PGUSER: username })
      },
      backup: async () => {
        moment = String(await query(lost.url, 'SELECT clock_timestamp()::text'))
      },
      lose: async () => {
        await query(lost.url, 'DELETE FROM usage_day')
        assert.ok((await node.admin('GET', '/admin/v1/audit')).body.violations > 0, 'the statement was wrong')
        await node.kill('SIGKILL')
        const last = String(await query(lost.url, 'SELECT pg_walfile_name(pg_switch_wal())'))
        await until(60_000, 'the log is in the archive', () => readdirSync(archive).includes(last))
        await lost.stop()
      },
      restore: async () => {
        const port = await freePort()
        const url = lost.url.replace(/:\d+\//, `:${port}/`)
        await run(RESTORE_BASE.replace(/(?<=recovery_target_time = ')[^']*/, moment), { PGPORT: String(port) }).catch(
          (failure: unknown) => {
            throw new Error(`The restored server said: ${logOf(join(root, 'restored/log'))}`, { cause: failure })
          },
        )
        await until(60_000, 'it has come to the moment', async () => !(await query(url, 'SELECT pg_is_in_recovery()')))
        const copy = await restored(START, { ...env, DATABASE_URL: url, TOLLGATE_DATA: join(root, 'node') })
        await leasesEnd(url)
        return copy
      },
    })
  } finally {
    for (const child of running) await gone(child)
    await lost.stop()
    await run('test ! -f /restored/postmaster.pid || pg_ctl --pgdata=/restored --mode=immediate stop')
  }
})

/** The end of a server's log. */
function logOf(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8').slice(-1_500) : 'nothing'
}

/** The first value of the answer. */
async function query(database: string, text: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  try {
    const { rows } = await client.query<Record<string, unknown>>(text)
    return Object.values(rows[0] ?? {})[0]
  } finally {
    await client.end()
  }
}

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
