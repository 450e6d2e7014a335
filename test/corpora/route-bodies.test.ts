import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signedUp } from '../harness/console-client.ts'
import { addressOf, checkShape, doorsOf, protocolOf } from '../harness/door-errors.ts'
import { serveSandbox } from '../harness/gateway.ts'
import { BODIES } from '../harness/route-calls.ts'

/** Bodies that every route must take or refuse in its own words (guarantees.md F49–F51), whatever its protocol. */
const world = await serveSandbox('{ rate_limit: { requests: 100000, window: 60 } }', 1_000)
const { tollgate } = world

/** What no member of any body is. Some are objects that cannot become a text. */
const ODD: readonly unknown[] = [
  null,
  true,
  -1,
  1e300,
  '',
  'x',
  'x'.repeat(5_000),
  [],
  [null],
  [[]],
  {},
  { toString: 1, valueOf: 1 },
  { type: { toString: 1 } },
  { constructor: null, toJSON: 1 },
]
const TEXTS = [
  '{"__proto__":{"polluted":1},"constructor":{"prototype":{}}}',
  '{"model":"a","model":1,"model":{}}',
  '{"a":1e400}',
  '{"a":-0,"b":9007199254740993}',
  '{"a":"\\u0000"}',
  '\u0000{}',
  `{"a":${'['.repeat(70)}${']'.repeat(70)}}`,
  `{"a":[${'{},'.repeat(100_001)}{}]}`,
  '',
  '[]',
  'null',
  '1',
  '"x"',
  '{',
  '{"a":NaN}',
  '{"a":1}x',
  '{"a":"\\ud800"}',
  '\ufeff{}',
  '<xml/>',
]

/** Copies of a body, each with one member, however deep, put into another's place or left out. */
function* altered(value: unknown): Generator<unknown> {
  yield* ODD
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const other of altered(item)) yield value.toSpliced(index, 1, other)
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      const { [name]: _without, ...rest } = Object.fromEntries(Object.entries(value))
      yield rest
      for (const other of altered(member)) yield { ...value, [name]: other }
    }
  }
}

const RICH: Readonly<Record<string, unknown>> = {
  ...BODIES,
  'POST /v1/chat/completions': {
    model: 'sandbox/chat',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }],
    tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
    tool_choice: { type: 'function', function: { name: 'f' } },
    response_format: { type: 'text' },
  },
  'POST /v1/responses': {
    model: 'sandbox/chat',
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'x' }] }],
    tools: [{ type: 'function', name: 'f', parameters: {} }],
    tool_choice: { type: 'function', name: 'f' },
    text: { format: { type: 'text' } },
    store: false,
  },
  'POST /v1/messages': {
    model: 'sandbox/chat',
    max_tokens: 10,
    system: [{ type: 'text', text: 'x' }],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] }],
    tools: [{ name: 'f', input_schema: {} }],
    tool_choice: { type: 'tool', name: 'f' },
  },
  'POST /v1beta/models/*model:generateContent': {
    systemInstruction: { parts: [{ text: 'x' }] },
    contents: [{ role: 'user', parts: [{ text: 'x' }, { inlineData: { mimeType: 'image/png', data: 'QUJD' } }] }],
    tools: [{ functionDeclarations: [{ name: 'f', parameters: { type: 'OBJECT' } }] }],
    toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
    generationConfig: { maxOutputTokens: 5, thinkingConfig: { thinkingBudget: 0 } },
  },
  'POST /v2/chat': {
    model: 'sandbox/chat',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }],
    tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
    response_format: { type: 'text' },
  },
  'POST /api/chat': {
    model: 'sandbox/chat',
    stream: false,
    messages: [
      { role: 'user', content: 'x', images: ['iVBORw0K'] },
      { role: 'assistant', content: '', tool_calls: [{ function: { name: 'f', arguments: { a: 1 } } }] },
      { role: 'tool', tool_name: 'f', content: 'y' },
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
    options: { temperature: 1, stop: ['x'], num_predict: 5 },
    format: { type: 'object' },
    think: false,
  },
  'POST /v1/moderations': {
    model: 'sandbox/moderation',
    input: [
      { type: 'text', text: 'x' },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
    ],
  },
}

test('each route that takes a body has one here, and each body here has a route', () => {
  const doors = doorsOf(tollgate.app.routes).map(({ method, path }) => `${method} ${path}`)
  assert.deepEqual(
    Object.keys(BODIES)
      .filter((name) => /^POST \/(?:v|api)/.test(name))
      .toSorted(),
    doors.toSorted(),
  )
})

// The paths of Gemini's protocol stand for those of its other versions.
const TRIED = Object.keys(RICH).filter(
  (name) => /^POST \/(?:v[12]|api)/.test(name) && !/^POST \/v1(?:alpha)?\/models\//.test(name),
)

for (const name of TRIED)
  test(`${name}: no member of a body makes an error of ours, and each refusal has the form of the protocol`, async (context) => {
    const route = doorsOf(tollgate.app.routes).find(({ method, path }) => `${method} ${path}` === name)
    assert.ok(route !== undefined)
    const key = route.plane === 'management' ? await managementKey() : world.key
    const send = async (text: string): Promise<number> => {
      const answer = await tollgate.post(addressOf(route), key, Buffer.from(text))
      const what = `${text.slice(0, 500)}: ${answer.status} ${answer.text.slice(0, 500)}`
      assert.ok(answer.status < 500, what)
      if (answer.status >= 400) checkShape(answer, protocolOf(route), what)
      return answer.status
    }
    let tried = 0
    for (const other of altered(RICH[name])) {
      await send(JSON.stringify(other))
      tried += 1
    }
    for (const text of TEXTS) assert.ok((await send(text)) >= 400, text)
    context.diagnostic(`${tried} bodies`)
  })

async function managementKey(): Promise<string> {
  const { browser } = await signedUp(tollgate)
  return (await browser.post('management-keys', { name: 'm' })).body.key
}
