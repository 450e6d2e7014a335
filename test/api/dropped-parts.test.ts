import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, serve } from '../harness/gateway.ts'
import { answers, startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { completion, claudeMessage, candidate } from '../harness/provider-answers.ts'

const PRICE = 'price: { currency: RUB, prompt: 1, completion: 1, input_cache_read: 0.5 }'
const { key, tollgate, upstream } = await serve(
  startScriptedUpstream,
  ({ url }) => `
markup: 1
providers:
  open: { name: Open, adapter: openai, base_url: "${url}", api_key: k }
  claude: { name: Claude, adapter: anthropic, base_url: "${url}", api_key: k }
  google: { name: Google, adapter: gemini, base_url: "${url}", api_key: k }
models:
  - { id: test/plain, type: chat, context_length: 100000, endpoints: [{ provider: open, model: up, supported_parameters: [max_tokens, tools], ${PRICE} }] }
  - { id: test/effort, type: chat, context_length: 100000, endpoints: [{ provider: open, model: up, supported_parameters: [max_tokens, reasoning_effort], ${PRICE} }] }
  - { id: test/claude, type: chat, context_length: 100000, endpoints: [{ provider: claude, model: claude-3-haiku, ${PRICE} }] }
  - { id: test/opus, type: chat, context_length: 100000, endpoints: [{ provider: claude, model: claude-opus-5-5, ${PRICE} }] }
  - { id: test/flash, type: chat, context_length: 100000, endpoints: [{ provider: google, model: gemini-3.6-flash, ${PRICE} }] }
  - { id: test/gemini, type: chat, context_length: 100000, endpoints: [{ provider: google, model: gemini-2.0-flash, ${PRICE} }] }
`,
)

async function dropped(path: string, body: unknown): Promise<string | undefined> {
  const { status, headers, text }: Answer = await tollgate.post(path, key, body)
  assert.equal(status, 200, text)
  return headers['x-tollgate-dropped']
}

const CHAT_ANSWER = completion(
  { content: 'Hi' },
  { usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 } },
)
const CLAUDE_ANSWER = claudeMessage([{ type: 'text', text: 'Hi' }], { input_tokens: 5, output_tokens: 1 })
const GEMINI_ANSWER = candidate([{ text: 'Hi' }], { promptTokenCount: 5, candidatesTokenCount: 1, totalTokenCount: 6 })
const MESSAGES = {
  max_tokens: 2_000,
  thinking: { type: 'enabled', budget_tokens: 1_024 },
  stop_sequences: ['X'],
  system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
  messages: [
    {
      role: 'user',
      content: [
        {
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: 'A text.' },
          citations: { enabled: true },
        },
      ],
    },
  ],
}

test('a translated request names each part that its provider is not sent, in the words of its protocol', async () => {
  upstream.answer(answers(CHAT_ANSWER))
  assert.equal(
    await dropped('/v1/messages', { model: 'test/plain', ...MESSAGES }),
    'messages.citations, stop_sequences, thinking, cache_control',
  )
  // Nothing in this protocol says a budget; an effort can be said.
  const { system: _system, stop_sequences: _stop, ...thinks } = MESSAGES
  assert.equal(await dropped('/v1/messages', { model: 'test/effort', ...thinks }), 'messages.citations, thinking')
  const effort = { model: 'test/effort', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }
  assert.equal(await dropped('/v1/messages', { ...effort, output_config: { effort: 'low' } }), undefined)
  const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }]
  const generationConfig = { topK: 3, thinkingConfig: { thinkingBudget: 100 }, responseMimeType: 'application/json' }
  assert.equal(
    await dropped('/v1beta/models/test/plain:generateContent', { contents, generationConfig }),
    'generationConfig.topK, generationConfig.thinkingConfig, generationConfig.responseSchema',
  )
  assert.equal(
    await dropped('/v1/responses', { model: 'test/plain', input: 'Hi', top_p: 0.5, reasoning: { effort: 'low' } }),
    'top_p, reasoning',
  )
  assert.equal(
    await dropped('/v2/chat', {
      model: 'test/plain',
      messages: [{ role: 'user', content: 'Hi' }],
      k: 3,
      thinking: { type: 'enabled' },
    }),
    'k, thinking',
  )
})

