import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import pg from 'pg'
import { Agent } from 'undici'
import { freePort } from '../../harness/program.ts'
import { lazily, paced, found } from '../../harness/patience.ts'
import { startPostgres, type Postgres } from '../../harness/postgres.ts'
import { answers, startScriptedUpstream } from '../../harness/scripted-upstream.ts'
import { COMPILED, MAIN, startTollgate, type Tollgate } from '../../harness/server.ts'
import { freshFolder } from '../../harness/lasting.ts'
import { completion } from '../../harness/provider-answers.ts'

/** More than run at one provider, so that some wait for a place: from accounts that may each run 100. */
const HELD = 560
const HELD_OF_ACCOUNT = 80
const SOCKETS = 450
const LOG_REQUESTS = 20_000
/** Of them, sent at once. */
const BATCH = 100
const TOKEN = 'a'.repeat(48)
const KEK = Buffer.alloc(32, 7).toString('base64')

/** Servers that get into each trouble that an alert is for. */
export interface TroubledWorld {
  /** Its paid requests, its clients and its event loop. */
  readonly busy: Tollgate
  /** Its database. */
  readonly stored: Tollgate
  /** It stops, and is lost. */
  readonly leaving: Tollgate
  /** Nobody reads its log. */
  readonly unread: { readonly host: string; readonly trouble: () => Promise<void> }
  readonly postgres: Postgres
  readonly token: string
  /** Of each server, as Prometheus names it. */
  readonly hosts: readonly string[]
  /** By its alert, what brings each trouble about; done again until it is told. */
  readonly causes: ReadonlyMap<string, Cause>
  stop(): Promise<void>
}

export interface Cause {
  /** The server that the alert names; null = it is of all of them. */
  readonly of: string | null
  readonly bring: () => Promise<void>
}

const catalogue = (url: string): string => `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  works: { adapter: openai, base_url: '${url}/works', api_key: k }
  held: { adapter: openai, base_url: '${url}/held', api_key: k }
  gone: { adapter: openai, base_url: 'http://127.0.0.1:9/v1', api_key: k }
models:
${['works', 'held', 'gone']
  .map(
    (name) =>
      `  - { id: test/${name}, type: chat, context_length: 200000, tokenizer: o200k_base, max_completion_tokens: 1000, endpoints: [{ provider: ${name}, model: m, price: { currency: RUB, prompt: 1000000, completion: 1000000 } }] }`,
  )
  .join('\n')}
`

/** null if there is no PostgreSQL. */
export async function startTroubledWorld(): Promise<TroubledWorld | null> {
  const postgres = await startPostgres()
  if (postgres === null) return null
  const upstream = await startScriptedUpstream()
  const held: ServerResponse[] = []
  const reported = { prompt: 20, completion: 3 }
  const answer = (): ((response: ServerResponse) => void) =>
    answers(
      completion(
        { content: 'one two three' },
        { usage: { prompt_tokens: reported.prompt, completion_tokens: reported.completion } },
      ),
    )
  upstream.answer((response, request) => {
    if (request.path.startsWith('/held')) held.push(response)
    else answer()(response)
  })
  const catalog = catalogue(upstream.url)
  const env = { TOLLGATE_ADMIN_TOKEN: TOKEN, TOLLGATE_KEK: KEK, ALLOW_PRIVATE_UPSTREAMS: 'true' }
  const node = (): Promise<Tollgate> =>
    startTollgate({ audited: false, catalog, env: { ...env, DATABASE_URL: postgres.url } })
  const busy = await startTollgate({ audited: false, catalog, env })
  const stored = await node()
  const leaving = await node()
  const unread = await startUnread()
  const letGo = (): void => {
    for (const response of held.splice(0)) answer()(response)
  }
  const host = ({ url }: { readonly url: string }): string => new URL(url).host
  const clients = new Clients(busy)
  const causes = new Map<string, Cause>([
    ...moneyCauses(busy, reported),
    ...loadCauses(busy, clients),
    ['TollgateLogDropped', { of: unread.host, bring: unread.trouble }],
    ['TollgateNotReady', { of: host(leaving), bring: async () => void process.kill(leaving.pid, 'SIGTERM') }],
    ['TollgateDown', { of: host(leaving), bring: () => leaving.kill('SIGKILL') }],
    ...storeCauses(stored, postgres, held, letGo),
  ])
  return {
    busy,
    stored,
    leaving,
    unread,
    postgres,
    token: TOKEN,
    hosts: [host(busy), host(stored), host(leaving), unread.host],
    causes,
    stop: async () => {
      letGo()
      await clients.close()
      await unread.stop()
      for (const server of [busy, stored, leaving]) {
        await server.kill('SIGKILL')
        await server.stop()
      }
      await postgres.stop()
      await upstream.close()
    },
  }
}

