import type { ApiClient } from '../harness/api-client.ts'
import { REPORTED } from './model-protocols.ts'

/** RUB per million tokens, which is micro-rubles per token. */
const PRICE = { prompt: 100, cached: 10, completion: 1_000 } as const

/** The charge of one answer of the scripted model, computed by hand from its reported usage. */
export const COST_MICRO = BigInt(
  (REPORTED.input - REPORTED.cached) * PRICE.prompt +
    REPORTED.cached * PRICE.cached +
    REPORTED.output * PRICE.completion,
)

/** Tokens that the short models take: a client's instructions, its tools and a conversation that has to be compacted. */
export const SHORT_CONTEXT = 60_000

/** Models of each protocol with a context that holds little. */
const SMALL = [
  ['chat', 'openai-like', ''],
  ['responses', 'openai-like', ', native_responses: true'],
  ['messages', 'anthropic-like', ''],
  ['gemini', 'gemini-like', ''],
] as const

/** A model of each protocol, all of one scripted provider. */
export function catalogOf(url: string): string {
  const price = `price: { currency: RUB, prompt: ${PRICE.prompt}, completion: ${PRICE.completion}, input_cache_read: ${PRICE.cached} }`
  const model = (id: string, provider: string, more = '', context = 200_000): string => `
  - id: ${id}
    type: chat
    context_length: ${context}
    max_completion_tokens: 1000
    input_modalities: [text, image]
    endpoints: [{ provider: ${provider}, model: scripted, ${price}${more} }]`
  return `
markup: 1
model_fallbacks: { gemini-3.1-pro-preview-customtools: acme/gemini }
providers:
  openai-like: { name: OpenAI-like, adapter: openai, base_url: ${url}/v1, api_key: k }
  anthropic-like: { name: Anthropic-like, adapter: anthropic, base_url: ${url}/v1, api_key: k }
  gemini-like: { name: Gemini-like, adapter: gemini, base_url: ${url}/v1beta, api_key: k }
models:${model('acme/chat', 'openai-like')}${model('acme/responses', 'openai-like', ', native_responses: true')}${model('acme/messages', 'anthropic-like')}${model('acme/gemini', 'gemini-like')}${SMALL.map(([name, provider, more]) => model(`acme/small-${name}`, provider, more, 2_000)).join('')}${model('acme/short-messages', 'anthropic-like', '', SHORT_CONTEXT)}${model('acme/short-chat', 'openai-like', '', SHORT_CONTEXT)}${model('acme/wide-chat', 'openai-like', '', 106_000)}${model('acme/short-responses', 'openai-like', ', native_responses: true', SHORT_CONTEXT)}
`
}

/** The sum that an account has paid, in micro-rubles. */
export async function spentMicro(tollgate: ApiClient, accountId: string): Promise<bigint> {
  const account = await tollgate.admin('GET', `/admin/v1/accounts/${accountId}`)
  return BigInt(Math.round((100 - Number(account.body.balance)) * 1e6))
}
