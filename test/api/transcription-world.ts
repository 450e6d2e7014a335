import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { parseMultipart } from '../../src/http/multipart.ts'
import { wavFile, audioForm } from '../harness/audio-files.ts'
import { gateway, type Answer, type Gateway } from '../harness/gateway.ts'
import { startScriptedUpstream, type ScriptedUpstream } from '../harness/scripted-upstream.ts'

export const WAV = wavFile(2.04)
export let first: ScriptedUpstream
export let second: ScriptedUpstream
export let tollgate: Gateway
export let key: string

export type Fields = Readonly<Record<string, string | readonly string[]>>

export function form(
  fields: Fields,
  file: Parameters<typeof audioForm>[1] = { bytes: WAV },
  path = '/v1/audio/transcriptions',
): Promise<Answer> {
  return tollgate.request('POST', path, { key, ...audioForm({ model: 'test/whisper', ...fields }, file) })
}

export function json(body: Record<string, unknown>, path = '/v1/audio/transcriptions'): Promise<Answer> {
  return tollgate.request('POST', path, {
    key,
    body: { model: 'test/whisper', input_audio: { data: WAV.toString('base64'), format: 'wav' }, ...body },
  })
}

export async function lastLog(): Promise<Record<string, unknown>> {
  return (await tollgate.request('GET', '/v1/generation?limit=1', { key })).body.logs[0]
}

export function answers(upstream: ScriptedUpstream, body: unknown, status = 200): void {
  upstream.answer(
    (response) => void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
  )
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

/** A server for the tests of the file that calls it, with two upstreams. */
export function serveTranscription(): void {
  before(async () => {
    first = await startScriptedUpstream()
    second = await startScriptedUpstream()
    const price = 'price: { currency: RUB, second: 0.01 }'
    tollgate = await gateway({
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
  - { id: test/speakers, type: transcription, max_completion_tokens: 2000, endpoints: [{ provider: first, model: gpt-4o-transcribe-diarize, price: { currency: RUB, prompt: 1, audio: 10, completion: 100 } }] }
  - { id: test/mixed, type: transcription, max_completion_tokens: 2000, endpoints: [{ provider: first, model: gpt-4o-transcribe, ${price} }, { provider: second, model: whisper-1, price: { currency: RUB, second: 9 } }] }
  - { id: test/voxtral, type: transcription, endpoints: [{ provider: first, model: voxtral-mini-latest, ${price} }] }
  - { id: test/deepgram, type: transcription, endpoints: [{ provider: deepgram, model: nova-3, ${price} }] }
  - { id: test/deepgram-speakers, type: transcription, endpoints: [{ provider: deepgram, model: nova-3, supported_parameters: [diarize], ${price} }] }
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
}
