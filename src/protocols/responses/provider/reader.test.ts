import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import { OutputItems, ResponsesReader } from './reader.ts'

type Step = Readonly<Record<string, unknown>> & { readonly type: string }

function told(
  steps: readonly Step[],
  output: readonly unknown[] = [],
): { readonly text: string; readonly reasoning: string; readonly annotations: number } {
  const items = new OutputItems('gen-1')
  const events: AnswerEvent[] = steps.flatMap(({ type, ...event }) => items.read(type, event) ?? [])
  events.push(...(items.complete(output) ?? []))
  const of = (type: 'text' | 'reasoning'): string =>
    events.map((event) => (event.type === type ? event.text : '')).join('')
  return {
    text: of('text'),
    reasoning: of('reasoning'),
    annotations: events.reduce(
      (sum, event) => sum + (event.type === 'extra' && Array.isArray(event.value) ? event.value.length : 0),
      0,
    ),
  }
}

const delta = (at: number, text: string): Step => ({
  type: 'response.output_text.delta',
  output_index: 0,
  content_index: at,
  delta: text,
})
const done = (item: unknown): Step => ({ type: 'response.output_item.done', output_index: 0, item })
const added: Step = { type: 'response.output_item.added', output_index: 0, item: { type: 'message', content: [] } }
const message = (...texts: readonly string[]): unknown => ({
  type: 'message',
  content: texts.map((text) => ({ type: 'output_text', text, annotations: [{ type: 'url_citation' }] })),
})

test('text whose deltas are numbered otherwise than the parts of the finished item is sent once', () => {
  for (const at of [0, 1, 7]) {
    assert.equal(
      told([added, delta(at, 'Hel'), delta(at, 'lo'), done(message('Hello'))]).text,
      'Hello',
      `content_index ${at}`,
    )
    assert.equal(
      told([added, delta(at, 'Hel'), done(message('Hello'))], [message('Hello')]).text,
      'Hello',
      `content_index ${at}, and its rest`,
    )
  }
  assert.equal(told([added, delta(1, 'One'), delta(2, 'Tw'), done(message('One', 'Two', 'Three'))]).text, 'OneTwoThree')
  assert.equal(
    told([added, delta(1, 'Two'), done(message('One', 'Two'))]).text,
    'TwoOne',
    'where the numbers are those of the item they count',
  )
})

test('annotations and reasoning are sent once, whatever their number', () => {
  const annotation: Step = {
    type: 'response.output_text.annotation.added',
    output_index: 0,
    content_index: 3,
    annotation: { type: 'url_citation' },
  }
  assert.equal(told([added, delta(3, 'Hello'), annotation, done(message('Hello'))]).annotations, 1)
  const thought: Step = {
    type: 'response.reasoning_summary_text.delta',
    output_index: 0,
    summary_index: 1,
    delta: 'Hm',
  }
  assert.equal(
    told([
      { type: 'response.output_item.added', output_index: 0, item: { type: 'reasoning' } },
      thought,
      done({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hmm' }] }),
    ]).reasoning,
    'Hmm',
  )
})

test('a response that was put into a queue is refused, and the log says so', () => {
  for (const status of ['queued', 'in_progress']) {
    const found = new ResponsesReader('gen-1', 'p').whole({ id: 'resp_1', status, output: [], error: null })
    assert.ok('reason' in found)
    assert.match(found.said ?? '', new RegExp(`put into a queue \\(${status}\\)`))
  }
})

test('arguments that come before their call wait until it is named', () => {
  const calls = (steps: readonly Step[], output: readonly unknown[] = []): readonly unknown[] => {
    const items = new OutputItems('gen-1')
    const events = steps.flatMap(({ type, ...event }) => items.read(type, event) ?? [])
    return [...events, ...(items.complete(output) ?? [])].flatMap((event) =>
      event.type === 'tool_call' ? [event.id, event.name] : event.type === 'tool_arguments' ? [event.text] : [],
    )
  }
  const early: Step = { type: 'response.function_call_arguments.delta', output_index: 0, delta: '{"a":' }
  const late: Step = { ...early, delta: '1}' }
  const item = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '' }
  const named: Step = { type: 'response.output_item.added', output_index: 0, item }
  const whole = { ...item, arguments: '{"a":1}' }
  assert.deepEqual(calls([early, named, late, done(whole)]), ['call_1', 'f', '{"a":', '1}'])
  assert.deepEqual(calls([early, late, done(whole)]), ['call_1', 'f', '{"a":1}'])
  assert.deepEqual(calls([early, done(whole)]), ['call_1', 'f', '{"a":', '1}'])
  assert.deepEqual(calls([{ ...named, item: { type: 'function_call' } }, early, done(whole)]), [
    'call_1',
    'f',
    '{"a":',
    '1}',
  ])
  assert.deepEqual(calls([early, late], [whole]), ['call_1', 'f', '{"a":1}'], 'named in the last event alone')
  assert.deepEqual(calls([early, done({ type: 'function_call', arguments: '{"a":1}' })]), [], 'never named')
})
