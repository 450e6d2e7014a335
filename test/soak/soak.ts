import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
// oxlint-disable-next-line eslint/no-restricted-imports -- the pace of a load over hours
import { setTimeout as delay } from 'node:timers/promises'
import { Pool } from 'undici'
import { percentile } from '../harness/figures.ts'
import { until } from '../harness/patience.ts'
import { startTollgate, type Tollgate } from '../harness/server.ts'

const ACCOUNTS = 4
const CLIENTS = 96
const OUTSTANDING_MAX = 800
const BALANCE = 1_000_000
const SAMPLE_MS = 1_000
/**
 * A measurement before and one after, of a fifth of the time each, once the first half has warmed the process up (its
 * heap grows for minutes).
 */
const WARM_UP = 0.5
const WINDOW = 0.2
/** The young heap varies by half; the lowest tenth shows what stays. */
const FLOOR = 0.1
const REST_MS = 30_000
/** undici closes an unused connection after four seconds. */
const IDLE_MS = 6_000
const LOG_MS = 60_000
const LOG_LOOK_MS = 500

export interface Soak {
  readonly requests: number
  readonly perSecond: number
  /** Answers that are neither complete nor the refusal of an overloaded machine. */
  readonly wrong: readonly string[]
  readonly refused: number
  /** Resident memory after collections, bytes. */
  readonly warmBytes: number
  readonly endBytes: number
  /** At rest: RUB × 10⁶ still held, open descriptors and violations. */
  readonly heldMicro: number
  readonly leakedDescriptors: number
  readonly violations: number
}

/**
 * One server at half its peak with calls of every outcome: whole, streamed, cut, failed, left by their client,
 * resumable.
 */
export async function soak(totalMs: number, tell: (line: string) => void): Promise<Soak> {
  const tollgate = await startTollgate({
    env: { TRUSTED_PROXIES: '127.0.0.1' },
    catalog: 'rate_limit: { requests: 100000, window: 1 }\nstream_resume: { grace: 2, retention: 5 }\n',
  })
  try {
    const accounts = await Promise.all(
      Array.from({ length: ACCOUNTS }, () => tollgate.createAccount({ balance: BALANCE })),
    )
    const load = new Load(
      tollgate,
      accounts.map(({ key }) => key),
    )
    const logs = logsOpen(tollgate)
    const peak = await load.peak(Math.min(15_000, totalMs / 10))
    // What is opened once, by the first call of a kind or the first 16 MB of SQLite's log, is no leak.
    await until(LOG_MS, 'a thread moves the log', async () => {
      if (logsOpen(tollgate) > logs) return true
      await load.peak(LOG_LOOK_MS)
      return false
    })
    await load.rest()
    await tollgate.admin('GET', '/admin/v1/audit')
    const descriptors = await descriptorsAtRest(tollgate)
    tell(
      `peak ${peak.toFixed(0)}/s; ${(peak / 2).toFixed(0)}/s for ${(totalMs / 60_000).toFixed(1)} min, ${descriptors} descriptors at rest`,
    )
    const samples: number[] = []
    const sampler = setInterval(() => {
      samples.push(residentBytes(tollgate))
      if (samples.length % 60 === 0)
        tell(
          `${samples.length / 60} min: ${mebibytes(samples.at(-1) ?? 0)} MiB, ${openDescriptors(tollgate)} descriptors, ${load.requests} requests`,
        )
    }, SAMPLE_MS)
    await load.offer(peak / 2, totalMs)
    clearInterval(sampler)
    await load.rest()
    const held = await heldAtRest(
      tollgate,
      accounts.map(({ id }) => id),
    )
    const audit = await tollgate.admin('GET', '/admin/v1/audit')
    const left = await descriptorsAtRest(tollgate)
    const warmed = Math.floor(samples.length * WARM_UP)
    const window = Math.max(1, Math.floor(samples.length * WINDOW))
    return {
      requests: load.requests,
      perSecond: peak / 2,
      wrong: load.wrong,
      refused: load.refused,
      warmBytes: percentile(samples.slice(warmed, warmed + window), FLOOR),
      endBytes: percentile(samples.slice(-window), FLOOR),
      heldMicro: held,
      leakedDescriptors: left - descriptors,
      violations: audit.body.violations,
    }
  } finally {
    await tollgate.stop()
  }
}

/** The figures for a reader. */
export function report(done: Soak): string {
  const growth = ((done.endBytes / done.warmBytes - 1) * 100).toFixed(1)
  return [
    `${done.requests} requests at ${done.perSecond.toFixed(0)}/s, ${done.refused} refused by an overloaded machine, ${done.wrong.length} wrong`,
    `memory ${mebibytes(done.warmBytes)} MiB after warm-up, ${mebibytes(done.endBytes)} MiB at the end: ${growth} %`,
    `${done.heldMicro} µ₽ still held, ${done.leakedDescriptors} descriptors leaked, ${done.violations} violations of the audit`,
  ].join('\n')
}

function mebibytes(bytes: number): string {
  return (bytes / 1_048_576).toFixed(0)
}

function residentBytes({ pid }: Tollgate): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]) * 1_024
}

function openDescriptors({ pid }: Tollgate): number {
  return readdirSync(`/proc/${pid}/fd`).length
}

