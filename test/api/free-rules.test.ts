import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chat } from '../harness/chat-fold.ts'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { serve } from '../harness/served.ts'

/**
 * Abuse of free answers (guarantees.md rule 20): beyond 20 RUB and 5 % of its spending in an hour an account pays the
 * provider's cost.
 */

const world = serve(
  startScriptedUpstream,
  ({ url }) => `
markup: 3
providers:
  dear: { name: Dear, adapter: openai, base_url: "${url}", api_key: k }
models:
  - { id: test/dear, type: chat, context_length: 10000, tokenizer: o200k_base, endpoints: [{ provider: dear, model: m, price: { currency: RUB, prompt: 0, completion: 10000000 } }] }
`,
)

const REQUEST = {
  model: 'test/dear',
  messages: [{ role: 'user', content: 'Hello' }],
  max_tokens: 20,
  stream: true,
  stream_options: { include_usage: true },
}

/** Three tokens at 10 RUB, and the connection breaks. */
function breakAfterThree(): void {
  world.upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"id":"c","choices":[{"index":0,"delta":{"content":"one two three"}}]}\n\n')
    response.socket?.destroySoon()
  })
}

async function newest(account: string): Promise<Record<string, unknown>> {
  return (await world.tollgate.admin('GET', `/admin/v1/generations?account=${account}&limit=1`)).body.data[0]
}

test('rule 6: the first broken stream is free, those after it cost what the provider takes, and the log says so', async () => {
  const { id, key } = await world.tollgate.createAccount({ balance: 10_000 })
  breakAfterThree()
  const free = await chat(world.tollgate.url, key, REQUEST)
  assert.equal(free.usage?.['cost'], 0)
  assert.deepEqual(
    [(await newest(id))['billing_basis'], (await newest(id))['insured'], (await newest(id))['total_cost']],
    ['free', 30, 0],
  )
  const charged = await chat(world.tollgate.url, key, REQUEST)
  // Without the operator's markup.
  assert.equal(charged.usage?.['cost'], 30)
  const row = await newest(id)
  assert.deepEqual(
    [row['billing_basis'], row['insured'], row['total_cost'], row['provider_cost'], row['status']],
    ['provider_cost', 0, 30, 30, 'error'],
  )
  const { body } = await world.tollgate.request('GET', '/v1/user/balance', { key })
  assert.deepEqual([body.balance, body.reserved], [9_970, 0])
})

test('rule 4: an empty answer that the provider bills is charged once the free amount of the hour is used up', async () => {
  const { id, key } = await world.tollgate.createAccount({ balance: 10_000 })
  const ask = async (): Promise<number> =>
    (
      await world.tollgate.request('POST', '/v1/chat/completions', {
        key,
        body: { ...REQUEST, stream: false, stream_options: undefined },
      })
    ).status
  breakAfterThree()
  await chat(world.tollgate.url, key, REQUEST)
  world.upstream.answer((response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{"id":"c","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":0}}')
  })
  // Its prompt costs nothing at this provider, so there is nothing to charge.
  assert.equal(await ask(), 502)
  assert.equal((await newest(id))['billing_basis'], 'free')
  const entry = { adapter: 'openai', base_url: world.upstream.url, api_key: 'k' }
  assert.equal((await world.tollgate.admin('PUT', '/admin/v1/providers/dear', entry)).status, 200)
  const model = {
    type: 'chat',
    context_length: 10_000,
    endpoints: [
      { provider: 'dear', model: 'm', price: { currency: 'RUB', prompt: '1000000', completion: '10000000' } },
    ],
  }
  assert.equal((await world.tollgate.admin('PUT', '/admin/v1/models/test/dear', model)).status, 200)
  assert.equal(await ask(), 502)
  const row = await newest(id)
  assert.deepEqual([row['billing_basis'], row['total_cost'], row['error_type']], ['provider_cost', 7, 'empty_response'])
})

test('a refusal of the provider is no abuse and stays free', async () => {
  const { id, key } = await world.tollgate.createAccount({ balance: 10_000 })
  breakAfterThree()
  await chat(world.tollgate.url, key, REQUEST)
  world.upstream.answer((response) => response.writeHead(500).end())
  assert.equal(
    (
      await world.tollgate.request('POST', '/v1/chat/completions', {
        key,
        body: { ...REQUEST, stream: false, stream_options: undefined },
      })
    ).status,
    502,
  )
  assert.deepEqual([(await newest(id))['billing_basis'], (await newest(id))['total_cost']], ['free', 0])
})
