import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request as undiciRequest } from 'undici'
import { parseMultipart } from '../../src/http/multipart.ts'
import { mp3Frames, wavFile, audioForm } from '../harness/audio-files.ts'
import { startScriptedUpstream, answers } from '../harness/scripted-upstream.ts'
import { gateway, type Answer } from '../harness/gateway.ts'

const WAV = wavFile(2.04)

const upstream = await startScriptedUpstream()
const tollgate = await gateway({
  catalog: `
providers:
  mistral: { name: Mistral, adapter: ai-sdk, package: "@ai-sdk/mistral", base_url: "${upstream.url}/v1", api_key: canary }
  groq: { name: Groq, adapter: ai-sdk, package: "@ai-sdk/groq", base_url: "${upstream.url}/v1", api_key: canary }
models:
  - { id: test/voice, type: tts, supported_voices: [calm], endpoints: [{ provider: mistral, model: voxtral-tts, price: { currency: RUB, characters: 1000 } }] }
  - { id: test/mute, type: tts, endpoints: [{ provider: groq, model: nothing, price: { currency: RUB, characters: 1000 } }] }
  - { id: test/ear, type: transcription, endpoints: [{ provider: groq, model: whisper-large-v3, price: { currency: RUB, second: 0.01 } }] }
`,
})
const key = (await tollgate.createAccount()).key

function hear(fields: Readonly<Record<string, string>>): Promise<Answer> {
  return tollgate.request('POST', '/v1/audio/transcriptions', {
    key,
    ...audioForm({ model: 'test/ear', ...fields }, { bytes: WAV }),
  })
}

async function speak(body: Record<string, unknown>): Promise<{ status: number; bytes: Buffer }> {
  const response = await undiciRequest(`${tollgate.url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ input: 'Hello there', ...body }),
  })
  return { status: response.statusCode, bytes: Buffer.from(await response.body.arrayBuffer()) }
}

async function lastLog(): Promise<Record<string, unknown>> {
  return (await tollgate.get('/v1/generation?limit=1', key)).body.logs[0]
}

test("a package's form reaches the provider as it made it, and its answer the client in each format", async () => {
  upstream.answer(
    answers({
      text: 'Hello.',
      language: 'English',
      duration: 2.04,
      x_groq: { id: 'g-1' },
      segments: [
        {
          id: 0,
          seek: 0,
          start: 0.2,
          end: 1.5,
          text: ' Hello.',
          tokens: [1],
          temperature: 0,
          avg_logprob: 0,
          compression_ratio: 1,
          no_speech_prob: 0,
        },
      ],
    }),
  )
  const plain = await hear({ language: 'en', temperature: '0.5' })
  assert.deepEqual(plain.body, {
    text: 'Hello.',
    usage: { type: 'duration', seconds: 2.1, cost: 0.021, currency: 'RUB' },
  })
  const { path, headers, body } = upstream.received.at(-1) ?? assert.fail()
  assert.equal(path, '/v1/audio/transcriptions')
  assert.equal(headers.authorization, 'Bearer canary')
  const {
    fields,
    files: [file],
  } = parseMultipart(headers['content-type'], body)
  assert.ok(fields.some(([name, value]) => name === 'model' && value === 'whisper-large-v3'))
  assert.ok(fields.some(([name, value]) => name === 'language' && value === 'en'))
  assert.ok(file?.bytes.equals(WAV))
  assert.equal((await hear({ response_format: 'srt' })).text, '1\n00:00:00,200 --> 00:00:01,500\nHello.\n\n')
  assert.equal((await lastLog())['type'], 'transcription')
})

test('speech of a package comes whole, and is passed on as sound', async () => {
  const sound = mp3Frames(300)
  upstream.answer(answers({ audio_data: sound.toString('base64') }))
  const { status, bytes } = await speak({ model: 'test/voice', voice: 'calm' })
  assert.equal(status, 200)
  assert.ok(bytes.equals(sound))
  assert.deepEqual(
    [upstream.requests.at(-1)?.['input'], upstream.requests.at(-1)?.['model']],
    ['Hello there', 'voxtral-tts'],
  )
  assert.deepEqual([(await lastLog())['total_cost'], (await lastLog())['type']], [0.011, 'tts'])
  const other = await speak({ model: 'test/voice', response_format: 'flac' })
  assert.equal(other.status, 502, 'a sound of another format than the client asked for is none')
})

test('what fails is free, and tells nothing of ours', async () => {
  upstream.answer(
    (response) =>
      void response
        .writeHead(500, { 'content-type': 'application/json' })
        .end('{"message":"https://secret.internal canary"}'),
  )
  for (const answer of [
    await hear({}),
    await tollgate.post('/v1/audio/speech', key, { model: 'test/voice', input: 'x' }),
  ]) {
    assert.equal(answer.status, 502)
    assert.doesNotMatch(answer.text, /secret|canary/)
    assert.equal((await lastLog())['total_cost'], 0)
  }
  const mute = await tollgate.post('/v1/audio/speech', key, { model: 'test/mute', input: 'x' })
  assert.equal(mute.status, 503, 'a package that makes no speech models')
  const audit = await tollgate.admin('GET', '/admin/v1/audit')
  assert.equal(audit.body.violations, 0, audit.text)
})
