import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeDetails } from '../../../kinds/answer/provenance.ts'
import { parseMessages } from './parse.ts'
import type { MessagesRequest } from './request.ts'
import { verdict } from '../../../../test/harness/refused.ts'

function read(fields: Record<string, unknown>, headers: Record<string, string> = {}): MessagesRequest {
  const body = { model: 'a/b', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }], ...fields }
  return parseMessages(body, { headers, bytes: Buffer.byteLength(JSON.stringify(body)) })
}

test('a conversation with tools, thoughts, pictures and documents becomes one of chat', () => {
  const { chat } = read({
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=1; cch=ab12' },
      { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
    ],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          { type: 'image', source: { type: 'url', url: 'https://x.example/y.png' } },
          { type: 'document', title: 'T', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } },
          { type: 'document', title: 'N', context: 'C', source: { type: 'text', media_type: 'text/plain', data: 'D' } },
        ],
      },
      { role: 'system', content: 'Mind the time.' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm', signature: 'sig' },
          { type: 'redacted_thinking', data: 'red' },
          { type: 'text', text: 'I call.' },
          { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } },
          { type: 'tool_use', id: 'toolu_2', name: 'g', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: 'broken', is_error: true },
          {
            type: 'tool_result',
            tool_use_id: 'toolu_2',
            content: [
              { type: 'text', text: 'seen' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
            ],
          },
          { type: 'text', text: 'Go on' },
        ],
      },
    ],
  })
  const png = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
  assert.deepEqual(chat.messages, [
    { role: 'system', content: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look' },
        png,
        { type: 'image_url', image_url: { url: 'https://x.example/y.png' } },
        { type: 'file', file: { filename: 'T', file_data: 'data:application/pdf;base64,AAAA' } },
        { type: 'text', text: 'N' },
        { type: 'text', text: 'C' },
        { type: 'text', text: 'D' },
      ],
    },
    { role: 'system', content: 'Mind the time.' },
    {
      role: 'assistant',
      content: 'I call.',
      reasoning: 'Hm',
      reasoning_details: [
        { type: 'reasoning.text', text: 'Hm', signature: 'sig', format: 'anthropic-claude-v1', index: 0 },
        { type: 'reasoning.encrypted', data: 'red', format: 'anthropic-claude-v1', index: 1 },
      ],
      tool_calls: [
        { id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
        { id: 'toolu_2', type: 'function', function: { name: 'g', arguments: '{}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'toolu_1', content: 'broken', is_error: true },
    { role: 'tool', tool_call_id: 'toolu_2', content: [{ type: 'text', text: 'seen' }, png] },
    { role: 'user', content: 'Go on' },
  ])
  assert.deepEqual([...chat.inputModalities].toSorted(), ['file', 'image'])
})

test('thoughts of another model come back as that model gave them', () => {
  const details = [{ type: 'reasoning.encrypted', data: 'g', format: 'google-gemini-v1', index: 0 }]
  const { chat } = read({
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: [{ type: 'thinking', thinking: '', signature: encodeDetails(details) }] },
    ],
  })
  assert.deepEqual(chat.messages.at(-1), { role: 'assistant', content: null, reasoning_details: details })
})

test('parameters have their names of chat', () => {
  const { chat, omitsThinking, headers } = read(
    {
      stream: true,
      temperature: 0.5,
      top_k: 5,
      stop_sequences: ['a', 'b', 'c', 'd', 'e'],
      metadata: { user_id: 'u' },
      thinking: { type: 'adaptive', display: 'omitted' },
      output_config: { effort: 'high', format: { type: 'json_schema', schema: { type: 'object' } } },
      tools: [{ name: 'f', description: 'F', input_schema: { type: 'object' }, strict: true }],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
    },
    { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'a-1,b-2' },
  )
  assert.deepEqual(chat.parameters, {
    temperature: 0.5,
    top_k: 5,
    stop: ['a', 'b', 'c', 'd', 'e'],
    user: 'u',
    reasoning: { enabled: true, effort: 'high' },
    parallel_tool_calls: false,
  })
  assert.deepEqual([chat.stream, chat.maxTokens, chat.toolChoice, omitsThinking], [true, 100, 'required', true])
  assert.deepEqual(chat.tools, [
    { type: 'function', function: { name: 'f', description: 'F', parameters: { type: 'object' }, strict: true } },
  ])
  assert.deepEqual(chat.responseFormat, {
    type: 'json_schema',
    json_schema: { name: 'answer', schema: { type: 'object' }, strict: true },
  })
  assert.deepEqual(headers, { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'a-1,b-2' })
  assert.deepEqual(read({ thinking: { type: 'enabled', budget_tokens: 2_048 } }).chat.parameters['reasoning'], {
    enabled: true,
    max_tokens: 2_048,
  })
  assert.deepEqual(
    read({ thinking: { type: 'disabled' }, output_config: { effort: 'low' } }).chat.parameters['reasoning'],
    { enabled: false },
  )
})

test('what a translation leaves out is named, and so is what nobody gets', () => {
  const { untranslated, withheld } = read({
    safeguards: { a: 1 },
    context_management: { edits: [{ type: 'compact_20260112' }] },
    speed: 'fast',
    container: 'c',
    tools: [{ name: 'f', input_schema: {}, defer_loading: true }],
    messages: [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: [{ type: 'server_tool_use', id: 's', name: 'web_search', input: {} }] },
      { role: 'user', content: 'y' },
    ],
  })
  assert.deepEqual(untranslated, [
    'messages.server_tool_use',
    'tools.defer_loading',
    'safeguards',
    'context_management',
    'speed',
    'container',
  ])
  assert.deepEqual(withheld, ['speed', 'container', 'context_management'])
})

