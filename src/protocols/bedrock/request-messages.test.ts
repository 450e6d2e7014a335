import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { WEATHER, type Circumstances } from '../../../test/harness/protocol-read.ts'
import {
  CLAUDE_37,
  CLAUDE_45,
  NOVA,
  LLAMA,
  HELLO,
  WEATHER_SPEC,
  CALLED,
  SCHEMA,
  bodyOf,
  refuses,
} from '../../../test/harness/bedrock-requests.ts'

function contentOf(content: unknown, circumstances: Circumstances = {}): unknown {
  const { messages } = bodyOf({ messages: [{ role: 'user', content }] }, circumstances)
  return Array.isArray(messages) ? messages[0].content : null
}

test('system and developer messages become system blocks in their order, wherever they stand', () => {
  const body = bodyOf({
    messages: [
      { role: 'system', content: 'One' },
      { role: 'user', content: 'Hi' },
      { role: 'developer', content: [{ type: 'text', text: 'Two', cache_control: { type: 'ephemeral' } }] },
      { role: 'user', content: 'there' },
    ],
  })
  assert.deepEqual(body['system'], [{ text: 'One' }, { text: 'Two' }, { cachePoint: { type: 'default' } }])
  assert.deepEqual(body['messages'], [{ role: 'user', content: [{ text: 'Hi' }, { text: 'there' }] }])
  refuses(
    {
      messages: [
        { role: 'system', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
        ...HELLO.messages,
      ],
    },
    /^messages\[0\]\.content: /,
  )
  const alone = bodyOf({ messages: [{ role: 'system', content: 'Say hello' }] })
  assert.deepEqual(
    [alone['system'], alone['messages']],
    [undefined, [{ role: 'user', content: [{ text: 'Say hello' }] }]],
  )
})

test('text of only white space is left out, and a conversation of nothing else is refused', () => {
  assert.deepEqual(
    contentOf([
      { type: 'text', text: ' ' },
      { type: 'text', text: 'you' },
    ]),
    [{ text: 'you' }],
  )
  refuses({ messages: [{ role: 'user', content: '  ' }] }, /^messages: /)
})

test('calls and results become blocks of turns that alternate', () => {
  const { messages, toolConfig } = bodyOf({
    tools: [WEATHER],
    messages: [
      ...CALLED.slice(0, 1),
      {
        role: 'assistant',
        content: 'Let me see',
        tool_calls: [
          { id: 'call.1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Omsk"}' } },
          { id: `x${'y'.repeat(80)}`, type: 'function', function: { name: 'get_weather', arguments: '' } },
        ],
      },
      {
        role: 'tool',
        tool_call_id: 'call.1',
        content: [{ type: 'text', text: 'Snow', cache_control: { type: 'ephemeral' } }],
      },
      { role: 'tool', tool_call_id: `x${'y'.repeat(80)}`, content: '' },
      { role: 'user', content: 'And now?' },
    ],
  })
  const long = `call_${createHash('sha256')
    .update(`x${'y'.repeat(80)}`)
    .digest('hex')
    .slice(0, 40)}`
  assert.deepEqual(messages, [
    { role: 'user', content: [{ text: 'Weather?' }] },
    {
      role: 'assistant',
      content: [
        { text: 'Let me see' },
        { toolUse: { toolUseId: 'call_1', name: 'get_weather', input: { city: 'Omsk' } } },
        { toolUse: { toolUseId: long, name: 'get_weather', input: {} } },
      ],
    },
    {
      role: 'user',
      content: [
        { toolResult: { toolUseId: 'call_1', content: [{ text: 'Snow' }] } },
        { cachePoint: { type: 'default' } },
        { toolResult: { toolUseId: long, content: [{ text: '(no output)' }] } },
        { text: 'And now?' },
      ],
    },
  ])
  assert.deepEqual(toolConfig, { tools: [WEATHER_SPEC] })
})

test('results come before other words of their turn, and the beginning of an answer loses its last spaces', () => {
  const { messages } = bodyOf({
    messages: [
      ...CALLED.slice(0, 2),
      { role: 'user', content: 'Quick' },
      CALLED[2],
      { role: 'assistant', content: 'It is  ' },
    ],
  })
  assert.ok(Array.isArray(messages))
  assert.deepEqual(messages.slice(2), [
    {
      role: 'user',
      content: [{ toolResult: { toolUseId: 'call_1', content: [{ text: 'Snow' }] } }, { text: 'Quick' }],
    },
    { role: 'assistant', content: [{ text: 'It is' }] },
  ])
})

