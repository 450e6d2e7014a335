import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { parseMultipart } from '../../src/http/multipart.ts'
import { mp3Frames, wavFile } from '../harness/audio-files.ts'
import { audioForm } from '../harness/audio-form.ts'
import { patient } from '../harness/patience.ts'
import { startScriptedUpstream, type ScriptedUpstream } from '../harness/scripted-upstream.ts'
import { startTollgate, type Answer, type Tollgate } from '../harness/server.ts'

const WAV = wavFile(2.04)

let first: ScriptedUpstream
let second: ScriptedUpstream
let tollgate: Tollgate
let key: string

before(async () => {
  first = await startScriptedUpstream()
  second = await startScriptedUpstream()
  const price = 'price: { currency: RUB, second: 0.01 }'
  tollgate = await startTollgate({
    catalog: `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  first: { name: First, adapter: openai, base_url: "${first.url}/v1", api_key: canary-first }
  second: { name: Second, adapter: openai, base_url: "${second.url}/v1", api_key: canary-second }
  deepgram: { name: Deepgram, adapter: deepgram, base_url: "${first.url}/v1", api_key: canary-first }
  eleven: { name: Eleven, adapter: elevenlabs, base_url: "${first.url}/v1", api_key: canary-first }
  google: { name: Google, adapter: gemini, base_url: "${first.url}/v1beta", api_key: canary-first }
models:
  - { id: test/whisper, type: transcription, endpoints: [{ provider: first, model: whisper-1, ${price} }] }
  - { id: test/two, type: transcription, endpoints: [{ provider: first, model: whisper-1, ${price} }, { provider: second, model: whisper-large-v3, price: { currency: RUB, second: 0.02 } }] }
  - { id: test/turbo, type: transcription, endpoints: [{ provider: first, model: whisper-large-v3-turbo, ${price} }] }
  - { id: test/gpt, type: transcription, max_completion_tokens: 2000, endpoints: [{ provider: first, model: gpt-4o-transcribe, price: { currency: RUB, prompt: 1, audio: 10, completion: 100 } }] }
  - { id: test/mixed, type: transcription, max_completion_tokens: 2000, endpoints: [{ provider: first, model: gpt-4o-transcribe, ${price} }, { provider: second, model: whisper-1, price: { currency: RUB, second: 9 } }] }
  - { id: test/voxtral, type: transcription, endpoints: [{ provider: first, model: voxtral-mini-latest, ${price} }] }
  - { id: test/deepgram, type: transcription, endpoints: [{ provider: deepgram, model: nova-3, ${price} }] }
  - { id: test/eleven, type: transcription, endpoints: [{ provider: eleven, model: scribe_v1, ${price} }] }
  - { id: test/gemini, type: transcription, max_completion_tokens: 2000, endpoints: [{ provider: google, model: gemini-2.5-flash, price: { currency: RUB, prompt: 1, audio: 10, completion: 100 } }] }
  - { id: test/narrow, type: transcription, endpoints: [{ provider: first, model: whisper-1, supported_parameters: [language], ${price} }] }
`,
  })
  key = (await tollgate.createAccount({ balance: 1_000 })).key
})

after(async () => {
  await tollgate.stop()
  await first.close()
  await second.close()
})

type Fields = Readonly<Record<string, string | readonly string[]>>

function form(
  fields: Fields,
  file: Parameters<typeof audioForm>[1] = { bytes: WAV },
  path = '/v1/audio/transcriptions',
): Promise<Answer> {
  return tollgate.request('POST', path, { key, ...audioForm({ model: 'test/whisper', ...fields }, file) })
}

function json(body: Record<string, unknown>, path = '/v1/audio/transcriptions'): Promise<Answer> {
  return tollgate.request('POST', path, {
    key,
    body: { model: 'test/whisper', input_audio: { data: WAV.toString('base64'), format: 'wav' }, ...body },
  })
}

async function lastLog(): Promise<Record<string, unknown>> {
  return (await tollgate.request('GET', '/v1/generation?limit=1', { key })).body.logs[0]
}

