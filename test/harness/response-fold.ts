import assert from 'node:assert/strict'
import { request } from 'undici'

/** A parsed answer; a test that reads a field which is not there fails by itself. */
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

/** A Responses answer as a client sees it, streamed or not. */
export interface FoldedResponse {
  readonly status: number
  /** That of the HTTP body, or of a failed Response with its `error_type`. */
  readonly error: Readonly<Record<string, unknown>> | null
  readonly text: string
  readonly reasoning: string
  readonly refusal: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  /** The final Response; of an error before the first byte the error body. */
  // The bodies are whatever the server sent; the assertions of the tests are their check.
  readonly response: Json
  readonly events: readonly Json[]
  readonly headers: Readonly<Record<string, unknown>>
  readonly raw: string
}

/** Sends a Responses request and folds the answer. A stream is checked for everything that clients rely on. */
export async function respond(
  url: string,
  key: string,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<FoldedResponse> {
  const answer = await request(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const raw = await answer.body.text()
  if (!String(answer.headers['content-type']).startsWith('text/event-stream'))
    return folded(answer.statusCode, JSON.parse(raw), [], answer.headers, raw)
  const events = eventsOf(raw)
  checkStream(events)
  return folded(answer.statusCode, events.at(-1)?.response, events, answer.headers, raw)
}

/** The parsed events of a stream; each one's name must be its type. */
export function eventsOf(raw: string): Json[] {
  return raw.split('\n\n').flatMap((block) => {
    const lines = block.split('\n').filter((line) => line !== '' && !line.startsWith(':') && !line.startsWith('id: '))
    if (lines.length === 0) return []
    assert.equal(lines.length, 2, block)
    const event = JSON.parse(String(lines[1]).replace(/^data: /, ''))
    assert.equal(lines[0], `event: ${event.type}`)
    return [event]
  })
}

function folded(
  status: number,
  response: Json,
  events: readonly Json[],
  headers: Record<string, unknown>,
  raw: string,
): FoldedResponse {
  const output = response?.output ?? []
  const parts = (type: string, field: string, list: (item: Json) => Json[]): string =>
    output
      .flatMap((item: Json) =>
        list(item)
          .filter((part) => part.type === type)
          .map((part) => part[field]),
      )
      .join('')
  return {
    status,
    error: response?.error ?? null,
    text: parts('output_text', 'text', (item) => item.content ?? []),
    refusal: parts('refusal', 'refusal', (item) => item.content ?? []),
    reasoning: parts('summary_text', 'text', (item) => item.summary ?? []),
    calls: output
      .filter((item: Json) => item.type === 'function_call')
      .map((item: Json) => ({ id: item.call_id, name: item.name, arguments: item.arguments })),
    response,
    events,
    headers,
    raw,
  }
}

const TEXTS: Readonly<Record<string, string>> = {
  'response.output_text.delta': 'text',
  'response.refusal.delta': 'refusal',
  'response.reasoning_summary_text.delta': 'summary',
  'response.function_call_arguments.delta': 'arguments',
}

/** No gaps in the numbers, one id, every item added once and done once, and the pieces add up to the final Response. */
export function checkStream(events: readonly Json[]): void {
  assert.deepEqual(
    events.map(({ sequence_number: number }) => number),
    events.map((_event, index) => index),
  )
  assert.deepEqual(
    events.slice(0, 2).map(({ type }) => type),
    events.length > 2 || events[1]?.type === 'response.in_progress' ? ['response.created', 'response.in_progress'] : [],
  )
  const last = events.at(-1)
  assert.match(last.type, /^response\.(completed|incomplete|failed)$/)
  assert.equal(last.type, `response.${last.response.status}`)
  assert.equal(new Set(events.flatMap(({ response }) => (response === undefined ? [] : [response.id]))).size, 1)
  const added = events
    .filter(({ type }) => type === 'response.output_item.added')
    .map(({ output_index: index }) => index)
  assert.deepEqual(
    added,
    added.map((_index, position) => position),
    'items are added in order',
  )
  const done = events.filter(({ type }) => type === 'response.output_item.done')
  const pieces = new Map<string, string>()
  for (const { type, output_index: index, delta } of events) {
    const field = TEXTS[type]
    if (field !== undefined) pieces.set(`${index} ${field}`, (pieces.get(`${index} ${field}`) ?? '') + delta)
  }
  for (const [index, item] of last.response.output.entries()) {
    if (last.response.status !== 'failed')
      assert.deepEqual(done.filter(({ output_index: at }) => at === index).length, 1, `item ${index} is done once`)
    const joined = (list: Json[], field: string): string => list.map((part) => part[field] ?? '').join('')
    if (item.type === 'message')
      assert.equal(
        (pieces.get(`${index} text`) ?? '') + (pieces.get(`${index} refusal`) ?? ''),
        joined(item.content, 'text') + joined(item.content, 'refusal'),
      )
    if (item.type === 'reasoning') assert.equal(pieces.get(`${index} summary`) ?? '', joined(item.summary, 'text'))
    if (item.type === 'function_call') assert.equal(pieces.get(`${index} arguments`) ?? '', item.arguments)
  }
}
