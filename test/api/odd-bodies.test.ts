import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { checkShape } from '../harness/door-errors.ts'
import { protocolOfPath } from '../../src/base/client-protocol.ts'
import { answers, startScriptedUpstream, type Received } from '../harness/scripted-upstream.ts'
import { serve } from '../harness/gateway.ts'
import { completion, claudeMessage, candidate } from '../harness/provider-answers.ts'

/** A parsed body; a test that reads a field which is not there fails by itself. */
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

/**
 * Odd bodies that mean the same in each protocol of clients (clients.md D-14.3): what a provider of another protocol is
 * sent is what its documents allow, or the client is told why not.
 */
const MODELS: Readonly<Record<string, string>> = {
  openai: 'up',
  anthropic: 'claude-sonnet-4-0',
  gemini: 'gemini-3-flash',
  bedrock: 'anthropic.claude-sonnet-4-v1:0',
  cohere: 'up',
}
const { key, tollgate, upstream } = await serve(
  startScriptedUpstream,
  ({ url }) => `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
${Object.keys(MODELS)
  .map(
    (name) =>
      `  ${name}: { name: ${name}, adapter: ${name}, base_url: "${url}/${name}", api_key: upstream-canary-key }`,
  )
  .join('\n')}
models:
${Object.entries(MODELS)
  .map(
    ([name, model]) =>
      `  - { id: test/${name}, type: chat, context_length: 200000, max_completion_tokens: 8000, input_modalities: [text, image], endpoints: [{ provider: ${name}, model: "${model}", price: { currency: RUB, prompt: 1, completion: 1 } }] }`,
  )
  .join('\n')}
`,
  1_000_000,
)

/** Each protocol of providers: the functions of a request, and an answer that calls one of them. */
const PROVIDERS: Readonly<
  Record<
    string,
    { readonly tools: (body: Json) => readonly string[]; readonly answer: (call: string | undefined) => Json }
  >
> = {
  openai: {
    tools: (body) => (body.tools ?? []).map((tool: Json) => tool.function.name),
    answer: (name) =>
      completion(
        {
          content: 'Hi',
          ...(name === undefined
            ? {}
            : { tool_calls: [{ id: 'call_9', type: 'function', function: { name, arguments: '{}' } }] }),
        },
        {
          usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
          finish: name === undefined ? 'stop' : 'tool_calls',
        },
      ),
  },
  anthropic: {
    tools: (body) => (body.tools ?? []).map((tool: Json) => tool.name),
    answer: (name) =>
      claudeMessage(
        [
          { type: 'text', text: 'Hi' },
          ...(name === undefined ? [] : [{ type: 'tool_use', id: 'call_9', name, input: {} }]),
        ],
        { input_tokens: 5, output_tokens: 1 },
        { stop_reason: name === undefined ? 'end_turn' : 'tool_use' },
      ),
  },
  gemini: {
    tools: (body) =>
      (body.tools ?? []).flatMap((tool: Json) => (tool.functionDeclarations ?? []).map(({ name }: Json) => name)),
    answer: (name) =>
      candidate([{ text: 'Hi' }, ...(name === undefined ? [] : [{ functionCall: { name, args: {} } }])], {
        promptTokenCount: 5,
        candidatesTokenCount: 1,
        totalTokenCount: 6,
      }),
  },
  bedrock: {
    tools: (body) => (body.toolConfig?.tools ?? []).flatMap((tool: Json) => tool.toolSpec?.name ?? []),
    answer: (name) => ({
      output: {
        message: {
          role: 'assistant',
          content: [
            { text: 'Hi' },
            ...(name === undefined ? [] : [{ toolUse: { toolUseId: 'call_9', name, input: {} } }]),
          ],
        },
      },
      stopReason: name === undefined ? 'end_turn' : 'tool_use',
      usage: { inputTokens: 5, outputTokens: 1, totalTokens: 6 },
    }),
  },
  cohere: {
    tools: (body) => (body.tools ?? []).map((tool: Json) => tool.function.name),
    answer: (name) => ({
      id: 'c',
      finish_reason: name === undefined ? 'COMPLETE' : 'TOOL_CALL',
      message: {
        role: 'assistant',
        content: [{ type: 'text', text: 'Hi' }],
        ...(name === undefined
          ? {}
          : { tool_calls: [{ id: 'call_9', type: 'function', function: { name, arguments: '{}' } }] }),
      },
      usage: { tokens: { input_tokens: 5, output_tokens: 1 }, billed_units: { input_tokens: 5, output_tokens: 1 } },
    }),
  },
}

