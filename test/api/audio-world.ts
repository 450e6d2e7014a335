import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { request as undiciRequest } from 'undici'
import { parseMultipart } from '../../src/http/multipart.ts'
import { wavFile, audioForm } from '../harness/audio-files.ts'
import { gateway, type Answer, type Gateway } from '../harness/gateway.ts'
import { sendJson, startScriptedUpstream, type ScriptedUpstream } from '../harness/scripted-upstream.ts'

export const WAV = wavFile(2.04)
export let first: ScriptedUpstream
export let second: ScriptedUpstream
export let tollgate: Gateway
export let key: string

/** A server for the tests of the file that calls it, with two upstreams. */
async function serveAudio(catalog: (one: ScriptedUpstream, two: ScriptedUpstream) => string): Promise<void> {
  first = await startScriptedUpstream()
  second = await startScriptedUpstream()
  tollgate = await gateway({
    catalog: `markup: 1\nrate_limit: { requests: 100000, window: 60 }${catalog(first, second)}`,
  })
  key = (await tollgate.createAccount({ balance: 1_000 })).key
}

export async function lastLog(): Promise<Record<string, unknown>> {
  return (await tollgate.get('/v1/generation?limit=1', key)).body.logs[0]
}

interface Spoken {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly bytes: Buffer
}

