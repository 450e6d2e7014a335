import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chat } from '../harness/chat-fold.ts'
import { gateway } from '../harness/gateway.ts'
import { wrongSums } from '../harness/invoice.ts'
import { startScriptedUpstream, type ScriptedUpstream } from '../harness/scripted-upstream.ts'

/** The possible cost of a failed attempt is booked to `insured`, never charged to the customer (guarantees.md 5). */

const first = await startScriptedUpstream()
const second = await startScriptedUpstream()
const tollgate = await gateway({
  catalog: `
markup: 2
providers:
  first: { name: First, adapter: openai, base_url: "${first.url}", api_key: k }
  second: { name: Second, adapter: openai, base_url: "${second.url}", api_key: k }
models:
  - id: test/two
    type: chat
    context_length: 10000
    endpoints:
      - { provider: first, model: m, price: { currency: RUB, prompt: 100, completion: 1000 } }
      - { provider: second, model: m, price: { currency: RUB, prompt: 100, completion: 1000 } }
`,
})
const { key } = await tollgate.createAccount({ balance: 10 })
second.answer((response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(
    '{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}',
  )
})

async function insuredBy(fail: Parameters<ScriptedUpstream['answer']>[0]): Promise<number> {
  const insured = async (): Promise<number> =>
    (await tollgate.admin('GET', '/admin/v1/usage?group_by=model')).body.data[0]?.insured ?? 0
  const before = await insured()
  first.answer(fail)
  const answer = await chat(tollgate.url, key, {
    model: 'test/two',
    messages: [{ role: 'user', content: 'one two three four' }],
    max_tokens: 20,
    provider: { order: ['first', 'second'] },
  })
  assert.equal(answer.choices.get(0)?.text, 'ok')
  // 10 × 100 + 2 × 1,000 µRUB, twice: the failed attempt is not the customer's.
  assert.equal(answer.usage?.['cost'], 0.006)
  return Math.round(((await insured()) - before) * 1e6)
}

test('an answer that broke off after its headers costs the operator its counted input', async () => {
  const insured = await insuredBy((response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
    response.write('{"id":', () => response.socket?.destroy())
  })
  assert.ok(insured >= 4 * 100 && insured <= 20 * 100, `${insured} µRUB`)
})

test('an empty answer costs what the provider says', async () => {
  const insured = await insuredBy((response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{"id":"c","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":0}}')
  })
  assert.equal(insured, 700)
})

test('a refusal without a 200 costs nothing', async () => {
  assert.equal(await insuredBy((response) => response.writeHead(500).end()), 0)
})

test('the log names who failed, how, and with which words, where those cannot be the prompt; the operator reads them with the request', async () => {
  await insuredBy((response) =>
    response
      .writeHead(500, { 'content-type': 'application/json' })
      .end('{"error":{"message":"canary words of the provider"}}'),
  )
  const line = tollgate.logs().findLast((text) => text.includes('/v1/chat/completions'))
  assert.ok(line !== undefined)
  const { failed_attempts: failed, provider_said: said } = JSON.parse(line)
  assert.deepEqual([failed, said], ['First: status 500', 'First 500: canary words of the provider'])
  const found = await tollgate.admin('GET', '/admin/v1/generations?limit=1')
  const [row] = found.body.data
  assert.equal(row.account_name, 'test')
  const story = (await tollgate.admin('GET', `/admin/v1/generations/${row.generation_id}`)).body
  assert.deepEqual(
    story.tries.map(({ provider, outcome, status, said }: Record<string, unknown>) => [
      provider,
      outcome,
      status,
      said,
    ]),
    [
      ['First', 'failed', 500, 'canary words of the provider'],
      ['Second', 'answered', null, null],
    ],
  )
  const sum = (lines: readonly { readonly cost: string }[]): number =>
    Math.round(lines.reduce((total, { cost }) => total + Number(cost), 0) * 1e6)
  assert.deepEqual([sum(story.bill), sum(story.provider_bill)], [6_000, 3_000], 'µRUB at the markup of 2')
  const { bill: lines, bill_total: total, bill_adjustments: adjustments, total_cost: charged } = story
  assert.deepEqual(wrongSums({ lines, total, adjustments, charged }), [])
  const own = { lines: story.provider_bill, total: story.provider_bill_total, charged: story.provider_cost }
  assert.deepEqual(wrongSums({ ...own, adjustments: story.provider_bill_adjustments }), [])
  assert.deepEqual([story.hold.state, story.hold.charged, story.provider_cost], ['settled', 0.006, 0.003])
  assert.equal((await tollgate.admin('GET', '/admin/v1/generations/gen-unknown')).status, 404)
})

test('the operator finds requests by the cause of their failure, and only by a known one', async () => {
  const fails = (response: Parameters<Parameters<ScriptedUpstream['answer']>[0]>[0]): void =>
    void response.writeHead(500).end()
  first.answer(fails)
  const failed = await tollgate.post('/v1/chat/completions', key, {
    model: 'test/two',
    messages: [{ role: 'user', content: 'x' }],
    provider: { only: ['first'] },
  })
  assert.equal(failed.body.error.metadata.error_type, 'provider_error')
  const causes = async (type: string): Promise<readonly string[]> =>
    (await tollgate.admin('GET', `/admin/v1/generations?error_type=${type}`)).body.data.map(
      (row: { readonly error_type: string }) => row.error_type,
    )
  assert.deepEqual(await causes('provider_error'), ['provider_error'])
  assert.deepEqual(await causes('provider_timeout'), [])
  assert.equal((await tollgate.admin('GET', '/admin/v1/generations?error_type=constructor')).status, 400)
})
