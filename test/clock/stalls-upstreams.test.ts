import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { beforeEach, test } from 'node:test'
import type { Answer } from '../harness/api-client.ts'
import { wavFile } from '../harness/audio-files.ts'
import { form as formed } from '../harness/form.ts'
import { STALL_MS_MAX, until } from '../harness/patience.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { startStallServer } from '../harness/stall-server.ts'
import { MESSAGES, SDK_STREAMS, SDK_WHOLES, type Whole, WHOLES, sse, STREAMS } from './stall-answers.ts'
import { DOORS, geminiLogprobs, JOBS, LISTED_TOKENS, many, numbered, openaiLogprobs, TOPS } from './stall-pieces.ts'
import { lasting } from '../harness/lasting.ts'

const MEGABYTE = 1_048_576
const JSON_HEAD = { 'content-type': 'application/json' }
const EVENTS_HEAD = { 'content-type': 'text/event-stream' }
let key: string

/** An account for each test: what the broken answers of one cost the operator would close the next one's. */
beforeEach(async () => {
  key = (await stalls.server.createAccount({ balance: 1_000_000_000 })).key
})

const upstream = await startScriptedUpstream()
const chat = (name: string, more = ''): string =>
  `  - { id: test/${name}, type: chat, context_length: 1000000, endpoints: [{ provider: ${name}, model: m, price: { currency: RUB, prompt: 1, completion: 2 }${more} }] }`
const unit = (name: string, type: string, provider: string, price: string, more = ''): string =>
  `  - { id: test/${name}, type: ${type}, ${more}endpoints: [{ provider: ${provider}, model: ${name}, price: { currency: RUB, ${price} } }] }`
const stalls = await lasting(
  startStallServer(`
bundled: false
rate_limit: { requests: 100000, window: 60 }
providers:
${['openai', 'anthropic', 'gemini', 'cohere', 'bedrock', 'ollama', 'deepgram', 'elevenlabs', 'replicate'].map((adapter) => `  ${adapter}: { adapter: ${adapter}, base_url: "${upstream.url}", api_key: upstream-key }`).join('\n')}
${['mistral', 'groq', 'cohere'].map((name) => `  sdk-${name}: { adapter: ai-sdk, package: "@ai-sdk/${name}", base_url: "${upstream.url}", api_key: upstream-key }`).join('\n')}
  native: { adapter: openai, base_url: "${upstream.url}", api_key: upstream-key }
models:
${['openai', 'anthropic', 'gemini', 'cohere', 'bedrock', 'ollama', 'sdk-mistral', 'sdk-groq'].map((name) => chat(name)).join('\n')}
${chat('native', ', native_responses: true, native_completions: true')}
${unit('vectors', 'embeddings', 'openai', 'prompt: 1', 'context_length: 8192, ')}
${unit('cohere-vectors', 'embeddings', 'cohere', 'prompt: 1', 'context_length: 8192, ')}
${unit('ranking', 'rerank', 'openai', 'prompt: 1', 'context_length: 8192, ')}
${unit('sdk-vectors', 'embeddings', 'sdk-mistral', 'prompt: 1', 'context_length: 8192, ')}
${unit('moderation', 'moderation', 'openai', 'request: 1')}
${unit('sdk-ranking', 'rerank', 'sdk-cohere', 'prompt: 1', 'context_length: 8192, ')}
${unit('sdk-ear', 'transcription', 'sdk-groq', 'second: 1')}
${unit('picture', 'image', 'openai', 'image_output: 1')}
${unit('whisper-1', 'transcription', 'openai', 'second: 1')}
${unit('nova-3', 'transcription', 'deepgram', 'second: 1')}
${unit('scribe_v1', 'transcription', 'elevenlabs', 'second: 1')}
${unit('tts-1', 'tts', 'openai', 'characters: 1')}
${unit('sora-2', 'video', 'openai', 'video_second: 1', 'supported_durations: [4], ')}
${unit('veo-3', 'video', 'gemini', 'video_second: 1', 'supported_durations: [4], ')}
${unit('film', 'video', 'replicate', 'video_second: 1', 'supported_durations: [4], ')}
`),
)
key = (await stalls.server.createAccount({ balance: 1_000_000_000 })).key
// Code that is loaded with the first answer of a protocol is not measured.
for (const { path, request, begin, text, written, type } of [...STREAMS, ...SDK_STREAMS]) {
  const bytes = Buffer.concat([...begin, text('x')].map(written))
  upstream.answer((response) => void response.writeHead(200, { 'content-type': type }).end(bytes))
  await stalls.server.post(path, key, { ...request, stream: true })
}

