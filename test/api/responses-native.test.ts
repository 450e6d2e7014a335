import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'undici'
import { type FoldedResponse, respond } from '../harness/protocol-folds.ts'
import {
  upstream,
  tollgate,
  key,
  ask,
  answerJson,
  logged,
  serveResponses,
  useNewAccount,
} from '../harness/responses-world.ts'
import { refused } from '../harness/refused.ts'

await serveResponses()

function answerEvents(events: readonly Record<string, unknown>[]): void {
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      events
        .map(
          (event, index) =>
            `event: ${String(event['type'])}\ndata: ${JSON.stringify({ ...event, sequence_number: index })}\n\n`,
        )
        .join(''),
    )
  })
}

const USAGE = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 8 },
  output_tokens: 10,
  output_tokens_details: { reasoning_tokens: 4 },
  total_tokens: 30,
}

function completed(output: readonly unknown[], more: Record<string, unknown> = {}): Record<string, unknown> {
  return { id: 'resp_up', object: 'response', status: 'completed', error: null, output, usage: USAGE, ...more }
}

function message(text: string): Record<string, unknown> {
  return {
    type: 'message',
    id: 'msg_up',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
  }
}

test('a native provider gets items of known members, other fields as they are, and stores nothing', async () => {
  answerJson(completed([message('Fine.')]))
  const input = [
    {
      type: 'message',
      id: 'msg-ours',
      role: 'user',
      status: 'completed',
      content: [
        { type: 'input_text', text: 'look', made_up: 1 },
        { type: 'input_image', image_url: 'https://x/y.png' },
        { type: 'input_file', file_url: 'https://x/y.pdf' },
      ],
    },
    {
      type: 'reasoning',
      id: 'rs-ours',
      summary: [{ type: 'summary_text', text: 'hm' }],
      encrypted_content: 'secret',
      status: 'completed',
    },
    { type: 'reasoning', id: 'rs-ours-2', summary: [{ type: 'summary_text', text: 'not for it' }] },
    { type: 'function_call', id: 'fc-ours', call_id: 'c1', name: 'w', arguments: '{}', status: 'completed' },
    { type: 'function_call_output', call_id: 'c1', output: 'sun' },
    {
      type: 'message',
      id: 'msg-2',
      role: 'assistant',
      phase: 'commentary',
      content: [{ type: 'output_text', text: 'So', annotations: [] }],
    },
    { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
  ]
  const tools = [
    { type: 'function', name: 'w', description: null, parameters: { type: 'object' } },
    { type: 'web_search', search_context_size: 'low' },
  ]
  const answer = await ask({
    model: 'test/native',
    instructions: 'Be brief.',
    input,
    tools,
    tool_choice: { type: 'web_search' },
    reasoning: { effort: 'low', summary: 'auto', max_tokens: 100 },
    temperature: 0.5,
    stop: ['END'],
    top_k: 5,
    max_output_tokens: 50,
    text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' } }, verbosity: 'low' },
    include: ['reasoning.encrypted_content', 'made.up'],
    service_tier: 'priority',
    store: true,
    metadata: { a: 'b' },
    made_up: { kept: 1 },
    webhook_url: 'https://x',
    background: false,
    prompt_cache_key: 'cache',
    client_metadata: { session: 's' },
    stream_options: { include_obfuscation: false },
    max_tool_calls: 2,
  })
  assert.equal(answer.text, 'Fine.')
  const { prompt_cache_key: name, ...sent } = upstream.requests.at(-1) ?? assert.fail()
  assert.match(String(name), /^[\w-]{22}$/)
  assert.deepEqual(sent, {
    model: 'upstream-model',
    input: [
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'look' },
          { type: 'input_image', image_url: 'https://x/y.png', detail: 'auto' },
          { type: 'input_file', file_url: 'https://x/y.pdf' },
        ],
      },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'secret' },
      { type: 'function_call', call_id: 'c1', name: 'w', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'sun' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'So' }], phase: 'commentary' },
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
    ],
    store: false,
    instructions: 'Be brief.',
    max_output_tokens: 50,
    tools: [
      { type: 'function', name: 'w', parameters: { type: 'object' } },
      { type: 'web_search', search_context_size: 'low' },
    ],
    tool_choice: { type: 'web_search' },
    max_tool_calls: 2,
    temperature: 0.5,
    text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' } }, verbosity: 'low' },
    reasoning: { effort: 'low', summary: 'auto' },
    include: ['reasoning.encrypted_content'],
    made_up: { kept: 1 },
    client_metadata: { session: 's' },
  })
})

