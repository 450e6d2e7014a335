import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { upstreamFailure } from '../../wire/upstream-error.ts'
import type { ChatAnswer } from '../../../kinds/chat/answer.ts'
import { cohereProtocol, cohereUsage } from './cohere.ts'
import {
  foldAtEveryCut,
  callOf,
  readPieces,
  readWhole,
  recordingsOf,
  type ProtocolRead,
} from '../../../../test/harness/protocol-read.ts'
import { randomOf } from '../../../../test/harness/recording.ts'

const PROTOCOL = cohereProtocol
const END = {
  type: 'message-end',
  delta: { finish_reason: 'COMPLETE', usage: { tokens: { input_tokens: 5, output_tokens: 2 } } },
}

function readChunks(chunks: readonly unknown[], call = callOf()): ProtocolRead {
  return readPieces(PROTOCOL, [Buffer.from(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(''))], call)
}

function messageOf({ choices }: ChatAnswer): unknown {
  return choices[0]?.message
}

function content(block: Record<string, unknown>, type = 'content-delta'): unknown {
  return { type, index: 0, delta: { message: { content: block } } }
}

function plan(text: string): unknown {
  return { type: 'tool-plan-delta', delta: { message: { tool_plan: text } } }
}

function call(type: string, index: number, fields: Record<string, unknown>): unknown {
  return { type, index, delta: { message: { tool_calls: fields } } }
}

/** A plain v2 answer as an equivalent stream, in pieces of random length. */
function streamOf(answer: Record<string, unknown>, random: () => number): readonly unknown[] {
  const pieces = (text: string): string[] =>
    text.match(new RegExp(`[^]{1,${1 + Math.floor(random() * 40)}}`, 'gu')) ?? []
  const { id, message, finish_reason, usage } = Object(answer)
  const blocks: readonly Record<string, string>[] = message.content ?? []
  const calls: readonly { id: string; function: { name: string; arguments: string } }[] = message.tool_calls ?? []
  return [
    { type: 'message-start', id, delta: { message: { role: 'assistant' } } },
    ...pieces(message.tool_plan ?? '').map(plan),
    ...calls.flatMap(({ id: callId, function: { name, arguments: text } }, index) => [
      call('tool-call-start', index, { id: callId, type: 'function', function: { name, arguments: '' } }),
      ...pieces(text).map((piece) => call('tool-call-delta', index, { function: { arguments: piece } })),
      { type: 'tool-call-end', index },
    ]),
    ...blocks.flatMap((block) => {
      const type = block['type'] ?? ''
      return [
        content({ type, [type]: '' }, 'content-start'),
        ...pieces(block[type] ?? '').map((piece) => content({ [type]: piece })),
        { type: 'content-end', index: 0 },
      ]
    }),
    { type: 'message-end', delta: { finish_reason, usage } },
  ]
}

const recordings = [...recordingsOf('cohere-v2-chat'), ...recordingsOf('cohere-v1-chat')]

describe('every recorded answer', () => {
  assert.ok(recordings.length >= 8, `${recordings.length} answers`)
  for (const { name, protocol, streaming, expected: whole, body } of recordings) {
    const [expected] = whole.choices ?? []
    if (streaming) {
      test(`${name} folds to one answer at every random cut`, () => {
        const { answer, failure } = foldAtEveryCut(PROTOCOL, body)
        assert.equal(failure, null)
        assert.equal(Object(messageOf(answer)).content, expected?.text ?? null)
        assert.equal(answer.choices[0]?.native, expected?.finish_reason_native)
        assert.equal(answer.upstreamId, whole.id)
      })
    } else if (protocol === 'cohere-v2-chat') {
      test(`${name} says the same as a stream`, () => {
        const whole = JSON.parse(body.toString('utf8'))
        for (let seed = 1; seed <= 20; seed += 1) {
          assert.deepEqual(
            readChunks(streamOf(whole, randomOf(seed))),
            { answer: readWhole(PROTOCOL, whole), failure: null, done: true },
            `seed ${seed}`,
          )
        }
      })
    }
  }
})

test('thinking is reasoning, text is content; blocks may alternate', () => {
  const { answer, failure } = readChunks([
    { type: 'message-start', id: 'c1', delta: { message: {} } },
    content({ type: 'thinking', thinking: '' }, 'content-start'),
    content({ thinking: 'Hm' }),
    { type: 'content-end', index: 0 },
    content({ type: 'text', text: '' }, 'content-start'),
    content({ text: 'Hi' }),
    {
      type: 'citation-start',
      index: 0,
      delta: { message: { citations: { start: 0, end: 2, text: 'Hi', sources: [] } } },
    },
    { type: 'citation-end', index: 0 },
    { type: 'something-new', delta: null },
    END,
  ])
  assert.equal(failure, null)
  assert.equal(answer.upstreamId, 'c1')
  assert.deepEqual(messageOf(answer), { role: 'assistant', content: 'Hi', refusal: null, reasoning: 'Hm' })
})