export async function speak(body: Record<string, unknown>): Promise<Spoken> {
  const response = await undiciRequest(`${tollgate.url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/one', input: 'Hello there', ...body }),
  })
  return {
    status: response.statusCode,
    headers: response.headers,
    bytes: Buffer.from(await response.body.arrayBuffer()),
  }
}

export function post(body: unknown, path = '/v1/audio/speech'): Promise<Answer> {
  return tollgate.post(path, key, body)
}

export function sound(response: ServerResponse, ...pieces: readonly string[]): void {
  response.writeHead(200, { 'content-type': 'audio/mpeg', 'x-request-id': 'up-1' })
  for (const piece of pieces) response.write(piece)
  response.end()
}

export type Fields = Readonly<Record<string, string | readonly string[]>>

export function form(
  fields: Fields,
  file: Parameters<typeof audioForm>[1] = { bytes: WAV },
  path = '/v1/audio/transcriptions',
): Promise<Answer> {
  return tollgate.request('POST', path, { key, ...audioForm({ model: 'test/whisper', ...fields }, file) })
}

export function json(body: Record<string, unknown>, path = '/v1/audio/transcriptions'): Promise<Answer> {
  return tollgate.post(path, key, {
    model: 'test/whisper',
    input_audio: { data: WAV.toString('base64'), format: 'wav' },
    ...body,
  })
}

export function answers(upstream: ScriptedUpstream, body: unknown, status = 200): void {
  upstream.answer((response) => sendJson(response, body, status))
}

/** The form that the provider received. */
export function sentForm(upstream: ScriptedUpstream): {
  path: string
  fields: readonly (readonly [string, string])[]
  file: { fileName: string; contentType: string | null; bytes: Buffer } | undefined
} {
  const { path, headers, body } = upstream.received.at(-1) ?? assert.fail('nothing was sent')
  const { fields, files } = parseMultipart(headers['content-type'], body)
  return { path, fields, file: files[0] }
}

export const SAID = {
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

const SPEECH_PRICE = 'price: { currency: RUB, characters: 1000 }'

export async function serveSpeech(): Promise<void> {
  await serveAudio(
    (one, two) => `
providers:
  first: { name: First, adapter: openai, base_url: "${one.url}/v1", api_key: canary-first, cancel_stops_billing: true, timeouts: { progress: 2 } }
  keeps: { name: Keeps, adapter: openai, base_url: "${one.url}/v1", api_key: canary-first }
  second: { name: Second, adapter: openai, base_url: "${two.url}/v1", api_key: canary-second }
  eleven: { name: Eleven, adapter: elevenlabs, base_url: "${two.url}/v1", api_key: canary-second }
  deepgram: { name: Deepgram, adapter: deepgram, base_url: "${two.url}/v1", api_key: canary-second }
  google: { name: Google, adapter: gemini, base_url: "${two.url}/v1beta", api_key: canary-second }
models:
  - { id: test/one, type: tts, endpoints: [{ provider: first, model: tts-1, ${SPEECH_PRICE} }] }
  - { id: test/keeps, type: tts, endpoints: [{ provider: keeps, model: tts-1, ${SPEECH_PRICE} }] }
  - { id: test/two, type: tts, endpoints: [{ provider: first, model: tts-1, ${SPEECH_PRICE} }, { provider: second, model: tts-1, price: { currency: RUB, characters: 2000 } }] }
  - { id: test/voices, type: tts, supported_voices: [Bella, Adam], supported_formats: [mp3, pcm], endpoints: [{ provider: eleven, model: eleven_turbo_v2_5, ${SPEECH_PRICE} }] }
  - { id: test/deepgram, type: tts, supported_voices: [thalia, aura-asteria-en], endpoints: [{ provider: deepgram, model: aura-2, ${SPEECH_PRICE} }] }
  - { id: test/gemini, type: tts, max_completion_tokens: 16000, supported_voices: [Kore, Puck], endpoints: [{ provider: google, model: gemini-2.5-flash-preview-tts, price: { currency: RUB, prompt: 1, audio_output: 100 } }] }
  - { id: test/tokens, type: tts, max_completion_tokens: 2000, endpoints: [{ provider: first, model: gpt-4o-mini-tts, price: { currency: RUB, prompt: 1, audio_output: 100 } }] }
`,
  )
}

const TRANSCRIPTION_PRICE = 'price: { currency: RUB, second: 0.01 }'

export async function serveTranscription(): Promise<void> {
  await serveAudio(
    (one, two) => `
providers:
  first: { name: First, adapter: openai, base_url: "${one.url}/v1", api_key: canary-first }
  second: { name: Second, adapter: openai, base_url: "${two.url}/v1", api_key: canary-second }
  deepgram: { name: Deepgram, adapter: deepgram, base_url: "${one.url}/v1", api_key: canary-first }
  eleven: { name: Eleven, adapter: elevenlabs, base_url: "${one.url}/v1", api_key: canary-first }
  google: { name: Google, adapter: gemini, base_url: "${one.url}/v1beta", api_key: canary-first }
models:
  - { id: test/whisper, type: transcription, endpoints: [{ provider: first, model: whisper-1, ${TRANSCRIPTION_PRICE} }] }
  - { id: test/two, type: transcription, endpoints: [{ provider: first, model: whisper-1, ${TRANSCRIPTION_PRICE} }, { provider: second, model: whisper-large-v3, price: { currency: RUB, second: 0.02 } }] }
  - { id: test/turbo, type: transcription, endpoints: [{ provider: first, model: whisper-large-v3-turbo, ${TRANSCRIPTION_PRICE} }] }
  - { id: test/gpt, type: transcription, max_completion_tokens: 2000, endpoints: [{ provider: first, model: gpt-4o-transcribe, price: { currency: RUB, prompt: 1, audio: 10, completion: 100 } }] }
  - { id: test/speakers, type: transcription, max_completion_tokens: 2000, endpoints: [{ provider: first, model: gpt-4o-transcribe-diarize, price: { currency: RUB, prompt: 1, audio: 10, completion: 100 } }] }
  - { id: test/mixed, type: transcription, max_completion_tokens: 2000, endpoints: [{ provider: first, model: gpt-4o-transcribe, ${TRANSCRIPTION_PRICE} }, { provider: second, model: whisper-1, price: { currency: RUB, second: 9 } }] }
  - { id: test/voxtral, type: transcription, endpoints: [{ provider: first, model: voxtral-mini-latest, ${TRANSCRIPTION_PRICE} }] }
  - { id: test/deepgram, type: transcription, endpoints: [{ provider: deepgram, model: nova-3, ${TRANSCRIPTION_PRICE} }] }
  - { id: test/deepgram-speakers, type: transcription, endpoints: [{ provider: deepgram, model: nova-3, supported_parameters: [diarize], ${TRANSCRIPTION_PRICE} }] }
  - { id: test/eleven, type: transcription, endpoints: [{ provider: eleven, model: scribe_v1, ${TRANSCRIPTION_PRICE} }] }
  - { id: test/gemini, type: transcription, max_completion_tokens: 2000, endpoints: [{ provider: google, model: gemini-2.5-flash, price: { currency: RUB, prompt: 1, audio: 10, completion: 100 } }] }
  - { id: test/narrow, type: transcription, endpoints: [{ provider: first, model: whisper-1, supported_parameters: [language], ${TRANSCRIPTION_PRICE} }] }
`,
  )
}
