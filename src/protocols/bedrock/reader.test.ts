import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { upstreamFailure } from '../wire/upstream-error.ts'
import type { AttemptFailure } from '../ports/attempt-failure.ts'
import { bedrockProtocol } from './bedrock.ts'
import { bedrockUsage } from './reader.ts'
import { converseEvent, converseException } from '../../../test/harness/aws.ts'
import { foldAtEveryCut, readsOf } from '../../../test/harness/protocol-read.ts'
import { recordedCases } from '../../../test/harness/recording.ts'
import { withoutSecretsOf } from '../wire/upstream-error.ts'

const PROTOCOL = bedrockProtocol(() => 0)
const ROUNDS = 60
const USAGE = { inputTokens: 5, outputTokens: 7, totalTokens: 12 }

const { callOf, read, foldWhole } = readsOf(PROTOCOL, 'us.anthropic.claude-3-7-sonnet-20250219-v1:0')

function wholeOf(content: readonly unknown[], stopReason = 'end_turn'): unknown {
  return { output: { message: { role: 'assistant', content } }, stopReason, usage: USAGE }
}

function ending(stopReason = 'end_turn'): readonly Buffer[] {
  return [
    converseEvent('messageStop', { stopReason }),
    converseEvent('metadata', { usage: USAGE, metrics: { latencyMs: 1 } }),
  ]
}

function block(contentBlockIndex: number, start: unknown, ...deltas: readonly unknown[]): readonly Buffer[] {
  return [
    ...(start === null ? [] : [converseEvent('contentBlockStart', { contentBlockIndex, start })]),
    ...deltas.map((delta) => converseEvent('contentBlockDelta', { contentBlockIndex, delta })),
    converseEvent('contentBlockStop', { contentBlockIndex }),
  ]
}

function streamOf(...parts: readonly (readonly Buffer[])[]): readonly Buffer[] {
  return [Buffer.concat([converseEvent('messageStart', { role: 'assistant' }), ...parts.flat()])]
}

const streams = recordedCases(({ protocol, framing }) => protocol === 'bedrock-converse' && framing === 'eventstream')

describe('every recorded Converse stream', () => {
  assert.ok(streams.length >= 2, `${streams.length} streams`)
  for (const recorded of streams) {
    test(`${recorded.name} folds to one answer at every random cut`, () => {
      const { failure, done } = foldAtEveryCut(PROTOCOL, recorded.body, ROUNDS)
      assert.deepEqual([failure, done], [null, true])
    })

    test(`${recorded.name} cut short is a failure until its stop has come`, () => {
      const body = recorded.body
      const stopAt = body.indexOf('messageStop')
      for (let length = 0; length < stopAt; length += 7)
        assert.ok(read([body.subarray(0, length)]).failure !== null, `${length} bytes`)
    })
  }
})

test('a stream folds to what the whole answer is', () => {
  const thinking = { text: 'Let me see.', signature: 'c2lnbmF0dXJl' }
  const stream = streamOf(
    block(
      0,
      null,
      { reasoningContent: { text: 'Let me ' } },
      { reasoningContent: { text: 'see.' } },
      { reasoningContent: { signature: 'c2lnbmF0dXJl' } },
    ),
    block(1, null, { reasoningContent: { redactedContent: 'c2VjcmV0' } }),
    block(2, null, { text: 'It is ' }, { text: 'здесь' }),
    block(
      3,
      { toolUse: { toolUseId: 't1', name: 'look' } },
      { toolUse: { input: '{"at"' } },
      { toolUse: { input: ':"home"}' } },
    ),
    block(4, { toolUse: { toolUseId: 't2', name: 'wait' } }),
    ending('tool_use'),
  )
  const whole = wholeOf(
    [
      { reasoningContent: { reasoningText: thinking } },
      { reasoningContent: { redactedContent: 'c2VjcmV0' } },
      { text: 'It is здесь' },
      { toolUse: { toolUseId: 't1', name: 'look', input: { at: 'home' } } },
      { toolUse: { toolUseId: 't2', name: 'wait', input: {} } },
    ],
    'tool_use',
  )
  const { answer, failure } = read(stream)
  assert.equal(failure, null)
  assert.deepEqual(answer, foldWhole(whole))
  const [choice] = answer.choices
  assert.equal(choice?.finish, 'tool_calls')
  assert.deepEqual(choice?.message, {
    role: 'assistant',
    content: 'It is здесь',
    refusal: null,
    reasoning: 'Let me see.',
    reasoning_details: [
      {
        type: 'reasoning.text',
        text: 'Let me see.',
        signature: 'c2lnbmF0dXJl',
        format: 'anthropic-claude-v1',
        index: 0,
      },
      { type: 'reasoning.encrypted', data: 'c2VjcmV0', format: 'anthropic-claude-v1', index: 1 },
    ],
    tool_calls: [
      { id: 't1', type: 'function', function: { name: 'look', arguments: '{"at":"home"}' } },
      { id: 't2', type: 'function', function: { name: 'wait', arguments: '{}' } },
    ],
  })
})