/** Answers that fail, that cost more than there is, or whose usage cannot be; and notices that nobody takes. */
function moneyCauses(
  busy: Tollgate,
  reported: { prompt: number; completion: number },
): readonly (readonly [string, Cause])[] {
  const of = new URL(busy.url).host
  const rich = lazily(() => busy.createAccount({ balance: 1_000_000 }))
  const ask = async (model: string, prompt: number, completion: number, key: string): Promise<number> => {
    Object.assign(reported, { prompt, completion })
    return (await chat(busy, key, `test/${model}`)).status
  }
  const failing = async (): Promise<void> => {
    for (let count = 0; count < 3; count += 1) assert.notEqual(await ask('gone', 20, 3, (await rich()).key), 200)
  }
  const channels = lazily(async () => {
    const made = []
    for (let count = 0; count < 8; count += 1) {
      const channel = { target: `http://127.0.0.1:9/${count}`, kinds: ['shortfall'] }
      made.push(await busy.admin('POST', '/admin/v1/notices/channels', channel))
    }
    return made.map(({ body }) => String(body.id))
  })
  return [
    ['TollgateErrors', { of, bring: failing }],
    ['TollgateProviderFails', { of: null, bring: failing }],
    ['TollgateEndpointsUnhealthy', { of, bring: failing }],
    [
      'TollgateUsageFlagged',
      {
        of,
        bring: async () => {
          for (let count = 0; count < 3; count += 1)
            assert.equal(await ask('works', 60_000, 900, (await rich()).key), 200)
        },
      },
    ],
    [
      'TollgateRevenueStopped',
      {
        of: null,
        bring: lazily(async () => {
          for (let count = 0; count < 3; count += 1) {
            assert.equal(await ask('works', 20, 3, (await rich()).key), 200)
            await paced(600, 'longer than between two looks at the metrics')
          }
        }),
      },
    ],
    [
      'TollgateShortfall',
      {
        of,
        // Once: the first of a process is told like any other.
        bring: lazily(async () => {
          const poor = await busy.createAccount({ balance: 71 })
          assert.equal(await ask('works', 100, 50, poor.key), 200)
        }),
      },
    ],
    [
      'TollgateNoticesStuck',
      {
        of: null,
        bring: lazily(async () => {
          for (const id of await channels()) await busy.admin('POST', `/admin/v1/notices/channels/${id}/test`, {})
        }),
      },
    ],
  ]
}

/** More than a node, a provider or an address may do at once. */
function loadCauses(busy: Tollgate, clients: Clients): readonly (readonly [string, Cause])[] {
  const of = new URL(busy.url).host
  const late = async (): Promise<void> => {
    await clients.hold()
    process.kill(busy.pid, 'SIGSTOP')
    await paced(300, 'a process that stands still for a moment')
    process.kill(busy.pid, 'SIGCONT')
    await paced(300, 'it runs again')
  }
  return [
    ['TollgateAddressBeyondShare', { of, bring: () => clients.connect(SOCKETS) }],
    ['TollgateProviderQueue', { of, bring: () => clients.hold() }],
    // Fewer than 64 requests would not be refused for it.
    ['TollgateLoopSlow', { of, bring: late }],
    ['TollgateSheds', { of, bring: late }],
    ['TollgateMemoryHigh', { of, bring: async () => undefined }],
  ]
}

