import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { patient } from '../harness/patience.ts'
import { startTollgate, type Tollgate } from '../harness/server.ts'
import { freshFolder } from '../harness/lasting.ts'

/** operator.md 1: a second start is ready in under 2 s. */
const SECOND_START_MS = 2_000

test('the printed curl gets an answer that says what it cost; the second start is quick and knows the account', async () => {
  const dataDir = freshFolder()
  const started: Tollgate[] = []
  try {
    const first = await startTollgate({ dataDir })
    started.push(first)
    const command = /^(curl .+)$/m.exec(first.logs().join('\n'))?.[1] ?? ''
    assert.match(command, /sandbox\/chat/, 'the start prints a curl')
    const answered = spawnSync('sh', ['-c', command.replace('curl ', 'curl -s ')], {
      encoding: 'utf8',
      timeout: 10_000,
    })
    const body = JSON.parse(answered.stdout)
    assert.equal(body.object, 'chat.completion')
    assert.ok(body.usage.cost > 0, 'the sandbox has a price')
    await first.kill('SIGTERM')
    // The best of three: other tests run beside this one.
    const readyMs: number[] = []
    for (let start = 0; start < 3 && !readyMs.some((ms) => ms < SECOND_START_MS); start += 1) {
      await started.at(-1)?.kill('SIGTERM')
      const startedMs = performance.now()
      started.push(await startTollgate({ dataDir }))
      readyMs.push(performance.now() - startedMs)
    }
    assert.ok(Math.min(...readyMs) < patient(SECOND_START_MS), `ready after ${readyMs.map(Math.round).join(', ')} ms`)
    const second = started.at(-1)
    assert.ok(second)
    const key = /Bearer (sk-tg-[0-9A-Za-z]+)/.exec(command)?.[1] ?? ''
    const balance = await second.get('/v1/user/balance', key)
    assert.equal(balance.status, 200)
    assert.equal(
      Math.round(balance.body.balance * 1e6),
      100_000_000 - Math.round(body.usage.cost * 1e6),
      'the demo account had 100 RUB',
    )
  } finally {
    for (const server of started) await server.stop()
  }
})
