import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../base/errors.ts'
import { AnswerEnd } from '../../../kinds/answer/end.ts'
import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import { foldAnswer } from '../../../kinds/answer/fold.ts'
import type { ChargedUsage } from '../../../kinds/answer/writer.ts'
import { parseResponses } from './parse.ts'
import { ResponsesWriter } from './writer.ts'

const IDENTITY = {
  id: 'gen-1763651164-Xk3vQ9pLmT2rWc8ZbA1d',
  created: 1_763_651_164,
  model: 'openai/gpt-4o-mini',
  provider: 'OpenAI',
}
const USAGE: ChargedUsage = {
  report: {
    usage: { input: 24, output: 9 },
    inputTokens: 24,
    outputTokens: 9,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    implausible: false,
  },
  chargedMicro: 900n,
}
const stop: AnswerEvent = { type: 'finish', choice: 0, native: 'stop' }
const text = (said: string): AnswerEvent => ({ type: 'text', choice: 0, text: said })
const reasoning = (said: string): AnswerEvent => ({ type: 'reasoning', choice: 0, text: said })
const call = (index: number): AnswerEvent => ({ type: 'tool_call', choice: 0, index, id: `call_${index}`, name: 'w' })
const args = (index: number, said: string): AnswerEvent => ({ type: 'tool_arguments', choice: 0, index, text: said })

function writer(body: Record<string, unknown> = {}): ResponsesWriter {
  return new ResponsesWriter(IDENTITY, parseResponses({ input: 'x', ...body }).echo, { now: () => 1_763_651_165_900 })
}

// Our own writer made them; the assertions check their form.
// oxlint-disable-next-line typescript/no-explicit-any
function parsed(bytes: string): any[] {
  return bytes
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => {
      const [name, data, ...more] = block.split('\n')
      assert.equal(more.length, 0, block)
      const event = JSON.parse(String(data).slice('data: '.length))
      assert.equal(name, `event: ${event.type}`)
      return event
    })
}

// oxlint-disable-next-line typescript/no-explicit-any
function streamed(batches: readonly (readonly AnswerEvent[])[]): any[] {
  const own = writer()
  const end = new AnswerEnd()
  const out = batches.map((batch) => {
    for (const event of batch) end.add(event)
    return own.write(batch).toString()
  })
  const events = parsed(out.join('') + own.end(end.result(), USAGE).toString())
  assert.deepEqual(
    events.map(({ sequence_number: number }) => number),
    events.map((_event, index) => index),
  )
  return events
}

// oxlint-disable-next-line typescript/no-explicit-any
function whole(events: readonly AnswerEvent[]): any {
  return writer().whole(foldAnswer(events), USAGE, events)
}

function typesOf(events: readonly { readonly type: string }[]): readonly string[] {
  return events.map(({ type }) => type.replace('response.', ''))
}

test('a whole answer has all the keys of wire.md 2.4, in its order', () => {
  assert.equal(
    JSON.stringify(whole([text('Hello there!'), stop])),
    '{"id":"resp-1763651164-Xk3vQ9pLmT2rWc8ZbA1d","object":"response","created_at":1763651164,"completed_at":1763651165,"status":"completed",' +
      '"background":false,"error":null,"incomplete_details":null,"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"metadata":{},' +
      '"model":"openai/gpt-4o-mini",' +
      '"output":[{"type":"message","id":"msg-1763651164-Xk3vQ9pLmT2rWc8ZbA1d-0","role":"assistant","status":"completed",' +
      '"content":[{"type":"output_text","text":"Hello there!","annotations":[],"logprobs":[]}]}],' +
      '"parallel_tool_calls":true,"previous_response_id":null,"prompt_cache_key":null,"reasoning":{"effort":null,"summary":null},' +
      '"safety_identifier":null,"service_tier":null,"store":false,"temperature":1,"text":{"format":{"type":"text"}},' +
      '"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1,"frequency_penalty":0,"presence_penalty":0,"truncation":"disabled",' +
      '"usage":{"input_tokens":24,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":9,' +
      '"output_tokens_details":{"reasoning_tokens":0},"total_tokens":33,"cost":0.0009,"currency":"RUB"},"user":null}',
  )
})

