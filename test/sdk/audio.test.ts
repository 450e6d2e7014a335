import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { OpenRouter } from '@openrouter/sdk'
import { BadRequestResponseError } from '@openrouter/sdk/models/errors'
import { APICallError, experimental_generateSpeech as generateSpeech, experimental_transcribe as transcribe } from 'ai'
import OpenAI, { APIError, BadRequestError, InternalServerError, toFile } from 'openai'
import { audioContainer } from '../../src/kinds/transcription/audio-container.ts'
import { soundSeconds, wavFile } from '../harness/audio-files.ts'
import { gateway } from '../harness/gateway.ts'

const VOICE = 'sandbox/tts'
const EAR = 'sandbox/transcription'
const WAV = wavFile(2)
const SAID = 'Hello from the sandbox. You sent 2 seconds of wav.'

const tollgate = await gateway()
const key = (await tollgate.createAccount()).key
const client = new OpenAI({ apiKey: key, baseURL: `${tollgate.url}/v1`, maxRetries: 0 })
const router = new OpenRouter({ apiKey: key, serverURL: `${tollgate.url}/v1` })

test('openai: speech as a file and as a stream', async () => {
  const file = await client.audio.speech.create({
    model: VOICE,
    input: 'Hello there',
    voice: 'nova',
    response_format: 'wav',
    speed: 1,
  })
  const bytes = Buffer.from(await file.arrayBuffer())
  assert.equal(await soundSeconds(bytes), 11 * 0.024)
  assert.match(file.headers.get('x-generation-id') ?? '', /^gen-/)
  const stream = await client.audio.speech.create({ model: VOICE, input: 'Hello there', voice: 'nova' })
  assert.ok(stream.body)
  const parts: Uint8Array[] = []
  for await (const part of stream.body) parts.push(part)
  assert.equal(audioContainer(Buffer.concat(parts)), 'mp3')
})

test('openai: errors of speech, and a break in the middle of it', async () => {
  const speak = (input: string): Promise<Response> => client.audio.speech.create({ model: VOICE, input, voice: 'nova' })
  const refused = await speak('').catch((error: unknown) => error)
  assert.ok(refused instanceof BadRequestError)
  assert.deepEqual(refused.error, {
    code: 400,
    message: "Parameter 'input' is required",
    metadata: { error_type: 'missing_input' },
  })
  await assert.rejects(speak('sandbox: status=500'), InternalServerError)
  await assert.rejects(
    client.audio.speech.create({ model: VOICE, input: 'x', voice: 'nova', stream_format: 'sse' }),
    BadRequestError,
  )
  const broken = await speak('one two three\nsandbox: error=2 gap_ms=20')
  await assert.rejects(broken.arrayBuffer())
})

test('openai: transcriptions in all six formats', async () => {
  const file = (): ReturnType<typeof toFile> => toFile(WAV, 'sound.wav')
  const plain = await client.audio.transcriptions.create({ model: EAR, file: await file() })
  assert.deepEqual([plain.text, plain.usage], [SAID, { type: 'duration', seconds: 2, cost: 0.02, currency: 'RUB' }])
  const verbose = await client.audio.transcriptions.create({
    model: EAR,
    file: await file(),
    response_format: 'verbose_json',
    timestamp_granularities: ['word', 'segment'],
  })
  assert.deepEqual([verbose.duration, verbose.segments?.length, verbose.words?.length], [2, 2, 10])
  const spoken = await client.audio.transcriptions.create({
    model: EAR,
    file: await file(),
    response_format: 'diarized_json',
    chunking_strategy: { type: 'server_vad', threshold: 0.5 },
    known_speaker_names: ['Ann'],
    known_speaker_references: [`data:audio/wav;base64,${WAV.toString('base64')}`],
  })
  assert.partialDeepStrictEqual(spoken, {
    segments: [
      { id: 'seg_001', speaker: 'A', text: 'Hello from the sandbox.' },
      { id: 'seg_002', speaker: 'B', text: 'You sent 2 seconds of wav.' },
    ],
  })
  assert.equal(
    await client.audio.transcriptions.create({ model: EAR, file: await file(), response_format: 'text' }),
    SAID,
  )
  assert.match(
    await client.audio.transcriptions.create({ model: EAR, file: await file(), response_format: 'srt' }),
    /^1\n00:00:00,000 --> /,
  )
  assert.match(
    await client.audio.transcriptions.create({ model: EAR, file: await file(), response_format: 'vtt' }),
    /^WEBVTT\n/,
  )
})

