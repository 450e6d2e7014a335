import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { test } from 'node:test'
import { parseChat } from '../../src/kinds/chat-parse.ts'
import { endpoint } from '../../src/plan/plan-fixture.ts'
import type { ChatCall } from '../../src/providers/adapter.ts'
import { bedrockProtocol } from '../../src/providers/bedrock/bedrock.ts'
import { UnsendableError } from '../../src/providers/native.ts'
import { authorizationOf } from '../harness/aws-signature.ts'

/** 2015-08-30T12:36:00Z, the time of AWS's own test suite of signatures. */
const NOW_MS = 1_440_938_160_000
const PROTOCOL = bedrockProtocol(() => NOW_MS)
const CLAUDE_3 = 'anthropic.claude-3-haiku-20240307-v1:0'
const CLAUDE_37 = 'us.anthropic.claude-3-7-sonnet-20250219-v1:0'
const CLAUDE_45 = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const NOVA = 'us.amazon.nova-pro-v1:0'
const LLAMA = 'meta.llama3-1-70b-instruct-v1:0'
const HELLO = { messages: [{ role: 'user', content: 'Hello' }] }
const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Now',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
}
const WEATHER_SPEC = {
  toolSpec: {
    name: 'get_weather',
    description: 'Now',
    inputSchema: { json: { type: 'object', properties: { city: { type: 'string' } } } },
  },
}
const CALLED = [
  { role: 'user', content: 'Weather?' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Omsk"}' } }],
  },
  { role: 'tool', tool_call_id: 'call_1', content: 'Snow' },
]
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } } }
const JSON_SCHEMA = {
  response_format: { type: 'json_schema', json_schema: { name: 'my answer', description: 'The a', schema: SCHEMA } },
}

interface Circumstances {
  readonly model?: string
  readonly sendMaxTokens?: number | null
  readonly maxCompletionTokens?: number | null
  readonly supportedParameters?: readonly string[] | null
  readonly apiKey?: string | null
  readonly baseUrl?: string
}

function callOf(body: Record<string, unknown>, circumstances: Circumstances = {}): ChatCall {
  const {
    model = CLAUDE_37,
    sendMaxTokens = 10_000,
    maxCompletionTokens = null,
    supportedParameters = null,
    apiKey = 'bedrock-api-key',
    baseUrl = 'https://bedrock-runtime.eu-west-1.amazonaws.com',
  } = circumstances
  const base = endpoint('bedrock')
  return {
    endpoint: {
      ...base,
      provider: { ...base.provider, baseUrl },
      upstreamModel: model,
      maxCompletionTokens,
      supportedParameters,
    },
    apiKey,
    request: parseChat({ model: 'a/b', ...HELLO, ...body }),
    sendMaxTokens,
    generationId: 'gen-1763651164-Xk3vQ9pLmT2rWc8ZbA1d',
    splice: null,
  }
}

function bodyOf(body: Record<string, unknown>, circumstances: Circumstances = {}): Readonly<Record<string, unknown>> {
  return PROTOCOL.request(callOf(body, circumstances)).body
}

function contentOf(content: unknown, circumstances: Circumstances = {}): unknown {
  const { messages } = bodyOf({ messages: [{ role: 'user', content }] }, circumstances)
  return Array.isArray(messages) ? messages[0].content : null
}

function refuses(body: Record<string, unknown>, message: RegExp, circumstances: Circumstances = {}): void {
  assert.throws(
    () => bodyOf(body, circumstances),
    (thrown) => thrown instanceof UnsendableError && message.test(thrown.message),
  )
}

function headersOf(circumstances: Circumstances, body: Record<string, unknown> = {}): Readonly<Record<string, string>> {
  const { headers, body: sent } = PROTOCOL.request(callOf(body, circumstances))
  return typeof headers === 'function' ? headers(Buffer.from(JSON.stringify(sent))) : headers
}

