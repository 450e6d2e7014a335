import { readFileSync, rmSync, statSync, globSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { Pool } from 'undici'
import { startPostgres } from '../test/harness/postgres.ts'
import { startTollgate } from '../test/harness/server.ts'
import { treeUsage } from './process-tree.ts'

/**
 * `npm run bench:disk`: sends paid requests and prints how much the store grows with each million of them, and what
 * each costs PostgreSQL.
 */
const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '100000' },
    store: { type: 'string', default: 'embedded' },
    accounts: { type: 'string', default: '100' },
  },
})
const requests = Number(values.requests)
const accountCount = Number(values.accounts)
if (!(requests >= 1_000) || !(accountCount >= 1) || !['embedded', 'postgres'].includes(values.store)) {
  process.stderr.write('usage: npm run bench:disk -- [--requests N] [--accounts N] [--store embedded|postgres]\n')
  process.exit(2)
}

const CLIENTS = 16
const KEK = Buffer.alloc(32, 5).toString('base64')
const BODY = JSON.stringify({ model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hello' }] })

const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-disk-'))
const database = values.store === 'postgres' ? await startPostgres() : null
try {
  await run()
} finally {
  await database?.stop()
  rmSync(dataDir, { recursive: true, force: true })
}

async function run(): Promise<void> {
  const env = database === null ? {} : { DATABASE_URL: database.url, TOLLGATE_KEK: KEK }
  let server = await startTollgate({ dataDir, env, audited: false })
  await server.admin('PATCH', '/admin/v1/settings', { rate_limit: { requests: 100_000, window: 1 } })
  const keys: string[] = []
  for (let index = 0; index < accountCount; index += 1)
    keys.push((await server.createAccount({ balance: 100_000 })).key)
  await server.stop()
  const before = await storeBytes()
  const costBefore = await databaseCost()
  server = await startTollgate({ dataDir, env, audited: false })
  const startedMs = performance.now()
  const pool = new Pool(server.url, { connections: CLIENTS })
  let sent = 0
  const client = async (): Promise<void> => {
    while (sent < requests) {
      const key = keys[(sent += 1) % keys.length] ?? ''
      const { statusCode, body } = await pool.request({
        path: '/v1/chat/completions',
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: BODY,
      })
      const text = await body.text()
      if (statusCode === 503) {
        sent -= 1
        await delay(1_000)
      } else if (statusCode !== 200) throw new Error(`${statusCode}: ${text}`)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  const seconds = (performance.now() - startedMs) / 1_000
  const residentMb = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1_024
  await pool.close()
  // Before the stop, since a process of the database that ends takes its figures along.
  const cost = await databaseCost()
  // The stop writes rows that wait in the journal into their tables.
  await server.stop()
  const grownMb = ((((await storeBytes()) - before) / requests) * 1e6) / 1_048_576
  process.stdout.write(
    `${values.store}: ${requests} requests of ${accountCount} accounts in ${seconds.toFixed(0)} s, ${grownMb.toFixed(0)} MiB by a million, ${residentMb.toFixed(0)} MiB resident\n`,
  )
  if (cost === null || costBefore === null) return
  const each = (name: keyof DatabaseCost, digits: number): string =>
    ((cost[name] - costBefore[name]) / requests).toFixed(digits)
  process.stdout.write(
    `PostgreSQL for each request: ${each('cpuMicros', 0)} CPU-µs, ${each('walBytes', 0)} bytes of WAL, ${each('commits', 2)} commits, ${each('rowVersions', 1)} row versions for vacuum\n`,
  )
}

interface DatabaseCost {
  readonly cpuMicros: number
  readonly walBytes: number
  readonly commits: number
  /** Versions of rows that an update or a deletion left behind. */
  readonly rowVersions: number
}

/** What the server of the database has done since it began; null = the store is embedded. */
async function databaseCost(): Promise<DatabaseCost | null> {
  if (database === null) return null
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query(
    `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS "walBytes",
       (SELECT xact_commit::float8 FROM pg_stat_database WHERE datname = current_database()) AS commits,
       (SELECT SUM(n_tup_upd + n_tup_del)::float8 FROM pg_stat_user_tables) AS "rowVersions"`,
  )
  await client.end()
  return { ...rows[0], cpuMicros: treeUsage(database.pid()).cpuMicros }
}

async function storeBytes(): Promise<number> {
  if (database === null)
    return globSync('tollgate.db*', { cwd: dataDir })
      .map((name) => statSync(join(dataDir, name)).size)
      .reduce((sum, bytes) => sum + bytes, 0)
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query('SELECT pg_database_size(current_database())::float8 AS bytes')
  await client.end()
  return Number(rows[0].bytes)
}
