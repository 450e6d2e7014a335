import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type FoldedResponse, respond } from '../harness/protocol-folds.ts'
import { PLAIN_VARIANTS, STREAM_VARIANTS, PROMPT } from './recorded-cases.ts'
import { recordedCases, type RecordedCase } from '../harness/recording.ts'
import { startReplayUpstream } from '../harness/replay.ts'
import { serve } from '../harness/gateway.ts'

/** Recorded answers that a client cannot get, each with the reason; the result that it gets instead is asserted. */
const REFUSED: Readonly<Record<string, { readonly reason: string; readonly status: number }>> = {
  'openai/responses/background-mode-with-tool-vcr-3': {
    reason: 'an answer that is only queued would have to be fetched later, and background is never asked for',
    status: 502,
  },
}
/** The client's status for each error status of a provider (wire.md 7.4). */
const CLIENT_STATUS: Readonly<Record<number, number>> = { 400: 400, 429: 503 }

const { key, tollgate, upstream } = await serve(
  startReplayUpstream,
  ({ url }) => `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  recorded: { name: Recorded, adapter: openai, base_url: ${url}/slot/recorded, api_key: upstream-canary-key }
models:
  - id: test/recorded
    type: chat
    context_length: 1000000
    endpoints: [{ provider: recorded, model: upstream-model, price: { currency: RUB, prompt: 1, completion: 1000 }, native_responses: true }]
`,
  1_000_000,
)

const cases = recordedCases(({ protocol }) => protocol === 'openai-responses')

describe('recorded Responses answers, whole, streamed and at random cuts', () => {
  for (const recorded of cases) {
    const refused = REFUSED[recorded.name]
    test(refused === undefined ? recorded.name : `${recorded.name} (refused: ${refused.reason})`, async () => {
      for (const opts of recorded.streaming ? STREAM_VARIANTS : [...PLAIN_VARIANTS, { split: 'random', seed: 11 }]) {
        await upstream.slot('recorded', [{ case: recorded.name, opts }])
        const answer = await respond(tollgate.url, key, {
          model: 'test/recorded',
          input: PROMPT,
          max_output_tokens: 20_000,
          stream: recorded.streaming,
        })
        const label = `${recorded.name} ${JSON.stringify(opts)}`
        if (refused === undefined) await check(recorded, answer, label)
        else assert.equal(answer.status, refused.status, label)
      }
    })
  }
})

test('there are 24 recorded cases', async () => {
  assert.equal(cases.length, 24)
})

async function check({ name, expected, status }: RecordedCase, answer: FoldedResponse, label: string): Promise<void> {
  if (status >= 400 || (expected.stream_error ?? null) !== null) {
    const isOperators = /inferred-model-name|insufficient-quota/.test(name)
    assert.equal(answer.status, isOperators ? 502 : (CLIENT_STATUS[status] ?? 502), `${label}: ${answer.raw}`)
    assert.ok(answer.error, label)
    assert.doesNotMatch(answer.raw, /upstream-canary-key/)
    return
  }
  assert.equal(answer.status, 200, `${label}: ${answer.raw}`)
  const [choice] = expected.choices ?? []
  assert.ok(choice)
  assert.equal(answer.text, choice.text ?? '', `${label}: text`)
  assert.equal(answer.reasoning, choice.reasoning ?? '', `${label}: reasoning`)
  assert.equal(answer.refusal, choice.refusal ?? '', `${label}: refusal`)
  assert.deepEqual(
    answer.calls,
    choice.tool_calls.map(({ id, name: called, arguments: text }) => ({ id, name: called, arguments: text })),
    `${label}: calls`,
  )
  assert.equal(answer.response.status, 'completed', label)
  const types = answer.response.output.map(({ type }: { type: string }) => type)
  for (const other of expected.other_items ?? []) assert.ok(types.includes(other), `${label}: ${other}`)
  const { usage } = answer.response
  assert.ok(expected.usage, label)
  assert.equal(usage.input_tokens, expected.usage.prompt_tokens, `${label}: input tokens`)
  assert.equal(usage.output_tokens, expected.usage.completion_tokens, `${label}: output tokens`)
  assert.equal(usage.input_tokens_details.cached_tokens, expected.usage.cached_tokens ?? 0, `${label}: cached tokens`)
  assert.equal(
    usage.output_tokens_details.reasoning_tokens,
    expected.usage.reasoning_tokens ?? 0,
    `${label}: reasoning tokens`,
  )
  // 1 and 1,000 RUB per million are as many µRUB per token, cached and reasoning tokens at their parent's price.
  assert.equal(
    usage.cost,
    (expected.usage.prompt_tokens + 1_000 * expected.usage.completion_tokens) / 1_000_000,
    `${label}: cost`,
  )
  const { body } = await tollgate.get(`/v1/generation?id=${answer.headers['x-generation-id']}`, key)
  assert.equal(body.data.native_finish_reason, choice.finish_reason_native, `${label}: native finish`)
  assert.equal(body.data.finish_reason, choice.finish_reason, `${label}: finish, ${name}`)
}
