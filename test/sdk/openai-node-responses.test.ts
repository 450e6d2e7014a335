import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI, { APIError, BadRequestError, InternalServerError, NotFoundError } from 'openai'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { gateway } from '../harness/gateway.ts'
import { until } from '../harness/patience.ts'

const SAID = 'Hello from the sandbox. You said: Hello'
const weather = {
  type: 'function' as const,
  name: 'weather',
  parameters: { type: 'object', properties: { input: { type: 'string' } } },
  strict: false,
}

const tollgate = await gateway()
const client = new OpenAI({
  apiKey: (await tollgate.createAccount()).key,
  baseURL: `${tollgate.url}/v1`,
  maxRetries: 0,
})

test('responses.create: text, usage and cost', async () => {
  const response = await client.responses.create({ model: 'sandbox/chat', input: 'Hello', instructions: 'Be kind.' })
  assert.equal(response.output_text, SAID)
  assert.equal(response.status, 'completed')
  assert.equal(response.usage?.output_tokens, 7)
  assert.ok(Number(JSON.parse(JSON.stringify(response.usage)).cost) > 0)
})

test('a conversation goes on with its own output as input', async () => {
  const first = await client.responses.create({
    model: 'sandbox/chat',
    input: 'Moscow',
    tools: [weather],
    tool_choice: 'required',
    reasoning: { effort: 'low' },
  })
  const call = first.output.find((item) => item.type === 'function_call')
  assert.ok(call)
  // As clients keep it: the SDK's types of output and input differ only in items that do not occur here.
  const input = JSON.parse(
    JSON.stringify([
      { role: 'user', content: 'Moscow' },
      ...first.output,
      { type: 'function_call_output', call_id: call.call_id, output: 'sunny' },
    ]),
  )
  const second = await client.responses.create({ model: 'sandbox/chat', input })
  assert.equal(second.status, 'completed')
})

test('the raw stream: every event, and the Response at its end', async () => {
  const stream = await client.responses.create({ model: 'sandbox/chat', input: 'Hello', stream: true })
  let text = ''
  let last = ''
  for await (const event of stream) {
    if (event.type === 'response.output_text.delta') text += event.delta
    last = event.type
  }
  assert.deepEqual([text, last], [SAID, 'response.completed'])
})

test('.stream(): text', async () => {
  const stream = client.responses.stream({ model: 'sandbox/chat', input: 'Hello' })
  const snapshots: string[] = []
  stream.on('response.output_text.delta', ({ snapshot }) => void snapshots.push(snapshot))
  const final = await stream.finalResponse()
  assert.equal(final.output_text, SAID)
  assert.equal(snapshots.at(-1), SAID)
})

test('.stream(): a tool call', async () => {
  const stream = client.responses.stream({
    model: 'sandbox/chat',
    input: 'Moscow',
    tools: [weather],
    tool_choice: 'required',
  })
  let snapshot = ''
  stream.on('response.function_call_arguments.delta', (event) => {
    snapshot = event.snapshot
  })
  const [call] = (await stream.finalResponse()).output
  assert.ok(call?.type === 'function_call')
  assert.deepEqual([call.name, call.arguments], ['weather', '{"input":"Moscow"}'])
  assert.equal(snapshot, '{"input":"Moscow"}')
})

test('.stream(): reasoning', async () => {
  const final = await client.responses
    .stream({ model: 'sandbox/chat', input: 'Hello', reasoning: { effort: 'low', summary: 'auto' } })
    .finalResponse()
  const [thought, said] = final.output
  assert.ok(thought?.type === 'reasoning')
  assert.equal(thought.summary[0]?.text, 'The sandbox thinks for a moment. ')
  assert.equal(said?.type, 'message')
  assert.equal(final.usage?.output_tokens_details.reasoning_tokens, 9)
})

test('.stream(): a failure in the stream is a failed Response', async () => {
  const seen: string[] = []
  const stream = client.responses.stream({ model: 'sandbox/chat', input: 'Hello\nsandbox: error=2 words=5' })
  stream.on('event', ({ type }) => void seen.push(type))
  const final = await stream.finalResponse().catch((error: unknown) => error)
  assert.equal(seen.at(-1), 'response.failed')
  if (!(final instanceof Error)) assert.equal(JSON.parse(JSON.stringify(final)).error.code, 'server_error')
})

test('.stream(): an incomplete Response', async () => {
  const final = await client.responses
    .stream({ model: 'sandbox/chat', input: 'Hello', max_output_tokens: 3 })
    .finalResponse()
  assert.deepEqual([final.status, final.incomplete_details?.reason], ['incomplete', 'max_output_tokens'])
})

