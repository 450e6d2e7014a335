import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, existsSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { Answer } from '../harness/api-client.ts'
import { gateway, type Gateway } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { freshFolder } from '../harness/lasting.ts'

/**
 * A provider that has answered with images bills them. If their files cannot be stored, or the server stops meanwhile,
 * the customer pays nothing and the whole cost is the operator's loss (guarantees.md 5).
 */

/** Node's threads for file work. */
const FILE_THREADS = Number(process.env['UV_THREADPOOL_SIZE'] ?? 4)
const B64 = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const upstream = await startScriptedUpstream()
upstream.answer((response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ created: 1, data: [{ b64_json: B64 }, { b64_json: B64 }] }))
})

interface World {
  readonly server: Gateway
  readonly dataDir: string
  readonly key: string
}

async function world(): Promise<World> {
  const dataDir = freshFolder()
  const server = await gateway({
    dataDir,
    catalog: `
bundled: false
markup: 3
providers: { p: { adapter: openai, base_url: '${upstream.url}/v1', api_key: k } }
models:
  - { id: test/image, type: image, endpoints: [{ provider: p, model: any-image, price: { currency: RUB, image_output: 1.5 } }] }
`,
  })
  return { server, dataDir, key: (await server.createAccount({ balance: 100 })).key }
}

function drawn({ server, key }: World): Promise<Answer> {
  return server.post('/v1/images/generations', key, { model: 'test/image', prompt: 'x', n: 2, response_format: 'url' })
}

function assertLost({ dataDir }: World): void {
  const database = new DatabaseSync(join(dataDir, 'tollgate.db'), { readOnly: true })
  const rows = database.prepare('SELECT status, cost, insured FROM generation').all()
  database.close()
  assert.deepEqual(
    rows.map((row) => ({ ...row })),
    [{ status: 'error', cost: 0, insured: 3_000_000 }],
  )
}

test('image: pictures that cannot be stored are free, and what the provider bills is booked as the operator’s loss', async () => {
  const made = await world()
  writeFileSync(join(made.dataDir, 'files'), 'where the directory should be')
  const { status } = await drawn(made)
  assert.equal(status, 503)
  await made.server.stop()
  assertLost(made)
})

test('image: a server that is cut while it stores the pictures of an answer charges nothing and books what the provider bills', async (context) => {
  const made = await world()
  // Opening a pipe blocks until its other end is opened: no thread is left that could store a file.
  const pipe = join(made.dataDir, 'pipe')
  execFileSync('mkfifo', [pipe])
  const blocked = Array.from({ length: FILE_THREADS }, () => open(pipe, 'r'))
  const unblock = (): void => {
    if (existsSync(pipe)) closeSync(openSync(pipe, 'r+'))
    rmSync(pipe, { force: true })
  }
  context.after(unblock)
  const before = upstream.received.length
  const answer = drawn(made)
  await until(10_000, 'the provider has answered, and the pictures are being stored', async () => {
    const { text } = await made.server.request('GET', '/metrics')
    return (
      upstream.received.length > before &&
      /^tollgate_in_flight 1$/m.test(text) &&
      !/^tollgate_provider_in_flight\{[^}]*\} [1-9]/m.test(text)
    )
  })
  const stopped = made.server.app.stop()
  made.server.app.cut()
  await until(10_000, 'nobody is let in any more', () => !made.server.app.edge.server.listening)
  unblock()
  assert.equal((await answer).status, 503)
  for (const handle of await Promise.all(blocked)) await handle.close()
  await stopped
  assertLost(made)
})