test('meters of a native answer are disjoint: cached and reasoning tokens at their own price', async () => {
  answerJson(completed([message('Fine.')]))
  const answer = await ask({ model: 'test/native' })
  assert.deepEqual(answer.response.usage, {
    input_tokens: 20,
    input_tokens_details: { cached_tokens: 8, cache_write_tokens: 0 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 4 },
    total_tokens: 30,
    cost: (20 + 10_000) / 1_000_000,
    currency: 'RUB',
  })
  const row = await logged(answer.headers['x-generation-id'])
  assert.deepEqual(
    [row['cached_tokens'], row['reasoning_tokens'], row['total_cost'], row['finish_reason']],
    [8, 4, 0.01002, 'stop'],
  )
})

const SEARCH = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } }

const RICH = [
  {
    type: 'reasoning',
    id: 'rs_up',
    summary: [
      { type: 'summary_text', text: 'one' },
      { type: 'summary_text', text: 'two' },
    ],
    encrypted_content: 'secret',
  },
  SEARCH,
  { ...message('Looking.'), phase: 'commentary' },
  {
    type: 'function_call',
    id: 'fc_up',
    call_id: 'call_1',
    name: 'w',
    arguments: '{"a":1}',
    status: 'completed',
    namespace: 'n',
  },
  {
    type: 'message',
    id: 'msg_2',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'refusal', refusal: 'No.' }],
  },
]

function checkRich({ response }: FoldedResponse): void {
  assert.deepEqual(
    response.output.map(({ id: _id, ...item }: Record<string, unknown>) => item),
    [
      {
        type: 'reasoning',
        summary: [
          { type: 'summary_text', text: 'one' },
          { type: 'summary_text', text: 'two' },
        ],
        encrypted_content: 'tollgate-from-1:scripted:secret',
        status: 'completed',
      },
      { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } },
      {
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Looking.', annotations: [], logprobs: [] }],
        phase: 'commentary',
      },
      {
        type: 'function_call',
        call_id: 'call_1',
        name: 'w',
        arguments: '{"a":1}',
        status: 'completed',
        namespace: 'n',
      },
      { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'refusal', refusal: 'No.' }] },
    ],
  )
  assert.equal(response.output[1].id, 'ws_1')
  assert.match(response.output[0].id, /^rs-/)
}

test('several items of a native answer keep their order, and its own ones pass as they are', async () => {
  answerJson(completed(RICH))
  checkRich(await ask({ model: 'test/native' }))
  const doneOnly = RICH.map((item, index) => ({ type: 'response.output_item.done', output_index: index, item }))
  for (const events of [doneOnly, []]) {
    answerEvents([
      { type: 'response.created', response: { id: 'resp_up' } },
      ...events,
      { type: 'response.completed', response: completed(RICH) },
    ])
    checkRich(await ask({ model: 'test/native', stream: true }))
  }
})

test('a native answer that is incomplete or refused', async () => {
  answerJson(completed([message('cut')], { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }))
  const cut = await ask({ model: 'test/native' })
  assert.deepEqual(
    [cut.response.status, cut.response.incomplete_details, cut.text],
    ['incomplete', { reason: 'max_output_tokens' }, 'cut'],
  )
  assert.equal((await logged(cut.headers['x-generation-id']))['finish_reason'], 'length')
  answerEvents([
    { type: 'response.created', response: { id: 'resp_up' } },
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'no' },
    {
      type: 'response.incomplete',
      response: completed([message('no')], { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }),
    },
  ])
  const filtered = await ask({ model: 'test/native', stream: true })
  assert.deepEqual(
    [filtered.events.at(-1).type, filtered.response.incomplete_details, filtered.text],
    ['response.incomplete', { reason: 'content_filter' }, 'no'],
  )
})

test('a native stream that fails: before its first word another status, after it response.failed, never a charge', async () => {
  const opening = [
    { type: 'response.created', response: { id: 'resp_up' } },
    { type: 'response.in_progress', response: { id: 'resp_up' } },
  ]
  const failed = (code: string): Record<string, unknown> => ({
    type: 'response.failed',
    response: {
      id: 'resp_up',
      status: 'failed',
      error: {
        code,
        message: `${code === 'server_error' ? 'It broke' : 'Your input exceeds the context window'} at https://upstream.internal`,
      },
      usage: null,
    },
  })
  for (const [code, status, type] of [
    ['server_error', 502, 'provider_error'],
    ['rate_limit_exceeded', 503, 'provider_unavailable'],
    ['context_length_exceeded', 400, 'input_tokens_exceeded'],
  ] as const) {
    answerEvents([...opening, failed(code)])
    const answer = await ask({ model: 'test/native', stream: true })
    assert.deepEqual([answer.status, answer.response.error.metadata.error_type], [status, type])
    assert.doesNotMatch(answer.raw, /upstream\.internal/)
  }
  const word = { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'half' }
  for (const ending of [[failed('server_error')], [{ type: 'error', code: 'server_error', message: 'x' }], []]) {
    answerEvents([...opening, word, ...ending])
    const answer = await ask({ model: 'test/native', stream: true })
    assert.deepEqual(
      [answer.response.status, answer.response.error_type, answer.response.usage.cost, answer.text],
      ['failed', 'provider_error', 0, 'half'],
    )
    assert.equal((await logged(answer.headers['x-generation-id']))['total_cost'], 0)
  }
})