function reply(response: ServerResponse, { path: url }: Received): void {
  const { tools, answer } = PROVIDERS[url.split('/', 2)[1] ?? ''] ?? assert.fail(url)
  answers(answer(tools(upstream.requests.at(-1))[0]))(response)
}

interface Odd {
  readonly text?: string
  readonly tools?: readonly { readonly name: string; readonly schema: unknown }[]
  readonly choice?: 'any' | 'none'
  readonly max?: number
  readonly temperature?: number
  readonly budget?: number
  readonly turns?: 'calls' | 'prefill' | 'repeated'
  /** Members of every body that mean nothing. */
  readonly more?: Readonly<Record<string, unknown>>
}
type Door = (model: string, odd: Odd) => readonly [path: string, body: Json]

/** The turns in words that each protocol spells in its own way. */
function turnsOf<Turn>(
  turns: Odd['turns'],
  user: Turn,
  model: (text: string) => Turn,
  call: Turn,
  result: Turn,
): readonly Turn[] {
  if (turns === 'calls') return [user, call, result]
  if (turns === 'prefill') return [user, model('It is ')]
  return turns === 'repeated' ? [user, user, model('a'), model('b'), user] : [user]
}

const chatTools = (tools: Odd['tools']): Json =>
  tools?.map(({ name, schema }) => ({ type: 'function', function: { name, parameters: schema } }))
const chatTurns = ({ turns, text = 'Hi', tools = [] }: Odd): Json =>
  turnsOf<Json>(
    turns,
    { role: 'user', content: text },
    (content) => ({ role: 'assistant', content }),
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: tools[0]?.name ?? 'f', arguments: '{"a":1}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'r' },
  )

const DOORS: Readonly<Record<string, Door>> = {
  openai: (model, odd) => [
    '/v1/chat/completions',
    {
      model,
      max_tokens: odd.max,
      temperature: odd.temperature,
      tools: chatTools(odd.tools),
      tool_choice: odd.choice === 'any' ? 'required' : odd.choice,
      reasoning: odd.budget === undefined ? undefined : { max_tokens: odd.budget },
      messages: chatTurns(odd),
      ...odd.more,
    },
  ],
  responses: (model, odd) => [
    '/v1/responses',
    {
      model,
      max_output_tokens: odd.max,
      temperature: odd.temperature,
      tools: odd.tools?.map(({ name, schema }) => ({ type: 'function', name, parameters: schema })),
      tool_choice: odd.choice === 'any' ? 'required' : odd.choice,
      reasoning: odd.budget === undefined ? undefined : { max_tokens: odd.budget },
      input: turnsOf<Json>(
        odd.turns,
        { role: 'user', content: odd.text ?? 'Hi' },
        (content) => ({ role: 'assistant', content }),
        { type: 'function_call', call_id: 'call_1', name: odd.tools?.[0]?.name ?? 'f', arguments: '{"a":1}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'r' },
      ),
      ...odd.more,
    },
  ],
  anthropic: (model, odd) => [
    '/v1/messages',
    {
      model,
      max_tokens: odd.max ?? 4_000,
      temperature: odd.temperature,
      tools: odd.tools?.map(({ name, schema }) => ({ name, input_schema: schema })),
      tool_choice: odd.choice === undefined ? undefined : { type: odd.choice },
      thinking: odd.budget === undefined ? undefined : { type: 'enabled', budget_tokens: odd.budget },
      messages: turnsOf<Json>(
        odd.turns,
        { role: 'user', content: odd.text ?? 'Hi' },
        (content) => ({ role: 'assistant', content }),
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'call_1', name: odd.tools?.[0]?.name ?? 'f', input: { a: 1 } }],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'r' }] },
      ),
      ...odd.more,
    },
  ],
  gemini: (model, odd) => [
    `/v1beta/models/${model}:generateContent`,
    {
      generationConfig: {
        maxOutputTokens: odd.max,
        temperature: odd.temperature,
        thinkingConfig: odd.budget === undefined ? undefined : { thinkingBudget: odd.budget },
      },
      tools:
        odd.tools === undefined
          ? undefined
          : [{ functionDeclarations: odd.tools.map(({ name, schema }) => ({ name, parametersJsonSchema: schema })) }],
      toolConfig: odd.choice === undefined ? undefined : { functionCallingConfig: { mode: odd.choice.toUpperCase() } },
      contents: turnsOf<Json>(
        odd.turns,
        { role: 'user', parts: [{ text: odd.text ?? 'Hi' }] },
        (text) => ({ role: 'model', parts: [{ text }] }),
        { role: 'model', parts: [{ functionCall: { name: odd.tools?.[0]?.name ?? 'f', args: { a: 1 } } }] },
        {
          role: 'user',
          parts: [{ functionResponse: { name: odd.tools?.[0]?.name ?? 'f', response: { output: 'r' } } }],
        },
      ),
      ...odd.more,
    },
  ],
  cohere: (model, odd) => [
    '/v2/chat',
    {
      model,
      max_tokens: odd.max,
      temperature: odd.temperature,
      tools: chatTools(odd.tools),
      tool_choice: odd.choice === undefined ? undefined : odd.choice === 'any' ? 'REQUIRED' : 'NONE',
      thinking: odd.budget === undefined ? undefined : { token_budget: odd.budget },
      messages: chatTurns(odd),
      ...odd.more,
    },
  ],
}

