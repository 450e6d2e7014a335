import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import pg from 'pg'
import { request } from 'undici'
import { audioForm, wavFile } from '../harness/audio-files.ts'
import { administrator, PASSWORD, signedUp, topUp } from '../harness/console-client.ts'
import { startScriptedUpstream, type Received } from '../harness/scripted-upstream.ts'
import { until } from '../harness/patience.ts'
import { startPostgres } from '../harness/postgres.ts'
import { startTollgate, type Tollgate } from '../harness/server.ts'
import { balanceOf, videoUntil } from '../harness/video-jobs.ts'
import { auditClean } from '../harness/api-client.ts'
import { freshFolder, lasting } from '../harness/lasting.ts'

/**
 * Prompts, answers and secrets exist only in memory (guarantees.md requirements 20 and 21, S2): after calls of every
 * kind, good and bad, no log and no store contains them.
 */
const letters = (): string => randomBytes(9).toString('hex')
const PROMPT = `canaryprompt${letters()}`
const ANSWER = `canaryanswer${letters()}`
const PROVIDER_KEY = `canaryprovider${letters()}`
const KEK = randomBytes(32).toString('base64')

/** Answers, or fails, as the model's name says; a failure repeats the request. */
function answerOf(response: ServerResponse, { path, json, body }: Received): void {
  const asked = (json ?? {}) as { model?: string; stream?: boolean }
  const send = (value: unknown, status = 200): unknown =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  const bad = /bad-(\d+)/.exec(asked.model ?? body.toString('latin1'))?.[1]
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  if (bad !== undefined)
    return void send(
      { error: { message: `Refused: ${body.toString('utf8').slice(0, 400)} with ${PROVIDER_KEY}` } },
      Number(bad),
    )
  if (path.endsWith('/images/generations'))
    return void send({ created: 1, data: [{ b64_json: PNG, revised_prompt: `${ANSWER} picture` }] })
  if (path.endsWith('/transcriptions')) return void send({ text: ANSWER, duration: 1 })
  if (path.endsWith('/embeddings')) return void send({ data: [{ index: 0, embedding: [0.5] }], usage })
  if (asked.stream !== true)
    return void send({
      id: 'x',
      choices: [
        {
          index: 0,
          text: ANSWER,
          message: { role: 'assistant', content: ANSWER, reasoning: ANSWER },
          finish_reason: 'stop',
        },
      ],
      usage,
    })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(
    `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { role: 'assistant', content: ANSWER }, finish_reason: null }] })}\n\n`,
  )
  // The connection ends once the written bytes have left.
  if (asked.model === 'cut') {
    response.socket?.destroySoon()
    return
  }
  if (asked.model === 'garbage') return void response.end(`data: {"error": {"message": "${ANSWER} ${PROMPT}"}}\n\n`)
  response.end(
    `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage })}\n\ndata: [DONE]\n\n`,
  )
}

