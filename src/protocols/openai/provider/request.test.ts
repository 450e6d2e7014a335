import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { dialectOf, type DialectEntry } from '../../../catalog/dialect.ts'
import { parseChat } from '../client/chat/call.ts'
import { endpoint } from '../../../../test/harness/plan-fixture.ts'
import { fittedRequest } from './quirks.ts'
import { openaiBody } from './openai.ts'

const HI = [{ role: 'user', content: 'hi' }]

function bodyOf(
  fields: Record<string, unknown>,
  supportedParameters: readonly string[] | null = null,
  dialect: DialectEntry = {},
): Record<string, unknown> {
  const made = endpoint('p', { supportedParameters })
  const request = parseChat({ model: 'a/b', messages: HI, ...fields })
  return openaiBody({
    endpoint: { ...made, dialect: dialectOf(dialect) },
    apiKey: null,
    request,
    sendMaxTokens: 7,
    generationId: 'gen-1-a',
    splice: null,
  })
}

function reasoningOf(
  fields: Record<string, unknown>,
  supported: readonly string[] | null = null,
  dialect: DialectEntry = {},
): Record<string, unknown> {
  const { reasoning, reasoning_effort: effort, thinking } = bodyOf(fields, supported, dialect)
  return {
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(effort === undefined ? {} : { effort }),
    ...(thinking === undefined ? {} : { thinking }),
  }
}

describe('reasoning in the spelling of the service', () => {
  test("an endpoint without a list is OpenAI's own: it gets only the effort", () => {
    assert.deepEqual(reasoningOf({ reasoning: { effort: 'low' } }), { effort: 'low' })
    assert.deepEqual(reasoningOf({ reasoning_effort: 'high' }), { effort: 'high' })
    assert.deepEqual(reasoningOf({ reasoning: { max_tokens: 2_000 } }), {}, 'a budget has no word there')
    assert.deepEqual(reasoningOf({ reasoning: { enabled: false } }), { effort: 'none' })
    assert.deepEqual(reasoningOf({}), {})
  })

  test('an endpoint that lists its parameters gets the one it lists, and none it does not', () => {
    assert.deepEqual(reasoningOf({ reasoning: { effort: 'low', max_tokens: 9 } }, ['reasoning']), {
      reasoning: { effort: 'low', max_tokens: 9 },
    })
    assert.deepEqual(reasoningOf({ reasoning_effort: 'low' }, ['reasoning']), { reasoning: { effort: 'low' } })
    assert.deepEqual(reasoningOf({ reasoning: { effort: 'low' } }, ['reasoning_effort']), { effort: 'low' })
    assert.deepEqual(reasoningOf({ reasoning: { effort: 'low' } }, ['temperature']), {})
    assert.deepEqual(reasoningOf({ reasoning_effort: 'low' }, ['reasoning', 'reasoning_effort']), { effort: 'low' })
  })

  test('a declared dialect decides', () => {
    assert.deepEqual(reasoningOf({ reasoning_effort: 'low' }, null, { reasoning: 'thinking' }), {
      thinking: { type: 'enabled' },
    })
    assert.deepEqual(reasoningOf({ reasoning: { enabled: false } }, null, { reasoning: 'thinking' }), {
      thinking: { type: 'disabled' },
    })
    assert.deepEqual(reasoningOf({ reasoning_effort: 'low' }, null, { reasoning: 'object' }), {
      reasoning: { effort: 'low' },
    })
  })
})

test('usage in a stream is asked for, unless the service refuses the word', () => {
  assert.deepEqual(bodyOf({ stream: true })['stream_options'], { include_usage: true })
  assert.equal(bodyOf({ stream: true }, null, { stream_usage: false })['stream_options'], undefined)
  assert.equal(bodyOf({})['stream_options'], undefined)
})

test('nothing the client invents goes upstream, and nothing the endpoint does not list', () => {
  assert.deepEqual(
    bodyOf({ junk: 1, temperature: 0.5, top_k: 3, provider: { order: ['x'] } }, ['max_tokens', 'temperature']),
    {
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 7,
      temperature: 0.5,
    },
  )
})