test('excluded reasoning is not shown, and unsigned reasoning is no detail', () => {
  const stream = streamOf(
    block(0, null, { reasoningContent: { text: 'Hm.' } }, { reasoningContent: { signature: 'cw==' } }),
    block(1, null, { text: 'Yes' }),
    ending(),
  )
  assert.deepEqual(read(stream, callOf({ reasoning: { exclude: true } })).answer.choices[0]?.message, {
    role: 'assistant',
    content: 'Yes',
    refusal: null,
  })
  const unsigned = streamOf(
    block(0, null, { reasoningContent: { text: 'Hm.' } }),
    block(1, null, { text: 'Yes' }),
    ending(),
  )
  assert.deepEqual(read(unsigned).answer.choices[0]?.message, {
    role: 'assistant',
    content: 'Yes',
    refusal: null,
    reasoning: 'Hm.',
  })
})

test('the input of the answer tool is the text of the answer, streamed and whole', () => {
  const format = { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' } } } }
  const stream = streamOf(
    block(
      0,
      { toolUse: { toolUseId: 't1', name: 'give_answer' } },
      { toolUse: { input: '{"a":' } },
      { toolUse: { input: '1}' } },
    ),
    ending('tool_use'),
  )
  const { answer } = read(stream, callOf(format))
  assert.deepEqual(
    [
      answer.choices[0]?.message['content'],
      answer.choices[0]?.message['tool_calls'],
      answer.choices[0]?.finish,
      answer.choices[0]?.native,
    ],
    ['{"a":1}', undefined, 'stop', 'tool_use'],
  )
  assert.deepEqual(
    foldWhole(
      wholeOf([{ toolUse: { toolUseId: 't1', name: 'give_answer', input: { a: 1 } } }], 'tool_use'),
      callOf({ ...format, stream: false }),
    ),
    answer,
  )
  const cut = streamOf(
    block(0, { toolUse: { toolUseId: 't1', name: 'give_answer' } }, { toolUse: { input: '{"a":' } }),
    ending('max_tokens'),
  )
  assert.equal(read(cut, callOf(format)).answer.choices[0]?.finish, 'length')
})

test('every reason to stop, by the words of the API', () => {
  const finishes = {
    end_turn: 'stop',
    stop_sequence: 'stop',
    max_tokens: 'length',
    model_context_window_exceeded: 'length',
    guardrail_intervened: 'content_filter',
    content_filtered: 'content_filter',
    malformed_model_output: 'error',
    malformed_tool_use: 'error',
  }
  for (const [native, finish] of Object.entries(finishes)) {
    const [choice] = foldWhole(wholeOf([{ text: 'x' }], native)).choices
    assert.deepEqual([choice?.native, choice?.finish], [native, finish])
  }
})

test('an answer that says nothing is the empty text; cited text is text; unknown blocks and events are passed over', () => {
  assert.equal(foldWhole(wholeOf([])).choices[0]?.message['content'], '')
  assert.equal(
    foldWhole(wholeOf([{ citationsContent: { content: [{ text: 'A ' }, { text: 'B' }], citations: [{}] } }])).choices[0]
      ?.message['content'],
    'A B',
  )
  const stream = streamOf(
    [converseEvent('novelty', { x: 1 })],
    block(0, { toolResult: { toolUseId: 't' } }, { toolResult: [{ json: {} }] }),
    block(1, null, { text: 'B' }, { citation: { title: 't' } }),
    ending(),
  )
  assert.equal(read(stream).answer.choices[0]?.message['content'], 'B')
})

test('a stream is complete at its stop: without its usage too, never without the stop', () => {
  const words = block(0, null, { text: 'x' })
  assert.deepEqual([read(streamOf(words, ending())).done, read(streamOf(words, ending())).failure], [true, null])
  const unmetered = read(streamOf(words, ending().slice(0, 1)))
  assert.deepEqual([unmetered.failure, unmetered.done, unmetered.answer.usage], [null, false, null])
  assert.equal(read(streamOf(words)).failure?.reason, 'cut')
  assert.equal(read([]).failure?.reason, 'garbage')
})

test('exceptions of a stream fail it with the class of their status', () => {
  const classes = {
    throttlingException: [429, null],
    validationException: [400, 'request'],
    modelStreamErrorException: [502, 'model'],
    internalServerException: [500, null],
    serviceUnavailableException: [503, null],
    modelTimeoutException: [408, null],
    accessDeniedException: [403, 'account'],
    brandNewException: [502, null],
  }
  for (const [type, [status, refusal]] of Object.entries(classes)) {
    const { failure, answer } = read(
      streamOf(
        block(0, null, { text: 'said' }),
        [
          converseException(
            type,
            type === 'throttlingException' ? 'Too many tokens, please wait before trying again.' : 'What was wrong.',
          ),
        ],
        ending(),
      ),
    )
    assert.deepEqual([failure?.reason, failure?.status], ['error_event', status], type)
    assert.deepEqual(
      [failure?.refusal, failure?.publicMessage],
      [refusal, status === 400 ? 'What was wrong.' : null],
      type,
    )
    assert.equal(answer.choices[0]?.message['content'], 'said')
  }
})

test('a message outside the protocol is garbage', () => {
  for (const body of [null, [], {}, { output: {} }, { output: { message: { content: 'text' } } }]) {
    const events = PROTOCOL.reader(callOf()).whole(body)
    assert.ok('reason' in events && events.reason === 'garbage', JSON.stringify(body))
  }
  for (const text of ['', '[]', '{}', '{"messageStop":1}', '{"messageStop"']) {
    const events = PROTOCOL.reader(callOf()).message(Buffer.from(text))
    assert.ok('reason' in events && events.reason === 'garbage', text)
  }
})

test('blocks and thinking without end are given up', () => {
  const endless = PROTOCOL.reader(callOf())
  let failed = 0
  for (let index = 0; index < 5_000; index += 1)
    if (
      'reason' in
      endless.message(
        Buffer.from(JSON.stringify({ contentBlockDelta: { contentBlockIndex: index, delta: { text: 'x' } } })),
      )
    )
      failed += 1
  assert.equal(failed, 5_000 - 4_096)
  const thinker = PROTOCOL.reader(callOf())
  const long = Buffer.from(
    JSON.stringify({
      contentBlockDelta: { contentBlockIndex: 0, delta: { reasoningContent: { text: 'x'.repeat(1_048_576) } } },
    }),
  )
  assert.deepEqual(
    Array.from({ length: 5 }, () => 'reason' in thinker.message(long)),
    [false, false, false, false, true],
  )
})

test('usage is disjoint meters that add up to the totals', () => {
  const report = bedrockUsage({
    inputTokens: 3,
    outputTokens: 121,
    cacheReadInputTokens: 1_712,
    cacheWriteInputTokens: 236,
    cacheDetails: [
      { ttl: '5m', inputTokens: 200 },
      { ttl: '1h', inputTokens: 36 },
    ],
  })
  assert.deepEqual(report, {
    usage: { input: 3, output: 121, cache_read: 1_712, cache_write: 200, cache_write_1h: 36 },
    inputTokens: 1_951,
    outputTokens: 121,
    cachedTokens: 1_712,
    cacheWriteTokens: 236,
    reasoningTokens: 0,
    implausible: false,
  })
  assert.equal(bedrockUsage({}), null)
  assert.equal(bedrockUsage(undefined), null)
  // Cache tokens by lifetime cannot exceed the tokens written.
  assert.deepEqual(
    bedrockUsage({
      inputTokens: 1,
      outputTokens: 1,
      cacheWriteInputTokens: 5,
      cacheDetails: [{ ttl: '1h', inputTokens: 9 }],
    })?.usage,
    { input: 1, output: 1, cache_write_1h: 5 },
  )
  for (const wrong of [-1, 'x', 2 ** 53]) {
    const found = bedrockUsage({ inputTokens: 1, outputTokens: 2, cacheReadInputTokens: wrong })
    assert.deepEqual([found?.usage, found?.implausible, found?.missing], [{ output: 2 }, true, ['input']])
  }
  assert.deepEqual(bedrockUsage({ inputTokens: 1, outputTokens: 2, cacheReadInputTokens: null })?.usage, {
    input: 1,
    output: 2,
  })
})

describe('error statuses', () => {
  const failed = (status: number, body: unknown, type?: string): AttemptFailure =>
    upstreamFailure(
      status,
      body,
      type === undefined ? {} : { 'x-amzn-errortype': `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/` },
      0,
    )

  test('the class is by type of exception where the status misleads', () => {
    assert.deepEqual(
      [
        failed(400, { message: 'quota' }, 'ServiceQuotaExceededException').status,
        failed(424, { message: 'x' }, 'ModelErrorException').refusal,
      ],
      [429, 'model'],
    )
    assert.deepEqual(
      [
        failed(400, { __type: 'com.amazon#NotAuthorized', message: 'x' }).refusal,
        failed(503, null).status,
        failed(403, { Message: 'x' }).status,
      ],
      ['account', 503, 403],
    )
  })

  test('a throttled request is not too long, whatever it says of tokens', () => {
    const { status, refusal, publicMessage } = failed(
      429,
      { message: 'Too many tokens, please wait before trying again.' },
      'ThrottlingException',
    )
    assert.deepEqual([status, refusal, publicMessage], [429, null, null])
  })

  test('a prompt that is too long has a distinct error', () => {
    for (const message of [
      'Input is too long for requested model.',
      'input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000',
    ]) {
      assert.deepEqual(
        [
          failed(400, { message }, 'ValidationException').refusal,
          failed(400, { message }, 'ValidationException').publicMessage,
        ],
        ['context_length', message],
      )
    }
  })

  test("a model that the operator's account does not have is no fault of the request", () => {
    for (const message of [
      'The provided model identifier is invalid.',
      'Invocation of model ID m with on-demand throughput isn’t supported.',
      'Operation not allowed',
    ]) {
      assert.deepEqual(
        [
          failed(400, { message }, 'ValidationException').refusal,
          failed(400, { message }, 'ValidationException').publicMessage,
        ],
        ['endpoint', null],
      )
    }
  })

  test("nothing of the operator's account is shown to the client", () => {
    const message =
      'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.x of 123456789012 by AKIAIOSFODNN7EXAMPLE: bad field'
    assert.equal(
      withoutSecretsOf({ apiKeys: [], baseUrl: '' }, failed(400, { message }, 'ValidationException')).publicMessage,
      '[redacted] of [redacted] by [redacted]: bad field',
    )
  })
})
