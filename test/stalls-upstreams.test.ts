import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import type { Answer } from './harness/api-client.ts'
import { converseEvent } from './harness/event-stream.ts'
import { STALL_MS_MAX, until } from './harness/patience.ts'
import { startScriptedUpstream, type ScriptedUpstream } from './harness/scripted-upstream.ts'
import { startStallServer, type StallServer } from './harness/stall-server.ts'

const MEGABYTE = 1_048_576
const JSON_HEAD = { 'content-type': 'application/json' }
const EVENTS_HEAD = { 'content-type': 'text/event-stream' }
const TOKENS = ['hello', 'the', ' of', ' слово', '\\n', '\\"a\\"', ' yz']

let upstream: ScriptedUpstream
let stalls: StallServer
let key: string

before(async () => {
  upstream = await startScriptedUpstream()
  const chat = (name: string, more = ''): string =>
    `  - { id: test/${name}, type: chat, context_length: 1000000, endpoints: [{ provider: ${name}, model: m, price: { currency: RUB, prompt: 1, completion: 2 }${more} }] }`
  const unit = (name: string, type: string, provider: string, price: string, more = ''): string =>
    `  - { id: test/${name}, type: ${type}, ${more}endpoints: [{ provider: ${provider}, model: ${name}, price: { currency: RUB, ${price} } }] }`
  stalls = await startStallServer(`
bundled: false
rate_limit: { requests: 100000, window: 60 }
providers:
${['openai', 'anthropic', 'gemini', 'cohere', 'bedrock', 'ollama', 'deepgram', 'elevenlabs'].map((adapter) => `  ${adapter}: { adapter: ${adapter}, base_url: "${upstream.url}", api_key: upstream-key }`).join('\n')}
  native: { adapter: openai, base_url: "${upstream.url}", api_key: upstream-key }
models:
${['openai', 'anthropic', 'gemini', 'cohere', 'bedrock', 'ollama'].map((name) => chat(name)).join('\n')}
${chat('native', ', native_responses: true, native_completions: true')}
${unit('vectors', 'embeddings', 'openai', 'prompt: 1', 'context_length: 8192, ')}
${unit('cohere-vectors', 'embeddings', 'cohere', 'prompt: 1', 'context_length: 8192, ')}
${unit('ranking', 'rerank', 'openai', 'prompt: 1', 'context_length: 8192, ')}
${unit('picture', 'image', 'openai', 'image_output: 1')}
${unit('whisper-1', 'transcription', 'openai', 'second: 1')}
${unit('nova-3', 'transcription', 'deepgram', 'second: 1')}
${unit('scribe_v1', 'transcription', 'elevenlabs', 'second: 1')}
${unit('tts-1', 'tts', 'openai', 'characters: 1')}
${unit('sora-2', 'video', 'openai', 'video_second: 1', 'supported_durations: [4], ')}
`)
  key = (await stalls.server.createAccount({ balance: 1_000_000_000 })).key
})

after(async () => {
  await stalls.stop()
  await upstream.close()
})

const MESSAGES = [{ role: 'user', content: 'x' }]

async function asked(what: string, path: string, body: string): Promise<Answer> {
  const before = upstream.received.length
  const answer = await stalls.checked(what, 'POST', path, { key, body })
  assert.ok(upstream.received.length > before, `${what}: nobody was asked, ${answer.text.slice(0, 300)}`)
  return answer
}

const numbered = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_value, index) => make(index)).join(',')
const many = (item: string, count: number): string => `${`${item},`.repeat(count - 1)}${item}`

/** A protocol's whole answer: with its list of parts, and one of these; `text` stands for a text of any length. */
interface Whole {
  readonly what: string
  readonly path: string
  readonly request: Readonly<Record<string, unknown>>
  readonly around: (parts: string) => string
  readonly part: (text: string) => string
}

