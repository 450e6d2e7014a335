import assert from 'node:assert/strict'
import { test } from 'node:test'
import { audioContainer } from '../../src/kinds/transcription/audio-container.ts'
import { soundSeconds } from '../harness/audio-files.ts'
import { first, second, speak, post, lastLog, sound, serveSpeech } from './audio-world.ts'
import { badRequest } from '../harness/refused.ts'
import { answers } from '../harness/scripted-upstream.ts'
import { candidate } from '../harness/provider-answers.ts'

await serveSpeech()

test('wav is made of pcm where the provider has none, and its head fits', async () => {
  second.answer((response) => {
    response.writeHead(200, { 'content-type': 'audio/pcm', 'request-id': 'eleven-1' })
    response.end(Buffer.alloc(48_000, 1))
  })
  const { bytes, headers } = await speak({ model: 'test/voices', response_format: 'wav', speed: 1.1 })
  assert.equal(headers['content-type'], 'audio/wav')
  assert.equal(audioContainer(bytes), 'wav')
  assert.equal(await soundSeconds(bytes), 1)
  const { path, headers: sent } = second.received.at(-1) ?? assert.fail()
  assert.equal(path, '/v1/text-to-speech/Bella/stream?output_format=pcm_24000')
  assert.equal(sent['xi-api-key'], 'canary-second')
  assert.deepEqual(second.requests.at(-1), {
    text: 'Hello there',
    model_id: 'eleven_turbo_v2_5',
    voice_settings: { speed: 1.1 },
  })
  const fast = await post({ model: 'test/voices', input: 'x', speed: 3 })
  badRequest(fast, 'invalid_input', /^speed: this provider speaks at 0.7 to 1.2/)
})

test('Deepgram: the voice is a part of the model, the format a part of the address; longer texts go elsewhere', async () => {
  second.answer((response) => sound(response, 'aura'))
  assert.equal((await speak({ model: 'test/deepgram', response_format: 'wav' })).bytes.toString(), 'aura')
  assert.equal(
    second.received.at(-1)?.path,
    '/v1/speak?model=aura-2-thalia-en&encoding=linear16&container=wav&sample_rate=24000',
  )
  assert.equal(second.received.at(-1)?.headers.authorization, 'Token canary-second')
  assert.deepEqual(second.requests.at(-1), { text: 'Hello there' })
  await speak({ model: 'test/deepgram', voice: 'aura-asteria-en' })
  assert.equal(second.received.at(-1)?.path, '/v1/speak?model=aura-asteria-en&encoding=mp3')
  badRequest(
    await post({ model: 'test/deepgram', input: 'x'.repeat(2_001) }),
    'invalid_input',
    /at most 2000 characters/,
  )
  second.answer(
    (response) =>
      void response
        .writeHead(400, { 'content-type': 'application/json' })
        .end('{"err_code":"INVALID_QUERY","err_msg":"No such voice","request_id":"r"}'),
  )
  badRequest(await post({ model: 'test/deepgram', input: 'x' }), 'invalid_input', /^No such voice$/)
})

test('Gemini: speech comes as samples, charged by the tokens it tells', async () => {
  const samples = Buffer.alloc(96_000, 3)
  second.answer(
    answers(
      candidate([{ inlineData: { mimeType: 'audio/L16;codec=pcm;rate=24000', data: samples.toString('base64') } }], {
        promptTokenCount: 7,
        candidatesTokenCount: 50,
        totalTokenCount: 57,
        candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: 50 }],
      }),
    ),
  )
  const { bytes } = await speak({
    model: 'test/gemini',
    response_format: 'wav',
    instructions: 'Say cheerfully',
    voice: 'Puck',
  })
  assert.equal(await soundSeconds(bytes), 2)
  assert.ok(bytes.subarray(44).equals(samples))
  assert.equal(second.received.at(-1)?.path, '/v1beta/models/gemini-2.5-flash-preview-tts:generateContent')
  assert.deepEqual(second.requests.at(-1), {
    contents: [{ role: 'user', parts: [{ text: 'Say cheerfully:\nHello there' }] }],
    generationConfig: {
      responseModalities: ['AUDIO'],
      speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Puck' } } },
    },
  })
  const log = await lastLog()
  assert.deepEqual(
    [log['input_tokens'], log['output_tokens'], log['total_cost'], log['billing_basis']],
    [7, 50, 0.005007, 'provider_usage'],
  )
  badRequest(await post({ model: 'test/gemini', input: 'x' }), 'invalid_response_format', /speaks wav, pcm, got 'mp3'/)
})

test('a model sold by tokens is asked in events, for their usage; without one the tokens are counted', async () => {
  const event = (fields: unknown): string => `data: ${JSON.stringify(fields)}\n\n`
  first.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event({ type: 'speech.audio.delta', audio: Buffer.from('one ').toString('base64') }))
    response.write(event({ type: 'speech.audio.delta', audio: Buffer.from('two').toString('base64') }))
    response.end(event({ type: 'speech.audio.done', usage: { input_tokens: 5, output_tokens: 40, total_tokens: 45 } }))
  })
  const told = await speak({ model: 'test/tokens' })
  assert.equal(told.bytes.toString(), 'one two')
  assert.equal(first.requests.at(-1)?.['stream_format'], 'sse')
  const log = await lastLog()
  assert.deepEqual(
    [log['input_tokens'], log['output_tokens'], log['total_cost'], log['billing_basis']],
    [5, 40, 0.004005, 'provider_usage'],
  )
  first.answer((response) => sound(response, 'bare bytes'))
  assert.equal((await speak({ model: 'test/tokens' })).bytes.toString(), 'bare bytes')
  const counted = await lastLog()
  // "Hello there" is two tokens, and 11 characters are about 19 audio tokens.
  assert.deepEqual(
    [counted['input_tokens'], counted['output_tokens'], counted['total_cost'], counted['billing_basis']],
    [2, 19, 0.001902, 'counted'],
  )
  first.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(event({ type: 'speech.audio.delta', audio: Buffer.from('cut').toString('base64') }))
  })
  await assert.rejects(speak({ model: 'test/tokens' }))
})
