import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chat, type FoldedAnswer } from '../harness/chat-fold.ts'
import { generate, type FoldedContent, type Framing } from '../harness/gemini-fold.ts'
import { recordedCases, type RecordedCase } from '../harness/recording.ts'
import { startReplayUpstream } from '../harness/replay.ts'
import { PROMPT } from '../harness/long-prompt.ts'
import { serve } from '../harness/served.ts'

/** Adapters by the protocol of the recorded cases: Gemini's is passed on, the others are translated. */
const ADAPTERS: Readonly<Record<string, string>> = {
  'gemini-generate': 'gemini',
  'anthropic-messages': 'anthropic',
  'openai-chat': 'openai',
  'bedrock-converse': 'bedrock',
  'cohere-v2-chat': 'cohere',
  'ollama-chat': 'ollama',
}
/** The chat reason for each reason of the protocol; a reason that only Gemini has is an error. */
const FINISHES: Readonly<Record<string, readonly (string | null)[]>> = {
  STOP: ['stop', 'tool_calls', null],
  MAX_TOKENS: ['length'],
  SAFETY: ['content_filter'],
  OTHER: ['error', null],
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
  describe(`recorded answers of ${protocol} say in Gemini's protocol what they say on chat`, () => {
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
  const slot = (): Promise<void> => world.upstream.slot(adapter, [{ case: recorded.name, opts: { split: 'bytes:97' } }])
  await slot()
  const wanted = await chat(world.tollgate.url, world.key, {
    model: `test/${adapter}`,
    max_tokens: 20_000,
    stream: recorded.streaming,
    messages: [{ role: 'user', content: PROMPT }],
    ...(recorded.streaming ? { stream_options: { include_usage: true } } : {}),
  })
  const framings: readonly Framing[] = recorded.streaming ? ['sse', 'array'] : ['whole']
  for (const framing of framings) {
    await slot()
    const got = await generate(world.tollgate.url, world.key, `test/${adapter}`, framing, {
      contents: [{ role: 'user', parts: [{ text: PROMPT }] }],
      generationConfig: { maxOutputTokens: 20_000, thinkingConfig: { includeThoughts: true } },
    })
    if (wanted.error === null) checkAnswer(wanted, got, adapter)
    else checkError(wanted, got)
  }
}

function checkError({ status, error }: FoldedAnswer, got: FoldedContent): void {
  assert.equal(got.status, status, got.raw)
  assert.ok(got.error !== null && error !== null, got.raw)
  assert.doesNotMatch(got.raw, /upstream-canary-key/)
  assert.equal(got.error.message, error.message)
  assert.equal(got.error.code, error.code)
  assert.match(got.error.status, /^[A-Z_]+$/)
}

function checkAnswer({ choices, usage }: FoldedAnswer, got: FoldedContent, adapter: string): void {
  const choice = choices.get(0)
  assert.ok(choice !== undefined && usage !== null)
  assert.equal(got.status, 200, got.raw)
  assert.equal(got.model, `test/${adapter}`)
  // Code that the provider has run is text on chat and a separate part here; only chat has a field for the transcript
  // of speech.
  if (!/executableCode|"audio\//.test(got.raw)) assert.equal(got.text, choice.text + choice.refusal)
  assert.equal(got.thoughts, choice.reasoning)
  const calls = choice.toolCalls.flatMap(({ name, arguments: text }) => {
    const args = argsOf(text)
    return args === null ? [] : [{ name, args }]
  })
  // Arguments in pieces come only to a client that asked for them, and are passed on unchanged.
  if (!got.raw.includes('willContinue'))
    assert.deepEqual(
      got.calls.map(({ name, args }) => ({ name, args })),
      calls,
    )
  const finish = got.finishes.at(-1) ?? ''
  if (adapter !== 'gemini') assert.equal(got.finishes.length, 1)
  const expected = FINISHES[finish]
  if (calls.length < choice.toolCalls.length) assert.match(finish, /MALFORMED_FUNCTION_CALL|MAX_TOKENS/)
  else if (finish === '') assert.match(got.raw, /"blockReason/)
  else if (expected === undefined) assert.ok(adapter === 'gemini' && choice.native === finish)
  else assert.ok(expected.includes(choice.finish), `${finish} of ${choice.finish}`)
  assert.equal(got.usage.promptTokenCount, usage['prompt_tokens'])
  assert.equal(got.usage.candidatesTokenCount + (got.usage.thoughtsTokenCount ?? 0), usage['completion_tokens'])
  assert.equal(got.usage.totalTokenCount, usage['total_tokens'])
  assert.equal(got.usage.cost, usage['cost'])
}

/** null = a call that must not be run. */
function argsOf(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    const args: unknown = JSON.parse(text)
    if (args === null) return {}
    return typeof args === 'object' && args !== null && !Array.isArray(args) ? args : null
  } catch {
    return null
  }
}