async function asked(what: string, path: string, body: string): Promise<Answer> {
  const before = upstream.received.length
  const answer = await stalls.checked(what, 'POST', path, { key, body })
  assert.ok(upstream.received.length > before, `${what}: nobody was asked, ${answer.text.slice(0, 300)}`)
  return answer
}

/** All share the reader of errors and empty lines: the short form tests one of so many. */
const SHARE = 4
/** The largest answers that are read: in parts, in one text, and as unrequested fields. */
const SIZES: readonly (readonly [what: string, answer: (whole: Whole) => string])[] = [
  ['many parts', ({ around, part }) => around(many(part('x'), 20_000))],
  ['as many parts as one is looked at for', ({ around }) => around(many('{}', 59_000))],
  ['parts that are none', ({ around }) => around(many('[]', 600_000))],
  ['a long text', ({ around, part }) => around(part('слово дом '.repeat(400_000)))],
  ['a text of escapes', ({ around, part }) => around(part('\\"\\n'.repeat(1_400_000)))],
  ['31 MB of escapes', ({ around, part }) => around(part('\\"\\n'.repeat(7 * MEGABYTE)))],
]

for (const [index, whole] of [...WHOLES, ...SDK_WHOLES].entries()) {
  test(`no stall above ${STALL_MS_MAX} ms of CPU for a whole answer: ${whole.what}`, async () => {
    for (const [size, answer] of SIZES.filter((_size, place) =>
      formed({ short: place === index % SIZES.length, long: true }),
    )) {
      const bytes = Buffer.from(answer(whole))
      upstream.answer((response) => void response.writeHead(200, JSON_HEAD).end(bytes))
      await asked(`${whole.what}: ${size}`, whole.path, JSON.stringify(whole.request))
    }
    if (!formed({ short: index % SHARE === 0, long: true })) return
    upstream.answer(
      (response) =>
        void response.writeHead(400, JSON_HEAD).end(`{"error":{"message":"${'a.b-c@d '.repeat(200_000)}"}}`),
    )
    await asked(`${whole.what}: an error`, whole.path, JSON.stringify(whole.request))
  })
}

/** Of one burst. */
const DELTAS = 15_000
const LONG = '\\"'.repeat(450_000)

for (const [index, stream] of [...STREAMS, ...SDK_STREAMS].entries()) {
  test(`no stall above ${STALL_MS_MAX} ms of CPU for a stream: ${stream.what}`, async () => {
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
    for (const [what, events] of bodies.filter((_body, place) =>
      formed({ short: place === index % bodies.length, long: true }),
    )) {
      const bytes = Buffer.concat([...stream.begin.map(stream.written), ...events])
      upstream.answer((response) => void response.writeHead(200, { 'content-type': stream.type }).end(bytes))
      await asked(`${stream.what}: ${what}`, stream.path, JSON.stringify({ ...stream.request, stream: true }))
    }
    if (!formed({ short: index % SHARE === 0, long: true })) return
    upstream.answer(
      (response) => void response.writeHead(200, { 'content-type': stream.type }).end('\n'.repeat(4 * MEGABYTE)),
    )
    await asked(`${stream.what}: empty lines`, stream.path, JSON.stringify({ ...stream.request, stream: true }))
  })
}

