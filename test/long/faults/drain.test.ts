import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pool } from 'undici'
import { foldStream } from '../../harness/chat-fold.ts'
import { form } from '../../harness/form.ts'
import { movingGateway } from '../../harness/gateway.ts'
import { until } from '../../harness/patience.ts'
import { startTollgate } from '../../harness/server.ts'
import { freshFolder } from '../../harness/lasting.ts'

const STREAMS = 200
const ROUNDS = form({ short: 1, long: 1, chaos: 20 })

const chat = (words: string): string =>
  JSON.stringify({
    model: 'sandbox/chat',
    stream: true,
    max_tokens: 200,
    messages: [{ role: 'user', content: `Hello\nsandbox: ${words}` }],
  })

for (let round = 1; round <= ROUNDS; round += 1) {
  test(`F10, R13: SIGTERM with ${STREAMS} streams open: none breaks, each is charged once, nothing new is taken, exit 0 (${round})`, async (context) => {
    const dataDir = freshFolder()
    let tollgate = await startTollgate({ dataDir })
    const pool = new Pool(tollgate.url, { connections: STREAMS, pipelining: 1 })
    try {
      const accounts = await Promise.all(
        [1, 2].map(() =>
          tollgate.createAccount({ balance: 1_000, account: { rate_limit: { requests: 1_000, window: 60 } } }),
        ),
      )
      let started = 0
      const streams = Array.from({ length: STREAMS }, async (_value, index) => {
        const headers = { authorization: `Bearer ${accounts[index % 2]?.key}`, 'content-type': 'application/json' }
        const answer = await pool.request({
          path: '/v1/chat/completions',
          method: 'POST',
          headers,
          body: chat('words=30 gap_ms=100'),
        })
        started += 1
        return foldStream(answer.statusCode, await answer.body.text(), {})
      })
      await until(60_000, 'every stream has begun', () => started === STREAMS)
      const ended = tollgate.kill('SIGTERM')
      await until(5_000, 'the listener is closed', () =>
        tollgate.request('GET', '/readyz').then(
          () => false,
          () => true,
        ),
      )
      const answers = await Promise.all(streams)
      await ended
      assert.equal(tollgate.exitCode, 0)
      for (const { done, error, choices } of answers)
        assert.ok(done && error === null && (choices.get(0)?.text ?? '').split(' ').length >= 30)
      tollgate = await startTollgate({ dataDir })
      const sumMicro = answers.reduce((sum, { usage }) => sum + Math.round(Number(usage?.['cost']) * 1e6), 0)
      context.diagnostic(`${answers.length} streams whole, ${(sumMicro / 1e6).toFixed(6)} RUB told and charged`)
      const balances = await Promise.all(accounts.map(({ id }) => tollgate.admin('GET', `/admin/v1/accounts/${id}`)))
      assert.equal(
        balances.reduce((sum, { body }) => sum + Math.round(body.balance * 1e6), 0),
        2_000e6 - sumMicro,
      )
      assert.ok(balances.every(({ body }) => body.reserved === 0))
      assert.equal((await tollgate.admin('GET', '/admin/v1/audit')).body.violations, 0)
    } finally {
      await pool.destroy()
      await tollgate.stop()
    }
  })
}

test('F10: streams that outlast the 120 s of a stop end with an error and cost nothing', async () => {
  const server = await movingGateway({ catalog: '' })
  const pool = new Pool(server.url, { connections: 5, pipelining: 1 })
  const account = await server.createAccount({ balance: 100 })
  const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' }
  const streams = await Promise.all(
    Array.from({ length: 5 }, () =>
      pool.request({ path: '/v1/chat/completions', method: 'POST', headers, body: chat('words=100 gap_ms=3000') }),
    ),
  )
  const texts = streams.map(({ body }) => body.text())
  const stopped = server.stop()
  await server.pass(121, 5)
  for (const text of await Promise.all(texts)) {
    assert.match(text, /"error":\{"code":503/)
    assert.match(text, /"finish_reason":"error"/)
    assert.doesNotMatch(text, /"cost":0\.\d*[1-9]/)
  }
  await stopped
  await pool.destroy()
})
