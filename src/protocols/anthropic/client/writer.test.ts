import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../base/errors.ts'
import { AnswerEnd } from '../../../kinds/answer/end.ts'
import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import { foldAnswer } from '../../../kinds/answer/fold.ts'
import type { ChargedUsage } from '../../../kinds/answer/writer.ts'
import { decodeDetails, encodeDetails } from '../../../kinds/answer/provenance.ts'
import { UnfilteredMessages, MessagesWriter } from './writer.ts'

const IDENTITY = { id: 'gen-1-a', model: 'a/b', requestId: 'req-1' }
const USAGE: ChargedUsage = {
  report: {
    usage: { input: 5, cache_read: 3, cache_write: 1, cache_write_1h: 1, output: 4, reasoning: 2 },
    inputTokens: 10,
    outputTokens: 6,
    cachedTokens: 3,
    cacheWriteTokens: 2,
    reasoningTokens: 2,
    implausible: false,
  },
  chargedMicro: 1_500n,
}

interface Written {
  readonly events: readonly Readonly<Record<string, unknown>>[]
  readonly whole: Readonly<Record<string, unknown>>
}

function written(events: readonly AnswerEvent[], omitsThinking = false): Written {
  const writer = new MessagesWriter(IDENTITY, omitsThinking, 9)
  const end = new AnswerEnd()
  for (const event of events) end.add(event)
  const text = Buffer.concat([...events.map((event) => writer.write([event])), writer.end(end.result(), USAGE)])
  return {
    events: text
      .toString('utf8')
      .split('\n\n')
      .filter((block) => block !== '')
      .map((block) => JSON.parse(block.split('\ndata: ')[1] ?? '')),
    whole: new MessagesWriter(IDENTITY, omitsThinking, 9).whole(foldAnswer(events), USAGE, events),
  }
}

