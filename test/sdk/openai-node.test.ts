import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gateway } from '../harness/gateway.ts'
import OpenAI, {
  APIError,
  BadRequestError,
  InternalServerError,
  AuthenticationError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from 'openai'

const hello = [{ role: 'user' as const, content: 'Hello' }]
const weather = [
  {
    type: 'function' as const,
    function: { name: 'weather', parameters: { type: 'object', properties: { input: { type: 'string' } } } },
  },
]

const tollgate = await gateway()
const client = clientOf((await tollgate.createAccount()).key)

function clientOf(apiKey: string, maxRetries = 0): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${tollgate.url}/v1`, maxRetries })
}

function script(line: string): { role: 'user'; content: string }[] {
  return [{ role: 'user', content: `Hello\nsandbox: ${line}` }]
}

async function requestsOf(work: (counted: OpenAI) => Promise<unknown>, apiKey: string): Promise<number> {
  let requests = 0
  const counted = new OpenAI({
    apiKey,
    baseURL: `${tollgate.url}/v1`,
    fetch: (url, init) => {
      requests += 1
      return fetch(url, init)
    },
  })
  await work(counted).catch(() => undefined)
  return requests
}

test('models: list and retrieve by an id with a slash', async () => {
  const models = await client.models.list()
  assert.ok(models.data.some(({ id }) => id === 'sandbox/chat'))
  assert.equal((await client.models.retrieve('sandbox/chat')).owned_by, 'sandbox')
})

test('chat: a plain answer with usage and cost', async () => {
  const answer = await client.chat.completions.create({ model: 'sandbox/chat', messages: hello })
  assert.equal(answer.choices[0]?.message.content, 'Hello from the sandbox. You said: Hello')
  assert.equal(answer.usage?.total_tokens, 13)
  assert.equal(JSON.parse(JSON.stringify(answer.usage)).cost, 0.00051)
})

test('chat: a stream, usage on the finish chunk', async () => {
  const stream = await client.chat.completions.create({ model: 'sandbox/chat', messages: hello, stream: true })
  let text = ''
  let usage = null
  for await (const chunk of stream) {
    assert.ok(chunk.choices[0], 'no client that indexes choices[0] meets an empty list')
    text += chunk.choices[0].delta.content ?? ''
    usage = chunk.usage ?? usage
  }
  assert.equal(text, 'Hello from the sandbox. You said: Hello')
  assert.equal(usage?.completion_tokens, 7)
})

test('completions: plain with cost, several prompts, and a stream', async () => {
  const answer = await client.completions.create({ model: 'sandbox/chat', prompt: ['Hello', 'Bye'] })
  assert.deepEqual(
    answer.choices.map(({ text }) => text),
    ['Hello from the sandbox. You said: Hello', 'Hello from the sandbox. You said: Bye'],
  )
  assert.equal(answer.usage?.completion_tokens, 14)
  assert.ok(JSON.parse(JSON.stringify(answer.usage)).cost > 0)
  const chunks = await Array.fromAsync(
    await client.completions.create({ model: 'sandbox/chat', prompt: 'Hello', stream: true }),
  )
  assert.equal(chunks.map(({ choices }) => choices[0]?.text).join(''), 'Hello from the sandbox. You said: Hello')
  assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'stop')
  await assert.rejects(async () => {
    for await (const _chunk of await client.completions.create({
      model: 'sandbox/chat',
      prompt: 'Hello\nsandbox: error=2',
      stream: true,
    }))
      continue
  }, APIError)
})

test('chat: a stream with include_usage ends with a chunk that has only usage', async () => {
  const stream = await client.chat.completions.create({
    model: 'sandbox/chat',
    messages: hello,
    stream: true,
    stream_options: { include_usage: true },
  })
  const chunks = await Array.fromAsync(stream)
  assert.deepEqual(chunks.at(-1)?.choices, [])
  assert.equal(chunks.at(-1)?.usage?.completion_tokens, 7)
  assert.equal(chunks.filter(({ usage }) => usage !== undefined && usage !== null).length, 1)
})

test('chat: the stream helper folds tool calls', async () => {
  const stream = client.chat.completions.stream({
    model: 'sandbox/chat',
    messages: hello,
    tools: weather,
    tool_choice: 'required',
  })
  const answer = await stream.finalChatCompletion()
  const call = answer.choices[0]?.message.tool_calls?.[0]
  assert.equal(call?.type === 'function' ? call.function.name : '', 'weather')
  assert.equal(answer.choices[0]?.finish_reason, 'tool_calls')
})

test('errors: each status is the class the SDK has for it', async () => {
  await assert.rejects(
    clientOf('sk-tg-wrong').chat.completions.create({ model: 'sandbox/chat', messages: hello }),
    AuthenticationError,
  )
  await assert.rejects(client.chat.completions.create({ model: 'no/such', messages: hello }), BadRequestError)
  await assert.rejects(
    client.chat.completions.create({ model: 'sandbox/chat', messages: script('status=500') }),
    InternalServerError,
  )
  const poor = await tollgate.createAccount({ balance: 0 })
  await assert.rejects(
    clientOf(poor.key).chat.completions.create({ model: 'sandbox/chat', messages: hello }),
    (error: unknown) => {
      assert.ok(error instanceof APIError)
      assert.equal(error.status, 402)
      assert.match(error.message, /Insufficient balance: required \d+\.\d\d RUB, available 0\.00 RUB/)
      return true
    },
  )
})

test('errors: a break after the first byte is thrown, not taken for the end', async () => {
  const stream = await client.chat.completions.create({
    model: 'sandbox/chat',
    messages: script('error=2 words=5'),
    stream: true,
  })
  await assert.rejects(Array.fromAsync(stream), APIError)
})

test('retries: a spent key limit is asked once, a busy provider again', async () => {
  const limited = await tollgate.createAccount({ key: { limit: 0 } })
  const ask = (messages: typeof hello) => (counted: OpenAI) =>
    counted.chat.completions.create({ model: 'sandbox/chat', messages })
  assert.equal(await requestsOf(ask(hello), limited.key), 1)
  await assert.rejects(
    clientOf(limited.key).chat.completions.create({ model: 'sandbox/chat', messages: hello }),
    RateLimitError,
  )
  const { key } = await tollgate.createAccount()
  assert.equal(await requestsOf(ask(script('status=429')), key), 3)
})

test('an omitted max_tokens is computed from what the balance allows, and the answer says so', async () => {
  const { key } = await tollgate.createAccount({ balance: 0.01 })
  const { response } = await clientOf(key)
    .chat.completions.create({ model: 'sandbox/chat', messages: hello })
    .withResponse()
  const computed = Number(response.headers.get('x-max-tokens'))
  assert.ok(computed >= 16 && computed <= 166, String(computed))
})

test('errors: what a client branches on is where the SDK puts it', async () => {
  const failed = await client.chat.completions
    .create({ model: 'no/such', messages: hello })
    .catch((error: unknown) => error)
  assert.ok(failed instanceof BadRequestError)
  assert.equal(failed.code, 400)
  assert.match(failed.requestID ?? '', /^req-/)
  assert.deepEqual(failed.error, {
    code: 400,
    message: "Model 'no/such' not found or inactive",
    metadata: { error_type: 'model_not_found' },
  })
})

test('errors: 403 for a disabled key, 404 for a model that is not there', async () => {
  const { key, keyId } = await tollgate.createAccount()
  await tollgate.admin('PATCH', `/admin/v1/keys/${keyId}`, { disabled: true })
  await assert.rejects(clientOf(key).models.list(), PermissionDeniedError)
  await assert.rejects(client.models.retrieve('no/such'), NotFoundError)
})

test('errors: what a provider says of us is never said of the client', async () => {
  const statusFor = async (status: number): Promise<unknown> => {
    const error = await client.chat.completions
      .create({ model: 'sandbox/chat', messages: script(`status=${status}`) })
      .catch((thrown: unknown) => thrown)
    assert.ok(error instanceof APIError)
    return error.status
  }
  // Trouble with our account at the provider is 502, an overload 503, a time-out 504; only a refused request is the
  // client's fault.
  const expected: Readonly<Record<number, number>> = {
    400: 400,
    401: 502,
    402: 502,
    403: 502,
    404: 502,
    408: 504,
    413: 400,
    422: 400,
    429: 503,
    500: 502,
    503: 503,
    529: 503,
  }
  for (const [given, shown] of Object.entries(expected))
    assert.equal(await statusFor(Number(given)), shown, `provider answered ${given}`)
})

test('retries: a rate limit is waited out as Retry-After says, and the request then succeeds', async () => {
  const { key } = await tollgate.createAccount({ account: { rate_limit: { requests: 1, window: 1 } } })
  await clientOf(key).chat.completions.create({ model: 'sandbox/chat', messages: hello })
  const statuses: number[] = []
  const patient = new OpenAI({
    apiKey: key,
    baseURL: `${tollgate.url}/v1`,
    fetch: async (url, init) => {
      const answer = await fetch(url, init)
      statuses.push(answer.status)
      return answer
    },
  })
  const answer = await patient.chat.completions.create({ model: 'sandbox/chat', messages: hello })
  assert.equal(answer.choices[0]?.finish_reason, 'stop')
  assert.deepEqual(statuses, [429, 200])
})

test('retries: what a repetition cannot cure is asked once', async () => {
  const poor = await tollgate.createAccount({ balance: 0 })
  const ask = (model: string) => (counted: OpenAI) => counted.chat.completions.create({ model, messages: hello })
  assert.equal(await requestsOf(ask('sandbox/chat'), poor.key), 1)
  assert.equal(await requestsOf(ask('no/such'), poor.key), 1)
  assert.equal(await requestsOf(ask('sandbox/chat'), 'sk-tg-wrong'), 1)
})

test('every answer of the SDK is one row of the usage log, with its cost', async () => {
  const account = await tollgate.createAccount()
  const own = clientOf(account.key)
  const plain = await own.chat.completions.create({ model: 'sandbox/chat', messages: hello })
  const streamed = await Array.fromAsync(
    await own.chat.completions.create({ model: 'sandbox/chat', messages: hello, stream: true }),
  )
  await own.chat.completions.create({ model: 'sandbox/chat', messages: script('status=500') }).catch(() => undefined)
  const { body } = await tollgate.get('/v1/generation', account.key)
  const costs = body.logs.map((row: { generation_id: string; status: string; total_cost: number }) => [
    row.generation_id,
    row.status,
    row.total_cost,
  ])
  assert.deepEqual(costs.slice(1), [
    [streamed[0]?.id, 'completed', 0.00051],
    [plain.id, 'completed', 0.00051],
  ])
  assert.deepEqual(costs[0].slice(1), ['error', 0])
  const { body: balance } = await tollgate.get('/v1/user/balance', account.key)
  assert.equal(balance.balance, 100 - 2 * 0.00051)
})