test('path, headers and the smallest body', () => {
  const plain = PROTOCOL.request(callOf({}))
  assert.equal(plain.path, '/model/us.anthropic.claude-3-7-sonnet-20250219-v1%3A0/converse')
  assert.deepEqual(headersOf({}), { authorization: 'Bearer bedrock-api-key' })
  assert.deepEqual(plain.body, {
    messages: [{ role: 'user', content: [{ text: 'Hello' }] }],
    inferenceConfig: { maxTokens: 10_000 },
  })
  const streamed = PROTOCOL.request(callOf({ stream: true }, { sendMaxTokens: null }))
  assert.equal(streamed.path, '/model/us.anthropic.claude-3-7-sonnet-20250219-v1%3A0/converse-stream')
  assert.deepEqual(headersOf({}, { stream: true }), {
    accept: 'application/vnd.amazon.eventstream',
    authorization: 'Bearer bedrock-api-key',
  })
  assert.deepEqual(streamed.body, { messages: [{ role: 'user', content: [{ text: 'Hello' }] }] })
  assert.deepEqual(headersOf({ apiKey: null }), {})
  const arn = 'arn:aws:bedrock:us-east-1:1:inference-profile/us.x-v1:0'
  assert.equal(
    PROTOCOL.request(callOf({}, { model: arn })).path,
    '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.x-v1%3A0/converse',
  )
})

test("the signature of the test is AWS's own, by two cases of its published suite", () => {
  const suite = {
    region: 'us-east-1',
    service: 'service',
    method: 'GET',
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
    body: Buffer.alloc(0),
    headers: { host: 'example.amazonaws.com', 'x-amz-date': '20150830T123600Z' },
  }
  assert.match(
    authorizationOf({ ...suite, path: '/' }),
    /Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31$/,
  )
  assert.match(
    authorizationOf({ ...suite, method: 'POST', path: '/' }),
    /Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b$/,
  )
})

test('an access key signs the request: the host, the encoded model encoded once more, the very bytes', () => {
  for (const [apiKey, token] of [
    ['AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', null],
    ['AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY:FwoGZXIvYXdzEB0a+/==', 'FwoGZXIvYXdzEB0a+/=='],
  ] as const) {
    for (const [baseUrl, host, region, prefix] of [
      ['https://bedrock-runtime.eu-west-1.amazonaws.com', 'bedrock-runtime.eu-west-1.amazonaws.com', 'eu-west-1', ''],
      [
        'https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com',
        'bedrock-runtime-fips.us-gov-west-1.amazonaws.com',
        'us-gov-west-1',
        '',
      ],
      [
        'https://vpce-1.bedrock-runtime.ap-southeast-2.vpce.amazonaws.com/',
        'vpce-1.bedrock-runtime.ap-southeast-2.vpce.amazonaws.com',
        'ap-southeast-2',
        '',
      ],
      ['http://127.0.0.1:8080/aws', '127.0.0.1:8080', 'us-east-1', '/aws'],
    ] as const) {
      const call = callOf(
        { stream: true, messages: [{ role: 'user', content: 'Привет' }] },
        { apiKey, baseUrl, model: CLAUDE_45 },
      )
      const { path, body, headers } = PROTOCOL.request(call)
      assert.ok(typeof headers === 'function')
      const bytes = Buffer.from(JSON.stringify(body))
      const { authorization, accept, ...signed } = headers(bytes)
      assert.equal(accept, 'application/vnd.amazon.eventstream')
      assert.deepEqual(signed, {
        'content-type': 'application/json',
        'x-amz-date': '20150830T123600Z',
        ...(token === null ? {} : { 'x-amz-security-token': token }),
      })
      const expected = authorizationOf({
        region,
        service: 'bedrock',
        method: 'POST',
        accessKeyId: 'AKIDEXAMPLE',
        secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
        body: bytes,
        path: `${prefix}${path}`,
        headers: { ...signed, host },
      })
      assert.equal(authorization, expected, baseUrl)
      assert.notEqual(headers(Buffer.from('{}'))['authorization'], expected)
    }
  }
})

test('the canonical path of a model with a colon holds %253A, calculated by hand from the specification', () => {
  const apiKey = 'AKIDEXAMPLE:secret'
  const { headers, body } = PROTOCOL.request(callOf({}, { apiKey, model: 'm-v1:0' }))
  assert.ok(typeof headers === 'function')
  const bytes = Buffer.from(JSON.stringify(body))
  const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex')
  const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
  const canonical = [
    'POST',
    '/model/m-v1%253A0/converse',
    '',
    'content-type:application/json',
    'host:bedrock-runtime.eu-west-1.amazonaws.com',
    'x-amz-date:20150830T123600Z',
    '',
    'content-type;host;x-amz-date',
    sha256(bytes),
  ].join('\n')
  const toSign = [
    'AWS4-HMAC-SHA256',
    '20150830T123600Z',
    '20150830/eu-west-1/bedrock/aws4_request',
    sha256(canonical),
  ].join('\n')
  const signature = hmac(
    hmac(hmac(hmac(hmac('AWS4secret', '20150830'), 'eu-west-1'), 'bedrock'), 'aws4_request'),
    toSign,
  ).toString('hex')
  assert.equal(
    headers(bytes)['authorization'],
    `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/eu-west-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=${signature}`,
  )
})

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

