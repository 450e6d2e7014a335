import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { FOREIGN_VARIABLES, VARIABLES } from '../../../src/tables/environment-table.ts'
import { mailSettings, startMailServer } from '../../harness/mail-server.ts'
import { lazily, found, until } from '../../harness/patience.ts'
import { startPostgres, type Postgres } from '../../harness/postgres.ts'
import { startTollgate, type Tollgate } from '../../harness/server.ts'

/** Variables that Node and the packages read: each in docs/settings.md does what its row says, and no other matters. */

type Variables = Readonly<Record<string, string>>
type Named = (typeof FOREIGN_VARIABLES)[number]['names'][0]

const folder = mkdtempSync(join(tmpdir(), 'tollgate-foreign-'))
const CERTIFICATE = join(folder, 'cert.pem')
const KEK = Buffer.alloc(32, 7).toString('base64')
const PASSWORD = 'foreign-secret'
const ARENA_BYTES = 67_108_864n
const DAY_MINUTES = 1_440

/** What a provider or a collector was asked. */
interface Asked {
  readonly path: string
  readonly encoding: string | undefined
}

const asked: Asked[] = []
let proxied = 0
const answered = (request: IncomingMessage, response: ServerResponse): void => {
  asked.push({ path: request.url ?? '', encoding: request.headers['content-encoding'] })
  request.resume()
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }]
    response.end(JSON.stringify({ id: 'c', choices, usage: { prompt_tokens: 3, completion_tokens: 2 } }))
  })
}
const plain = createHttp(answered)
const proxy = createHttp((_request, response) => {
  proxied += 1
  response.writeHead(502).end()
}).on('connect', (_request, socket) => {
  proxied += 1
  socket.destroy()
})
let secure: ReturnType<typeof createHttps>
let postgres: Postgres | null = null

