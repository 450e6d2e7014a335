import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostedUse } from '../hosted-tools.ts'
import { parseResponses } from './parse.ts'
import { refusal } from '../../../../test/harness/refused.ts'

const user = (content: unknown): Record<string, unknown> => ({ role: 'user', content })

function messagesOf(input: unknown, more: Record<string, unknown> = {}): unknown {
  return parseResponses({ model: 'v/m', input, ...more }).chat.messages
}

test('a string is one user message; instructions come before it', () => {
  assert.deepEqual(messagesOf('Hello'), [{ role: 'user', content: 'Hello' }])
  assert.deepEqual(messagesOf('Hello', { instructions: 'Be kind.' }), [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: 'Hello' },
  ])
})

test('messages of every role, with or without their type', () => {
  const input = [
    { role: 'system', content: 'a' },
    { type: 'message', role: 'developer', content: 'b' },
    user('c'),
    {
      type: 'message',
      role: 'assistant',
      content: [
        { type: 'output_text', text: 'd', annotations: [] },
        { type: 'refusal', refusal: 'e' },
      ],
    },
  ]
  assert.deepEqual(messagesOf(input), [
    { role: 'system', content: 'a' },
    { role: 'developer', content: 'b' },
    { role: 'user', content: 'c' },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'd' },
        { type: 'text', text: 'e' },
      ],
    },
  ])
})

test('parts become the parts of chat, and the modalities are known', () => {
  const parts = [
    { type: 'input_text', text: 'look' },
    { type: 'input_image', image_url: 'https://x/y.png', detail: 'low' },
    { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: null },
    { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
    { type: 'input_file', file_url: 'https://x/y.pdf' },
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
  ]
  const { chat } = parseResponses({ model: 'v/m', input: [user(parts)] })
  assert.deepEqual(chat.messages[0]?.content, [
    { type: 'text', text: 'look' },
    { type: 'image_url', image_url: { url: 'https://x/y.png', detail: 'low' } },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
    { type: 'file', file: { file_data: 'https://x/y.pdf' } },
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
  ])
  assert.deepEqual([...chat.inputModalities], ['image', 'file', 'audio'])
})

test('a result of nothing, and parts of a result that are newer than the reader, are no reason to refuse a later turn', () => {
  const input = [
    user('x'),
    { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'a', output: [] },
    { type: 'custom_tool_call_output', call_id: 'b', output: [] },
    { type: 'function_call_output', call_id: 'c', output: [{ type: 'made_up', a: 1 }] },
    {
      type: 'function_call_output',
      call_id: 'd',
      output: [
        { type: 'input_text', text: 'sun' },
        { type: 'made_up', a: 1 },
      ],
    },
    { type: 'custom_tool_call_output', call_id: 'e', output: [{ type: 'made_up', a: 1 }] },
    { type: 'reasoning', summary: [{ type: 'made_up' }, { type: 'summary_text', text: 'hm' }], content: null },
  ]
  assert.deepEqual(
    parseResponses({ input }).chat.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : [])),
    ['', '', '', [{ type: 'text', text: 'sun' }], ''],
  )
  const { dropped, input: own, chat } = parseResponses({ input })
  assert.deepEqual(dropped, [
    'input.function_call_output.output',
    'input.function_call_output.output',
    'input.custom_tool_call_output.output',
  ])
  // The provider that made the item gets it unchanged.
  assert.deepEqual(own.items[5], {
    type: 'native',
    value: input[5],
    chat: { step: 'output', callId: 'd', output: [{ type: 'text', text: 'sun' }], isPartial: true },
  })
  assert.ok(chat.textBytes > Buffer.byteLength(JSON.stringify(input[5])))
  assert.throws(() => parseResponses({ input: [{ role: 'user', content: [{ type: 'made_up' }] }] }), /is not allowed/)
})