test('text of white space alone is left out, and a conversation of nothing else is refused', () => {
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

test('signed reasoning of Claude is sent back first; what is not its own, or not signed, is not', () => {
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

test('sampling, stop and limits, as each model takes them', () => {
  const asked = { temperature: 1.5, top_p: 0.9, top_k: 40.5, stop: ['a', 'b'] }
  assert.deepEqual(bodyOf(asked, { model: NOVA })['inferenceConfig'], {
    maxTokens: 10_000,
    temperature: 1,
    topP: 0.9,
    stopSequences: ['a', 'b'],
  })
  assert.equal(bodyOf(asked, { model: NOVA })['additionalModelRequestFields'], undefined)
  assert.deepEqual(bodyOf({ ...asked, stop: 'c' }, { model: CLAUDE_3 })['inferenceConfig'], {
    maxTokens: 10_000,
    temperature: 1,
    topP: 0.9,
    stopSequences: ['c'],
  })
  assert.deepEqual(bodyOf(asked, { model: CLAUDE_3 })['additionalModelRequestFields'], { top_k: 40 })
  assert.deepEqual(bodyOf(asked, { model: CLAUDE_45 })['inferenceConfig'], {
    maxTokens: 10_000,
    temperature: 1,
    stopSequences: ['a', 'b'],
  })
  assert.deepEqual(bodyOf(asked, { model: 'us.anthropic.claude-opus-4-7-v1:0' })['inferenceConfig'], {
    maxTokens: 10_000,
    stopSequences: ['a', 'b'],
  })
  refuses({ stop: ['\n'] }, /^stop: /)
  assert.deepEqual(bodyOf({ stop: ['\n'] }, { model: NOVA })['inferenceConfig'], {
    maxTokens: 10_000,
    stopSequences: ['\n'],
  })
})

test('reasoning is a budget of thinking at Claude, in the ratios of effort', () => {
  const thinking = (fields: Record<string, unknown>, circumstances: Circumstances = {}): unknown =>
    bodyOf(fields, circumstances)['additionalModelRequestFields']
  for (const [effort, budget] of [
    ['xhigh', 9_500],
    ['high', 8_000],
    ['medium', 5_000],
    ['low', 2_000],
    ['minimal', 1_024],
  ] as const) {
    assert.deepEqual(thinking({ reasoning: { effort } }), { thinking: { type: 'enabled', budget_tokens: budget } })
    assert.deepEqual(thinking({ reasoning_effort: effort }), { thinking: { type: 'enabled', budget_tokens: budget } })
  }
  assert.deepEqual(thinking({ reasoning: { max_tokens: 50_000 } }), {
    thinking: { type: 'enabled', budget_tokens: 9_999 },
  })
  assert.equal(thinking({ reasoning: { max_tokens: 2_000 } }, { sendMaxTokens: 1_024 }), undefined)
  assert.equal(thinking({ reasoning: { effort: 'none' } }), undefined)
  assert.equal(thinking({ reasoning: { effort: 'high' } }, { model: CLAUDE_3 }), undefined)
  assert.equal(thinking({ reasoning: { effort: 'high' } }, { model: NOVA }), undefined)
  assert.equal(thinking({ reasoning: { effort: 'high' } }, { supportedParameters: ['max_tokens'] }), undefined)
  assert.deepEqual(thinking({ reasoning: { effort: 'high' } }, { sendMaxTokens: null }), {
    thinking: { type: 'enabled', budget_tokens: 3_276 },
  })
  assert.deepEqual(thinking({ reasoning: { effort: 'high' } }, { model: 'us.anthropic.claude-opus-4-7-v1:0' }), {
    thinking: { type: 'adaptive', display: 'summarized' },
    output_config: { effort: 'high' },
  })
})

test('thinking rules out what the model refuses with it, and is left out where the request rules it out', () => {
  const reasoning = { effort: 'high' }
  const body = bodyOf({ reasoning, temperature: 0.5, top_p: 0.9, top_k: 5 })
  assert.deepEqual(
    [body['inferenceConfig'], body['additionalModelRequestFields']],
    [{ maxTokens: 10_000 }, { thinking: { type: 'enabled', budget_tokens: 8_000 } }],
  )
  assert.deepEqual(bodyOf({ reasoning, top_p: 0.95 })['inferenceConfig'], { maxTokens: 10_000, topP: 0.95 })
  const isThinking = (fields: Record<string, unknown>): boolean =>
    bodyOf({ reasoning, ...fields })['additionalModelRequestFields'] !== undefined
  assert.equal(isThinking({ tools: [WEATHER] }), true)
  assert.equal(isThinking({ tools: [WEATHER], tool_choice: 'required' }), false)
  assert.equal(isThinking({ messages: [...HELLO.messages, { role: 'assistant', content: 'I' }] }), false)
  assert.equal(isThinking({ messages: CALLED }), false)
  const forced = bodyOf(
    { reasoning, tools: [WEATHER], tool_choice: 'required' },
    { model: 'us.anthropic.claude-opus-4-7-v1:0' },
  )
  assert.deepEqual(forced['additionalModelRequestFields'], { thinking: { type: 'disabled' } })
})

test('a JSON schema is decoded by, forced as a tool, or asked for in words, as the model can', () => {
  const textFormat = (schema: unknown): unknown => ({
    textFormat: {
      type: 'json_schema',
      structure: { jsonSchema: { name: 'my_answer', description: 'The a', schema: JSON.stringify(schema) } },
    },
  })
  assert.deepEqual(
    bodyOf(JSON_SCHEMA, { model: CLAUDE_45 })['outputConfig'],
    textFormat({ ...SCHEMA, additionalProperties: false }),
  )
  assert.deepEqual(bodyOf(JSON_SCHEMA, { model: 'openai.gpt-oss-120b-1:0' })['outputConfig'], textFormat(SCHEMA))
  const answer = {
    toolSpec: { name: 'give_answer', description: 'Gives the final answer: The a', inputSchema: { json: SCHEMA } },
  }
  for (const model of [CLAUDE_37, NOVA]) {
    assert.deepEqual(bodyOf(JSON_SCHEMA, { model })['toolConfig'], {
      tools: [answer],
      toolChoice: { tool: { name: 'give_answer' } },
    })
    assert.deepEqual(bodyOf({ ...JSON_SCHEMA, tools: [WEATHER] }, { model })['toolConfig'], {
      tools: [WEATHER_SPEC, answer],
      toolChoice: { any: {} },
    })
    assert.deepEqual(bodyOf({ ...JSON_SCHEMA, tools: [WEATHER], tool_choice: 'none' }, { model })['toolConfig'], {
      tools: [answer],
      toolChoice: { tool: { name: 'give_answer' } },
    })
  }
  const words = bodyOf(
    { ...JSON_SCHEMA, messages: [{ role: 'system', content: 'Be brief' }, ...HELLO.messages] },
    { model: LLAMA },
  )['system']
  assert.ok(Array.isArray(words))
  assert.deepEqual(words[0], { text: 'Be brief' })
  assert.match(words[1].text, /schema: \{"type":"object"/)
  assert.match(JSON.stringify(bodyOf({ response_format: { type: 'json_object' } })['system']), /valid JSON object/)
  assert.equal(bodyOf(JSON_SCHEMA, { model: CLAUDE_45, supportedParameters: ['tools'] })['outputConfig'], undefined)
  refuses(
    { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'array' } } } },
    /^response_format\.json_schema\.schema: /,
  )
})

test('what the protocol has no words for is not sent, and more than one answer is refused', () => {
  const body = bodyOf({
    logit_bias: { 1: 1 },
    seed: 1,
    frequency_penalty: 1,
    presence_penalty: 1,
    user: 'u',
    metadata: { a: 'b' },
    min_p: 0.1,
    logprobs: true,
    parallel_tool_calls: false,
  })
  assert.deepEqual(Object.keys(body), ['messages', 'inferenceConfig'])
  assert.deepEqual(body['inferenceConfig'], { maxTokens: 10_000 })
  for (const name of ['logit_bias', 'seed', 'n', 'frequency_penalty', 'presence_penalty', 'audio'])
    assert.equal(PROTOCOL.supportedParameters.includes(name), false, name)
  refuses({ n: 2 }, /^n: /)
})