/** Rules of each provider's documents that a request may break. */
const RULES: Readonly<Record<string, (body: Json) => void>> = {
  openai: ({ messages, tools, tool_choice: choice }) => {
    assert.ok(tools === undefined || tools.length > 0)
    assert.ok(choice === undefined || tools !== undefined)
    for (const { content } of messages) assert.ok(!Array.isArray(content) || content.length > 0)
  },
  anthropic: (body) => {
    checkClaude(body.max_tokens, body.thinking)
    assert.ok(body.tool_choice === undefined || body.tools.length > 0)
    for (const tool of body.tools ?? []) assert.equal(tool.input_schema.type, 'object')
    assert.ok((body.temperature ?? 0) <= 1)
    checkTurns(body.messages)
    for (const { content } of body.messages)
      for (const { type, text } of content) assert.ok(type !== 'text' || text.trim() !== '')
  },
  bedrock: (body) => {
    checkClaude(body.inferenceConfig.maxTokens, body.additionalModelRequestFields?.thinking)
    checkTurns(body.messages)
    assert.ok(!JSON.stringify(body.messages).includes('toolUse') || body.toolConfig.tools.length > 0)
  },
  gemini: ({ contents, tools, toolConfig }) => {
    for (const { role, parts } of contents) assert.ok(['user', 'model'].includes(role) && parts.length > 0)
    assert.ok(toolConfig === undefined || tools.length > 0)
  },
  cohere: ({ tools, tool_choice: choice }) => assert.ok(choice === undefined || tools.length > 0),
}

function checkClaude(maxTokens: number, thinking: Json): void {
  assert.ok(Number.isSafeInteger(maxTokens) && maxTokens >= 1 && maxTokens <= 8_000, `${maxTokens}`)
  if (thinking?.budget_tokens !== undefined)
    assert.ok(thinking.budget_tokens >= 1_024 && thinking.budget_tokens < maxTokens, JSON.stringify(thinking))
}

function checkTurns(messages: readonly Json[]): void {
  assert.equal(messages[0].role, 'user')
  for (const [index, { role, content }] of messages.entries()) {
    assert.ok(content.length > 0)
    assert.notEqual(role, messages[index - 1]?.role)
  }
}

const OBJECT = { type: 'object', properties: {} }
const f = (name: string, schema: unknown = OBJECT): { name: string; schema: unknown } => ({ name, schema })
const deep = (levels: number): unknown =>
  levels === 0 ? { type: 'string' } : { type: 'object', properties: { a: deep(levels - 1) } }