for (const [index, [door, ask]] of DOORS.entries()) {
  test(`no stall above ${STALL_MS_MAX} ms of CPU for a stream to a client of another protocol: ${door}`, async () => {
    const chats = STREAMS.filter(({ path }) => path === '/v1/chat/completions')
    for (const [place, stream] of chats.entries()) {
      if (!formed({ short: place === index, long: true })) continue
      const bodies = [
        Array.from({ length: DELTAS }, (_value, at) =>
          stream.written(at % 2 === 0 ? stream.text('x') : stream.tool('x')),
        ),
        [stream.text(LONG), stream.tool(LONG), stream.text(LONG), stream.tool(LONG)].map(stream.written),
      ]
      for (const events of formed({ short: bodies.slice(index % 2, (index % 2) + 1), long: bodies })) {
        const bytes = Buffer.concat([...stream.begin.map(stream.written), ...events])
        upstream.answer((response) => void response.writeHead(200, { 'content-type': stream.type }).end(bytes))
        const [path, body] = ask(String(stream.request['model']))
        await asked(`${stream.what} by ${door}`, path, JSON.stringify(body))
      }
    }
  })
}

/** As long as a list of pictures, or a transcript, may be. */
const PICTURE = Buffer.alloc(4_000_000, 'abc\x89\xfe').toString('base64')
const LISTED: readonly (readonly [what: string, field: string])[] = [
  ['in base64', `"b64_json":"${PICTURE}"`],
  ['as data URLs', `"url":"data:image/png;base64,${PICTURE}"`],
  ['with escapes', `"b64_json":"${'\\/\\n'.repeat(1_300_000)}AA"`],
]

for (const [what, field] of formed({ short: LISTED.slice(0, 1), long: LISTED })) {
  test(`no stall above ${STALL_MS_MAX} ms of CPU by ten pictures of 5 MB ${what}, in the answer, as events and by address`, async () => {
    const bytes = Buffer.from(`{"data":[${many(`{${field}}`, 10)}]}`)
    upstream.answer((response) => void response.writeHead(200, JSON_HEAD).end(bytes))
    for (const fields of [{}, { stream: true }, { response_format: 'url' }]) {
      const { status, text } = await asked(
        `pictures ${what}, ${JSON.stringify(fields)}`,
        '/v1/images/generations',
        JSON.stringify({ model: 'test/picture', prompt: 'x', n: 10, response_format: 'b64_json', ...fields }),
      )
      assert.equal(status, 200, text.slice(0, 300))
      assert.equal(text.split('"media_type"').length - 1, 10)
    }
  })
}

test(`no stall above ${STALL_MS_MAX} ms of CPU by a transcript as long as may be, which a client gets twice; a longer one is none`, async () => {
  const input = { data: wavFile(0.1).toString('base64'), format: 'wav' }
  const body = { model: 'test/whisper-1', input_audio: input }
  const said = (count: number): void =>
    upstream.answer(
      (response) =>
        void response.writeHead(200, JSON_HEAD).end(`{"text":"${'слово дом '.repeat(count)}","duration":1}`),
    )
  said(580_000)
  for (const fields of formed<readonly object[]>({
    short: [{ stream: true }],
    long: [{ stream: true }, { response_format: 'verbose_json' }, { response_format: 'vtt' }],
  })) {
    const { status } = await asked('a transcript', '/v1/audio/transcriptions', JSON.stringify({ ...body, ...fields }))
    assert.equal(status, 200)
  }
  said(590_000)
  assert.equal((await asked('a longer one', '/v1/audio/transcriptions', JSON.stringify(body))).status, 502)
})

/** Every worst answer of an upstream, and the name of the client's error. */
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

test(`no stall above ${STALL_MS_MAX} ms of CPU by a million numbers that come through a package`, async () => {
  const vector = `[${Array.from({ length: 32_768 }, (_value, index) => (index - 16_000) / 32_769).join(',')}]`
  const data = numbered(32, (index) => `{"index":${index},"object":"embedding","embedding":${vector}}`)
  upstream.answer(
    (response) =>
      void response.writeHead(200, JSON_HEAD).end(`{"object":"list","data":[${data}],"usage":{"prompt_tokens":32}}`),
  )
  const input = Array.from({ length: 32 }, (_value, index) => `text ${index}`)
  const { status, body } = await asked(
    'a million numbers',
    '/v1/embeddings',
    JSON.stringify({ model: 'test/sdk-vectors', input }),
  )
  assert.equal(status, 200)
  assert.equal(JSON.stringify(body.data?.[31]?.['embedding']), vector)
})

