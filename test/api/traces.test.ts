import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { startTollgate, type Tollgate } from '../harness/server.ts'
import { found } from '../harness/patience.ts'

// Traces over OTLP, received by our own collector.

const SERVER = 2
const CLIENT = 3
const ERROR = 2
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const PARENT_ID = 'b7ad6b7169203331'
const PROMPT = 'canary-prompt-of-a-trace'

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly status?: { readonly code?: number }
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[]
}

interface Export {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly Span[] }[] }[]
}

const bodies: string[] = []
const headers: (string | undefined)[] = []
let collector: Server
let tollgate: Tollgate
let key: string

before(async () => {
  collector = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      if (request.url === '/base/v1/traces') bodies.push(Buffer.concat(parts).toString('utf8'))
      headers.push(request.headers['x-tenant']?.toString())
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  // A server that listens on TCP has such an address.
  const { port } = collector.address() as AddressInfo
  tollgate = await startTollgate({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}/base/`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=a%20b',
    },
    catalog: `
providers:
  shut: { adapter: openai, base_url: 'http://127.0.0.1:9/v1', api_key: upstream-canary-key }
models:
  - id: test/two
    type: chat
    context_length: 100000
    endpoints:
      - { provider: shut, model: far-model, price: { currency: RUB, prompt: 1, completion: 1 } }
      - { provider: sandbox, model: chat, price: { currency: RUB, prompt: 1, completion: 1 } }
`,
  })
  ;({ key } = await tollgate.createAccount())
})

after(async () => {
  collector.close()
  if (tollgate !== undefined) await tollgate.stop()
})

/** Spans are sent in batches, by the exporter's interval of five seconds. */
function spansOf(traceId: string, count: number): Promise<readonly Span[]> {
  return found(15_000, `${count} spans of ${traceId}`, () => {
    const spans = bodies
      .flatMap((body) => (JSON.parse(body) as Export).resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans)
      .flatMap(({ spans: some }) => some)
      .filter((span) => span.traceId === traceId)
    return spans.length >= count ? spans : null
  })
}

function attributesOf({ attributes }: Span): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key: name, value }) => [name, Object.values(value)[0]]))
}

test('a request that fell back: one span of the request within the trace of the client, one of each attempt within that', async () => {
  const answer = await tollgate.request('POST', '/v1/chat/completions', {
    key,
    headers: { traceparent: `00-${TRACE_ID}-${PARENT_ID}-00` },
    body: {
      model: 'test/two',
      messages: [{ role: 'user', content: `${PROMPT}\nsandbox: words=3` }],
      provider: { order: ['shut', 'sandbox'] },
    },
  })
  assert.equal(answer.status, 200, answer.text)
  const spans = await spansOf(TRACE_ID, 3)
  assert.equal(spans.length, 3)
  const [request] = spans.filter(({ kind }) => kind === SERVER)
  assert.ok(request !== undefined)
  assert.equal(request.name, 'POST /v1/chat/completions')
  assert.equal(request.parentSpanId, PARENT_ID)
  const told = attributesOf(request)
  assert.equal(Number(told['http.response.status_code']), 200)
  assert.equal(told['http.route'], '/v1/chat/completions')
  assert.equal(told['tollgate.generation_id'], answer.headers['x-generation-id'])
  assert.equal(Number(told['tollgate.cost']), answer.body.usage.cost)
  const attempts = spans
    .filter(({ kind }) => kind === CLIENT)
    .toSorted((left, right) => (BigInt(left.startTimeUnixNano) < BigInt(right.startTimeUnixNano) ? -1 : 1))
  assert.deepEqual(
    attempts.map(({ name, parentSpanId }) => [name, parentSpanId]),
    [
      ['chat far-model', request.spanId],
      ['chat chat', request.spanId],
    ],
  )
  const [failed, answered] = attempts.map(attributesOf)
  assert.deepEqual(
    [failed?.['gen_ai.provider.name'], failed?.['error.type'], failed?.['server.address'], attempts[0]?.status?.code],
    ['shut', 'connect', '127.0.0.1', ERROR],
  )
  assert.equal(failed?.['gen_ai.usage.input_tokens'], undefined)
  assert.deepEqual(
    [
      answered?.['gen_ai.operation.name'],
      answered?.['gen_ai.provider.name'],
      answered?.['gen_ai.request.model'],
      answered?.['error.type'],
    ],
    ['chat', 'sandbox', 'chat', undefined],
  )
  assert.equal(Number(answered?.['gen_ai.usage.output_tokens']), answer.body.usage.completion_tokens)
  for (const span of spans)
    assert.ok(
      BigInt(span.startTimeUnixNano) <= BigInt(span.endTimeUnixNano) &&
        BigInt(request.startTimeUnixNano) <= BigInt(span.startTimeUnixNano),
    )
  const wallMs = Number(BigInt(request.startTimeUnixNano) / 1_000_000n)
  assert.ok(Math.abs(Date.now() - wallMs) < 60_000, `${wallMs}`)
})

test('no prompt and no key is in a trace; headers of the collector are sent; probes are not traced', async () => {
  for (const path of ['/healthz', '/readyz']) assert.equal((await tollgate.request('GET', path)).status, 200)
  await spansOf(TRACE_ID, 3)
  const all = bodies.join('\n')
  for (const secret of [PROMPT, key, 'upstream-canary-key']) assert.ok(!all.includes(secret), secret)
  assert.ok(!all.includes('/readyz'))
  assert.deepEqual(new Set(headers), new Set(['a b']))
})

test('a collector that is gone fails no request, and is logged in one line', async () => {
  const alone = await startTollgate({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' } })
  try {
    const account = await alone.createAccount()
    const answer = await alone.request('POST', '/v1/chat/completions', {
      key: account.key,
      body: { model: 'sandbox/chat', messages: [{ role: 'user', content: 'Hi' }] },
    })
    assert.equal(answer.status, 200)
  } finally {
    await alone.stop()
  }
  assert.equal(alone.logs().filter((line) => line.includes('does not take traces')).length, 1)
})
