import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, serve } from '../harness/gateway.ts'
import { answers, startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { completion } from '../harness/provider-answers.ts'

const PRICE = 'price: { currency: RUB, prompt: 1, completion: 1, input_cache_read: 0.5 }'
const { key, tollgate, upstream } = await serve(startScriptedUpstream, ({ url }) => {
  const model = (id: string, name: string, more = ''): string =>
    `  - { id: test/${id}, type: chat, context_length: 100000, endpoints: [{ provider: router, model: ${name}, ${PRICE}${more} }] }`
  return `
markup: 1
bundled: false
providers:
  router: { name: Router, adapter: openai, base_url: "${url}", api_key: k, dialect: { reasoning: object, strict: all_or_none, schema_words: { $comment: drop, pattern: describe }, json_word: true, fixed: { presence_penalty: null, top_p: 0.9 } } }
models:
${model('opus', 'anthropic/claude-opus-5.5')}
${model('opus-native', 'anthropic/claude-opus-5.5', ', native_responses: true')}
${model('fable-native', 'anthropic/claude-fable-5.1', ', native_responses: true')}
${model('sonnet', 'anthropic/claude-sonnet-4.5')}
${model('flash', 'google/gemini-3.6-flash')}
${model('other', 'acme/large')}
${model('other-native', 'acme/large', ', native_responses: true')}
`
})

interface Seen {
  readonly dropped: string | undefined
  readonly sent: Record<string, unknown>
}

const CHAT_ANSWER = completion(
  { content: 'Hi' },
  { usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 } },
)
const RESPONSE = {
  id: 'r',
  object: 'response',
  status: 'completed',
  output: [
    { type: 'message', id: 'i', role: 'assistant', content: [{ type: 'output_text', text: 'y', annotations: [] }] },
  ],
  usage: { input_tokens: 5, output_tokens: 1, total_tokens: 6 },
}

async function ask(path: string, body: Record<string, unknown>): Promise<Seen> {
  upstream.answer(
    answers(path.endsWith('responses') && String(body['model']).includes('native') ? RESPONSE : CHAT_ANSWER),
  )
  const { status, headers, text }: Answer = await tollgate.post(path, key, body)
  assert.equal(status, 200, text)
  return { dropped: headers['x-tollgate-dropped'], sent: upstream.requests.at(-1) ?? {} }
}

const USER = { role: 'user', content: 'Hi' }
const TOOL = { name: 'f', description: 'F', parameters: { type: 'object', properties: {} } }
const TOOLS = [{ type: 'function', function: TOOL }]
const CALL_F = /Call the tool "f" now/

// https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5, 2026-09-24, and the rows of claude-traits.ts.
test("a model's limits hold in OpenAI's protocol too: what it refuses is left out or told in words, and named", async () => {
  const cases: readonly (readonly [string, Record<string, unknown>, string | undefined, Record<string, unknown>])[] = [
    [
      'opus',
      { tools: TOOLS, tool_choice: { type: 'function', function: { name: 'f' } }, reasoning_effort: 'none' },
      'reasoning_effort, tool_choice',
      { tool_choice: 'auto', reasoning: { effort: 'low' } },
    ],
    [
      'opus',
      { tools: TOOLS, tool_choice: 'auto', temperature: 1, top_k: 3 },
      'temperature, top_k',
      { tool_choice: 'auto' },
    ],
    [
      'sonnet',
      { tools: TOOLS, tool_choice: 'required', reasoning_effort: 'none' },
      undefined,
      { tool_choice: 'required' },
    ],
    [
      'other',
      { tools: TOOLS, tool_choice: 'required', temperature: 1 },
      undefined,
      { tool_choice: 'required', temperature: 1 },
    ],
    ['flash', { frequency_penalty: 0, temperature: 1 }, 'temperature, frequency_penalty', {}],
  ]
  for (const [model, fields, dropped, sent] of cases) {
    const seen = await ask('/v1/chat/completions', {
      model: `test/${model}`,
      messages: [USER],
      max_tokens: 9,
      ...fields,
    })
    assert.equal(seen.dropped, dropped, model)
    assert.partialDeepStrictEqual(seen.sent, sent)
    for (const name of (dropped ?? '').split(', ').filter((one) => one !== 'tool_choice'))
      assert.equal(seen.sent[name], undefined, `${model} ${name}`)
    const isTold = CALL_F.test(JSON.stringify(seen.sent['messages']).replaceAll('\\', ''))
    assert.equal(isTold, dropped?.includes('tool_choice') === true, model)
  }
  const begun = [USER, { role: 'assistant', content: 'Well,' }]
  for (const [model, name] of [
    ['opus', 'messages.prefill'],
    ['flash', 'messages.prefill'],
    ['other', undefined],
  ] as const) {
    const { dropped, sent } = await ask('/v1/chat/completions', { model: `test/${model}`, messages: begun })
    assert.equal(dropped, name, model)
    assert.equal((sent['messages'] as readonly unknown[]).length, name === undefined ? 2 : 3)
  }
  const messages = {
    max_tokens: 9,
    messages: [USER],
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
    tool_choice: { type: 'any' },
  }
  const { dropped } = await ask('/v1/messages', { model: 'test/opus', ...messages })
  assert.equal(dropped, 'tool_choice')
})

test('a provider of Responses is not sent what its model or its service refuses', async () => {
  const flat = [{ type: 'function', ...TOOL }]
  for (const model of ['opus-native', 'fable-native']) {
    const { dropped, sent } = await ask('/v1/responses', {
      model: `test/${model}`,
      input: [{ role: 'user', content: 'Hi' }],
      tools: flat,
      tool_choice: { type: 'function', name: 'f' },
      reasoning: { effort: 'none' },
      temperature: 0.5,
    })
    assert.equal(dropped, 'reasoning, temperature, tool_choice', model)
    assert.partialDeepStrictEqual(sent, { tool_choice: 'auto', reasoning: { effort: 'low' } })
    assert.equal(sent['temperature'], undefined)
    assert.match(JSON.stringify(sent['input']).replaceAll('\\', ''), CALL_F)
  }
  const schema = { type: 'object', $comment: 'x', properties: { a: { type: 'string', pattern: '^a' } } }
  const { dropped, sent } = await ask('/v1/responses', {
    model: 'test/other-native',
    input: 'Hi',
    top_p: 0.5,
    tools: [
      { type: 'function', name: 'f', parameters: schema, strict: true },
      { type: 'function', name: 'g', parameters: { type: 'object' }, strict: false },
    ],
    tool_choice: 'required',
    text: { format: { type: 'json_schema', name: 'n', schema } },
  })
  assert.equal(dropped, 'tools.strict, tools.$comment, tools.pattern, text.format.$comment, text.format.pattern, top_p')
  const plain = { type: 'object', properties: { a: { type: 'string' } } }
  assert.partialDeepStrictEqual(sent, {
    top_p: 0.9,
    tool_choice: 'required',
    tools: [{ name: 'f', parameters: plain }, { name: 'g' }],
    text: { format: { type: 'json_schema', name: 'n', schema: plain } },
  })
  assert.equal(JSON.stringify(sent).includes('strict'), false)
  assert.equal(JSON.stringify(sent).includes('$comment'), false)
  const json = await ask('/v1/responses', {
    model: 'test/other-native',
    input: 'Hi',
    text: { format: { type: 'json_object' } },
  })
  assert.equal(json.dropped, 'messages.system')
  assert.match(JSON.stringify(json.sent['input']), /JSON/)
})