function answers(upstream: ScriptedUpstream, body: unknown, status = 200): void {
  upstream.answer(
    (response) => void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
  )
}

/** The form that the provider got. */
function sentForm(upstream: ScriptedUpstream): {
  path: string
  fields: readonly (readonly [string, string])[]
  file: { fileName: string; contentType: string | null; bytes: Buffer } | null
} {
  const { path, headers, body } = upstream.received.at(-1) ?? assert.fail('nothing was sent')
  return { path, ...parseMultipart(headers['content-type'], body) }
}

function refused(answer: Answer, type: string, message: RegExp): void {
  assert.equal(answer.status, 400, answer.text)
  assert.equal(answer.body.error.metadata.error_type, type, answer.text)
  assert.match(answer.body.error.message, message)
}

const SAID = {
  task: 'transcribe',
  language: 'russian',
  duration: 2.04,
  text: 'Привет, мир.',
  segments: [
    {
      id: 0,
      seek: 0,
      start: 0,
      end: 2.04,
      text: ' Привет, мир.',
      tokens: [50_364],
      temperature: 0,
      avg_logprob: -0.28,
      compression_ratio: 1.1,
      no_speech_prob: 0.01,
    },
  ],
}

test('every wrong request is refused with its own error, in both kinds of body and both kinds of call', async () => {
  const before = first.received.length
  for (const path of ['/v1/audio/transcriptions', '/v1/audio/translations']) {
    const send = (fields: Fields, file?: Parameters<typeof audioForm>[1]): Promise<Answer> => form(fields, file, path)
    refused(
      await tollgate.request('POST', path, { key, ...audioForm({}, { bytes: WAV }) }),
      'missing_model',
      /'model' is required/,
    )
    refused(await send({}, null), 'file_upload_error', /^File upload failed: the form has no file in field 'file'$/)
    refused(await send({}, { bytes: Buffer.alloc(0) }), 'file_upload_error', /the file is empty/)
    refused(
      await send({ response_format: 'xml' }),
      'invalid_response_format',
      /one of json, text, srt, verbose_json, vtt, got 'xml'/,
    )
    for (const temperature of ['1.01', '-0.1', 'warm', '1e400'])
      refused(await send({ temperature }), 'invalid_input', /^temperature: must be between 0 and 1/)
    refused(
      await send({ timestamp_granularities: 'syllable' }),
      'invalid_input',
      /^timestamp_granularities: must be word, segment or both, got 'syllable'/,
    )
    refused(await send({ 'timestamp_granularities[]': ['word', 'x'] }), 'invalid_input', /got 'x'/)
    refused(await send({ stream: 'true' }), 'streaming_not_supported', /Streaming is not supported by audio\//)
    refused(await send({ model: 'test/none' }), 'model_not_found', /not found/)
    refused(await send({ model: 'sandbox/chat' }), 'model_not_supported', /Supported: chat\/completions/)
    refused(await json({ model: '' }, path), 'missing_model', /'model' is required/)
    refused(await json({ input_audio: undefined }, path), 'missing_input', /'input_audio.data' is required/)
    refused(await json({ input_audio: { format: 'wav' } }, path), 'missing_input', /'input_audio.data' is required/)
    refused(await json({ input_audio: { data: 'AAAA' } }, path), 'missing_input', /'input_audio.format' is required/)
    refused(await json({ input_audio: 'AAAA' }, path), 'invalid_input', /^input_audio: must be an object/)
    for (const data of ['!!!!', 'AAAAA', 'AA=A', 'AAAA====', '====', 'data:audio/wav;base64,', 'AA-_'])
      refused(
        await json({ input_audio: { data, format: 'wav' } }, path),
        'invalid_base64',
        /^input_audio.data is not valid base64$/,
      )
    refused(await json({ temperature: '0' }, path), 'invalid_input', /^temperature/)
    refused(await json({ timestamp_granularities: 5 }, path), 'invalid_input', /^timestamp_granularities/)
    refused(await json({ response_format: 5 }, path), 'invalid_response_format', /one of json/)
    refused(await json({ stream: true }, path), 'streaming_not_supported', /audio\//)
    refused(await json({ language: 5 }, path), 'invalid_input', /^language: must be a string/)
  }
  assert.equal(first.received.length, before)
  assert.equal((await tollgate.request('GET', '/v1/generation', { key })).body.total, 0)
})

test('the corpus of broken forms: each is a 400 in a moment, and another type of body a 415', async () => {
  const part = (name: string, value: string): string =>
    `--x\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const file = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\nsound\r\n'
  const zipped = Buffer.concat([
    Buffer.from(
      `${part('model', 'test/whisper')}--x\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\n\r\n`,
    ),
    Buffer.from('PK\u0003\u0004'),
    Buffer.alloc(1_000),
    Buffer.from('\r\n--x--'),
  ])
  const corpus: readonly (readonly [Buffer | string, RegExp, string?])[] = [
    [part('a', '1').repeat(10_000), /more than 20 parts/],
    [`--x\r\nX: ${'h'.repeat(1_048_576)}\r\n\r\n\r\n--x--`, /not complete within 8192 bytes/],
    [
      `--x\r\nContent-Disposition: form-data; name="file"\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n--y--\r\n--x--`,
      /parts inside a part/,
    ],
    [part('model', 'test/whisper') + file, /final boundary is missing/],
    [`${file}${file}--x--`, /more than one file/],
    ['', /does not hold its boundary/],
    ['--x', /does not hold its boundary|ends inside|final boundary/],
    [file, /boundary must be/, 'b'.repeat(71)],
    [file, /names no boundary/, ''],
  ]
  for (const [body, what, boundary = 'x'] of corpus) {
    const startedMs = performance.now()
    const answer = await tollgate.request('POST', '/v1/audio/transcriptions', {
      key,
      body: Buffer.from(body),
      headers: {
        'content-type': boundary === '' ? 'multipart/form-data' : `multipart/form-data; boundary=${boundary}`,
      },
    })
    refused(answer, 'file_upload_error', what)
    assert.ok(performance.now() - startedMs < patient(1_000))
  }
  answers(first, SAID)
  const unpacked = await tollgate.request('POST', '/v1/audio/transcriptions', {
    key,
    body: zipped,
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  })
  assert.equal(unpacked.status, 200)
  assert.equal(sentForm(first).file?.bytes.length, 1_004)
  for (const type of ['text/plain', 'application/octet-stream', 'multipart/mixed; boundary=x']) {
    const answer = await tollgate.request('POST', '/v1/audio/transcriptions', {
      key,
      body: 'x',
      headers: { 'content-type': type },
    })
    assert.equal(answer.status, 415)
    assert.match(answer.body.error.message, /Only application\/json and multipart\/form-data are allowed/)
  }
})

test('10 MB is the end of both kinds of body', async () => {
  answers(first, SAID)
  const empty = audioForm({ model: 'test/whisper' }, { bytes: Buffer.alloc(0), name: 'a.mp3' }).body.length
  assert.equal((await form({}, { bytes: Buffer.alloc(10_485_760 - empty), name: 'a.mp3' })).status, 200)
  const over = await form({}, { bytes: Buffer.alloc(10_485_761 - empty), name: 'a.mp3' })
  assert.deepEqual([over.status, over.body.error.metadata.error_type], [413, 'request_too_large'])
})

test('json, the default: text, and the price of its seconds rounded up to a tenth', async () => {
  answers(first, SAID)
  const answer = await form({})
  assert.deepEqual(answer.body, {
    text: 'Привет, мир.',
    usage: { type: 'duration', seconds: 2.1, cost: 0.021, currency: 'RUB' },
  })
  const log = await lastLog()
  assert.deepEqual(
    [log['type'], log['status'], log['total_cost'], log['billing_basis'], log['provider_name']],
    ['transcription', 'completed', 0.021, 'provider_usage', 'First'],
  )
})

test('verbose_json, text, srt and vtt', async () => {
  answers(first, SAID)
  const { body: verbose } = await form({ response_format: 'verbose_json' })
  assert.deepEqual(verbose, { ...SAID, usage: { type: 'duration', seconds: 2.1, cost: 0.021, currency: 'RUB' } })
  const text = await form({ response_format: 'text' })
  assert.deepEqual([text.text, text.headers['content-type']], ['Привет, мир.', 'text/plain; charset=utf-8'])
  assert.equal((await form({ response_format: 'srt' })).text, '1\n00:00:00,000 --> 00:00:02,040\nПривет, мир.\n\n')
  assert.equal(
    (await form({ response_format: 'vtt' })).text,
    'WEBVTT\n\n00:00:00.000 --> 00:00:02.040\nПривет, мир.\n\n',
  )
  assert.match((await form({ response_format: 'vtt' })).headers['x-generation-id'] ?? '', /^gen-/)
})

test('granularities in all their spellings, which only verbose_json looks at', async () => {
  answers(first, {
    ...SAID,
    words: [
      { word: 'Привет', start: 0, end: 0.6 },
      { word: 'мир', start: 0.7, end: 1.1 },
    ],
  })
  const asked = (): string[] =>
    sentForm(first).fields.flatMap(([name, value]) => (name === 'timestamp_granularities[]' ? [value] : []))
  const both: readonly (() => Promise<Answer>)[] = [
    () => form({ response_format: 'verbose_json', timestamp_granularities: 'segment, word' }),
    () => form({ response_format: 'verbose_json', timestamp_granularities: ['word', 'segment'] }),
    () => form({ response_format: 'verbose_json', 'timestamp_granularities[]': ['word', 'segment'] }),
    () => form({ response_format: 'verbose_json', timestamp_granularities: '["word","segment"]' }),
    () => json({ response_format: 'verbose_json', timestamp_granularities: ['word', 'segment'] }),
    () => json({ response_format: 'verbose_json', timestamp_granularities: 'word,segment' }),
  ]
  for (const send of both) {
    const { body } = await send()
    assert.deepEqual([body.segments.length, body.words.length], [1, 2])
    assert.deepEqual(asked(), ['word', 'segment'])
  }
  const words = await form({ response_format: 'verbose_json', 'timestamp_granularities[]': 'word' })
  assert.deepEqual([words.body.segments, words.body.words.length], [undefined, 2])
  assert.deepEqual(asked(), ['word'])
  await form({ response_format: 'srt', 'timestamp_granularities[]': 'word' })
  assert.deepEqual(asked(), ['segment'])
  assert.deepEqual((await form({ 'timestamp_granularities[]': 'word' })).body.words, undefined)
  assert.deepEqual(asked(), [])
})

test('what OpenAI gets: a form of our own, verbose_json whatever the client reads, and nothing else of the client', async () => {
  answers(first, SAID)
  await form(
    { language: 'ru', prompt: 'Мир', temperature: '0.2', user: 'me', extra: '1' },
    { bytes: WAV, name: 'мой "звук".WAV' },
  )
  const sent = sentForm(first)
  assert.equal(sent.path, '/v1/audio/transcriptions')
  assert.deepEqual(sent.fields, [
    ['model', 'whisper-1'],
    ['response_format', 'verbose_json'],
    ['language', 'ru'],
    ['prompt', 'Мир'],
    ['temperature', '0.2'],
  ])
  assert.deepEqual([sent.file?.fileName, sent.file?.contentType], ['audio.wav', 'audio/wav'])
  assert.ok(sent.file?.bytes.equals(WAV))
  await json({
    input_audio: { data: `data:audio/wav;base64,${WAV.toString('base64').replace(/(.{76})/g, '$1\n')}`, format: 'WAV' },
  })
  assert.ok(sentForm(first).file?.bytes.equals(WAV))
  await form({ model: 'test/narrow', language: 'ru', prompt: 'Мир', temperature: '0.2' })
  assert.deepEqual(sentForm(first).fields, [
    ['model', 'whisper-1'],
    ['response_format', 'verbose_json'],
    ['language', 'ru'],
  ])
})

test('what a file is: its name, then its type, then its bytes', async () => {
  answers(first, SAID)
  const named = async (file: Parameters<typeof audioForm>[1]): Promise<string | undefined> => {
    assert.equal((await form({}, file)).status, 200)
    return sentForm(first).file?.fileName
  }
  assert.equal(await named({ bytes: WAV, name: 'a.mp3', type: 'audio/wav' }), 'audio.mp3')
  assert.equal(await named({ bytes: WAV, name: 'blob', type: 'audio/webm' }), 'audio.webm')
  assert.equal(await named({ bytes: mp3Frames(10), name: 'blob' }), 'audio.mp3')
  assert.equal(await named({ bytes: WAV, name: '../../a.exe\\"' }), 'audio.wav')
  assert.equal(await named({ bytes: Buffer.from('what?'), name: 'x.strange' }), 'audio.strange')
})

test('translations: the same in English, without a language upstream, where the model can', async () => {
  answers(first, { task: 'translate', language: 'english', duration: 2.04, text: 'Hello.', segments: [] })
  const answer = await form(
    { response_format: 'verbose_json', language: 'ru', 'timestamp_granularities[]': 'segment' },
    { bytes: WAV },
    '/v1/audio/translations',
  )
  assert.deepEqual([answer.body.task, answer.body.language, answer.body.text], ['translate', 'english', 'Hello.'])
  assert.equal(sentForm(first).path, '/v1/audio/translations')
  assert.deepEqual(sentForm(first).fields, [
    ['model', 'whisper-1'],
    ['response_format', 'verbose_json'],
  ])
  assert.equal((await lastLog())['type'], 'translation')
  for (const model of ['test/turbo', 'test/gpt', 'test/voxtral', 'test/deepgram', 'test/eleven']) {
    refused(
      await form({ model }, { bytes: WAV }, '/v1/audio/translations'),
      'model_not_supported',
      /does not support audio\/translations. Supported: audio\/transcriptions/,
    )
  }
})

test('a model without times: json and text only, asked in json, charged by its tokens', async () => {
  for (const format of ['srt', 'vtt', 'verbose_json'])
    refused(
      await form({ model: 'test/gpt', response_format: format }),
      'invalid_response_format',
      new RegExp(`tells no times, which ${format} needs`),
    )
  answers(first, {
    text: 'Hi.',
    usage: {
      type: 'tokens',
      input_tokens: 24,
      input_token_details: { text_tokens: 4, audio_tokens: 20 },
      output_tokens: 3,
      total_tokens: 27,
    },
  })
  const answer = await form({ model: 'test/gpt', prompt: 'Names: Bob' })
  assert.deepEqual(answer.body, {
    text: 'Hi.',
    usage: {
      type: 'tokens',
      input_tokens: 24,
      output_tokens: 3,
      total_tokens: 27,
      seconds: 2.1,
      cost: 0.000504,
      currency: 'RUB',
    },
  })
  assert.deepEqual(sentForm(first).fields, [
    ['model', 'gpt-4o-transcribe'],
    ['response_format', 'json'],
    ['prompt', 'Names: Bob'],
  ])
  const log = await lastLog()
  assert.deepEqual([log['input_tokens'], log['output_tokens'], log['total_cost']], [24, 3, 0.000504])
})

test('times are asked of the provider that has them, whatever it costs', async () => {
  answers(first, { text: 'from first' })
  answers(second, { ...SAID, text: 'from second' })
  assert.equal((await form({ model: 'test/mixed', provider: '{"order":["first"]}' })).body.text, 'from first')
  assert.equal((await form({ model: 'test/mixed', response_format: 'srt' })).status, 200)
  assert.equal((await lastLog())['provider_name'], 'Second')
})

test('Mistral: no formats, times only when they are asked for, and then without a language', async () => {
  answers(first, {
    model: 'voxtral',
    text: 'Hi there.',
    language: null,
    segments: [{ text: 'Hi there.', start: 0.1, end: 1.9, type: 'transcription_segment' }],
    usage: { prompt_audio_seconds: 3, prompt_tokens: 4, completion_tokens: 5 },
  })
  assert.deepEqual((await form({ model: 'test/voxtral', language: 'en', prompt: 'x' })).body.usage, {
    type: 'duration',
    seconds: 2.1,
    cost: 0.021,
    currency: 'RUB',
  })
  assert.deepEqual(sentForm(first).fields, [
    ['model', 'voxtral-mini-latest'],
    ['language', 'en'],
  ])
  assert.equal(
    (await form({ model: 'test/voxtral', language: 'en', response_format: 'vtt' })).text,
    'WEBVTT\n\n00:00:00.100 --> 00:00:01.900\nHi there.\n\n',
  )
  assert.deepEqual(sentForm(first).fields, [
    ['model', 'voxtral-mini-latest'],
    ['timestamp_granularities', 'segment'],
  ])
})

test('Deepgram: the sound as the body, the rest in the address; JSON of a client becomes bytes', async () => {
  const answer = {
    metadata: { request_id: 'dg-1', duration: 2.04 },
    results: {
      channels: [
        {
          detected_language: 'en',
          alternatives: [
            {
              transcript: 'Hello. World.',
              words: [
                { word: 'hello', punctuated_word: 'Hello.', start: 0.1, end: 0.5 },
                { word: 'world', punctuated_word: 'World.', start: 0.9, end: 1.4 },
              ],
            },
          ],
        },
      ],
      utterances: [
        { start: 0.1, end: 0.5, transcript: 'Hello.' },
        { start: 0.9, end: 1.4, transcript: 'World.' },
      ],
    },
  }
  answers(first, answer)
  const { body } = await json({
    model: 'test/deepgram',
    response_format: 'verbose_json',
    timestamp_granularities: ['word', 'segment'],
    temperature: 0.3,
  })
  assert.deepEqual(
    [body.text, body.language, body.duration, body.segments[1].text, body.words[0].word],
    ['Hello. World.', 'en', 2.04, 'World.', 'Hello.'],
  )
  const { path, headers, body: sent } = first.received.at(-1) ?? assert.fail()
  assert.equal(path, '/v1/listen?model=nova-3&smart_format=true&utterances=true&detect_language=true')
  assert.deepEqual([headers['content-type'], headers.authorization], ['audio/wav', 'Token canary-first'])
  assert.ok(sent.equals(WAV))
  await form({ model: 'test/deepgram', language: 'de' })
  assert.match(first.received.at(-1)?.path ?? '', /&language=de$/)
})

test('ElevenLabs: a form of its own names; segments are made of its words', async () => {
  const words = ['It', ' ', 'works.', ' ', 'Well', ' ', 'enough.', '(laughs)'].map((text, index) => ({
    text,
    start: index * 0.2,
    end: index * 0.2 + 0.2,
    type: text === ' ' ? 'spacing' : text.startsWith('(') ? 'audio_event' : 'word',
  }))
  answers(first, { language_code: 'eng', text: 'It works. Well enough.', words })
  assert.equal(
    (await form({ model: 'test/eleven', response_format: 'srt', language: 'en', temperature: '0' })).text,
    '1\n00:00:00,000 --> 00:00:00,600\nIt works.\n\n2\n00:00:00,800 --> 00:00:01,400\nWell enough.\n\n',
  )
  assert.deepEqual(sentForm(first).fields, [
    ['model_id', 'scribe_v1'],
    ['tag_audio_events', 'false'],
    ['timestamps_granularity', 'word'],
    ['language_code', 'en'],
    ['temperature', '0'],
  ])
  assert.deepEqual(
    [sentForm(first).path, first.received.at(-1)?.headers['xi-api-key']],
    ['/v1/speech-to-text', 'canary-first'],
  )
  const log = await lastLog()
  assert.deepEqual([log['total_cost'], log['billing_basis']], [0.021, 'counted'])
  answers(first, { detail: { status: 'invalid_file', message: 'The file is no sound' } }, 400)
  refused(await form({ model: 'test/eleven' }), 'invalid_input', /^The file is no sound$/)
})

test('Gemini: the form of a client becomes base64 in a prompt, charged by the tokens of the sound', async () => {
  answers(first, {
    responseId: 'g-1',
    candidates: [{ content: { parts: [{ text: 'Hmm', thought: true }, { text: 'Hello.\n' }] }, finishReason: 'STOP' }],
    usageMetadata: {
      promptTokenCount: 104,
      promptTokensDetails: [
        { modality: 'AUDIO', tokenCount: 64 },
        { modality: 'TEXT', tokenCount: 40 },
      ],
      candidatesTokenCount: 3,
    },
  })
  const answer = await form(
    { model: 'test/gemini', language: 'de', prompt: 'ignore "this"', temperature: '0.5' },
    { bytes: WAV },
    '/v1/audio/translations',
  )
  assert.deepEqual(answer.body, {
    text: 'Hello.',
    usage: {
      type: 'tokens',
      input_tokens: 104,
      output_tokens: 3,
      total_tokens: 107,
      seconds: 2.1,
      cost: 0.00098,
      currency: 'RUB',
    },
  })
  const sent = first.requests.at(-1)
  assert.equal(first.received.at(-1)?.path, '/v1beta/models/gemini-2.5-flash:generateContent')
  assert.deepEqual(sent?.['contents'], [
    { role: 'user', parts: [{ inlineData: { mimeType: 'audio/wav', data: WAV.toString('base64') } }] },
  ])
  assert.deepEqual(sent?.['generationConfig'], {
    temperature: 0.5,
    maxOutputTokens: 2_000,
    thinkingConfig: { thinkingBudget: 0 },
  })
  assert.match(JSON.stringify(sent?.['systemInstruction']), /translated into English.*\\"de\\".*ignore/s)
  refused(await form({ model: 'test/gemini', response_format: 'srt' }), 'invalid_response_format', /tells no times/)
  answers(first, { promptFeedback: { blockReason: 'SAFETY' } })
  refused(await form({ model: 'test/gemini' }), 'content_filtered', /refused the recording/)
  assert.equal((await lastLog())['total_cost'], 0)
})

test('free on failure: the next provider is asked, and where all fail nothing is charged', async () => {
  answers(first, { error: { message: 'overloaded' } }, 503)
  answers(second, SAID)
  assert.equal((await form({ model: 'test/two' })).body.usage.cost, 0.042)
  for (const [status, body] of [
    [500, { error: { message: 'https://secret.internal sk-canary1234' } }],
    [200, { error: { message: 'no', code: 'x' } }],
    [200, { nothing: true }],
    [200, 'text'],
  ] as const) {
    answers(first, body, status)
    answers(second, body, status)
    const answer = await form({ model: 'test/two' })
    assert.equal(answer.status, 502, answer.text)
    assert.doesNotMatch(answer.text, /secret|canary/)
    const log = await lastLog()
    assert.deepEqual([log['status'], log['total_cost'], log['type']], ['error', 0, 'transcription'])
  }
  answers(first, { error: { message: 'Invalid file format.' } }, 400)
  refused(await form({}), 'invalid_input', /^Invalid file format\.$/)
})

test('silence has no words, and was heard all the same', async () => {
  answers(first, { text: '', duration: 2.04, segments: [] })
  const answer = await form({})
  assert.deepEqual([answer.status, answer.body.text, answer.body.usage.cost], [200, '', 0.021])
  assert.equal((await form({ response_format: 'vtt' })).text, 'WEBVTT\n\n')
})

test('a length that lies: a file that hides its own is charged by the provider, a provider that invents one is cut down and flagged', async () => {
  const lying = wavFile(0.1)
  answers(first, { text: 'long', usage: { type: 'duration', seconds: 40 } })
  assert.equal((await form({}, { bytes: lying })).body.usage.seconds, 40)
  answers(first, { text: 'long', segments: [{ start: 30, end: 35.5, text: 'long' }] })
  assert.equal((await form({}, { bytes: lying })).body.usage.seconds, 35.5)
  answers(first, { text: 'x', duration: 2_000_000 })
  assert.equal((await form({}, { bytes: lying })).body.usage.seconds, 60.1)
  answers(first, { text: 'x', duration: '9' })
  assert.equal((await form({}, { bytes: lying })).body.usage.seconds, 9)
  for (const duration of [-1, Number.MAX_VALUE, 'nine', null]) {
    answers(first, { text: 'x', duration })
    assert.equal((await form({}, { bytes: lying })).body.usage.seconds, 0.1)
  }
})

test('402: held by the longer of what the container says and what its bytes can hold', async () => {
  const poor = await tollgate.createAccount({ balance: 0.1 })
  const ask = (bytes: Buffer): Promise<Answer> =>
    tollgate.request('POST', '/v1/audio/transcriptions', {
      key: poor.key,
      ...audioForm({ model: 'test/whisper' }, { bytes, name: 'a.mp3' }),
    })
  const long = await ask(wavFile(10.01, { rate: 8_000 }))
  assert.deepEqual([long.status, long.body.error.metadata.required], [402, 0.101])
  const unknown = await ask(Buffer.alloc(20_001))
  assert.deepEqual([unknown.status, unknown.body.error.metadata.required], [402, 0.401])
  const hiding = wavFile(36_000, { rate: 25, declared: 100 })
  const hidden = await ask(hiding)
  assert.deepEqual(
    [hidden.status, hidden.body.error.metadata.required],
    [402, 360],
    'ten hours in a file that says a moment',
  )
  answers(first, { text: 'ok' })
  assert.equal((await ask(wavFile(10, { rate: 8_000 }))).body.usage.cost, 0.1)
})

test('the sandbox hears on a fresh machine, of the length and the format alone', async () => {
  const model = 'sandbox/transcription'
  const answer = await form({ model })
  assert.deepEqual(answer.body, {
    text: 'Hello from the sandbox. You sent 2 seconds of wav.',
    usage: { type: 'duration', seconds: 2.1, cost: 0.021, currency: 'RUB' },
  })
  assert.deepEqual((await json({ model })).body, answer.body)
  assert.equal(
    (await form({ model, response_format: 'srt' }, { bytes: WAV }, '/v1/audio/translations')).text.split('\n')[2],
    'Hello from the sandbox, in English.',
  )
  assert.equal((await form({ model, prompt: 'sandbox: words=3' })).body.text, 'word1 word2 word3')
  assert.equal((await form({ model, prompt: 'sandbox: status=503' })).status, 503)
  assert.equal((await form({ model, prompt: 'sandbox: error=1' })).status, 502)
})

test('the list of models tells the price of a second and both endpoints', async () => {
  const { body } = await tollgate.request('GET', '/v1/transcriptions/models', { key })
  const record = body.data.find(({ id }: { id: string }) => id === 'test/whisper')
  assert.deepEqual(
    [record.supported_endpoints, record.pricing.per_second, record.architecture.modality],
    [['audio/transcriptions', 'audio/translations'], '0.01', 'audio->transcription'],
  )
})

test('after all of it the books are right, and no key has been told', async () => {
  const audit = await tollgate.admin('GET', '/admin/v1/audit')
  assert.equal(audit.body.violations, 0, audit.text)
  assert.doesNotMatch(tollgate.logs().join('\n') + tollgate.errors(), /canary-/)
  assert.equal((await tollgate.request('GET', '/v1/user/balance', { key })).body.reserved, 0)
})
