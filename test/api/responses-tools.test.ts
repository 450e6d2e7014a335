import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { request } from 'undici'
import { answerJson, ask, key, logged, serveResponses, tollgate, upstream } from '../harness/responses-world.ts'
import { answers } from '../harness/scripted-upstream.ts'
import { completion } from '../harness/provider-answers.ts'

await serveResponses()

const USAGE = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 }
const PATCH = '*** Begin Patch\n*** Add File: "ä".txt\n+one\t😀\n*** End Patch'
const TOOLS = [
  { type: 'function', name: 'exec', description: null, parameters: { type: 'object' }, strict: false },
  {
    type: 'custom',
    name: 'apply_patch',
    description: 'Edits.',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: x' },
  },
  { type: 'tool_search', execution: 'client', description: 'Finds.', parameters: { type: 'object' } },
  {
    type: 'namespace',
    name: 'mcp__docs',
    description: 'd',
    tools: [{ type: 'function', name: 'find', strict: false, parameters: { type: 'object' } }],
  },
  { type: 'web_search', external_web_access: true },
]
const CALLS = [
  ['call_1', 'exec', '{"cmd":"ls"}'],
  ['call_2', 'apply_patch', JSON.stringify({ input: PATCH })],
  ['call_3', 'mcp__docs__find', '{"q":1}'],
  ['call_4', 'tool_search', '{"query":"x"}'],
] as const

function toolCalls(): readonly Record<string, unknown>[] {
  return CALLS.map(([id, name, text]) => ({ id, type: 'function', function: { name, arguments: text } }))
}

function answerWhole(): void {
  answerJson(completion({ content: null, tool_calls: toolCalls() }, { id: 'up', usage: USAGE, finish: 'tool_calls' }))
}

/** The same calls, with arguments in pieces that cut escapes. */
function answerStreamed(): void {
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const [index, [id, name, text]] of CALLS.entries()) {
      chunk(response, { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] })
      for (let at = 0; at < text.length; at += 3)
        chunk(response, { tool_calls: [{ index, function: { arguments: text.slice(at, at + 3) } }] })
    }
    chunk(response, {}, 'tool_calls')
    response.write(`data: ${JSON.stringify({ id: 'up', choices: [], usage: USAGE })}\n\n`)
    response.end('data: [DONE]\n\n')
  })
}

function chunk(response: ServerResponse, delta: unknown, finish: string | null = null): void {
  response.write(`data: ${JSON.stringify({ id: 'up', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`)
}

const own = (item: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(item).filter(([name]) => name !== 'id'))

const OUTPUT = [
  { type: 'function_call', call_id: 'call_1', name: 'exec', arguments: '{"cmd":"ls"}', status: 'completed' },
  { type: 'custom_tool_call', call_id: 'call_2', name: 'apply_patch', input: PATCH, status: 'completed' },
  {
    type: 'function_call',
    call_id: 'call_3',
    name: 'find',
    arguments: '{"q":1}',
    status: 'completed',
    namespace: 'mcp__docs',
  },
  { type: 'tool_search_call', call_id: 'call_4', status: 'completed', execution: 'client', arguments: { query: 'x' } },
]

test('a model of chat calls the tools of Responses, streamed and whole, and the charge is that of its usage', async () => {
  for (const stream of [false, true]) {
    if (stream) answerStreamed()
    else answerWhole()
    const answer = await ask({ model: 'test/chat', tools: TOOLS, stream }, { 'x-codex-turn-state': 'turn-1' })
    assert.equal(answer.status, 200, answer.raw)
    assert.deepEqual(answer.response.output.map(own), OUTPUT)
    assert.deepEqual(answer.response.tools, TOOLS)
    assert.deepEqual(
      [answer.headers['x-tollgate-dropped'], answer.headers['x-codex-turn-state']],
      ['tools.web_search', 'turn-1'],
    )
    const { usage } = answer.response
    assert.deepEqual([usage.input_tokens, usage.output_tokens, usage.total_tokens], [20, 10, 30])
    assert.equal(usage.cost, 0.01002)
    assert.equal((await logged(answer.headers['x-generation-id']))['total_cost'], 0.01002)
    if (stream) {
      const deltas = answer.events.filter(({ type }) => type === 'response.custom_tool_call_input.delta')
      assert.ok(deltas.length > 5, 'as they come')
      assert.equal(deltas.map(({ delta }) => delta).join(''), PATCH)
      assert.equal(answer.events.find(({ type }) => type === 'response.custom_tool_call_input.done')?.input, PATCH)
      assert.equal(answer.events.at(-1)?.type, 'response.completed')
    }
    const sent = upstream.requests.at(-1)?.['tools']
    assert.ok(Array.isArray(sent))
    assert.deepEqual(
      sent.map((tool) => [tool.type, tool.function.name]),
      ['exec', 'apply_patch', 'tool_search', 'mcp__docs__find'].map((name) => ['function', name]),
    )
  }
})

