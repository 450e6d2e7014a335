import assert from 'node:assert/strict'
import { sendJson, startScriptedUpstream, type ScriptedUpstream, type Script } from '../harness/scripted-upstream.ts'
import { gateway, type Answer, type Gateway } from '../harness/gateway.ts'

export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

export const B64 = PNG.toString('base64')

export const DATA = `data:image/png;base64,${B64}`

export let upstream: ScriptedUpstream
export let second: ScriptedUpstream
export let tollgate: Gateway
export let key: string

export function draw(body: Record<string, unknown>): Promise<Answer> {
  return tollgate.post('/v1/images/generations', key, {
    model: 'v/any',
    prompt: 'a cat',
    response_format: 'b64_json',
    ...body,
  })
}

export function sent(index = 0, from = upstream): Record<string, unknown> {
  const json = from.received.filter(({ method }) => method === 'POST')[index]?.json
  assert.ok(typeof json === 'object' && json !== null)
  return { ...json }
}

export function errorOf(answer: Answer): readonly unknown[] {
  return [answer.status, answer.body.error?.metadata.error_type, answer.body.error?.message]
}

export async function logRow(answer: Answer): Promise<Record<string, unknown>> {
  const { body } = await tollgate.get(`/v1/generation?generation_id=${answer.headers['x-generation-id']}`, key)
  assert.equal(body.total, 1)
  return body.logs[0]
}

/** As many images as the request asks for. */
export function generous(usage?: unknown): Script {
  return (response, { json }) => {
    // Our own request; a form asks for one.
    const { n = 1 } = (json ?? {}) as { n?: number }
    sendJson(response, {
      created: 1,
      data: Array.from({ length: n }, () => ({ b64_json: B64 })),
      ...(usage === undefined ? {} : { usage }),
    })
  }
}

/** A server for the tests of the file that calls it, with two upstreams. */
export async function serveImages(): Promise<void> {
  upstream = await startScriptedUpstream({ forgets: true })
  second = await startScriptedUpstream({ forgets: true })
  const per = (model: string, provider = 'one'): string =>
    `[{ provider: ${provider}, model: ${model}, price: { currency: RUB, image_output: { 1024x1024: 2, hd: 2 }, image: 0.1 } }]`
  tollgate = await gateway({
    catalog: `
bundled: false
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  one: { name: One, adapter: openai, base_url: "${upstream.url}/v1", api_key: upstream-canary-key }
  two: { name: Two, adapter: openai, base_url: "${second.url}/v1", api_key: k }
  words: { name: Words, adapter: openai, base_url: "${upstream.url}/v1", api_key: k, dialect: { images: words } }
  google: { name: Google, adapter: gemini, base_url: "${upstream.url}/v1beta", api_key: k }
models:
  - { id: v/any, type: image, endpoints: ${per('any-image')} }
  - { id: v/gpt, type: image, max_completion_tokens: 4160, endpoints: [{ provider: one, model: gpt-image-1, price: { currency: RUB, prompt: 10, completion: 40 } }] }
  - { id: v/both, type: image, max_completion_tokens: 4160, endpoints: [{ provider: one, model: gpt-image-1, price: { currency: RUB, prompt: 10, completion: 40, image_output: 1, request: 0.5 } }] }
  - { id: v/dall-e-3, type: image, endpoints: ${per('dall-e-3')} }
  - { id: v/words, type: image, endpoints: ${per('grok-imagine-image', 'words')} }
  - { id: v/imagen, type: image, endpoints: ${per('imagen-4.0-generate-001', 'google')} }
  - { id: v/gemini, type: image, max_completion_tokens: 8192, endpoints: [{ provider: google, model: gemini-2.5-flash-image, price: { currency: RUB, prompt: 30, completion: 3000 } }] }
  - { id: v/chat, type: chat, context_length: 32768, max_completion_tokens: 8192, input_modalities: [text, image], output_modalities: [image, text], endpoints: [{ provider: one, model: speaks, price: { currency: RUB, prompt: 30, completion: 3000 } }] }
  - { id: v/mute, type: chat, context_length: 32768, endpoints: [{ provider: one, model: mute, price: { currency: RUB, prompt: 1, completion: 1 } }] }
  - { id: v/short, type: image, max_prompt_length: 10, supported_sizes: [1024x1024], endpoints: ${per('any-image')} }
  - id: v/two
    type: image
    endpoints:
      - { provider: one, model: a, price: { currency: RUB, image_output: 1 } }
      - { provider: two, model: b, price: { currency: RUB, image_output: 3 } }
`,
  })
  key = (await tollgate.createAccount({ balance: 10_000 })).key
}