test('text, thinking and calls are blocks, one after another, and usage leaves out what the cache had', () => {
  const { events, whole } = written([
    { type: 'reasoning', choice: 0, text: 'Hm' },
    { type: 'text', choice: 0, text: 'Hi' },
    { type: 'text', choice: 0, text: ' you' },
    { type: 'tool_call', choice: 0, index: 0, id: 'c1', name: 'f' },
    { type: 'tool_arguments', choice: 0, index: 0, text: '{"a":' },
    { type: 'tool_arguments', choice: 0, index: 0, text: '1}' },
    { type: 'finish', choice: 0, native: 'tool_calls' },
  ])
  assert.deepEqual(
    events.map(({ type, index }) => (index === undefined ? type : `${String(type)} ${String(index)}`)),
    [
      'message_start',
      'content_block_start 0',
      'content_block_delta 0',
      'content_block_delta 0',
      'content_block_stop 0',
      'content_block_start 1',
      'content_block_delta 1',
      'content_block_delta 1',
      'content_block_stop 1',
      'content_block_start 2',
      'content_block_delta 2',
      'content_block_delta 2',
      'content_block_stop 2',
      'message_delta',
      'message_stop',
    ],
  )
  assert.partialDeepStrictEqual(events[0], { message: { id: 'msg_1-a', model: 'a/b', usage: { input_tokens: 9 } } })
  assert.deepEqual(whole, {
    id: 'msg_1-a',
    type: 'message',
    role: 'assistant',
    model: 'a/b',
    content: [
      { type: 'thinking', thinking: 'Hm', signature: encodeDetails([]) },
      { type: 'text', text: 'Hi you' },
      { type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: {
      input_tokens: 5,
      cache_read_input_tokens: 3,
      cache_creation_input_tokens: 2,
      cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 1 },
      output_tokens: 6,
      output_tokens_details: { thinking_tokens: 2 },
      cost: 0.0015,
      currency: 'RUB',
    },
  })
  assert.deepEqual(events.at(-2), {
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: whole['usage'],
  })
})

test('a call stays open while its arguments are not complete', () => {
  const { events, whole } = written([
    { type: 'tool_call', choice: 0, index: 0, id: 'c1', name: 'f' },
    { type: 'tool_arguments', choice: 0, index: 0, text: '{"a"' },
    { type: 'tool_call', choice: 0, index: 1, id: 'c2', name: 'g' },
    { type: 'tool_arguments', choice: 0, index: 0, text: ':1}' },
    { type: 'tool_arguments', choice: 0, index: 1, text: '{}' },
    { type: 'finish', choice: 0, native: 'tool_calls' },
  ])
  assert.deepEqual(
    events.filter(({ type }) => type === 'content_block_stop').map(({ index }) => index),
    [0, 1],
  )
  assert.partialDeepStrictEqual(whole, { content: [{ input: { a: 1 } }, { input: {} }] })
})

test('arguments that are broken, or made to take long, are one value', () => {
  const inputOf = (text: string): unknown =>
    Object(
      Object(
        written([
          { type: 'tool_call', choice: 0, index: 0, id: 'c', name: 'f' },
          { type: 'tool_arguments', choice: 0, index: 0, text },
        ]).whole['content'],
      )[0],
    ).input
  const bomb = `{"a":[${'[],'.repeat(200_000)}[]]}`
  assert.deepEqual(inputOf('{"a"'), { arguments: '{"a"' })
  assert.deepEqual(inputOf(bomb), { arguments: bomb })
  assert.deepEqual(inputOf('null'), {})
  assert.deepEqual(inputOf(JSON.stringify({ a: '}{\\"' })), { a: '}{\\"' })
})

test("Claude's signatures are told as they are, those of others travel as one", () => {
  const claude = { type: 'reasoning.text', text: 'Hm', signature: 'sig', format: 'anthropic-claude-v1', index: 0 }
  const red = { type: 'reasoning.encrypted', data: 'red', format: 'anthropic-claude-v1', index: 1 }
  const other = { type: 'reasoning.encrypted', data: 'g', format: 'google-gemini-v1', index: 0 }
  const detail = (value: unknown): AnswerEvent => ({
    type: 'extra',
    choice: 0,
    field: 'reasoning_details',
    value: [value],
  })
  const events: AnswerEvent[] = [
    { type: 'reasoning', choice: 0, text: 'Hm' },
    detail(claude),
    detail(red),
    { type: 'text', choice: 0, text: 'Hi' },
    detail(other),
  ]
  const { whole } = written(events)
  const content = whole['content'] as readonly Record<string, string>[]
  assert.deepEqual(content.slice(0, 3), [
    { type: 'thinking', thinking: 'Hm', signature: 'sig' },
    { type: 'redacted_thinking', data: 'red' },
    { type: 'text', text: 'Hi' },
  ])
  assert.deepEqual(decodeDetails(content[3]?.['signature'] ?? ''), [other])
  assert.deepEqual(
    (written(events, true).whole['content'] as readonly Record<string, string>[])[0],
    { type: 'thinking', thinking: '', signature: 'sig' },
    'omitted thinking keeps its signature',
  )
})

test('the reasons of an end are those of the protocol', () => {
  const reasonOf = (native: string): unknown =>
    written([
      { type: 'text', choice: 0, text: 'x' },
      { type: 'finish', choice: 0, native },
    ]).whole['stop_reason']
  const rows = {
    stop: 'end_turn',
    length: 'max_tokens',
    content_filter: 'refusal',
    stop_sequence: 'stop_sequence',
    pause_turn: 'pause_turn',
    model_context_window_exceeded: 'model_context_window_exceeded',
    SAFETY: 'refusal',
    toString: 'end_turn',
  }
  for (const [native, reason] of Object.entries(rows)) assert.equal(reasonOf(native), reason, native)
})

test('an error is the last event of a stream', () => {
  const writer = new MessagesWriter(IDENTITY, false, 0)
  assert.equal(
    writer.fail(new ApiError('provider_timeout', 'Late')).toString('utf8'),
    'event: error\ndata: {"type":"error","error":{"type":"timeout_error","message":"Late"},"request_id":"req-1"}\n\n',
  )
})

test("a provider's own events go out as they came, and its last ones with the charge", () => {
  const writer = new UnfilteredMessages(IDENTITY)
  const sent = Buffer.from('event: content_block_start\ndata: {"made_up":1}\n\n')
  const events: AnswerEvent[] = [
    { type: 'wire', sent },
    { type: 'text', choice: 0, text: 'Hi' },
    { type: 'wire', sent: { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { made_up: 1 } } },
    { type: 'wire', sent: { type: 'message_stop' } },
  ]
  assert.equal(writer.write(events).toString('utf8'), sent.toString('utf8'))
  const end = new AnswerEnd()
  for (const event of events) end.add(event)
  const tail = writer.end(end.result(), USAGE).toString('utf8')
  assert.match(tail, /^event: message_delta\ndata: \{.*"made_up":1,.*"cost":0\.0015/)
  assert.match(tail, /event: message_stop\ndata: \{"type":"message_stop"\}\n\n$/)
  const body = { type: 'message', id: 'msg_up', model: 'up', content: [{ made_up: 1 }], usage: { service_tier: 's' } }
  assert.partialDeepStrictEqual(
    new UnfilteredMessages(IDENTITY).whole(foldAnswer(events), USAGE, [{ type: 'wire', sent: body }]),
    { id: 'msg_1-a', model: 'a/b', content: [{ made_up: 1 }], usage: { service_tier: 's', input_tokens: 5 } },
  )
})

test('a provider that leaves out its last events has ended all the same', () => {
  const writer = new UnfilteredMessages(IDENTITY)
  const end = new AnswerEnd()
  end.add({ type: 'text', choice: 0, text: 'Hi' })
  const tail = writer.end(end.result(), USAGE).toString('utf8')
  assert.match(tail, /^event: message_delta\n.*"end_turn".*\n\nevent: message_stop\n/)
})