test('adjacent calls are one message, with the text and reasoning before them; outputs are tool messages', () => {
  const call = (id: string): Record<string, unknown> => ({
    type: 'function_call',
    id: `fc-${id}`,
    call_id: id,
    name: 'w',
    arguments: '{}',
    status: 'completed',
  })
  const input = [
    user('weather?'),
    { type: 'reasoning', id: 'rs-1', summary: [{ type: 'summary_text', text: 'I think' }], status: 'completed' },
    { type: 'message', role: 'assistant', content: 'Looking.' },
    call('a'),
    call('b'),
    { type: 'function_call_output', call_id: 'a', output: 'sun' },
    { type: 'function_call_output', call_id: 'b', output: [{ type: 'input_text', text: 'rain' }] },
    { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'again' }] },
    call('c'),
  ]
  const toolCall = (id: string): Record<string, unknown> => ({
    id,
    type: 'function',
    function: { name: 'w', arguments: '{}' },
  })
  assert.deepEqual(messagesOf(input), [
    { role: 'user', content: 'weather?' },
    { role: 'assistant', content: 'Looking.', reasoning: 'I think', tool_calls: [toolCall('a'), toolCall('b')] },
    { role: 'tool', tool_call_id: 'a', content: 'sun' },
    { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'rain' }] },
    { role: 'assistant', content: null, reasoning: 'again', tool_calls: [toolCall('c')] },
  ])
})

test('tools are flat functions; others are kept for a provider that knows them', () => {
  const tools = [
    { type: 'function', name: 'w', description: null, parameters: { type: 'object' }, strict: true },
    { type: 'web_search', search_context_size: 'low' },
  ]
  const { chat, input, echo, dropped } = parseResponses({
    input: 'x',
    tools,
    tool_choice: { type: 'function', name: 'w' },
  })
  assert.deepEqual(chat.tools, [
    { type: 'function', function: { name: 'w', parameters: { type: 'object' }, strict: true } },
  ])
  assert.deepEqual(chat.toolChoice, { type: 'function', function: { name: 'w' } })
  assert.deepEqual(input.tools[1], { type: 'web_search', search_context_size: 'low' })
  assert.deepEqual(echo.tools[0], {
    type: 'function',
    name: 'w',
    description: null,
    parameters: { type: 'object' },
    strict: true,
  })
  assert.deepEqual(dropped, ['tools.web_search'])
  assert.deepEqual(parseResponses({ input: 'x', tools: [tools[0]] }).dropped, [])
})

test('items and choices that only a native provider knows are named', () => {
  assert.deepEqual(
    parseResponses({
      input: [
        user('x'),
        { type: 'web_search_call', id: 'ws', status: 'completed' },
        { type: 'ghost_snapshot', ghost_commit: {} },
        { type: 'of_next_year' },
        { type: 'reasoning', summary: [], encrypted_content: 'x' },
      ],
    }).dropped,
    ['input.web_search_call', 'input.of_next_year', 'input.reasoning'],
  )
  const demanded = (body: Record<string, unknown>): unknown => parseResponses({ input: 'x', ...body }).demanded
  const search = { type: 'web_search' }
  assert.deepEqual(demanded({ tool_choice: search }), { path: 'tool_choice.type', type: 'web_search' })
  assert.deepEqual(demanded({ tools: [search], tool_choice: 'required' }), { path: 'tool_choice', type: 'web_search' })
  assert.equal(demanded({ tools: [search, { type: 'custom', name: 'c' }], tool_choice: 'required' }), null)
  assert.equal(demanded({ tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [search] } }), null)
  assert.deepEqual(demanded({ tool_choice: { type: 'allowed_tools', mode: 'required', tools: [search] } }), {
    path: 'tool_choice.tools',
    type: 'web_search',
  })
})

test('an image that the model made goes back to it', () => {
  const { chat, dropped } = parseResponses({
    input: [
      user('draw'),
      { type: 'image_generation_call', id: 'ig-1', status: 'completed', result: '/9j/AAAA' },
      user('brighter'),
    ],
  })
  assert.deepEqual(chat.messages[1], {
    role: 'assistant',
    content: [{ type: 'image_url', image_url: { url: 'data:image/jpeg;base64,/9j/AAAA' } }],
  })
  assert.deepEqual([dropped, [...chat.inputModalities]], [[], ['image']])
})