test('a chat is told too, wherever a parameter of it does not go', async () => {
  upstream.answer(answers(CLAUDE_ANSWER))
  const messages = [{ role: 'user', content: 'Hi' }]
  const chat = { model: 'test/claude', max_tokens: 9, messages }
  assert.equal(await dropped('/v1/chat/completions', { ...chat, temperature: 0.5, stop: ['X'] }), undefined)
  assert.equal(
    await dropped('/v1/chat/completions', {
      ...chat,
      seed: 1,
      logprobs: true,
      service_tier: 'priority',
      frequency_penalty: 1,
    }),
    'frequency_penalty, seed, logprobs, service_tier',
  )
  upstream.answer(answers(CHAT_ANSWER))
  assert.equal(
    await dropped('/v1/chat/completions', { ...chat, model: 'test/plain', response_format: { type: 'json_object' } }),
    'response_format',
  )
  assert.equal(
    await dropped('/v1/completions', { model: 'test/plain', max_tokens: 9, prompt: 'Hi', seed: 1, stop: 'X' }),
    'stop, seed',
  )
  // A body of Responses on this route as well.
  assert.equal(
    await dropped('/v1/chat/completions', {
      model: 'test/plain',
      input: 'Hi',
      tools: [{ type: 'web_search' }],
      top_p: 0.5,
    }),
    'tools.web_search, top_p',
  )
})

test('models that cannot think are not asked to, and the client is told', async () => {
  upstream.answer(answers(CLAUDE_ANSWER))
  const input = { input: 'Hi', reasoning: { effort: 'low' }, seed: 1 }
  assert.equal(await dropped('/v1/responses', { model: 'test/claude', ...input }), 'seed, reasoning')
  upstream.answer(answers(GEMINI_ANSWER))
  assert.equal(await dropped('/v1/responses', { model: 'test/gemini', ...input }), 'reasoning')
})

test('a provider of the protocol is sent all but cache marks without a price, and what its model refuses', async () => {
  upstream.answer(answers(CLAUDE_ANSWER))
  assert.equal(await dropped('/v1/messages', { model: 'test/claude', ...MESSAGES }), 'thinking, cache_control')
})

test('a word of an enumeration is asked of Gemini as it is, and of no other', async () => {
  upstream.answer(answers(GEMINI_ANSWER))
  const body = {
    contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
    generationConfig: { responseMimeType: 'text/x.enum', responseSchema: { type: 'STRING', enum: ['a', 'b'] } },
  }
  assert.equal(await dropped('/v1beta/models/test/gemini:generateContent', body), undefined)
  assert.partialDeepStrictEqual(upstream.requests.at(-1), { generationConfig: body.generationConfig })
  const refused = await tollgate.post('/v1beta/models/test/plain:generateContent', key, body)
  assert.deepEqual(
    [refused.status, refused.body.error.message],
    [
      400,
      "generationConfig.responseMimeType: 'text/x.enum' is offered only with models of Gemini's protocol, not with 'test/plain'",
    ],
  )
})

const TOOL = { name: 'f', description: 'F', parameters: { type: 'object', properties: {} } }
const BOUNDED = { type: 'object', properties: { a: { type: 'integer', minimum: 1 } } }

test('what a newer model refuses is left out or told in words, and named on every route', async () => {
  upstream.answer(answers(CLAUDE_ANSWER))
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: 'Well,' },
  ]
  const schema = { type: 'json_schema', json_schema: { name: 'n', schema: BOUNDED } }
  assert.equal(
    await dropped('/v1/chat/completions', {
      model: 'test/opus',
      messages,
      temperature: 0,
      reasoning_effort: 'none',
      tools: [{ type: 'function', function: TOOL }],
      tool_choice: 'required',
      response_format: schema,
    }),
    'temperature, reasoning_effort, tool_choice, messages.prefill, response_format.minimum',
  )
  assert.equal(
    await dropped('/v1/responses', {
      model: 'test/opus',
      input: 'Hi',
      reasoning: { effort: 'none' },
      tools: [{ type: 'function', ...TOOL }],
      tool_choice: { type: 'function', name: 'f' },
      text: { format: { type: 'json_schema', name: 'n', schema: BOUNDED } },
    }),
    'reasoning, tool_choice, text.format.minimum',
  )
  assert.equal(
    await dropped('/v1beta/models/test/opus:generateContent', {
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      generationConfig: { temperature: 1, thinkingConfig: { thinkingBudget: 0 } },
      tools: [{ functionDeclarations: [TOOL] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
    }),
    'generationConfig.temperature, generationConfig.thinkingConfig, toolConfig',
  )
  const { thinking, tool_choice: choice, output_config: output, system } = Object(upstream.requests.at(-1))
  assert.deepEqual([thinking, choice, output], [undefined, { type: 'auto' }, { effort: 'low' }])
  assert.match(system[0].text, /"f"/)
  upstream.answer(answers(GEMINI_ANSWER))
  const penalties = { top_p: 1, frequency_penalty: 0, presence_penalty: 0 }
  assert.equal(
    await dropped('/v1/chat/completions', { model: 'test/flash', messages, ...penalties }),
    'top_p, frequency_penalty, presence_penalty, messages.prefill',
  )
})