describe('tools as functions', () => {
  const tool = (name: string): unknown => ({ type: 'function', function: { name, description: 'd' } })
  const call = (id: string, name: string, text: string): unknown => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  })
  const messages = [
    { role: 'developer', content: 'one' },
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: null, tool_calls: [call('a', 'f', '{"x":1}'), call('b', 'g', '')] },
    { role: 'tool', tool_call_id: 'b', content: 'plain' },
    { role: 'tool', tool_call_id: 'a', content: '{"y":2}' },
    { role: 'system', content: 'two' },
    { role: 'assistant', content: 'done' },
  ]

  test('each call is a message with its result behind it; instructions come first', () => {
    assert.deepEqual(bodyOf({ messages }, null, { tools: 'functions' })['messages'], [
      { role: 'system', content: 'one\n\ntwo' },
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: '', function_call: { name: 'f', arguments: { x: 1 } } },
      { role: 'function', name: 'f', content: '{"y":2}' },
      { role: 'assistant', content: '', function_call: { name: 'g', arguments: {} } },
      { role: 'function', name: 'g', content: '{"result":"plain"}' },
      { role: 'assistant', content: 'done' },
    ])
    assert.deepEqual((bodyOf({ messages }, null, { system: 'first' })['messages'] as unknown[])[0], {
      role: 'system',
      content: 'one\n\ntwo',
    })
  })

  test('functions and the choice of one in the older words', () => {
    const sent = (choice: unknown, ...names: string[]): unknown => {
      const fields = { tools: names.map(tool), ...(choice === undefined ? {} : { tool_choice: choice }) }
      const {
        functions,
        function_call: chosen,
        tools,
        tool_choice: newer,
      } = bodyOf(fields, null, { tools: 'functions' })
      assert.deepEqual([tools, newer], [undefined, undefined])
      assert.deepEqual(
        functions,
        names.map((name) => ({ name, description: 'd', parameters: { type: 'object', properties: {} } })),
      )
      return chosen
    }
    assert.equal(sent(undefined, 'f'), undefined)
    assert.equal(sent('auto', 'f', 'g'), 'auto')
    assert.equal(sent('none', 'f'), 'none')
    assert.deepEqual(sent('required', 'f'), { name: 'f' })
    assert.equal(sent('required', 'f', 'g'), 'auto')
    assert.deepEqual(sent({ type: 'function', function: { name: 'g' } }, 'f', 'g'), { name: 'g' })
  })
})

