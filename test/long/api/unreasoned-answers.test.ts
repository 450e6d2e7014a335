import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from '../../harness/api-client.ts'
import { loggedRow } from '../../harness/money-check.ts'
import { startScriptedUpstream } from '../../harness/scripted-upstream.ts'
import { serve } from '../../harness/gateway.ts'
import { completion, claudeMessage } from '../../harness/provider-answers.ts'

/**
 * Providers that name no reason for the end of an answer, and answers whose tokens say nothing: clients of every
 * protocol get a reason, and the charge is that of the usage (wire.md D-3.2, rules 4 and 5).
 */

const PROVIDERS = { chat: 'openai', messages: 'anthropic', gemini: 'gemini' } as const
type Provider = keyof typeof PROVIDERS
const NAMES = Object.keys(PROVIDERS) as readonly Provider[]

const { key, tollgate, upstream } = await serve(
  startScriptedUpstream,
  ({ url }) => `
bundled: false
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
${NAMES.map((name) => `  ${name}: { name: ${name}, adapter: ${PROVIDERS[name]}, base_url: "${url}", api_key: k }`).join('\n')}
models:
${NAMES.map((name) => `  - { id: test/${name}, type: chat, context_length: 8000, endpoints: [{ provider: ${name}, model: m, price: { currency: RUB, prompt: 1, completion: 1 } }] }`).join('\n')}
`,
)

interface Said {
  readonly text: string
  readonly tokens: number
}

const WHOLE: Readonly<Record<Provider, (said: Said) => unknown>> = {
  chat: ({ text, tokens }) =>
    completion(
      { content: text === '' ? null : text },
      { usage: { prompt_tokens: 20, completion_tokens: tokens, total_tokens: 20 + tokens }, finish: null },
    ),
  messages: ({ text, tokens }) =>
    claudeMessage(
      text === '' ? [] : [{ type: 'text', text }],
      { input_tokens: 20, output_tokens: tokens },
      { stop_reason: null },
    ),
  gemini: ({ text, tokens }) => ({
    candidates: [{ index: 0, content: { role: 'model', parts: text === '' ? [] : [{ text }] } }],
    usageMetadata: { promptTokenCount: 20, candidatesTokenCount: tokens, totalTokenCount: 20 + tokens },
  }),
}

const named = (event: { readonly type: string } & Readonly<Record<string, unknown>>): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
/** Gemini's streams have no mark of their end but the reason. */
const STREAM: Readonly<Record<Exclude<Provider, 'gemini'>, (said: Said) => string>> = {
  chat: ({ text, tokens }) => {
    const chunk = (choices: unknown, more = {}): string =>
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...more })}\n\n`
    const usage = { prompt_tokens: 20, completion_tokens: tokens, total_tokens: 20 + tokens }
    return `${chunk([{ index: 0, delta: { role: 'assistant', content: text }, finish_reason: null }])}${chunk([], { usage })}data: [DONE]\n\n`
  },
  messages: ({ text, tokens }) =>
    [
      {
        type: 'message_start',
        message: claudeMessage([], { input_tokens: 20, output_tokens: 0 }, { stop_reason: null }),
      },
      ...(text === ''
        ? []
        : [
            { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
            { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
            { type: 'content_block_stop', index: 0 },
          ]),
      { type: 'message_delta', delta: { stop_reason: null, stop_sequence: null }, usage: { output_tokens: tokens } },
      { type: 'message_stop' },
    ]
      .map(named)
      .join(''),
}

interface Door {
  readonly path: (model: string, stream: boolean) => string
  readonly body: (model: string, stream: boolean) => Readonly<Record<string, unknown>>
  /** The reason of the end as a client finds it in a whole answer, or in the last events. */
  readonly reason: RegExp
}

const MESSAGES = [{ role: 'user', content: 'Say something.' }]
const DOORS: Readonly<Record<string, Door>> = {
  chat: {
    path: () => '/v1/chat/completions',
    body: (model, stream) => ({ model, stream, max_tokens: 50, messages: MESSAGES }),
    reason: /"finish_reason":"stop"/,
  },
  completions: {
    path: () => '/v1/completions',
    body: (model, stream) => ({ model, stream, max_tokens: 50, prompt: 'Say something.' }),
    reason: /"finish_reason":"stop"/,
  },
  responses: {
    path: () => '/v1/responses',
    body: (model, stream) => ({ model, stream, max_output_tokens: 50, input: 'Say something.' }),
    reason: /"status":"completed"/,
  },
  messages: {
    path: () => '/v1/messages',
    body: (model, stream) => ({ model, stream, max_tokens: 50, messages: MESSAGES }),
    reason: /"stop_reason":"end_turn"/,
  },
  gemini: {
    path: (model, stream) => `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: () => ({
      contents: [{ role: 'user', parts: [{ text: 'Say something.' }] }],
      generationConfig: { maxOutputTokens: 50 },
    }),
    reason: /"finishReason":"STOP"/,
  },
  cohere: {
    path: () => '/v2/chat',
    body: (model, stream) => ({ model, stream, max_tokens: 50, messages: MESSAGES }),
    reason: /"finish_reason":"COMPLETE"/,
  },
}

const SAID: Readonly<Record<string, Said>> = {
  'a text': { text: 'Yes.', tokens: 5 },
  'tokens that say nothing': { text: '', tokens: 5 },
}

function answerWith(name: Provider, said: Said, stream: boolean): void {
  upstream.answer((response) => {
    if (!stream || name === 'gemini')
      return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(WHOLE[name](said)))
    return response.writeHead(200, { 'content-type': 'text/event-stream' }).end(STREAM[name](said))
  })
}

function ask({ path, body }: Door, name: Provider, stream: boolean): Promise<Answer> {
  const model = `test/${name}`
  return tollgate.post(path(model, stream), key, body(model, stream))
}

for (const [doorName, door] of Object.entries(DOORS))
  for (const stream of [false, true])
    test(`${doorName}, ${stream ? 'streamed' : 'whole'}: a reason for each end, and the usage charged; nothing at all is free`, async () => {
      for (const name of NAMES) {
        if (stream && name === 'gemini') continue
        for (const [what, said] of Object.entries(SAID)) {
          answerWith(name, said, stream)
          const { status, text, headers } = await ask(door, name, stream)
          assert.equal(status, 200, `${name}, ${what}: ${text}`)
          assert.match(text, door.reason, `${name}, ${what}`)
          const row = await loggedRow(tollgate, key, headers['x-generation-id'])
          assert.deepEqual([row.total_cost, row.finish_reason], [(20 + said.tokens) / 1e6, 'stop'], `${name}, ${what}`)
        }
        answerWith(name, { text: '', tokens: 0 }, stream)
        const { status, text, headers } = await ask(door, name, stream)
        assert.equal(status, 502, `${name}: ${text}`)
        const row = await loggedRow(tollgate, key, headers['x-generation-id'])
        assert.equal(row.total_cost, 0, name)
      }
    })
