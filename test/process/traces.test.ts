import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTollgate } from '../harness/server.ts'
import { found } from '../harness/patience.ts'
import { listen, sendJson } from '../harness/scripted-upstream.ts'
import { lasting } from '../harness/lasting.ts'

// Traces and metrics over OTLP, received by a collector on loopback.

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

interface Point {
  readonly startTimeUnixNano: string
  readonly timeUnixNano: string
  readonly attributes: Span['attributes']
  readonly asDouble?: number
  readonly count?: string
  readonly sum?: number
  readonly bucketCounts?: readonly string[]
  readonly explicitBounds?: readonly number[]
}

interface Measured {
  readonly name: string
  readonly unit: string
  readonly sum?: { readonly isMonotonic: boolean; readonly dataPoints: readonly Point[] }
  readonly histogram?: { readonly aggregationTemporality: number; readonly dataPoints: readonly Point[] }
}

interface Export {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly Span[] }[] }[]
}

const bodies: string[] = []
const metricBodies: string[] = []
const headers: (string | undefined)[] = []
let key: string

const collector = await listen((response, request) => {
  const text = request.body.toString('utf8')
  if (request.path === '/base/v1/traces') bodies.push(text)
  if (request.path === '/base/v1/metrics') metricBodies.push(text)
  headers.push(request.headers['x-tenant']?.toString())
  sendJson(response, {})
})
const tollgate = await lasting(
  startTollgate({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/base/`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=a%20b',
      OTEL_METRIC_EXPORT_INTERVAL: '200',
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
  }),
)
;({ key } = await tollgate.createAccount())

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

function attributesOf({ attributes }: Pick<Span, 'attributes'>): Record<string, unknown> {
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
  for (const part of ['cache_read.input', 'cache_creation.input', 'reasoning.output'])
    assert.equal(Number(answered?.[`gen_ai.usage.${part}_tokens`]), 0, part)
  for (const span of spans)
    assert.ok(
      BigInt(span.startTimeUnixNano) <= BigInt(span.endTimeUnixNano) &&
        BigInt(request.startTimeUnixNano) <= BigInt(span.startTimeUnixNano),
    )
  const wallMs = Number(BigInt(request.startTimeUnixNano) / 1_000_000n)
  assert.ok(Math.abs(Date.now() - wallMs) < 60_000, `${wallMs}`)
})

test('metrics by the GenAI conventions: of the calls to providers and of the answers to clients, as /metrics shows them', async () => {
  const chat = { model: 'test/two', messages: [{ role: 'user', content: `${PROMPT}\nsandbox: words=3` }] }
  const order = { provider: { order: ['shut', 'sandbox'] } }
  const answer = await tollgate.post('/v1/chat/completions', key, { ...chat, ...order, stream: true })
  assert.equal(answer.status, 200, answer.text)
  const streamed = (one: Measured): boolean => one.name === 'gen_ai.server.time_to_first_token'
  const metrics = await found(15_000, 'metrics of a streamed answer', () => {
    const newest = metricBodies.at(-1)
    if (newest === undefined) return null
    const { resourceMetrics } = JSON.parse(newest) as {
      readonly resourceMetrics: readonly {
        readonly scopeMetrics: readonly { readonly metrics: readonly Measured[] }[]
      }[]
    }
    const all = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics).flatMap(({ metrics: some }) => some)
    return all.some((one) => streamed(one) && one.histogram?.dataPoints.length === 1) ? all : null
  })
  const pointsOf = (name: string): readonly Point[] => {
    const one = metrics.find((metric) => metric.name === name)
    assert.equal(one?.histogram?.aggregationTemporality, 2, name)
    for (const { count, bucketCounts = [], explicitBounds = [], startTimeUnixNano, timeUnixNano } of one?.histogram
      ?.dataPoints ?? []) {
      assert.equal(bucketCounts.length, explicitBounds.length + 1, name)
      assert.equal(
        bucketCounts.reduce((sum, some) => sum + Number(some), 0),
        Number(count),
        name,
      )
      assert.ok(BigInt(startTimeUnixNano) <= BigInt(timeUnixNano))
    }
    return one?.histogram?.dataPoints ?? []
  }
  const named = (name: string): readonly string[] =>
    pointsOf(name)
      .map((point) => Object.values(attributesOf(point)).join(' '))
      .toSorted()
  assert.deepEqual(named('gen_ai.client.operation.duration'), ['chat sandbox chat', 'chat shut far-model connect'])
  assert.deepEqual(named('gen_ai.client.token.usage'), ['chat sandbox chat input', 'chat sandbox chat output'])
  for (const name of ['gen_ai.client.operation.time_to_first_chunk', 'gen_ai.server.time_per_output_token'])
    assert.equal(pointsOf(name).length, 1, name)
  assert.deepEqual(named('gen_ai.server.request.duration'), ['chat sandbox test/two'])
  assert.deepEqual(
    [
      metrics.find(({ name }) => name === 'gen_ai.client.operation.duration')?.unit,
      metrics.find(({ name }) => name === 'gen_ai.client.token.usage')?.unit,
    ],
    ['s', '{token}'],
  )
  const requests = metrics.find(({ name }) => name === 'tollgate_requests')
  assert.equal(requests?.sum?.isMonotonic, true)
  const { text } = await tollgate.request('GET', '/metrics')
  assert.match(
    text,
    /^gen_ai_client_operation_duration_seconds_count\{gen_ai_operation_name="chat",gen_ai_provider_name="shut",gen_ai_request_model="far-model",error_type="connect"\} 2$/m,
  )
  assert.match(text, /^gen_ai_client_token_usage_sum\{[^}]*gen_ai_token_type="output"\} [1-9]/m)
  const each = await tollgate.request('GET', '/metrics?per=worker')
  assert.match(each.text, new RegExp(`^tollgate_ready\\{worker="${tollgate.pid}"\\} 1$`, 'm'))
  assert.equal((await tollgate.request('GET', '/metrics?per=node')).status, 400)
})

test('no prompt and no key is in a trace; headers of the collector are sent; probes are not traced', async () => {
  for (const path of ['/healthz', '/readyz']) assert.equal((await tollgate.request('GET', path)).status, 200)
  await spansOf(TRACE_ID, 3)
  const all = [...bodies, ...metricBodies].join('\n')
  for (const secret of [PROMPT, key, 'upstream-canary-key']) assert.ok(!all.includes(secret), secret)
  assert.ok(!all.includes('/readyz'))
  assert.deepEqual(new Set(headers), new Set(['a b']))
})

test('a collector that is gone fails no request, and is logged in one line', async () => {
  const alone = await startTollgate({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' } })
  try {
    const account = await alone.createAccount()
    const answer = await alone.post('/v1/chat/completions', account.key, {
      model: 'sandbox/chat',
      messages: [{ role: 'user', content: 'Hi' }],
    })
    assert.equal(answer.status, 200)
  } finally {
    await alone.stop()
  }
  assert.equal(alone.logs().filter((line) => line.includes('does not take traces')).length, 1)
})
