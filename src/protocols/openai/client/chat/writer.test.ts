import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../../base/errors.ts'
import type { ChatAnswer, StreamEnd, UsageReport } from '../../../../kinds/chat/answer.ts'
import { renderChatAnswer, streamErrorTail, streamTail, usageBody } from './writer.ts'
import { finishReasonOf } from '../../../../kinds/answer/end.ts'

const identity = { id: 'gen-1-x', created: 1763651164, model: 'openai/gpt-4o-mini', provider: 'OpenAI' }
const report: UsageReport = {
  usage: { input: 24, output: 9 },
  inputTokens: 24,
  outputTokens: 9,
  cachedTokens: 4,
  cacheWriteTokens: 1,
  reasoningTokens: 2,
  implausible: false,
}
const USAGE =
  '{"prompt_tokens":24,"completion_tokens":9,"total_tokens":33,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":1},"completion_tokens_details":{"reasoning_tokens":2},"cost":0.0009,"total_cost":0.0009,"currency":"RUB"}'
const HEAD =
  '{"id":"gen-1-x","object":"chat.completion.chunk","created":1763651164,"model":"openai/gpt-4o-mini","provider":"OpenAI","choices":'
const usage = usageBody(report, 900n)

function end(fields: Partial<StreamEnd> = {}): StreamEnd {
  return {
    finishes: [{ index: 0, finish: 'stop', native: 'end_turn' }],
    usage: report,
    upstreamId: null,
    serviceTier: null,
    hasContent: true,
    isReasoned: true,
    ...fields,
  }
}

function answer(message: Record<string, unknown>, fields: Partial<ChatAnswer> = {}): ChatAnswer {
  const choices = [{ index: 0, finish: 'stop' as const, native: 'stop', message, logprobs: undefined }]
  return {
    choices,
    usage: report,
    upstreamId: null,
    serviceTier: null,
    systemFingerprint: null,
    hasContent: true,
    ...fields,
  }
}

test('a complete answer has exactly the keys of wire.md 3.1, and cost equals total_cost', () => {
  const body = renderChatAnswer({
    identity,
    answer: answer({ role: 'assistant', content: 'Hello there!', refusal: null, tool_calls: [], reasoning: '' }),
    usage,
  })
  assert.equal(
    JSON.stringify(body),
    '{"id":"gen-1-x","object":"chat.completion","created":1763651164,"model":"openai/gpt-4o-mini","provider":"OpenAI","system_fingerprint":null,"choices":[{"index":0,"finish_reason":"stop","native_finish_reason":"stop","logprobs":null,"message":{"role":"assistant","content":"Hello there!","refusal":null}}],"usage":' +
      `${USAGE}}`,
  )
})

test('optional message fields appear when they hold something', () => {
  const tool_calls = [{ id: 'a' }]
  const body = renderChatAnswer({
    identity,
    answer: answer({ content: null, tool_calls, reasoning: 'r', junk: 1 }),
    usage,
  })
  assert.match(
    JSON.stringify(body),
    /"message":\{"role":"assistant","content":null,"refusal":null,"reasoning":"r","tool_calls":\[\{"id":"a"\}\]\}/,
  )
})

test('one micro-ruble prints without an exponent', () => {
  assert.match(JSON.stringify(usageBody(report, 1n)), /"cost":0\.000001,"total_cost":0\.000001/)
})

test('without include_usage the usage rides on the finish chunk', () => {
  const text = streamTail({ identity, end: end(), usage, includeUsage: false }).toString()
  assert.equal(
    text,
    `data: ${HEAD}[{"index":0,"delta":{},"finish_reason":"stop","native_finish_reason":"end_turn","logprobs":null}],"usage":${USAGE}}\n\ndata: [DONE]\n\n`,
  )
})

test('with include_usage a chunk without choices follows the finish chunk', () => {
  const text = streamTail({ identity, end: end(), usage, includeUsage: true }).toString()
  assert.equal(
    text,
    `data: ${HEAD}[{"index":0,"delta":{},"finish_reason":"stop","native_finish_reason":"end_turn","logprobs":null}]}\n\ndata: ${HEAD}[],"usage":${USAGE}}\n\ndata: [DONE]\n\n`,
  )
})

test('with several choices each finishes, and only the last finish carries the usage', () => {
  const finishes = [
    { index: 0, finish: 'stop', native: 'stop' },
    { index: 1, finish: 'stop', native: null },
  ] as const
  const events = streamTail({ identity, end: end({ finishes }), usage, includeUsage: false })
    .toString()
    .split('\n\n')
  assert.deepEqual(
    events.map((event) => event.includes('"usage"')),
    [false, true, false, false],
  )
  assert.match(events[1] ?? '', /"index":1,"delta":\{\},"finish_reason":"stop","native_finish_reason":null/)
})

test('a stream that fails ends with exactly the three events of D-3.4', () => {
  const error = new ApiError('provider_error', 'Provider disconnected mid-stream')
  const bare = '{"code":502,"message":"Provider disconnected mid-stream","metadata":{"error_type":"provider_error"}}'
  const choices =
    '[{"index":0,"delta":{"content":""},"finish_reason":"error","native_finish_reason":"error","logprobs":null}]'
  assert.equal(
    streamErrorTail({ identity, error, usage }).toString(),
    `data: ${HEAD}${choices},"error":${bare},"usage":${USAGE}}\n\ndata: {"error":${bare}}\n\ndata: [DONE]\n\n`,
  )
  assert.equal(streamErrorTail({ identity, error, usage: null }).toString().includes('usage'), false)
})

test('finish reasons follow the map of D-3.2', () => {
  const rows: Readonly<Record<string, readonly string[]>> = {
    stop: [
      'stop',
      'end_turn',
      'stop_sequence',
      'STOP_SEQUENCE',
      'pause_turn',
      'STOP',
      'COMPLETE',
      'eos',
      'whatever',
      'constructor',
      '',
    ],
    tool_calls: ['tool_calls', 'tool_use', 'TOOL_CALL', 'function_call'],
    length: ['length', 'max_tokens', 'MAX_TOKENS', 'model_length', 'model_context_window_exceeded'],
    content_filter: [
      'content_filter',
      'refusal',
      'SAFETY',
      'RECITATION',
      'BLOCKLIST',
      'PROHIBITED_CONTENT',
      'SPII',
      'IMAGE_SAFETY',
    ],
    error: ['error', 'MALFORMED_FUNCTION_CALL', 'insufficient_system_resource', 'OTHER'],
  }
  for (const [expected, natives] of Object.entries(rows)) {
    for (const native of natives) {
      assert.equal(finishReasonOf(native, false), expected, native)
      const isCut = expected === 'length' || (expected === 'error' && native !== 'OTHER')
      assert.equal(finishReasonOf(native, true), isCut ? expected : 'tool_calls', native)
    }
  }
  assert.equal(finishReasonOf(null, false), null)
  assert.equal(finishReasonOf(null, true), 'tool_calls')
})
