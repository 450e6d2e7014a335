import assert from 'node:assert/strict'
import { request } from 'undici'
import { eventsOf } from './response-fold.ts'

/** A parsed answer; a test that reads a field which is not there fails by itself. */
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

/** An answer of Messages as its client sees it, streamed or not. */
export interface FoldedMessage {
  readonly status: number
  readonly error: Readonly<Record<string, string>> | null
  readonly text: string
  readonly thinking: string
  readonly calls: readonly { readonly name: string; readonly input: unknown }[]
  /** The whole message, as a client assembles it from a stream. */
  readonly message: Json
  /** Blocks of a stream that were not closed. */
  readonly unclosed: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly raw: string
}

/** Sends a request and folds the answer. A stream is checked for everything that clients rely on. */
export async function say(
  url: string,
  key: string,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<FoldedMessage> {
  const answer = await request(`${url}/v1/messages?beta=true`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01', 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const raw = await answer.body.text()
  assert.equal(answer.headers['request-id'], answer.headers['x-request-id'])
  const isStream = String(answer.headers['content-type']).startsWith('text/event-stream')
  const { message, unclosed } = isStream ? put(eventsOf(raw)) : { message: JSON.parse(raw), unclosed: 0 }
  const content: readonly Json[] = message.content ?? []
  const joined = (type: string, field: string): string =>
    content.flatMap((block) => (block.type === type ? [block[field]] : [])).join('')
  return {
    status: answer.statusCode,
    error: message.type === 'error' ? message.error : null,
    text: joined('text', 'text'),
    thinking: joined('thinking', 'thinking'),
    calls: content.flatMap((block) => (block.type === 'tool_use' ? [{ name: block.name, input: block.input }] : [])),
    message,
    unclosed,
    headers: answer.headers,
    raw,
  }
}

/** The message of a stream, as Anthropic's SDK assembles it. */
export function put(events: readonly Json[]): { readonly message: Json; readonly unclosed: number } {
  const last = events.at(-1)
  if (last?.type === 'error') return { message: last, unclosed: 0 }
  assert.equal(events[0]?.type, 'message_start')
  assert.equal(last?.type, 'message_stop')
  const { message } = structuredClone(events[0])
  assert.deepEqual(message.content, [])
  const inputs = new Map<number, string>()
  const open = new Set<number>()
  for (const event of events.slice(1, -1)) {
    switch (event.type) {
      case 'content_block_start':
        assert.equal(event.index, message.content.length)
        open.add(event.index)
        message.content.push(structuredClone(event.content_block))
        break
      case 'content_block_delta':
        assert.ok(open.has(event.index), JSON.stringify(event))
        take(message.content[event.index], event.delta, inputs, event.index)
        break
      case 'content_block_stop':
        assert.ok(open.delete(event.index), JSON.stringify(event))
        break
      case 'message_delta':
        Object.assign(message, event.delta)
        Object.assign(message.usage, event.usage)
        break
      default:
        assert.equal(event.type, 'ping')
    }
  }
  for (const [index, text] of inputs) message.content[index].input = inputOf(text)
  return { message, unclosed: open.size }
}

function take(block: Json, delta: Json, inputs: Map<number, string>, index: number): void {
  if (delta.type === 'text_delta') block.text += delta.text
  else if (delta.type === 'thinking_delta') block.thinking += delta.thinking
  else if (delta.type === 'signature_delta') block.signature = delta.signature
  else if (delta.type === 'citations_delta') block.citations = [...(block.citations ?? []), delta.citation]
  else {
    assert.equal(delta.type, 'input_json_delta')
    inputs.set(index, (inputs.get(index) ?? '') + delta.partial_json)
  }
}

/** The input of a call: an object, or the unparsed text if it is broken. */
export function inputOf(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    const input: unknown = JSON.parse(text)
    return typeof input === 'object' && input !== null && !Array.isArray(input) ? input : {}
  } catch {
    return { arguments: text }
  }
}
