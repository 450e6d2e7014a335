import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import type { Answer } from '../../harness/api-client.ts'
import { startScriptedUpstream, answers } from '../../harness/scripted-upstream.ts'
import { serve } from '../../harness/gateway.ts'
import { completion, claudeMessage } from '../../harness/provider-answers.ts'

/**
 * Tools that a provider runs and bills, asked for at every door (guarantees.md, nothing that costs goes unpriced). Each
 * provider of the test reports many searches, whatever it was asked for.
 */

const PROMPT_RUB = 1
const SEARCH_RUB = 2
/** Tokens that each answer reports, at 1 RUB per million. */
const TOKENS = 30
const REPORTED = 30

const PROTOCOLS = {
  chat: { adapter: 'openai', model: 'm', more: 'supported_parameters: [max_tokens, tools, web_search_options]' },
  responses: { adapter: 'openai', model: 'm', more: 'native_responses: true' },
  messages: { adapter: 'anthropic', model: 'claude-m', more: 'native_messages: true' },
  gemini: {
    adapter: 'gemini',
    model: 'gemini-3-flash',
    more: 'supported_parameters: [max_tokens, tools, web_search_options]',
  },
} as const
type Protocol = keyof typeof PROTOCOLS
const PROTOCOL_NAMES = Object.keys(PROTOCOLS) as readonly Protocol[]

const catalogOf = (url: string, searchRub: number | null = SEARCH_RUB): string => `
bundled: false
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
${PROTOCOL_NAMES.map((name) => `  ${name}: { name: ${name}, adapter: ${PROTOCOLS[name].adapter}, base_url: "${url}/${name}/v1", api_key: k }`).join('\n')}
models:
${PROTOCOL_NAMES.flatMap((name) =>
  ['plain', 'priced'].map((kind) => {
    const price = `{ currency: RUB, prompt: ${PROMPT_RUB}, completion: ${PROMPT_RUB}${kind === 'priced' && searchRub !== null ? `, search: ${searchRub}` : ''} }`
    return `  - { id: ${kind}/${name}, type: chat, context_length: 8000, endpoints: [{ provider: ${name}, model: ${PROTOCOLS[name].model}, price: ${price}, ${PROTOCOLS[name].more} }] }`
  }),
).join('\n')}
`

const world = await serve(startScriptedUpstream, ({ url }) => catalogOf(url), 100_000)
const { key } = world

/** The answer of each protocol, with `REPORTED` searches where the protocol reports them. */
const ANSWERS: Readonly<Record<Protocol, unknown>> = {
  chat: completion({ content: 'Found.' }, { usage: { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 } }),
  responses: {
    id: 'r',
    object: 'response',
    status: 'completed',
    error: null,
    output: [
      ...Array.from({ length: REPORTED }, (_value, index) => ({
        type: 'web_search_call',
        id: `ws_${index}`,
        status: 'completed',
        action: { type: 'search', query: 'q' },
      })),
      {
        type: 'message',
        id: 'm',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Found.', annotations: [] }],
      },
    ],
    usage: { input_tokens: 20, output_tokens: 10, total_tokens: 30 },
  },
  messages: claudeMessage([{ type: 'text', text: 'Found.' }], {
    input_tokens: 20,
    output_tokens: 10,
    server_tool_use: { web_search_requests: REPORTED },
  }),
  gemini: {
    candidates: [
      {
        index: 0,
        finishReason: 'STOP',
        content: { role: 'model', parts: [{ text: 'Found.' }] },
        groundingMetadata: { webSearchQueries: Array.from({ length: REPORTED }, (_value, index) => `q${index}`) },
      },
    ],
    usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 10, totalTokenCount: 30 },
  },
}

/** A service of Responses is asked for a chat by its other path. */
function protocolOf(path: string): Protocol {
  if (path.endsWith('/chat/completions')) return 'chat'
  if (path.endsWith('/responses')) return 'responses'
  return path.endsWith('/messages') ? 'messages' : 'gemini'
}

type Body = Readonly<Record<string, unknown>>

/** The most searches that a request lets its provider make, and the types of all tools that the provider runs. */
interface Allowed {
  readonly searches: number
  readonly types: readonly string[]
}