test('what makes a provider write more, or with another model, goes to nobody', () => {
  const fields = { fallbacks: 'default', fallback_credit_token: 'x', billing_policy: {}, compaction: {}, betas: ['b'] }
  assert.deepEqual(read(fields).withheld.toSorted(), Object.keys(fields).toSorted())
  const added = {
    type: 'tool_addition',
    tool: { type: 'tool_definition', definition: { name: 'f', input_schema: {} } },
  }
  const messages = [
    { role: 'user', content: 'x' },
    { role: 'system', content: [added] },
  ]
  assert.deepEqual(read({ messages }).nativeOnly, { path: 'messages[1].content[0].type', type: 'tool_addition' })
})

test('tools that Anthropic describes are functions elsewhere, those that it runs are its own', () => {
  const bash = read({ tools: [{ type: 'bash_20250124', name: 'bash' }] })
  assert.equal(bash.chat.tools?.[0]?.function.name, 'bash')
  assert.deepEqual([bash.nativeOnly, bash.serverTools], [null, null])
  const search = read({ tools: [{ type: 'web_search_20260209', name: 'web_search', max_uses: 3 }] })
  assert.deepEqual(search.serverTools, { callsMax: 3, searchesMax: 3, types: ['web_search_20260209'] })
  assert.deepEqual(search.nativeOnly, { path: 'tools[0]', type: 'web_search_20260209' })
  const memory = read({ tools: [{ type: 'memory_20250818', name: 'memory' }] })
  assert.deepEqual([memory.serverTools, memory.nativeOnly?.type], [null, 'memory_20250818'])
})

test('what cannot be right is refused in one sentence', () => {
  const rows: readonly (readonly [Record<string, unknown>, RegExp])[] = [
    [{ max_tokens: undefined }, /^invalid_input \| max_tokens: is required/],
    [{ max_tokens: 0 }, /^invalid_input \| max_tokens: must be an integer of at least 1/],
    [{ messages: [] }, /^missing_messages/],
    [{ messages: [{ role: 'user', content: [] }] }, /^missing_messages/],
    [{ messages: [{ role: 'tool', content: 'x' }] }, /^invalid_message_role \| .*'tool'.*user, assistant, system/],
    [{ messages: [{ role: 'user', content: [{ type: 'text' }] }] }, /messages\[0\]\.content\[0\]: text must be/],
    [
      { messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] }] },
      /files are not stored here/,
    ],
    [
      {
        messages: [
          { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'i', data: '*' } }] },
        ],
      },
      /^invalid_base64 /,
    ],
    [{ tools: [{ name: 'f' }] }, /tools\[0\]\.input_schema: is required/],
    [{ tool_choice: 'auto' }, /tool_choice: must be an object/],
    [{ thinking: { type: 7 } }, /thinking\.type: must be one of/],
    [{ tool_choice: { type: 7 } }, /tool_choice: must be/],
    [{ top_k: -1 }, /top_k: must be an integer of at least 0/],
    [{ top_p: 1.5 }, /top_p: must be/],
    [{ inference_geo: 'us' }, /inference_geo: only 'global'/],
    [{ thread: { id: 't' } }, /thread: conversations are not stored here/],
    ...[
      { type: 'tool_addition', tool: { type: 'tool_definition', definition: { type: 'code_execution_20260521' } } },
      {
        type: 'compaction',
        tool_changes: [
          { type: 'tool_addition', tool: { type: 'tool_definition', definition: { type: 'web_search_20260318' } } },
        ],
      },
    ].flatMap((block) =>
      ['user', 'assistant', 'system'].map((role): readonly [Record<string, unknown>, RegExp] => [
        {
          messages: [
            { role: 'user', content: 'x' },
            { role, content: [block] },
          ],
        },
        /a tool that the provider runs is defined in tools/,
      ]),
    ),
    [{ mcp_servers: [{ url: 'https://x.example' }] }, /mcp_servers: is not offered/],
  ]
  for (const [fields, message] of rows)
    assert.match(
      verdict(() => read(fields)),
      message,
    )
})

test('a word that is newer than the reader goes to a provider of the protocol, and to no other', () => {
  const rows: readonly (readonly [Record<string, unknown>, string])[] = [
    [{ thinking: { type: 'made_up', budget_tokens: 2_000 } }, 'thinking.type'],
    [{ output_config: { effort: 'made_up' } }, 'output_config.effort'],
    [{ tool_choice: { type: 'made_up' }, tools: [{ name: 'f', input_schema: {} }] }, 'tool_choice.type'],
  ]
  for (const [fields, path] of rows) assert.deepEqual(read(fields).nativeOnly, { path, type: 'made_up' })
})

test('zero has the meaning of the protocol: the most likely token for top_p, nothing for top_k', () => {
  assert.deepEqual(read({ top_p: 0 }).chat.parameters, { top_k: 1 })
  assert.deepEqual(read({ top_p: 0, top_k: 9 }).chat.parameters, { top_k: 1 })
  assert.deepEqual(read({ top_k: 0, top_p: 0.5 }).chat.parameters, { top_p: 0.5 })
})

test('no byte of the body makes more than one token: the whole body bounds the input', () => {
  const body = { made_up: 'x'.repeat(10_000) }
  assert.ok(read(body).chat.textBytes > 10_000)
  const picture = {
    messages: [
      {
        role: 'user',
        content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(40_000) } }],
      },
    ],
  }
  assert.ok(read(picture).chat.textBytes < 1_000, 'a picture is no text')
  assert.ok(read({ tools: [{ type: 'memory_20250818', name: 'memory' }] }).chat.textBytes > 8_000)
})
