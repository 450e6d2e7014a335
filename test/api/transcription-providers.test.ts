import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WAV, first, second, form, json, lastLog, answers, sentForm, SAID, serveTranscription } from './audio-world.ts'
import { wavFile } from '../harness/audio-files.ts'
import { badRequest } from '../harness/refused.ts'

await serveTranscription()

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
    badRequest(
      await form({ model }, { bytes: WAV }, '/v1/audio/translations'),
      'model_not_supported',
      /does not support audio\/translations. Supported: audio\/transcriptions/,
    )
  }
})

test('a model without times: json and text only, asked in json, charged by its tokens', async () => {
  for (const format of ['srt', 'vtt', 'verbose_json'])
    badRequest(
      await form({ model: 'test/gpt', response_format: format }),
      'invalid_response_format',
      new RegExp(`gives no times, which ${format} needs`),
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

test('Deepgram: speech of several languages costs more than the row says, and is refused before anything is sent', async () => {
  answers(first, {})
  const before = first.received.length
  for (const language of ['multi', 'Multi', ' multi '])
    badRequest(
      await form({ model: 'test/deepgram', language }),
      'invalid_input',
      /^language: '.*' costs more than the price of model 'test\/deepgram' covers\. Allowed: the code of one language/,
    )
  assert.equal(first.received.length, before)
  // Other providers decide by themselves whether they know it.
  answers(second, SAID)
  answers(first, SAID)
  assert.equal((await form({ model: 'test/whisper', language: 'multi' })).status, 200)
})

test('ElevenLabs: a form with other names; segments are made of its words', async () => {
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
  badRequest(await form({ model: 'test/eleven' }), 'invalid_input', /^The file is no sound$/)
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
  badRequest(await form({ model: 'test/gemini', response_format: 'srt' }), 'invalid_response_format', /gives no times/)
  answers(first, { promptFeedback: { blockReason: 'SAFETY' } })
  badRequest(await form({ model: 'test/gemini' }), 'content_filtered', /refused the recording/)
  assert.equal((await lastLog())['total_cost'], 0)
})

const CLIP = `data:audio/wav;base64,${WAV.toString('base64')}`
const SPOKEN = {
  task: 'transcribe',
  duration: 2.04,
  text: 'Hello. Hi there.',
  segments: [
    { type: 'transcript.text.segment', id: 'seg_1', start: 0, end: 0.9, text: 'Hello.', speaker: 'Ann' },
    { type: 'transcript.text.segment', id: 'seg_2', start: 1, end: 2, text: 'Hi there.', speaker: 'A' },
  ],
  usage: { type: 'tokens', input_tokens: 20, output_tokens: 4, total_tokens: 24 },
}

/** Each segment as `speaker: text`. */
function said({ body }: Awaited<ReturnType<typeof form>>): readonly string[] {
  const segments: readonly { readonly speaker: string; readonly text: string }[] = body.segments
  return segments.map(({ speaker, text }) => `${speaker}: ${text}`)
}

test('OpenAI: a transcript with speakers, in the words of both kinds of body', async () => {
  answers(first, SPOKEN)
  const lists = { known_speaker_names: ['Ann', 'Bo, the host'], known_speaker_references: [CLIP, CLIP] }
  const bracketed = Object.fromEntries(Object.entries(lists).map(([name, value]) => [`${name}[]`, value]))
  const asked = { model: 'test/speakers', response_format: 'diarized_json', prompt: 'x' }
  const vad = { type: 'server_vad', threshold: 0.4, silence_duration_ms: 300 }
  const sent = [
    ['model', 'gpt-4o-transcribe-diarize'],
    ['response_format', 'diarized_json'],
  ]
  const people = [
    ['known_speaker_names[]', 'Ann'],
    ['known_speaker_names[]', 'Bo, the host'],
    ['known_speaker_references[]', CLIP],
    ['known_speaker_references[]', CLIP],
  ]
  const cut = [
    ['chunking_strategy[type]', 'server_vad'],
    ['chunking_strategy[silence_duration_ms]', '300'],
    ['chunking_strategy[threshold]', '0.4'],
  ]
  const parts = {
    'chunking_strategy[type]': 'server_vad',
    'chunking_strategy[threshold]': '0.4',
    'chunking_strategy[silence_duration_ms]': '300',
  }
  for (const send of [
    () => form({ ...asked, ...lists, chunking_strategy: JSON.stringify(vad) }),
    () => form({ ...asked, ...bracketed, ...parts }),
    () => json({ ...asked, ...lists, chunking_strategy: vad }),
  ]) {
    const answer = await send()
    assert.deepEqual(sentForm(first).fields, [...sent, ...cut, ...people])
    assert.equal(answer.headers['x-tollgate-dropped'], 'prompt')
    assert.deepEqual(Object.keys(answer.body), ['task', 'duration', 'text', 'segments', 'usage'])
    assert.deepEqual(answer.body.segments[0], { ...SPOKEN.segments[0], id: 'seg_001' })
    assert.deepEqual(said(answer), ['Ann: Hello.', 'A: Hi there.'])
    assert.deepEqual([answer.body.usage.input_tokens, (await lastLog())['input_tokens']], [20, 20])
  }
  const stream = await form({ ...asked, stream: 'true' })
  assert.deepEqual(sentForm(first).fields, [...sent, ['chunking_strategy', 'auto']])
  assert.deepEqual(
    [...stream.text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type),
    ['transcript.text.delta', 'transcript.text.segment', 'transcript.text.segment', 'transcript.text.done'],
  )
  assert.match(stream.text, /"id":"seg_002","start":1,"end":2,"text":"Hi there\.","speaker":"A"/)
})

test('Deepgram and ElevenLabs: speakers get letters in the order in which they speak', async () => {
  const asked = { response_format: 'diarized_json', 'known_speaker_names[]': 'Ann', 'known_speaker_references[]': CLIP }
  const utterances = [
    { start: 0.1, end: 0.5, transcript: 'Hello.', speaker: 3 },
    { start: 0.9, end: 1.4, transcript: 'Hi.', speaker: 0 },
    { start: 1.5, end: 1.9, transcript: 'Well.', speaker: 3 },
  ]
  answers(first, {
    metadata: { duration: 2.04 },
    results: { channels: [{ alternatives: [{ transcript: 'Hello. Hi. Well.' }] }], utterances },
  })
  const deepgram = await form({ model: 'test/deepgram-speakers', ...asked })
  assert.match(first.received.at(-1)?.path ?? '', /^\/v1\/listen\?model=nova-3&.*&diarize=true$/)
  assert.deepEqual(said(deepgram), ['A: Hello.', 'B: Hi.', 'A: Well.'])
  const words = ['It', ' ', 'works', ' ', 'well', ' ', 'enough'].map((text, index) => ({
    text,
    start: index * 0.2,
    end: index * 0.2 + 0.2,
    type: text === ' ' ? 'spacing' : 'word',
    speaker_id: index < 3 ? 'speaker_1' : 'speaker_0',
  }))
  answers(first, { language_code: 'eng', text: 'It works well enough', words })
  const eleven = await form({ model: 'test/eleven', ...asked })
  assert.deepEqual(sentForm(first).fields.slice(2), [
    ['timestamps_granularity', 'word'],
    ['diarize', 'true'],
  ])
  assert.deepEqual(said(eleven), ['A: It works', 'B: well enough'])
  for (const answer of [deepgram, eleven])
    assert.equal(answer.headers['x-tollgate-dropped'], 'known_speaker_names, known_speaker_references')
})

test('a model without speakers, or whose price does not cover them, refuses; other formats name what is not sent', async () => {
  const before = first.received.length
  for (const [model, allowed] of [
    ['test/whisper', 'json, text, srt, verbose_json, vtt'],
    ['test/deepgram', 'json, text, srt, verbose_json, vtt'],
    ['test/gpt', 'json, text'],
  ] as const)
    badRequest(
      await form({ model, response_format: 'diarized_json' }),
      'invalid_response_format',
      new RegExp(`gives no speakers, which diarized_json needs. Allowed for transcriptions by it: ${allowed}$`),
    )
  badRequest(
    await form({ model: 'test/speakers', response_format: 'srt' }),
    'invalid_response_format',
    /gives no times, which srt needs. Allowed for transcriptions by it: json, text, diarized_json$/,
  )
  const asked = { model: 'test/speakers', response_format: 'diarized_json' }
  for (const [fields, words] of [
    [{ 'known_speaker_names[]': ['a', 'b', 'c', 'd', 'e'] }, /^known_speaker_names: must be at most 4 texts/],
    [{ 'known_speaker_references[]': 'https://x.test/a.wav' }, /^known_speaker_references: must be data URLs/],
    [{ chunking_strategy: 'none' }, /^chunking_strategy: must be 'auto' or an object/],
    [{ 'include[]': 'words' }, /^include: may hold only 'logprobs'/],
  ] as const)
    badRequest(await form({ ...asked, ...fields }), 'invalid_input', words)
  assert.equal(first.received.length, before)
  answers(first, { ...SAID, logprobs: [{ token: 'Hi', logprob: -0.1, bytes: [72, 105], more: 1 }] })
  const fields = { chunking_strategy: 'auto', 'known_speaker_names[]': 'Ann', 'include[]': 'logprobs' }
  const whisper = await form(fields)
  assert.equal(whisper.status, 200, whisper.text)
  assert.equal(whisper.headers['x-tollgate-dropped'], 'known_speaker_names, chunking_strategy, include')
  const gpt = await form({ model: 'test/gpt', ...fields })
  assert.equal(gpt.headers['x-tollgate-dropped'], 'known_speaker_names')
  assert.deepEqual(sentForm(first).fields.slice(2), [
    ['chunking_strategy', 'auto'],
    ['include[]', 'logprobs'],
  ])
  assert.deepEqual(gpt.body.logprobs, [{ token: 'Hi', bytes: [72, 105], logprob: -0.1 }])
})

test('the clips of known speakers are held for: a provider bills their sound too', async () => {
  answers(first, { ...SPOKEN, usage: { type: 'tokens', input_tokens: 1_500, output_tokens: 4, total_tokens: 1_504 } })
  const long = wavFile(40, { rate: 8_000 })
  const clip = `data:audio/wav;base64,${long.toString('base64')}`
  assert.ok(clip.length > 262_144)
  const answer = await form({
    model: 'test/speakers',
    response_format: 'diarized_json',
    'known_speaker_names[]': 'Ann',
    'known_speaker_references[]': clip,
  })
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual([answer.body.usage.input_tokens, (await lastLog())['input_tokens']], [1_500, 1_500])
})
