import type { AnswerEvent } from '../../kinds/answer/event.ts'
import type { FinishReason, UsageReport } from '../../kinds/chat/answer.ts'
import { failure, garbage, type AttemptFailure } from '../ports/attempt-failure.ts'
import type { EventReader } from '../../protocols/upstream/events.ts'
import { listOf, objectOf, parseJson, textOf, type RawJson } from '../../protocols/wire/raw-json.ts'
import type { UpstreamHeaders } from '../../protocols/wire/transport.ts'
import { TokenReader } from '../../protocols/answers/token-reader.ts'
import type { BlockView } from '../../protocols/models/claude-events.ts'
import { ContentBlocks } from './blocks.ts'
import { bedrockError, bedrockException } from './error.ts'

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
  readonly #now: () => number
  #started = false
  #stopped = false
  #metered = false

  constructor(view: BlockView, now: () => number) {
    this.#blocks = new ContentBlocks(view)
    this.#now = now
  }

  /** The usage comes after the stop, and nothing after both. */
  get done(): boolean {
    return this.#stopped && this.#metered
  }

  message(data: Buffer): readonly AnswerEvent[] | AttemptFailure {
    const [type, raw] = Object.entries(objectOf(parseJson(data)) ?? {})[0] ?? []
    const event = objectOf(raw)
    if (type === undefined || event === null) return garbage('not a JSON object', data)
    if (type.endsWith('Exception')) return bedrockException(type, event, this.#now())
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
        // `messageStart`, and events that this reader does not know.
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

  error(status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure {
    return bedrockError(status, body, headers, this.#now())
  }

  #stop(raw: RawJson): readonly AnswerEvent[] {
    this.#stopped = true
    const native = textOf(raw['stopReason'])
    const finish = native === 'tool_use' && this.#blocks.onlyAnswered ? 'stop' : FINISHES.get(native ?? '')
    const ending: AnswerEvent = { type: 'finish', choice: 0, native, ...(finish === undefined ? {} : { finish }) }
    // An answer without content is the empty text.
    return this.#blocks.isEmpty ? [{ type: 'text', choice: 0, text: '' }, ending] : [ending]
  }

  #usage(raw: RawJson): readonly AnswerEvent[] {
    this.#metered = true
    const usage = bedrockUsage(raw['usage'])
    return usage === null ? [] : [{ type: 'usage', usage }]
  }
}

function tooMuch(): AttemptFailure {
  return failure('garbage', null, 'the answer holds more blocks or more thinking than any answer has')
}

/**
 * A usage object as disjoint meters; null when it counts nothing. `inputTokens` excludes tokens read from or written to
 * a cache.
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
  const writtenHour = Math.min(written, hour)
  return tokens.report({
    usage: {
      input,
      output,
      ...(cached > 0 ? { cache_read: cached } : {}),
      ...(written > writtenHour ? { cache_write: written - writtenHour } : {}),
      ...(writtenHour > 0 ? { cache_write_1h: writtenHour } : {}),
    },
    inputTokens: input + cached + written,
    outputTokens: output,
    cachedTokens: cached,
    cacheWriteTokens: written,
    reasoningTokens: 0,
  })
}
