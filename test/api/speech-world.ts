import type { ServerResponse } from 'node:http'
import { after, before } from 'node:test'
import { request as undiciRequest } from 'undici'
import { gateway, type Answer, type Gateway } from '../harness/gateway.ts'
import { startScriptedUpstream, type ScriptedUpstream } from '../harness/scripted-upstream.ts'

export let first: ScriptedUpstream
export let second: ScriptedUpstream
export let tollgate: Gateway
export let key: string

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
  return tollgate.request('POST', path, { key, body })
}

export async function lastLog(): Promise<Record<string, unknown>> {
  return (await tollgate.request('GET', '/v1/generation?limit=1', { key })).body.logs[0]
}

export function sound(response: ServerResponse, ...pieces: readonly string[]): void {
  response.writeHead(200, { 'content-type': 'audio/mpeg', 'x-request-id': 'up-1' })
  for (const piece of pieces) response.write(piece)
  response.end()
}

/** A server for the tests of the file that calls it, with two upstreams. */
export function serveSpeech(): void {
  before(async () => {
    first = await startScriptedUpstream()
    second = await startScriptedUpstream()
    const price = 'price: { currency: RUB, characters: 1000 }'
    tollgate = await gateway({
      catalog: `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  first: { name: First, adapter: openai, base_url: "${first.url}/v1", api_key: canary-first, cancel_stops_billing: true, timeouts: { progress: 2 } }
  keeps: { name: Keeps, adapter: openai, base_url: "${first.url}/v1", api_key: canary-first }
  second: { name: Second, adapter: openai, base_url: "${second.url}/v1", api_key: canary-second }
  eleven: { name: Eleven, adapter: elevenlabs, base_url: "${second.url}/v1", api_key: canary-second }
  deepgram: { name: Deepgram, adapter: deepgram, base_url: "${second.url}/v1", api_key: canary-second }
  google: { name: Google, adapter: gemini, base_url: "${second.url}/v1beta", api_key: canary-second }
models:
  - { id: test/one, type: tts, endpoints: [{ provider: first, model: tts-1, ${price} }] }
  - { id: test/keeps, type: tts, endpoints: [{ provider: keeps, model: tts-1, ${price} }] }
  - { id: test/two, type: tts, endpoints: [{ provider: first, model: tts-1, ${price} }, { provider: second, model: tts-1, price: { currency: RUB, characters: 2000 } }] }
  - { id: test/voices, type: tts, supported_voices: [Bella, Adam], supported_formats: [mp3, pcm], endpoints: [{ provider: eleven, model: eleven_turbo_v2_5, ${price} }] }
  - { id: test/deepgram, type: tts, supported_voices: [thalia, aura-asteria-en], endpoints: [{ provider: deepgram, model: aura-2, ${price} }] }
  - { id: test/gemini, type: tts, max_completion_tokens: 16000, supported_voices: [Kore, Puck], endpoints: [{ provider: google, model: gemini-2.5-flash-preview-tts, price: { currency: RUB, prompt: 1, audio_output: 100 } }] }
  - { id: test/tokens, type: tts, max_completion_tokens: 2000, endpoints: [{ provider: first, model: gpt-4o-mini-tts, price: { currency: RUB, prompt: 1, audio_output: 100 } }] }
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
