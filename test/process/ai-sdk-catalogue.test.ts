import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseDocumentText } from '../../src/catalog/document-reader.ts'
import { KEK_SETTING, KEY_WRAP } from '../harness/key-wrap.ts'
import { openStore } from '../../src/store/open.ts'
import { chat } from '../harness/chat-fold.ts'
import { startReplayUpstream } from '../harness/replay.ts'
import { startTollgate } from '../harness/server.ts'
import { adaptersNamed } from '../harness/adapters-named.ts'
import { freshFolder, lasting } from '../harness/lasting.ts'

const BIN = join(import.meta.dirname, '../../bin/tollgate.js')
const INSTALL =
  /providers\.long\.package: @ai-sdk\/not-there is not installed; run in Tollgate's folder: npm install @ai-sdk\/not-there$/m
/** Writes a line for every module of a package that the process loads. */
const TELLS_LOADS = `import { registerHooks } from 'node:module'
registerHooks({ load(url, context, next) { const found = /node_modules\\/(@ai-sdk\\/[a-z-]+)/.exec(url); if (found) process.stderr.write('LOADED ' + found[1] + '\\n'); return next(url, context) } })`

const replay = await startReplayUpstream()
const directory = freshFolder()

function catalogue(fields: string): string {
  return `
providers:
  long: { adapter: ai-sdk, base_url: ${replay.url}/case/mistral/chat/mistralai-chat-with-cache-tokens, api_key: upstream-canary-key${fields} }
models:
  - { id: test/long, type: chat, context_length: 100000, endpoints: [{ provider: long, model: m, price: { currency: RUB, prompt: 1, completion: 1 } }] }
`
}

function check(fields: string): { readonly status: number | null; readonly stderr: string } {
  const file = join(directory, 'tollgate.yaml')
  writeFileSync(file, catalogue(fields))
  const { status, stderr } = spawnSync(process.execPath, [BIN, 'check', file], { cwd: directory, encoding: 'utf8' })
  return { status, stderr }
}

test('check: a package that is not installed is one line with the command that installs it, exit 2', () => {
  const { status, stderr } = check(', package: "@ai-sdk/not-there"')
  assert.equal(status, 2)
  assert.match(stderr.trim(), INSTALL)
  assert.equal(stderr.trim().split('\n').length, 1, stderr)
})

for (const [what, fields, message] of [
  ['no package', '', /package: is required/],
  [
    'a package of another scope',
    ', package: left-pad',
    /package: must be a package of the AI SDK, @ai-sdk\/<name>; no other is loaded, got 'left-pad'/,
  ],
  ['a way out of the scope', ', package: "@ai-sdk/../undici"', /package: must be a package of the AI SDK/],
  [
    'a factory that is no name',
    ', package: "@ai-sdk/mistral", factory: "not a name"',
    /factory: must be the name of an exported function/,
  ],
] as const) {
  test(`check: ${what} is refused`, () => {
    const { status, stderr } = check(fields)
    assert.equal(status, 2)
    assert.match(stderr, message)
  })
}

test('check: only this adapter takes package and factory', () => {
  const file = join(directory, 'other.yaml')
  writeFileSync(file, 'providers:\n  p: { adapter: openai, package: "@ai-sdk/mistral", factory: createMistral }\n')
  const { status, stderr } = spawnSync(process.execPath, [BIN, 'check', file], { cwd: directory, encoding: 'utf8' })
  assert.equal(status, 2)
  assert.match(stderr, /package: belongs to adapter ai-sdk alone/)
  assert.match(stderr, /factory: belongs to adapter ai-sdk alone/)
})

test('check: the catalogues of docs/providers.md have no fault', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/providers.md'), 'utf8')
  const blocks = [...page.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text = '']) => text)
  assert.equal(blocks.length, 6)
  for (const text of blocks) {
    const env = Object.fromEntries([...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, 'k']))
    const { problems } = parseDocumentText(text, {
      adapters: adaptersNamed('openai', 'ai-sdk', 'elevenlabs', 'bedrock', 'gemini', 'gigachat', 'yandex'),
      env,
    })
    assert.deepEqual(problems, [])
  }
})

test('PUT of a provider: the same sentence as 400, and a good row is shown with its package', async () => {
  const tollgate = await lasting(startTollgate({ env: { ALLOW_PRIVATE_UPSTREAMS: 'true' } }))
  const row = { adapter: 'ai-sdk', base_url: 'http://127.0.0.1:9', api_key: 'upstream-canary-key' }
  const refused = await tollgate.admin('PUT', '/admin/v1/providers/long', { ...row, package: '@ai-sdk/not-there' })
  assert.equal(refused.status, 400, refused.text)
  assert.match(refused.body.error.message, /npm install @ai-sdk\/not-there/)
  const taken = await tollgate.admin('PUT', '/admin/v1/providers/long', {
    ...row,
    package: '@ai-sdk/mistral',
    factory: 'createMistral',
  })
  assert.equal(taken.status, 201, taken.text)
  assert.equal(taken.body.package, '@ai-sdk/mistral')
  assert.equal(taken.body.factory, 'createMistral')
})

test('start: a file that names a package which is not installed stops it with that sentence', async () => {
  await assert.rejects(
    startTollgate({ catalog: catalogue(', package: "@ai-sdk/not-there"') }),
    (thrown: Error) => /ended with 2/.test(thrown.message) && INSTALL.test(thrown.message),
  )
})

test('start: so does a stored catalogue whose package has gone since', async () => {
  const dataDir = freshFolder()
  const tollgate = await startTollgate({
    dataDir,
    env: KEK_SETTING,
    catalog: catalogue(', package: "@ai-sdk/mistral"'),
  })
  await tollgate.stop()
  const store = await openStore({ dataDir, databaseUrl: null, keyWrap: KEY_WRAP })
  const latest = await store.catalogs.latest()
  assert.ok(latest)
  await store.catalogs.append({
    ...latest,
    after: latest.version,
    document: latest.document.replaceAll('@ai-sdk/mistral', '@ai-sdk/not-there'),
    atMs: Date.now(),
  })
  await store.close()
  await assert.rejects(
    startTollgate({ dataDir, env: KEK_SETTING }),
    (thrown: Error) => /ended with 2/.test(thrown.message) && INSTALL.test(thrown.message),
  )
})

test('no package is loaded before a request goes to a row that names it, and then no other', async () => {
  const env = { NODE_OPTIONS: `--import ${JSON.stringify(`data:text/javascript,${encodeURIComponent(TELLS_LOADS)}`)}` }
  const tollgate = await lasting(startTollgate({ catalog: catalogue(', package: "@ai-sdk/mistral"'), env }))
  const { key } = await tollgate.createAccount()
  const ask = (model: string): ReturnType<typeof chat> =>
    chat(tollgate.url, key, { model, max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] })
  assert.equal((await ask('sandbox/chat')).status, 200)
  assert.doesNotMatch(tollgate.errors(), /LOADED/)
  assert.equal((await ask('test/long')).status, 200)
  assert.match(tollgate.errors(), /LOADED @ai-sdk\/mistral/)
  assert.doesNotMatch(tollgate.errors(), /LOADED @ai-sdk\/(?:cohere|groq)/)
})
