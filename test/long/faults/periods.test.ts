import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pool } from 'undici'
import { foldStream } from '../../harness/chat-fold.ts'
import { checkBooks } from '../../harness/money-check.ts'
import { movingGateway } from '../../harness/gateway.ts'
import { until } from '../../harness/patience.ts'

// Ends of periods (guarantees.md F9); the periods themselves are checked against another implementation in
// src/ledger/period.test.ts.

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** Each with the first instant of the next local day, computed by hand, and the periods that begin with it. */
const BOUNDARIES = [
  {
    what: 'Moscow, the night in which its clocks went back for good',
    timezone: 'Europe/Moscow',
    next: '2014-10-25T20:00:00Z',
    resets: ['daily'],
  },
  {
    what: 'the end of that day of 25 hours',
    timezone: 'Europe/Moscow',
    next: '2014-10-26T21:00:00Z',
    resets: ['daily', 'weekly'],
  },
  {
    what: 'New York, the end of a day of 23 hours',
    timezone: 'America/New_York',
    next: '2026-03-09T04:00:00Z',
    resets: ['daily', 'weekly'],
  },
  {
    what: 'New York, the end of a day of 25 hours',
    timezone: 'America/New_York',
    next: '2026-11-02T05:00:00Z',
    resets: ['daily', 'weekly'],
  },
  { what: '31 January', timezone: 'Europe/Moscow', next: '2026-01-31T21:00:00Z', resets: ['daily', 'monthly'] },
  { what: '29 February', timezone: 'UTC', next: '2028-03-01T00:00:00Z', resets: ['daily', 'monthly'] },
  { what: 'the end of a year', timezone: 'Asia/Kolkata', next: '2027-12-31T18:30:00Z', resets: ['daily', 'monthly'] },
] as const

for (const { what, timezone, next, resets } of BOUNDARIES) {
  test(`F9: ${what}: a request that lasts over it counts where its hold was placed, once, and the next one in the new period`, async () => {
    const server = await movingGateway({
      catalog: `timezone: ${timezone}\nrate_limit: { requests: 1000, window: 60 }\n`,
      startUnixMs: Date.parse(next) - MINUTE_MS,
    })
    const pool = new Pool(server.url, { connections: 4 })
    try {
      const account = await server.createAccount({ balance: 100 })
      const usage = async (): Promise<Record<'daily' | 'weekly' | 'monthly' | 'total', number>> => {
        const { body } = await server.admin('GET', `/admin/v1/accounts/${account.id}/keys`)
        const [key] = body.data
        return { daily: key.usage_daily, weekly: key.usage_weekly, monthly: key.usage_monthly, total: key.usage }
      }
      const ask = async (line: string): Promise<number> => {
        const body = JSON.stringify({
          model: 'sandbox/chat',
          stream: true,
          max_tokens: 200,
          messages: [{ role: 'user', content: `Hello\nsandbox: ${line}` }],
        })
        const answer = await pool.request({
          path: '/v1/chat/completions',
          method: 'POST',
          headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
          body,
        })
        const folded = foldStream(answer.statusCode, await answer.body.text(), {})
        assert.ok(folded.done && folded.error === null, folded.raw)
        return Number(folded.usage?.['cost'])
      }
      const before = await ask('words=3')
      const straddling = ask('words=20 gap_ms=6000')
      await until(
        10_000,
        'the request holds its money',
        async () => (await server.admin('GET', `/admin/v1/accounts/${account.id}`)).body.reserved > 0,
      )
      await server.pass(150)
      const over = await straddling
      const started = await usage()
      for (const reset of ['daily', 'weekly', 'monthly'] as const) {
        const begins = resets.some((one) => one === reset)
        assert.equal(Math.round(started[reset] * 1e6), begins ? 0 : Math.round((before + over) * 1e6), reset)
      }
      const after = await ask('words=5')
      const later = await usage()
      assert.equal(Math.round(later.daily * 1e6), Math.round(after * 1e6))
      assert.equal(Math.round(later.total * 1e6), Math.round((before + over + after) * 1e6))
      const { rows } = await checkBooks(server, account, 100)
      assert.equal(rows.length, 3)
      // A day later the new period is over too.
      server.clock.advance(25 * HOUR_MS)
      assert.equal((await usage()).daily, 0)
      await checkBooks(server, account, 100)
    } finally {
      await pool.destroy()
      await server.stop()
    }
  })
}

test("F9: a daily limit that is used up opens at midnight of the service's zone, at that instant", async () => {
  const server = await movingGateway({
    catalog: 'timezone: Europe/Moscow\n',
    startUnixMs: Date.parse('2014-10-25T20:00:00Z') - MINUTE_MS,
  })
  const body = {
    model: 'sandbox/chat',
    max_tokens: 20,
    messages: [{ role: 'user', content: 'Hello\nsandbox: words=10' }],
  }
  const probe = await server.createAccount({ balance: 0.000001 })
  const { body: refused } = await server.post('/v1/chat/completions', probe.key, body)
  const account = await server.createAccount({
    balance: 100,
    key: { limit: refused.error.metadata.required, limit_reset: 'daily' },
  })
  const ask = async (): Promise<number> => (await server.post('/v1/chat/completions', account.key, body)).status
  assert.equal(await ask(), 200)
  assert.equal(await ask(), 429)
  server.clock.advance(Date.parse('2014-10-25T20:00:00Z') - server.clock.now() - 2_000)
  assert.equal(await ask(), 429)
  server.clock.advance(Math.max(0, Date.parse('2014-10-25T20:00:00Z') - server.clock.now()))
  assert.equal(await ask(), 200)
  assert.equal((await checkBooks(server, account, 100)).rows.length, 2)
})
