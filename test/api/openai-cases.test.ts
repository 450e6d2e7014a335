import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { chat, type FoldedAnswer } from '../harness/chat-fold.ts'
import { startReplayUpstream, type RecordedCase, type Replay } from '../harness/replay.ts'
import { startTollgate, type Tollgate } from '../harness/server.ts'

/** Long enough that the recorded usage (up to 8,174 input tokens) is plausible for it. */
const PROMPT = 'the quick brown fox jumps over the lazy dog '.repeat(700)
const PLAIN_VARIANTS = [{}, { split: 'bytes:7' }, { gzip: 1 }, { chunked: 1 }] as const
const STREAM_VARIANTS = [
  {}, { split: 'whole' }, { split: 'line' }, { split: 'bytes:1' }, { split: 'random', seed: 1 }, { split: 'random', seed: 2, max: 9 }, { split: 'random', seed: 3, max: 300 },
  { crlf: 1 }, { cr: 1 }, { nospace: 1 }, { comments: 1 }, { multiline: 1 }, { bom: 1 }, { tail: 'none' }, { crlf: 1, split: 'random', seed: 4, max: 5 }, { gzip: 1 },
] as const

let replay: Replay
let tollgate: Tollgate
let key: string

before(async () => {
  replay = await startReplayUpstream()
  tollgate = await startTollgate({
    catalog: `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  recorded: { name: Recorded, adapter: openai, base_url: ${replay.url}/slot/recorded, api_key: upstream-canary-key }
models:
  - id: test/recorded
    type: chat
    context_length: 1000000
    input_modalities: [text, image, audio]
    endpoints: [{ provider: recorded, model: upstream-model, price: { currency: RUB, prompt: 1, completion: 1000 } }]
`,
  })
  key = (await tollgate.createAccount({ balance: 1_000_000 })).key
})

after(async () => {
  await tollgate.stop()
  await replay.close()
})

async function ask(recorded: RecordedCase, opts: Readonly<Record<string, string | number>>): Promise<FoldedAnswer> {
  await replay.slot('recorded', [{ case: recorded.name, opts }])
  const stream = recorded.meta.streaming
  // A tool lets an answer with tool calls be an honest one; n lets one with several choices.
  return chat(tollgate.url, key, {
    model: 'test/recorded',
    messages: [{ role: 'user', content: PROMPT }],
    max_tokens: 20_000,
    stream,
    ...(stream ? { stream_options: { include_usage: true } } : {}),
  })
}

function cases(streaming: boolean): readonly string[] {
  return names.filter((name) => name.streaming === streaming).map(({ name }) => name)
}

const listing = await startReplayUpstream()
const names = listing.cases.filter(({ meta }) => meta.protocol === 'openai-chat').map(({ name, meta }) => ({ name, streaming: meta.streaming }))
await listing.close()

function caseOf(name: string): RecordedCase {
  const found = replay.cases.find((recorded) => recorded.name === name)
  assert.ok(found)
  return found
}

function check(recorded: RecordedCase, answer: FoldedAnswer, label: string): void {
  const { expected, status } = recorded.meta
  if (status >= 400) {
    assert.ok(answer.status >= 400, label)
    assert.ok(answer.error, label)
    assert.doesNotMatch(JSON.stringify(answer.error), /upstream-canary-key/)
    if (status === 429) assert.equal(answer.status, 503, label)
    else if (status === 404) assert.equal(answer.status, 502, label)
    else assert.ok([400, 502].includes(answer.status), `${label}: ${answer.status}`)
    return
  }
  if (expected.stream_error !== undefined && expected.stream_error !== null) {
    assert.ok(answer.error, `${label}: an error inside the 200 reaches the client`)
    return
  }
  assert.equal(answer.status, 200, `${label}: ${JSON.stringify(answer.error)}`)
  assert.equal(answer.done, true, label)
  for (const choice of expected.choices ?? []) {
    const got = answer.choices.get(choice.index)
    assert.ok(got, `${label}: choice ${choice.index}`)
    assert.equal(got.text, choice.text ?? '', `${label}: text`)
    assert.equal(got.reasoning, choice.reasoning ?? '', `${label}: reasoning`)
    assert.equal(got.refusal, choice.refusal ?? '', `${label}: refusal`)
    assert.equal(got.native, choice.finish_reason_native, `${label}: native finish`)
    if (choice.finish_reason !== null) assert.equal(got.finish, choice.finish_reason, `${label}: finish`)
    assert.deepEqual(got.toolCalls.map(({ name, arguments: text }) => [name, text]), choice.tool_calls.map(({ name, arguments: text }) => [name, text]), `${label}: tool calls`)
  }
  if (expected.usage === undefined || expected.usage === null) return
  const { usage } = answer
  assert.ok(usage, `${label}: usage`)
  assert.equal(usage['prompt_tokens'], expected.usage.prompt_tokens, `${label}: prompt tokens`)
  assert.equal(usage['completion_tokens'], expected.usage.completion_tokens, `${label}: completion tokens`)
  // 1 and 1,000 RUB per million are as many µRUB per token, cached and reasoning tokens at their parent's price.
  const micro = expected.usage.prompt_tokens + 1_000 * expected.usage.completion_tokens
  assert.equal(usage['cost'], micro / 1_000_000, `${label}: cost`)
}

describe('recorded plain chat answers of every OpenAI dialect', () => {
  for (const name of cases(false)) {
    test(name, async () => {
      for (const opts of PLAIN_VARIANTS) check(caseOf(name), await ask(caseOf(name), opts), `${name} ${JSON.stringify(opts)}`)
    })
  }
})

describe('recorded chat streams of every OpenAI dialect', () => {
  for (const name of cases(true)) {
    test(name, async () => {
      for (const opts of STREAM_VARIANTS) check(caseOf(name), await ask(caseOf(name), opts), `${name} ${JSON.stringify(opts)}`)
    })
  }
})

test('the audit is clean after all recorded cases, and the log has a row for each', async () => {
  const audit = await tollgate.admin('GET', '/admin/v1/audit')
  assert.equal(audit.body.violations, 0, audit.text)
})
