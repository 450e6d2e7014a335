import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'undici'
import { foldStream, leaveAfter } from '../harness/chat-fold.ts'
import { serve } from '../harness/gateway.ts'
import { loggedRow } from '../harness/money-check.ts'
import { refused } from '../harness/refused.ts'
import { breaksAfter, startScriptedUpstream } from '../harness/scripted-upstream.ts'

const { tollgate, upstream } = await serve(
  startScriptedUpstream,
  ({ url }) => `
stream_resume: { grace: 1, retention: 300 }
providers:
  keeps: { name: Keeps billing, adapter: sandbox, cancel_stops_billing: false, timeouts: { progress: 1 } }
  breaks: { name: Breaks, adapter: openai, base_url: '${url}', api_key: k, timeouts: { progress: 1 } }
models:
  - { id: test/breaks, type: chat, context_length: 128000, endpoints: [{ provider: breaks, model: chat, price: { currency: RUB, prompt: 15, completion: 60 } }] }
  - { id: test/keeps, type: chat, context_length: 128000, endpoints: [{ provider: keeps, model: chat, price: { currency: RUB, prompt: 15, completion: 60 } }] }
`,
)

function body(model: string, line: string): string {
  return JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: `Hello\nsandbox: ${line}` }] })
}

/** Reads a stream until it has `events` of them, then closes the connection. */
async function leave(
  key: string,
  model: string,
  line: string,
  events: number,
  headers: Record<string, string> = {},
): Promise<{ readonly text: string; readonly id: string }> {
  const answer = await request(`${tollgate.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: body(model, line),
  })
  return { text: await leaveAfter(answer, events), id: String(answer.headers['x-generation-id']) }
}

function logged(key: string, id: string): Promise<Record<string, unknown>> {
  return loggedRow(tollgate, key, id)
}

test('a client that leaves is charged for the tokens so far, and no more, where the provider stops billing', async () => {
  const { key } = await tollgate.createAccount()
  const { id } = await leave(key, 'sandbox/chat', 'words=400 gap_ms=10', 6)
  const row = await logged(key, id)
  assert.equal(row['status'], 'cancelled')
  assert.equal(row['billing_basis'], 'counted')
  assert.ok(Number(row['output_tokens']) >= 4 && Number(row['output_tokens']) < 100, String(row['output_tokens']))
  assert.ok(Number(row['total_cost']) > 0)
  const balance = await tollgate.get('/v1/user/balance', key)
  assert.equal(balance.body.reserved, 0)
})

test('a client that leaves a provider which keeps billing is charged by the real usage at the end', async () => {
  const { key } = await tollgate.createAccount()
  const { id } = await leave(key, 'test/keeps', 'words=40 gap_ms=5', 6)
  const row = await logged(key, id)
  assert.equal(row['status'], 'cancelled')
  assert.equal(row['billing_basis'], 'drained')
  assert.equal(row['total_cost'], (12 * 15 + 40 * 60) / 1e6)
})

test('a stream with X-Request-Id is numbered, survives the disconnect and is resumed from where the client was', async () => {
  const { key } = await tollgate.createAccount()
  const { text, id } = await leave(key, 'sandbox/chat', 'words=30 gap_ms=10', 8, { 'x-request-id': 'resume-1' })
  const numbers = [...text.matchAll(/^id: (\d+)$/gm)].map(([, number]) => Number(number))
  assert.deepEqual(
    numbers,
    numbers.map((_value, index) => index + 1),
  )
  const seen = numbers.length - 1
  const kept = text.split('\n\n').slice(0, seen).join('\n\n')
  const resumed = await tollgate.get(`/v1/streams?id=resume-1&after=${seen}`, key)
  assert.equal(resumed.status, 200)
  assert.match(resumed.text, new RegExp(`^id: ${seen + 1}\n`))
  const whole = foldStream(200, `${kept}\n\n${resumed.text}`, {})
  assert.equal(whole.choices.get(0)?.text.trim().split(' ').length, 30)
  assert.equal(whole.done, true)
  const row = await logged(key, id)
  assert.equal(row['status'], 'completed')
  const again = await tollgate.get('/v1/streams?id=resume-1', key)
  assert.equal(foldStream(200, again.text, {}).choices.get(0)?.text, whole.choices.get(0)?.text)
})

test('another account cannot see the stream, and an unknown one is 404 stream_not_found', async () => {
  const { key } = await tollgate.createAccount()
  const other = await tollgate.createAccount()
  const { id } = await leave(key, 'sandbox/chat', 'words=5', 100, { 'x-request-id': 'mine' })
  for (const [asked, who] of [
    ['mine', other.key],
    [id, other.key],
    ['never', key],
  ] as const) {
    const answer = await tollgate.get(`/v1/streams?id=${asked}`, who)
    refused(answer, 404, 'stream_not_found')
  }
})

test('a cancelled stream stops, is charged for the tokens so far, and its connection breaks', async () => {
  const { key } = await tollgate.createAccount()
  const running = leave(key, 'sandbox/chat', 'words=2000 gap_ms=10', 5_000, { 'x-request-id': 'to-cancel' }).then(
    () => 'ended',
    () => 'broke',
  )
  let cancelled = await tollgate.request('DELETE', '/v1/streams?id=to-cancel', { key })
  for (let tries = 0; cancelled.status === 404 && tries < 100; tries += 1)
    cancelled = await tollgate.request('DELETE', '/v1/streams?id=to-cancel', { key })
  assert.equal(cancelled.status, 200, cancelled.text)
  assert.equal(cancelled.body.status, 'cancelled')
  assert.equal(await running, 'broke')
  assert.equal((await logged(key, cancelled.body.id))['status'], 'cancelled')
})

test('a break, a stall or an error after the first byte: the two error events, [DONE], and no charge', async () => {
  const { key } = await tollgate.createAccount()
  const cases = [
    ['cut', 'test/breaks', 502, 'provider_error'],
    ['stall', 'test/breaks', 504, 'provider_timeout'],
    ['error=3 words=9', 'test/keeps', 502, 'provider_error'],
  ] as const
  for (const [line, model, code, type] of cases) {
    if (line !== 'error=3 words=9') upstream.answer(breaksAfter(3, line))
    const answer = await tollgate.post('/v1/chat/completions', key, body(model, line))
    const events = answer.text.trim().split('\n\n').slice(-3)
    const [combined, bare] = events.slice(0, 2).map((event) => JSON.parse(event.slice('data: '.length)))
    assert.equal(events[2], 'data: [DONE]')
    assert.equal(combined.choices[0].finish_reason, 'error')
    assert.equal(combined.error.code, code, line)
    assert.equal(combined.usage.cost, 0)
    assert.deepEqual(Object.keys(bare), ['error'])
    assert.equal(bare.error.metadata.error_type, type)
    assert.equal((await logged(key, combined.id))['total_cost'], 0)
  }
})

test('empty answers are free and 502; an empty answer that says stop is an answer', async () => {
  const { key } = await tollgate.createAccount()
  const ask = (model: string, stream: boolean) =>
    tollgate.post('/v1/chat/completions', key, {
      model,
      stream,
      messages: [{ role: 'user', content: 'sandbox: words=0' }],
    })
  const says = { message: { role: 'assistant', content: '' }, delta: {}, index: 0, finish_reason: 'stop' }
  const text = JSON.stringify({ id: 'c', choices: [says] })
  for (const stream of [false, true]) {
    refused(await ask('sandbox/chat', stream), 502, 'empty_response')
    upstream.answer((response) =>
      response
        .writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
        .end(stream ? `data: ${text}\n\ndata: [DONE]\n\n` : text),
    )
    assert.equal((await ask('test/breaks', stream)).status, 200)
  }
})

test('the session of the header is logged where the body names none', async () => {
  const { key } = await tollgate.createAccount()
  const ask = {
    key,
    body: { model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hello' }] },
    headers: { 'x-session-id': 'conversation-7' },
  }
  const answer = await tollgate.request('POST', '/v1/chat/completions', ask)
  const record = await tollgate.get(`/v1/generation?id=${answer.body.id}`, key)
  assert.equal(record.body.data.session_id, 'conversation-7')
})
