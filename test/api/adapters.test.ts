import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ADAPTERS, serveAdapters, UPSTREAM_KEY, type AdapterName } from './adapter-world.ts'
import { refused } from '../harness/refused.ts'

type Body = Readonly<Record<string, unknown>>

/** What holds for every adapter; what only one of them has is in its own file. */
interface Guarantees {
  /** A request with all that its protocol takes, in chat's words; what the provider gets of it, and nothing else. */
  readonly sent: {
    readonly recorded: string
    readonly stream: boolean
    readonly path: string
    /** undefined = the provider does not get it. */
    readonly headers: Readonly<Record<string, string | undefined>>
    readonly json: Body
  }
  /** A recorded usage in tokens, and its cost in µRUB. */
  readonly charged: { readonly recorded: string; readonly body?: Body; readonly usage: Body; readonly micro: number }
  /** Contents that the protocol cannot express, and the words of the refusal. */
  readonly unsendable: readonly (readonly [fields: Body, message: RegExp])[]
  /** A stream, and the events of it that come before it breaks off: at least a word. */
  readonly broken: { readonly recorded: string; readonly events: number }
}

const TOOL = 'get_weather'
const SYSTEM = 'Be brief'
const QUESTION = 'Weather in Paris?'
const ASKED = {
  max_tokens: 2_000,
  messages: [
    { role: 'developer', content: SYSTEM },
    { role: 'user', content: QUESTION, surprise: 1 },
  ],
  tools: [{ type: 'function', function: { name: TOOL } }],
  tool_choice: 'required',
  logit_bias: { 1: 1 },
  made_up: true,
}
const PARAMETERS = { type: 'object', properties: {} }
const FUNCTION = { type: 'function', function: { name: TOOL, parameters: PARAMETERS } }
const SOUND = onePart({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } })

const TABLE: Readonly<Record<AdapterName, Guarantees>> = {
  anthropic: {
    sent: {
      recorded: 'anthropic/chat/sdk-tool-use-stream',
      stream: true,
      path: '/messages',
      headers: { 'x-api-key': UPSTREAM_KEY, 'anthropic-version': '2023-06-01', authorization: undefined },
      json: {
        model: 'upstream-model',
        max_tokens: 2_000,
        system: [{ type: 'text', text: SYSTEM }],
        messages: [{ role: 'user', content: [{ type: 'text', text: QUESTION }] }],
        tools: [{ name: TOOL, input_schema: { type: 'object' } }],
        tool_choice: { type: 'any' },
        stream: true,
      },
    },
    charged: {
      recorded: 'anthropic/chat/anthropic-code-execution-files-cache-prefix-stable-messages-3',
      usage: {
        prompt_tokens_details: { cached_tokens: 14_210, cache_write_tokens: 426 },
        completion_tokens_details: { reasoning_tokens: 15 },
      },
      micro: 4 * 3 + 14_210 * 1 + 426 * 4 + 275 * 15 + 15 * 20,
    },
    unsendable: [
      [SOUND, /messages\[0\]\.content\[0\]: this provider takes no audio/],
      [picture('data:image/bmp;base64,AAAA'), /must be a JPEG, PNG, GIF or WebP image/],
      [{ n: 2, messages: [{ role: 'user', content: 'x' }] }, /^n: /],
    ],
    broken: { recorded: 'anthropic/chat/sdk-basic-stream', events: 4 },
  },
  gemini: {
    sent: {
      recorded: 'gemini/chat/native-output-with-function-tools-stream',
      stream: true,
      path: '/models/upstream-model:streamGenerateContent?alt=sse',
      headers: { 'x-goog-api-key': UPSTREAM_KEY, authorization: undefined },
      json: {
        systemInstruction: { parts: [{ text: SYSTEM }] },
        contents: [{ role: 'user', parts: [{ text: QUESTION }] }],
        tools: [{ functionDeclarations: [{ name: TOOL }] }],
        toolConfig: { functionCallingConfig: { mode: 'ANY' } },
        generationConfig: { maxOutputTokens: 2_000 },
      },
    },
    charged: {
      recorded: 'vertex/chat/fb-unary-success-implicit-caching',
      usage: { prompt_tokens_details: { cached_tokens: 11_243 }, completion_tokens_details: { reasoning_tokens: 73 } },
      micro: 770 * 3 + 11_243 * 1 + 15 * 15 + 73 * 20,
    },
    unsendable: [[picture('ftp://x.test/a.png'), /messages\[0\]\.content\[0\]\.image_url\.url: must be/]],
    broken: { recorded: 'gemini/chat/google-model-thinking-part-iter', events: 2 },
  },
  cohere: {
    sent: {
      recorded: 'cohere/chat/v-cohere-null-args',
      stream: false,
      path: '/v2/chat',
      headers: { authorization: `Bearer ${UPSTREAM_KEY}` },
      json: {
        model: 'upstream-model',
        messages: [
          { role: 'system', content: SYSTEM },
          { role: 'user', content: QUESTION },
        ],
        stream: false,
        max_tokens: 2_000,
        tools: [FUNCTION],
        tool_choice: 'REQUIRED',
      },
    },
    charged: {
      recorded: 'cohere/chat/stream-with-events-with-content',
      body: { stream: true, stream_options: { include_usage: true } },
      usage: { prompt_tokens: 212, completion_tokens: 36, prompt_tokens_details: { cached_tokens: 208 } },
      micro: 4 * 3 + 208 * 1 + 36 * 15,
    },
    unsendable: [[SOUND, /messages\[0\]\.content\[0\]: this provider takes no part of type input_audio/]],
    broken: { recorded: 'cohere/chat/stream-with-events-with-content', events: 4 },
  },
  ollama: {
    sent: {
      recorded: 'ollama/chat/ollama-streaming-chat-legacy',
      stream: true,
      path: '/api/chat',
      headers: { authorization: `Bearer ${UPSTREAM_KEY}` },
      json: {
        model: 'upstream-model',
        messages: [
          { role: 'system', content: SYSTEM },
          { role: 'user', content: QUESTION },
        ],
        stream: true,
        tools: [FUNCTION],
        options: { num_predict: 2_000 },
      },
    },
    charged: {
      recorded: 'ollama/chat/ollama-streaming-chat-legacy',
      body: { stream: true, stream_options: { include_usage: true } },
      usage: { prompt_tokens: 17, completion_tokens: 50 },
      micro: 17 * 3 + 50 * 15,
    },
    unsendable: [[picture('https://pictures.test/a.png'), /data URL/]],
    broken: { recorded: 'ollama/chat/ollama-streaming-chat-legacy', events: 3 },
  },
  bedrock: {
    sent: {
      recorded: 'bedrock/chat/bedrock-model-code-execution-tool-stream',
      stream: true,
      path: '/model/upstream-model/converse-stream',
      headers: { authorization: `Bearer ${UPSTREAM_KEY}`, accept: 'application/vnd.amazon.eventstream' },
      json: {
        system: [{ text: SYSTEM }],
        messages: [{ role: 'user', content: [{ text: QUESTION }] }],
        inferenceConfig: { maxTokens: 2_000 },
        toolConfig: {
          tools: [{ toolSpec: { name: TOOL, inputSchema: { json: { type: 'object' } } } }],
          toolChoice: { any: {} },
        },
      },
    },
    charged: {
      recorded: 'bedrock/chat/bedrock-cache-messages-with-document-as-last-content-2',
      usage: {
        prompt_tokens: 1_951,
        completion_tokens: 121,
        prompt_tokens_details: { cached_tokens: 1_712, cache_write_tokens: 236 },
      },
      micro: 3 * 3 + 1_712 * 1 + 236 * 4 + 121 * 15,
    },
    unsendable: [[picture('https://example.com/a.png'), /^messages\[0\]\.content\[0\]\.image_url\.url: /]],
    broken: { recorded: 'bedrock/chat/bedrock-model-stream-empty-text-delta', events: 6 },
  },
}

