import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chat, type FoldedAnswer } from '../harness/chat-fold.ts'
import { recordedCases, type ExpectedChoice, type RecordedCase } from '../harness/recording.ts'
import { type ReplayOptions, startReplayUpstream } from '../harness/replay.ts'
import { serve } from '../harness/gateway.ts'

/**
 * Long enough that the recorded usage (up to 14,640 input tokens) is plausible. Each slice of 1,024 characters has the
 * same number of tokens, so that counting by sample, as on a busy machine, gives the whole count.
 */
export const PROMPT = 'one two '.repeat(128 * 50)

export const PLAIN_VARIANTS = [{}, { split: 'bytes:7' }, { gzip: 1 }, { chunked: 1 }] as const
/** Cuts that work for any framing. */
const SPLIT_VARIANTS = [
  {},
  { split: 'whole' },
  { split: 'line' },
  { split: 'bytes:1' },
  { split: 'random', seed: 1 },
  { split: 'random', seed: 2, max: 9 },
  { split: 'random', seed: 3, max: 300 },
  { gzip: 1 },
] as const
/** Other spellings of the same server-sent events. */
const SSE_VARIANTS = [
  { crlf: 1 },
  { cr: 1 },
  { nospace: 1 },
  { comments: 1 },
  { multiline: 1 },
  { bom: 1 },
  { tail: 'none' },
  { crlf: 1, split: 'random', seed: 4, max: 5 },
] as const

export const STREAM_VARIANTS = [...SPLIT_VARIANTS, ...SSE_VARIANTS] as const

export interface ProtocolUnderTest {
  /** `protocol` of the recorded cases, and the catalogue's adapter for it. */
  readonly protocol: string
  readonly adapter: string
  readonly framing: 'sse' | 'other'
  /** The kind of the cases, and of the endpoint; without it chat. */
  readonly kind?: 'chat' | 'completions'
  /** More keys of the provider's catalogue row, in YAML flow form. */
  readonly providerFields?: string
  /** Cases that cannot pass, each with the reason: they must be answered with an error. */
  readonly excused?: Readonly<Record<string, string>>
  /** Only cases whose name begins with it. */
  readonly prefix?: string
  /**
   * Values that differ from a recorded field because a library in between changes it, each with the reason; they are
   * asserted like the others.
   */
  readonly deviations?: Readonly<Record<string, Deviation>>
}

export interface Deviation {
  readonly reason: string
  /** Fields of every choice. */
  readonly choice?: Partial<ExpectedChoice>
  readonly usage?: RecordedCase['expected']['usage']
}

function deviating(recorded: RecordedCase, { choice = {}, usage }: Deviation): RecordedCase {
  const { expected } = recorded
  const choices = expected.choices?.map((recordedChoice) => ({ ...recordedChoice, ...choice })) ?? []
  return { ...recorded, expected: { ...expected, choices, ...(usage === undefined ? {} : { usage }) } }
}

/**
 * Registers a test for every recorded chat case of a protocol: whole, in pieces and in other spellings, through a
 * running server, with exact charges.
 */
export async function testRecordedChatCases({
  protocol,
  adapter,
  framing,
  kind = 'chat',
  providerFields = '',
  excused = {},
  prefix = '',
  deviations = {},
}: ProtocolUnderTest): Promise<void> {
  const streamVariants = framing === 'sse' ? STREAM_VARIANTS : SPLIT_VARIANTS

  const world = await serve(
    startReplayUpstream,
    ({ url }) => `
markup: 1
rate_limit: { requests: 100000, window: 60 }
providers:
  recorded: { name: Recorded, adapter: ${adapter}, base_url: ${url}/slot/recorded, api_key: upstream-canary-key${providerFields} }
models:
  - id: test/recorded
    type: chat
    context_length: 1000000
    input_modalities: [text, image, audio]
    endpoints: [{ provider: recorded, model: upstream-model, price: { currency: RUB, prompt: 1, completion: 1000 }, native_completions: ${kind === 'completions'} }]
`,
    1_000_000,
  )

  const ask = async (recorded: RecordedCase, opts: ReplayOptions): Promise<FoldedAnswer> => {
    await world.upstream.slot('recorded', [{ case: recorded.name, opts }])
    const stream = recorded.streaming
    const body = {
      model: 'test/recorded',
      max_tokens: 20_000,
      stream,
      ...(stream ? { stream_options: { include_usage: true } } : {}),
    }
    if (kind === 'completions')
      return chat(world.tollgate.url, world.key, { ...body, prompt: PROMPT }, {}, '/v1/completions')
    return chat(world.tollgate.url, world.key, { ...body, messages: [{ role: 'user', content: PROMPT }] })
  }

  const cases = recordedCases(
    (recorded) =>
      recorded.protocol === protocol && recorded.name.startsWith(prefix) && recorded.name.split('/')[1] === kind,
  )
  const register = (recorded: RecordedCase, variants: readonly ReplayOptions[]): void => {
    const reason = excused[recorded.name]
    const deviation = deviations[recorded.name]
    const wanted = deviation === undefined ? recorded : deviating(recorded, deviation)
    const note = [
      ...(reason === undefined ? [] : [`excused: ${reason}`]),
      ...(deviation === undefined ? [] : [`deviates: ${deviation.reason}`]),
    ].join('; ')
    test(note === '' ? recorded.name : `${recorded.name} (${note})`, async () => {
      for (const opts of variants) {
        const answer = await ask(recorded, opts)
        if (reason === undefined) check(wanted, answer, `${recorded.name} ${JSON.stringify(opts)}`)
        else assert.ok(answer.error, `${recorded.name} ${JSON.stringify(opts)}`)
      }
    })
  }

  describe(`recorded plain ${kind} answers of ${protocol}`, () => {
    for (const recorded of cases) if (!recorded.streaming) register(recorded, PLAIN_VARIANTS)
  })

  describe(`recorded ${kind} streams of ${protocol}`, () => {
    for (const recorded of cases) if (recorded.streaming) register(recorded, streamVariants)
  })

  test('the audit is clean after all of them', async () => {
    const audit = await world.tollgate.admin('GET', '/admin/v1/audit')
    assert.equal(audit.body.violations, 0, audit.text)
  })
}

/**
 * The client's statuses for an upstream's error status (wire.md 7.4); where the operator's key or account is to blame
 * it is a 502.
 */
function clientStatuses(status: number): readonly number[] {
  if ([400, 413, 422].includes(status)) return [400, 502]
  if ([429, 503, 529].includes(status)) return [503, 502]
  return status === 408 ? [504] : [502]
}

/** Whether the provider sends arguments as an object, of which the recorded text is one of many spellings. */
function sendsObjects({ protocol, streaming }: RecordedCase): boolean {
  return (protocol === 'anthropic-messages' && !streaming) || protocol === 'gemini-generate'
}

function check(recorded: RecordedCase, answer: FoldedAnswer, label: string): void {
  const { expected, status } = recorded
  if (status >= 400) {
    assert.ok(answer.status >= 400, label)
    assert.ok(answer.error, label)
    assert.doesNotMatch(JSON.stringify(answer.error), /upstream-canary-key/)
    assert.ok(clientStatuses(status).includes(answer.status), `${label}: ${answer.status}`)
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
    const callsOf = (calls: readonly { name: string; arguments: string }[]): unknown =>
      calls.map(({ name, arguments: text }) => [name, sendsObjects(recorded) ? JSON.parse(text) : text])
    assert.deepEqual(callsOf(got.toolCalls), callsOf(choice.tool_calls ?? []), `${label}: tool calls`)
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
