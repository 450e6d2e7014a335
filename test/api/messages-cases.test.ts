import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chat, type FoldedAnswer } from '../harness/chat-fold.ts'
import { inputOf, say, type FoldedMessage } from '../harness/message-fold.ts'
import { recordedCases, type RecordedCase } from '../harness/recording.ts'
import { startReplayUpstream } from '../harness/replay.ts'
import { PROMPT } from '../harness/long-prompt.ts'
import { serve } from '../harness/served.ts'

/** Adapters by the protocol of the recorded cases: Anthropic's is passed on, the others are translated. */
const ADAPTERS: Readonly<Record<string, string>> = {
  'anthropic-messages': 'anthropic',
  'openai-chat': 'openai',
  'gemini-generate': 'gemini',
  'bedrock-converse': 'bedrock',
  'cohere-v2-chat': 'cohere',
  'ollama-chat': 'ollama',
}
/** The chat reason for each reason of the protocol. */
const FINISHES: Readonly<Record<string, readonly (string | null)[]>> = {
  end_turn: ['stop', 'error', null],
  stop_sequence: ['stop'],
  pause_turn: ['stop'],
  tool_use: ['tool_calls'],
  max_tokens: ['length'],
  model_context_window_exceeded: ['length'],
  refusal: ['content_filter'],
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
  describe(`recorded answers of ${protocol} say on Messages what they say on chat`, () => {
    for (const recorded of cases.filter((one) => one.protocol === protocol))
      test(recorded.name, () => checkCase(recorded, adapter))
  })
}

test('there are cases of each protocol, and the audit is clean after all of them', async () => {
  for (const protocol of Object.keys(ADAPTERS))
    assert.ok(
      cases.some((one) => one.protocol === protocol),
      protocol,
    )
  const audit = await world.tollgate.admin('GET', '/admin/v1/audit')
  assert.equal(audit.body.violations, 0, audit.text)
})

async function checkCase(recorded: RecordedCase, adapter: string): Promise<void> {
  const body = {
    model: `test/${adapter}`,
    max_tokens: 20_000,
    stream: recorded.streaming,
    messages: [{ role: 'user', content: PROMPT }],
  }
  const slot = (): Promise<void> => world.upstream.slot(adapter, [{ case: recorded.name, opts: { split: 'bytes:97' } }])
  await slot()
  const wanted = await chat(world.tollgate.url, world.key, {
    ...body,
    ...(recorded.streaming ? { stream_options: { include_usage: true } } : {}),
  })
  await slot()
  const got = await say(world.tollgate.url, world.key, body)
  if (wanted.error === null) checkAnswer(wanted, got)
  else checkError(wanted, got)
  // A provider of the protocol may leave open a call that it has cut.
  if (adapter !== 'anthropic') assert.equal(got.unclosed, 0)
}

function checkError({ status, error }: FoldedAnswer, got: FoldedMessage): void {
  assert.equal(got.status, status, got.raw)
  assert.ok(got.error !== null && error !== null, got.raw)
  assert.doesNotMatch(got.raw, /upstream-canary-key/)
  const isContext = error.metadata['error_type'] === 'input_tokens_exceeded'
  if (isContext) assert.match(got.error['message'] ?? '', /prompt is too long|exceed context limit/)
  else assert.equal(got.error['message'], error.message)
}

function checkAnswer({ choices, usage }: FoldedAnswer, got: FoldedMessage): void {
  const choice = choices.get(0)
  assert.ok(choice !== undefined && usage !== null)
  assert.equal(got.status, 200, got.raw)
  assert.equal(got.text, choice.text + choice.refusal)
  assert.equal(got.thinking, choice.reasoning)
  assert.deepEqual(
    got.calls,
    choice.toolCalls.map(({ name, arguments: text }) => ({ name, input: inputOf(text) })),
  )
  const { stop_reason: reason, usage: told } = got.message
  assert.ok(FINISHES[reason]?.includes(choice.finish), `${reason} of ${choice.finish}`)
  assert.equal(
    told.input_tokens + told.cache_read_input_tokens + told.cache_creation_input_tokens,
    usage['prompt_tokens'],
  )
  assert.equal(told.output_tokens, usage['completion_tokens'])
  assert.equal(told.cost, usage['cost'])
}
