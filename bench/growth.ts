import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { request } from 'undici'
import { KeyWrap } from '../src/ledger/key-wrap.ts'
import { openStore } from '../src/store/open.ts'
import {
  accountStatements,
  fillEmbeddedLog,
  OTHER_ACCOUNTS as OTHERS,
  ROW_STEP_MS as STEP_MS,
  rowStatements,
  type FullLog,
  accountsStatement,
  fillEmbeddedLists,
  ledgerStatements,
} from '../test/harness/full-log.ts'
import { startPostgres } from '../test/harness/postgres.ts'
import { startTollgate, type Tollgate } from '../test/harness/server.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    store: { type: 'string', default: 'both' },
    asks: { type: 'string', default: '300' },
    entries: { type: 'string', default: '0' },
    after: { type: 'string', default: '' },
  },
})
const rows = Number(values.rows)
const asks = Number(values.asks)
const entries = Number(values.entries)
if (
  !Number.isInteger(rows) ||
  rows < 1_000 ||
  !Number.isInteger(asks) ||
  asks < 10 ||
  !Number.isInteger(entries) ||
  entries < 0 ||
  !['both', 'embedded', 'postgres'].includes(values.store)
) {
  process.stderr.write(
    'usage: npm run bench:growth -- [--rows N] [--store embedded|postgres|both] [--asks N] [--entries N] [--after FILE]: the store is filled at once, and asked when FILE is there; entries: of a ledger\n',
  )
  process.exit(2)
}

const LARGE = 'acc_large'
/** The account with the long ledger. */
const BILLED = 'acc_full_1'
const WARM_UP = 20
const ACCOUNTS = 10_000
const START_MS = Date.UTC(2026, 0, 1)
const KEK = Buffer.alloc(32, 5).toString('base64')
const LOG: FullLog = { rows, large: LARGE, startMs: START_MS }
const LARGE_ROWS = rows - Math.floor(rows / 2)

async function fillEmbedded(dataDir: string): Promise<void> {
  await (await openStore({ dataDir, databaseUrl: null, keyWrap: new KeyWrap([Buffer.from(KEK, 'base64')]) })).close()
  fillEmbeddedLog(dataDir, LOG, { told: (to) => process.stderr.write(`embedded: ${to} rows\n`) })
  if (entries > 0) fillEmbeddedLists(dataDir, BILLED, { entries, accounts: ACCOUNTS }, START_MS)
}

async function fillPostgres(url: string): Promise<void> {
  const store = await openStore({ dataDir: '', databaseUrl: url, keyWrap: new KeyWrap([Buffer.from(KEK, 'base64')]) })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (const statement of accountStatements(LOG, 'postgres')) await client.query(statement)
  for (const { to, statement } of rowStatements(LOG, 'postgres')) {
    await client.query(statement)
    // The server's LogKeeper would do so within an hour.
    await store.logUpkeep.makeRoom()
    process.stderr.write(`postgres: ${to} rows\n`)
  }
  if (entries > 0) {
    await client.query(accountsStatement(ACCOUNTS, START_MS))
    for (const statement of ledgerStatements(BILLED, entries, START_MS)) await client.query(statement)
  }
  await client.query('VACUUM ANALYZE')
  await client.end()
  await store.close()
}

/** Requests of customers and operators, as functions of a running number. */
function questions(
  customer: string,
  token: string,
): readonly { readonly name: string; readonly key: string; readonly path: (turn: number) => string }[] {
  const time = (index: number): string => new Date(START_MS + index * STEP_MS).toISOString()
  const spread = (turn: number, of: number): number => Math.floor(((turn * 0.618_034) % 1) * of)
  const own = (name: string, path: (turn: number) => string) => ({
    name: `GET /v1/generation ${name}`,
    key: customer,
    path: (turn: number) => `/v1/generation?${path(turn)}`,
  })
  const admin = (name: string, path: (turn: number) => string) => ({
    name: `GET /admin/v1/generations ${name}`,
    key: token,
    path: (turn: number) => `/admin/v1/generations?${path(turn)}`,
  })
  return [
    own('limit=10', () => 'limit=10'),
    own('limit=300, any offset', (turn) => `limit=300&offset=${spread(turn, LARGE_ROWS)}`),
    own('a day', (turn) => `limit=100&from=${time(spread(turn, rows))}&to=${time(spread(turn, rows) + 86_400)}`),
    own('model', (turn) => `limit=50&offset=${spread(turn, 1_000)}&model=vendor/model-${turn % 20}`),
    own('rare model', () => 'limit=50&model=rare/model'),
    own('model that is not there', () => 'limit=50&model=no/model'),
    own('type', () => 'limit=50&type=embeddings'),
    own('model and type', (turn) => `limit=50&type=embeddings&model=vendor/model-${turn % 20}`),
    own('generation_id', (turn) => `generation_id=gen-${1_767_225_600 + 2 * spread(turn, LARGE_ROWS)}-bench`),
    own('request_id', (turn) => `request_id=req-${spread(turn, Math.floor(rows / 3))}`),
    own('id (single record)', (turn) => `id=gen-${1_767_225_600 + 2 * spread(turn, LARGE_ROWS)}-bench`),
    admin('limit=100', () => 'limit=100'),
    admin('offset to 10,000', (turn) => `limit=100&offset=${spread(turn, 10_000)}`),
    admin('an hour', (turn) => `limit=100&from=${time(spread(turn, rows))}&to=${time(spread(turn, rows) + 3_600)}`),
    admin('account', (turn) => `limit=100&account=acc_${turn % OTHERS}`),
    admin('key', (turn) => `limit=100&key=key_large_${turn % 3}&offset=${spread(turn, 5_000)}`),
    admin(
      'account and status=error',
      (turn) => `limit=100&account=${LARGE}&status=error&offset=${spread(turn, 1_000)}`,
    ),
    admin('status=error', () => 'limit=100&status=error'),
    admin('provider', () => 'limit=100&provider=azure'),
    admin('rare model, newest rows', () => 'limit=100&model=rare/model'),
    ...(entries === 0 ? [] : listQuestions(token, spread)),
  ]
}

