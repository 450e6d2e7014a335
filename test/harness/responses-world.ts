import { gateway, type Gateway } from './gateway.ts'
import { loggedRow } from './money-check.ts'
import { type FoldedResponse, respond } from './protocol-folds.ts'
import { startScriptedUpstream, type ScriptedUpstream, answers } from './scripted-upstream.ts'

export let upstream: ScriptedUpstream
export let tollgate: Gateway
export let key: string

export function ask(body: Record<string, unknown>, headers: Record<string, string> = {}): Promise<FoldedResponse> {
  return respond(tollgate.url, key, { model: 'test/sandbox', input: 'Hello', ...body }, headers)
}

export function answerJson(body: unknown): void {
  upstream.answer(answers(body))
}

export function logged(id: unknown, as = key): Promise<Record<string, unknown>> {
  return loggedRow(tollgate, as, id)
}

/** The loss per account and hour is bounded, so the next tests use another account. */
export async function useNewAccount(): Promise<void> {
  key = (await tollgate.createAccount({ balance: 10_000 })).key
}

/** A server for the tests of the calling file, with one upstream for each protocol. */
export async function serveResponses(): Promise<void> {
  upstream = await startScriptedUpstream()
  tollgate = await gateway({
    catalog: `
markup: 1
stream_resume: { grace: 1, retention: 300 }
providers:
  scripted: { name: Scripted, adapter: openai, base_url: ${upstream.url}, api_key: upstream-canary-key, timeouts: { progress: 1 } }
  sandbox: { name: Sandbox, adapter: sandbox, cancel_stops_billing: true }
models:
  - id: test/native
    type: chat
    context_length: 128000
    input_modalities: [text, image, file]
    endpoints: [{ provider: scripted, model: upstream-model, price: { currency: RUB, prompt: 1, completion: 1000, search: 0 }, native_responses: true }]
  - id: test/searches
    type: chat
    context_length: 128000
    endpoints: [{ provider: scripted, model: upstream-model, price: { currency: RUB, prompt: 1, completion: 1000, search: 2 }, native_responses: true }]
  - id: test/unpriced
    type: chat
    context_length: 128000
    endpoints: [{ provider: scripted, model: upstream-model, price: { currency: RUB, prompt: 1, completion: 1000 }, native_responses: true }]
  - id: test/chat
    type: chat
    context_length: 128000
    input_modalities: [text, image, file]
    endpoints: [{ provider: scripted, model: upstream-model, price: { currency: RUB, prompt: 1, completion: 1000 } }]
  - id: test/both
    type: chat
    context_length: 128000
    endpoints:
      - { provider: sandbox, model: chat, price: { currency: RUB, prompt: 1, completion: 1000 } }
      - { provider: scripted, model: upstream-model, price: { currency: RUB, prompt: 1, completion: 1000, search: 0 }, native_responses: true }
  - id: test/sandbox
    type: chat
    context_length: 128000
    endpoints: [{ provider: sandbox, model: chat, price: { currency: RUB, prompt: 15, completion: 60 } }]
  - { id: test/embeds, type: embeddings, context_length: 8000, endpoints: [{ provider: sandbox, model: e, price: { currency: RUB, prompt: 1 } }] }
`,
  })
  key = (await tollgate.createAccount({ balance: 10_000 })).key
}