/** A table that is not there is a fault; a database that is not there is none. */
function storeCauses(
  stored: Tollgate,
  postgres: Postgres,
  held: readonly ServerResponse[],
  letGo: () => void,
): readonly (readonly [string, Cause])[] {
  const of = new URL(stored.url).host
  const statement = async (sql: string): Promise<void> => {
    const client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    await client.query(sql)
    await client.end()
  }
  return [
    [
      'TollgateFault',
      {
        of,
        bring: async () => {
          await statement('ALTER TABLE event RENAME TO event_away')
          const { status } = await stored.admin('GET', '/admin/v1/events')
          await statement('ALTER TABLE event_away RENAME TO event')
          assert.equal(status, 500)
        },
      },
    ],
    [
      'TollgateStoreDown',
      {
        of,
        bring: lazily(async () => {
          const before = held.length
          const { key } = await stored.createAccount({ balance: 100_000 })
          for (let count = 0; count < 5; count += 1) void chat(stored, key, 'test/held').catch(() => null)
          await found(20_000, 'five answers run', () => (held.length === before + 5 ? true : null))
          await postgres.halt()
          letGo()
        }),
      },
    ],
    ['TollgateJournalGrows', { of, bring: async () => undefined }],
  ]
}

function chat(server: Tollgate, key: string, model: string, dispatcher?: Agent): ReturnType<Tollgate['request']> {
  const body = { model, max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] }
  return server.request('POST', '/v1/chat/completions', {
    key,
    body,
    ...(dispatcher === undefined ? {} : { dispatcher }),
  })
}

/** Many clients of one server, from several addresses: one may have 256 connections. */
class Clients {
  readonly #server: Tollgate
  readonly #addresses = [2, 3, 4, 5].map((host) => new Agent({ localAddress: `127.0.0.${host}` }))
  readonly #sockets: Socket[] = []
  readonly #keys: string[] = []
  #running = 0
  #asked = 0

  constructor(server: Tollgate) {
    this.#server = server
  }

  /** Connections of one more address that ask nothing. */
  async connect(count: number): Promise<void> {
    const { port } = new URL(this.#server.url)
    for (let number = 0; number < count; number += 1) {
      const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress: '127.0.0.9' })
      socket.on('error', () => undefined)
      await new Promise((resolve) => socket.once('connect', resolve))
      this.#sockets.push(socket)
    }
  }

  /** Requests to a provider that does not answer; those that it refused meanwhile are sent anew. */
  async hold(): Promise<void> {
    while (this.#keys.length * HELD_OF_ACCOUNT < HELD)
      this.#keys.push((await this.#server.createAccount({ balance: 1_000_000 })).key)
    for (; this.#running < HELD; this.#running += 1) {
      this.#asked += 1
      const key = this.#keys[this.#asked % this.#keys.length] ?? ''
      void chat(this.#server, key, 'test/held', this.#addresses[this.#asked % this.#addresses.length])
        .catch(() => null)
        .finally(() => (this.#running -= 1))
    }
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    for (const address of this.#addresses) await address.destroy()
  }
}

/** A server whose output is read until it is ready, and no more. */
async function startUnread(): Promise<TroubledWorld['unread'] & { readonly stop: () => Promise<void> }> {
  const folder = freshFolder()
  const port = await freePort()
  const env = {
    ...COMPILED,
    PATH: process.env['PATH'] ?? '',
    HOST: '127.0.0.1',
    PORT: String(port),
    TOLLGATE_DATA: folder,
    TOLLGATE_LOG_LEVEL: 'debug',
  }
  const child = spawn(process.execPath, [MAIN, 'start'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] })
  await readyThenUnread(child)
  return {
    host: `127.0.0.1:${port}`,
    // A line of debug for each, until the log has no room for more.
    trouble: () => pipelined(port, `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${'r'.repeat(128)}\r\n\r\n`),
    stop: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await ended
    },
  }
}

async function readyThenUnread(child: ChildProcess): Promise<void> {
  let said = ''
  child.stdout?.on('data', (part: Buffer) => (said += part.toString()))
  await found(20_000, 'it is ready', () => (said.includes('Tollgate ready') ? true : null))
  child.stdout?.pause()
}

/** Sends a request many times over one connection, some at once. */
function pipelined(port: number, request: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let got = 0
    socket.on('data', (part: Buffer) => {
      const before = got
      got += part.toString('latin1').split('HTTP/1.1 200').length - 1
      if (got >= LOG_REQUESTS) socket.destroy()
      else if (Math.floor(got / BATCH) > Math.floor(before / BATCH)) socket.write(request.repeat(BATCH))
    })
    socket.once('error', reject).once('close', () => resolve())
    socket.write(request.repeat(BATCH))
  })
}
