import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mp3Frames, wavFile, wavOf, audioForm } from '../harness/audio-files.ts'
import type { Answer } from '../harness/gateway.ts'
import { patient } from '../harness/patience.ts'
import {
  WAV,
  first,
  tollgate,
  key,
  type Fields,
  form,
  json,
  lastLog,
  answers,
  sentForm,
  SAID,
  serveTranscription,
} from './audio-world.ts'
import { badRequest, refused } from '../harness/refused.ts'

await serveTranscription()

test('every wrong request is refused with its own error, in both kinds of body and both kinds of call', async () => {
  const before = first.received.length
  for (const path of ['/v1/audio/transcriptions', '/v1/audio/translations']) {
    const send = (fields: Fields, file?: Parameters<typeof audioForm>[1]): Promise<Answer> => form(fields, file, path)
    badRequest(
      await tollgate.request('POST', path, { key, ...audioForm({}, { bytes: WAV }) }),
      'missing_model',
      /'model' is required/,
    )
    badRequest(await send({}, null), 'file_upload_error', /^File upload failed: the form has no file in field 'file'$/)
    badRequest(await send({}, { bytes: Buffer.alloc(0) }), 'file_upload_error', /the file is empty/)
    badRequest(
      await send({ response_format: 'xml' }),
      'invalid_response_format',
      /one of json, text, srt, verbose_json, vtt(, diarized_json)?, got 'xml'/,
    )
    for (const temperature of ['1.01', '-0.1', 'warm', '1e400'])
      badRequest(await send({ temperature }), 'invalid_input', /^temperature: must be between 0 and 1/)
    badRequest(
      await send({ timestamp_granularities: 'syllable' }),
      'invalid_input',
      /^timestamp_granularities: must be word, segment or both, got 'syllable'/,
    )
    badRequest(await send({ 'timestamp_granularities[]': ['word', 'x'] }), 'invalid_input', /got 'x'/)
    badRequest(await send({ model: 'test/none' }), 'model_not_found', /not found/)
    badRequest(await send({ model: 'sandbox/chat' }), 'model_not_supported', /Supported: chat\/completions/)
    badRequest(await json({ model: '' }, path), 'missing_model', /'model' is required/)
    badRequest(await json({ input_audio: undefined }, path), 'missing_input', /'input_audio.data' is required/)
    badRequest(await json({ input_audio: { format: 'wav' } }, path), 'missing_input', /'input_audio.data' is required/)
    badRequest(await json({ input_audio: { data: 'AAAA' } }, path), 'missing_input', /'input_audio.format' is required/)
    badRequest(await json({ input_audio: 'AAAA' }, path), 'invalid_input', /^input_audio: must be an object/)
    for (const data of ['!!!!', 'AAAAA', 'AA=A', 'AAAA====', '====', 'data:audio/wav;base64,', 'AA-_'])
      badRequest(
        await json({ input_audio: { data, format: 'wav' } }, path),
        'invalid_base64',
        /^input_audio.data is not valid base64$/,
      )
    badRequest(await json({ temperature: '0' }, path), 'invalid_input', /^temperature/)
    badRequest(await json({ timestamp_granularities: 5 }, path), 'invalid_input', /^timestamp_granularities/)
    badRequest(await json({ response_format: 5 }, path), 'invalid_response_format', /one of json/)
    badRequest(await json({ stream: 'yes' }, path), 'invalid_input', /^stream: must be a boolean/)
    badRequest(await json({ language: 5 }, path), 'invalid_input', /^language: must be a string/)
  }
  assert.equal(first.received.length, before)
  assert.equal((await tollgate.get('/v1/generation', key)).body.total, 0)
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
    badRequest(answer, 'file_upload_error', what)
    assert.ok(performance.now() - startedMs < patient(1_000))
  }
  answers(first, SAID)
  const unpacked = await tollgate.request('POST', '/v1/audio/transcriptions', {
    key,
    body: zipped,
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  })
  badRequest(unpacked, 'file_upload_error', /the file is no sound/)
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
  assert.equal((await form({}, { bytes: wavOf(10_485_760 - empty), name: 'a.mp3' })).status, 200)
  const over = await form({}, { bytes: wavOf(10_485_761 - empty), name: 'a.mp3' })
  refused(over, 413, 'request_too_large')
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
  assert.equal(await named({ bytes: WAV, name: 'x.strange' }), 'audio.wav')
})

test('a silent recording has no words and is charged for its length', async () => {
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
  const isFlagged = async (id: string | undefined): Promise<unknown> =>
    (await tollgate.admin('GET', '/admin/v1/generations?flagged=true&limit=100')).text.includes(id ?? assert.fail())
  // A duration that is unreadable or impossible: that of the file is charged, and the answer is flagged.
  for (const [said, flagged] of [
    [{ duration: -1 }, true],
    [{ duration: Number.MAX_VALUE }, true],
    [{ duration: 2_678_401 }, true],
    [{ duration: 'nine' }, true],
    [{ usage: { seconds: {} } }, true],
    [{ duration: null }, false],
    [{}, false],
  ] as const) {
    answers(first, { text: 'x', ...said })
    const answer = await form({}, { bytes: lying })
    assert.equal(answer.body.usage.seconds, 0.1)
    assert.equal(
      await isFlagged(answer.headers['x-generation-id'] as string | undefined),
      flagged,
      JSON.stringify(said),
    )
  }
})

test('402: held by the length of the file, or by its bytes at 8 kbit/s where it says less than they can be', async () => {
  const poor = await tollgate.createAccount({ balance: 0.1 })
  const ask = (bytes: Buffer): Promise<Answer> =>
    tollgate.request('POST', '/v1/audio/transcriptions', {
      key: poor.key,
      ...audioForm({ model: 'test/whisper' }, { bytes, name: 'a.mp3' }),
    })
  const long = await ask(wavFile(10.01, { rate: 8_000 }))
  assert.deepEqual([long.status, long.body.error.metadata.required], [402, 0.101])
  const unknown = wavFile(0.75)
  unknown.writeUInt16LE(0x99, 20)
  const coded = await ask(unknown)
  assert.deepEqual([coded.status, coded.body.error.metadata.required], [402, 0.241])
  const hidden = await ask(wavFile(36_000, { rate: 25, declared: 100 }))
  assert.deepEqual(
    [hidden.status, hidden.body.error.metadata.required],
    [402, 360.009],
    'ten hours in a file that says a moment',
  )
  answers(first, { text: 'ok' })
  assert.equal((await ask(wavFile(10, { rate: 8_000 }))).body.usage.cost, 0.1)
})

test('the sandbox transcribes without a provider: its words depend only on the length and the format', async () => {
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
  const { body } = await tollgate.get('/v1/transcriptions/models', key)
  const record = body.data.find(({ id }: { id: string }) => id === 'test/whisper')
  assert.deepEqual(
    [record.supported_endpoints, record.pricing.per_second, record.architecture.modality],
    [['audio/transcriptions', 'audio/translations'], '0.01', 'audio->transcription'],
  )
})

test('after all of it nothing is held, and no key has been told', async () => {
  assert.doesNotMatch(tollgate.logs().join('\n'), /canary-/)
  assert.equal((await tollgate.get('/v1/user/balance', key)).body.reserved, 0)
})