const chatOf = (name: string): Pick<Whole, 'what' | 'path' | 'request'> => ({
  what: `chat of ${name}`,
  path: '/v1/chat/completions',
  request: { model: `test/${name}`, messages: MESSAGES },
})
const form = (model: string): Whole['request'] => ({
  model,
  input_audio: { data: Buffer.from(`RIFF${'\0'.repeat(60)}`).toString('base64'), format: 'wav' },
  response_format: 'verbose_json',
  timestamp_granularities: ['word'],
})
const WHOLES: readonly Whole[] = [
  {
    ...chatOf('openai'),
    around: (parts) =>
      `{"choices":[{"message":{"content":[${parts}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
    part: (text) => `{"type":"text","text":"${text}"}`,
  },
  {
    ...chatOf('anthropic'),
    around: (parts) =>
      `{"type":"message","content":[${parts}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`,
    part: (text) => `{"type":"text","text":"${text}"}`,
  },
  {
    ...chatOf('gemini'),
    around: (parts) =>
      `{"candidates":[{"content":{"parts":[${parts}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}`,
    part: (text) => `{"text":"${text}"}`,
  },
  {
    ...chatOf('bedrock'),
    around: (parts) =>
      `{"output":{"message":{"content":[${parts}]}},"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1}}`,
    part: (text) => `{"text":"${text}"}`,
  },
  {
    ...chatOf('cohere'),
    around: (parts) =>
      `{"message":{"content":[${parts}]},"finish_reason":"COMPLETE","usage":{"tokens":{"input_tokens":1,"output_tokens":1}}}`,
    part: (text) => `{"type":"text","text":"${text}"}`,
  },
  {
    ...chatOf('ollama'),
    around: (parts) =>
      `{"message":{"content":"x","tool_calls":[${parts}]},"done":true,"prompt_eval_count":1,"eval_count":1}`,
    part: (text) => `{"function":{"name":"f","arguments":{"a":"${text}"}}}`,
  },
  {
    what: 'responses',
    path: '/v1/responses',
    request: { model: 'test/native', input: 'x' },
    around: (parts) =>
      `{"object":"response","status":"completed","output":[{"type":"message","content":[${parts}]}],"usage":{"input_tokens":1,"output_tokens":1}}`,
    part: (text) => `{"type":"output_text","text":"${text}"}`,
  },
  {
    what: 'completions',
    path: '/v1/completions',
    request: { model: 'test/native', prompt: 'x' },
    around: (parts) => `{"choices":[${parts}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
    part: (text) => `{"text":"${text}","finish_reason":"stop"}`,
  },
  {
    what: 'embeddings',
    path: '/v1/embeddings',
    request: { model: 'test/vectors', input: 'x' },
    around: (parts) => `{"data":[${parts}],"usage":{"prompt_tokens":1}}`,
    part: (text) => `{"index":0,"embedding":"${text}"}`,
  },
  {
    what: "embeddings of Cohere's",
    path: '/v1/embeddings',
    request: { model: 'test/cohere-vectors', input: 'x' },
    around: (parts) => `{"embeddings":{"float":[${parts}]}}`,
    part: (text) => `["${text}"]`,
  },
  {
    what: 'rerank',
    path: '/v1/rerank',
    request: { model: 'test/ranking', query: 'x', documents: ['x', 'y'] },
    around: (parts) => `{"results":[${parts}],"usage":{"total_tokens":1}}`,
    part: (text) => `{"index":0,"relevance_score":0.5,"document":"${text}"}`,
  },
  {
    what: 'images',
    path: '/v1/images/generations',
    request: { model: 'test/picture', prompt: 'x' },
    around: (parts) => `{"data":[${parts}]}`,
    part: (text) => `{"b64_json":"${text}"}`,
  },
  {
    what: 'transcription',
    path: '/v1/audio/transcriptions',
    request: form('test/whisper-1'),
    around: (parts) => `{"text":"x","duration":1,"words":[${parts}]}`,
    part: (text) => `{"word":"${text}","start":0,"end":1}`,
  },
  {
    what: "transcription of Deepgram's",
    path: '/v1/audio/transcriptions',
    request: form('test/nova-3'),
    around: (parts) =>
      `{"metadata":{"duration":1},"results":{"channels":[{"alternatives":[{"transcript":"x","words":[${parts}]}]}]}}`,
    part: (text) => `{"word":"${text}","start":0,"end":1}`,
  },
  {
    what: "transcription of ElevenLabs'",
    path: '/v1/audio/transcriptions',
    request: form('test/scribe_v1'),
    around: (parts) => `{"text":"x","words":[${parts}]}`,
    part: (text) => `{"text":"${text}","type":"word","start":0,"end":1}`,
  },
]

/** The longest that one is taken of: in parts, in one text, and as what no reader has asked for. */
const SIZES: readonly (readonly [what: string, answer: (whole: Whole) => string])[] = [
  ['many parts', ({ around, part }) => around(many(part('x'), 20_000))],
  ['as many parts as one is looked at for', ({ around }) => around(many('{}', 59_000))],
  ['parts that are none', ({ around }) => around(many('[]', 600_000))],
  ['a long text', ({ around, part }) => around(part('слово дом '.repeat(400_000)))],
  ['a text of escapes', ({ around, part }) => around(part('\\"\\n'.repeat(1_500_000)))],
]

for (const whole of WHOLES) {
  test(`no stall above ${STALL_MS_MAX} ms of CPU by what is answered whole: ${whole.what}`, async () => {
    for (const [size, answer] of SIZES) {
      const bytes = Buffer.from(answer(whole))
      upstream.answer((response) => void response.writeHead(200, JSON_HEAD).end(bytes))
      await asked(`${whole.what}: ${size}`, whole.path, JSON.stringify(whole.request))
    }
    upstream.answer(
      (response) =>
        void response.writeHead(400, JSON_HEAD).end(`{"error":{"message":"${'a.b-c@d '.repeat(200_000)}"}}`),
    )
    await asked(`${whole.what}: an error`, whole.path, JSON.stringify(whole.request))
  })
}

/** A protocol's stream: what begins it, a piece of its text, and a piece of what a tool is called with. */
interface Streamed {
  readonly what: string
  readonly path: string
  readonly request: Readonly<Record<string, unknown>>
  readonly type: string
  readonly written: (event: string) => Buffer
  readonly begin: readonly string[]
  readonly text: (text: string) => string
  readonly tool: (text: string) => string
}

const sse = (event: string): Buffer => Buffer.from(`data: ${event}\n\n`)
const line = (event: string): Buffer => Buffer.from(`${event}\n`)
/** Converse names its events outside of their JSON. */
const converse = (event: string): Buffer => {
  const [name = '', ...json] = event.split(' ')
  return converseEvent(name, JSON.parse(json.join(' ')))
}
const SSE_TYPE = 'text/event-stream'
const STREAMS: readonly Streamed[] = [
  {
    ...chatOf('openai'),
    type: SSE_TYPE,
    written: sse,
    begin: [
      '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}',
    ],
    text: (text) => `{"choices":[{"index":0,"delta":{"content":"${text}"}}]}`,
    tool: (text) => `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"${text}"}}]}}]}`,
  },
  {
    ...chatOf('anthropic'),
    type: SSE_TYPE,
    written: sse,
    begin: [
      '{"type":"message_start","message":{"id":"a","usage":{"input_tokens":1}}}',
      '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
      '{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}',
    ],
    text: (text) => `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}`,
    tool: (text) =>
      `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"${text}"}}`,
  },
  {
    ...chatOf('gemini'),
    type: SSE_TYPE,
    written: sse,
    begin: [],
    text: (text) => `{"candidates":[{"content":{"parts":[{"text":"${text}"}]}}]}`,
    tool: (text) =>
      `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.a","stringValue":"${text}"}],"willContinue":true}}]}}]}`,
  },
  {
    ...chatOf('bedrock'),
    type: 'application/vnd.amazon.eventstream',
    written: converse,
    begin: [
      'messageStart {"role":"assistant"}',
      'contentBlockStart {"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"a","name":"f"}}}',
    ],
    text: (text) => `contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"${text}"}}`,
    tool: (text) => `contentBlockDelta {"contentBlockIndex":1,"delta":{"toolUse":{"input":"${text}"}}}`,
  },
  {
    ...chatOf('cohere'),
    type: SSE_TYPE,
    written: sse,
    begin: [
      '{"type":"message-start","id":"a","delta":{"message":{"role":"assistant"}}}',
      '{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}',
      '{"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"a","type":"function","function":{"name":"f","arguments":""}}}}}',
    ],
    text: (text) => `{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"${text}"}}}}`,
    tool: (text) =>
      `{"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"${text}"}}}}}`,
  },
  {
    ...chatOf('ollama'),
    type: 'application/x-ndjson',
    written: line,
    begin: [],
    text: (text) => `{"message":{"role":"assistant","content":"${text}"},"done":false}`,
    tool: (text) => `{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"a":"${text}"}}}]},"done":false}`,
  },
  {
    what: 'responses',
    path: '/v1/responses',
    request: { model: 'test/native', input: 'x' },
    type: SSE_TYPE,
    written: sse,
    begin: [
      '{"type":"response.created","response":{"id":"a"}}',
      '{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}}',
      '{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"f","call_id":"c","name":"f","arguments":""}}',
    ],
    text: (text) =>
      `{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"m","delta":"${text}"}`,
    tool: (text) =>
      `{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"f","delta":"${text}"}`,
  },
  {
    what: 'completions',
    path: '/v1/completions',
    request: { model: 'test/native', prompt: 'x' },
    type: SSE_TYPE,
    written: sse,
    begin: [],
    text: (text) => `{"choices":[{"index":0,"text":"${text}","finish_reason":null}]}`,
    tool: (text) => `{"choices":[{"index":7,"text":"${text}","finish_reason":null}]}`,
  },
]

