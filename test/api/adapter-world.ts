import assert from 'node:assert/strict'
import { chat, type FoldedAnswer } from '../harness/chat-fold.ts'
import { type ReplayOptions, startReplayUpstream, type Replay, type SeenRequest } from '../harness/replay.ts'
import { serve } from '../harness/gateway.ts'

export const UPSTREAM_KEY = 'upstream-canary-key'
/** Long enough that any recorded usage is plausible for it. */
export const LONG_PROMPT = 'the quick brown fox jumps over the lazy dog '.repeat(1_100)
export const ADAPTERS = ['anthropic', 'gemini', 'cohere', 'ollama', 'bedrock'] as const
export type AdapterName = (typeof ADAPTERS)[number]
type Body = Readonly<Record<string, unknown>>

interface AdapterWorld {
  readonly served: Awaited<ReturnType<typeof serve<Replay>>>
  /** Asks `test/<adapter>`, or the model of `body`; the provider answers as recorded. */
  ask(adapter: AdapterName, recorded: string, body?: Body, opts?: ReplayOptions): Promise<FoldedAnswer>
  /** The last request that the provider got. */
  lastRequest(): Promise<SeenRequest>
  /** What the customer has, and has used. */
  credits(): Promise<unknown>
}

/** In RUB for a million tokens: in µRUB for one. */
const PRICES = 'prompt: 3, input_cache_read: 1, input_cache_write: 4, completion: 15, internal_reasoning: 20'

/**
 * A server for the tests of the calling file, with a provider and a model for each protocol that is not OpenAI's.
 * `more` are further lines of the catalogue's providers and models.
 */
export async function serveAdapters(
  more: (url: string) => readonly [providers: string, models: string] = () => ['', ''],
): Promise<AdapterWorld> {
  const served = await serve(startReplayUpstream, ({ url }) => {
    const [providers, models] = more(url)
    return `
markup: 1
providers:
${ADAPTERS.map((name) => `  ${name}: { adapter: ${name}, base_url: ${url}/slot/${name}, api_key: ${UPSTREAM_KEY} }\n`).join('')}${providers}
models:
${ADAPTERS.map(
  (name) => `  - id: test/${name}
    type: chat
    context_length: 1000000
    input_modalities: [text, image, audio]
    endpoints: [{ provider: ${name}, model: upstream-model, price: { currency: RUB, ${PRICES} } }]
`,
).join('')}${models}`
  })
  return {
    served,
    ask: async (adapter, recorded, body = {}, opts = {}) => {
      await served.upstream.slot(adapter, [{ case: recorded, opts }])
      const defaults = {
        model: `test/${adapter}`,
        max_tokens: 2_000,
        messages: [{ role: 'user', content: LONG_PROMPT }],
      }
      return chat(served.tollgate.url, served.key, { ...defaults, ...body })
    },
    lastRequest: async () => (await served.upstream.requests()).at(-1) ?? assert.fail('The provider got no request.'),
    credits: async () => (await served.tollgate.get('/v1/credits', served.key)).body,
  }
}