before(async () => {
  const words = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost'
  const names = ['-addext', 'subjectAltName=DNS:localhost', '-keyout', join(folder, 'key.pem'), '-out', CERTIFICATE]
  execFileSync('openssl', [...words.split(' '), ...names], { stdio: 'pipe' })
  secure = createHttps({ key: readFileSync(join(folder, 'key.pem')), cert: readFileSync(CERTIFICATE) }, answered)
  for (const server of [plain, proxy, secure])
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  postgres = await startPostgres()
})
after(async () => {
  for (const server of [plain, proxy, secure]) {
    server.closeAllConnections()
    server.close()
  }
  await postgres?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** A server that listens on a port has an address with it. */
const portOf = (server: typeof plain | typeof secure): number => (server.address() as AddressInfo).port

const catalog = (): string => `
bundled: false
providers:
  plain: { adapter: openai, base_url: 'http://127.0.0.1:${portOf(plain)}/v1', api_key: k }
  secure: { adapter: openai, base_url: 'https://localhost:${portOf(secure)}/v1', api_key: k }
models:
${['plain', 'secure'].map((name) => `  - { id: test/${name}, type: chat, context_length: 8000, endpoints: [{ provider: ${name}, model: m, price: { currency: RUB, prompt: 1, completion: 1 } }] }`).join('\n')}
`

/** `work` with a server that has these variables. */
async function withServer<T>(env: Variables, work: (server: Tollgate) => Promise<T>): Promise<T> {
  const server = await startTollgate({ audited: false, catalog: catalog(), env: { ...env } })
  try {
    return await work(server)
  } finally {
    await server.stop()
  }
}

async function chat(server: Tollgate, model: string): Promise<number> {
  const { key } = await server.createAccount()
  const body = { model, max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] }
  return (await server.request('POST', '/v1/chat/completions', { key, body })).status
}

const secureStatus = (env: Variables): Promise<number> => withServer(env, (server) => chat(server, 'test/secure'))

async function statement(sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: postgres?.url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

/** The parts of the database's address, for a role that signs in with a password. */
const guarded = lazily(async (): Promise<Variables> => {
  assert.ok(postgres !== null)
  const { port } = new URL(postgres.url)
  const [{ at } = {}] = await statement(`SELECT current_setting('hba_file') AS at`)
  await statement(`CREATE ROLE guarded LOGIN PASSWORD '${PASSWORD}'`)
  await statement('CREATE DATABASE foreign_env OWNER guarded')
  const rules = ['host all guarded 127.0.0.1/32 scram-sha-256', 'host all all 127.0.0.1/32 trust']
  await statement(`COPY (SELECT unnest(ARRAY[${rules.map((rule) => `'${rule}'`).join()}])) TO '${String(at)}'`)
  await statement('SELECT pg_reload_conf()')
  return {
    DATABASE_URL: 'postgres:///',
    TOLLGATE_KEK: KEK,
    PGHOST: '127.0.0.1',
    PGPORT: port,
    PGDATABASE: 'foreign_env',
    PGUSER: 'guarded',
  }
})

const refusedStart = (env: Variables, pattern: RegExp): Promise<void> =>
  assert.rejects(() => withServer(env, async () => undefined), pattern)

/** Each row of the table, by the first of its names. */
const TRIED: Readonly<Record<Named, () => Promise<void>>> = {
  PGHOST: async () => {
    const parts = await guarded()
    await withServer({ ...parts, PGPASSWORD: PASSWORD }, async () => {
      const [{ used } = {}] = await statement(
        `SELECT count(*) AS used FROM pg_stat_activity WHERE usename = 'guarded' AND datname = 'foreign_env'`,
      )
      assert.ok(Number(used) > 0)
    })
  },
  PGPASSWORD: async () => {
    const parts = await guarded()
    await refusedStart({ ...parts, PGPASSWORD: 'wrong' }, /password/)
    const file = join(folder, 'pgpass')
    writeFileSync(file, `*:*:*:guarded:${PASSWORD}\n`, { mode: 0o600 })
    await withServer({ ...parts, PGPASSFILE: file }, async () => undefined)
  },
  PGSSLMODE: async () => {
    const parts = { ...(await guarded()), PGPASSWORD: PASSWORD }
    await refusedStart({ ...parts, PGSSLMODE: 'require' }, /SSL/)
    await withServer({ ...parts, PGSSLMODE: 'disable' }, async () => undefined)
  },
  PGAPPNAME: async () => {
    await withServer({ ...(await guarded()), PGPASSWORD: PASSWORD, PGAPPNAME: 'named-by-hand' }, async () => {
      const [{ used } = {}] = await statement(
        `SELECT count(*) AS used FROM pg_stat_activity WHERE application_name = 'named-by-hand'`,
      )
      assert.ok(Number(used) > 0)
    })
  },
  NODE_EXTRA_CA_CERTS: async () => {
    assert.ok((await secureStatus({})) >= 500)
    assert.equal(await secureStatus({ NODE_EXTRA_CA_CERTS: CERTIFICATE }), 200)
  },
  NODE_USE_SYSTEM_CA: async () => {
    assert.ok((await secureStatus({ SSL_CERT_FILE: CERTIFICATE })) >= 500)
    assert.equal(await secureStatus({ SSL_CERT_FILE: CERTIFICATE, NODE_USE_SYSTEM_CA: '1' }), 200)
  },
  HTTP_PROXY: async () => {
    const at = `http://127.0.0.1:${portOf(proxy)}`
    const env = { HTTP_PROXY: at, HTTPS_PROXY: at, http_proxy: at, https_proxy: at, NODE_USE_ENV_PROXY: '1' }
    await withServer({ ...env, NODE_EXTRA_CA_CERTS: CERTIFICATE }, async (server) => {
      assert.deepEqual([await chat(server, 'test/plain'), await chat(server, 'test/secure')], [200, 200])
    })
    assert.equal(proxied, 0)
  },
  OTEL_EXPORTER_OTLP_COMPRESSION: async () => {
    const collected = async (endpoint: string, env: Variables): Promise<ReadonlyMap<string, string | undefined>> => {
      asked.length = 0
      const target = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_METRIC_EXPORT_INTERVAL: '100' }
      await withServer({ ...target, ...env }, async (server) => {
        await chat(server, 'test/plain')
        await until(20_000, 'traces are sent', () => asked.some(({ path }) => path === '/v1/traces'))
      })
      return new Map(asked.map(({ path, encoding }) => [path, encoding]))
    }
    const zipped = await collected(`http://127.0.0.1:${portOf(plain)}`, { OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip' })
    assert.deepEqual([zipped.get('/v1/traces'), zipped.get('/v1/metrics')], ['gzip', undefined])
    const endpoint = `https://localhost:${portOf(secure)}`
    const certified = await collected(endpoint, { OTEL_EXPORTER_OTLP_CERTIFICATE: CERTIFICATE })
    assert.deepEqual([certified.has('/v1/traces'), certified.has('/v1/metrics')], [true, false])
    const both = await collected(endpoint, { NODE_EXTRA_CA_CERTS: CERTIFICATE })
    assert.deepEqual([both.has('/v1/traces'), both.has('/v1/metrics')], [true, true])
  },
  NODE_OPTIONS: async () => {
    await withServer({ NODE_OPTIONS: '--title=named-by-hand' }, async ({ pid }) => {
      assert.equal(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0], 'named-by-hand')
    })
  },
  UV_THREADPOOL_SIZE: async () => {
    const threads = (env: Variables): Promise<number> =>
      withServer(env, async ({ pid }) => {
        const tasks = readdirSync(`/proc/${pid}/task`)
        const names = tasks.map((task) => readFileSync(`/proc/${pid}/task/${task}/comm`, 'utf8'))
        return names.filter((name) => name.startsWith('libuv-worker')).length
      })
    assert.deepEqual([await threads({}), await threads({ UV_THREADPOOL_SIZE: '9' })], [4, 9])
  },
  MALLOC_ARENA_MAX: async () => {
    // The first arena is the heap; each other one has 64 MB of addresses of its own.
    const arenas = (env: Variables): Promise<number> =>
      withServer(env, async ({ pid }) => {
        const maps = readFileSync(`/proc/${pid}/maps`, 'latin1')
        const arena = /^([0-9a-f]+)-([0-9a-f]+) rw-p .*\n\2-([0-9a-f]+) ---p /gm
        const sizes = [...maps.matchAll(arena)].map(([, from, , to]) => BigInt(`0x${to}`) - BigInt(`0x${from}`))
        return sizes.filter((bytes) => bytes === ARENA_BYTES).length
      })
    assert.equal(await arenas({ MALLOC_ARENA_MAX: '1' }), 0)
    assert.ok((await arenas({})) > 0)
  },
  TZ: async () => {
    const pty = ['python3', '-c', 'import pty, sys; pty.spawn(sys.argv[1:])']
    const server = await startTollgate({ audited: false, command: pty, env: { TZ: 'Etc/GMT-14' } })
    const child = Number(readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'latin1').trim())
    try {
      await server.request('GET', '/v1/models')
      const line = await found(20_000, 'the line of the request', () =>
        server.logs().find((one) => /^\d\d:\d\d:\d\d GET \/v1\/models /.test(one)),
      )
      const [hours = 0, minutes = 0] = line.split(':').map(Number)
      const now = new Date()
      const ahead = hours * 60 + minutes - (now.getUTCHours() * 60 + now.getUTCMinutes())
      assert.ok([14 * 60, 14 * 60 - 1].includes((ahead + DAY_MINUTES) % DAY_MINUTES), line)
    } finally {
      process.kill(child, 'SIGTERM')
      await until(20_000, 'it has ended', () => !server.runs)
      await server.stop()
    }
  },
}

for (const [name, tried] of Object.entries(TRIED))
  test(`${name}: as its row says`, async (context) => {
    if (name.startsWith('PG') && postgres === null) return context.skip('no PostgreSQL')
    await tried()
  })

/** What is read beside the settings and the table, by the reason why that is nothing to set. */
const OTHERS: readonly (readonly [names: RegExp, why: string])[] = [
  [/^(?:NODE_\w+|OPENSSL_CONF|WATCH_REPORT_DEPENDENCIES|FORCE_COLOR|NO_COLOR)$/, "Node's own: its manual has them"],
  [/^(?:PATH|HOME|USER|USERNAME|TMPDIR|APPDATA)$/, "the system's own"],
  [
    /^PG(?:OPTIONS|BINARY|REPLICATION|CLIENT_ENCODING|SSLNEGOTIATION|CONNECT_TIMEOUT|PASS_NO_DEESCAPE)$/,
    'oddities of pg',
  ],
  [/^(?:UNDICI_\w+|WS_NO_\w+|DEBUG|LOG_TOKENS|LOG_STREAM|CI|JEST_WORKER_ID)$/, 'for those who develop the packages'],
  [/^OTEL_EXPORTER_OTLP_(?:TRACES_)?\w+$/, 'forms of those in the table, for traces alone'],
]

test('whatever the process reads is a setting, in the table, or has its reason here', async (context) => {
  if (postgres === null) return context.skip('no PostgreSQL')
  const parts = { ...(await guarded()), PGPASSWORD: PASSWORD }
  const mail = await startMailServer()
  try {
    const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${portOf(plain)}` }
    const env = { ...parts, ...mailSettings(mail), ...collector, NODE_OPTIONS: '--trace-env' }
    const read = await withServer(env, async (server) => {
      await chat(server, 'test/plain')
      await chat(server, 'test/secure')
      return new Set([...server.errors().matchAll(/^\[--trace-env\] get "(.*)"$/gm)].map(([, name = '']) => name))
    })
    assert.ok(read.has('TOLLGATE_DATA') && read.has('PGSSLMODE'), [...read].join())
    const known = new Set<string>([...Object.keys(VARIABLES), ...FOREIGN_VARIABLES.flatMap(({ names }) => names)])
    assert.deepEqual(
      [...read].filter((name) => !known.has(name) && !OTHERS.some(([names]) => names.test(name))),
      [],
    )
  } finally {
    await mail.close()
  }
})
