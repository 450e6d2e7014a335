import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { authorizationOf, converseEvent, converseException } from '../harness/aws.ts'
import { chat, type FoldedAnswer } from '../harness/chat-fold.ts'
import { gateway } from '../harness/gateway.ts'
import { listen, type Received } from '../harness/scripted-upstream.ts'

const ACCESS_KEY_ID = 'AKIAIOSFODNN7EXAMPLE'
const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'
const TOKEN = 'FwoGZXIvYXdzEB0a+/=='
const MODEL = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
/** Long enough that the usage below is plausible for it. */
const PROMPT = 'the quick brown fox jumps over the lazy dog '.repeat(700)
const USAGE = {
  inputTokens: 3,
  outputTokens: 121,
  totalTokens: 2_072,
  cacheReadInputTokens: 1_712,
  cacheWriteInputTokens: 236,
  cacheDetails: [
    { ttl: '1h', inputTokens: 36 },
    { ttl: '5m', inputTokens: 200 },
  ],
}
const PLAIN = {
  output: { message: { role: 'assistant', content: [{ text: 'Hello' }] } },
  stopReason: 'end_turn',
  usage: USAGE,
}
const STREAM = Buffer.concat([
  converseEvent('messageStart', { role: 'assistant' }),
  converseEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hello' } }),
  converseEvent('contentBlockStop', { contentBlockIndex: 0 }),
  converseEvent('messageStop', { stopReason: 'end_turn' }),
  converseEvent('metadata', { usage: USAGE }),
])

interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

/** Chosen by the first part of the path, or by the shape of the request. */
let replies: Map<string, Reply>
let seen: Received[]

const upstream = await listen((response, request) => {
  const { path } = request
  seen.push(request)
  const streaming = path.endsWith('/converse-stream')
  const {
    status = 200,
    headers = {},
    body,
  } = replies.get(path.split('/')[1] ?? '') ?? { body: streaming ? STREAM : JSON.stringify(PLAIN) }
  response.writeHead(status, {
    'content-type': Buffer.isBuffer(body) ? 'application/vnd.amazon.eventstream' : 'application/json',
    ...headers,
  })
  response.end(body)
})
const upstreamHost = new URL(upstream.url).host
const price =
  '{ currency: RUB, prompt: 3, input_cache_read: 1, input_cache_write: 4, input_cache_write_1h: 6, completion: 15 }'
const tollgate = await gateway({
  catalog: `
markup: 1
providers:
  first: { name: First, adapter: bedrock, base_url: "http://${upstreamHost}/first", api_key: "${ACCESS_KEY_ID}:${SECRET}:${TOKEN}" }
  second: { name: Second, adapter: bedrock, base_url: "http://${upstreamHost}/second", api_key: bedrock-canary-key }
models:
  - id: anthropic/claude
    type: chat
    context_length: 200000
    input_modalities: [text, image]
    endpoints:
      - { provider: first, model: "${MODEL}", price: ${price} }
      - { provider: second, model: "${MODEL}", price: ${price} }
`,
})
const { key } = await tollgate.createAccount({ balance: 1_000 })

beforeEach(() => {
  replies = new Map()
  seen = []
})

function ask(body: Record<string, unknown> = {}, providers: readonly string[] = ['first']): Promise<FoldedAnswer> {
  return chat(tollgate.url, key, {
    model: 'anthropic/claude',
    max_tokens: 2_000,
    messages: [{ role: 'user', content: PROMPT }],
    provider: { order: providers, only: providers },
    ...body,
  })
}