const list = (value: unknown): readonly Body[] => (Array.isArray(value) ? value : [])
const CLIENT_RUN = /^(?:function|custom|local_shell|tool_search|bash_\d+|text_editor_\d+|memory_\d+|computer_\d+)$/

const ALLOWED: Readonly<Record<Protocol, (body: Body) => Allowed>> = {
  chat: (body) => {
    assert.equal(body['tools'], undefined)
    const searches = body['web_search_options'] === undefined ? 0 : 1
    return { searches, types: searches === 0 ? [] : ['web_search_options'] }
  },
  responses: (body) => {
    const types = list(body['tools']).map(({ type }) => String(type))
    const hosted = types.filter((type) => !CLIENT_RUN.test(type))
    const isSearching = hosted.some((type) => type.startsWith('web_search'))
    return { searches: isSearching ? Number(body['max_tool_calls']) : 0, types: hosted }
  },
  messages: (body) => {
    assert.equal(body['mcp_servers'], undefined)
    const hosted = list(body['tools']).filter(({ type }) => type !== undefined && !CLIENT_RUN.test(String(type)))
    const searches = hosted.filter(({ type }) => String(type).startsWith('web_search_'))
    return {
      searches: searches.reduce((sum, { max_uses: most }) => sum + Number(most), 0),
      types: hosted.map(({ type }) => String(type)),
    }
  },
  gemini: (body) => {
    const types = list(body['tools']).flatMap(Object.keys)
    const hosted = types.filter((type) => !/^function_?declarations$/i.test(type))
    // Its protocol has no limit: each reported query is billed.
    return { searches: hosted.some((type) => /^google_?search/i.test(type)) ? Infinity : 0, types: hosted }
  },
}
/** Tools that may be sent: those with a price, and those whose only cost is the tokens of their results. */
const PAID = /^(?:web_search|google_?search)/i
const TOKENS_ONLY = /^(?:mcp|computer|computer_use_preview|web_fetch_\d+|tool_search_tool_\w+)$/

interface Asked {
  readonly name: string
  readonly path: (model: string) => string
  readonly body: (model: string) => Body
}

const SAID = [{ role: 'user', content: 'Look it up.' }]
const CONTENTS = [{ role: 'user', parts: [{ text: 'Look it up.' }] }]
const toChat = (name: string, more: Body): Asked => ({
  name: `chat ${name}`,
  path: () => '/v1/chat/completions',
  body: (model) => ({ model, max_tokens: 50, messages: SAID, ...more }),
})
const toMixed = (name: string, more: Body): Asked => ({
  name: `mixed chat ${name}`,
  path: () => '/v1/chat/completions',
  body: (model) => ({ model, max_tokens: 50, input: 'Look it up.', ...more }),
})
const toResponses = (name: string, more: Body): Asked => ({
  name: `responses ${name}`,
  path: () => '/v1/responses',
  body: (model) => ({ model, max_output_tokens: 50, input: 'Look it up.', ...more }),
})
const toMessages = (name: string, more: Body): Asked => ({
  name: `messages ${name}`,
  path: () => '/v1/messages',
  body: (model) => ({ model, max_tokens: 50, messages: SAID, ...more }),
})
const toGemini = (name: string, more: Body): Asked => ({
  name: `gemini ${name}`,
  path: (model) => `/v1beta/models/${model}:generateContent`,
  body: () => ({ contents: CONTENTS, generationConfig: { maxOutputTokens: 50 }, ...more }),
})
const toCohere = (name: string, more: Body): Asked => ({
  name: `cohere ${name}`,
  path: () => '/v2/chat',
  body: (model) => ({ model, max_tokens: 50, messages: SAID, ...more }),
})
const toCompletions = (name: string, more: Body): Asked => ({
  name: `completions ${name}`,
  path: () => '/v1/completions',
  body: (model) => ({ model, max_tokens: 50, prompt: 'Look it up.', ...more }),
})