test('a stream tells reasoning, message and calls in the order of wire.md 2.4', () => {
  const events = streamed([
    [reasoning('I '), reasoning('think')],
    [text('Hel')],
    [text('lo')],
    [call(0), args(0, '{"a":'), args(0, '"1"}')],
    [stop],
  ])
  assert.deepEqual(typesOf(events), [
    'created',
    'in_progress',
    'output_item.added',
    'reasoning_summary_part.added',
    'reasoning_summary_text.delta',
    'reasoning_summary_text.delta',
    'reasoning_summary_text.done',
    'reasoning_summary_part.done',
    'output_item.done',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'output_item.added',
    'function_call_arguments.delta',
    'function_call_arguments.delta',
    'function_call_arguments.done',
    'output_item.done',
    'completed',
  ])
  const last = events.at(-1).response
  assert.deepEqual(
    last.output.map(({ type }: { type: string }) => type),
    ['reasoning', 'message', 'function_call'],
  )
  assert.deepEqual(last.output[2], {
    type: 'function_call',
    id: 'fc-1763651164-Xk3vQ9pLmT2rWc8ZbA1d-2',
    call_id: 'call_0',
    name: 'w',
    arguments: '{"a":"1"}',
    status: 'completed',
  })
  assert.deepEqual(
    [events[0].response.status, events[0].response.output, events[0].response.usage, events[0].response.completed_at],
    ['in_progress', [], null, null],
  )
  assert.equal(last.usage.cost, 0.0009)
})

test('a stream and a whole answer of the same events are the same Response', () => {
  const answers: readonly (readonly AnswerEvent[])[] = [
    [text('Hello'), stop],
    [text(''), stop],
    [
      reasoning('hm'),
      call(0),
      args(0, '{}'),
      call(1),
      args(1, '{"b":2}'),
      { type: 'finish', choice: 0, native: 'tool_calls' },
    ],
    [{ type: 'refusal', choice: 0, text: 'No.' }, stop],
    [text('cut'), { type: 'finish', choice: 0, native: 'length' }],
    [
      {
        type: 'extra',
        choice: 0,
        field: 'annotations',
        value: [{ type: 'url_citation', url_citation: { url: 'https://x', title: 'X', start_index: 0, end_index: 2 } }],
      },
      text('It is so'),
      stop,
    ],
    [
      text('See'),
      {
        type: 'extra',
        choice: 0,
        field: 'images',
        value: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
      },
      stop,
    ],
  ]
  for (const answer of answers)
    assert.deepEqual(streamed(answer.map((event) => [event])).at(-1).response, whole(answer))
})

test('calls whose arguments come mixed stay apart, and all are done before the end', () => {
  const events = streamed([[call(0), call(1), args(0, '{'), args(1, '['), args(0, '}'), args(1, ']')], [stop]])
  assert.deepEqual(
    events.at(-1).response.output.map((item: { arguments: string }) => item.arguments),
    ['{}', '[]'],
  )
  assert.deepEqual(
    events.filter(({ type }) => type === 'response.output_item.done').map(({ output_index: index }) => index),
    [0, 1],
  )
})

test('an answer cut by length or by a filter is incomplete, and so are its open items', () => {
  const events = streamed([[call(0), args(0, '{"a":')], [{ type: 'finish', choice: 0, native: 'length' }]])
  const last = events.at(-1)
  assert.deepEqual(
    [
      last.type,
      last.response.status,
      last.response.incomplete_details,
      last.response.output[0].status,
      last.response.completed_at,
    ],
    ['response.incomplete', 'incomplete', { reason: 'max_output_tokens' }, 'incomplete', null],
  )
  assert.deepEqual(whole([text('x'), { type: 'finish', choice: 0, native: 'content_filter' }]).incomplete_details, {
    reason: 'content_filter',
  })
})

test('a finish that is an error is a failed Response', () => {
  const failed = whole([text('x'), { type: 'finish', choice: 0, native: 'error' }])
  assert.deepEqual(
    [failed.status, failed.error, failed.error_type],
    ['failed', { code: 'server_error', message: 'Provider returned an error' }, 'provider_error'],
  )
})

test('refusals have their own part and events', () => {
  const events = streamed([
    [
      { type: 'refusal', choice: 0, text: 'I can' },
      { type: 'refusal', choice: 0, text: 'not.' },
    ],
    [stop],
  ])
  assert.deepEqual(typesOf(events).slice(2, -1), [
    'output_item.added',
    'content_part.added',
    'refusal.delta',
    'refusal.delta',
    'refusal.done',
    'content_part.done',
    'output_item.done',
  ])
  assert.deepEqual(events.at(-1).response.output[0].content, [{ type: 'refusal', refusal: 'I cannot.' }])
})