const WITH_LOGPROBS = { logprobs: true, top_logprobs: TOPS, messages: MESSAGES }

test(`no stall above ${STALL_MS_MAX} ms of CPU by the probabilities of 16,000 tokens and 20 others of each, which are passed on`, async () => {
  const logprobs = openaiLogprobs(LISTED_TOKENS)
  const answer = Buffer.from(
    `{"id":"up-1","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"logprobs":${logprobs},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":16000,"total_tokens":16001}}`,
  )
  assert.ok(answer.length > 20 * MEGABYTE)
  upstream.answer((response) => void response.writeHead(200, JSON_HEAD).end(answer))
  const { status, text } = await asked(
    'probabilities',
    '/v1/chat/completions',
    JSON.stringify({ model: 'test/openai', ...WITH_LOGPROBS }),
  )
  assert.equal(status, 200)
  assert.ok(
    text.includes(`"logprobs":${logprobs},"message":{"role":"assistant","content":"x"`) &&
      text.includes('"completion_tokens":16000'),
    text.slice(0, 300),
  )
})

test(`no stall above ${STALL_MS_MAX} ms of CPU for as many probabilities in Gemini's form, which are rewritten`, async () => {
  const answer = Buffer.from(
    `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP","logprobsResult":${geminiLogprobs(LISTED_TOKENS)}}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":16000}}`,
  )
  assert.ok(answer.length > 18 * MEGABYTE)
  upstream.answer((response) => void response.writeHead(200, JSON_HEAD).end(answer))
  const { status, text } = await asked(
    "Gemini's probabilities",
    '/v1/chat/completions',
    JSON.stringify({ model: 'test/gemini', ...WITH_LOGPROBS }),
  )
  assert.equal(status, 200, text.slice(0, 300))
  assert.equal(text.split('"top_logprobs":[{"token":').length - 1, LISTED_TOKENS)
  assert.ok(
    text.includes('"token":" слово","logprob":') && text.includes('"completion_tokens":16000'),
    text.slice(0, 300),
  )
})

test(`no stall above ${STALL_MS_MAX} ms of CPU by probabilities in a stream, in many pieces and in large ones`, async () => {
  const finishes = {
    openai:
      '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}',
    gemini: '{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}]}',
  }
  const piece = {
    openai: (count: number) => `{"choices":[{"index":0,"delta":{"content":"x"},"logprobs":${openaiLogprobs(count)}}]}`,
    gemini: (count: number) =>
      `{"candidates":[{"content":{"parts":[{"text":"x"}]},"logprobsResult":${geminiLogprobs(count)}}]}`,
  }
  for (const name of ['openai', 'gemini'] as const) {
    for (const [count, pieces] of formed({
      short: [[600, 4]] as const,
      long: [
        [1, 2_000],
        [600, 6],
      ] as const,
    })) {
      const events = [
        ...Array.from({ length: pieces }, () => sse(piece[name](count))),
        sse(finishes[name]),
        ...(name === 'openai' ? [sse('[DONE]')] : []),
      ]
      upstream.answer((response) => void response.writeHead(200, EVENTS_HEAD).end(Buffer.concat(events)))
      const { text } = await asked(
        `${name}: ${pieces} pieces`,
        '/v1/chat/completions',
        JSON.stringify({ model: `test/${name}`, stream: true, ...WITH_LOGPROBS }),
      )
      assert.ok(text.endsWith('data: [DONE]\n\n'), text.slice(-500))
      assert.equal(text.split('"top_logprobs":[{"token":').length - 1, count * pieces)
    }
  }
})

test(`no stall above ${STALL_MS_MAX} ms of CPU by a sound of 31 MB`, async () => {
  upstream.answer(
    (response) => void response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(Buffer.alloc(31 * MEGABYTE, 0xff)),
  )
  await asked('speech', '/v1/audio/speech', JSON.stringify({ model: 'test/tts-1', input: 'x', voice: 'alloy' }))
})