const DELTAS = 15_000
const LONG = '\\"'.repeat(450_000)

for (const stream of STREAMS) {
  test(`no stall above ${STALL_MS_MAX} ms of CPU by what is streamed: ${stream.what}`, async () => {
    const bodies: readonly (readonly [string, readonly Buffer[]])[] = [
      ['small pieces of text', Array.from({ length: DELTAS }, () => stream.written(stream.text('x')))],
      ['small pieces of arguments', Array.from({ length: DELTAS }, () => stream.written(stream.tool('x')))],
      ['long pieces', [stream.text(LONG), stream.tool(LONG), stream.text(LONG), stream.tool(LONG)].map(stream.written)],
      [
        'events that are none',
        [stream.text(`","x":[${many('[]', 300_000)}],"y":"`), ...Array.from({ length: 3 }, () => stream.text('x'))].map(
          stream.written,
        ),
      ],
    ]
    for (const [what, events] of bodies) {
      const bytes = Buffer.concat([...stream.begin.map(stream.written), ...events])
      upstream.answer((response) => void response.writeHead(200, { 'content-type': stream.type }).end(bytes))
      await asked(`${stream.what}: ${what}`, stream.path, JSON.stringify({ ...stream.request, stream: true }))
    }
    upstream.answer(
      (response) => void response.writeHead(200, { 'content-type': stream.type }).end('\n'.repeat(4 * MEGABYTE)),
    )
    await asked(`${stream.what}: empty lines`, stream.path, JSON.stringify({ ...stream.request, stream: true }))
  })
}