const CASES: Readonly<Record<string, Odd>> = {
  'an empty text': { text: '' },
  'a text of white space': { text: ' \n ' },
  'a text of zero bytes and emoji': { text: 'a\u0000b \u{1F468}\u200D\u{1F469}' },
  'a name of 100 characters': { tools: [f(`mcp__server__${'long_'.repeat(17)}xx`)], turns: 'calls' },
  'a name with a dot and a colon': { tools: [f('docs.find:all')], turns: 'calls' },
  'a name that begins with a digit': { tools: [f('1st')], turns: 'calls' },
  'a hundred functions': { tools: Array.from({ length: 100 }, (_, index) => f(`tool_${index}`)) },
  'a schema of nothing': { tools: [f('f', {})] },
  'a deep schema': { tools: [f('f', deep(20))] },
  'a choice without functions': { choice: 'any' },
  'no choice of no functions': { choice: 'none' },
  'a choice of an empty list': { choice: 'any', tools: [] },
  'no choice of functions': { choice: 'none', tools: [f('f')] },
  'calls whose functions are gone': { turns: 'calls' },
  'an answer begun by the client': { turns: 'prefill' },
  'several turns of one side': { turns: 'repeated' },
  'an answer of one token': { max: 1 },
  'an answer longer than the model gives': { max: 100_000 },
  'a temperature of 2': { temperature: 2 },
  'a budget in an answer that is shortened': { max: 64_000, budget: 32_000 },
  'a budget beyond the answer': { max: 2_000, budget: 32_000 },
  'a budget in an answer that is too short for it': { max: 1_000, budget: 2_000 },
  'nothing but nulls': {
    more: {
      tools: null,
      tool_choice: null,
      temperature: null,
      toolConfig: null,
      thinking: null,
      stream: null,
      stop: null,
    },
  },
  'members that nobody knows': { more: { made_up: { a: [1] }, ümlaut: 1, ['a'.repeat(300)]: 1, 'a\r\nb: c': 1 } },
}

for (const [what, odd] of Object.entries(CASES))
  test(`${what}: each provider gets what its protocol allows from each door, or the client a reason`, async (context) => {
    upstream.answer(reply)
    let sent = 0
    for (const provider of Object.keys(MODELS))
      for (const [door, of] of Object.entries(DOORS)) {
        const [path, body] = of(`test/${provider}`, odd)
        const before = upstream.requests.length
        const answer = await tollgate.post(path, key, body)
        const where = `${door} to ${provider}: ${answer.status} ${answer.text.slice(0, 300)}`
        if (answer.status !== 200) {
          assert.equal(answer.status, 400, where)
          checkShape(answer, protocolOfPath(path), where)
          continue
        }
        assert.equal(upstream.requests.length, before + 1, where)
        const request: Json = upstream.requests.at(-1)
        // In its own protocol the provider says itself what is wrong.
        if (door === provider) continue
        sent += 1
        try {
          RULES[provider]?.(request)
        } catch (thrown) {
          assert.fail(`${where}: ${String(thrown)}\n${JSON.stringify(request).slice(0, 2_000)}`)
        }
        const names = PROVIDERS[provider]?.tools(request) ?? []
        for (const name of names) assert.match(name, /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/, where)
        assert.equal(new Set(names).size, names.length, where)
        // The answer calls the first function, by the client's own name.
        const [first] = odd.tools ?? []
        if (names.length > 0 && first !== undefined) assert.ok(answer.text.includes(JSON.stringify(first.name)), where)
      }
    context.diagnostic(`${sent} translations`)
  })

test('what a provider cannot say is refused in the words of the client, before anything is sent', async () => {
  const before = upstream.requests.length
  const rows: readonly (readonly [door: string, model: string, more: Record<string, unknown>, words: RegExp])[] = [
    [
      'gemini',
      'test/anthropic',
      { generationConfig: { candidateCount: 2 } },
      /^generationConfig\.candidateCount: must be 1/,
    ],
    [
      'gemini',
      'test/anthropic',
      { generationConfig: { stopSequences: [' '] } },
      /^generationConfig\.stopSequences: this provider/,
    ],
    ['anthropic', 'test/bedrock', { stop_sequences: [' '] }, /^stop_sequences: this provider/],
    ['cohere', 'test/anthropic', { stop_sequences: [' '] }, /^stop_sequences: this provider/],
    ['openai', 'test/anthropic', { stop: [' '] }, /^stop: this provider/],
  ]
  for (const [door, model, more, words] of rows) {
    const [path, body] = DOORS[door]?.(model, { more }) ?? assert.fail()
    const answer = await tollgate.post(path, key, body)
    assert.equal(answer.status, 400, answer.text)
    assert.match(checkShape(answer, protocolOfPath(path), path), words)
  }
  assert.equal(upstream.requests.length, before)
})

test('nothing is held after all of them', async () => {
  const { body } = await tollgate.get('/v1/user/balance', key)
  assert.equal(body.reserved, 0)
})