test('annotations come in the form of Responses, whenever they come', () => {
  const events = streamed([
    [
      {
        type: 'extra',
        choice: 0,
        field: 'annotations',
        value: [{ type: 'url_citation', url_citation: { url: 'https://x', title: 'X' } }],
      },
    ],
    [text('It is so')],
    [stop],
  ])
  const flat = { type: 'url_citation', start_index: 0, end_index: 0, title: 'X', url: 'https://x' }
  const added = events.find(({ type }) => type === 'response.output_text.annotation.added')
  assert.deepEqual([added.annotation_index, added.content_index, added.annotation], [0, 0, flat])
  assert.deepEqual(events.at(-1).response.output[0].content[0].annotations, [flat])
})

test('a failure after the head: response.failed, its number without a gap, open items not closed', () => {
  const own = writer()
  const head = own.write([text('half')]).toString()
  const events = parsed(
    head +
      own
        .fail(new ApiError('provider_error', 'Provider disconnected mid-stream'), { ...USAGE, chargedMicro: 0n })
        .toString(),
  )
  assert.deepEqual(
    events.map(({ sequence_number: number }) => number),
    events.map((_event, index) => index),
  )
  assert.ok(!typesOf(events).includes('output_item.done'))
  const { type, response } = events.at(-1)
  assert.equal(type, 'response.failed')
  assert.deepEqual(
    [response.status, response.error, response.error_type, response.usage.cost],
    ['failed', { code: 'server_error', message: 'Provider disconnected mid-stream' }, 'provider_error', 0],
  )
})

test('a failure before anything was said begins the stream, even where something was kept back', () => {
  for (const before of [
    [],
    [
      { type: 'item', choice: 0, step: 'begin', of: 'reasoning', fields: {} },
      { type: 'item', choice: 0, step: 'end', of: 'reasoning', index: 0, fields: { encrypted_content: 'x' } },
    ],
  ] satisfies (readonly AnswerEvent[])[]) {
    const own = writer()
    assert.equal(own.write(before).length, 0, 'nothing says anything yet')
    const events = parsed(own.fail(new ApiError('provider_unavailable', 'busy'), null).toString())
    assert.deepEqual(typesOf(events), ['created', 'in_progress', 'failed'])
    assert.deepEqual(
      events.map(({ sequence_number: number }) => number),
      [0, 1, 2],
    )
    assert.equal(events.at(-1).response.usage, null)
  }
})

test('errors have the names that Responses has for them, and a rate says how long to wait', () => {
  const failed = (error: ApiError): { code: string; message: string } =>
    parsed(writer().fail(error, null).toString()).at(-1).response.error
  const codeOf = (error: ApiError): string => failed(error).code
  assert.equal(codeOf(new ApiError('input_tokens_exceeded', 'x')), 'context_length_exceeded')
  assert.equal(codeOf(new ApiError('token_limit_exceeded', 'x')), 'context_length_exceeded')
  assert.equal(codeOf(new ApiError('insufficient_balance', 'x')), 'insufficient_quota')
  assert.equal(codeOf(new ApiError('limit_exceeded', 'x')), 'insufficient_quota')
  assert.deepEqual(failed(new ApiError('rate_limit_exceeded', 'Too many.', { retryAfterSeconds: 11 })), {
    code: 'rate_limit_exceeded',
    message: 'Too many. Please try again in 11s.',
  })
  assert.equal(codeOf(new ApiError('provider_timeout', 'x')), 'server_error')
  assert.equal(codeOf(new ApiError('rate_limit_exceeded', 'x')), 'rate_limit_exceeded')
  assert.equal(codeOf(new ApiError('content_filtered', 'x')), 'invalid_prompt')
})