test('arguments that are no object are kept as one value, and bombs are refused', () => {
  const called = (text: string): Record<string, unknown> => ({
    messages: [
      ...HELLO.messages,
      { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: text } }] },
    ],
  })
  const { messages } = bodyOf(called('{"cut'))
  assert.ok(Array.isArray(messages))
  assert.deepEqual(messages[1].content, [{ toolUse: { toolUseId: 'c', name: 'f', input: { arguments: '{"cut' } } }])
  refuses(called('['.repeat(1_000)), /^messages\[1\]\.tool_calls\[0\]\.function\.arguments: /)
})

test('images and videos go as bytes; addresses and audio are refused with the part they are', () => {
  assert.deepEqual(
    contentOf([
      { type: 'image_url', image_url: { url: 'data:image/jpg;base64,AAAA' }, cache_control: { type: 'ephemeral' } },
      { type: 'video_url', video_url: { url: 'data:video/3gpp;base64,BBBB' } },
    ]),
    [
      { image: { format: 'jpeg', source: { bytes: 'AAAA' } } },
      { cachePoint: { type: 'default' } },
      { video: { format: 'three_gp', source: { bytes: 'BBBB' } } },
    ],
  )
  const part = (content: unknown): Record<string, unknown> => ({
    messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, content] }],
  })
  refuses(
    part({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }),
    /^messages\[0\]\.content\[1\]\.image_url\.url: .*data URL/,
  )
  refuses(
    part({ type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } }),
    /^messages\[0\]\.content\[1\]\.video_url\.url: /,
  )
  refuses(
    part({ type: 'file', file: { file_data: 'https://example.com/a.pdf' } }),
    /^messages\[0\]\.content\[1\]\.file\.file_data: /,
  )
  refuses(part({ type: 'image_url', image_url: { url: 'data:image/bmp;base64,AAAA' } }), /image\/png/)
  refuses(part({ type: 'image_url', image_url: { url: 'data:image/png,raw' } }), /base64/)
  refuses(
    part({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
    /^messages\[0\]\.content\[1\]: .*audio/,
  )
  refuses(part({ type: 'file', file: { file_data: 'data:application/zip;base64,AAAA', filename: 'a.zip' } }), /PDF/)
})

test('documents have a format, a clean name that no other has, and a word beside them', () => {
  const pdf = (filename?: string): unknown => ({
    type: 'file',
    file: { file_data: 'data:application/pdf;base64,AAAA', ...(filename === undefined ? {} : { filename }) },
  })
  const document = (name: string, format = 'pdf'): unknown => ({
    document: { format, name, source: { bytes: 'AAAA' } },
  })
  assert.deepEqual(
    contentOf([
      { type: 'text', text: 'Read' },
      pdf('Отчёт: a__b   [1] (x).final.pdf'),
      pdf('../etc/passwd'),
      pdf(),
      pdf(),
      pdf('document (2).pdf'),
    ]),
    [
      { text: 'Read' },
      document('a b [1] (x) final'),
      document('etc passwd'),
      document('document'),
      document('document (2)'),
      document('document (2) (2)'),
    ],
  )
  assert.deepEqual(contentOf([pdf('report.pdf')]), [document('report'), { text: 'report' }])
  assert.deepEqual(
    contentOf([
      { type: 'text', text: 'x' },
      { type: 'file', file: { file_data: 'data:application/octet-stream;base64,AAAA', filename: 'table.XLSX' } },
    ]),
    [{ text: 'x' }, document('table', 'xlsx')],
  )
  assert.equal(
    JSON.stringify(contentOf([{ type: 'text', text: 'x' }, pdf('n'.repeat(300))])).match(/n{2,}/)?.[0].length,
    190,
  )
})

test('a cache mark is a point after its part, where the model keeps a cache', () => {
  const marked = (mark: unknown): unknown => [{ type: 'text', text: 'x', cache_control: mark }]
  assert.deepEqual(contentOf(marked({ type: 'ephemeral', ttl: '1h' }), { model: CLAUDE_45 }), [
    { text: 'x' },
    { cachePoint: { type: 'default', ttl: '1h' } },
  ])
  assert.deepEqual(contentOf(marked({ type: 'ephemeral', ttl: '1h' }), { model: CLAUDE_37 }), [
    { text: 'x' },
    { cachePoint: { type: 'default' } },
  ])
  assert.deepEqual(contentOf(marked({ type: 'ephemeral' }), { model: NOVA }), [
    { text: 'x' },
    { cachePoint: { type: 'default' } },
  ])
  assert.deepEqual(contentOf(marked({ type: 'ephemeral' }), { model: LLAMA }), [{ text: 'x' }])
  refuses(
    { messages: [{ role: 'user', content: marked({ type: 'forever' }) }] },
    /^messages\[0\]\.content\[0\]\.cache_control: /,
  )
  refuses({ messages: [{ role: 'user', content: marked({ type: 'ephemeral', ttl: '2h' }) }] }, /ttl/)
})