test('text.format is response_format without the object within', () => {
  const schema = { type: 'object', properties: {} }
  const { chat, echo } = parseResponses({
    input: 'x',
    text: { format: { type: 'json_schema', name: 'n', schema, strict: true }, verbosity: 'low' },
  })
  assert.deepEqual(chat.responseFormat, { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } })
  assert.equal(chat.parameters['verbosity'], 'low')
  assert.deepEqual(echo.text, { format: { type: 'json_schema', name: 'n', schema, strict: true }, verbosity: 'low' })
  assert.deepEqual(parseResponses({ input: 'x', text: { format: { type: 'json_object' } } }).chat.responseFormat, {
    type: 'json_object',
  })
  assert.equal(parseResponses({ input: 'x', text: { format: { type: 'text' } } }).chat.responseFormat, null)
})

test('an ignored field is not passed on, and an echoed one comes back', () => {
  const ignored = {
    store: true,
    include: ['reasoning.encrypted_content', 'x'],
    truncation: 'auto',
    service_tier: 'priority',
    prompt_cache_key: 'k',
    safety_identifier: 's',
    top_logprobs: 99,
    max_tool_calls: 3,
    stream_options: { include_obfuscation: false },
    background: false,
    previous_response_id: null,
    made_up: 1,
  }
  const { chat, echo, input } = parseResponses({
    input: 'x',
    temperature: 0.5,
    top_p: 0.9,
    metadata: { a: 'b' },
    user: 'u',
    reasoning: { effort: 'low', summary: 'auto' },
    max_output_tokens: 7,
    ...ignored,
  })
  assert.deepEqual(chat.parameters, {
    temperature: 0.5,
    top_p: 0.9,
    service_tier: 'priority',
    user: 'u',
    reasoning: { effort: 'low', summary: 'auto' },
  })
  assert.equal(chat.maxTokens, 7)
  assert.deepEqual(input.include, ['reasoning.encrypted_content'])
  assert.deepEqual(
    [echo.temperature, echo.topP, echo.metadata, echo.user, echo.reasoning, echo.maxOutputTokens, echo.promptCacheKey],
    [0.5, 0.9, { a: 'b' }, 'u', { effort: 'low', summary: 'auto' }, 7, 'k'],
  )
  const bare = parseResponses({ input: 'x', reasoning: { effort: null } })
  assert.deepEqual(bare.chat.parameters, {})
  assert.deepEqual(
    [
      bare.echo.temperature,
      bare.echo.topP,
      bare.echo.frequencyPenalty,
      bare.echo.toolChoice,
      bare.chat.model,
      bare.chat.maxTokens,
    ],
    [1, 1, 0, 'auto', null, null],
  )
})