test('items of a native provider pass as they are, in our place and number', () => {
  const native = (event: Record<string, unknown>): AnswerEvent => ({
    type: 'item',
    choice: 0,
    step: 'native',
    key: 7,
    event,
  })
  const events = streamed([
    [text('Searching.'), { type: 'item', choice: 0, step: 'end', of: 'message', index: 0, fields: {} }],
    [
      native({
        type: 'response.output_item.added',
        output_index: 7,
        item: { type: 'web_search_call', id: 'ws_1', status: 'in_progress' },
      }),
    ],
    [native({ type: 'response.web_search_call.searching', output_index: 7, item_id: 'ws_1' })],
    [
      native({
        type: 'response.output_item.done',
        output_index: 7,
        item: { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { query: 'q' } },
      }),
    ],
    [
      { type: 'item', choice: 0, step: 'begin', of: 'message', fields: { phase: 'final_answer' } },
      text('Found.'),
      stop,
    ],
  ])
  const passed = events.filter(({ output_index: index }) => index === 1)
  assert.deepEqual(typesOf(passed), ['output_item.added', 'web_search_call.searching', 'output_item.done'])
  assert.deepEqual(passed[1], {
    type: 'response.web_search_call.searching',
    sequence_number: passed[1].sequence_number,
    item_id: 'ws_1',
    output_index: 1,
  })
  const { output } = events.at(-1).response
  assert.deepEqual(output[1], { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { query: 'q' } })
  assert.deepEqual(
    [output[0].content[0].text, output[2].content[0].text, output[2].phase],
    ['Searching.', 'Found.', 'final_answer'],
  )
})

test('two reasoning items, two parts and encrypted content keep their places', () => {
  const events = streamed([
    [
      { type: 'item', choice: 0, step: 'begin', of: 'reasoning', fields: {} },
      reasoning('one'),
      { type: 'item', choice: 0, step: 'part' },
      reasoning('two'),
    ],
    [{ type: 'item', choice: 0, step: 'end', of: 'reasoning', index: 0, fields: { encrypted_content: 'aaa' } }],
    [
      { type: 'item', choice: 0, step: 'begin', of: 'reasoning', fields: {} },
      { type: 'item', choice: 0, step: 'end', of: 'reasoning', index: 0, fields: { encrypted_content: 'bbb' } },
    ],
    [
      { type: 'item', choice: 0, step: 'begin', of: 'reasoning', fields: {} },
      { type: 'item', choice: 0, step: 'end', of: 'reasoning', index: 0, fields: {} },
    ],
    [text('done'), stop],
  ])
  const { output } = events.at(-1).response
  assert.deepEqual(
    output.map(({ type }: { type: string }) => type),
    ['reasoning', 'reasoning', 'message'],
  )
  assert.deepEqual(
    output[0].summary.map((part: { text: string }) => part.text),
    ['one', 'two'],
  )
  assert.deepEqual([output[0].encrypted_content, output[1].encrypted_content, output[1].summary], ['aaa', 'bbb', []])
  const done = events.find(({ type }) => type === 'response.output_item.done')
  assert.equal(done.item.encrypted_content, 'aaa')
})

test('reasoning details come encoded to a client that asks for them, and go back with their message', () => {
  const detail = (data: string): AnswerEvent => ({
    type: 'extra',
    choice: 0,
    field: 'reasoning_details',
    value: [{ type: 'reasoning.encrypted', data }],
  })
  const events: readonly AnswerEvent[] = [
    reasoning('hm'),
    detail('early'),
    text('Looking.'),
    call(0),
    args(0, '{}'),
    detail('late'),
    { type: 'finish', choice: 0, native: 'tool_calls' },
  ]
  const { output } = JSON.parse(
    JSON.stringify(writer({ include: ['reasoning.encrypted_content'] }).whole(foldAnswer(events), USAGE, events)),
  )
  assert.deepEqual(
    output.map(({ type }: { type: string }) => type),
    ['reasoning', 'message', 'function_call', 'reasoning'],
  )
  const { chat, input } = parseResponses({
    input: [
      { role: 'user', content: 'x' },
      ...output,
      { type: 'function_call_output', call_id: 'call_0', output: 'y' },
    ],
  })
  assert.deepEqual(chat.messages[1], {
    role: 'assistant',
    content: [{ type: 'text', text: 'Looking.' }],
    reasoning: 'hm',
    reasoning_details: [
      { type: 'reasoning.encrypted', data: 'early' },
      { type: 'reasoning.encrypted', data: 'late' },
    ],
    tool_calls: [{ id: 'call_0', type: 'function', function: { name: 'w', arguments: '{}' } }],
  })
  assert.ok(
    input.items.every((item) => item.type !== 'reasoning' || item.encryptedContent === null),
    'no native provider gets details that we encoded',
  )
  assert.ok(!JSON.stringify(whole(events)).includes('encrypted_content'), 'who does not ask for it gets none')
  assert.deepEqual(
    parseResponses({
      input: [
        { type: 'reasoning', summary: [], encrypted_content: 'tollgate-reasoning-1:broken' },
        { role: 'user', content: 'x' },
      ],
    }).chat.messages,
    [{ role: 'user', content: 'x' }],
  )
})
