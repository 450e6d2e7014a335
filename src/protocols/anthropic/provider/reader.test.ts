import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { upstreamFailure } from '../../wire/upstream-error.ts'
import type { ChatAnswer } from '../../../kinds/chat/answer.ts'
import type { AttemptFailure } from '../../ports/attempt-failure.ts'
import { anthropicProtocol } from './anthropic.ts'
import { foldAtEveryCut, readsOf } from '../../../../test/harness/protocol-read.ts'
import { randomOf, recordedCases, type RecordedCase } from '../../../../test/harness/recording.ts'

const PROTOCOL = anthropicProtocol
const { callOf, read, whole, foldWhole } = readsOf(PROTOCOL, 'claude-3-7-sonnet')

function streamOf(events: readonly Record<string, unknown>[]): readonly Buffer[] {
  return [
    Buffer.from(events.map((event) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`).join('')),
  ]
}

/** Builds, from its stream, the message that the provider would have sent whole. */
function wholeMessage(body: Buffer): Record<string, unknown> {
  let message: Record<string, unknown> = {}
  const content: Record<string, unknown>[] = []
  const inputs: string[] = []
  for (const line of body.toString('utf8').split('\n')) {
    if (!line.startsWith('data: ')) continue
    const event = JSON.parse(line.slice(6))
    if (event.type === 'message_start') message = event.message
    if (event.type === 'content_block_start') content[event.index] = event.content_block
    if (event.type === 'content_block_delta') {
      const block = content[event.index] ?? {}
      for (const name of ['text', 'thinking', 'signature'])
        if (event.delta[name] !== undefined) block[name] = String(block[name]) + event.delta[name]
      inputs[event.index] = (inputs[event.index] ?? '') + (event.delta.partial_json ?? '')
    }
    if (event.type === 'message_delta')
      message = { ...message, ...event.delta, usage: { ...Object(message['usage']), ...event.usage } }
  }
  for (const [index, block] of content.entries())
    if ((inputs[index] ?? '') !== '') block['input'] = JSON.parse(inputs[index] ?? '')
  return { ...message, content }
}

/** The answer with parsed arguments: a stream has the model's spaces within them, a whole message has none. */
function withParsedArguments(answer: ChatAnswer): unknown {
  return {
    ...answer,
    text: null,
    choices: answer.choices.map(({ message, ...choice }) => ({
      ...choice,
      message: {
        ...message,
        tool_calls: Object(message['tool_calls'] ?? []).map((call: { function: { arguments: string } }) =>
          JSON.parse(call.function.arguments),
        ),
      },
    })),
  }
}

const streams: readonly RecordedCase[] = recordedCases(
  ({ protocol, framing }) => protocol === 'anthropic-messages' && framing === 'sse',
)

describe('every recorded stream', () => {
  assert.ok(streams.length >= 15, `${streams.length} streams`)
  for (const recorded of streams) {
    test(`${recorded.name} folds to one answer at every random cut`, () => {
      foldAtEveryCut(PROTOCOL, recorded.body)
    })
    // Skips recordings with cut arguments, which are no JSON, and those with an error, which have no message.
    if (/partial-json|overloaded/.test(recorded.name)) continue
    test(`${recorded.name} folds to what the whole message would be`, () => {
      const body = recorded.body
      assert.deepEqual(withParsedArguments(read([body]).answer), withParsedArguments(foldWhole(wholeMessage(body))))
    })
  }
})

const START = { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 5, output_tokens: 1 } } }
const STOP = [
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } },
  { type: 'message_stop' },
]

function blockEvents(index: number, block: unknown, ...deltas: readonly unknown[]): Record<string, unknown>[] {
  return [
    { type: 'content_block_start', index, content_block: block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

test('thinking is reasoning, and once more as a detail that can be sent back', () => {
  const { answer, failure } = read(
    streamOf([
      START,
      ...blockEvents(
        0,
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: 'Let ' },
        { type: 'thinking_delta', thinking: 'me' },
        { type: 'signature_delta', signature: 'sig' },
      ),
      ...blockEvents(1, { type: 'redacted_thinking', data: 'secret' }),
      ...blockEvents(2, { type: 'text', text: '' }, { type: 'text_delta', text: 'Hi' }),
      ...STOP,
    ]),
  )
  assert.equal(failure, null)
  assert.deepEqual(answer.choices[0]?.message, {
    role: 'assistant',
    content: 'Hi',
    refusal: null,
    reasoning: 'Let me',
    reasoning_details: [
      { type: 'reasoning.text', text: 'Let me', signature: 'sig', format: 'anthropic-claude-v1', index: 0 },
      { type: 'reasoning.encrypted', data: 'secret', format: 'anthropic-claude-v1', index: 1 },
    ],
  })
})

test('excluded reasoning is not shown, but counts as progress', () => {
  const call = callOf({ reasoning: { effort: 'high', exclude: true } })
  const events = [
    START,
    ...blockEvents(
      0,
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: 'Hm' },
      { type: 'signature_delta', signature: 's' },
    ),
    ...blockEvents(1, { type: 'text', text: 'Hi' }),
    ...STOP,
  ]
  assert.deepEqual(read(streamOf(events), call).answer.choices[0]?.message, {
    role: 'assistant',
    content: 'Hi',
    refusal: null,
  })
  const reader = PROTOCOL.reader(call)
  for (const event of events.slice(0, 4))
    assert.notDeepEqual(reader.message(Buffer.from(JSON.stringify(event))), [], JSON.stringify(event))
})

test('calls count from 0 whatever stands between them; a call without arguments has empty ones', () => {
  const { answer } = read(
    streamOf([
      START,
      ...blockEvents(0, { type: 'text', text: 'I look' }),
      ...blockEvents(1, { type: 'tool_use', id: 'toolu_1', name: 'now', input: {} }),
      ...blockEvents(
        2,
        { type: 'server_tool_use', id: 'srv', name: 'web_search', input: {} },
        { type: 'input_json_delta', partial_json: '{"query":"x"}' },
      ),
      ...blockEvents(
        3,
        { type: 'tool_use', name: 'get', input: {} },
        { type: 'input_json_delta', partial_json: '' },
        { type: 'input_json_delta', partial_json: '{"a":' },
        { type: 'input_json_delta', partial_json: '1}' },
      ),
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 7 } },
      { type: 'message_stop' },
    ]),
  )
  const [choice] = answer.choices
  assert.equal(choice?.finish, 'tool_calls')
  assert.deepEqual(choice.message['tool_calls'], [
    { id: 'toolu_1', type: 'function', function: { name: 'now', arguments: '{}' } },
    { id: 'call_abc_0_1', type: 'function', function: { name: 'get', arguments: '{"a":1}' } },
  ])
})

const FORMAT = {
  response_format: {
    type: 'json_schema',
    json_schema: { name: 'n', schema: { type: 'object', properties: { a: { type: 'integer', minimum: 1 } } } },
  },
}

test('the input of the answer tool is the text of the answer', () => {
  const events = [
    START,
    ...blockEvents(
      0,
      { type: 'tool_use', id: 't', name: 'give_answer', input: {} },
      { type: 'input_json_delta', partial_json: '{"a"' },
      { type: 'input_json_delta', partial_json: ':1}' },
    ),
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 7 } },
    { type: 'message_stop' },
  ]
  const streamed = read(streamOf(events), callOf(FORMAT)).answer
  const plain = foldWhole(
    {
      id: 'msg_1',
      content: [{ type: 'tool_use', id: 't', name: 'give_answer', input: { a: 1 } }],
      stop_reason: 'tool_use',
      usage: { input_tokens: 5, output_tokens: 7 },
    },
    callOf({ ...FORMAT, stream: false }),
  )
  assert.deepEqual(streamed, plain)
  assert.deepEqual(
    [plain.choices[0]?.message, plain.choices[0]?.finish, plain.choices[0]?.native],
    [{ role: 'assistant', content: '{"a":1}', refusal: null }, 'stop', 'tool_use'],
  )
  const called = foldWhole(
    { id: 'msg_1', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }], stop_reason: 'tool_use' },
    callOf({ ...FORMAT, stream: false, tools: [{ type: 'function', function: { name: 'f' } }] }),
  )
  assert.equal(called.choices[0]?.finish, 'tool_calls')
})

test('citations of the web become annotations of the text they stand in', () => {
  const citation = {
    type: 'web_search_result_location',
    url: 'https://x.test/a',
    title: 'A',
    cited_text: 'aaa',
    encrypted_index: 'e',
  }
  const streamed = read(
    streamOf([
      START,
      ...blockEvents(0, { type: 'text', text: 'Hm. ' }),
      ...blockEvents(
        1,
        { type: 'text', text: '' },
        { type: 'citations_delta', citation },
        { type: 'text_delta', text: 'It is.' },
      ),
      ...STOP,
    ]),
  ).answer
  const plain = foldWhole({
    id: 'msg_1',
    content: [
      { type: 'text', text: 'Hm. ' },
      { type: 'text', text: 'It is.', citations: [citation] },
    ],
    stop_reason: 'end_turn',
    usage: { input_tokens: 5, output_tokens: 7 },
  })
  assert.deepEqual(streamed, plain)
  assert.deepEqual(plain.choices[0]?.message['annotations'], [
    {
      type: 'url_citation',
      url_citation: { url: 'https://x.test/a', title: 'A', content: 'aaa', start_index: 4, end_index: 10 },
    },
  ])
})

test('a stream is complete with message_stop or a stop_reason, and cut or garbage without', () => {
  const text = blockEvents(0, { type: 'text', text: 'Hi' })
  assert.equal(read(streamOf([START, ...text, ...STOP.slice(0, 1)])).failure, null)
  assert.equal(read(streamOf([START, ...text])).failure?.reason, 'cut')
  assert.equal(read(streamOf([{ type: 'ping' }])).failure?.reason, 'garbage')
  assert.equal(read([Buffer.from('data: [1]\n\n')]).failure?.reason, 'garbage')
  const body = whole({ choices: [] })
  assert.ok('reason' in body && body.reason === 'garbage')
})

test('an endless list of blocks is given up', () => {
  const blocks = Array.from({ length: 5_000 }, (_, index) => blockEvents(index, { type: 'text', text: '' })).flat()
  assert.equal(read(streamOf([START, ...blocks])).failure?.reason, 'garbage')
})

test('an error within a 200 has the status of its type', () => {
  const cases = [
    ['overloaded_error', 529, null],
    ['rate_limit_error', 429, null],
    ['authentication_error', 401, 'credentials'],
    ['api_error', 500, null],
    ['of_the_future', 502, null],
  ] as const
  for (const [type, status, refusal] of cases) {
    const body = { type: 'error', error: { type, message: 'No' } }
    const { failure } = read(streamOf([START, body]))
    assert.deepEqual([failure?.reason, failure?.status, failure?.refusal], ['error_event', status, refusal], type)
    const plain = whole(body)
    assert.ok('reason' in plain && plain.status === status)
  }
})

test("faults of the operator's account are neither the client's fault nor the client's to read", () => {
  const error = (status: number, message: string, type = 'invalid_request_error'): AttemptFailure =>
    upstreamFailure(status, { type: 'error', error: { type, message } }, {}, 0)
  for (const message of [
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
    'You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.',
    'This organization has been disabled.',
  ]) {
    const { refusal, publicMessage } = error(400, message)
    assert.deepEqual([refusal, publicMessage], ['account', null], message)
  }
  assert.deepEqual(
    [error(401, 'invalid x-api-key', 'authentication_error').refusal, error(401, 'invalid x-api-key').publicMessage],
    ['credentials', null],
  )
  for (const message of [
    'prompt is too long: 3333404 tokens > 200000 maximum',
    'input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again',
  ]) {
    const { refusal, status, publicMessage } = error(400, message)
    assert.deepEqual([refusal, status, publicMessage], ['context_length', 400, message])
  }
  assert.equal(error(400, 'Output blocked by content filtering policy').refusal, 'moderation')
})

describe('usage', () => {
  const usageOf = (usage: unknown): ChatAnswer['usage'] =>
    foldWhole({ id: 'm', content: [], stop_reason: 'end_turn', usage }).usage

  test('cache reads, cache writes of 5 minutes and of an hour, reasoning and searches are separate meters', () => {
    assert.deepEqual(
      usageOf({
        input_tokens: 10,
        cache_read_input_tokens: 200,
        cache_creation_input_tokens: 70,
        cache_creation: { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 40 },
        output_tokens: 50,
        output_tokens_details: { thinking_tokens: 20 },
        server_tool_use: { web_search_requests: 2 },
      }),
      {
        usage: {
          input: 10,
          output: 30,
          cache_read: 200,
          cache_write: 30,
          cache_write_1h: 40,
          reasoning: 20,
          search: 2,
        },
        inputTokens: 280,
        outputTokens: 50,
        cachedTokens: 200,
        cacheWriteTokens: 70,
        reasoningTokens: 20,
        implausible: false,
      },
    )
  })

  test('without the split by time a cache write is of 5 minutes; with only the split the total is its sum', () => {
    assert.deepEqual(usageOf({ input_tokens: 1, cache_creation_input_tokens: 9, output_tokens: 1 })?.usage, {
      input: 1,
      output: 1,
      cache_write: 9,
    })
    assert.deepEqual(
      usageOf({
        input_tokens: 1,
        cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 5 },
        output_tokens: 1,
      })?.usage,
      { input: 1, output: 1, cache_write: 4, cache_write_1h: 5 },
    )
  })

  test('whatever is reported, the meters are at least 0 and add up to the totals', () => {
    const random = randomOf(11)
    const count = (): number | null => (random() < 0.2 ? null : Math.floor(random() * 1_000))
    for (let round = 0; round < 500; round += 1) {
      const report = usageOf({
        input_tokens: count() ?? 0,
        output_tokens: count(),
        cache_read_input_tokens: count(),
        cache_creation_input_tokens: count(),
        cache_creation: { ephemeral_5m_input_tokens: count(), ephemeral_1h_input_tokens: count() },
        output_tokens_details: { thinking_tokens: count() },
      })
      assert.ok(report)
      const {
        input = 0,
        cache_read: read_ = 0,
        cache_write: write = 0,
        cache_write_1h: hour = 0,
        output = 0,
        reasoning = 0,
      } = report.usage
      assert.ok(Object.values(report.usage).every((units) => units >= 0))
      assert.equal(input + read_ + write + hour, report.inputTokens)
      assert.equal(output + reasoning, report.outputTokens)
      assert.deepEqual(
        [read_, write + hour, reasoning],
        [report.cachedTokens, report.cacheWriteTokens, report.reasoningTokens],
      )
    }
  })

  test('numbers that are no counts are missing; no numbers are no report', () => {
    for (const bad of [-1, Number.NaN, 2 ** 60, 'x']) {
      const report = usageOf({ input_tokens: bad, output_tokens: 3 })
      assert.deepEqual(
        [report?.implausible, report?.missing, report?.usage.input, report?.outputTokens],
        [true, ['input'], undefined, 3],
        String(bad),
      )
    }
    assert.equal(usageOf({}), null)
    assert.equal(usageOf(undefined), null)
  })

  test('the usage of the end replaces what it names of the start, whose output is no report', () => {
    const text = blockEvents(0, { type: 'text', text: 'Hi' })
    const end = (usage: unknown): Record<string, unknown>[] => [
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
      { type: 'message_stop' },
    ]
    assert.deepEqual(read(streamOf([START, ...text, ...end({ output_tokens: 7 })])).answer.usage?.usage, {
      input: 5,
      output: 7,
    })
    assert.deepEqual(
      read(streamOf([START, ...text, ...end({ input_tokens: 9, cache_read_input_tokens: null, output_tokens: 7 })]))
        .answer.usage?.usage,
      { input: 9, output: 7 },
    )
    for (const silent of [undefined, {}, { input_tokens: 5, output_tokens: null }]) {
      const report = read(streamOf([START, ...text, ...end(silent)])).answer.usage
      assert.deepEqual(
        [report?.usage, report?.missing],
        [{ input: 5 }, ['output']],
        'the output that the end does not tell is counted',
      )
    }
  })
})
