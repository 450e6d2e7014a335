import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { request } from 'undici'
import { chat, type FoldedAnswer } from '../harness/chat-fold.ts'
import {
  foldedCohere,
  type FoldedContent,
  type FoldedMessage,
  type Framing,
  generate,
  inputOf,
  say,
} from '../harness/protocol-folds.ts'
import { recordedCases, type RecordedCase } from '../harness/recording.ts'
import { startReplayUpstream } from '../harness/replay.ts'
import { PROMPT } from './recorded-cases.ts'
import { serve } from '../harness/gateway.ts'

/** A parsed answer; a test that reads a field which is not there fails by itself. */
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

/** Adapters by the protocol of the recorded cases. One is passed on to its own clients, the others are translated. */
const ADAPTERS: Readonly<Record<string, string>> = {
  'anthropic-messages': 'anthropic',
  'openai-chat': 'openai',
  'gemini-generate': 'gemini',
  'bedrock-converse': 'bedrock',
  'cohere-v2-chat': 'cohere',
  'ollama-chat': 'ollama',
}
/** What each client asks for, beside the form of its own protocol. */
const MOST_TOKENS = 20_000
const MESSAGES = [{ role: 'user', content: PROMPT }]

/** The chat reasons for each reason of a protocol. */
type Finishes = Readonly<Record<string, readonly (string | null)[]>>

/** Asks as a client of the protocol does; `check` compares one answer with what the same recorded answer says on chat. */
interface ClientProtocol {
  ask(adapter: string, stream: boolean): readonly (() => Promise<Json>)[]
  check(wanted: FoldedAnswer, got: Json, adapter: string): void
}