for (const [model, accepted, ended, failed] of JOBS) {
  test(`no stall above ${STALL_MS_MAX} ms of CPU for the answers about a video job: ${model}`, async () => {
    const all = [
      failed('a.b-c@d '.repeat(50_000)),
      ended(many('[]', 50_000)),
      failed('\\n'.repeat(400_000)),
      ended(many('{}', 50_000)),
      ended(many('[]', 300_000)),
    ]
    for (const told of formed({ short: all.slice(0, 2), long: all })) {
      upstream.answer(
        (response, { method }) => void response.writeHead(200, JSON_HEAD).end(method === 'POST' ? accepted : told),
      )
      await stalls.watched(`${model}: a video`, async () => {
        const { status, text, body } = await stalls.server.post('/v1/videos', key, {
          model: `test/${model.replace('acme/', '')}`,
          prompt: 'x',
          duration: 4,
        })
        assert.ok(status < 300, text)
        if (told.length > MEGABYTE * 0.8) return
        await until(
          20_000,
          'the job has failed',
          async () => (await stalls.server.get(`/v1/videos?id=${body.id}`, key)).body.status === 'failed',
        )
      })
    }
  })
}

const VERTEX_NAME = 'projects/p/locations/l/publishers/google/models/veo-3/operations/v'

/** The long form sends the whole accepted size; in pieces the main thread has the same work at a time. */
const VIDEO_BYTES = formed({ short: 32, long: 253 }) * MEGABYTE
const PIECES = formed({ short: 30, long: 200 })

/** The answers of Vertex AI to a poll: videos in base64. */
const VERTEX_ANSWERS: readonly (readonly [what: string, status: string, answer: (response: ServerResponse) => void])[] =
  [
    [
      'a video, up to 190 MB',
      'completed',
      (response) => {
        response.write(
          `{"name":"${VERTEX_NAME}","done":true,"response":{"videos":[{"mimeType":"video/mp4","bytesBase64Encoded":"`,
        )
        const piece = Buffer.from('\0\0\0\x20ftypisom'.repeat(87_382)).toString('base64')
        pumped(response, piece, Math.floor(VIDEO_BYTES / piece.length), '"}]}}')
      },
    ],
    [
      'what begins as a video and goes on in escapes',
      'in_progress',
      (response) => {
        response.write(
          `{"name":"${VERTEX_NAME}","done":true,"response":{"videos":[{"bytesBase64Encoded":"${'A'.repeat(80)}`,
        )
        pumped(response, '\\"'.repeat(500_000), PIECES, '')
      },
    ],
    [
      'lists without an end',
      'in_progress',
      (response) => {
        response.write(`{"name":"${VERTEX_NAME}","x":[`)
        pumped(response, '[],'.repeat(300_000), PIECES, '')
      },
    ],
  ]

/** As fast as it is read. */
function pumped(response: ServerResponse, piece: string, count: number, end: string): void {
  let left = count
  const goOn = (): void => {
    while (left > 0) {
      left -= 1
      if (!response.write(piece)) return
    }
    response.end(end)
  }
  response.on('drain', goOn)
  goOn()
}

for (const [what, status, answer] of VERTEX_ANSWERS) {
  test(`no stall above ${STALL_MS_MAX} ms of CPU by the videos inside of an answer: ${what}`, async () => {
    let told = 0
    upstream.answer((response, { path: url }) => {
      response.writeHead(200, JSON_HEAD)
      if (!url.endsWith('fetchPredictOperation')) return void response.end(`{"name":"${VERTEX_NAME}"}`)
      response.on('close', () => (told += 1))
      answer(response)
    })
    await stalls.watched(what, async () => {
      const before = told
      const { body } = await stalls.server.post('/v1/videos', key, { model: 'test/veo-3', prompt: 'x', duration: 4 })
      await until(60_000, 'the provider has told of the job', async () => {
        if (status === 'in_progress') return told > before
        return (await stalls.server.get(`/v1/videos?id=${body.id}`, key)).body.status === status
      })
    })
  })
}