const RESPONSES_TOOLS: readonly Body[] = [
  { type: 'web_search' },
  { type: 'web_search_preview_2025_03_11' },
  { type: 'image_generation' },
  { type: 'file_search', vector_store_ids: ['vs'] },
  { type: 'code_interpreter', container: { type: 'auto' } },
  { type: 'computer_use_preview', display_width: 1, display_height: 1, environment: 'linux' },
  { type: 'mcp', server_label: 's', server_url: 'https://x' },
  { type: 'x_search' },
  { type: 'of_next_year' },
]
const MESSAGES_TOOLS: readonly Body[] = [
  { type: 'web_search_20250305', name: 'web_search' },
  { type: 'web_search_20260209', name: 'web_search', max_uses: 2 },
  { type: 'web_fetch_20250910', name: 'web_fetch' },
  { type: 'code_execution_20260521', name: 'code_execution' },
  { type: 'mcp_toolset', mcp_server_name: 's' },
  { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
  { type: 'of_next_year_20990101', name: 'x' },
]
const GEMINI_TOOLS = [
  'googleSearch',
  'google_search',
  'googleSearchRetrieval',
  'urlContext',
  'codeExecution',
  'googleMaps',
  'fileSearch',
  'computerUse',
  'ofNextYear',
]
const typeOf = ({ type }: Body): string => String(type)

/** Every hosted tool of each protocol at each door, alone and with another; and no tool, which is searched for as well. */
const ASKED: readonly Asked[] = [
  toChat('no tool', {}),
  toChat('web_search_options', { web_search_options: { search_context_size: 'high' } }),
  toMixed('no tool', {}),
  ...RESPONSES_TOOLS.map((tool) => toMixed(typeOf(tool), { tools: [tool] })),
  toResponses('no tool', {}),
  ...RESPONSES_TOOLS.map((tool) => toResponses(typeOf(tool), { tools: [tool] })),
  toResponses('web_search, three calls', { tools: [{ type: 'web_search' }], max_tool_calls: 3 }),
  toResponses('mcp and image_generation', { tools: [{ type: 'mcp' }, { type: 'image_generation' }] }),
  toResponses('a choice of web_search', { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }),
  toMessages('no tool', {}),
  ...MESSAGES_TOOLS.map((tool) => toMessages(typeOf(tool), { tools: [tool] })),
  toMessages('web_search and web_fetch', { tools: [MESSAGES_TOOLS[1], MESSAGES_TOOLS[2]] }),
  toMessages('mcp_servers', { mcp_servers: [{ type: 'url', url: 'https://x', name: 's' }] }),
  toGemini('no tool', {}),
  ...GEMINI_TOOLS.map((name) => toGemini(name, { tools: [{ [name]: {} }] })),
  toCohere('no tool', {}),
  toCohere('web_search_options', { web_search_options: {} }),
  toCohere('connectors', { connectors: [{ id: 'web-search' }] }),
  toCompletions('no tool', {}),
  toCompletions('web_search_options', { web_search_options: {} }),
]

/** A tool of each protocol that searches the web. */
const SEARCHING = { responses: 'web_search', messages: 'web_search_20250305', gemini: 'googleSearch' } as const

/** A search of which nobody asked, or beyond the number that was allowed, is the provider's bill and not the customer's. */
async function chargedFor(
  answer: Answer,
): Promise<{ readonly row: Body; readonly allowed: Allowed; readonly to: Protocol }> {
  const { body } = await world.tollgate.admin(
    'GET',
    `/admin/v1/generations?generation_id=${String(answer.headers['x-generation-id'])}`,
  )
  const request = world.upstream.received.at(-1)
  assert.ok(request !== undefined)
  const to = protocolOf(request.path)
  return { row: body.data[0], allowed: ALLOWED[to](world.upstream.requests.at(-1) ?? {}), to }
}

function rub(searches: number): number {
  return (TOKENS * 1 + searches * SEARCH_RUB * 1_000_000) / 1_000_000
}

beforeEach(() =>
  world.upstream.answer((response, { path: url }) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(ANSWERS[protocolOf(url)])),
  ),
)

