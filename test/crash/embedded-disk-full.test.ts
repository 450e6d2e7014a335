import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { startTollgate } from '../harness/server.ts'
import { mountSmallDisk } from './small-disk.ts'
import { until } from '../harness/patience.ts'
import { completion } from '../harness/provider-answers.ts'

const DISK_MB = 32
const UNSOLD = 20
const LIMIT_MS = 30_000

const catalogue = (url: string): string => `
providers:
  acme: { adapter: openai, base_url: "${url}/v1", api_key: k }
models:
  - id: acme/small
    type: chat
    context_length: 8000
    endpoints: [{ provider: acme, model: small, price: { currency: RUB, prompt: 10, completion: 20 } }]
`

const ANSWER = JSON.stringify(
  completion({ content: 'Hello' }, { usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 } }),
)

test('F5: the disk of the embedded store is full: after one failed write nothing more is bought of a provider, /readyz fails, and both come back by themselves', async () => {
  const disk = mountSmallDisk(DISK_MB)
  if (disk === null) return
  const upstream = await startScriptedUpstream()
  upstream.answer((response) => response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER))
  const tollgate = await startTollgate({ dataDir: disk.path, catalog: catalogue(upstream.url) })
  try {
    const account = await tollgate.createAccount({ balance: 100 })
    const ask = () =>
      tollgate.post('/v1/chat/completions', account.key, {
        model: 'acme/small',
        messages: [{ role: 'user', content: 'Hello' }],
      })
    const ready = async () => (await tollgate.request('GET', '/readyz')).status
    assert.equal((await ask()).status, 200)
    assert.equal(await ready(), 200)
    disk.fill()
    await until(LIMIT_MS, 'a write fails', async () => (await ask()).status === 503)
    await until(LIMIT_MS, 'the node is not ready', async () => (await ready()) === 503)
    const bought = upstream.requests.length
    for (let count = 0; count < UNSOLD; count += 1) {
      const { status, body, headers, text } = await ask()
      assert.equal(status, 503, text)
      assert.equal(body.error.metadata.error_type, 'service_unavailable')
      assert.ok(Number(headers['retry-after']) >= 1)
    }
    assert.equal(upstream.requests.length, bought, 'no provider was asked')
    assert.equal((await tollgate.get('/v1/user/balance', account.key)).status, 200, 'what only reads goes on')
    disk.free()
    await until(LIMIT_MS, 'the node is ready again', async () => (await ready()) === 200)
    assert.equal((await ask()).status, 200)
    const told = tollgate.logs().filter((line) => line.includes('the disk is full'))
    assert.ok(
      told.some((line) => line.includes('Paid requests are refused')),
      told.join('\n'),
    )
    assert.equal(
      tollgate.logs().filter((line) => line.includes('Paid requests are refused')).length,
      1,
      'one clear line',
    )
    assert.equal(tollgate.logs().filter((line) => line.includes('"bug"')).length, 0, 'a full disk is no bug')
  } finally {
    disk.free()
    await upstream.close()
    await tollgate.stop().finally(() => disk.stop())
  }
})
