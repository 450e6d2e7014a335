import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before } from 'node:test'
import { startInProcess, type Answer, type InProcessServer } from './in-process.ts'
import { startScriptedUpstream, type ScriptedUpstream } from './scripted-upstream.ts'

export const KEY = 'sk-upstream-canary-key-0123456789'

export const VECTORS = [
  [0.5, -0.25, 0.125],
  [1, 0, -1],
]

export const BASE64 = VECTORS.map((vector) => Buffer.from(Float32Array.from(vector).buffer).toString('base64'))
export let tollgate: InProcessServer
export let upstream: ScriptedUpstream
export let other: ScriptedUpstream
export let account: { id: string; key: string }

export function embed(body: unknown, key = account.key): Promise<Answer> {
  return tollgate.request('POST', '/v1/embeddings', { key, body })
}

export function answers(body: unknown, status = 200): (response: ServerResponse) => void {
  return (response) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

export function listOf(
  vectors: readonly unknown[],
  fields: Readonly<Record<string, unknown>> = { usage: { prompt_tokens: 4, total_tokens: 4 } },
): unknown {
  return {
    object: 'list',
    data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    model: 'e',
    ...fields,
  }
}

export async function balance(): Promise<{ balance: number; reserved: number }> {
  return (await tollgate.request('GET', '/v1/user/balance', { key: account.key })).body
}

/** A server for the tests of the file that calls it, with two upstreams. */
export function serveEmbeddings(): void {
  before(async () => {
    upstream = await startScriptedUpstream()
    other = await startScriptedUpstream()
    const model = (name: string, endpoints: string, fields = ''): string =>
      `  - { id: test/${name}, type: embeddings, tokenizer: o200k_base${fields}, endpoints: [${endpoints}] }\n`
    const price = 'price: { currency: RUB, prompt: 1000 }'
    tollgate = await startInProcess({
      catalog: `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  one: { name: One, adapter: openai, base_url: ${upstream.url}/v1, api_key: ${KEY} }
  two: { name: Two, adapter: openai, base_url: ${other.url}/v1, api_key: ${KEY} }
  octets: { adapter: openai, base_url: ${upstream.url}/v1, api_key: ${KEY}, dialect: { vectors: int8 } }
  cohere: { adapter: cohere, base_url: ${upstream.url}, api_key: ${KEY} }
  mute: { adapter: anthropic, base_url: ${upstream.url}, api_key: ${KEY} }
models:
${model('plain', `{ provider: one, model: e, ${price} }`, ', aliases: [plain-vectors]')}${model('small', `{ provider: one, model: e, ${price} }`, ', context_length: 100')}${model('fixed', `{ provider: one, model: e, ${price}, supported_parameters: [user] }`)}${model('two', `{ provider: one, model: e, ${price} }, { provider: two, model: e, ${price} }`)}${model('mixed', `{ provider: one, model: e, ${price}, supported_parameters: [dimensions] }, { provider: two, model: e, price: { currency: RUB, prompt: 2000 } }`)}${model('batched', `{ provider: cohere, model: e, ${price} }`)}${model('octets', `{ provider: octets, model: e, ${price} }`)}${model('mute', `{ provider: mute, model: e, ${price} }`)}`,
    })
    account = await tollgate.createAccount()
  })

  after(async () => {
    const audit = await tollgate.admin('GET', '/admin/v1/audit')
    await tollgate.stop()
    await upstream.close()
    await other.close()
    assert.equal(audit.body.violations, 0, audit.text)
  })
}
