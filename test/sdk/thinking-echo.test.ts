import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI, type Content, type Part } from '@google/genai'
import OpenAI from 'openai'
import { startScriptedUpstream, type Received } from '../harness/scripted-upstream.ts'
import { serve } from '../harness/gateway.ts'
import { completion } from '../harness/provider-answers.ts'

/**
 * A provider that thinks in every turn and refuses a conversation without its thoughts, in OpenAI's form as DeepSeek
 * does and in Anthropic's form without signatures.
 */
const REFUSAL = 'The `reasoning_content` in the thinking mode must be passed back to the API.'
const PRICE = 'price: { currency: RUB, prompt: 1, completion: 1 }'
const chatModel = (id: string, model: string, provider = 'deep'): string =>
  `  - { id: acme/${id}, type: chat, context_length: 100000, endpoints: [{ provider: ${provider}, model: ${model}, ${PRICE} }] }`

const { key, tollgate, upstream } = await serve(
  startScriptedUpstream,
  ({ url }) => `
bundled: false
markup: 1
providers:
  deep: { adapter: openai, base_url: "${url}/v1", api_key: k, dialect: { reasoning_echo: reasoning_content } }
  other: { adapter: anthropic, base_url: "${url}/anthropic", api_key: k }
models:
${chatModel('chat', 'm')}
${chatModel('family', 'org/DeepSeek-V4-Pro')}
${chatModel('messages', 'minimax-m3', 'other')}
`,
)

interface Step {
  readonly thought: string
  readonly text: string
  readonly calls: boolean
}

/** The answer of each turn, by how often the model has spoken. */
const STEPS: readonly Step[] = [
  { thought: 'I should call f.\nAnd g.', text: '', calls: true },
  { thought: 'Once more.', text: 'Wait.', calls: true },
  { thought: 'Now I know.', text: 'Done.', calls: false },
  { thought: 'Again.', text: 'Bye.', calls: false },
]

interface Turn {
  readonly role: string
  readonly content: unknown
  readonly reasoning_content?: unknown
}

function answerAsDeepSeek(response: ServerResponse, body: Readonly<Record<string, unknown>>): void {
  // Written by the server under test.
  const turns = (body['messages'] as Turn[]).filter(({ role }) => role === 'assistant')
  const told = turns.map(({ reasoning_content: thought }) => thought)
  const wanted = STEPS.slice(0, turns.length).map(({ thought }) => thought)
  const isWhole = turns.every(({ content }) => content !== null)
  if (JSON.stringify(told) !== JSON.stringify(wanted) || !isWhole)
    return json(response, 400, {
      error: { message: REFUSAL, code: 'invalid_request_error', type: 'invalid_request_error', told },
    })
  const { thought = '', text = '', calls = false } = STEPS[turns.length] ?? {}
  const called = { id: `call_${turns.length}`, type: 'function', function: { name: 'f', arguments: '{"a":1}' } }
  const usage = { prompt_tokens: 1, completion_tokens: 1 }
  const finish = calls ? 'tool_calls' : 'stop'
  if (body['stream'] !== true)
    return json(
      response,
      200,
      completion(
        { content: text, reasoning_content: thought, ...(calls ? { tool_calls: [called] } : {}) },
        { id: 'x', usage, finish: finish },
      ),
    )
  const deltas = [
    { role: 'assistant', content: null, reasoning_content: '' },
    ...[...thought].map((letter) => ({ content: null, reasoning_content: letter })),
    ...(text === '' ? [] : [{ content: text }]),
    ...(calls ? [{ tool_calls: [{ index: 0, ...called }] }] : []),
  ]
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const chunk = (fields: object): string => `data: ${JSON.stringify({ id: 'x', ...fields })}\n\n`
  for (const delta of deltas) response.write(chunk({ choices: [{ index: 0, delta, finish_reason: null }] }))
  response.end(`${chunk({ choices: [{ index: 0, delta: {}, finish_reason: finish }], usage })}data: [DONE]\n\n`)
}

