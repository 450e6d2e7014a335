import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { request } from 'undici'
import { chat, type FoldedAnswer } from '../harness/chat-fold.ts'
import { recordedCases, type RecordedCase } from '../harness/recording.ts'
import { folded } from '../harness/cohere-fold.ts'
import { startReplayUpstream } from '../harness/replay.ts'
import { PROMPT } from '../harness/long-prompt.ts'
import { serve } from '../harness/served.ts'

/** A parsed answer; a test that reads a field which is not there fails by itself. */
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

/** Adapters by the protocol of the recorded cases. */
const ADAPTERS: Readonly<Record<string, string>> = {
  'cohere-v2-chat': 'cohere',
  'anthropic-messages': 'anthropic',
  'openai-chat': 'openai',
  'gemini-generate': 'gemini',
  'bedrock-converse': 'bedrock',
  'ollama-chat': 'ollama',
}
const FINISHES: Readonly<Record<string, readonly (string | null)[]>> = {
  COMPLETE: ['stop', null],
  TOOL_CALL: ['tool_calls'],
  MAX_TOKENS: ['length'],
  ERROR: ['error', 'content_filter'],
}

const world = serve(
  startReplayUpstream,
  ({ url }) => `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
${Object.values(ADAPTERS)
  .map(
    (name) =>
      `  ${name}: { name: ${name}, adapter: ${name}, base_url: ${url}/slot/${name}, api_key: upstream-canary-key }`,
  )
  .join('\n')}
models:
${Object.values(ADAPTERS)
  .map(
    (name) => `  - id: test/${name}
    type: chat
    context_length: 1000000
    endpoints: [{ provider: ${name}, model: upstream-model, price: { currency: RUB, prompt: 1, completion: 1000 } }]`,
  )
  .join('\n')}
`,
  1_000_000,
)

const cases = recordedCases().filter(({ name, protocol }) => name.split('/')[1] === 'chat' && protocol in ADAPTERS)

for (const [protocol, adapter] of Object.entries(ADAPTERS)) {
  describe(`recorded answers of ${protocol} say in Cohere's protocol what they say on chat`, () => {
    for (const recorded of cases.filter((one) => one.protocol === protocol))
      test(recorded.name, () => checkCase(recorded, adapter))
  })
}

test('the audit is clean after all of them', async () => {
  const audit = await world.tollgate.admin('GET', '/admin/v1/audit')
  assert.equal(audit.body.violations, 0, audit.text)
})

async function checkCase(recorded: RecordedCase, adapter: string): Promise<void> {
  const stream = recorded.streaming
  const body = {
    model: `test/${adapter}`,
    max_tokens: 20_000,
    stream,
    messages: [{ role: 'user', content: PROMPT }],
  }
  const slot = (): Promise<void> => world.upstream.slot(adapter, [{ case: recorded.name, opts: { split: 'bytes:97' } }])
  await slot()
  const wanted = await chat(world.tollgate.url, world.key, {
    ...body,
    ...(stream ? { stream_options: { include_usage: true } } : {}),
  })
  await slot()
  const answer = await request(`${world.tollgate.url}/v2/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${world.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const raw = await answer.body.text()
  assert.equal(answer.statusCode, wanted.status, raw)
  assert.doesNotMatch(raw, /upstream-canary-key/)
  if (answer.statusCode !== 200) return assert.deepEqual(JSON.parse(raw), { message: wanted.error?.message })
  const got = stream ? folded(raw) : JSON.parse(raw)
  if (wanted.error === null) checkAnswer(wanted, got, raw)
  else assert.deepEqual([got.finish_reason, got.error], ['ERROR', wanted.error.message])
}

/** An id made by us, because the provider made none, names its generation. */
function known(id: string): string {
  return id.replace(/^call_[0-9A-Za-z]{20}(?=_\d+_\d+$)/, 'call')
}

function checkAnswer({ choices, usage }: FoldedAnswer, got: Json, raw: string): void {
  const choice = choices.get(0)
  assert.ok(choice !== undefined && usage !== null)
  const { content = [], tool_calls: calls = [] } = got.message
  const joined = (type: string): string => content.map((item: Json) => item[type] ?? '').join('')
  assert.equal(joined('text'), choice.text + choice.refusal)
  assert.equal(joined('thinking'), choice.reasoning)
  assert.deepEqual(
    calls.map(({ id, function: { name, arguments: text } }: Json) => ({ id: known(id), name, text })),
    choice.toolCalls.map(({ id, name, arguments: text }) => ({ id: known(id), name, text })),
    raw,
  )
  assert.ok(FINISHES[got.finish_reason]?.includes(choice.finish), `${got.finish_reason} of ${choice.finish}`)
  assert.equal(got.usage.tokens.input_tokens, usage['prompt_tokens'])
  assert.equal(got.usage.tokens.output_tokens, usage['completion_tokens'])
  assert.equal(got.usage.cost, usage['cost'])
}