const { key, tollgate, upstream } = await serve(
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

const PROTOCOLS: Readonly<Record<string, ClientProtocol>> = {
  Messages: {
    ask: (adapter, stream) => [() => say(tollgate.url, key, bodyOf(adapter, stream))],
    check: checkMessage,
  },
  "Gemini's protocol": {
    ask: (adapter, stream) =>
      (stream ? (['sse', 'array'] as const) : (['whole'] as const)).map((framing) => () => askGemini(adapter, framing)),
    check: checkContent,
  },
  "Cohere's protocol": { ask: (adapter, stream) => [() => askCohere(adapter, stream)], check: checkCohere },
}

const cases = recordedCases(({ name, protocol }) => name.split('/')[1] === 'chat' && protocol in ADAPTERS)
/** What chat says of each case: asked for once. */
const onChat = new Map<string, Promise<FoldedAnswer>>()

for (const [protocol, adapter] of Object.entries(ADAPTERS))
  for (const [client, { ask, check }] of Object.entries(PROTOCOLS))
    describe(`recorded answers of ${protocol} say in ${client} what they say on chat`, () => {
      for (const recorded of cases.filter((one) => one.protocol === protocol))
        test(recorded.name, async () => {
          const wanted = await saidOnChat(recorded, adapter)
          for (const send of ask(adapter, recorded.streaming)) {
            await slot(recorded, adapter)
            const got = await send()
            assert.equal(got.status, wanted.status, got.raw)
            assert.doesNotMatch(got.raw, /upstream-canary-key/)
            check(wanted, got, adapter)
          }
        })
    })

test('there are cases of each protocol', async () => {
  assert.deepEqual([...new Set(cases.map(({ protocol }) => protocol))].toSorted(), Object.keys(ADAPTERS).toSorted())
})

function slot({ name }: RecordedCase, adapter: string): Promise<void> {
  return upstream.slot(adapter, [{ case: name, opts: { split: 'bytes:97' } }])
}

function bodyOf(adapter: string, stream: boolean): Record<string, unknown> {
  return { model: `test/${adapter}`, max_tokens: MOST_TOKENS, stream, messages: MESSAGES }
}

function saidOnChat(recorded: RecordedCase, adapter: string): Promise<FoldedAnswer> {
  const { name, streaming } = recorded
  const asked = async (): Promise<FoldedAnswer> => {
    await slot(recorded, adapter)
    const options = streaming ? { stream_options: { include_usage: true } } : {}
    return chat(tollgate.url, key, { ...bodyOf(adapter, streaming), ...options })
  }
  const known = onChat.get(name) ?? asked()
  onChat.set(name, known)
  return known
}

/** The words and the usage that chat has of a whole answer. */
function choiceOf({ choices, usage }: FoldedAnswer): {
  choice: NonNullable<ReturnType<typeof choices.get>>
  usage: Json
} {
  const choice = choices.get(0)
  assert.ok(choice !== undefined && usage !== null)
  return { choice, usage }
}

function checkFinish(finishes: Finishes, reason: string, finish: string | null): void {
  assert.ok(finishes[reason]?.includes(finish), `${reason} of ${finish}`)
}

const MESSAGE_FINISHES: Finishes = {
  end_turn: ['stop', 'error', null],
  stop_sequence: ['stop'],
  pause_turn: ['stop'],
  tool_use: ['tool_calls'],
  max_tokens: ['length'],
  model_context_window_exceeded: ['length'],
  refusal: ['content_filter'],
}

function checkMessage(wanted: FoldedAnswer, got: FoldedMessage, adapter: string): void {
  // A provider of the protocol may leave open a call that it has cut.
  if (adapter !== 'anthropic') assert.equal(got.unclosed, 0)
  if (wanted.error !== null) {
    const isContext = wanted.error.metadata['error_type'] === 'input_tokens_exceeded'
    if (isContext) assert.match(got.error?.['message'] ?? '', /prompt is too long|exceed context limit/)
    else assert.equal(got.error?.['message'], wanted.error.message)
    return
  }
  const { choice, usage } = choiceOf(wanted)
  assert.equal(got.text, choice.text + choice.refusal)
  assert.equal(got.thinking, choice.reasoning)
  assert.deepEqual(
    got.calls,
    choice.toolCalls.map(({ name, arguments: text }) => ({ name, input: inputOf(text) })),
  )
  const { stop_reason: reason, usage: told } = got.message
  checkFinish(MESSAGE_FINISHES, reason, choice.finish)
  assert.equal(told.input_tokens + told.cache_read_input_tokens + told.cache_creation_input_tokens, usage.prompt_tokens)
  assert.equal(told.output_tokens, usage.completion_tokens)
  assert.equal(told.cost, usage.cost)
}

/** A reason that only Gemini has is an error on chat. */
const CONTENT_FINISHES: Finishes = {
  STOP: ['stop', 'tool_calls', null],
  MAX_TOKENS: ['length'],
  SAFETY: ['content_filter'],
  OTHER: ['error', null],
}

function askGemini(adapter: string, framing: Framing): Promise<FoldedContent> {
  return generate(tollgate.url, key, `test/${adapter}`, framing, {
    contents: [{ role: 'user', parts: [{ text: PROMPT }] }],
    generationConfig: { maxOutputTokens: MOST_TOKENS, thinkingConfig: { includeThoughts: true } },
  })
}

function checkContent(wanted: FoldedAnswer, got: FoldedContent, adapter: string): void {
  if (wanted.error !== null) {
    assert.ok(got.error !== null, got.raw)
    assert.equal(got.error.message, wanted.error.message)
    assert.equal(got.error.code, wanted.error.code)
    assert.match(got.error.status, /^[A-Z_]+$/)
    return
  }
  const { choice, usage } = choiceOf(wanted)
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
  if (calls.length < choice.toolCalls.length) assert.match(finish, /MALFORMED_FUNCTION_CALL|MAX_TOKENS/)
  else if (finish === '') assert.match(got.raw, /"blockReason/)
  else if (CONTENT_FINISHES[finish] === undefined) assert.ok(adapter === 'gemini' && choice.native === finish)
  else checkFinish(CONTENT_FINISHES, finish, choice.finish)
  assert.equal(got.usage.promptTokenCount, usage.prompt_tokens)
  assert.equal(got.usage.candidatesTokenCount + (got.usage.thoughtsTokenCount ?? 0), usage.completion_tokens)
  assert.equal(got.usage.totalTokenCount, usage.total_tokens)
  assert.equal(got.usage.cost, usage.cost)
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

const COHERE_FINISHES: Finishes = {
  COMPLETE: ['stop', null],
  TOOL_CALL: ['tool_calls'],
  MAX_TOKENS: ['length'],
  ERROR: ['error', 'content_filter'],
}

async function askCohere(adapter: string, stream: boolean): Promise<{ status: number; raw: string; body: Json }> {
  const answer = await request(`${tollgate.url}/v2/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(bodyOf(adapter, stream)),
  })
  const raw = await answer.body.text()
  const status = answer.statusCode
  return { status, raw, body: stream && status === 200 ? foldedCohere(raw) : JSON.parse(raw) }
}

function checkCohere(wanted: FoldedAnswer, { status, raw, body }: Awaited<ReturnType<typeof askCohere>>): void {
  if (status !== 200) return assert.deepEqual(body, { message: wanted.error?.message })
  if (wanted.error !== null) return assert.deepEqual([body.finish_reason, body.error], ['ERROR', wanted.error.message])
  const { choice, usage } = choiceOf(wanted)
  const { content = [], tool_calls: calls = [] } = body.message
  const joined = (type: string): string => content.map((item: Json) => item[type] ?? '').join('')
  assert.equal(joined('text'), choice.text + choice.refusal)
  assert.equal(joined('thinking'), choice.reasoning)
  assert.deepEqual(
    calls.map(({ id, function: { name, arguments: text } }: Json) => ({ id: known(id), name, text })),
    choice.toolCalls.map(({ id, name, arguments: text }) => ({ id: known(id), name, text })),
    raw,
  )
  checkFinish(COHERE_FINISHES, body.finish_reason, choice.finish)
  assert.equal(body.usage.tokens.input_tokens, usage.prompt_tokens)
  assert.equal(body.usage.tokens.output_tokens, usage.completion_tokens)
  assert.equal(body.usage.cost, usage.cost)
}

/** An id made by us, because the provider made none, names its generation. */
function known(id: string): string {
  return id.replace(/^call_[0-9A-Za-z]{20}(?=_\d+_\d+$)/, 'call')
}