/** Pages of the operator's lists. */
function listQuestions(token: string, spread: (turn: number, of: number) => number): ReturnType<typeof questions> {
  const asked = (name: string, path: (turn: number) => string) => ({ name: `GET ${name}`, key: token, path })
  const ledger = `/admin/v1/accounts/${BILLED}/ledger`
  return [
    asked('…/ledger limit=50', () => `${ledger}?limit=50`),
    asked('…/ledger limit=50, any offset', (turn) => `${ledger}?limit=50&offset=${spread(turn, entries)}`),
    asked('…/ledger limit=50, the oldest', (turn) => `${ledger}?limit=50&offset=${entries - 50 - turn}`),
    asked('…/ledger limit=1000, any offset', (turn) => `${ledger}?limit=1000&offset=${spread(turn, entries)}`),
    asked('…/accounts limit=50', () => '/admin/v1/accounts?limit=50'),
    asked(
      '…/accounts limit=50, to offset 10,000',
      (turn) => `/admin/v1/accounts?limit=50&offset=${spread(turn, ACCOUNTS)}`,
    ),
    asked('…/accounts by name, the last', () => `/admin/v1/accounts?limit=50&offset=${ACCOUNTS - 50}&sort=name`),
    asked('…/accounts found', (turn) => `/admin/v1/accounts?limit=50&query=client%20${turn % 100}`),
  ]
}

async function measure(name: string, tollgate: Tollgate): Promise<readonly string[]> {
  const created = await tollgate.admin('POST', `/admin/v1/accounts/${LARGE}/keys`, { name: 'bench' })
  if (created.status !== 201) throw new Error(created.text)
  await tollgate.admin('PATCH', '/admin/v1/settings', { rate_limit: { requests: 100_000, window: 1 } })
  while (values.after !== '' && !existsSync(values.after)) await delay(1_000)
  const lines: string[] = []
  for (const { name: question, key, path } of questions(String(created.body.key), tollgate.adminToken)) {
    const took: number[] = []
    for (let turn = -WARM_UP; turn < asks; turn += 1) {
      const startedMs = performance.now()
      const answer = await request(`${tollgate.url}${path(Math.abs(turn))}`, {
        headers: { authorization: `Bearer ${key}` },
      })
      const text = await answer.body.text()
      if (turn >= 0) took.push(performance.now() - startedMs)
      if (answer.statusCode !== 200) throw new Error(`${path(Math.abs(turn))}: ${answer.statusCode} ${text}`)
    }
    took.sort((left, right) => left - right)
    const at = (share: number): string => (took[Math.floor(took.length * share)] ?? 0).toFixed(1)
    const line = `| ${name} | ${question} | ${at(0.5)} | ${at(0.99)} |`
    process.stderr.write(`${line}\n`)
    lines.push(line)
  }
  return lines
}

async function embedded(): Promise<readonly string[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-growth-'))
  try {
    await fillEmbedded(dataDir)
    const tollgate = await startTollgate({ dataDir, audited: false, env: { TOLLGATE_KEK: KEK } })
    try {
      return await measure('embedded', tollgate)
    } finally {
      await tollgate.stop()
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function postgres(): Promise<readonly string[]> {
  const server = await startPostgres()
  if (server === null) return []
  try {
    await fillPostgres(server.url)
    const tollgate = await startTollgate({ audited: false, env: { DATABASE_URL: server.url, TOLLGATE_KEK: KEK } })
    try {
      return await measure('PostgreSQL', tollgate)
    } finally {
      await tollgate.stop()
    }
  } finally {
    await server.stop()
  }
}

const lines = [
  ...(values.store === 'postgres' ? [] : await embedded()),
  ...(values.store === 'embedded' ? [] : await postgres()),
]
process.stdout.write(
  `${rows} rows; ${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown CPU'}, Node ${process.versions.node}; ${asks} questions each, one after another, over HTTP\n\n| Store | Question | p50 ms | p99 ms |\n|---|---|---|---|\n${lines.join('\n')}\n`,
)