for (const asked of ASKED)
  test(asked.name, async () => {
    for (const kind of ['plain', 'priced'] as const)
      for (const name of PROTOCOL_NAMES) {
        const model = `${kind}/${name}`
        const sentBefore = world.upstream.received.length
        const answer = await world.tollgate.post(asked.path(model), key, asked.body(model))
        if (answer.status !== 200) {
          assert.equal(answer.status, 400, `${model}: ${answer.text}`)
          assert.match(answer.text, /(?:is|are) not offered|nothing is stored here/, model)
          assert.equal(world.upstream.received.length, sentBefore, model)
          continue
        }
        const { row, allowed, to } = await chargedFor(answer)
        for (const type of allowed.types)
          assert.ok((kind === 'priced' && PAID.test(type)) || TOKENS_ONLY.test(type), `${model} was sent ${type}`)
        // A search for a chat is one by itself; nobody reports how often.
        const reported = to === 'chat' ? allowed.searches : to === 'gemini' && allowed.searches === 0 ? 0 : REPORTED
        const billed = Math.min(reported, allowed.searches)
        const price = kind === 'priced' ? 1 : 0
        assert.deepEqual(
          [row['total_cost'], row['provider_cost'], row['flagged']],
          [rub(billed * price), rub(reported * price), reported > billed],
          `${model}: ${JSON.stringify(allowed)} ${JSON.stringify(row['meters'])}`,
        )
      }
  })

for (const name of ['responses', 'messages', 'gemini'] as const)
  test(`a search is charged at the price of its hold, whatever the price is when ${name} answers`, async () => {
    const change = async (searchRub: number | null): Promise<void> => {
      const text = catalogOf(world.upstream.url, searchRub)
      await world.tollgate.app.catalog.applyText(text, { dryRun: false, onlyNew: false, file: 'changed.yaml' })
    }
    const asked = ASKED.find((one) => one.name === `${name} ${SEARCHING[name]}`)
    assert.ok(asked !== undefined)
    const { upstream, tollgate, key } = world
    const ask = (): Promise<Answer> => tollgate.post(asked.path(`priced/${name}`), key, asked.body(`priced/${name}`))
    for (const [after, nextRub] of [
      [SEARCH_RUB * 10, SEARCH_RUB * 10],
      [null, null],
    ] as const) {
      await change(SEARCH_RUB)
      const { promise: isAsked, resolve } = Promise.withResolvers<() => void>()
      upstream.answer((response) =>
        resolve(
          () => void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(ANSWERS[name])),
        ),
      )
      const running = ask()
      const send = await isAsked
      await change(after)
      send()
      const answer = await running
      assert.equal(answer.status, 200, answer.text)
      const { row, allowed } = await chargedFor(answer)
      assert.equal(row['total_cost'], rub(Math.min(REPORTED, allowed.searches)))
      upstream.answer(answers(ANSWERS[name]))
      const next = await ask()
      if (nextRub !== null) {
        const { row: charged, allowed: most } = await chargedFor(next)
        assert.equal(charged['total_cost'], rub(Math.min(REPORTED, most.searches) * (nextRub / SEARCH_RUB)))
      } else if (next.status === 200) assert.equal((await chargedFor(next)).row['total_cost'], rub(0))
      else assert.match(next.text, /it has no price there/)
    }
    await change(SEARCH_RUB)
  })

/** The answer of a protocol with other members. */
function answerOf(name: Protocol, more: Body): Body {
  return { ...Object(ANSWERS[name]), ...more }
}

const USED = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 }
const FOUND = { type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'Found.' }] }
const SEARCHED = { type: 'web_search_call', id: 's', status: 'completed', action: { type: 'search', query: 'q' } }
const chatUsed = (more: Body): Body => answerOf('chat', { usage: { ...USED, ...more } })
const geminiSearched = (webSearchQueries: readonly string[]): Body =>
  answerOf('gemini', {
    candidates: [
      {
        index: 0,
        finishReason: 'STOP',
        content: { role: 'model', parts: [{ text: 'Found.' }] },
        groundingMetadata: { webSearchQueries },
      },
    ],
  })
const responded = (output: readonly unknown[], more: Body = {}): Body =>
  answerOf('responses', { output: [...output, FOUND], ...more })
const messaged = (results: number, more: Body): Body =>
  answerOf('messages', {
    content: [
      ...Array.from({ length: results }, () => ({ type: 'web_search_tool_result', tool_use_id: 'u', content: [] })),
      { type: 'web_search_tool_result', tool_use_id: 'u', content: { type: 'web_search_tool_result_error' } },
      { type: 'text', text: 'Found.' },
    ],
    usage: { input_tokens: 20, output_tokens: 10, ...more },
  })