test('openai: a transcript as events', async () => {
  const events = await client.audio.transcriptions.create({
    model: EAR,
    file: await toFile(WAV, 'sound.wav'),
    stream: true,
  })
  const seen: unknown[] = []
  for await (const event of events) seen.push(event.type === 'transcript.text.delta' ? event.delta : event.type)
  assert.deepEqual(seen, [SAID, 'transcript.text.done'])
})

test('openai: translations, and errors of both', async () => {
  const english = await client.audio.translations.create({ model: EAR, file: await toFile(WAV, 'sound.wav') })
  assert.match(english.text, /in English/)
  const empty = await client.audio.transcriptions
    .create({ model: EAR, file: await toFile(Buffer.alloc(0), 'sound.wav') })
    .catch((error: unknown) => error)
  assert.ok(empty instanceof BadRequestError)
  assert.match(JSON.stringify(empty.error), /file_upload_error/)
  await assert.rejects(
    client.audio.transcriptions.create({
      model: EAR,
      file: await toFile(WAV, 'sound.wav'),
      stream: true,
      response_format: 'text',
    }),
    APIError,
  )
})

test('@openrouter/sdk: speech as a stream', async () => {
  const stream = await router.tts.createSpeech({
    speechRequest: { model: VOICE, input: 'Hello there', voice: 'nova', responseFormat: 'pcm' },
  })
  const bytes = Buffer.concat(await Array.fromAsync(stream))
  assert.equal(bytes.length, 11 * 0.024 * 24_000 * 2)
  await assert.rejects(
    router.tts.createSpeech({ speechRequest: { model: VOICE, input: 'x', voice: 'nobody', responseFormat: 'mp3' } }),
    BadRequestResponseError,
  )
})

test('@openrouter/sdk: transcriptions as JSON and as a form pass the strict schemas', async () => {
  const json = await router.stt.createTranscription({
    sttRequest: { model: EAR, inputAudio: { data: WAV.toString('base64'), format: 'wav' } },
  })
  assert.deepEqual([json.text, json.usage?.seconds, json.usage?.cost], [SAID, 2, 0.02])
  const form = await router.stt.createTranscriptionMultipart({
    requestBody: {
      model: EAR,
      file: { fileName: 'sound.wav', content: new Uint8Array(WAV) },
      responseFormat: 'verbose_json',
      timestampGranularities: ['word', 'segment'],
    },
  })
  assert.deepEqual(
    [form.text, form.duration, form.language, form.segments?.length, form.words?.length],
    [SAID, 2, 'english', 2, 10],
  )
})

test('AI SDK: generateSpeech', async () => {
  const model = createOpenAI({ apiKey: key, baseURL: `${tollgate.url}/v1` }).speech(VOICE)
  const { audio } = await generateSpeech({ model, text: 'Hello there' })
  assert.equal(audio.mediaType, 'audio/mpeg')
  assert.equal(audioContainer(Buffer.from(audio.uint8Array)), 'mp3')
  assert.equal(
    (await generateSpeech({ model, text: 'Hello there', outputFormat: 'wav', voice: 'echo' })).audio.mediaType,
    'audio/wav',
  )
  await assert.rejects(
    generateSpeech({ model, text: 'sandbox: status=500', maxRetries: 0 }),
    (error: unknown) => APICallError.isInstance(error) && error.statusCode === 502,
  )
})

test('AI SDK: transcribe', async () => {
  const model = createOpenAI({ apiKey: key, baseURL: `${tollgate.url}/v1` }).transcription(EAR)
  const { text, language, durationInSeconds } = await transcribe({ model, audio: new Uint8Array(WAV) })
  assert.deepEqual([text, language, durationInSeconds], [SAID, undefined, 2])
  const timed = await transcribe({
    model,
    audio: new Uint8Array(WAV),
    providerOptions: { openai: { timestampGranularities: ['segment'] } },
  })
  assert.deepEqual([timed.text, timed.segments.length, timed.language], [SAID, 2, 'en'])
})
