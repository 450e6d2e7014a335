import { tierEvents, type AnswerEvent, SILENT } from '../../kinds/answer/event.ts'
import type { FinishReason, UsageReport } from '../../kinds/chat/answer.ts'
import { billed, failure, garbage, type AttemptFailure } from '../ports/attempt-failure.ts'
import type { EventReader } from '../upstream/events.ts'
import type { AnswerState } from '../upstream/response.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from '../wire/raw-json.ts'
import { TokenReader } from '../answers/token-reader.ts'
import {
  type BlockView,
  BLOCKS_MAX,
  ClaudeEvents,
  claudeReport,
  THINKING_CHARS_MAX,
  tooMuch,
} from '../models/claude-events.ts'
import { OPTIMIZED_TIER } from '../../tables/service-tier-table.ts'
import { eventFailure } from '../wire/upstream-error.ts'
import { GrownText } from '../../kinds/answer/grown-text.ts'

interface OpenBlock {
  /** The index of the tool call; null = it is the answer tool, undefined = another block. */
  readonly call?: number | null
  hasInput: boolean
  readonly thinking: GrownText
  signature: string
  redacted: string
}

/** The content blocks of one answer, as events. Only a tool's block has an opening event. */
class ContentBlocks {
  readonly #events: ClaudeEvents
  readonly #open = new Map<unknown, OpenBlock>()
  #count = 0

  constructor(view: BlockView) {
    this.#events = new ClaudeEvents(view)
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** Whether the answer came as the input of the answer tool, and no other tool was called. */
  get onlyAnswered(): boolean {
    return this.#events.onlyAnswered
  }

  /** null = more blocks than any real answer has. */
  start(index: unknown, raw: RawJson): readonly AnswerEvent[] | null {
    const tool = objectOf(raw['toolUse'])
    if (tool === null) return this.#block(index) === null ? null : []
    const { call, events } = this.#events.toolUse(textOf(tool['name']) ?? '', textOf(tool['toolUseId']))
    return this.#block(index, call) === null ? null : events
  }

  /** null = more blocks, or more thinking, than any real answer has. */
  delta(index: unknown, raw: RawJson): readonly AnswerEvent[] | null {
    const block = this.#open.get(index) ?? this.#block(index)
    if (block === null) return null
    const text = textOf(raw['text'])
    if (text !== null) return [{ type: 'text', choice: 0, text }]
    const tool = objectOf(raw['toolUse'])
    if (tool !== null) return this.#input(block, textOf(tool['input']) ?? '')
    const reasoning = objectOf(raw['reasoningContent'])
    if (reasoning !== null) return this.#thinking(block, reasoning)
    // Citations, results of the provider's own tools, and unknown blocks.
    return [SILENT]
  }

  stop(index: unknown): readonly AnswerEvent[] {
    const block = this.#open.get(index)
    if (block === undefined) return []
    this.#open.delete(index)
    // A call without arguments streams none, but clients still parse its arguments.
    if (block.call !== undefined && !block.hasInput) return this.#input(block, '{}')
    if (block.redacted !== '') return this.#events.detail({ data: block.redacted })
    // Models other than Claude do not sign their thinking, and do not take it back.
    return block.signature === ''
      ? []
      : this.#events.detail({ text: block.thinking.toString(), signature: block.signature })
  }

  /** A block of a plain answer, by the same steps as in a stream. */
  whole(index: number, raw: RawJson): readonly AnswerEvent[] | null {
    const opened = this.start(index, raw)
    const said = opened === null ? null : this.#wholeDelta(index, raw)
    return opened === null || said === null ? null : [...opened, ...said, ...this.stop(index)]
  }

  #wholeDelta(index: number, raw: RawJson): readonly AnswerEvent[] | null {
    const tool = objectOf(raw['toolUse'])
    if (tool !== null) return this.delta(index, { toolUse: { input: JSON.stringify(tool['input'] ?? {}) } })
    const reasoning = objectOf(raw['reasoningContent'])
    if (reasoning !== null)
      return this.delta(index, { reasoningContent: objectOf(reasoning['reasoningText']) ?? reasoning })
    const cited = objectOf(raw['citationsContent'])
    if (cited !== null)
      return this.delta(index, {
        text: listOf(cited['content'])
          .map((part) => textOf(objectOf(part)?.['text']) ?? '')
          .join(''),
      })
    return this.delta(index, raw)
  }

  #block(index: unknown, call?: number | null): OpenBlock | null {
    this.#count += 1
    if (this.#count > BLOCKS_MAX) return null
    const block: OpenBlock = {
      ...(call === undefined ? {} : { call }),
      hasInput: false,
      thinking: new GrownText(),
      signature: '',
      redacted: '',
    }
    this.#open.set(index, block)
    return block
  }

  #input(block: OpenBlock, text: string): readonly AnswerEvent[] {
    if (text === '') return []
    if (block.call === undefined) return [SILENT]
    block.hasInput = true
    return [
      block.call === null
        ? { type: 'text', choice: 0, text }
        : { type: 'tool_arguments', choice: 0, index: block.call, text },
    ]
  }

  #thinking(block: OpenBlock, raw: RawJson): readonly AnswerEvent[] | null {
    const text = textOf(raw['text']) ?? ''
    block.thinking.add(text)
    const signature = textOf(raw['signature']) ?? ''
    const redacted = textOf(raw['redactedContent']) ?? ''
    block.signature += signature
    block.redacted += redacted
    if (block.thinking.length + block.signature.length + block.redacted.length > THINKING_CHARS_MAX) return null
    return this.#events.thinking(text, signature + redacted)
  }
}