test('the next turn says the calls and their answers to the model', async () => {
  answerJson(completion({ content: 'Done.' }, { id: 'up', usage: USAGE }))
  const output = (type: string, id: string, value: unknown): unknown => ({ type, call_id: id, output: value })
  const answer = await ask({
    model: 'test/chat',
    tools: TOOLS,
    input: [
      { role: 'user', content: 'go' },
      ...OUTPUT,
      output('function_call_output', 'call_1', [
        { type: 'input_text', text: 'a' },
        { type: 'input_image', image_url: 'https://x/y.png' },
      ]),
      output('custom_tool_call_output', 'call_2', 'patched'),
      output('function_call_output', 'call_3', 'found'),
      {
        type: 'tool_search_output',
        call_id: 'call_4',
        execution: 'client',
        status: 'completed',
        tools: [{ ...TOOLS[3], name: 'mcp__more' }],
      },
      { type: 'reasoning', summary: [], encrypted_content: 'of another' },
    ],
    reasoning: null,
  })
  assert.equal(answer.text, 'Done.')
  assert.equal(answer.headers['x-tollgate-dropped'], 'tools.web_search, input.reasoning')
  const { messages, tools } = upstream.requests.at(-1) as unknown as {
    messages: { role: string; tool_call_id?: string; tool_calls?: unknown }[]
    tools: { function: { name: string } }[]
  }
  assert.deepEqual(messages[1]?.tool_calls, toolCalls())
  assert.deepEqual(
    messages.slice(2, 6).map(({ role, tool_call_id: id }) => [role, id]),
    ['call_1', 'call_2', 'call_3', 'call_4'].map((id) => ['tool', id]),
  )
  assert.ok(tools.some((tool) => tool.function.name === 'mcp__more__find'))
})

test('a provider of Responses gets every tool as it is, but those without a price', async () => {
  const custom = {
    type: 'custom_tool_call',
    id: 'ctc_up',
    call_id: 'c',
    name: 'apply_patch',
    input: PATCH,
    status: 'completed',
  }
  answerJson({
    id: 'resp_up',
    object: 'response',
    status: 'completed',
    error: null,
    output: [custom],
    usage: { input_tokens: 20, output_tokens: 10, total_tokens: 30 },
  })
  const { response, headers } = await ask({ model: 'test/unpriced', tools: TOOLS })
  assert.deepEqual(response.output, [custom])
  assert.equal(headers['x-tollgate-dropped'], 'tools.web_search')
  const nulls = ([, value]: [string, unknown]): boolean => value !== null
  assert.deepEqual(
    upstream.requests.at(-1)?.['tools'],
    TOOLS.slice(0, 4).map((tool) => Object.fromEntries(Object.entries(tool).filter(nulls))),
  )
})

async function chat(body: Record<string, unknown>): Promise<{
  headers: Record<string, unknown>
  body: Record<string, unknown> & { choices: { message: Record<string, unknown> }[]; error: unknown }
}> {
  const answer = await request(`${tollgate.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  // The assertions of the tests are the check.
  return { headers: answer.headers, body: (await answer.body.json()) as Awaited<ReturnType<typeof chat>>['body'] }
}

test('a body of Responses on the route of chat is answered as chat', async () => {
  answerWhole()
  const mixed = {
    model: 'test/chat',
    input: [{ role: 'user', content: 'go' }],
    tools: TOOLS,
    max_tokens: 50,
    stream: false,
  }
  const { body, headers } = await chat(mixed)
  assert.equal(body['object'], 'chat.completion')
  assert.deepEqual(body.choices[0]?.message['tool_calls'], toolCalls())
  assert.equal(headers['x-tollgate-dropped'], 'tools.web_search')
  assert.equal(upstream.requests.at(-1)?.['max_tokens'], 50)
  assert.match(
    JSON.stringify((await chat({ ...mixed, tool_choice: { type: 'web_search' } })).body.error),
    /is not offered in chat/,
  )
  assert.match(JSON.stringify((await chat({ model: 'test/chat' })).body.error), /missing_messages/)
})

test('a tool of chat without parameters is sent on without them', async () => {
  answerWhole()
  await chat({
    model: 'test/chat',
    messages: [{ role: 'user', content: 'go' }],
    tools: [{ type: 'function', function: { name: 'get_goal' } }],
  })
  assert.deepEqual(upstream.requests.at(-1)?.['tools'], [{ type: 'function', function: { name: 'get_goal' } }])
})

test('the session of a conversation is that of Codex, unless the client names another', async () => {
  answerWhole()
  const session = async (body: Record<string, unknown>, headers: Record<string, string>): Promise<unknown> => {
    const answer = await ask({ model: 'test/chat', ...body }, headers)
    const id = String(answer.headers['x-generation-id'])
    await logged(id)
    return (await tollgate.get(`/v1/generation?id=${id}`, key)).body.data.session_id
  }
  assert.equal(await session({}, { 'session-id': 'codex', 'thread-id': 'thread' }), 'codex')
  assert.equal(await session({}, { 'thread-id': 'thread' }), 'thread')
  assert.equal(await session({ prompt_cache_key: 'cache' }, { 'session-id': 'codex' }), 'cache')
  assert.equal(await session({ prompt_cache_key: 'cache' }, { 'x-session-id': 'own' }), 'own')
})

test('errors that Codex acts on carry its words', async () => {
  const long = await ask({ model: 'test/chat', input: 'a b '.repeat(150_000) })
  assert.deepEqual([long.status, long.response.error.code], [400, 'context_length_exceeded'])
  const { key: poor } = await tollgate.createAccount({ balance: 0 })
  const broke = await request(`${tollgate.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${poor}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/chat', input: 'x' }),
  })
  const { error } = (await broke.body.json()) as { error: { code: unknown } }
  assert.deepEqual([broke.statusCode, error.code], [402, 'insufficient_quota'])
  upstream.answer(
    answers(
      {
        error: { code: 'context_length_exceeded', message: 'This model has a maximum context length of 10 tokens.' },
      },
      400,
    ),
  )
  const upstreams = await ask({ model: 'test/native', stream: true })
  assert.deepEqual([upstreams.status, upstreams.response.error.code], [400, 'context_length_exceeded'])
})
