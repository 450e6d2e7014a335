import { tierEvents, type AnswerEvent, SILENT } from '../../../kinds/answer/event.ts'
import { namedReason } from '../../../kinds/answer/end.ts'
import type { UsageReport } from '../../../kinds/chat/answer.ts'
import { billed, failure, garbage, type AttemptFailure } from '../../ports/attempt-failure.ts'
import type { EventReader, KnownEvents } from '../../upstream/events.ts'
import type { AnswerState } from '../../upstream/response.ts'
import { objectOf, parseJson, textOf, type RawJson, listOf } from '../../wire/raw-json.ts'
import { TokenReader } from '../../answers/token-reader.ts'
import {
  type BlockView,
  BLOCKS_MAX,
  ClaudeEvents,
  claudeReport,
  THINKING_CHARS_MAX,
  tooMuch,
} from '../../models/claude-events.ts'
import { eventFailure } from '../../wire/upstream-error.ts'
import { decoded, isAt, runText, textPlace, textRun } from '../../wire/text-form.ts'
import { GrownText } from '../../../kinds/answer/grown-text.ts'
import { isBlank } from '../../../kinds/answer/progress.ts'

/** The texts of a delta, which come in many pieces. */
const TEXT_FIELDS = ['text', 'thinking', 'partial_json']
const EVENT_START = Buffer.from('event: content_block_delta\ndata: ')
const EVENT_END = Buffer.from('\n\n')

interface DeltaForm {
  readonly head: Buffer
  readonly tail: Buffer
  readonly event: RawJson
  readonly delta: RawJson
  readonly field: string
}

/** Consecutive deltas that differ from the last parsed one only in their text, taken together. */
interface DeltaRun {
  /** One event with the text of all. */
  readonly event: RawJson
  /** The index at which the next event begins. */
  readonly end: number
}

/** Recognises deltas by their bytes, which the client gets unchanged. */
class KnownDelta {
  #form: DeltaForm | null = null

  learn(data: Buffer, event: RawJson): void {
    const delta = event['type'] === 'content_block_delta' ? objectOf(event['delta']) : null
    if (delta === null) return
    const field = TEXT_FIELDS.find((name) => textOf(delta[name]) !== null)
    const place = field === undefined ? null : textPlace(data, field, textOf(delta[field]) ?? '')
    if (field === undefined || place === null) return
    this.#form = {
      head: Buffer.concat([EVENT_START, data.subarray(0, place.start)]),
      tail: Buffer.concat([data.subarray(place.end), EVENT_END]),
      event,
      delta,
      field,
    }
  }

  run(bytes: Buffer, start: number): DeltaRun | null {
    const form = this.#form
    if (form === null) return null
    const { head, tail, event, delta, field } = form
    const run = textRun(bytes, start, head, (read, at) => (isAt(read, at, tail) ? at + tail.length : -1))
    if (run === null) return null
    const text = decoded(runText(bytes, run.places))
    return { event: { ...event, delta: { ...delta, [field]: text } }, end: run.end }
  }
}

const FIELDS = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'cache_creation',
  'output_tokens_details',
  'server_tool_use',
]

/** Reads one answer of the Messages protocol: a stream's events, or a whole message by the same steps. */
export class AnthropicReader implements EventReader {
  readonly #blocks: ContentBlocks
  readonly #delta = new KnownDelta()
  #usage: RawJson | null = null
  #started = false
  #stopped = false
  #done = false

  constructor(view: BlockView) {
    this.#blocks = new ContentBlocks(view)
  }

