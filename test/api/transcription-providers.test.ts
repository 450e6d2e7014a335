import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  WAV,
  first,
  second,
  form,
  json,
  lastLog,
  answers,
  sentForm,
  SAID,
  serveTranscription,
} from './transcription-world.ts'
import { badRequest } from '../harness/refused.ts'

serveTranscription()

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
