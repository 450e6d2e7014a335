import assert from 'node:assert/strict'
import { eventsOf } from './response-fold.ts'

/** A parsed answer; a test that reads a field which is not there fails by itself. */
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

/** The message of a stream, as its client puts it together. */
export function folded(raw: string): Json {
  assert.ok(raw.endsWith('data: [DONE]\n\n'), raw)
  const events = eventsOf(raw.slice(0, -'data: [DONE]\n\n'.length))
  assert.equal(events[0].type, 'message-start')
  const content: Json[] = []
  const calls: Json[] = []
  /** Calls may be written by turns, texts not. */
  const open = new Set<string>()
  for (const { type, index, delta } of events.slice(1, -1)) {
    const { content: said, tool_calls: call } = delta?.message ?? {}
    const [what = '', step = ''] = [type.slice(0, type.lastIndexOf('-')), type.slice(type.lastIndexOf('-') + 1)]
    const item = `${what} ${index}`
    if (step === 'start') {
      assert.ok(![...open].some((one) => one.startsWith('content')), raw)
      open.add(item)
      if (what === 'content') assert.equal(content.push({ ...said }) - 1, index)
      else assert.equal(calls.push(structuredClone(call)) - 1, index)
    } else assert.ok(open.has(item), raw)
    if (type === 'content-delta') for (const [name, text] of Object.entries(said)) content[index][name] += text
    if (type === 'tool-call-delta') calls[index].function.arguments += call.function.arguments
    if (step === 'end') open.delete(item)
  }
  assert.equal(open.size, 0, raw)
  const last = events.at(-1)
  assert.equal(last.type, 'message-end')
  return { ...last.delta, message: { content, tool_calls: calls } }
}
