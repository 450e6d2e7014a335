import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pool } from 'undici'
import { form } from '../harness/form.ts'
import { paced, until } from '../harness/patience.ts'
import { startTollgate } from '../harness/server.ts'
import { lasting } from '../harness/lasting.ts'

const PEAK_MS = form({ short: 800, long: 5_000, chaos: 20_000 })
const OVERLOAD_MS = form({ short: 1_500, long: 10_000, chaos: 60_000 })
/** R12 on an idle machine is 0.9; CI shares two cores with the load generator and other tests. */
const GOODPUT_MIN = form({ short: 0.3, long: 0.6, chaos: 0.9 })
/** Another busy program during one of the two measurements spoils their ratio. */
const TRIES = 3
const CLIENTS = 100
const OUTSTANDING_MAX = 800
const STREAMS = 20
const ACCOUNTS = 10

const tollgate = await lasting(
  startTollgate({
    env: { TRUSTED_PROXIES: '127.0.0.1' },
    catalog: 'rate_limit: { requests: 100000, window: 1 }\n',
  }),
)
const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => tollgate.createAccount({ balance: 10_000 })))
const more = await Promise.all(
  accounts.map(({ id }) =>
    tollgate.admin('POST', `/admin/v1/accounts/${id}/keys`, { name: 'second' }).then(({ body }) => String(body.key)),
  ),
)
const keys: readonly string[] = [...accounts.map(({ key }) => key), ...more]

interface Outcome {
  readonly status: number
  readonly tookMs: number
}

/** One paid request on the given pool of connections. */
async function ask(
  pool: Pool,
  number: number,
  line: string,
  stream = false,
): Promise<Outcome & { readonly text: string }> {
  const startedMs = performance.now()
  const body = JSON.stringify({
    model: 'sandbox/chat',
    stream,
    max_tokens: 200,
    messages: [{ role: 'user', content: `Hello\nsandbox: ${line}` }],
  })
  const answer = await pool.request({
    path: '/v1/chat/completions',
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${keys[number % keys.length]}`, 'content-type': 'application/json' },
  })
  const text = await answer.body.text()
  return { status: answer.statusCode, tookMs: performance.now() - startedMs, text }
}

function p99(outcomes: readonly Outcome[]): number {
  const served = outcomes
    .filter(({ status }) => status === 200)
    .map(({ tookMs }) => tookMs)
    .toSorted((left, right) => left - right)
  return served[Math.floor(served.length * 0.99)] ?? 0
}

/** As many as the node serves when each client waits for its answer. */
async function peak(pool: Pool): Promise<{ readonly perSecond: number; readonly p99Ms: number }> {
  const outcomes: Outcome[] = []
  const untilMs = performance.now() + PEAK_MS
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_value, number) => {
      while (performance.now() < untilMs) outcomes.push(await ask(pool, number, 'words=10'))
    }),
  )
  const served = outcomes.filter(({ status }) => status === 200).length
  return { perSecond: (served * 1_000) / PEAK_MS, p99Ms: p99(outcomes) }
}

/** So many a second, without waiting for answers. */
async function offer(pool: Pool, perSecond: number): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = []
  const running = new Set<Promise<void>>()
  const startedMs = performance.now()
  for (let sent = 0; performance.now() - startedMs < OVERLOAD_MS;) {
    const due = Math.floor(((performance.now() - startedMs) * perSecond) / 1_000)
    for (; sent < due; sent += 1) {
      if (running.size >= OUTSTANDING_MAX) continue
      const one = ask(pool, sent, 'words=10')
        .then(
          (outcome) => void outcomes.push(outcome),
          () => void outcomes.push({ status: 0, tookMs: 0 }),
        )
        .finally(() => running.delete(one))
      running.add(one)
    }
    await paced(5, 'so many a second')
  }
  await Promise.all(running)
  return outcomes
}

async function openStreams(): Promise<number> {
  return Number(/^tollgate_open_streams (\d+)$/m.exec((await tollgate.request('GET', '/metrics')).text)?.[1])
}

/** The goodput at twice the peak, as a share of the peak. */
async function round(pool: Pool, tell: (message: string) => void): Promise<number> {
  let ended = 0
  const streams = Array.from({ length: STREAMS }, (_value, number) =>
    ask(pool, number, `words=100 gap_ms=${(2 * PEAK_MS + OVERLOAD_MS) / 100}`, true).finally(() => (ended += 1)),
  )
  // A slow machine refuses some, or ends the first before the last begins.
  await until(20_000, 'the streams run', async () => (await openStreams()) + ended >= STREAMS)
  await peak(pool)
  const before = await peak(pool)
  const outcomes = await offer(pool, 2 * before.perSecond)
  const served = outcomes.filter(({ status }) => status === 200).length
  const goodput = (served * 1_000) / OVERLOAD_MS / before.perSecond
  const refused = outcomes.filter(({ status }) => status === 503).length
  tell(
    `peak ${before.perSecond.toFixed(0)}/s, p99 ${before.p99Ms.toFixed(0)} ms; at 2 ×: goodput ${(goodput * 100).toFixed(0)} %, ${refused} of ${outcomes.length} refused, p99 of those served ${p99(outcomes).toFixed(0)} ms`,
  )
  const running = (await Promise.all(streams)).filter(({ status }) => status === 200)
  assert.ok(running.length > 0)
  for (const { text } of running) assert.ok(text.endsWith('data: [DONE]\n\n'), text.slice(-200))
  assert.deepEqual(outcomes.filter(({ status }) => ![200, 429, 503].includes(status)).slice(0, 3), [])
  return goodput
}

test(`R12: at twice its peak for ${OVERLOAD_MS / 1_000} s a node serves nearly as much as at its peak, breaks no stream, and its books are right`, async (context) => {
  const pool = new Pool(tollgate.url, {
    connections: OUTSTANDING_MAX,
    pipelining: 1,
    headersTimeout: 120_000,
    bodyTimeout: 120_000,
  })
  try {
    let best = 0
    for (let tries = 0; best < GOODPUT_MIN && tries < TRIES; tries += 1)
      best = Math.max(best, await round(pool, (message) => context.diagnostic(message)))
    assert.ok(best >= GOODPUT_MIN, `goodput ${best}`)
    const audit = await tollgate.admin('GET', '/admin/v1/audit')
    assert.equal(audit.body.violations, 0, audit.text)
  } finally {
    await pool.destroy()
  }
})
