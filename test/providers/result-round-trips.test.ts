import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseMessages } from '../../src/protocols/anthropic/client/parse.ts'
import { anthropicProtocol } from '../../src/protocols/anthropic/provider/anthropic.ts'
import { bedrockProtocol } from '../../src/protocols/bedrock/bedrock.ts'
import { geminiProtocol } from '../../src/protocols/gemini/provider/gemini.ts'
import { openaiBody } from '../../src/protocols/openai/provider/openai.ts'
import type { ChatCall } from '../../src/protocols/ports/call.ts'
import { callOf } from '../harness/protocol-read.ts'

const PICTURE = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw==' } }
const DOCUMENT = {
  type: 'document',
  title: 'Report',
  source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' },
}

/** A turn of an agent on Anthropic's protocol with everything that a result may have. */
const TURN = {
  model: 'a/b',
  max_tokens: 100,
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'Look', cache_control: { type: 'ephemeral' } }] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 'claude-signature' },
        { type: 'tool_use', id: 'toolu_1', name: 'see', input: { at: 'a' } },
        { type: 'tool_use', id: 'toolu_2', name: 'read', input: { at: 'b' } },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'seen' }, PICTURE, DOCUMENT] },
        { type: 'tool_result', tool_use_id: 'toolu_2', content: 'no such file', is_error: true },
      ],
    },
  ],
  tools: ['see', 'read'].map((name) => ({ name, input_schema: { type: 'object', properties: {} } })),
}

const SENT: readonly (readonly [
  provider: string,
  model: string,
  sent: (call: ChatCall) => unknown,
  has: readonly string[],
  hasNot: readonly string[],
])[] = [
  [
    'Anthropic',
    'claude-sonnet-4-5',
    (call) => anthropicProtocol.request(call).body,
    [
      '"signature":"claude-signature"',
      '"cache_control":{"type":"ephemeral"}',
      '"tool_use_id":"toolu_2","content":[{"type":"text","text":"no such file"}],"is_error":true',
      '"media_type":"image/png"',
      '"media_type":"application/pdf"',
    ],
    [],
  ],
  [
    'Claude on Bedrock',
    'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    (call) => bedrockProtocol(() => 0).request({ ...call, apiKey: 'a:b' }).body,
    ['"signature":"claude-signature"', '"cachePoint"', '"status":"error"', '"format":"png"', '"format":"pdf"'],
    [],
  ],
  [
    'Gemini',
    'gemini-2.5-flash',
    (call) => geminiProtocol.request(call).body,
    ['"response":{"error":"no such file"}', '"mimeType":"image/png"', '"mimeType":"application/pdf"'],
    ['claude-signature', 'cache'],
  ],
  [
    'OpenAI',
    'gpt-5',
    openaiBody,
    ['Error: no such file', 'data:image/png;base64,iVBORw==', 'data:application/pdf;base64,JVBERg=='],
    ['is_error'],
  ],
]

for (const [provider, model, sent, has, hasNot] of SENT) {
  test(`what an agent on Anthropic's protocol sends back, to ${provider}: ids, failures, pictures, documents, marks`, () => {
    const { chat } = parseMessages(TURN, { headers: {}, bytes: Buffer.byteLength(JSON.stringify(TURN)) })
    const call = callOf({}, { model, apiKey: 'upstream-key', sendMaxTokens: 100 })
    const text = JSON.stringify(sent({ ...call, request: chat }))
    for (const word of ['toolu_1', 'toolu_2', 'seen', ...has]) assert.ok(text.includes(word), `${word}: ${text}`)
    for (const word of hasNot) assert.ok(!text.includes(word), `${word}: ${text}`)
  })
}