/** Every worst answer of an upstream, and the name of the error that the client gets. */
const ANSWERS: readonly (readonly [what: string, error: string, answer: (response: ServerResponse) => void])[] = [
  [
    '31 MB of empty lists',
    'provider_error',
    (response) => void response.writeHead(200, JSON_HEAD).end(`[${'[],'.repeat(10 * MEGABYTE)}[]]`),
  ],
  [
    '31 MB of keys',
    'provider_error',
    (response) => void response.writeHead(200, JSON_HEAD).end(`{${numbered(2_000_000, (index) => `"k${index}":1`)}}`),
  ],
  [
    'a number of 31 MB',
    'provider_error',
    (response) =>
      void response
        .writeHead(200, JSON_HEAD)
        .end(
          `{"choices":[{"index":0,"message":{"role":"assistant","content":"x"}}],"usage":{"prompt_tokens":${'9'.repeat(31 * MEGABYTE)}}}`,
        ),
  ],
  [
    '31 MB of one message',
    'invalid_input',
    (response) =>
      void response.writeHead(400, JSON_HEAD).end(JSON.stringify({ error: { message: 'key-'.repeat(7 * MEGABYTE) } })),
  ],
  [
    'a prompt that is repeated',
    'input_tokens_exceeded',
    (response) =>
      void response
        .writeHead(400, JSON_HEAD)
        .end(JSON.stringify({ error: { message: `maximum context length: ${'a.b-c@d '.repeat(50_000)}` } })),
  ],
  [
    'an event of many lines',
    'provider_error',
    (response) => void response.writeHead(200, EVENTS_HEAD).end('data\n'.repeat(2 * MEGABYTE)),
  ],
  [
    'an event of lists in lists',
    'provider_error',
    (response) => void response.writeHead(200, EVENTS_HEAD).end(`data: ${'['.repeat(900_000)}\n\n`),
  ],
]