for (const stream of [false, true]) {
  test(`the bytes on the wire are the signed ones (stream: ${stream})`, async () => {
    const answer = await ask({ stream, messages: [{ role: 'user', content: `Привет ${PROMPT}` }] })
    assert.equal(answer.choices.get(0)?.text, 'Hello')
    const [request] = seen
    assert.ok(request)
    const { path, headers, body } = request
    assert.equal(
      path,
      `/first/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/${stream ? 'converse-stream' : 'converse'}`,
    )
    const names = /SignedHeaders=([^,]+),/.exec(headers.authorization ?? '')?.[1]?.split(';') ?? []
    assert.deepEqual(names, ['content-type', 'host', 'x-amz-date', 'x-amz-security-token'])
    const signed = Object.fromEntries(names.map((name) => [name, String(headers[name])]))
    assert.deepEqual([signed['host'], signed['x-amz-security-token']], [upstreamHost, TOKEN])
    const expected = authorizationOf({
      method: 'POST',
      path,
      headers: signed,
      body,
      region: 'us-east-1',
      service: 'bedrock',
      accessKeyId: ACCESS_KEY_ID,
      secretAccessKey: SECRET,
    })
    assert.equal(headers.authorization, expected)
    const sentAt = signed['x-amz-date']?.replace(/(....)(..)(..)T(..)(..)(..)Z/, '$1-$2-$3T$4:$5:$6Z') ?? ''
    assert.ok(Math.abs(Date.now() - Date.parse(sentAt)) < 60_000, sentAt)
    assert.equal(headers.accept, stream ? 'application/vnd.amazon.eventstream' : 'application/json')
  })

  test(`each meter is charged at its own price (stream: ${stream})`, async () => {
    const { usage } = await ask({ stream, stream_options: { include_usage: true } })
    assert.deepEqual(
      [usage?.['prompt_tokens'], usage?.['completion_tokens'], usage?.['prompt_tokens_details']],
      [1_951, 121, { cached_tokens: 1_712, cache_write_tokens: 236 }],
    )
    assert.equal(usage?.['cost'], (3 * 3 + 1_712 * 1 + 200 * 4 + 36 * 6 + 121 * 15) / 1_000_000)
  })

  test(`a throttled provider is followed by the next one, whose key is a bearer's (stream: ${stream})`, async () => {
    replies.set('first', {
      status: 429,
      headers: { 'x-amzn-errortype': 'ThrottlingException:http://internal.amazon.com/' },
      body: '{"message":"Too many tokens, please wait before trying again."}',
    })
    const answer = await ask({ stream }, ['first', 'second'])
    assert.deepEqual([answer.status, answer.choices.get(0)?.text], [200, 'Hello'])
    assert.deepEqual(
      seen.map(({ path }) => path.split('/')[1]),
      ['first', 'second'],
    )
    assert.equal(seen[1]?.headers.authorization, 'Bearer bedrock-canary-key')
  })
}

test('an exception before the first word lets the next provider answer; after it, the stream breaks', async () => {
  replies.set('first', {
    body: Buffer.concat([
      STREAM.subarray(0, converseEvent('messageStart', { role: 'assistant' }).length),
      converseException('serviceUnavailableException', 'busy'),
    ]),
  })
  const early = await ask({ stream: true }, ['first', 'second'])
  assert.deepEqual([early.status, early.choices.get(0)?.text, early.error], [200, 'Hello', null])
  const words = converseEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hel' } })
  replies.set('first', {
    body: Buffer.concat([
      words,
      converseException('modelStreamErrorException', `${ACCESS_KEY_ID} of 123456789012 broke`),
    ]),
  })
  const late = await ask({ stream: true }, ['first', 'second'])
  assert.equal(late.choices.get(0)?.text, 'Hel')
  assert.equal(late.error?.metadata['error_type'], 'provider_error')
  assert.doesNotMatch(JSON.stringify(late.events), /AKIA|123456789012/)
})

test('a stream of broken frames is an error, never a wrong word', async () => {
  const broken = Buffer.from(STREAM)
  const at = broken.indexOf('Hello')
  broken[at] = (broken[at] ?? 0) ^ 1
  replies.set('first', { body: broken })
  const answer = await ask({ stream: true })
  assert.ok(answer.error)
  assert.equal(answer.choices.get(0)?.text ?? '', '')
})

test('a prompt that is too long has a distinct 400; refused credentials are no fault of the client and are not shown', async () => {
  replies.set('first', {
    status: 400,
    headers: { 'x-amzn-errortype': 'ValidationException' },
    body: '{"message":"Input is too long for requested model."}',
  })
  const long = await ask()
  assert.deepEqual(
    [long.status, long.error?.metadata['error_type'], long.error?.message],
    [
      400,
      'input_tokens_exceeded',
      "Input is too long for requested model. This model's maximum context length is 200000 tokens. Please reduce the length of the messages.",
    ],
  )
  for (const [status, type] of [
    [403, 'UnrecognizedClientException'],
    [403, 'ExpiredTokenException'],
    [400, 'IncompleteSignature'],
    [403, 'AccessDeniedException'],
  ] as const) {
    replies.set('first', {
      status,
      headers: { 'x-amzn-errortype': type },
      body: JSON.stringify({
        message: `User: arn:aws:iam::123456789012:user/x with ${ACCESS_KEY_ID} is not authorized`,
      }),
    })
    const denied = await ask()
    assert.equal(denied.status, 502, type)
    assert.doesNotMatch(JSON.stringify(denied.error), /AKIA|arn:|123456789012/)
  }
})
