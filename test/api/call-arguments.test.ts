import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startScriptedUpstream } from '../harness/scripted-upstream.ts'
import { serve } from '../harness/gateway.ts'

const PRICE = 'price: { currency: RUB, prompt: 1, completion: 1 }'
const { key, tollgate, upstream } = await serve(
  startScriptedUpstream,
  ({ url }) => `
bundled: false
markup: 1
providers:
  chat: { adapter: openai, base_url: "${url}/v1", api_key: k }
  native: { adapter: anthropic, base_url: "${url}/v1", api_key: k }
models:
${['chat', 'native'].map((name) => `  - { id: acme/${name}, type: chat, context_length: 9000, endpoints: [{ provider: ${name}, model: m, ${PRICE}, native_messages: false }] }`).join('\n')}
`,
)

type Answer = Record<string, unknown>

/** The upstream answers with one call of `f` and these arguments, in two pieces where it streams. */
function callsWith(text: string): void {
  upstream.answer((response, { path: url }) => {
    const isStream = upstream.requests.at(-1)?.['stream'] === true
    const pieces = [text.slice(0, 3), text.slice(3)]
    const usage = { prompt_tokens: 1, completion_tokens: 1, input_tokens: 1, output_tokens: 1 }
    const send = (events: readonly (readonly [string, object])[]): unknown =>
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(
          events.map(([type, fields]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`).join(''),
        )
    if (url.endsWith('/messages'))
      return send([
        ['message_start', { message: { id: 'm', type: 'message', role: 'assistant', content: [], usage } }],
        ['content_block_start', { index: 0, content_block: { type: 'tool_use', id: 'c', name: 'f', input: {} } }],
        ...pieces.map(
          (partial_json) =>
            ['content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json } }] as const,
        ),
        ['content_block_stop', { index: 0 }],
        ['message_delta', { delta: { stop_reason: 'tool_use' }, usage }],
        ['message_stop', {}],
      ])
    const call = (given: string): object => ({
      index: 0,
      id: 'c',
      type: 'function',
      function: { name: 'f', arguments: given },
    })
    if (!isStream)
      return response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(
          JSON.stringify({ choices: [{ message: { tool_calls: [call(text)] }, finish_reason: 'tool_calls' }], usage }),
        )
    const deltas = pieces.map((piece) => ({ choices: [{ index: 0, delta: { tool_calls: [call(piece)] } }] }))
    return response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(
        [...deltas, { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }], usage }]
          .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
          .join('') + 'data: [DONE]\n\n',
      )
  })
}

async function post(
  path: string,
  body: Answer,
): Promise<{ readonly whole: Answer; readonly events: readonly Answer[] }> {
  const response = await fetch(tollgate.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => JSON.parse(json) as Answer)
  return { whole: events.length > 0 ? {} : (JSON.parse(text) as Answer), events }
}

/** All values at a path of names; lists are walked through. */
function valuesAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap((item: unknown) => valuesAt(item, ...path))
  const [name, ...rest] = path
  if (name === undefined) return [value]
  // Every part is JSON.
  const member = value !== null && typeof value === 'object' ? (value as Answer)[name] : undefined
  return member === undefined ? [] : valuesAt(member, ...rest)
}

const PARAMETERS = { type: 'object' }
const TOOL = { type: 'function', function: { name: 'f', parameters: PARAMETERS } }
const USER = { role: 'user', content: 'hi' }
type Door = (model: string, stream: boolean) => Promise<unknown>
const parsed = (texts: readonly unknown[]): unknown => JSON.parse(texts.join(''))

const DOORS: Readonly<Record<string, Door>> = {
  chat: async (model, stream) => {
    const { whole, events } = await post('/v1/chat/completions', { model, stream, messages: [USER], tools: [TOOL] })
    const path = ['choices', stream ? 'delta' : 'message', 'tool_calls', 'function', 'arguments']
    return parsed(valuesAt(stream ? events : whole, ...path))
  },
  messages: async (model, stream) => {
    const tools = [{ name: 'f', input_schema: PARAMETERS }]
    const { whole, events } = await post('/v1/messages', { model, stream, max_tokens: 99, messages: [USER], tools })
    return stream ? parsed(valuesAt(events, 'delta', 'partial_json')) : valuesAt(whole, 'content', 'input')[0]
  },
  responses: async (model, stream) => {
    const tools = [{ type: 'function', name: 'f', parameters: PARAMETERS }]
    const { whole, events } = await post('/v1/responses', { model, stream, input: 'hi', tools })
    if (!stream) return parsed(valuesAt(whole, 'output', 'arguments'))
    const deltas = events.filter(({ type }) => type === 'response.function_call_arguments.delta')
    const last = parsed(
      valuesAt(
        events.filter(({ type }) => type === 'response.completed'),
        'response',
        'output',
        'arguments',
      ),
    )
    assert.deepEqual(parsed(valuesAt(deltas, 'delta')), last)
    return last
  },
  gemini: async (model, stream) => {
    const how = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
    const { whole, events } = await post(`/v1beta/models/${model}:${how}`, {
      contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
      tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: PARAMETERS }] }],
    })
    return valuesAt(stream ? events : whole, 'candidates', 'content', 'parts', 'functionCall', 'args')[0]
  },
}

const CASES: readonly (readonly [given: string, told: unknown])[] = [
  ['{"a":1}', { a: 1 }],
  ['{"a":1}{"a":1}', { a: 1 }],
  ['{"a":"}{"} {"b":2}', { a: '}{' }],
  ['[1]', { arguments: '[1]' }],
  ['null', {}],
  ['', {}],
  ['"text"', { arguments: '"text"' }],
  ['7', { arguments: '7' }],
]

for (const [door, ask] of Object.entries(DOORS))
  test(`${door}: the arguments of a call are one object, whole and streamed`, async () => {
    for (const model of ['acme/chat', 'acme/native'])
      for (const [given, told] of CASES)
        for (const stream of [false, true]) {
          // Its whole answers have an object.
          if (model === 'acme/native' && !stream) continue
          callsWith(given)
          assert.deepEqual(await ask(model, stream), told, `${model} ${stream} ${given}`)
        }
  })
