import { errorBody } from '../../../base/client-protocol.ts'
import type { ApiError } from '../../../base/errors.ts'
import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import type { AnswerWriter, ChargedUsage } from '../../../kinds/answer/writer.ts'
import type { ChatAnswer, ChunkIdentity, FinishReason, StreamEnd } from '../../../kinds/chat/answer.ts'
import { inputOf } from '../../answers/tool-calls.ts'
import { isObject, wordOf } from '../../../kinds/fields/body-fields.ts'
import { rubles } from '../../../base/money.ts'
import { toldTier } from '../../../tables/service-tier-table.ts'
import { ownValue } from '../../../base/own-value.ts'
import type { JsonObject } from '../../../base/json-text.ts'
import { ObjectEnd } from '../../../kinds/answer/call-arguments.ts'
import { CLAUDE_REASONING } from '../../models/claude-traits.ts'
import { plainDetail } from '../../../kinds/chat/thoughts.ts'
import { encodeDetails } from '../../../kinds/answer/provenance.ts'

interface MessageIdentity extends Pick<ChunkIdentity, 'id' | 'model'> {
  readonly requestId: string
}

/** Sent during the silence of a stream. */
export const PING = Buffer.from('event: ping\ndata: {"type": "ping"}\n\n')

/** A step of a content block, as a stream sends it. */
type BlockStep =
  | { readonly type: 'content_block_start'; readonly index: number; readonly content_block: JsonObject }
  | { readonly type: 'content_block_delta'; readonly index: number; readonly delta: JsonObject }
  | { readonly type: 'content_block_stop'; readonly index: number }

interface OpenToolBlock {
  readonly index: number
  readonly arguments: ObjectEnd
}

/** The answer's id, derived from the generation's. */
function messageId(generationId: string): string {
  return `msg_${generationId.replace(/^gen-/, '')}`
}

/** Writes the answer of any provider as a message, or as the events of its stream (clients.md 2). */
export class MessagesWriter implements AnswerWriter {
  readonly #identity: MessageIdentity
  readonly #omitsThinking: boolean
  /** Our estimate of the input tokens, for the start of a stream: the provider reports them only at the end. */
  readonly #inputTokens: number
  readonly #blocks: ContentBlocks
  #out = ''
  #started = false

  constructor(identity: MessageIdentity, omitsThinking: boolean, inputTokens: number) {
    this.#identity = identity
    this.#omitsThinking = omitsThinking
    this.#inputTokens = inputTokens
    this.#blocks = new ContentBlocks((step) => this.#event(step), omitsThinking)
  }

  write(events: readonly AnswerEvent[]): Buffer {
    this.#start()
    for (const event of events) this.#blocks.add(event)
    return this.#taken()
  }

  end({ finishes: [finish], serviceTier }: StreamEnd, usage: ChargedUsage): Buffer {
    this.#start()
    this.#blocks.close()
    this.#event({
      type: 'message_delta',
      delta: { stop_reason: stopReason(finish?.finish ?? 'stop', finish?.native ?? null), stop_sequence: null },
      usage: messageUsage(usage, serviceTier),
    })
    this.#event({ type: 'message_stop' })
    return this.#taken()
  }

  fail(error: ApiError): Buffer {
    return errorEvent(error, this.#identity.requestId)
  }

  whole(
    { choices: [choice], serviceTier }: ChatAnswer,
    usage: ChargedUsage,
    events: readonly AnswerEvent[],
  ): Record<string, unknown> {
    return {
      ...this.#head(foldedContent(events, this.#omitsThinking)),
      stop_reason: stopReason(choice?.finish ?? 'stop', choice?.native ?? null),
      stop_sequence: null,
      usage: messageUsage(usage, serviceTier),
    }
  }

  #head(content: readonly unknown[]): Record<string, unknown> {
    const { id, model } = this.#identity
    return { id: messageId(id), type: 'message', role: 'assistant', model, content }
  }

  #start(): void {
    if (this.#started) return
    this.#started = true
    const usage = { input_tokens: this.#inputTokens, output_tokens: 0 }
    const message = { ...this.#head([]), stop_reason: null, stop_sequence: null, usage }
    this.#event({ type: 'message_start', message })
  }

  #event(event: { readonly type: string } & Readonly<Record<string, unknown>>): void {
    this.#out += `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
  }

  #taken(): Buffer {
    const out = this.#out
    this.#out = ''
    return Buffer.from(out)
  }
}

