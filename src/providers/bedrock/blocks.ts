import type { AnswerEvent } from '../../kinds/answer/event.ts'
import { GrownText } from '../../kinds/answer/grown-text.ts'
import {
  BLOCKS_MAX,
  ClaudeEvents,
  SILENT,
  THINKING_CHARS_MAX,
  type BlockView,
} from '../../protocols/models/claude-events.ts'
import { listOf, objectOf, textOf, type RawJson } from '../../protocols/wire/raw-json.ts'

interface OpenBlock {
  /** Index of the tool call; null for the answer tool, undefined for other blocks. */
  readonly call?: number | null
  hasInput: boolean
  readonly thinking: GrownText
  signature: string
  redacted: string
}

/** The content blocks of one answer, as events. Only a tool's block has an opening event. */
export class ContentBlocks {
  readonly #events: ClaudeEvents
  readonly #open = new Map<unknown, OpenBlock>()
  #count = 0

  constructor(view: BlockView) {
    this.#events = new ClaudeEvents(view)
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** Whether the answer came as the input of the answer tool, without a call of another tool. */
  get onlyAnswered(): boolean {
    return this.#events.onlyAnswered
  }

  /** null for more blocks than in any honest answer. */
  start(index: unknown, raw: RawJson): readonly AnswerEvent[] | null {
    const tool = objectOf(raw['toolUse'])
    if (tool === null) return this.#block(index) === null ? null : [SILENT]
    const { call, events } = this.#events.toolUse(textOf(tool['name']) ?? '', textOf(tool['toolUseId']))
    return this.#block(index, call) === null ? null : events
  }

  /** null for more blocks, or more thinking, than in any honest answer. */
  delta(index: unknown, raw: RawJson): readonly AnswerEvent[] | null {
    const block = this.#open.get(index) ?? this.#block(index)
    if (block === null) return null
    const text = textOf(raw['text'])
    if (text !== null) return [{ type: 'text', choice: 0, text }]
    const tool = objectOf(raw['toolUse'])
    if (tool !== null) return this.#input(block, textOf(tool['input']) ?? '')
    const reasoning = objectOf(raw['reasoningContent'])
    if (reasoning !== null) return this.#thinking(block, reasoning)
    // Citations, results of the provider's own tools, and blocks that this reader does not know.
    return [SILENT]
  }

  stop(index: unknown): readonly AnswerEvent[] {
    const block = this.#open.get(index)
    if (block === undefined) return []
    this.#open.delete(index)
    // A call without arguments streams none, but clients parse them all the same.
    if (block.call !== undefined && !block.hasInput) return this.#input(block, '{}')
    if (block.redacted !== '') return this.#events.detail({ type: 'reasoning.encrypted', data: block.redacted })
    // Models other than Claude neither sign their thinking nor take it back.
    return block.signature === ''
      ? []
      : this.#events.detail({ type: 'reasoning.text', text: block.thinking.toString(), signature: block.signature })
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
    if (text === '' || block.call === undefined) return [SILENT]
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
    block.signature += textOf(raw['signature']) ?? ''
    block.redacted += textOf(raw['redactedContent']) ?? ''
    if (block.thinking.length + block.signature.length + block.redacted.length > THINKING_CHARS_MAX) return null
    return this.#events.thinking(text)
  }
}