function answerAsMessages(response: ServerResponse, body: Readonly<Record<string, unknown>>): void {
  // Written by the server under test.
  const turns = (body['messages'] as Turn[]).filter(({ role }) => role === 'assistant')
  const told = turns.map(({ content }) => {
    const [block] = Array.isArray(content) ? content : []
    return block?.type === 'thinking' ? [block.thinking, block.signature] : null
  })
  const wanted = STEPS.slice(0, turns.length).map(({ thought }) => [thought, ''])
  if (JSON.stringify(told) !== JSON.stringify(wanted))
    return json(response, 400, { type: 'error', error: { type: 'invalid_request_error', message: REFUSAL, told } })
  const { thought = '', text = '', calls = false } = STEPS[turns.length] ?? {}
  const head = { id: 'msg_x', type: 'message', role: 'assistant', model: 'm' }
  const content = [
    { type: 'thinking', thinking: thought, signature: '' },
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...(calls ? [{ type: 'tool_use', id: `toolu_${turns.length}`, name: 'f', input: { a: 1 } }] : []),
  ]
  const stop = calls ? 'tool_use' : 'end_turn'
  const usage = { input_tokens: 1, output_tokens: 1 }
  if (body['stream'] !== true)
    return json(response, 200, { ...head, content, stop_reason: stop, stop_sequence: null, usage })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const event = (type: string, fields: object): void => {
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`)
  }
  event('message_start', { message: { ...head, content: [], stop_reason: null, stop_sequence: null, usage } })
  for (const [index, block] of content.entries()) {
    const { thinking, text: said, input, ...rest } = block as Record<string, unknown>
    event('content_block_start', {
      index,
      content_block: {
        ...rest,
        ...(thinking === undefined ? {} : { thinking: '' }),
        ...(said === undefined ? {} : { text: '' }),
        ...(input === undefined ? {} : { input: {} }),
      },
    })
    const delta =
      thinking !== undefined
        ? { type: 'thinking_delta', thinking }
        : said !== undefined
          ? { type: 'text_delta', text: said }
          : { type: 'input_json_delta', partial_json: JSON.stringify(input) }
    event('content_block_delta', { index, delta })
    event('content_block_stop', { index })
  }
  event('message_delta', { delta: { stop_reason: stop, stop_sequence: null }, usage })
  event('message_stop', {})
  response.end()
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function script(response: ServerResponse, request: Received): void {
  const body = upstream.requests.at(-1) ?? {}
  if (request.path.startsWith('/anthropic')) answerAsMessages(response, body)
  else answerAsDeepSeek(response, body)
}

/** Answers the calls of each turn until the model has none, and asks once more; tells all that was said. */
type Conversation = (model: string, stream: boolean) => Promise<string>

const FUNCTION = { name: 'f', parameters: { type: 'object', properties: { a: { type: 'number' } } } }

const overChat: Conversation = async (model, stream) => {
  const client = new OpenAI({ apiKey: key, baseURL: `${tollgate.url}/v1`, maxRetries: 0 })
  const tools: OpenAI.ChatCompletionTool[] = [{ type: 'function', function: FUNCTION }]
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'hi' }]
  let said = ''
  for (let turn = 0; turn < STEPS.length; turn += 1) {
    const request = { model, messages, tools }
    const answer = stream
      ? await streamedMessage(client, request)
      : ((await client.chat.completions.create(request)).choices[0]?.message ?? null)
    assert.ok(answer)
    messages.push(answer)
    said += answer.content ?? ''
    const calls = answer.tool_calls ?? []
    for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content: '2' })
    if (calls.length === 0) messages.push({ role: 'user', content: 'and?' })
  }
  return said
}

/** Clients put the pieces of a streamed message together, with fields that the SDK does not know. */
async function streamedMessage(
  client: OpenAI,
  request: OpenAI.ChatCompletionCreateParamsNonStreaming,
): Promise<OpenAI.ChatCompletionMessage> {
  const whole = { role: 'assistant' as const, content: '', refusal: null, reasoning: '' }
  const calls = new Map<number, { id: string; type: 'function'; function: { name: string; arguments: string } }>()
  for await (const { choices } of await client.chat.completions.create({ ...request, stream: true })) {
    const delta: OpenAI.ChatCompletionChunk.Choice.Delta & { reasoning?: string } = choices[0]?.delta ?? {}
    whole.content += delta.content ?? ''
    whole.reasoning += delta.reasoning ?? ''
    for (const { index, id, function: called } of delta.tool_calls ?? []) {
      const known = calls.get(index) ?? { id: id ?? '', type: 'function', function: { name: '', arguments: '' } }
      calls.set(index, known)
      known.function.name += called?.name ?? ''
      known.function.arguments += called?.arguments ?? ''
    }
  }
  return calls.size === 0 ? whole : { ...whole, tool_calls: [...calls.values()] }
}

const overMessages: Conversation = async (model, stream) => {
  const client = new Anthropic({ baseURL: tollgate.url, apiKey: key, maxRetries: 0 })
  const tools = [{ name: 'f', input_schema: { type: 'object' as const } }]
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'hi' }]
  let said = ''
  for (let turn = 0; turn < STEPS.length; turn += 1) {
    const request = { model, max_tokens: 500, messages, tools }
    const { content } = stream
      ? await client.messages.stream(request).finalMessage()
      : await client.messages.create(request)
    messages.push({ role: 'assistant', content })
    const calls = content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []))
    said += content.map((block) => (block.type === 'text' ? block.text : '')).join('')
    messages.push({
      role: 'user',
      content:
        calls.length === 0
          ? 'and?'
          : calls.map((id) => ({ type: 'tool_result' as const, tool_use_id: id, content: '2' })),
    })
  }
  return said
}

/** `encrypted` = the client keeps no text of a thought, as the AI SDK does. */
const overResponses =
  (encrypted: boolean, keeps: boolean): Conversation =>
  async (model, stream) => {
    const client = new OpenAI({ apiKey: key, baseURL: `${tollgate.url}/v1`, maxRetries: 0 })
    const tools: OpenAI.Responses.FunctionTool[] = [{ type: 'function', strict: false, ...FUNCTION }]
    let input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'hi' }]
    let previous: string | null = null
    let said = ''
    for (let turn = 0; turn < STEPS.length; turn += 1) {
      const request: OpenAI.Responses.ResponseCreateParamsNonStreaming = {
        model,
        input,
        tools,
        store: keeps,
        ...(encrypted ? { include: ['reasoning.encrypted_content'] } : {}),
        ...(previous === null ? {} : { previous_response_id: previous }),
      }
      const answer: OpenAI.Responses.Response = stream
        ? await client.responses.stream({ ...request, stream: true }).finalResponse()
        : await client.responses.create(request)
      const output = answer.output.map((item) =>
        encrypted && item.type === 'reasoning' ? { ...item, summary: [] } : item,
      )
      said += answer.output_text
      const calls = answer.output.flatMap((item) => (item.type === 'function_call' ? [item.call_id] : []))
      const results: OpenAI.Responses.ResponseInput =
        calls.length === 0
          ? [{ role: 'user', content: 'and?' }]
          : calls.map((id) => ({ type: 'function_call_output', call_id: id, output: '2' }))
      // The answer's items are items of the next request.
      input = keeps ? results : [...input, ...(output as OpenAI.Responses.ResponseInput), ...results]
      previous = keeps ? answer.id : null
    }
    return said
  }

const overGemini =
  (shown: boolean): Conversation =>
  async (model, stream) => {
    const client = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: tollgate.url } })
    const contents: Content[] = [{ role: 'user', parts: [{ text: 'hi' }] }]
    const config = {
      tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: FUNCTION.parameters }] }],
      ...(shown ? { thinkingConfig: { includeThoughts: true } } : {}),
    }
    let said = ''
    for (let turn = 0; turn < STEPS.length; turn += 1) {
      const parts: Part[] = []
      if (stream)
        for await (const { candidates } of await client.models.generateContentStream({ model, contents, config }))
          parts.push(...(candidates?.[0]?.content?.parts ?? []))
      else
        parts.push(
          ...((await client.models.generateContent({ model, contents, config })).candidates?.[0]?.content?.parts ?? []),
        )
      contents.push({ role: 'model', parts })
      said += parts.map(({ text = '', thought }) => (thought === true ? '' : text)).join('')
      const calls = parts.flatMap(({ functionCall }) => (functionCall === undefined ? [] : [functionCall]))
      contents.push({
        role: 'user',
        parts:
          calls.length === 0
            ? [{ text: 'and?' }]
            : calls.map(({ id, name = '' }) => ({
                functionResponse: { ...(id === undefined ? {} : { id }), name, response: { result: 2 } },
              })),
      })
    }
    return said
  }

const DOORS: Readonly<Record<string, Conversation>> = {
  chat: overChat,
  messages: overMessages,
  'responses, stateless': overResponses(false, false),
  'responses, encrypted thoughts alone': overResponses(true, false),
  'responses, kept': overResponses(false, true),
  'gemini, thoughts shown': overGemini(true),
  'gemini, thoughts hidden': overGemini(false),
}

for (const [door, talk] of Object.entries(DOORS))
  for (const model of ['acme/chat', 'acme/family', 'acme/messages'])
    for (const stream of [false, true])
      test(`${door}, ${stream ? 'streamed' : 'whole'}: ${model} gets its thoughts back in every turn`, async () => {
        upstream.answer(script)
        assert.equal(await talk(model, stream), 'Wait.Done.Bye.')
      })