  get state(): AnswerState {
    if (this.#done) return 'done'
    return this.#stopped ? 'finished' : 'open'
  }

  known(bytes: Buffer, start: number): KnownEvents | null {
    const run = this.#delta.run(bytes, start)
    return run === null ? null : { read: this.#read(run.event), end: run.end }
  }

  message(data: Buffer): readonly AnswerEvent[] | AttemptFailure {
    const event = objectOf(parseJson(data))
    return event === null ? garbage('not a JSON object', data) : this.parsed(data, event)
  }

  /** The same for a message that is already parsed. */
  parsed(data: Buffer, event: RawJson): readonly AnswerEvent[] | AttemptFailure {
    this.#delta.learn(data, event)
    return this.#read(event)
  }

  /** The usage that comes with an error is billed, together with the input and searches that were reported before. */
  #failed(event: RawJson): AttemptFailure {
    const found = eventFailure(event)
    if (objectOf(event['usage']) === null) return found
    return billed(found, anthropicUsage(mergedUsage(this.#usage, event['usage']), this.#blocks.searches))
  }

  /** A search is billed even if the answer breaks off after it. */
  #opened(index: unknown, block: RawJson): readonly AnswerEvent[] | AttemptFailure {
    const before = this.#blocks.searches
    const read = this.#blocks.start(index, block)
    if (read === null) return tooMuch()
    return this.#blocks.searches === before ? read : [...read, ...this.#billed()]
  }

  #read(event: RawJson): readonly AnswerEvent[] | AttemptFailure {
    switch (event['type']) {
      case 'message_start':
        return this.#start(objectOf(event['message']) ?? {}, true)
      case 'content_block_start':
        return this.#opened(event['index'], objectOf(event['content_block']) ?? {})
      case 'content_block_delta':
        return this.#blocks.delta(event['index'], objectOf(event['delta']) ?? {}) ?? tooMuch()
      case 'content_block_stop':
        return this.#blocks.stop(event['index'])
      case 'message_delta':
        return this.#end(objectOf(event['delta']) ?? {}, event['usage'])
      case 'message_stop':
        this.#done = true
        return []
      case 'error':
        return this.#failed(event)
      default:
        // `ping`, and events that are unknown here.
        return []
    }
  }

  ended(): AttemptFailure | null {
    if (this.state !== 'open') return null
    return failure(this.#started ? 'cut' : 'garbage', null, 'the stream ended without message_stop or a stop_reason')
  }

  whole(body: unknown): readonly AnswerEvent[] | AttemptFailure {
    const message = objectOf(body)
    if (message !== null && objectOf(message['error']) !== null) return this.#failed(message)
    const content = message?.['content']
    if (message === null || !Array.isArray(content)) return failure('garbage', null, 'the answer is not a message')
    const events: AnswerEvent[] = [...this.#start(message, false)]
    for (const [index, raw] of content.entries()) {
      const started = this.#blocks.start(index, objectOf(raw) ?? {})
      if (started === null) return tooMuch()
      events.push(...started, ...this.#blocks.stop(index))
    }
    return [...events, ...this.#end(message, message['usage'])]
  }

  /**
   * Some proxies send the start twice, but the content once. The counts of output and of searches at the start of a
   * stream are not final.
   */
  #start(message: RawJson, streams: boolean): readonly AnswerEvent[] {
    const usage = objectOf(message['usage'])
    this.#usage = mergedUsage(
      this.#usage,
      streams && usage !== null ? { ...usage, output_tokens: null, server_tool_use: null } : usage,
    )
    if (this.#started) return []
    this.#started = true
    return [
      { type: 'origin', upstreamId: textOf(message['id']), systemFingerprint: null },
      ...tierEvents(usage?.['service_tier']),
    ]
  }

  /** The usage at the start has no output, so if the end has none either, we count that side. */
  #end(delta: RawJson, rawUsage: unknown): readonly AnswerEvent[] {
    const events: AnswerEvent[] = [...tierEvents(objectOf(rawUsage)?.['service_tier'])]
    const native = namedReason(delta['stop_reason'])
    if (native !== null) {
      this.#stopped = true
      events.push({
        type: 'finish',
        choice: 0,
        native,
        ...(native === 'tool_use' && this.#blocks.onlyAnswered ? { finish: 'stop' } : {}),
      })
    }
    this.#usage = mergedUsage(this.#usage, rawUsage)
    return [...events, ...this.#billed()]
  }

  /** The searches that the provider counts; without a count, their results are counted. */
  #billed(): readonly AnswerEvent[] {
    const usage = anthropicUsage(this.#usage, this.#blocks.searches)
    return usage === null ? [] : [{ type: 'usage', usage }]
  }
}

/**
 * Fields of a later usage object replace those of an earlier one: a stream reports its input first and its output last.
 */
function mergedUsage(before: RawJson | null, raw: unknown): RawJson | null {
  const later = objectOf(raw)
  if (later === null) return before
  const merged: Record<string, unknown> = {}
  for (const name of FIELDS) merged[name] = later[name] ?? before?.[name] ?? null
  return merged
}

/**
 * A usage object as disjoint meters; null = it has no counts. `input_tokens` excludes tokens read from or written to a
 * cache.
 */
export function anthropicUsage(usage: RawJson | null, results = 0): UsageReport | null {
  if (usage === null || ((usage['input_tokens'] ?? null) === null && (usage['output_tokens'] ?? null) === null))
    return null
  const tokens = new TokenReader()
  const input = tokens.count('input', usage, 'input_tokens')
  const cached = tokens.added('input', usage, 'cache_read_input_tokens')
  const creation = objectOf(usage['cache_creation'])
  const fiveMinutes = tokens.added('input', creation, 'ephemeral_5m_input_tokens')
  const hour = tokens.added('input', creation, 'ephemeral_1h_input_tokens')
  const written =
    (usage['cache_creation_input_tokens'] ?? null) === null
      ? fiveMinutes + hour
      : tokens.added('input', usage, 'cache_creation_input_tokens')
  const output = tokens.count('output', usage, 'output_tokens')
  const reasoning = Math.min(output, tokens.part(objectOf(usage['output_tokens_details']), 'thinking_tokens'))
  const searches = tokens.maybe(objectOf(usage['server_tool_use']), 'web_search_requests') ?? results
  return claudeReport(tokens, { input, output, cached, written, hour, reasoning, searches })
}

type OpenBlock =
  | { readonly type: 'text'; readonly start: number; readonly citations: RawJson[] }
  | { readonly type: 'thinking'; readonly text: GrownText; signature: string }
  /** `call` is the index of the tool call; null = it is the answer tool. `given` is an input that came whole. */
  | { readonly type: 'tool_use'; readonly call: number | null; readonly given: RawJson | null; streamed: boolean }
  /** Tools that the provider runs itself, and unknown blocks; their text comes in separate blocks. */
  | { readonly type: 'other' }

/** The content blocks of one answer, as events. A block of a whole message opens with all its content, and closes. */
class ContentBlocks {
  readonly #events: ClaudeEvents
  readonly #open = new Map<unknown, OpenBlock>()
  #count = 0
  #textLength = 0
  #searches = 0

  constructor(view: BlockView) {
    this.#events = new ClaudeEvents(view)
  }

  /** Whether the answer came as the input of the answer tool, and no other tool was called. */
  get onlyAnswered(): boolean {
    return this.#events.onlyAnswered
  }

  /** The provider's web searches that found something: it does not bill others. */
  get searches(): number {
    return this.#searches
  }

  /** null = more blocks than any real answer has. */
  start(index: unknown, raw: RawJson): readonly AnswerEvent[] | null {
    this.#count += 1
    if (this.#count > BLOCKS_MAX) return null
    switch (raw['type']) {
      case 'text':
        this.#open.set(index, {
          type: 'text',
          start: this.#textLength,
          citations: listOf(raw['citations'])
            .map(objectOf)
            .filter((citation) => citation !== null),
        })
        return this.#text(textOf(raw['text']) ?? '')
      case 'thinking': {
        const block: OpenBlock = { type: 'thinking', text: new GrownText(), signature: textOf(raw['signature']) ?? '' }
        this.#open.set(index, block)
        return this.#thinking(block, textOf(raw['thinking']) ?? '')
      }
      case 'redacted_thinking':
        return this.#events.detail({ data: textOf(raw['data']) ?? '' })
      case 'tool_use':
        return this.#toolUse(index, raw)
      default:
        if (raw['type'] === 'web_search_tool_result' && Array.isArray(raw['content'])) this.#searches += 1
        this.#open.set(index, { type: 'other' })
        return [SILENT]
    }
  }

  /** null = more thinking in a block than any real answer has. */
  delta(index: unknown, raw: RawJson): readonly AnswerEvent[] | null {
    const block = this.#open.get(index)
    if (block === undefined) return []
    switch (block.type) {
      case 'text': {
        const citation = objectOf(raw['citation'])
        if (citation !== null && block.citations.length < BLOCKS_MAX) block.citations.push(citation)
        if (citation === null) return this.#text(textOf(raw['text']) ?? '')
        return isBlank(citation) ? [] : [SILENT]
      }
      case 'thinking': {
        const signed = textOf(raw['signature']) ?? ''
        block.signature += signed
        if (block.text.length + block.signature.length > THINKING_CHARS_MAX) return null
        return this.#thinking(block, textOf(raw['thinking']) ?? '', signed)
      }
      case 'tool_use': {
        const text = textOf(raw['partial_json']) ?? ''
        if (text === '') return []
        block.streamed = true
        return this.#input(block.call, text)
      }
      case 'other':
        return (textOf(raw['partial_json']) ?? '') === '' ? [] : [SILENT]
    }
  }

  stop(index: unknown): readonly AnswerEvent[] {
    const block = this.#open.get(index)
    if (block === undefined) return []
    this.#open.delete(index)
    switch (block.type) {
      case 'text':
        return this.#citations(block.start, block.citations)
      case 'thinking':
        return this.#events.detail({ text: block.text.toString(), signature: block.signature })
      case 'tool_use':
        // A call without arguments streams none, but clients still parse its arguments.
        return block.streamed ? [] : this.#input(block.call, JSON.stringify(block.given ?? {}))
      case 'other':
        return []
    }
  }

  #text(text: string): readonly AnswerEvent[] {
    this.#textLength += text.length
    return [{ type: 'text', choice: 0, text }]
  }

  #thinking(block: { readonly text: GrownText }, text: string, signed = ''): readonly AnswerEvent[] {
    block.text.add(text)
    return this.#events.thinking(text, signed)
  }

  #toolUse(index: unknown, raw: RawJson): readonly AnswerEvent[] {
    const input = objectOf(raw['input'])
    const given = input !== null && Object.keys(input).length > 0 ? input : null
    const { call, events } = this.#events.toolUse(textOf(raw['name']) ?? '', textOf(raw['id']))
    this.#open.set(index, call === undefined ? { type: 'other' } : { type: 'tool_use', call, given, streamed: false })
    return events
  }

  #input(call: number | null, text: string): readonly AnswerEvent[] {
    return call === null ? this.#text(text) : [{ type: 'tool_arguments', choice: 0, index: call, text }]
  }

  #citations(start: number, citations: readonly RawJson[]): readonly AnswerEvent[] {
    const annotations = citations.flatMap((citation) => {
      const url = textOf(citation['url'])
      if (url === null) return []
      return {
        type: 'url_citation',
        url_citation: {
          url,
          title: textOf(citation['title']) ?? '',
          content: textOf(citation['cited_text']) ?? '',
          start_index: start,
          end_index: this.#textLength,
        },
      }
    })
    return annotations.length === 0 ? [] : [{ type: 'extra', choice: 0, field: 'annotations', value: annotations }]
  }
}