test('every refusal has its type and names the place', () => {
  const cases: readonly (readonly [Record<string, unknown>, string, RegExp])[] = [
    [{}, 'missing_input', /^Parameter 'input' is required$/],
    [{ input: null }, 'missing_input', /input/],
    [{ input: [] }, 'missing_input', /input/],
    [{ input: '' }, 'missing_input', /input/],
    [{ input: 5 }, 'invalid_input', /^input: must be a string or an array/],
    [{ input: ['x'] }, 'invalid_input', /^input\[0\]: must be an object/],
    [{ input: [{}] }, 'invalid_input', /^input\[0\]\.type: is required/],
    [
      { input: [{ type: 'item_reference', id: 'x' }] },
      'invalid_input',
      /^input\[0\]: type 'item_reference' is not supported/,
    ],
    [{ input: [{ type: 5 }] }, 'invalid_input', /^input\[0\]\.type: must be a non-empty string/],
    [
      { input: [{ role: 'robot', content: 'x' }] },
      'invalid_input',
      /^input\[0\]\.role: 'robot' is not allowed. Allowed: user, assistant, system, developer/,
    ],
    [{ input: [{ role: 'user' }] }, 'invalid_input', /^input\[0\]\.content: is required/],
    [{ input: [user([])] }, 'invalid_input', /^input\[0\]\.content: must be a string or a non-empty array/],
    [
      { input: [user([{ type: 'made_up' }])] },
      'invalid_input',
      /^input\[0\]\.content\[0\]\.type: 'made_up' is not allowed/,
    ],
    [{ input: [user([{ type: 'input_text' }])] }, 'invalid_input', /^input\[0\]\.content\[0\]\.text: must be a string/],
    [
      { input: [user([{ type: 'input_image', file_id: 'f' }])] },
      'invalid_input',
      /^input\[0\]\.content\[0\]\.file_id: files are not stored here/,
    ],
    [{ input: [user([{ type: 'input_file', file_id: 'f' }])] }, 'invalid_input', /file_id/],
    [
      { input: [user([{ type: 'input_audio', input_audio: { data: '!', format: 'mp3' } }])] },
      'invalid_base64',
      /input_audio\.data/,
    ],
    [
      { input: [{ type: 'function_call', name: 'w', arguments: '{}' }] },
      'invalid_input',
      /^input\[0\]\.call_id: must be a non-empty string/,
    ],
    [{ input: [{ type: 'function_call', call_id: 'a', arguments: '{}' }] }, 'invalid_input', /^input\[0\]\.name/],
    [
      { input: [{ type: 'function_call', call_id: 'a', name: 'w', arguments: {} }] },
      'invalid_input',
      /^input\[0\]\.arguments: must be a string/,
    ],
    [{ input: [{ type: 'function_call_output', call_id: 'a' }] }, 'invalid_input', /^input\[0\]\.output: is required/],
    [{ input: [{ type: 'reasoning', summary: 'x' }] }, 'invalid_input', /^input\[0\]\.summary: must be an array/],
    [
      { input: 'x', previous_response_id: 'resp-1' },
      'invalid_input',
      /^previous_response_id: only POST \/v1\/responses has it$/,
    ],
    [{ input: 'x', conversation: 'c' }, 'invalid_input', /^conversation: not supported/],
    [{ input: 'x', prompt: { id: 'p' } }, 'invalid_input', /^prompt: not supported/],
    [{ input: 'x', background: true }, 'invalid_input', /^background: only POST \/v1\/responses has it$/],
    [{ input: 'x', model: 5 }, 'invalid_input', /^model: must be a string/],
    [{ input: 'x', instructions: 5 }, 'invalid_input', /^instructions: must be a string/],
    [{ input: 'x', stream: 'yes' }, 'invalid_input', /^stream: must be a boolean/],
    [{ input: 'x', max_output_tokens: 0 }, 'invalid_input', /^max_output_tokens: must be an integer/],
    [{ input: 'x', max_output_tokens: 1.5 }, 'invalid_input', /^max_output_tokens/],
    [{ input: 'x', temperature: 3 }, 'invalid_input', /^temperature: must be between 0 and 2/],
    [{ input: 'x', top_p: 0 }, 'invalid_input', /^top_p/],
    [{ input: 'x', stop: [] }, 'invalid_input', /^stop/],
    [{ input: 'x', reasoning: { effort: 'huge' } }, 'invalid_input', /^reasoning\.effort: must be one of/],
    [{ input: 'x', reasoning: 'low' }, 'invalid_input', /^reasoning: must be an object/],
    [{ input: 'x', metadata: 'x' }, 'invalid_input', /^metadata: must be an object/],
    [{ input: 'x', text: { format: { type: 'grammar' } } }, 'invalid_response_format', /grammar/],
    [{ input: 'x', text: { format: { type: 'json_schema', schema: {} } } }, 'invalid_response_format', /name/],
    [{ input: 'x', tools: {} }, 'invalid_input', /^tools: must be an array/],
    [{ input: 'x', tools: [{ type: 'function', parameters: {} }] }, 'invalid_input', /^tools\[0\]\.name: is required/],
    [{ input: 'x', tools: [{ name: 'w' }] }, 'invalid_input', /^tools\[0\]\.type/],
    [
      { input: 'x', tools: [{ type: 'file_search', vector_store_ids: ['vs'] }] },
      'invalid_input',
      /^tools\[0\]\.vector_store_ids: nothing is stored here/,
    ],
    [
      { input: 'x', tools: [{ type: 'code_interpreter', container: 'cntr_of_somebody' }] },
      'invalid_input',
      /^tools\[0\]\.container: nothing is stored here/,
    ],
    [
      { input: 'x', tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'web_search' }] }] },
      'invalid_input',
      /^tools\[0\]\.tools: 'web_search' cannot stand here/,
    ],
    [
      {
        input: 'x',
        tools: [
          {
            type: 'namespace',
            name: 'n',
            tools: [{ type: 'namespace', name: 'm', tools: [{ type: 'code_interpreter' }] }],
          },
        ],
      },
      'invalid_input',
      /code_interpreter/,
    ],
    [
      { input: [user('x'), { type: 'tool_search_output', tools: [{ type: 'web_search' }] }] },
      'invalid_input',
      /^input\[1\]\.tools: 'web_search' cannot stand here/,
    ],
    [
      { input: [user('x'), { type: 'additional_tools', tools: [{ type: 'image_generation' }] }] },
      'invalid_input',
      /image_generation/,
    ],
    [
      {
        input: [
          user('x'),
          { type: 'custom_tool_call_output', call_id: 'a', output: [{ type: 'input_file', file_id: 'f' }] },
        ],
      },
      'invalid_input',
      /^input\[1\]\.file_id: files are not stored here/,
    ],
    [
      {
        input: [
          user('x'),
          { type: 'computer_call_output', call_id: 'a', output: { type: 'computer_screenshot', file_id: 'f' } },
        ],
      },
      'invalid_input',
      /file_id/,
    ],
    [{ input: 'x', tool_choice: 'never' }, 'invalid_input', /^tool_choice: must be/],
    [{ input: 'x', tool_choice: { type: 'function' } }, 'invalid_input', /^tool_choice: must be/],
    [{ input: 'x', provider: { sort: 'luck' } }, 'invalid_input', /sort/],
  ]
  for (const [body, type, message] of cases) {
    const given = refusal(() => parseResponses(body))
    assert.equal(given.errorType, type, JSON.stringify(body))
    assert.match(given.message, message, JSON.stringify(body))
  }
})