test('the plan of tool calls is a detail, in one piece; calls count from 0 without gaps', () => {
  const { answer } = readChunks([
    plan('I will'),
    plan(' look'),
    call('tool-call-start', 1, { id: 'a', type: 'function', function: { name: 'f', arguments: '' } }),
    call('tool-call-delta', 1, { function: { arguments: '{"x"' } }),
    call('tool-call-delta', 1, { function: { arguments: ':1}' } }),
    call('tool-call-start', 2, { type: 'function', function: { name: 'g', arguments: '' } }),
    call('tool-call-delta', 2, { function: { arguments: 'null' } }),
    { type: 'message-end', delta: { finish_reason: 'TOOL_CALL' } },
  ])
  assert.deepEqual([answer.choices[0]?.finish, answer.choices[0]?.native], ['tool_calls', 'TOOL_CALL'])
  assert.deepEqual(messageOf(answer), {
    role: 'assistant',
    content: null,
    refusal: null,
    reasoning_details: [{ type: 'reasoning.summary', summary: 'I will look', format: 'cohere-tool-plan-v1', index: 0 }],
    tool_calls: [
      { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
      { id: 'call_abc_0_1', type: 'function', function: { name: 'g', arguments: 'null' } },
    ],
  })
})

test('excluded reasoning is not shown, but counts as progress', () => {
  const hidden = callOf({ reasoning: { effort: 'high', exclude: true } })
  assert.deepEqual(
    messageOf(readChunks([content({ thinking: 'Hm' }), plan('I will'), content({ text: 'Hi' }), END], hidden).answer),
    { role: 'assistant', content: 'Hi', refusal: null },
  )
  const reader = PROTOCOL.reader(hidden)
  for (const chunk of [content({ thinking: 'Hm' }), plan('I will')])
    assert.notDeepEqual(reader.message(Buffer.from(JSON.stringify(chunk))), [])
})

test('an answer that says nothing is the empty text', () => {
  const nothing = { role: 'assistant', content: '', refusal: null }
  assert.deepEqual(messageOf(readChunks([{ type: 'message-start', id: 'c1' }, END]).answer), nothing)
  assert.deepEqual(
    messageOf(readWhole(PROTOCOL, { id: 'c1', message: { role: 'assistant' }, finish_reason: 'COMPLETE' })),
    nothing,
  )
})

test("Cohere's own reasons to end", () => {
  const finishes = {
    COMPLETE: 'stop',
    STOP_SEQUENCE: 'stop',
    MAX_TOKENS: 'length',
    ERROR: 'error',
    TIMEOUT: 'error',
    ERROR_TOXIC: 'content_filter',
    ERROR_LIMIT: 'length',
    constructor: 'stop',
  }
  for (const [native, finish] of Object.entries(finishes)) {
    const { choices } = readWhole(PROTOCOL, {
      message: { content: [{ type: 'text', text: 'x' }] },
      finish_reason: native,
    })
    assert.deepEqual([choices[0]?.native, choices[0]?.finish], [native, finish])
  }
})

test('a stream without message-end is cut, only [DONE] is no answer, and bytes after the end do not matter', () => {
  assert.equal(readChunks([content({ text: 'Hi' })]).failure?.reason, 'cut')
  assert.equal(readPieces(PROTOCOL, [Buffer.from('data: [DONE]\n\n')]).failure?.reason, 'garbage')
  assert.equal(readPieces(PROTOCOL, []).failure?.reason, 'garbage')
  assert.equal(readPieces(PROTOCOL, [Buffer.from('data: <html>\n\n')]).failure?.reason, 'garbage')
  assert.equal(readChunks([content({ text: 'Hi' }), END, { message: 'late' }]).failure, null)
})

test('an error inside a 200 is a failure', () => {
  assert.equal(
    readChunks([content({ text: 'Hi' }), { id: 'c1', message: 'internal server error' }]).failure?.reason,
    'error_event',
  )
  assert.equal(
    readChunks([{ type: 'message-end', delta: { finish_reason: 'ERROR', error: 'model crashed' } }]).failure?.reason,
    'error_event',
  )
  for (const body of [{ message: 'internal server error' }, { error: { message: 'x' } }]) {
    const read = PROTOCOL.reader(callOf()).whole(body)
    assert.equal('reason' in read && read.reason, 'error_event', JSON.stringify(body))
  }
  for (const body of [null, [], 'text', {}, { id: 'x' }]) {
    const read = PROTOCOL.reader(callOf()).whole(body)
    assert.equal('reason' in read && read.reason, 'garbage', JSON.stringify(body))
  }
})

test('errors in both shapes; words on the deny-list are a matter of moderation', () => {
  const failed = (status: number, message: string): unknown => {
    const { reason, status: code, refusal, publicMessage } = upstreamFailure(status, { id: 'x', message }, {}, 0)
    return [reason, code, refusal, publicMessage]
  }
  assert.deepEqual(failed(400, 'too many tokens: size limit exceeded by 11326 tokens.'), [
    'status',
    400,
    'context_length',
    'too many tokens: size limit exceeded by 11326 tokens.',
  ])
  assert.deepEqual(failed(401, 'invalid api token'), ['status', 401, 'credentials', null])
  assert.deepEqual(failed(404, "model 'x' was removed"), ['status', 404, 'endpoint', null])
  assert.deepEqual(failed(498, 'a word is denied'), ['status', 400, 'moderation', 'a word is denied'])
})

test('more calls than any answer has, and an endless plan, end the attempt', () => {
  const calls = Array.from({ length: 300 }, (_value, index) => ({
    id: `c${index}`,
    function: { name: 'f', arguments: '' },
  }))
  const read = PROTOCOL.reader(callOf()).whole({ message: { tool_calls: calls } })
  assert.equal('reason' in read && read.reason, 'garbage')
  assert.equal(readChunks([plan('x'.repeat(600_000)), plan('x'.repeat(600_000))]).failure?.reason, 'too_large')
})

test('the first protocol: its text, calls and usage', () => {
  const response = {
    response_id: 'r1',
    text: 'Hi',
    generation_id: 'g1',
    tool_calls: [{ name: 'f', parameters: { a: 1 } }],
    meta: { tokens: { input_tokens: 3, output_tokens: 4 } },
  }
  const lines = [
    { event_type: 'stream-start', generation_id: 'g1' },
    { event_type: 'text-generation', text: 'Hi' },
    { event_type: 'citation-generation', citations: [] },
    { event_type: 'stream-end', finish_reason: 'COMPLETE', response },
  ]
  const { answer, failure } = readPieces(PROTOCOL, [
    Buffer.from(lines.map((line) => JSON.stringify(line)).join('\r\n')),
  ])
  assert.equal(failure, null)
  assert.deepEqual(answer, readWhole(PROTOCOL, { ...response, finish_reason: 'COMPLETE' }))
  assert.deepEqual(
    [answer.upstreamId, answer.usage?.inputTokens, answer.usage?.outputTokens, answer.choices[0]?.finish],
    ['r1', 3, 4, 'tool_calls'],
  )
  assert.deepEqual(messageOf(answer), {
    role: 'assistant',
    content: 'Hi',
    refusal: null,
    tool_calls: [{ id: 'call_abc_0_0', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
  })
  assert.equal(readPieces(PROTOCOL, [Buffer.from(JSON.stringify(lines[1]))]).failure?.reason, 'cut')
})

test('meters: each at least 0, input and cache add up to the prompt; no count is not a count of zero', () => {
  const random = randomOf(7)
  for (let round = 0; round < 500; round += 1) {
    const count = (): unknown =>
      [Math.floor(random() * 1_000), -1, 1.5, '7', null, undefined, 2 ** 53][Math.floor(random() * 10)] ??
      Math.floor(random() * 1_000)
    const report = cohereUsage({ tokens: { input_tokens: count(), output_tokens: count() }, cached_tokens: count() })
    assert.ok(report)
    const { input = 0, output = 0, cache_read: cached = 0 } = report.usage
    for (const units of [input, output, cached]) assert.ok(Number.isSafeInteger(units) && units >= 0)
    assert.equal(input + cached, report.inputTokens)
    assert.equal(output, report.outputTokens)
    assert.equal(cached, report.cachedTokens)
  }
  assert.deepEqual(cohereUsage({ billed_units: { input_tokens: 1, output_tokens: 2 } })?.usage, { input: 1, output: 2 })
  for (const none of [null, {}, { tokens: {} }, { billed_units: { search_units: 1 } }])
    assert.equal(cohereUsage(none), null)
  assert.equal(cohereUsage({ tokens: { input_tokens: -1, output_tokens: 2 } })?.implausible, true)
})