const { ask, credits, lastRequest, served } = await serveAdapters()

for (const adapter of ADAPTERS) {
  const { sent, charged, unsendable, broken } = TABLE[adapter]
  describe(adapter, () => {
    test('the provider gets its own headers and nothing but its own body', async () => {
      const { status, raw } = await ask(adapter, sent.recorded, { ...ASKED, stream: sent.stream })
      assert.equal(status, 200, raw)
      const { path, json, headers } = await lastRequest()
      assert.equal(path, sent.path)
      for (const [name, value] of Object.entries(sent.headers)) assert.equal(headers[name], value, name)
      assert.deepEqual(json, sent.json)
    })

    test('each meter is charged at its own price', async () => {
      const { usage, raw } = await ask(adapter, charged.recorded, charged.body)
      assert.partialDeepStrictEqual(usage, { ...charged.usage, cost: charged.micro / 1_000_000 }, raw)
    })

    test('a request that the protocol cannot express is a 400 that reaches no provider and costs nothing', async () => {
      const requests = (await served.upstream.requests()).length
      const before = await credits()
      assert.ok(unsendable.length > 0)
      for (const [fields, message] of unsendable)
        for (const stream of [false, true])
          refused(await ask(adapter, sent.recorded, { ...fields, stream }), 400, 'invalid_input', message)
      assert.equal((await served.upstream.requests()).length, requests)
      assert.deepEqual(await credits(), before)
    })

    for (const cutmode of ['fin', 'reset'] as const)
      test(`a stream that breaks off after a word is an error and costs nothing (${cutmode})`, async () => {
        const before = await credits()
        const cut = `events:${broken.events}` as const
        const { error, choices, raw } = await ask(adapter, broken.recorded, { stream: true }, { cut, cutmode })
        assert.equal(error?.message, 'Provider disconnected mid-stream', raw)
        const { text, reasoning, finish } = choices.get(0) ?? assert.fail(raw)
        assert.notEqual(text + reasoning, '')
        assert.equal(finish, 'error')
        assert.deepEqual(await credits(), before)
      })
  })
}

/** A body whose only message has one part. */
function onePart(part: Body): Body {
  return { messages: [{ role: 'user', content: [part] }] }
}

function picture(url: string): Body {
  return onePart({ type: 'image_url', image_url: { url } })
}
