import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { chat } from '../harness/chat-fold.ts'
import { startReplayUpstream } from '../harness/replay.ts'
import { gateway, serve } from '../harness/gateway.ts'
import { freshFolder } from '../harness/lasting.ts'

const { key, tollgate, upstream } = await serve(
  startReplayUpstream,
  ({ url }) => `
bundled: false
markup: 1
providers:
  azure:
    name: Azure
    adapter: openai
    base_url: "${url}/slot/azure/openai/deployments/gpt"
    api_key: azure-key
    dialect: { auth_header: Api-Key, query: { api-version: "2024-10-21" }, fixed: { temperature: 1 }, schema_words: { $comment: drop } }
models:
  - id: test/azure
    type: chat
    context_length: 1000000
    endpoints: [{ provider: azure, model: gpt, price: { currency: RUB, prompt: 1, completion: 1000 } }]
`,
)

test('Azure is a catalogue row: its header, its version in the address, its answer', async () => {
  await upstream.slot('azure', [{ case: 'azure/chat/chat-async-streaming-2' }])
  const answer = await chat(tollgate.url, key, {
    model: 'test/azure',
    messages: [{ role: 'user', content: 'hi' }],
    stream: true,
  })
  assert.equal(answer.status, 200, JSON.stringify(answer.error))
  assert.notEqual(answer.choices.get(0)?.text, '')
  const [sent] = await upstream.requests()
  assert.equal(sent?.headers['api-key'], 'azure-key')
  assert.equal(sent?.headers['authorization'], undefined)
  assert.match(JSON.stringify(sent), /chat\/completions\?api-version=2024-10-21/)
})

test('reasoning that the client does not want to see is paid for and not shown, streamed or not', async () => {
  for (const [name, stream] of [
    ['groq/chat/tool-use-failed-error-2', false],
    ['alibaba/chat/v-alibaba-reasoning-stream', true],
  ] as const) {
    const recorded = upstream.cases.find((one) => one.name === name)
    assert.ok(recorded)
    for (const hidden of [{ include_reasoning: false }, { reasoning: { exclude: true } }, {}]) {
      await upstream.slot('azure', [{ case: name }])
      const answer = await chat(tollgate.url, key, {
        model: 'test/azure',
        messages: [{ role: 'user', content: 'hi '.repeat(2_000) }],
        max_tokens: 9_000,
        stream,
        ...hidden,
      })
      const shown = answer.choices.get(0)?.reasoning ?? ''
      assert.equal(shown === '', Object.keys(hidden).length > 0, `${name} ${JSON.stringify(hidden)}`)
      assert.equal(answer.usage?.['completion_tokens'], recorded.expected.usage?.completion_tokens)
    }
  }
})

test('what a quirk changes is named in the answer and in the log', async () => {
  await upstream.slot('azure', [{ case: 'azure/chat/chat-async-streaming-2' }])
  const answer = await fetch(`${tollgate.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'test/azure',
      messages: [{ role: 'user', content: 'hi' }],
      stream: true,
      temperature: 0.2,
      tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', $comment: 'x' } } }],
    }),
  })
  assert.equal(answer.headers.get('x-tollgate-dropped'), 'temperature, tools.$comment')
  await answer.text()
  const id = answer.headers.get('x-generation-id') ?? ''
  const log = await fetch(`${tollgate.url}/admin/v1/generations/${id}`, {
    headers: { authorization: `Bearer ${tollgate.adminToken}` },
  })
  // An answer of the API.
  assert.equal(((await log.json()) as { dropped?: unknown }).dropped, 'temperature, tools.$comment')
})

test('fixed headers and a file of certificates belong to one provider; the API names no file', async () => {
  const folder = freshFolder()
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const words = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost'
  const names = ['-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', cert]
  execFileSync('openssl', [...words.split(' '), ...names], { stdio: 'pipe' })
  const seen: unknown[] = []
  const upstream = createHttps({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
    seen.push([request.method, request.headers['x-gate'], request.headers['authorization']])
    const said = { choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }], data: [{ id: 'm' }] }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(said))
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  // A server that listens on a port has an address with it.
  const url = `https://localhost:${(upstream.address() as AddressInfo).port}/v1`
  const row = (dialect: string): string =>
    `{ adapter: openai, base_url: '${url}', api_key: own-key, dialect: ${dialect} }`
  const model = (name: string): string =>
    `{ id: test/${name}, type: chat, context_length: 1000, endpoints: [{ provider: ${name}, model: m, price: { currency: RUB, prompt: 1, completion: 1 } }] }`
  const tollgate = await gateway({
    catalog: `{ bundled: false, providers: { trusting: ${row(`{ ca_file: ${cert}, headers: { X-Gate: gate-secret-123 } }`)}, other: ${row('{}')} }, models: [${model('trusting')}, ${model('other')}] }`,
  })
  try {
    const { key: apiKey } = await tollgate.createAccount({ balance: 10 })
    const ask = (name: string): ReturnType<typeof chat> =>
      chat(tollgate.url, apiKey, { model: `test/${name}`, messages: [{ role: 'user', content: 'hi' }] })
    assert.equal((await ask('trusting')).choices.get(0)?.text, 'hi')
    assert.equal((await ask('other')).status, 503, 'trusts only the system')
    const headers = { authorization: `Bearer ${tollgate.adminToken}`, 'content-type': 'application/json' }
    const admin = (method: string, path: string, body?: unknown): Promise<Response> =>
      fetch(`${tollgate.url}/admin/v1/${path}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    // An answer of the API in the file's shape.
    const shown = (await (await admin('GET', 'providers/trusting')).json()) as { dialect: object; slug?: string }
    assert.deepEqual(shown.dialect, { headers: { 'x-gate': '…-123' }, ca_file: cert })
    const { slug: _path, ...same } = shown
    assert.equal((await admin('PUT', 'providers/trusting', { ...same, name: 'T' })).status, 200)
    assert.equal((await ask('trusting')).choices.get(0)?.text, 'hi', 'put back with its masked header')
    assert.deepEqual(seen, Array(2).fill(['POST', 'gate-secret-123', 'Bearer own-key']))
    for (const [slug, path] of [
      ['trusting', '/etc/passwd'],
      ['other', cert],
      ['fresh', '/no/such/file'],
    ]) {
      const body = { ...same, dialect: { ca_file: path } }
      const refused = await admin('PUT', `providers/${slug}`, body)
      assert.equal(refused.status, 400)
      assert.match(await refused.text(), /is for the catalogue file: the admin API names no files of the server/)
    }
  } finally {
    await tollgate.stop()
    upstream.closeAllConnections()
    upstream.close()
  }
})