test('an unusable answer is a 502: queued, no output, no JSON, too many items', async () => {
  for (const body of [
    completed([], { status: 'queued', usage: null }),
    { id: 'x' },
    'text',
    completed(Array.from({ length: 1_100 }, () => message('x'))),
  ]) {
    answerJson(body)
    assert.equal((await ask({ model: 'test/native' })).status, 502, JSON.stringify(body).slice(0, 60))
  }
  answerEvents(
    Array.from({ length: 1_100 }, (_value, index) => ({
      type: 'response.output_item.added',
      output_index: index,
      item: { type: 'reasoning', summary: [] },
    })),
  )
  assert.equal((await ask({ model: 'test/native', stream: true })).status, 502)
})

test('an endless answer is given up, and is free', async () => {
  const piece = `data: ${JSON.stringify({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'x'.repeat(900_000) })}\n\n`
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const more = (): void => {
      while (!response.destroyed && response.write(piece)) {
        // Until the server asks for a pause.
      }
    }
    response.on('drain', more)
    more()
  })
  const answer = await request(`${tollgate.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/native', input: 'Hello', stream: true }),
  })
  let tail = ''
  for await (const bytes of answer.body) tail = (tail + String(bytes)).slice(-4_000)
  assert.match(tail, /"cost":0,/)
  assert.equal((await logged(answer.headers['x-generation-id']))['total_cost'], 0)
  // Its cost exceeds the loss that an account may cause in an hour, so tools that providers run would be refused: the
  // tests go on with another account.
  await useNewAccount()
})

test('tools that the provider runs go only to one that can; without one they are left out, and refused where one must be called', async () => {
  answerJson(completed([SEARCH, message('Found.')]))
  const both = await ask({ model: 'test/both', tools: [{ type: 'web_search' }] })
  assert.deepEqual([both.text, both.response.output[0].type], ['Found.', 'web_search_call'])
  const items = [
    { role: 'user', content: 'x' },
    { type: 'mcp_call', id: 'm' },
    { type: 'of_next_year', id: 'n' },
  ]
  for (const [more, dropped] of [
    [{ tools: [{ type: 'web_search' }] }, 'tools.web_search'],
    [{ input: items }, 'input.mcp_call, input.of_next_year'],
  ] as const) {
    const answer = await ask({ model: 'test/sandbox', ...more })
    assert.deepEqual([answer.status, answer.headers['x-tollgate-dropped']], [200, dropped])
  }
  const chatOnly = await ask({ model: 'test/both', tools: [{ type: 'web_search' }], provider: { only: ['sandbox'] } })
  assert.deepEqual([chatOnly.status, chatOnly.headers['x-tollgate-dropped']], [200, 'tools.web_search'])
  for (const more of [
    { tools: [{ type: 'web_search' }], tool_choice: 'required' },
    { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } },
    { tool_choice: { type: 'mcp' } },
  ]) {
    const answer = await ask({ model: 'test/sandbox', ...more })
    refused(answer, 400, 'invalid_input', /'(web_search|mcp)' is not offered with model 'test\/sandbox'/)
  }
  assert.equal(
    (await ask({ model: 'no/such', tools: [{ type: 'web_search' }] })).response.error.metadata.error_type,
    'model_not_found',
  )
})

test('what its tools have read is input that the provider may bill', async () => {
  answerJson(completed([SEARCH, message('Found.')], { usage: { ...USAGE, input_tokens: 9_463, total_tokens: 9_473 } }))
  const searched = await ask({ model: 'test/native', tools: [{ type: 'web_search' }] })
  assert.equal(searched.response.usage.input_tokens, 9_463)
  const plain = await ask({ model: 'test/native' })
  assert.ok(plain.response.usage.input_tokens < 1_100, 'without such tools a count like that is no honest one')
})

test('the hold covers as many searches as the provider may make, with the context that they fill: a small balance starts none', async () => {
  const { key: poor } = await tollgate.createAccount({ balance: 1 })
  const before = upstream.requests.length
  const asked = { model: 'test/searches', input: 'Hello', max_output_tokens: 16, tools: [{ type: 'web_search' }] }
  const refused = await Promise.all(Array.from({ length: 20 }, () => respond(tollgate.url, poor, asked)))
  assert.deepEqual([...new Set(refused.map(({ status }) => status))], [402])
  assert.match(
    refused[0]?.response.error.message,
    /required 16\.15 RUB.* covers up to 8 calls of the provider's own tools and what they read: an input of up to 128000 tokens\./,
  )
  assert.equal(upstream.requests.length, before)
  answerJson(completed([SEARCH, message('Found.')]))
  for (const [given, told] of [
    [undefined, 8],
    [3, 3],
    [-1, 1],
    [100_000, 128],
  ]) {
    assert.equal((await ask({ ...asked, max_tool_calls: given })).status, 200)
    assert.equal(upstream.requests.at(-1)?.['max_tool_calls'], told)
  }
})

test('a tool of the provider that no price pays for is never sent, and refused where it must be called', async () => {
  for (const [model, type] of [
    ['test/searches', 'code_interpreter'],
    ['test/searches', 'image_generation'],
    ['test/searches', 'x_search'],
    ['test/searches', 'file_search'],
    ['test/unpriced', 'web_search'],
  ]) {
    answerJson(completed([message('Without.')]))
    const answer = await ask({ model, tools: [{ type }] })
    assert.deepEqual([answer.text, answer.headers['x-tollgate-dropped']], ['Without.', `tools.${type}`])
    assert.deepEqual(
      [upstream.requests.at(-1)?.['tools'], upstream.requests.at(-1)?.['max_tool_calls']],
      [undefined, undefined],
    )
    const before = upstream.requests.length
    const { status, response } = await ask({ model, tools: [{ type }], tool_choice: { type } })
    assert.equal(status, 400)
    assert.match(
      response.error.message,
      new RegExp(`^tool_choice.type: '${type}' is not offered with model '${model}': it has no price there`),
    )
    assert.equal(upstream.requests.length, before)
  }
  answerJson(completed([SEARCH, message('Found.')]))
  const searched = await ask({ model: 'test/searches', tools: [{ type: 'image_generation' }, { type: 'web_search' }] })
  assert.deepEqual(upstream.requests.at(-1)?.['tools'], [{ type: 'web_search' }])
  assert.equal(searched.headers['x-tollgate-dropped'], 'tools.image_generation')
  assert.equal(searched.response.usage.cost, 2.01002)
})

test('reasoning goes back only to the provider that has encrypted it', async () => {
  answerJson(completed([{ type: 'reasoning', id: 'rs', summary: [], encrypted_content: 'secret' }, message('Fine.')]))
  const { response } = await ask({ model: 'test/native', include: ['reasoning.encrypted_content'] })
  const foreign = (text: string): unknown => ({ type: 'reasoning', summary: [], encrypted_content: text })
  const input = [
    ...response.output,
    foreign('tollgate-from-1:another:theirs'),
    { type: 'compaction', encrypted_content: 'tollgate-from-1:another:theirs' },
    { role: 'user', content: 'And?' },
  ]
  answerJson(completed([message('Fine.')]))
  await ask({ model: 'test/native', input })
  assert.deepEqual(upstream.requests.at(-1)?.['input'], [
    { type: 'reasoning', summary: [], encrypted_content: 'secret' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Fine.' }] },
    { type: 'message', role: 'user', content: 'And?' },
  ])
})

test('a search of the web that the provider made is charged where it has a price', async () => {
  const opened = { ...SEARCH, action: { type: 'open_page', url: 'https://x' } }
  const output = [SEARCH, opened, { ...SEARCH, id: 'ws_2' }, message('Found.')]
  answerJson(completed(output))
  assert.equal((await ask({ model: 'test/searches', tools: [{ type: 'web_search' }] })).response.usage.cost, 4.01002)
  answerEvents([
    ...output.map((item, index) => ({ type: 'response.output_item.done', output_index: index, item })),
    { type: 'response.completed', response: completed(output) },
  ])
  assert.equal(
    (await ask({ model: 'test/searches', tools: [{ type: 'web_search' }], stream: true })).response.usage.cost,
    4.01002,
  )
  assert.equal(
    (await ask({ model: 'test/native', tools: [{ type: 'web_search' }], stream: true })).response.usage.cost,
    0.01002,
  )
})