/** One black pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
const upstream = await startScriptedUpstream({ forgets: true })
upstream.answer(answerOf)

function catalog(): string {
  const price = { currency: 'RUB', prompt: 1, completion: 1 }
  const chats = ['good', 'cut', 'garbage', 'bad-400', 'bad-401', 'bad-422', 'bad-500']
  const provider = { name: 'One', adapter: 'openai', base_url: upstream.url, api_key: PROVIDER_KEY }
  return JSON.stringify({
    rate_limit: { requests: 100_000, window: 60 },
    providers: { one: provider },
    models: [
      ...chats.map((model) => ({
        id: `test/${model}`,
        type: 'chat',
        context_length: 10_000,
        endpoints: [{ provider: 'one', model, price }],
      })),
      {
        id: 'test/embed',
        type: 'embeddings',
        context_length: 8_000,
        endpoints: [{ provider: 'one', model: 'm', price: { currency: 'RUB', prompt: 1 } }],
      },
      {
        id: 'test/image',
        type: 'image',
        endpoints: [{ provider: 'one', model: 'dall-e-3', price: { currency: 'RUB', image_output: 1 } }],
      },
      {
        id: 'test/stt',
        type: 'transcription',
        endpoints: [{ provider: 'one', model: 'whisper-1', price: { currency: 'RUB', second: 0.01 } }],
      },
    ],
  })
}

/** Calls of every kind, good, refused, failed and cut; returns the secrets that were made on the way. */
async function everything(tollgate: Tollgate): Promise<readonly string[]> {
  await tollgate.admin('PATCH', '/admin/v1/settings', { signup: 'open' })
  const { browser, accountId } = await signedUp(tollgate)
  await topUp(tollgate, accountId, 10_000)
  const key: string = (await browser.post('keys', { name: 'first' })).body.key
  const admin = await administrator(tollgate, 'root@example.com')
  const totp = (await browser.post('totp', { password: PASSWORD })).body
  const post = (path: string, body: unknown, headers: Record<string, string> = {}): ReturnType<Tollgate['request']> =>
    tollgate.request('POST', path, { key, body, headers })
  const chat = (
    model: string,
    fields: Record<string, unknown> = {},
    headers: Record<string, string> = {},
  ): ReturnType<Tollgate['request']> =>
    post(
      '/v1/chat/completions',
      {
        model,
        max_tokens: 50,
        messages: [
          { role: 'system', content: `${PROMPT} system` },
          { role: 'user', content: PROMPT },
        ],
        tools: [{ type: 'function', function: { name: 'f', description: PROMPT, parameters: { type: 'object' } } }],
        user: 'ann',
        ...fields,
      },
      headers,
    )
  for (const model of ['good', 'bad-400', 'bad-401', 'bad-422', 'bad-500'].map((name) => `test/${name}`))
    await chat(model)
  for (const model of ['good', 'bad-400', 'bad-500', 'cut', 'garbage'].map((name) => `test/${name}`))
    await chat(model, { stream: true }, { 'x-request-id': `stream-${model.slice(5)}` }).catch(() => null)
  for (let turn = 0; turn < 2; turn += 1)
    assert.equal((await chat('test/good', {}, { 'idempotency-key': `${PROMPT}-key` })).status, 200)
  assert.equal((await post('/v1/responses', { model: 'test/good', input: PROMPT, instructions: PROMPT })).status, 200)
  await post('/v1/responses', { model: 'test/good', input: PROMPT, stream: true }, { 'x-request-id': 'responses-1' })
  await post('/v1/completions', { model: 'test/good', prompt: PROMPT })
  assert.equal((await post('/v1/embeddings', { model: 'test/embed', input: PROMPT })).status, 200)
  assert.equal((await post('/v1/rerank', { model: 'sandbox/rerank', query: PROMPT, documents: [PROMPT] })).status, 200)
  assert.equal(
    (await post('/v1/images/generations', { model: 'test/image', prompt: PROMPT, response_format: 'url' })).status,
    200,
  )
  assert.equal((await post('/v1/audio/speech', { model: 'sandbox/tts', input: PROMPT, voice: 'alloy' })).status, 200)
  const form = audioForm(
    { model: 'test/stt', prompt: PROMPT },
    { bytes: wavFile(1), name: `${PROMPT}.wav`, type: 'audio/wav' },
  )
  const heard = await tollgate.request('POST', '/v1/audio/transcriptions', { key, ...form })
  assert.equal(heard.body.text, ANSWER, heard.text)
  const video = await post('/v1/videos', { model: 'sandbox/video', prompt: PROMPT, duration: 4 })
  await videoUntil(tollgate, key, video.body.id, 'completed')
  const failing = await post('/v1/videos', {
    model: 'sandbox/video',
    prompt: `${PROMPT}\nsandbox: status=422`,
    duration: 4,
  })
  await videoUntil(tollgate, key, failing.body.id, 'failed')
  // Requests that are refused before anything is held.
  for (const body of [
    `{"model":"test/good","messages":"${PROMPT}"}`,
    `{"${PROMPT}`,
    // The name of a model that is none is kept, a text or a key in its place is not.
    `{"model":"${PROMPT} please","messages":[]}`,
    `{"model":"${key}","messages":[]}`,
    '{"model":"no/such-model","messages":[]}',
    `{"model":"test/good","messages":[{"role":"${PROMPT}","content":"x"}]}`,
    `{"model":"test/good","temperature":"${PROMPT}","messages":[{"role":"user","content":"x"}]}`,
  ])
    await post('/v1/chat/completions', body)
  await until(10_000, 'the refusals are written', async () =>
    (await tollgate.admin('GET', '/admin/v1/refusals')).text.includes('no/such-model'),
  )
  await tollgate.get(`/v1/${PROMPT}?q=${PROMPT}`, key)
  await tollgate.post('/v1/chat/completions', `${key.slice(0, -1)}x`, {
    model: 'test/good',
    messages: [{ role: 'user', content: PROMPT }],
  })
  await tollgate.get('/admin/v1/accounts', `${tollgate.adminToken}x`)
  await browser.signIn('person@example.com', `${PASSWORD}-wrong`)
  // A client that leaves in the middle.
  const left = await request(`${tollgate.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'sandbox/chat',
      stream: true,
      messages: [{ role: 'user', content: `${PROMPT}\nsandbox: words=500 gap_ms=5` }],
    }),
  })
  left.body.on('error', () => undefined)
  left.body.once('data', () => left.body.destroy())
  await until(10_000, 'nothing runs any more', async () => (await balanceOf(tollgate, key)).reserved === 0)
  await tollgate.admin('POST', '/admin/v1/kek/rotate')
  await auditClean(tollgate)
  const sessions = [browser.cookie, admin.cookie].map((cookie) => cookie.split('=')[1] ?? '')
  const secrets = [PROMPT, ANSWER, PROVIDER_KEY, KEK, key, tollgate.adminToken, PASSWORD, ...sessions, totp.secret]
  assert.ok(
    secrets.every((secret) => secret.length >= 12),
    JSON.stringify(secrets.map(({ length }) => length)),
  )
  return secrets
}

/** Secrets in a text or file, in every spelling that could be stored. */
function found(bytes: Buffer, secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) =>
    [
      Buffer.from(secret),
      Buffer.from(secret, 'utf16le'),
      Buffer.from(Buffer.from(secret).toString('base64').slice(0, -4)),
      Buffer.from(Buffer.from(secret).toString('hex')),
    ].some((spelling) => bytes.includes(spelling))
      ? [secret.slice(0, 14)]
      : [],
  )
}

function filesUnder(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

function assertLogs(tollgate: Tollgate, secrets: readonly string[]): void {
  const lines = tollgate.logs()
  assert.ok(lines.length > 30)
  assert.deepEqual(found(Buffer.from(`${lines.join('\n')}\n${tollgate.errors()}`), secrets), [])
  const ids = lines
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter(({ route }) => route !== undefined)
  assert.equal(new Set(ids.map(({ request_id: id }) => id)).size, ids.length, 'one line a request')
}

describe('canaries', () => {
  test('embedded store: database, write-ahead log and stored files', async (t) => {
    const dataDir = freshFolder()
    const tollgate = await lasting(
      startTollgate({
        dataDir,
        catalog: catalog(),
        env: { TOLLGATE_KEK: KEK, TOLLGATE_LOG_LEVEL: 'debug' },
      }),
    )
    const secrets = await everything(tollgate)
    // The operator's own file holds the provider's key.
    const scan = (): void => {
      for (const path of filesUnder(dataDir).filter((name) => !name.endsWith('test-catalogue.yaml')))
        assert.deepEqual(found(readFileSync(path), secrets), [], path)
    }
    // Finds a text that may be there, so that finding no secret means something.
    assert.ok(filesUnder(dataDir).some((path) => found(readFileSync(path), ['test/good']).length > 0))
    scan()
    await tollgate.kill('SIGKILL')
    scan()
    assertLogs(tollgate, secrets)
    t.diagnostic(`${filesUnder(dataDir).length} files, ${secrets.length} secrets`)
  })
})

const postgres = await startPostgres()

if (postgres !== null) {
  test('PostgreSQL: every row of every table, the files and the write-ahead log', async (t) => {
    const tollgate = await startTollgate({
      catalog: catalog(),
      env: { DATABASE_URL: postgres.url, TOLLGATE_KEK: KEK, TOLLGATE_LOG_LEVEL: 'debug' },
    })
    const client = new pg.Client({ connectionString: postgres.url })
    try {
      const secrets = await everything(tollgate)
      await client.connect()
      const { rows: tables } = await client.query(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'",
      )
      for (const { table_name: table } of tables) {
        const { rows } = await client.query(`SELECT to_json(t)::text AS row FROM "${table}" t`)
        assert.deepEqual(found(Buffer.from(rows.map(({ row }) => row).join('\n')), secrets), [], table)
      }
      const {
        rows: [place],
      } = await client.query('SHOW data_directory')
      const files = filesUnder(place.data_directory)
      assert.ok(files.some((path) => found(readFileSync(path), ['test/good']).length > 0))
      for (const path of files) assert.deepEqual(found(readFileSync(path), secrets), [], path)
      assertLogs(tollgate, secrets)
      t.diagnostic(`${tables.length} tables, ${files.length} files`)
    } finally {
      await client.end()
      await tollgate.stop()
      await postgres.stop()
    }
  })
}