test('structured output: text.format comes back parsed', async () => {
  const format = { type: 'json_schema' as const, name: 'n', schema: { type: 'object' }, strict: true }
  const response = await client.responses.create({ model: 'sandbox/chat', input: 'Hello', text: { format } })
  assert.deepEqual(JSON.parse(JSON.stringify(response.text)).format, format)
})

test('retrieve, resume and cancel a stream that was given an X-Request-Id', async () => {
  const stream = await client.responses.create(
    { model: 'sandbox/chat', input: 'Hello', stream: true },
    { headers: { 'X-Request-Id': 'sdk-resume' } },
  )
  const events = await Array.fromAsync(stream)
  const [created] = events
  assert.ok(created?.type === 'response.created')
  const { id } = created.response
  const rest = await Array.fromAsync(await client.responses.retrieve(id, { stream: true, starting_after: 4 }))
  assert.deepEqual(rest, events.slice(5))
  assert.equal((await client.responses.retrieve(id)).output_text, SAID)
  assert.equal((await client.responses.cancel(id)).status, 'completed')
  const replayed = client.responses.stream({ response_id: id, starting_after: 4 })
  assert.equal((await replayed.finalResponse()).output_text, SAID)
})

test('errors have their class, before the first byte and on the aliases', async () => {
  const ask = (input: string, more: Record<string, unknown> = {}): Promise<unknown> =>
    client.responses.create({ model: 'sandbox/chat', input, ...more })
  await assert.rejects(ask('sandbox: status=500'), InternalServerError)
  await assert.rejects(ask('x', { previous_response_id: 'resp-1' }), BadRequestError)
  await assert.rejects(
    ask('x', { tools: [{ type: 'web_search' }], tool_choice: 'required' }),
    /'web_search' is not offered/,
  )
  await assert.rejects(client.responses.retrieve('resp-1-none'), NotFoundError)
  await assert.rejects(ask(''), APIError)
})

test('kept answers: continued, read, listed, removed', async () => {
  const first = await client.responses.create({ model: 'sandbox/chat', input: 'Hello', store: true })
  const second = await client.responses.create({
    model: 'sandbox/chat',
    input: 'Again',
    previous_response_id: first.id,
    store: true,
  })
  assert.equal((await client.responses.retrieve(second.id)).output_text, 'Hello from the sandbox. You said: Again')
  const items = []
  for await (const item of client.responses.inputItems.list(second.id, { order: 'asc', limit: 2 })) items.push(item)
  assert.deepEqual(
    items.map((item) => item.type === 'message' && item.role),
    ['user', 'assistant', 'user'],
  )
  await client.responses.delete(first.id)
  await assert.rejects(client.responses.retrieve(first.id), NotFoundError)
  const lost = client.responses.create({ model: 'sandbox/chat', input: 'x', previous_response_id: second.id })
  await assert.rejects(
    lost,
    (thrown: unknown) =>
      thrown instanceof BadRequestError &&
      thrown.code === 'previous_response_not_found' &&
      thrown.param === 'previous_response_id',
  )
})

test('in the background: polled to its end, and cancelled', async () => {
  let response = await client.responses.create({ model: 'sandbox/chat', input: 'Hello', background: true })
  assert.equal(response.status, 'queued')
  await until(5_000, 'it is answered', async () => {
    response = await client.responses.retrieve(response.id)
    return response.status === 'completed'
  })
  assert.equal(response.output_text, SAID)
  const slow = await client.responses.create({
    model: 'sandbox/chat',
    input: 'sandbox: delay_ms=300',
    background: true,
  })
  assert.equal((await client.responses.cancel(slow.id)).status, 'cancelled')
})

test('the WebSocket of the SDK: two turns, and an error', async () => {
  const socket = new ResponsesWS(client)
  const seen: string[] = []
  const turn = (body: Record<string, unknown>): Promise<string> => {
    const ended = new Promise<string>((resolve) => {
      socket.once('response.completed', ({ response }) => resolve(response.id))
      socket.once('error', ({ message }) => resolve(message))
    })
    // The body is of the SDK's own type but for what the test gets wrong on purpose.
    socket.send({ type: 'response.create', model: 'sandbox/chat', ...body } as Parameters<typeof socket.send>[0])
    return ended
  }
  socket.on('response.output_text.delta', ({ delta }) => seen.push(delta))
  const id = await turn({ input: 'Hello' })
  assert.equal(seen.join(''), SAID)
  assert.match(await turn({ input: 'Again', previous_response_id: id }), /^resp-/)
  assert.match(await turn({ input: 'x', previous_response_id: 'resp-none' }), /not found/)
  socket.close()
})