test('signed reasoning of Claude is sent back first; foreign or unsigned reasoning is not', () => {
  const details = [
    { type: 'reasoning.text', text: 'A', format: 'anthropic-claude-v1', index: 0 },
    { type: 'reasoning.text', text: 'B', signature: 's1', format: 'anthropic-claude-v1', index: 0 },
    { type: 'reasoning.encrypted', data: 'd', format: 'anthropic-claude-v1', index: 1 },
    { type: 'reasoning.text', text: 'C', format: 'anthropic-claude-v1', index: 2 },
    { type: 'reasoning.text', text: 'D', signature: 's2', format: 'google-gemini-v1', index: 3 },
  ]
  const messages = [
    ...HELLO.messages,
    { role: 'assistant', content: 'Hi', reasoning_details: details },
    { role: 'user', content: 'More' },
  ]
  const said = (model: string): unknown => {
    const { messages: sent } = bodyOf({ messages }, { model })
    return Array.isArray(sent) ? sent[1].content : null
  }
  assert.deepEqual(said(CLAUDE_37), [
    { reasoningContent: { reasoningText: { text: 'AB', signature: 's1' } } },
    { reasoningContent: { redactedContent: 'd' } },
    { text: 'Hi' },
  ])
  assert.deepEqual(said(NOVA), [{ text: 'Hi' }])
})

test('every tool_choice', () => {
  const config = (choice: unknown, messages: readonly unknown[] = HELLO.messages): unknown =>
    bodyOf({ messages, tools: [WEATHER], ...(choice === undefined ? {} : { tool_choice: choice }) })['toolConfig']
  assert.deepEqual(config(undefined), { tools: [WEATHER_SPEC] })
  assert.deepEqual(config('auto'), { tools: [WEATHER_SPEC], toolChoice: { auto: {} } })
  assert.deepEqual(config('required'), { tools: [WEATHER_SPEC], toolChoice: { any: {} } })
  assert.deepEqual(config({ type: 'function', function: { name: 'get_weather' } }), {
    tools: [WEATHER_SPEC],
    toolChoice: { tool: { name: 'get_weather' } },
  })
  assert.equal(config('none'), undefined)
  assert.deepEqual(config('none', CALLED), { tools: [WEATHER_SPEC] })
})

test('tool blocks of the history bring definitions with them where the client sends none', () => {
  const stub = (name: string): unknown => ({ toolSpec: { name, inputSchema: { json: { type: 'object' } } } })
  assert.deepEqual(bodyOf({ messages: CALLED })['toolConfig'], { tools: [stub('get_weather')] })
  assert.deepEqual(
    bodyOf({ messages: CALLED, tools: [WEATHER] }, { supportedParameters: ['max_tokens'] })['toolConfig'],
    { tools: [stub('get_weather')] },
  )
  assert.deepEqual(
    bodyOf({ messages: [HELLO.messages[0], { role: 'tool', tool_call_id: 'c', content: 'x' }] })['toolConfig'],
    { tools: [stub('unknown_tool')] },
  )
})

test('a tool without a schema has an object, a strict one is strict where the model can be held to it', () => {
  const tools = [
    { type: 'function', function: { name: 'f', description: '' } },
    { type: 'function', function: { name: 'g', strict: true, parameters: SCHEMA } },
  ]
  const plain = { toolSpec: { name: 'f', inputSchema: { json: { type: 'object' } } } }
  assert.deepEqual(bodyOf({ tools }, { model: CLAUDE_45 })['toolConfig'], {
    tools: [
      plain,
      { toolSpec: { name: 'g', inputSchema: { json: { ...SCHEMA, additionalProperties: false } }, strict: true } },
    ],
  })
  assert.deepEqual(bodyOf({ tools }, { model: NOVA })['toolConfig'], {
    tools: [plain, { toolSpec: { name: 'g', inputSchema: { json: SCHEMA } } }],
  })
})
