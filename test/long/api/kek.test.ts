import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { MAIN, COMPILED, startTollgate, type Tollgate } from '../../harness/server.ts'
import { startScriptedUpstream, answers } from '../../harness/scripted-upstream.ts'
import { freshFolder } from '../../harness/lasting.ts'
import { completion } from '../../harness/provider-answers.ts'

/** Secrets that must be encrypted in the store (guarantees.md requirement 15). */
const CREDENTIALS = ['first-credential-of-one', 'credential-of-two']
const newKek = (): string => randomBytes(32).toString('base64')

const directories: string[] = []

const upstream = await startScriptedUpstream({ forgets: true })
upstream.answer(
  answers(
    completion({ content: 'ok' }, { id: 'x', usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }),
  ),
)

after(async () => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})

function newDirectory(): string {
  const directory = freshFolder()
  directories.push(directory)
  return directory
}

function catalog(): string {
  const model = (slug: string): unknown => ({
    id: `test/${slug}`,
    type: 'chat',
    context_length: 10_000,
    endpoints: [{ provider: slug, model: 'm', price: { currency: 'RUB', prompt: 1, completion: 1 } }],
  })
  const provider = (slug: string, key: string | undefined): unknown => ({
    name: slug,
    adapter: 'openai',
    base_url: `${upstream.url}/${slug}`,
    api_key: key,
  })
  return JSON.stringify({
    bundled: false,
    rate_limit: { requests: 100_000, window: 60 },
    providers: { one: provider('one', CREDENTIALS[0]), two: provider('two', CREDENTIALS[1]) },
    models: [model('one'), model('two')],
  })
}

function start(dataDir: string, kek: string, options: { catalog?: string } = {}): Promise<Tollgate> {
  return startTollgate({ dataDir, env: { TOLLGATE_KEK: kek }, ...options })
}

/** A start that must fail: returns its only line, without a stack. */
function refusedStart(dataDir: string, kek: string): string {
  const { status, stderr } = spawnSync(process.execPath, [MAIN, 'start'], {
    cwd: dataDir,
    env: {
      ...COMPILED,
      PATH: process.env['PATH'],
      HOST: '127.0.0.1',
      PORT: '0',
      TOLLGATE_DATA: dataDir,
      TOLLGATE_KEK: kek,
    },
    encoding: 'utf8',
    timeout: 20_000,
  })
  assert.notEqual(status, 0, stderr)
  const lines = stderr.trim().split('\n')
  assert.equal(lines.length, 1, stderr)
  return lines[0] ?? ''
}

function chat(tollgate: Tollgate, key: string, model: string): ReturnType<Tollgate['request']> {
  return tollgate.post('/v1/chat/completions', key, {
    model,
    max_tokens: 5,
    messages: [{ role: 'user', content: 'x' }],
  })
}

test('a wrong KEK stops the start with one line, before there is a credential and after', async () => {
  const dataDir = newDirectory()
  const kek = newKek()
  const first = await start(dataDir, kek)
  await first.stop()
  assert.match(refusedStart(dataDir, newKek()), /TOLLGATE_KEK is not the key/)
  const second = await start(dataDir, kek, { catalog: catalog() })
  await second.stop()
  assert.match(refusedStart(dataDir, newKek()), /TOLLGATE_KEK is not the key/)
  const third = await start(dataDir, `${newKek()},${kek}`)
  await third.stop()
})

test('credentials are nowhere in the store as text, and a swapped, cut or changed value does not open', async () => {
  const dataDir = newDirectory()
  const kek = newKek()
  const tollgate = await start(dataDir, kek, { catalog: catalog() })
  await tollgate.stop()
  const path = join(dataDir, 'tollgate.db')
  for (const secret of [...CREDENTIALS, kek]) assert.equal(readFileSync(path).includes(secret), false)
  const database = new DatabaseSync(path)
  const [row] = database.prepare('SELECT version, credentials FROM catalog_version ORDER BY version DESC LIMIT 1').all()
  // The store writes it as JSON of encrypted texts.
  const good = JSON.parse(Buffer.from(row?.['credentials'] as Uint8Array).toString('utf8')) as Record<string, string>
  const put = (encrypted: Record<string, string>): void =>
    void database
      .prepare('UPDATE catalog_version SET credentials = ? WHERE version = ?')
      .run(Buffer.from(JSON.stringify(encrypted)), row?.['version'] as number)
  const one = good['one'] ?? ''
  const changed = Buffer.from(one, 'base64')
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1
  for (const bad of [
    { ...good, one: good['two'] ?? '', two: one },
    { ...good, one: changed.toString('base64') },
    { ...good, one: one.slice(0, 40) },
    { ...good, one: good[''] ?? '' },
  ]) {
    put(bad)
    assert.match(refusedStart(dataDir, kek), /sealed for 'provider\/\w+\/api_key\/v1' does not open/)
  }
  put(good)
  database.close()
  const whole = await start(dataDir, kek)
  const { key } = await whole.createAccount()
  assert.equal((await chat(whole, key, 'test/one')).status, 200)
  assert.equal(upstream.received.at(-1)?.headers['authorization'], `Bearer ${CREDENTIALS[0]}`)
  await whole.stop()
})

test('rotation while requests run: not one fails, and then the old key opens nothing that is left', async () => {
  const dataDir = newDirectory()
  const [old, next] = [newKek(), newKek()]
  const before = await start(dataDir, old, { catalog: catalog() })
  const { key } = await before.createAccount({ balance: 1_000 })
  const kept = await before.request('POST', '/v1/chat/completions', {
    key,
    body: { model: 'test/one', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] },
    headers: { 'idempotency-key': 'k' },
  })
  await before.stop()

  const both = await start(dataDir, `${next},${old}`)
  const running = { on: true, count: 0 }
  const clients = Array.from({ length: 8 }, async (_value, number) => {
    while (running.on) {
      const answer = await chat(both, key, number % 2 === 0 ? 'test/one' : 'test/two')
      assert.equal(answer.status, 200, answer.text)
      running.count += 1
    }
  })
  for (let turn = 0; turn < 20; turn += 1) {
    const from = running.count
    assert.equal((await both.admin('POST', '/admin/v1/kek/rotate')).status, 200)
    while (running.count < from + 5) await new Promise((resolve) => setImmediate(resolve))
  }
  running.on = false
  await Promise.all(clients)
  for (const { headers } of upstream.received)
    assert.ok(CREDENTIALS.includes(String(headers['authorization']).slice('Bearer '.length)))
  assert.equal((await both.admin('GET', '/admin/v1/audit')).body.violations, 0)
  await both.stop()

  assert.match(refusedStart(dataDir, old), /TOLLGATE_KEK is not the key/)
  const database = new DatabaseSync(join(dataDir, 'tollgate.db'))
  const older = database.prepare('SELECT COUNT(*) AS n FROM catalog_version WHERE LENGTH(credentials) > 0').all()
  assert.equal(older[0]?.['n'], 1, 'credentials of older versions are gone')
  database.close()
  const after = await start(dataDir, next)
  assert.equal((await chat(after, key, 'test/two')).status, 200)
  const again = await after.request('POST', '/v1/chat/completions', {
    key,
    body: { model: 'test/one', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] },
    headers: { 'idempotency-key': 'k' },
  })
  assert.equal(again.text, kept.text, 'a kept answer was encrypted anew')
  await after.stop()
})