/** The last event of a stream that failed. */
function errorEvent(error: ApiError, requestId: string): Buffer {
  return Buffer.from(`event: error\ndata: ${JSON.stringify(errorBody(error, 'anthropic', requestId))}\n\n`)
}

/** Stop reasons of this protocol that are more specific than the common ones. */
const OWN_WORDS: Readonly<Record<string, FinishReason>> = {
  stop_sequence: 'stop',
  pause_turn: 'stop',
  model_context_window_exceeded: 'length',
}

const WORDS: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
  error: 'end_turn',
}

function stopReason(finish: FinishReason, native: string | null): string {
  if (native !== null && ownValue(OWN_WORDS, native) === finish) return native
  return WORDS[finish]
}

type WrittenBlock = Record<string, unknown>

/** The content of a plain answer, folded from the steps of its stream. */
function foldedContent(events: readonly AnswerEvent[], omitsThinking: boolean): readonly WrittenBlock[] {
  const content: WrittenBlock[] = []
  const inputs = new Map<number, string>()
  const blocks = new ContentBlocks((step) => take(step, content, inputs), omitsThinking)
  for (const event of events) blocks.add(event)
  blocks.close()
  for (const [index, text] of inputs) {
    const block = content[index]
    if (block !== undefined) block['input'] = inputOf(text)
  }
  return content
}

function take(step: BlockStep, content: WrittenBlock[], inputs: Map<number, string>): void {
  if (step.type === 'content_block_start') content[step.index] = { ...step.content_block }
  const block = content[step.index]
  if (step.type !== 'content_block_delta' || block === undefined) return
  const { type, text, thinking, signature, citation, partial_json: json } = step.delta
  switch (type) {
    case 'text_delta':
      block['text'] = `${block['text']}${text}`
      return
    case 'thinking_delta':
      block['thinking'] = `${block['thinking']}${thinking}`
      return
    case 'signature_delta':
      block['signature'] = signature
      return
    case 'citations_delta':
      if (Array.isArray(block['citations'])) block['citations'].push(citation)
      else block['citations'] = [citation]
      return
    case 'input_json_delta':
      inputs.set(step.index, (inputs.get(step.index) ?? '') + json)
  }
}

/**
 * Passes on the answer of a provider of the protocol (clients.md D-14.2). The id and the model are ours, and the last
 * events wait for the charge.
 */
export class UnfilteredMessages implements AnswerWriter {
  readonly #identity: MessageIdentity
  /** The last events, which are sent together. */
  #held: JsonObject[] = []

  constructor(identity: MessageIdentity) {
    this.#identity = identity
  }

