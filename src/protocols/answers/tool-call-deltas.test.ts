import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnswerEvent } from '../../kinds/answer/event.ts'
import { ToolCallDeltas } from './tool-calls.ts'

function read(...deltas: readonly (readonly unknown[])[]): readonly AnswerEvent[] | null {
  const calls = new ToolCallDeltas('gen-1-abc', 0)
  const events: AnswerEvent[] = []
  for (const delta of deltas) {
    const more = calls.read({ tool_calls: delta })
    if (more === null) return null
    events.push(...more)
  }
  return events
}

const part = (index: number, called: Readonly<Record<string, string>>, id?: string): unknown => ({
  index,
  ...(id === undefined ? {} : { id }),
  function: called,
})
const opens = (index: number, id: string, name: string): AnswerEvent => ({
  type: 'tool_call',
  choice: 0,
  index,
  id,
  name,
})
const says = (index: number, text: string): AnswerEvent => ({ type: 'tool_arguments', choice: 0, index, text })

test('arguments that come before the name of their call follow it', () => {
  assert.deepEqual(read([part(0, { arguments: '{"a"' })], [part(0, { name: 'f', arguments: ':1}' }, 'c')]), [
    opens(0, 'c', 'f'),
    says(0, '{"a":1}'),
  ])
})

test('a call that never has a name is none, and leaves no gap among the others', () => {
  assert.deepEqual(read([part(0, { arguments: '{}' }, 'x')], [part(1, { name: 'g', arguments: '{}' }, 'c')]), [
    opens(0, 'c', 'g'),
    says(0, '{}'),
  ])
})

test('no honest answer has so many calls, or a megabyte of arguments for none', () => {
  assert.equal(read(Array.from({ length: 300 }, (_value, index) => part(index, { arguments: '{' }))), null)
  assert.equal(read([part(0, { arguments: 'x'.repeat(1_048_577) })]), null)
})
