import assert from 'node:assert/strict'
import { isStream, posted, type Posted } from './chat-fold.ts'

/** A parsed answer; a test that reads a missing field fails by itself. */
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

/** A Responses answer as a client sees it, streamed or not. */
export interface FoldedResponse extends Posted {
  /** The error of the HTTP body, or of a failed Response with its `error_type`. */
  readonly error: Readonly<Record<string, unknown>> | null
  readonly text: string
  readonly reasoning: string
  readonly refusal: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  /** The final Response; if the error came before the first byte, the error body. */
  // The bodies are whatever the server sent; the assertions of the tests are their check.
  readonly response: Json
  readonly events: readonly Json[]
}

/** Sends a Responses request and folds the answer. Streams are checked for everything that clients rely on. */
export async function respond(
  url: string,
  key: string,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<FoldedResponse> {
  const answer = await posted(`${url}/v1/responses`, { authorization: `Bearer ${key}`, ...headers }, body)
  if (!isStream(answer)) return foldedResponse(answer, JSON.parse(answer.raw), [])
  const events = eventsOf(answer.raw)
  checkStream(events)
  return foldedResponse(answer, events.at(-1)?.response, events)
}

/** The parsed events of a stream; asserts that the name of each is its type. */
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

function foldedResponse(answer: Posted, response: Json, events: readonly Json[]): FoldedResponse {
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
    ...answer,
    error: response?.error ?? null,
    text: parts('output_text', 'text', (item) => item.content ?? []),
    refusal: parts('refusal', 'refusal', (item) => item.content ?? []),
    reasoning: parts('summary_text', 'text', (item) => item.summary ?? []),
    calls: output
      .filter((item: Json) => item.type === 'function_call')
      .map((item: Json) => ({ id: item.call_id, name: item.name, arguments: item.arguments })),
    response,
    events,
  }
}

const TEXTS: Readonly<Record<string, string>> = {
  'response.output_text.delta': 'text',
  'response.refusal.delta': 'refusal',
  'response.reasoning_summary_text.delta': 'summary',
  'response.function_call_arguments.delta': 'arguments',
}

/**
 * Asserts that the numbers have no gaps, there is one id, every item is added once and done once, and the pieces form
 * the final Response.
 */
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

/** An answer of the Messages API as its client sees it, streamed or not. */
export interface FoldedMessage extends Posted {
  readonly error: Readonly<Record<string, string>> | null
  readonly text: string
  readonly thinking: string
  readonly calls: readonly { readonly name: string; readonly input: unknown }[]
  /** The whole message, as a client assembles it from a stream. */
  readonly message: Json
  /** The number of blocks of a stream that were not closed. */
  readonly unclosed: number
}

/** Sends a request and folds the answer. A stream is checked for everything that clients rely on. */
export async function say(
  url: string,
  key: string,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<FoldedMessage> {
  const own = { 'x-api-key': key, 'anthropic-version': '2023-06-01' }
  const answer = await posted(`${url}/v1/messages?beta=true`, { ...own, ...headers }, body)
  assert.equal(answer.headers['request-id'], answer.headers['x-request-id'])
  const { message, unclosed } = isStream(answer)
    ? put(eventsOf(answer.raw))
    : { message: JSON.parse(answer.raw), unclosed: 0 }
  const content: readonly Json[] = message.content ?? []
  const joined = (type: string, field: string): string =>
    content.flatMap((block) => (block.type === type ? [block[field]] : [])).join('')
  return {
    ...answer,
    error: message.type === 'error' ? message.error : null,
    text: joined('text', 'text'),
    thinking: joined('thinking', 'thinking'),
    calls: content.flatMap((block) => (block.type === 'tool_use' ? [{ name: block.name, input: block.input }] : [])),
    message,
    unclosed,
  }
}

/** The message that Anthropic's SDK assembles from a stream. */
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

/** The input of a tool call: an object, or the unparsed text if it is not valid JSON. */
export function inputOf(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    const input: unknown = JSON.parse(text)
    return typeof input === 'object' && input !== null && !Array.isArray(input) ? input : {}
  } catch {
    return { arguments: text }
  }
}

/** The message that a client assembles from a stream of Cohere's protocol. */
export function foldedCohere(raw: string): Json {
  assert.ok(raw.endsWith('data: [DONE]\n\n'), raw)
  const events = eventsOf(raw.slice(0, -'data: [DONE]\n\n'.length))
  assert.equal(events[0].type, 'message-start')
  const content: Json[] = []
  const calls: Json[] = []
  /** Pieces of several calls may alternate, those of texts may not. */
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

/** An answer of `generateContent` as its client sees it, streamed or not. */
export interface FoldedContent extends Posted {
  readonly error: Json
  readonly text: string
  readonly thoughts: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: unknown }[]
  /** The signatures of the parts, each with the name of the call in the same part. */
  readonly signatures: readonly (readonly [call: string | null, signature: string])[]
  /** All finish reasons: one, in the last chunk, unless an old provider sends one with each chunk. */
  readonly finishes: readonly string[]
  readonly usage: Json
  readonly model: string
  /** All parts in order, as a client sends them back. */
  readonly parts: readonly Json[]
}

export type Framing = 'whole' | 'sse' | 'array'

/** Sends a request and folds the answer. A stream is checked for everything that clients rely on. */
export async function generate(
  url: string,
  key: string,
  model: string,
  framing: Framing,
  body: Record<string, unknown>,
): Promise<FoldedContent> {
  const word = framing === 'whole' ? 'generateContent' : 'streamGenerateContent'
  const path = `/v1beta/models/${model}:${word}${framing === 'sse' ? '?alt=sse' : ''}`
  const answer = await posted(`${url}${path}`, { 'x-goog-api-key': key }, body)
  const chunks = chunksOf(answer.raw, answer.status === 200 ? framing : 'whole')
  const last = chunks.at(-1)
  const firsts: readonly Json[] = chunks.flatMap(({ candidates = [] }) =>
    candidates.filter(({ index = 0 }: Json) => index === 0),
  )
  const parts = firsts.flatMap(({ content }) => content?.parts ?? [])
  const joined = (isThought: boolean): string =>
    parts.flatMap(({ text = '', thought = false }) => (thought === isThought ? [text] : [])).join('')
  return {
    ...answer,
    error: last.error ?? null,
    text: joined(false),
    thoughts: joined(true),
    calls: parts.flatMap(({ functionCall: call }) => (call === undefined ? [] : [call])),
    signatures: parts.flatMap(({ functionCall: call, thoughtSignature: signature }) =>
      signature === undefined ? [] : [[call?.name ?? null, signature] as const],
    ),
    finishes: firsts.flatMap(({ finishReason }) => (finishReason === undefined ? [] : [finishReason])),
    usage: last.usageMetadata ?? null,
    model: last.modelVersion ?? '',
    parts,
  }
}

export function chunksOf(raw: string, framing: Framing): readonly Json[] {
  if (framing === 'sse') {
    const blocks = raw.split('\n\n').filter((block) => block.trim() !== '')
    for (const block of blocks) assert.match(block, /^\s*data: \{/)
    return blocks.map((block) => JSON.parse(block.trim().slice('data: '.length)))
  }
  const parsed = JSON.parse(raw)
  assert.equal(Array.isArray(parsed), framing === 'array', raw)
  return framing === 'array' ? parsed : [parsed]
}
