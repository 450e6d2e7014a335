import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, serve } from '../harness/gateway.ts'
import { answers, startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { claudeMessage, candidate } from '../harness/provider-answers.ts'

const PRICE = 'price: { currency: RUB, prompt: 1, completion: 1, input_cache_read: 0.5, input_cache_write: 1 }'
const { key, tollgate, upstream } = await serve(startScriptedUpstream, ({ url }) => {
  const model = (provider: string, name: string): string =>
    `  - { id: test/${name}, type: chat, context_length: 100000, endpoints: [{ provider: ${provider}, model: ${name}, ${PRICE} }] }`
  return `
markup: 1
bundled: false
providers:
  claude: { name: Claude, adapter: anthropic, base_url: "${url}", api_key: k }
  google: { name: Google, adapter: gemini, base_url: "${url}", api_key: k }
models:
${['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-opus-4-7', 'claude-haiku-4-5', 'claude-3-haiku', 'other-large'].map((name) => model('claude', name)).join('\n')}
${['gemini-3.6-flash', 'gemini-3-pro-preview', 'gemini-2.5-pro', 'gemini-2.0-flash'].map((name) => model('google', name)).join('\n')}
`
})

interface Seen {
  readonly dropped: string | undefined
  readonly sent: Record<string, unknown>
  readonly betas: unknown
}

const CLAUDE_ANSWER = claudeMessage([{ type: 'text', text: 'Hi' }], { input_tokens: 5, output_tokens: 1 })
const TOOLS = [{ name: 'f', input_schema: { type: 'object' }, strict: true }]
const USER = { role: 'user', content: 'Hi' }

async function ask(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Seen> {
  const answered: Answer = await tollgate.request('POST', path, { key, body, headers })
  assert.equal(answered.status, 200, answered.text)
  return {
    dropped: answered.headers['x-tollgate-dropped'],
    sent: upstream.requests.at(-1) ?? {},
    betas: upstream.received.at(-1)?.headers['anthropic-beta'],
  }
}

function messages(model: string, fields: Record<string, unknown>, headers: Record<string, string> = {}): Promise<Seen> {
  upstream.answer(answers(CLAUDE_ANSWER))
  return ask('/v1/messages', { model: `test/${model}`, max_tokens: 4_000, messages: [USER], ...fields }, headers)
}

/** The pages are those of the rows of `src/protocols/models`. */
test("what a Claude model refuses of its own protocol's words is left out or told, and named; all else stays", async () => {
  const budget = { type: 'enabled', budget_tokens: 2_000 }
  const format = { type: 'json_schema', schema: { type: 'object', properties: {} } }
  const cases: readonly (readonly [string, Record<string, unknown>, string | undefined, Record<string, unknown>])[] = [
    // https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5
    ['claude-opus-5-5', { thinking: { type: 'disabled' } }, 'thinking', { output_config: { effort: 'low' } }],
    [
      'claude-opus-5-5',
      { thinking: budget },
      'thinking.budget_tokens',
      { thinking: { type: 'adaptive', display: 'summarized' } },
    ],
    [
      'claude-opus-5-5',
      { tools: TOOLS, tool_choice: { type: 'any', disable_parallel_tool_use: true }, system: 'Be brief.' },
      'tool_choice',
      {
        tools: TOOLS,
        tool_choice: { type: 'auto', disable_parallel_tool_use: true },
        system: [
          { type: 'text', text: 'Be brief.' },
          {
            type: 'text',
            text: 'Call one of the tools now: your next message must be this call, with no words before it.',
          },
        ],
      },
    ],
    ['claude-opus-5-5', { temperature: 1, thinking: { type: 'adaptive' } }, undefined, { temperature: 1 }],
    // https://platform.claude.com/docs/en/models/sonnet-5-5/whats-new-sonnet-5-5
    ['claude-sonnet-5-5', { thinking: { type: 'disabled' } }, 'thinking', { thinking: { type: 'between_tools' } }],
    ['claude-opus-4-7', { temperature: 0.5, top_k: 3 }, 'temperature, top_k', {}],
    ['claude-opus-4-7', { thinking: { type: 'disabled' } }, undefined, { thinking: { type: 'disabled' } }],
    ['claude-opus-4-7', { tools: TOOLS, tool_choice: { type: 'any' } }, undefined, { tool_choice: { type: 'any' } }],
    // https://platform.claude.com/docs/build-with-claude/thinking-troubleshooting
    ['claude-haiku-4-5', { thinking: { type: 'adaptive' } }, 'thinking', { thinking: budget }],
    ['claude-haiku-4-5', { temperature: 0.5, top_p: 0.5 }, 'top_p', { temperature: 0.5 }],
    ['claude-3-haiku', { thinking: budget }, 'thinking', {}],
    ['claude-3-haiku', { tools: TOOLS }, 'tools.strict', { tools: [{ name: 'f', input_schema: { type: 'object' } }] }],
    ['claude-3-haiku', { output_config: { format } }, 'output_config.format', {}],
    // Nothing is known of another maker's model.
    [
      'other-large',
      { thinking: { type: 'disabled' }, tools: TOOLS, tool_choice: { type: 'any' }, temperature: 0.5 },
      undefined,
      { thinking: { type: 'disabled' }, tool_choice: { type: 'any' }, temperature: 0.5 },
    ],
  ]
  for (const [model, fields, dropped, expected] of cases) {
    const { sent, ...told } = await messages(model, fields)
    assert.equal(told.dropped, dropped, `${model} ${JSON.stringify(fields)}`)
    for (const [name, value] of Object.entries(expected)) assert.deepEqual(sent[name], value, `${model} ${name}`)
    for (const name of (dropped ?? '').split(', '))
      if (!(name in expected)) assert.equal(sent[name], undefined, `${model} ${name}`)
    assert.equal(told.betas, undefined)
  }
  const begun = [USER, { role: 'assistant', content: [{ type: 'text', text: 'Well,' }] }]
  const { dropped, sent } = await messages('claude-opus-5-5', { messages: begun })
  assert.equal(dropped, 'messages.prefill')
  assert.partialDeepStrictEqual(sent, { messages: [...begun, { role: 'user' }] })
  assert.equal((await messages('claude-haiku-4-5', { messages: begun })).dropped, undefined)
})

/** https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks, 2026-11-27. */
test('thoughts that we put behind another text are left out by the provider, and not refused', async () => {
  const thought = { type: 'thinking', thinking: 'Hm', signature: 'c2ln' }
  const history = [
    USER,
    { role: 'assistant', content: [thought, { type: 'tool_use', id: 't', name: 'f', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'x' }] },
  ]
  const drop = { block_binding: { prefix_mismatch_behavior: 'drop_block' } }
  const beta = 'thinking-binding-controls-2026-08-01'
  const same = await messages('claude-opus-5-5', { messages: history, tools: TOOLS })
  assert.deepEqual([same.sent['thinking'], same.betas], [undefined, undefined], 'nothing was changed')
  assert.partialDeepStrictEqual(same.sent, { messages: [{}, { content: [thought, {}] }] })
  const forced = { messages: history, tools: TOOLS, tool_choice: { type: 'any' } }
  const changed = await messages('claude-opus-5-5', forced, { 'anthropic-beta': 'a-1' })
  assert.deepEqual([changed.sent['thinking'], changed.betas], [{ type: 'adaptive', ...drop }, `a-1,${beta}`])
  // Without thinking there is no place for it.
  const without = await messages('claude-sonnet-5-5', { ...forced, thinking: { type: 'disabled' } })
  assert.deepEqual([without.sent['thinking'], without.betas], [{ type: 'between_tools' }, undefined])
  assert.equal(JSON.stringify(without.sent).includes('c2ln'), false)

  // A client of chat cannot ask for it, and may change what it likes.
  const calls = [{ id: 't', type: 'function', function: { name: 'f', arguments: '{}' } }]
  const details = [{ type: 'reasoning.text', text: 'Hm', signature: 'c2ln', format: 'anthropic-claude-v1', index: 0 }]
  const chat = (model: string, fields: Record<string, unknown> = {}): Promise<Seen> =>
    ask('/v1/chat/completions', {
      model: `test/${model}`,
      max_tokens: 4_000,
      messages: [
        USER,
        { role: 'assistant', content: null, tool_calls: calls, reasoning_details: details },
        { role: 'tool', tool_call_id: 't', content: 'x' },
      ],
      tools: [{ type: 'function', function: { name: 'f' } }],
      ...fields,
    })
  const bound = await chat('claude-opus-5-5', { reasoning_effort: 'low' })
  assert.deepEqual(bound.sent['thinking'], { type: 'adaptive', display: 'summarized', ...drop })
  assert.equal(bound.betas, beta)
  assert.partialDeepStrictEqual(bound.sent, { messages: [{}, { content: [thought, {}] }] })
  assert.deepEqual((await chat('claude-opus-5-5')).sent['thinking'], { type: 'adaptive', ...drop })
  const off = await chat('claude-sonnet-5-5', { reasoning_effort: 'none' })
  assert.deepEqual([off.sent['thinking'], off.betas], [{ type: 'between_tools' }, undefined])
  assert.equal(JSON.stringify(off.sent).includes('c2ln'), false)
  const older = await chat('claude-opus-4-7')
  assert.deepEqual([older.sent['thinking'], older.betas], [undefined, undefined])
  assert.equal(JSON.stringify(older.sent).includes('c2ln'), true)
})

const GEMINI_ANSWER = candidate([{ text: 'Hi' }], { promptTokenCount: 5, candidatesTokenCount: 1, totalTokenCount: 6 })

function generate(model: string, body: Record<string, unknown>): Promise<Seen> {
  upstream.answer(answers(GEMINI_ANSWER))
  return ask(`/v1beta/models/test/${model}:generateContent`, {
    contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
    ...body,
  })
}

/** https://ai.google.dev/gemini-api/docs/thinking and the pages of the rows of `src/protocols/models`, 2026-11-27. */
test("what a Gemini model refuses of its own protocol's words is left out or made to fit, and named", async () => {
  const THINKS = 'generationConfig.thinkingConfig'
  const cases: readonly (readonly [string, Record<string, unknown>, string | undefined, Record<string, unknown>])[] = [
    [
      'gemini-3.6-flash',
      { temperature: 1, frequencyPenalty: 0, presence_penalty: 0 },
      'generationConfig.frequencyPenalty, generationConfig.presencePenalty',
      { temperature: 1 },
    ],
    ['gemini-2.5-pro', { frequencyPenalty: 0 }, undefined, { frequencyPenalty: 0 }],
    ['gemini-2.0-flash', { thinkingConfig: { thinkingBudget: 100 }, topK: 3 }, THINKS, { topK: 3 }],
    ['gemini-2.5-pro', { thinkingConfig: { thinkingBudget: 0 } }, THINKS, { thinkingConfig: { thinkingBudget: 128 } }],
    [
      'gemini-2.5-pro',
      { maxOutputTokens: 10_000, thinking_config: { thinking_level: 'LOW', includeThoughts: true } },
      THINKS,
      { thinkingConfig: { includeThoughts: true, thinkingBudget: 2_000 } },
    ],
    [
      'gemini-2.5-pro',
      { thinkingConfig: { thinkingBudget: -1 } },
      undefined,
      { thinkingConfig: { thinkingBudget: -1 } },
    ],
    [
      'gemini-3-pro-preview',
      { thinkingConfig: { thinkingLevel: 'medium' } },
      THINKS,
      { thinkingConfig: { thinkingLevel: 'high' } },
    ],
    [
      'gemini-3-pro-preview',
      { thinkingConfig: { thinkingBudget: 0 } },
      THINKS,
      { thinkingConfig: { thinkingLevel: 'low' } },
    ],
    [
      'gemini-3-pro-preview',
      { thinkingConfig: { thinkingLevel: 'HIGH' } },
      undefined,
      { thinkingConfig: { thinkingLevel: 'HIGH' } },
    ],
  ]
  for (const [model, generationConfig, dropped, expected] of cases) {
    const { sent, dropped: told } = await generate(model, { generationConfig })
    assert.equal(told, dropped, `${model} ${JSON.stringify(generationConfig)}`)
    // An object of the server under test.
    const { maxOutputTokens: _max, ...config } = sent['generationConfig'] as Record<string, unknown>
    assert.deepEqual(config, expected, model)
  }
  const call = { functionCall: { name: 'f', args: {} } }
  const contents = [
    { role: 'user', parts: [{ text: 'Hi' }] },
    { role: 'model', parts: [call, call] },
    { role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] },
    { role: 'model', parts: [{ text: 'Well,' }] },
  ]
  const newest = await generate('gemini-3.6-flash', { contents })
  assert.equal(newest.dropped, 'messages.prefill')
  assert.partialDeepStrictEqual(newest.sent, {
    contents: [
      {},
      { parts: [{ ...call, thoughtSignature: 'skip_thought_signature_validator' }, call] },
      {},
      {},
      { role: 'user' },
    ],
  })
  const older = await generate('gemini-2.5-pro', { contents })
  assert.deepEqual([older.dropped, older.sent['contents']], [undefined, contents])
})