  write(events: readonly AnswerEvent[]): Buffer {
    const out: Buffer[] = []
    for (const event of events) {
      if (event.type !== 'wire') continue
      const { sent } = event
      const isLast = !Buffer.isBuffer(sent)
      // Another event follows, so the held events were not the last ones.
      if (!isLast || sent['type'] === 'message_delta') out.push(...this.#held.splice(0).map(eventBytes))
      if (isLast) this.#held.push(sent)
      else out.push(sent)
    }
    return Buffer.concat(out)
  }

  end(end: StreamEnd, usage: ChargedUsage): Buffer {
    const last = this.#held.findLastIndex(({ type }) => type === 'message_delta')
    // A provider may leave out the last events.
    if (last === -1) return this.#translated(end, usage)
    const stop = this.#held.some(({ type }) => type === 'message_stop') ? [] : [{ type: 'message_stop' }]
    const events = this.#held.map((event, index) => (index === last ? charged(reasoned(event, end), usage) : event))
    return Buffer.concat([...events, ...stop].map(eventBytes))
  }

  fail(error: ApiError): Buffer {
    return errorEvent(error, this.#identity.requestId)
  }

  whole(answer: ChatAnswer, usage: ChargedUsage, events: readonly AnswerEvent[]): Record<string, unknown> {
    const sent = events.findLast((event) => event.type === 'wire')?.sent
    if (sent === undefined || Buffer.isBuffer(sent))
      return new MessagesWriter(this.#identity, false, 0).whole(answer, usage, events)
    const message = { ...sent, id: messageId(this.#identity.id), model: this.#identity.model }
    return charged({ ...message, ...reason(sent, answer.choices[0]) }, usage)
  }

  #translated(end: StreamEnd, usage: ChargedUsage): Buffer {
    const text = new MessagesWriter(this.#identity, false, 0).end(end, usage).toString('utf8')
    // The start of the message has already been sent.
    return Buffer.from(text.slice(text.indexOf('event: message_delta')))
  }
}

/** The head of a streamed message with our id and model. */
export function ownedStart(event: JsonObject, { id, model }: Pick<MessageIdentity, 'id' | 'model'>): Buffer {
  const message = isObject(event['message']) ? event['message'] : {}
  return eventBytes({ ...event, message: { ...message, id: messageId(id), model } })
}

/** Adds the reason of the end if the provider left it out, since clients need it. */
function reasoned(event: JsonObject, { finishes }: StreamEnd): JsonObject {
  const delta = isObject(event['delta']) ? event['delta'] : {}
  return { ...event, delta: { ...delta, ...reason(delta, finishes[0]) } }
}

function reason(told: JsonObject, end: StreamEnd['finishes'][number] | undefined): JsonObject {
  return typeof told['stop_reason'] === 'string' ? {} : { stop_reason: stopReason(end?.finish ?? 'stop', null) }
}

/** The counts become those that are charged; fields that only the provider knows stay. */
function charged(event: JsonObject, usage: ChargedUsage): Record<string, unknown> {
  const told = isObject(event['usage']) ? event['usage'] : {}
  return { ...event, usage: { ...told, ...messageUsage(usage) } }
}

function eventBytes(event: JsonObject): Buffer {
  return Buffer.from(`event: ${wordOf(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`)
}

/** `usage` of a message: `input_tokens` excludes tokens read from or written to a cache, as the meters do. */
function messageUsage(
  { report, chargedMicro }: ChargedUsage,
  serviceTier: string | null = null,
): Record<string, unknown> {
  const { usage, inputTokens, outputTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = report
  return {
    input_tokens: inputTokens - cachedTokens - cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    cache_creation: {
      ephemeral_5m_input_tokens: cacheWriteTokens - (usage.cache_write_1h ?? 0),
      ephemeral_1h_input_tokens: usage.cache_write_1h ?? 0,
    },
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
    ...(usage.search === undefined ? {} : { server_tool_use: { web_search_requests: usage.search } }),
    ...(serviceTier === null ? {} : { service_tier: toldTier('messages', serviceTier) }),
    cost: rubles(chargedMicro),
    currency: 'RUB',
  }
}

/**
 * Builds a message's content blocks from the events of any provider's answer. One block of text or thinking is open at
 * a time. A call stays open until its arguments are complete, since several calls' arguments may be interleaved.
 */
export class ContentBlocks {
  readonly #emit: (step: BlockStep) => void
  readonly #omitsThinking: boolean
  #count = 0
  #open: { readonly type: 'text' | 'thinking'; readonly index: number; isSigned: boolean } | null = null
  readonly #calls = new Map<number, OpenToolBlock>()
  #newest: number | null = null
  /** Details from models of other makers, which are sent as the signature of their thinking. */
  #details: unknown[] = []
  /** Thoughts without a signature that the client does not want to see; they are sent as a signature. */
  #omitted = ''
  /** Citations may come before their text. */
  #citations: JsonObject[] = []

  constructor(emit: (step: BlockStep) => void, omitsThinking: boolean) {
    this.#emit = emit
    this.#omitsThinking = omitsThinking
  }

  add(event: AnswerEvent): void {
    // A message has one answer; further choices of a provider are ignored.
    if ('choice' in event && event.choice !== 0) return
    switch (event.type) {
      case 'text':
      case 'refusal':
        return event.text === '' ? undefined : this.#say(event.text)
      case 'reasoning':
        return event.text === '' ? undefined : this.#think(event.text)
      case 'tool_call':
        return this.#call(event.index, event.id, event.name)
      case 'tool_arguments':
        return this.#arguments(event.index, event.text)
      case 'extra':
        if (!Array.isArray(event.value)) return
        if (event.field === 'reasoning_details') for (const detail of event.value) this.#detail(detail)
        if (event.field === 'annotations') for (const annotation of event.value) this.#cite(annotation)
        return
      case 'spliced':
        throw new Error('Nothing is spliced into a message.')
      case 'item':
      case 'finish':
      case 'usage':
      case 'wire':
      case 'origin':
    }
  }

  /** Ends the answer, and closes all blocks. */
  close(): void {
    this.#closeSpeech()
    for (const call of this.#calls.keys()) this.#closeCall(call)
    const isOmitted = this.#omitted !== '' && this.#details.length === 0
    if (isOmitted) this.#details.push(plainDetail(this.#omitted))
    if (this.#details.length === 0) return
    this.#openBlock('thinking')
    this.#closeSpeech()
  }

  #say(text: string): void {
    this.#delta(this.#openBlock('text'), { type: 'text_delta', text })
  }

  #think(thinking: string): void {
    if (this.#omitsThinking) this.#omitted += thinking
    else this.#delta(this.#openBlock('thinking'), { type: 'thinking_delta', thinking })
  }

  /** Claude's signatures are sent unchanged, since clients may send them back to Claude itself. */
  #detail(detail: unknown): void {
    const { type, format, signature, data } = isObject(detail) ? detail : {}
    if (format !== CLAUDE_REASONING) this.#details.push(detail)
    else if (type === 'reasoning.encrypted' && typeof data === 'string') {
      this.#closeSpeech()
      const index = this.#start({ type: 'redacted_thinking', data })
      this.#emit({ type: 'content_block_stop', index })
    } else if (type === 'reasoning.text' && typeof signature === 'string' && signature !== '') {
      this.#delta(this.#openBlock('thinking'), { type: 'signature_delta', signature })
      if (this.#open !== null) this.#open.isSigned = true
      this.#closeSpeech()
    }
  }

  #cite(annotation: unknown): void {
    const { url_citation: nested, ...flat } = isObject(annotation) ? annotation : {}
    const { url, title, content } = isObject(nested) ? nested : flat
    if (typeof url !== 'string') return
    const citation = {
      type: 'web_search_result_location',
      url,
      title: typeof title === 'string' ? title : null,
      cited_text: typeof content === 'string' ? content : '',
      encrypted_index: '',
    }
    if (this.#open?.type === 'text') this.#delta(this.#open.index, { type: 'citations_delta', citation })
    else this.#citations.push(citation)
  }

  #call(call: number, id: string, name: string): void {
    if (this.#details.length > 0) this.#openBlock('thinking')
    this.#closeSpeech()
    if (this.#newest !== null && this.#calls.get(this.#newest)?.arguments.reached === true)
      this.#closeCall(this.#newest)
    this.#newest = call
    this.#closeCall(call)
    this.#calls.set(call, {
      index: this.#start({ type: 'tool_use', id, name, input: {} }),
      arguments: new ObjectEnd(),
    })
  }

  #arguments(call: number, text: string): void {
    const open = this.#calls.get(call)
    if (open === undefined || text === '') return
    open.arguments.add(text)
    this.#delta(open.index, { type: 'input_json_delta', partial_json: text })
  }

  #closeCall(call: number): void {
    const open = this.#calls.get(call)
    this.#calls.delete(call)
    if (open !== undefined) this.#emit({ type: 'content_block_stop', index: open.index })
  }

  #openBlock(type: 'text' | 'thinking'): number {
    if (this.#open?.type === type) return this.#open.index
    this.#closeSpeech()
    const index = this.#start(type === 'text' ? { type, text: '' } : { type, thinking: '', signature: '' })
    this.#open = { type, index, isSigned: false }
    if (type === 'text')
      for (const citation of this.#citations.splice(0)) this.#delta(index, { type: 'citations_delta', citation })
    return index
  }

  #closeSpeech(): void {
    const open = this.#open
    if (open === null) return
    this.#open = null
    // Clients send back only thoughts that have a signature.
    if (open.type === 'thinking' && !open.isSigned)
      this.#delta(open.index, { type: 'signature_delta', signature: encodeDetails(this.#details.splice(0)) })
    this.#emit({ type: 'content_block_stop', index: open.index })
  }

  #start(block: JsonObject): number {
    const index = this.#count
    this.#count += 1
    this.#emit({ type: 'content_block_start', index, content_block: block })
    return index
  }

  #delta(index: number, delta: JsonObject): void {
    this.#emit({ type: 'content_block_delta', index, delta })
  }
}