for (const [what, error, answer] of ANSWERS) {
  test(`no stall above ${STALL_MS_MAX} ms of CPU by an upstream that answers with ${what}`, async () => {
    upstream.answer((response) => answer(response))
    const isStream = what.startsWith('an event')
    const { text } = await asked(
      what,
      '/v1/chat/completions',
      JSON.stringify({ model: 'test/openai', stream: isStream, messages: [{ role: 'user', content: 'x' }] }),
    )
    assert.ok(text.includes(`"${error}"`), text)
  })
}

test(`no stall above ${STALL_MS_MAX} ms of CPU by vectors that are none`, async () => {
  upstream.answer(
    (response) => void response.writeHead(200, JSON_HEAD).end(`{"data":[${'[1],'.repeat(7 * MEGABYTE)}[1]]}`),
  )
  const { text } = await asked('vectors', '/v1/embeddings', JSON.stringify({ model: 'test/vectors', input: 'x' }))
  assert.ok(text.includes('"provider_error"'), text)
  upstream.answer(
    (response) =>
      void response.writeHead(200, JSON_HEAD).end(`{"data":[{"index":0,"embedding":[${'9'.repeat(31 * MEGABYTE)}]}]}`),
  )
  await asked('a vector of one number', '/v1/embeddings', JSON.stringify({ model: 'test/vectors', input: 'x' }))
})

test(`no stall above ${STALL_MS_MAX} ms of CPU by the probabilities of 16,000 tokens and 20 others of each, which are passed on`, async () => {
  const token = (index: number): string =>
    `{"token":"${TOKENS[index % TOKENS.length]}","logprob":${-(index % 1_000) / 137},"bytes":[104,101,108,108,111]}`
  const entry = (index: number): string =>
    `${token(index).slice(0, -1)},"top_logprobs":[${numbered(20, (place) => token(index + place))}]}`
  const logprobs = `{"content":[${numbered(16_000, entry)}],"refusal":null}`
  const answer = Buffer.from(
    `{"id":"up-1","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"logprobs":${logprobs},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":16000,"total_tokens":16001}}`,
  )
  assert.ok(answer.length > 20 * MEGABYTE)
  upstream.answer((response) => void response.writeHead(200, JSON_HEAD).end(answer))
  const { status, text } = await asked(
    'probabilities',
    '/v1/chat/completions',
    JSON.stringify({
      model: 'test/openai',
      logprobs: true,
      top_logprobs: 20,
      messages: [{ role: 'user', content: 'x' }],
    }),
  )
  assert.equal(status, 200)
  assert.ok(
    text.includes(`"logprobs":${logprobs},"message":{"role":"assistant","content":"x"`) &&
      text.includes('"completion_tokens":16000'),
    text.slice(0, 300),
  )
})

test(`no stall above ${STALL_MS_MAX} ms of CPU by a sound of 31 MB, or by what a video's job is told to be`, async () => {
  upstream.answer(
    (response) => void response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(Buffer.alloc(31 * MEGABYTE, 0xff)),
  )
  await asked('speech', '/v1/audio/speech', JSON.stringify({ model: 'test/tts-1', input: 'x', voice: 'alloy' }))
  for (const told of [
    `{"id":"v","status":"failed","error":{"message":"${'a.b-c@d '.repeat(50_000)}"}}`,
    `{"id":"v","status":"failed","x":[${many('[]', 50_000)}]}`,
  ]) {
    upstream.answer(
      (response, { method }) =>
        void response.writeHead(200, JSON_HEAD).end(method === 'POST' ? '{"id":"v","status":"queued"}' : told),
    )
    await stalls.watched('a video', async () => {
      const { status, text, body } = await stalls.server.request('POST', '/v1/videos', {
        key,
        body: { model: 'test/sora-2', prompt: 'x', duration: 4 },
      })
      assert.ok(status < 300, text)
      await until(
        20_000,
        'the job has failed',
        async () => (await stalls.server.request('GET', `/v1/videos?id=${body.id}`, { key })).body.status === 'failed',
      )
    })
  }
})