/** How often SQLite's log is open: the thread that moves it has it too. */
function logsOpen({ pid, dataDir }: Tollgate): number {
  const log = join(dataDir, 'tollgate.db-wal')
  return readdirSync(`/proc/${pid}/fd`).filter((name) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`) === log
    } catch {
      return false
    }
  }).length
}

/** Waits until the connections of this process's own requests are closed too. */
async function descriptorsAtRest(tollgate: Tollgate): Promise<number> {
  let least = openDescriptors(tollgate)
  for (let waitedMs = 0; waitedMs < IDLE_MS; waitedMs += 500) {
    await delay(500)
    least = Math.min(least, openDescriptors(tollgate))
  }
  return least
}

/** The sum still held by the accounts, RUB × 10⁶, once it no longer falls. */
async function heldAtRest(tollgate: Tollgate, ids: readonly string[]): Promise<number> {
  const untilMs = performance.now() + REST_MS
  for (;;) {
    const records = await Promise.all(ids.map((id) => tollgate.admin('GET', `/admin/v1/accounts/${id}`)))
    const held = records.reduce((sum, { body }) => sum + Math.round(body.reserved * 1e6), 0)
    if (held === 0 || performance.now() > untilMs) return held
    await delay(200)
  }
}

type Fate = 'plain' | 'stream' | 'resumable' | 'left' | 'cut' | 'failed' | 'embeddings'
/** Used in turn. */
const FATES: readonly Fate[] = [
  'plain',
  'stream',
  'plain',
  'stream',
  'left',
  'plain',
  'stream',
  'embeddings',
  'stream',
  'plain',
  'cut',
  'stream',
  'plain',
  'resumable',
  'stream',
  'failed',
  'plain',
  'left',
  'stream',
  'plain',
]
const LINES: Readonly<Record<Fate, string>> = {
  plain: 'words=20',
  stream: 'words=40 gap_ms=2',
  resumable: 'words=20',
  left: 'words=200 gap_ms=10',
  cut: 'words=20 error=5',
  failed: 'status=500',
  embeddings: '',
}

class Load {
  readonly wrong: string[] = []
  requests = 0
  refused = 0
  readonly #tollgate: Tollgate
  readonly #keys: readonly string[]
  #pool: Pool
  readonly #running = new Set<Promise<void>>()

  constructor(tollgate: Tollgate, keys: readonly string[]) {
    this.#tollgate = tollgate
    this.#keys = keys
    this.#pool = this.#newPool()
  }

  /** As many a second as are served when each client waits for its answer. */
  async peak(durationMs: number): Promise<number> {
    const startedMs = performance.now()
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        while (performance.now() - startedMs < durationMs) await this.#ask()
      }),
    )
    return (this.requests * 1_000) / (performance.now() - startedMs)
  }

  /** So many a second, without waiting for answers. */
  async offer(perSecond: number, durationMs: number): Promise<void> {
    const startedMs = performance.now()
    let sent = 0
    for (let nowMs = 0; nowMs < durationMs; nowMs = performance.now() - startedMs) {
      const due = Math.floor((nowMs * perSecond) / 1_000)
      for (; sent < due; sent += 1) {
        if (this.#running.size >= OUTSTANDING_MAX) continue
        const one = this.#ask().finally(() => this.#running.delete(one))
        this.#running.add(one)
      }
      await delay(5)
    }
  }

  /** Lets everything end, and closes every connection. */
  async rest(): Promise<void> {
    await Promise.all(this.#running)
    await this.#pool.destroy()
    this.#pool = this.#newPool()
    const untilMs = performance.now() + REST_MS
    while (performance.now() < untilMs) {
      const { text } = await this.#tollgate.request('GET', '/metrics')
      if (/^tollgate_in_flight 0$/m.test(text)) break
      await delay(100)
    }
  }

  #newPool(): Pool {
    return new Pool(this.#tollgate.url, {
      connections: OUTSTANDING_MAX,
      pipelining: 1,
      headersTimeout: 120_000,
      bodyTimeout: 120_000,
    })
  }

  async #ask(): Promise<void> {
    const number = this.requests
    this.requests += 1
    const fate = FATES[number % FATES.length] ?? 'plain'
    try {
      await this.#one(fate, number)
    } catch (thrown) {
      this.wrong.push(`${fate}: ${String(thrown)}`)
    }
  }

  async #one(fate: Fate, number: number): Promise<void> {
    const streamed = ['stream', 'resumable', 'left', 'cut'].includes(fate)
    const [path, body] =
      fate === 'embeddings'
        ? ['/v1/embeddings', { model: 'sandbox/embeddings', input: ['a text', `and another, ${number}`] }]
        : [
            '/v1/chat/completions',
            {
              model: 'sandbox/chat',
              stream: streamed,
              max_tokens: 300,
              messages: [{ role: 'user', content: `Hello\nsandbox: ${LINES[fate]}` }],
            },
          ]
    const headers = {
      authorization: `Bearer ${this.#keys[number % this.#keys.length]}`,
      'content-type': 'application/json',
      ...(fate === 'resumable' ? { 'x-request-id': `soak-${number}` } : {}),
    }
    const answer = await this.#pool.request({ path, method: 'POST', headers, body: JSON.stringify(body) })
    if (fate === 'left' && answer.statusCode === 200) {
      for await (const chunk of answer.body) if (String(chunk).includes('data:')) break
      return
    }
    const text = await answer.body.text()
    if (text.includes('"service_unavailable"')) this.refused += 1
    else if (!isRight(fate, answer.statusCode, text))
      this.wrong.push(`${fate}: ${answer.statusCode} ${text.slice(-200)}`)
  }
}

function isRight(fate: Fate, status: number, text: string): boolean {
  if (fate === 'failed') return status >= 500
  if (fate === 'cut') return status === 200 && text.includes('"finish_reason":"error"')
  if (fate === 'stream' || fate === 'resumable') return status === 200 && text.endsWith('data: [DONE]\n\n')
  return status === 200
}
