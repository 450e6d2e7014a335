import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answers, startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { serve } from '../harness/gateway.ts'
import { claudeMessage } from '../harness/provider-answers.ts'

const PRICE = 'currency: RUB, prompt: 1, completion: 1'
const WRITES = 'input_cache_write: 2, input_cache_read: 0.5'
const { key, tollgate, upstream } = await serve(
  startScriptedUpstream,
  ({ url }) => `
markup: 1
providers:
  claude: { name: Claude, adapter: anthropic, base_url: ${url}/v1, api_key: k }
  aws: { name: AWS, adapter: bedrock, base_url: ${url}, api_key: k }
models:
  - { id: test/marked, type: chat, context_length: 100000, endpoints: [{ provider: claude, model: claude-opus-5, cache_marks: true, price: { ${PRICE}, ${WRITES} } }] }
  - { id: test/plain, type: chat, context_length: 100000, endpoints: [{ provider: claude, model: claude-opus-5, price: { ${PRICE}, ${WRITES} } }] }
  - { id: test/unpriced, type: chat, context_length: 100000, endpoints: [{ provider: claude, model: claude-opus-5, cache_marks: true, price: { ${PRICE} } }] }
  - { id: test/aws, type: chat, context_length: 100000, endpoints: [{ provider: aws, model: anthropic.claude-opus-5, cache_marks: true, price: { ${PRICE}, ${WRITES} } }] }
  - { id: test/nova, type: chat, context_length: 100000, endpoints: [{ provider: aws, model: amazon.nova-pro-v1:0, cache_marks: true, price: { ${PRICE}, ${WRITES} } }] }
`,
)

const LONG = 'A long text. '.repeat(100)
const CLAUDE_ANSWER = claudeMessage([{ type: 'text', text: 'Hi' }], { input_tokens: 5, output_tokens: 1 })
const AWS_ANSWER = {
  output: { message: { role: 'assistant', content: [{ text: 'Hi' }] } },
  stopReason: 'end_turn',
  usage: { inputTokens: 5, outputTokens: 1 },
}
const TURNS = [
  { role: 'user', content: 'One' },
  { role: 'assistant', content: 'Yes' },
  { role: 'user', content: LONG },
  { role: 'assistant', content: 'No' },
  { role: 'user', content: 'Three' },
]
const MARK = { type: 'ephemeral' }
const POINT = { cachePoint: { type: 'default' } }

async function sent(path: string, body: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  upstream.answer(answers(['test/aws', 'test/nova'].includes(String(body['model'])) ? AWS_ANSWER : CLAUDE_ANSWER))
  const { status, text } = await tollgate.post(path, key, { max_tokens: 9, ...body })
  assert.equal(status, 200, text)
  return Object(upstream.requests.at(-1))
}

function chat(
  model: string,
  messages: readonly unknown[] = [{ role: 'system', content: 'Be brief' }, ...TURNS],
): object {
  const tools = ['f', 'g'].map((name) => ({ type: 'function', function: { name, parameters: { type: 'object' } } }))
  return { model, tools, messages }
}

test('an endpoint that is said to gets marks on tools, system and the last turns, where the client set none', async () => {
  const body = await sent('/v1/chat/completions', { ...chat('test/marked') })
  assert.deepEqual(
    [Object(body['tools']).map((tool: object) => Object(tool).cache_control), body['system']],
    [[undefined, MARK], [{ type: 'text', text: 'Be brief', cache_control: MARK }]],
  )
  const marks = Object(body['messages']).map(
    ({ content }: { content: object[] }) => Object(content.at(-1)).cache_control,
  )
  assert.deepEqual(marks, [undefined, undefined, MARK, undefined, MARK])
  // A client of the protocol as well, with texts in place of blocks.
  const native = await sent('/v1/messages', { model: 'test/marked', system: 'Be brief', messages: TURNS })
  assert.deepEqual(native['system'], [{ type: 'text', text: 'Be brief', cache_control: MARK }])
  assert.deepEqual(Object(native['messages'])[4], {
    role: 'user',
    content: [{ type: 'text', text: 'Three', cache_control: MARK }],
  })
})

test("no mark: beside the client's own, in a short prompt, without a price, without the flag", async () => {
  const own = [{ role: 'user', content: [{ type: 'text', text: LONG, cache_control: MARK }] }, ...TURNS.slice(1)]
  assert.equal(
    JSON.stringify(await sent('/v1/messages', { model: 'test/marked', messages: own })).split('cache_control').length,
    2,
  )
  assert.equal(
    JSON.stringify(await sent('/v1/chat/completions', { ...chat('test/marked', own) })).split('cache_control').length,
    2,
  )
  for (const body of [
    chat('test/plain'),
    chat('test/unpriced'),
    { model: 'test/marked', messages: [{ role: 'user', content: 'Short' }] },
  ])
    assert.ok(!JSON.stringify(await sent('/v1/chat/completions', { ...body })).includes('cache_control'))
})

test('at Bedrock they are points, after the tools too, which Nova does not keep', async () => {
  const body = await sent('/v1/chat/completions', { ...chat('test/aws') })
  assert.deepEqual(body['system'], [{ text: 'Be brief' }, POINT])
  assert.deepEqual(Object(body['toolConfig']).tools.at(-1), POINT)
  const points = Object(body['messages']).map(
    ({ content }: { content: object[] }) => 'cachePoint' in Object(content.at(-1)),
  )
  assert.deepEqual(points, [false, false, true, false, true])
  const nova = await sent('/v1/chat/completions', { ...chat('test/nova') })
  assert.deepEqual([Object(nova['toolConfig']).tools.length, Object(nova['system']).length], [2, 2])
})
