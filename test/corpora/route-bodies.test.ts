import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serveSandbox } from '../harness/served.ts'
import { BODIES } from '../harness/route-calls.ts'

/** Bodies that every route must take or refuse in its own words (guarantees.md F49–F51), whatever its protocol. */
const world = serveSandbox('{ rate_limit: { requests: 100000, window: 60 } }', 1_000)

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
const TEXTS = ['', '[]', 'null', '1', '"x"', '{', '{"a":NaN}', '{"a":1}x', '{"a":"\\ud800"}', '\ufeff{}', '<xml/>']

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
  'POST /v1/moderations': {
    model: 'sandbox/moderation',
    input: [
      { type: 'text', text: 'x' },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
    ],
  },
}

/** `*model` stands for a model of the sandbox. */
function pathOf(route: string): string {
  const model = route.toLowerCase().includes('embed') ? 'sandbox/embeddings' : 'sandbox/chat'
  return route.replace('POST ', '').replace('*model', model)
}

for (const [route, body] of Object.entries(RICH)) {
  // The paths of Gemini's protocol stand for those of its other versions.
  if (!/^POST \/v[12]/.test(route) || /^POST \/v1(?:alpha)?\/models\//.test(route)) continue
  test(`${route}: no member of a body makes an error of ours`, async () => {
    for (const other of altered(body)) {
      const text = JSON.stringify(other)
      const answer = await world.tollgate.request('POST', pathOf(route), { key: world.key, body: Buffer.from(text) })
      assert.notEqual(answer.status, 500, `${text.slice(0, 500)}: ${answer.text}`)
    }
    for (const text of TEXTS) {
      const answer = await world.tollgate.request('POST', pathOf(route), { key: world.key, body: Buffer.from(text) })
      assert.ok(answer.status >= 400 && answer.status < 500, `${text}: ${answer.status} ${answer.text}`)
    }
  })
}

test('after all of them the books agree', async () => {
  assert.equal((await world.tollgate.admin('GET', '/admin/v1/audit')).body.violations, 0)
  assert.deepEqual(world.tollgate.bugs(), [])
})