/** Reasons that only Converse gives. */
const FINISHES: ReadonlyMap<string, FinishReason> = new Map([
  ['guardrail_intervened', 'content_filter'],
  ['content_filtered', 'content_filter'],
  ['malformed_model_output', 'error'],
  ['malformed_tool_use', 'error'],
])

/** Reads one answer of Converse: a stream's events, or a whole message by the same steps. */
export class BedrockReader implements EventReader {
  readonly #blocks: ContentBlocks
  #started = false
  #stopped = false
  #metered = false

  constructor(view: BlockView) {
    this.#blocks = new ContentBlocks(view)
  }

  /** The usage comes after the stop, and nothing after both. */
  get state(): AnswerState {
    if (!this.#stopped) return 'open'
    return this.#metered ? 'done' : 'finished'
  }

  message(data: Buffer): readonly AnswerEvent[] | AttemptFailure {
    const [type, raw] = Object.entries(objectOf(parseJson(data)) ?? {})[0] ?? []
    const event = objectOf(raw)
    if (type === undefined || event === null) return garbage('not a JSON object', data)
    if (type.endsWith('Exception'))
      return billed(eventFailure({ __type: type, error: event }), bedrockUsage(event['usage']))
    this.#started = true
    switch (type) {
      case 'contentBlockStart':
        return this.#blocks.start(event['contentBlockIndex'], objectOf(event['start']) ?? {}) ?? tooMuch()
      case 'contentBlockDelta':
        return this.#blocks.delta(event['contentBlockIndex'], objectOf(event['delta']) ?? {}) ?? tooMuch()
      case 'contentBlockStop':
        return this.#blocks.stop(event['contentBlockIndex'])
      case 'messageStop':
        return this.#stop(event)
      case 'metadata':
        return this.#usage(event)
      default:
        // `messageStart`, and events that are unknown here.
        return []
    }
  }

  ended(): AttemptFailure | null {
    if (this.#stopped) return null
    return failure(this.#started ? 'cut' : 'garbage', null, 'the stream ended without messageStop')
  }

  whole(body: unknown): readonly AnswerEvent[] | AttemptFailure {
    const answer = objectOf(body)
    const content = objectOf(objectOf(answer?.['output'])?.['message'])?.['content']
    if (answer === null || !Array.isArray(content)) return failure('garbage', null, 'the answer is not a message')
    const events: AnswerEvent[] = []
    for (const [index, raw] of content.entries()) {
      const read = this.#blocks.whole(index, objectOf(raw) ?? {})
      if (read === null) return tooMuch()
      for (const event of read) events.push(event)
    }
    return [...events, ...this.#stop(answer), ...this.#usage(answer)]
  }

  #stop(raw: RawJson): readonly AnswerEvent[] {
    this.#stopped = true
    const native = textOf(raw['stopReason'])
    const finish = native === 'tool_use' && this.#blocks.onlyAnswered ? 'stop' : FINISHES.get(native ?? '')
    const ending: AnswerEvent = { type: 'finish', choice: 0, native, ...(finish === undefined ? {} : { finish }) }
    // An answer without content becomes an empty text.
    return this.#blocks.isEmpty ? [{ type: 'text', choice: 0, text: '' }, ending] : [ending]
  }

  #usage(raw: RawJson): readonly AnswerEvent[] {
    this.#metered = true
    const usage = bedrockUsage(raw['usage'])
    const isOptimized = objectOf(raw['performanceConfig'])?.['latency'] === OPTIMIZED_TIER
    const tier = tierEvents(isOptimized ? OPTIMIZED_TIER : objectOf(raw['serviceTier'])?.['type'])
    return usage === null ? tier : [...tier, { type: 'usage', usage }]
  }
}

/**
 * A usage object as disjoint meters; null = it has no counts. `inputTokens` excludes tokens read from or written to a
 * cache.
 */
export function bedrockUsage(raw: unknown): UsageReport | null {
  const usage = objectOf(raw)
  if (usage === null || ((usage['inputTokens'] ?? null) === null && (usage['outputTokens'] ?? null) === null))
    return null
  const tokens = new TokenReader()
  const input = tokens.count('input', usage, 'inputTokens')
  const output = tokens.count('output', usage, 'outputTokens')
  const cached = tokens.added('input', usage, 'cacheReadInputTokens', 'cacheReadInputTokenCount')
  const written = tokens.added('input', usage, 'cacheWriteInputTokens', 'cacheWriteInputTokenCount')
  const hour = listOf(usage['cacheDetails'])
    .map(objectOf)
    .filter((detail) => detail?.['ttl'] === '1h')
    .reduce((total, detail) => total + tokens.part(detail, 'inputTokens'), 0)
  return claudeReport(tokens, { input, output, cached, written, hour, reasoning: 0, searches: 0 })
}