/** Searches by the provider's own count, else as its answer shows them. */
const COUNTED: readonly (readonly [what: string, Protocol, answer: Body, searches: number])[] = [
  ['nobody counts', 'chat', chatUsed({}), 1],
  ['xAI counts calls', 'chat', chatUsed({ server_side_tool_usage_details: { web_search_calls: 3 } }), 3],
  ['xAI counts no source', 'chat', chatUsed({ num_sources_used: 0 }), 0],
  ['xAI counts sources', 'chat', chatUsed({ num_sources_used: 4 }), 4],
  ['Perplexity counts', 'chat', chatUsed({ num_search_queries: 2 }), 2],
  ['OpenRouter counts', 'chat', chatUsed({ server_tool_use: { web_search_requests: 2 } }), 2],
  ['a count is bounded', 'chat', chatUsed({ num_search_queries: 1_000_000 }), 128],
  ['blank queries', 'gemini', geminiSearched(['', 'a', '', 'b']), 2],
  ['a blank query', 'gemini', geminiSearched(['']), 0],
  ['a query twice', 'gemini', geminiSearched(['a', 'b', 'a']), 2],
  ['OpenAI counts without items', 'responses', responded([], { tool_usage: { web_search: { num_requests: 2 } } }), 2],
  ['OpenAI counts more', 'responses', responded([SEARCHED], { tool_usage: { web_search: { num_requests: 3 } } }), 3],
  [
    'OpenAI counts fewer',
    'responses',
    responded([SEARCHED, SEARCHED], { tool_usage: { web_search: { num_requests: 1 } } }),
    1,
  ],
  ['items', 'responses', responded([SEARCHED, SEARCHED]), 2],
  [
    'xAI counts calls',
    'responses',
    responded([], {
      usage: { input_tokens: 20, output_tokens: 10, server_side_tool_usage_details: { web_search_calls: 3 } },
    }),
    3,
  ],
  [
    'items that are no sources',
    'responses',
    responded([SEARCHED], { usage: { input_tokens: 20, output_tokens: 10, num_sources_used: 0 } }),
    1,
  ],
  ['Anthropic counts', 'messages', messaged(1, { server_tool_use: { web_search_requests: 2 } }), 2],
  ['results', 'messages', messaged(2, {}), 2],
]

/** The same answer as a stream. */
function streamed(name: Protocol, answer: Body): string {
  const sse = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`
  switch (name) {
    case 'chat':
      return `${sse({ choices: [{ index: 0, delta: { content: 'Found.' }, finish_reason: 'stop' }] })}${sse({ choices: [], usage: answer['usage'] })}data: [DONE]\n\n`
    case 'responses':
      return sse({ type: 'response.completed', response: answer })
    case 'gemini':
      return sse(answer)
    case 'messages': {
      const blocks = Object(answer['content']) as readonly unknown[]
      return [
        { type: 'message_start', message: { id: 'm', usage: { input_tokens: 20, output_tokens: 1 } } },
        ...blocks.flatMap((block, index) => [
          { type: 'content_block_start', index, content_block: block },
          { type: 'content_block_stop', index },
        ]),
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: answer['usage'] },
        { type: 'message_stop' },
      ]
        .map(sse)
        .join('')
    }
  }
}

for (const [what, name, answer, searches] of COUNTED)
  test(`searches of ${name}: ${what}`, async () => {
    const model = `priced/${name}`
    const doors = [
      name === 'responses'
        ? toResponses('', { tools: [{ type: 'web_search' }] })
        : name === 'messages'
          ? toMessages('', { tools: [MESSAGES_TOOLS[0]] })
          : toChat('', { web_search_options: {} }),
      ...(name === 'gemini' ? [toGemini('', { tools: [{ googleSearch: {} }] })] : []),
    ]
    for (const { path, body } of doors)
      for (const stream of [false, true]) {
        world.upstream.answer((response) =>
          response
            .writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' })
            .end(stream ? streamed(name, answer) : JSON.stringify(answer)),
        )
        const place = path(model).replace(/:generate/, stream ? ':streamGenerate' : ':generate')
        const got = await world.tollgate.post(place, key, {
          ...body(model),
          ...(stream && place.startsWith('/v1/') ? { stream } : {}),
        })
        assert.equal(got.status, 200, got.text)
        const { row } = await chargedFor(got)
        assert.equal(row['total_cost'], rub(searches), `${place}, ${stream ? 'streamed' : 'whole'}: ${got.text}`)
      }
  })