test('nothing of the body itself goes on: copies hold no inherited and no __proto__ key', () => {
  const schema = JSON.parse('{"type":"object","__proto__":{"x":1}}')
  const { chat, input } = parseResponses({
    input: [{ type: 'mcp_call', data: schema }],
    tools: [{ type: 'function', name: 'w', parameters: schema }],
  })
  assert.deepEqual(Object.keys(chat.tools?.[0]?.function.parameters ?? {}), ['type'])
  const [item] = input.items
  assert.ok(item?.type === 'native')
  assert.notEqual(item.value['data'], schema)
})

test('a copied item with files or pictures may fill the context, and the client’s tools in groups pass', () => {
  const held = (item: Record<string, unknown>): unknown => hostedUse(parseResponses({ input: [user('x'), item] }).input)
  const output = (part: Record<string, unknown>): Record<string, unknown> => ({
    type: 'custom_tool_call_output',
    call_id: 'a',
    output: [part],
  })
  const screenshot = { type: 'computer_screenshot', image_url: 'https://x/y.png' }
  assert.deepEqual(held({ type: 'computer_call_output', call_id: 'a', output: screenshot }), { callsMax: 0, types: [] })
  assert.deepEqual(held({ type: 'of_next_year' }), { callsMax: 0, types: [] })
  // It counts as its chat form.
  const shown = parseResponses({ input: [user('x'), output({ type: 'input_image', image_url: 'https://x/y.png' })] })
  assert.equal(hostedUse(shown.input), null)
  assert.deepEqual([...shown.chat.inputModalities], ['image'])
  assert.equal(held(output({ type: 'input_text', text: 'plain' })), null)
  const group = {
    type: 'namespace',
    name: 'n',
    tools: [
      {
        type: 'function',
        name: 'f',
        parameters: { properties: { tools: { type: 'array' } }, tools: [{ type: 'web_search' }] },
      },
      { type: 'custom', name: 'c' },
    ],
  }
  assert.deepEqual(parseResponses({ input: 'x', tools: [group] }).input.tools, [group])
})