describe('quirks of services', () => {
  const parameters = {
    type: 'object',
    $comment: 'of the generator',
    properties: {
      pattern: { type: 'string', pattern: '^\\0?(?!x)', description: 'A name.' },
      list: { type: 'array', items: { anyOf: [{ type: 'number', minimum: 1 }, { type: 'null' }] } },
    },
    required: ['pattern'],
  }
  const moved = {
    type: 'object',
    properties: {
      pattern: { type: 'string', description: 'A name.\nIt must satisfy {"pattern":"^\\\\0?(?!x)"}.' },
      list: {
        type: 'array',
        items: { anyOf: [{ type: 'number', description: 'It must satisfy {"minimum":1}.' }, { type: 'null' }] },
      },
    },
    required: ['pattern'],
  }
  const words = { $comment: 'drop', pattern: 'describe', minimum: 'describe' } as const
  const tool = (name: string, more: object = {}): unknown => ({ type: 'function', function: { name, ...more } })
  const sent = (fields: Record<string, unknown>, dialect: DialectEntry): Record<string, unknown> => {
    const { messages: _messages, model: _model, max_tokens: _most, ...rest } = bodyOf(fields, null, dialect)
    return rest
  }
  const ask = [{ role: 'user', content: 'Answer as json.' }]
  const called = (text: unknown): unknown => [
    { role: 'user', content: 'hi' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
      ...(text as object),
    },
    { role: 'tool', tool_call_id: 'a', content: '1' },
  ]
  const turn = (fields: object, dialect: DialectEntry): unknown =>
    (bodyOf({ messages: called(fields) }, null, dialect)['messages'] as Record<string, unknown>[])[1]

  test('each quirk in what is sent, by its key', () => {
    const effort = { reasoning_effort: 'low' }
    const off = { reasoning_effort: 'none' }
    const budgets = { low: 1, medium: 3, high: 9 }
    const table: readonly (readonly [Record<string, unknown>, DialectEntry, Record<string, unknown>])[] = [
      [{ temperature: 0.3 }, { fixed: { temperature: 1 } }, { temperature: 1 }],
      [{}, { fixed: { temperature: 1, flag: true } }, { temperature: 1, flag: true }],
      [{ temperature: 0.3, top_p: 0.5 }, { fixed: { temperature: null } }, { top_p: 0.5 }],
      [
        effort,
        { reasoning: 'enable_thinking' },
        { enable_thinking: true, stream: true, stream_options: { include_usage: true } },
      ],
      [off, { reasoning: 'enable_thinking' }, { enable_thinking: false }],
      [{ reasoning: { max_tokens: 0 } }, { reasoning: 'enable_thinking' }, { enable_thinking: false }],
      [
        { reasoning: { max_tokens: 99 }, stream: true },
        { reasoning: 'enable_thinking', stream_usage: false },
        { enable_thinking: true, thinking_budget: 99, stream: true },
      ],
      [{ enable_thinking: false }, { reasoning: 'enable_thinking' }, { enable_thinking: false }],
      [
        { enable_thinking: true, thinking_budget: 7, stream: true },
        { reasoning: 'enable_thinking', stream_usage: false },
        { enable_thinking: true, thinking_budget: 7, stream: true },
      ],
      [
        { chat_template_kwargs: { enable_thinking: false } },
        { reasoning: 'enable_thinking' },
        { enable_thinking: false },
      ],
      [off, { reasoning: 'template' }, { chat_template_kwargs: { enable_thinking: false } }],
      [effort, { reasoning: 'template' }, { chat_template_kwargs: { enable_thinking: true } }],
      [{}, { reasoning: 'template' }, {}],
      [
        { reasoning_effort: 'medium' },
        { reasoning: 'enable_thinking', reasoning_budgets: budgets, stream_usage: false },
        { enable_thinking: true, thinking_budget: 3, stream: true },
      ],
      [
        { reasoning_effort: 'max' },
        { reasoning: 'thinking', reasoning_budgets: budgets },
        { thinking: { type: 'enabled', budget_tokens: 6 } },
      ],
      [
        { reasoning_effort: 'minimal' },
        { reasoning: 'thinking', reasoning_budgets: budgets },
        { thinking: { type: 'enabled', budget_tokens: 1 } },
      ],
      [off, { reasoning: 'thinking', reasoning_budgets: budgets }, { thinking: { type: 'disabled' } }],
      [effort, { reasoning: 'thinking' }, { thinking: { type: 'enabled' } }],
      [{}, { stream: 'always', stream_usage: false }, { stream: true }],
    ]
    for (const [fields, dialect, body] of table)
      assert.deepEqual(sent(fields, dialect), body, JSON.stringify([fields, dialect]))
  })

  test('one tool that is not strict makes all of them so', () => {
    const strictOf = (...given: readonly (boolean | undefined)[]): unknown =>
      (
        sent(
          { tools: given.map((strict, at) => tool(`f${at}`, strict === undefined ? {} : { strict })) },
          { strict: 'all_or_none' },
        )['tools'] as { function: { strict?: boolean } }[]
      ).map(({ function: { strict } }) => strict)
    assert.deepEqual(strictOf(true, true), [true, true])
    assert.deepEqual(strictOf(true, undefined), [undefined, undefined])
    assert.deepEqual(strictOf(false, true), [undefined, undefined])
  })

  test('words of schemas are dropped or told in the description, and names that look like them stay', () => {
    const format = { type: 'json_schema', json_schema: { name: 'a', schema: parameters } }
    const { tools, response_format: answer } = sent(
      { tools: [tool('f', { parameters })], response_format: format },
      { schema_words: words },
    )
    assert.deepEqual(tools, [tool('f', { parameters: moved })])
    assert.deepEqual(answer, { ...format, json_schema: { name: 'a', schema: moved } })
  })

  test('json_object has its word in a message', () => {
    const messagesOf = (fields: Record<string, unknown>): readonly unknown[] =>
      bodyOf({ response_format: { type: 'json_object' }, ...fields }, null, { json_word: true })[
        'messages'
      ] as unknown[]
    assert.deepEqual(messagesOf({})[0], { role: 'system', content: 'Answer with a JSON object and nothing else.' })
    assert.equal(messagesOf({}).length, 2)
    assert.deepEqual(messagesOf({ messages: ask }), ask)
    assert.equal(messagesOf({ response_format: { type: 'text' } }).length, 1)
  })

  test('a thought comes back in the field of the service, and content is not null there', () => {
    const calls = [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }]
    const detail = [{ type: 'reasoning.text', text: 'Hm' }]
    const echo = { reasoning_echo: 'reasoning_content' } as const
    for (const fields of [{ reasoning: 'Hm' }, { reasoning_content: 'Hm' }, { reasoning_details: detail }])
      assert.deepEqual(turn(fields, echo), {
        role: 'assistant',
        content: '',
        tool_calls: calls,
        reasoning_content: 'Hm',
      })
    assert.partialDeepStrictEqual(turn({}, echo), { content: '', reasoning_content: '' })
    assert.partialDeepStrictEqual(turn({}, { ...echo, reasoning_blank: ' ' }), { reasoning_content: ' ' })
    assert.deepEqual(turn({ reasoning: 'Hm' }, { reasoning_echo: 'reasoning' }), {
      role: 'assistant',
      content: null,
      tool_calls: calls,
      reasoning: 'Hm',
    })
    for (const plain of [{}, { reasoning_echo: 'none' } as const])
      assert.deepEqual(turn({ reasoning: 'Hm' }, plain), { role: 'assistant', content: null, tool_calls: calls })
  })

  test('each drop and change has a name', () => {
    const changed = (fields: Record<string, unknown>, dialect: DialectEntry): readonly string[] => [
      ...fittedRequest(parseChat({ model: 'a/b', messages: HI, ...fields }), {
        dialect: dialectOf(dialect),
        upstreamModel: 'up',
      }).changed,
    ]
    assert.deepEqual(changed({ temperature: 0.3 }, { fixed: { temperature: 1 } }), ['temperature'])
    assert.deepEqual(changed({ temperature: 1 }, { fixed: { temperature: 1 } }), [])
    assert.deepEqual(changed({}, { fixed: { temperature: 1 } }), [])
    assert.deepEqual(changed({ top_p: 1 }, { fixed: { top_p: null } }), ['top_p'])
    assert.deepEqual(changed({ tool_choice: 'auto', tools: [tool('f')] }, { fixed: { tool_choice: null } }), [
      'tool_choice',
    ])
    assert.deepEqual(changed({ tools: [tool('f', { strict: true }), tool('g')] }, { strict: 'all_or_none' }), [
      'tools.strict',
    ])
    assert.deepEqual(changed({ tools: [tool('f', { parameters })] }, { schema_words: words }), [
      'tools.$comment',
      'tools.pattern',
      'tools.minimum',
    ])
    assert.deepEqual(changed({ response_format: { type: 'json_object' } }, { json_word: true }), ['messages.system'])
    assert.deepEqual(changed({ reasoning_effort: 'low' }, { reasoning: 'enable_thinking' }), ['reasoning.effort'])
    assert.deepEqual(changed({ reasoning_effort: 'none' }, { reasoning: 'enable_thinking' }), [])
    assert.deepEqual(changed({ reasoning_effort: 'low' }, { reasoning: 'thinking' }), ['reasoning.effort'])
    assert.deepEqual(changed({ reasoning: { max_tokens: 5 } }, { reasoning: 'template' }), ['reasoning.max_tokens'])
    assert.deepEqual(
      changed({ reasoning_effort: 'low' }, { reasoning: 'thinking', reasoning_budgets: { high: 9_000 } }),
      [],
    )
    assert.deepEqual(changed({ tool_choice: 'required', tools: [tool('f'), tool('g')] }, { tools: 'functions' }), [
      'tool_choice',
    ])
  })
})
