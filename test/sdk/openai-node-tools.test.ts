import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import { key, logged, serveResponses, tollgate, upstream } from '../harness/responses-world.ts'

await serveResponses()

const PATCH = '*** Begin Patch\n*** Add File: a.txt\n+one "two"\n*** End Patch'
const TOOLS: OpenAI.Responses.Tool[] = [
  {
    type: 'custom',
    name: 'apply_patch',
    description: 'Edits.',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: x' },
  },
  {
    type: 'namespace',
    name: 'mcp__docs',
    description: 'Docs.',
    tools: [{ type: 'function', name: 'find', parameters: { type: 'object' } }],
  },
]
const CALLED = [
  ['custom_tool_call', 'apply_patch', PATCH],
  ['function_call', 'find', '{"q":1}'],
]

const client = new OpenAI({ apiKey: key, baseURL: `${tollgate.url}/v1`, maxRetries: 0 })

function stream(events: readonly unknown[], tail = ''): void {
  upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('') + tail)
  })
}

/** The calls of a model that knows only functions, with arguments in pieces. */
function answerAsChat(): void {
  const calls = [
    ['call_1', 'apply_patch', JSON.stringify({ input: PATCH })],
    ['call_2', 'mcp__docs__find', '{"q":1}'],
  ] as const
  const delta = (index: number, call: Record<string, unknown>): unknown => ({
    id: 'up',
    choices: [{ index: 0, delta: { tool_calls: [{ index, ...call }] }, finish_reason: null }],
  })
  const events = calls.flatMap(([id, name, text], index) => [
    delta(index, { id, type: 'function', function: { name, arguments: '' } }),
    ...(text.match(/.{1,5}/gs) ?? []).map((piece) => delta(index, { function: { arguments: piece } })),
  ])
  const end = { id: 'up', choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }
  const usage = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 }
  stream([...events, end, { id: 'up', choices: [], usage }], 'data: [DONE]\n\n')
}

/** The same calls of a provider that has these tools. */
function answerNatively(): void {
  const output = [
    { type: 'custom_tool_call', id: 'ctc', call_id: 'call_1', name: 'apply_patch', input: PATCH, status: 'completed' },
    {
      type: 'function_call',
      id: 'fc',
      call_id: 'call_2',
      name: 'find',
      namespace: 'mcp__docs',
      arguments: '{"q":1}',
      status: 'completed',
    },
  ]
  const usage = {
    input_tokens: 20,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 30,
  }
  stream([
    { type: 'response.created', response: { id: 'resp_up', status: 'in_progress', output: [] } },
    ...output.flatMap((item, index) => [
      { type: 'response.output_item.added', output_index: index, item: { ...item, input: '', arguments: '' } },
      { type: 'response.output_item.done', output_index: index, item },
    ]),
    { type: 'response.completed', response: { id: 'resp_up', status: 'completed', error: null, output, usage } },
  ])
}

for (const [model, answer] of [
  ['test/chat', answerAsChat],
  ['test/native', answerNatively],
] as const)
  test(`${model}: custom tools and namespaces through the official client, and the charge to the micro-ruble`, async () => {
    answer()
    const { data, response } = await client.responses
      .create({ model, input: 'go', tools: TOOLS, stream: true })
      .withResponse()
    let input = ''
    let final: OpenAI.Responses.Response | null = null
    for await (const event of data) {
      if (event.type === 'response.custom_tool_call_input.delta') input += event.delta
      if (event.type === 'response.completed') final = event.response
    }
    assert.ok(final !== null)
    if (model === 'test/chat') assert.equal(input, PATCH)
    const [patch, find] = final.output
    assert.ok(patch?.type === 'custom_tool_call' && find?.type === 'function_call')
    assert.deepEqual(
      [
        [patch.type, patch.name, patch.input],
        [find.type, find.name, find.arguments],
      ],
      CALLED,
    )
    assert.equal(find.namespace, 'mcp__docs')
    assert.deepEqual([final.usage?.input_tokens, final.usage?.output_tokens], [20, 10])
    assert.equal((await logged(response.headers.get('x-generation-id')))['total_cost'], 0.01002)

    // The conversation continues with its own output.
    answer()
    const next = client.responses.stream({
      model,
      tools: TOOLS,
      // As clients keep it: the SDK's types of output and input differ only in items that do not occur here.
      input: JSON.parse(
        JSON.stringify([
          { role: 'user', content: 'go' },
          ...final.output,
          { type: 'custom_tool_call_output', call_id: 'call_1', output: 'done' },
          { type: 'function_call_output', call_id: 'call_2', output: 'found' },
        ]),
      ),
    })
    assert.equal((await next.finalResponse()).status, 'completed')
    const sent = upstream.requests.at(-1)
    const said = JSON.stringify(sent?.['messages'] ?? sent?.['input'])
    assert.match(said, model === 'test/chat' ? /"name":"mcp__docs__find"/ : /"name":"find".*"namespace":"mcp__docs"/)
  })
