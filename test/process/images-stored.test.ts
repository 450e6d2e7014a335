import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { digestOf, generateKey, labelOf } from '../../src/access/api-key.ts'
import { createApp, type AppLog } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { newWrappingKey } from '../../src/ledger/key-wrap.ts'
import { randomIds } from '../../src/base/ids.ts'
import { sendJson, startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { movingClock } from '../harness/moving-clock.ts'
import { startTollgate } from '../harness/server.ts'
import { freshFolder, lasting } from '../harness/lasting.ts'

const HOUR_MS = 3_600_000
const SILENT: AppLog = { line: () => undefined, bug: (thrown) => assert.fail(String(thrown)), notice: () => undefined }

test('a picture is served for 24 hours, then it is a 404, and its bytes go', async () => {
  const dataDir = freshFolder()
  const clock = movingClock()
  const { config } = readConfig({ TOLLGATE_DATA: dataDir })
  const app = await lasting(
    createApp({ config, version: '0', wrappingKeys: [newWrappingKey()], env: {}, log: SILENT, clock }),
  )
  const key = generateKey(randomIds())
  const account = await app.store.accounts.create({
    id: 'acc_1',
    name: 'test',
    email: null,
    defaultModel: null,
    rateLimit: null,
    createdAtMs: clock.now(),
  })
  await app.store.entries.post({
    accountId: account.id,
    kind: 'topup',
    amountMicro: 10_000_000n,
    reason: 'test',
    reference: 'test',
    actor: 'test',
    atMs: clock.now(),
  })
  await app.store.keys.create({
    id: 'key_1',
    accountId: account.id,
    name: 'test',
    digest: digestOf(key),
    label: labelOf(key),
    limitMicro: null,
    limitReset: null,
    expiresAtMs: null,
    allowedModels: null,
    createdAtMs: clock.now(),
  })
  const { address, port } = await app.edge.listen('127.0.0.1', 0)
  const answer = await fetch(`http://${address}:${port}/v1/images`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox/image', prompt: 'x' }),
  })
  // The server's own body.
  const { data } = (await answer.json()) as { data: { url: string }[] }
  const url = data[0]?.url ?? ''
  assert.equal((await fetch(url)).status, 200)
  const kept = readdirSync(join(dataDir, 'files')).length
  assert.equal(kept, 1)
  clock.advance(24 * HOUR_MS - 1)
  assert.equal((await fetch(url)).status, 200)
  clock.advance(1)
  assert.equal((await fetch(url)).status, 404)
  clock.advance(HOUR_MS)
  await app.store.files.removeExpired(clock.now())
  assert.deepEqual(readdirSync(join(dataDir, 'files')), [])
})

test('the public address of the service stands in the answer, and pictures outlive a restart', async () => {
  const dataDir = freshFolder()
  const start = (): ReturnType<typeof startTollgate> =>
    startTollgate({ catalog: 'markup: 1\n', dataDir, env: { TOLLGATE_PUBLIC_URL: 'https://ai.example.com/gate' } })
  const first = await start()
  const { key } = await first.createAccount()
  const { body } = await first.post('/v1/images', key, { model: 'sandbox/image', prompt: 'x' })
  const { url } = body.data[0]
  assert.match(url, /^https:\/\/ai\.example\.com\/gate\/v1\/images\/content\?id=img-/)
  await first.stop()
  const second = await start()
  const served = await fetch(url.replace('https://ai.example.com/gate', second.url))
  assert.equal(served.status, 200)
  assert.equal(Buffer.from(await served.arrayBuffer()).toString('latin1', 1, 4), 'PNG')
  await second.stop()
})

test('with fetch_urls a source image is fetched for a provider that takes only bytes, and only from public addresses', async () => {
  const upstream = await startScriptedUpstream({ forgets: true })
  upstream.answer((response, request) =>
    request.method === 'GET'
      ? void response.writeHead(200).end('secret')
      : sendJson(response, { data: [{ b64_json: 'AAAA' }] }),
  )
  const tollgate = await startTollgate({
    catalog: `
bundled: false
fetch_urls: true
providers: { one: { name: One, adapter: openai, base_url: "${upstream.url}", api_key: k } }
models: [{ id: v/x, type: image, endpoints: [{ provider: one, model: gpt-image-1, price: { currency: RUB, image_output: 1 } }] }]
`,
  })
  const { key } = await tollgate.createAccount()
  const port = new URL(upstream.url).port
  // The same sentence in every case: a client must not find out what answers inside. The provider's own host is no
  // exception.
  for (const image of [
    `${upstream.url}/x.png`,
    `http://localhost:${port}/x.png`,
    'http://127.0.0.1/x.png',
    'http://[::1]/x.png',
    'http://169.254.169.254/latest/meta-data',
    'http://metadata.google.internal/x',
    'http://no-such-host.invalid/x.png',
    'https://example.com:8443/x.png',
  ]) {
    const answer = await tollgate.post('/v1/images', key, { model: 'v/x', prompt: 'x', image })
    assert.deepEqual(
      [answer.status, answer.body.error.metadata.error_type, answer.body.error.message],
      [400, 'invalid_input', 'image: the image could not be fetched. Send it as a data URL in base64'],
      image,
    )
  }
  assert.equal(upstream.received.length, 0)
  await tollgate.stop()
  await upstream.close()
})

test('a picture that cannot be stored is a 503 and costs nothing; in the answer itself it still comes', async () => {
  const dataDir = freshFolder()
  writeFileSync(join(dataDir, 'files'), 'where the directory should be')
  const tollgate = await startTollgate({ catalog: 'markup: 1\n', dataDir })
  const { key } = await tollgate.createAccount()
  const draw = (format: string): ReturnType<typeof tollgate.request> =>
    tollgate.post('/v1/images', key, { model: 'sandbox/image', prompt: 'x', response_format: format })
  const refused = await draw('url')
  assert.deepEqual(
    [refused.status, refused.body.error.metadata.error_type, refused.headers['retry-after']],
    [503, 'service_unavailable', '2'],
  )
  assert.equal((await tollgate.get('/v1/user/balance', key)).body.available, 100)
  assert.equal((await draw('b64_json')).status, 200)
  assert.equal((await tollgate.admin('GET', '/admin/v1/audit')).body.violations, 0)
  await tollgate.stop()
})
