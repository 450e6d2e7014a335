import { SILENT, type AnswerEvent } from '../../../kinds/answer/event.ts'
import { GrownText } from '../../../kinds/answer/grown-text.ts'
import { isBlank } from '../../../kinds/answer/progress.ts'
import { BLOCKS_MAX, ClaudeEvents, THINKING_CHARS_MAX, type BlockView } from '../../models/claude-events.ts'
import { listOf, objectOf, textOf, type RawJson } from '../../wire/raw-json.ts'

type OpenBlock =
  | { readonly type: 'text'; readonly start: number; readonly citations: RawJson[] }
  | { readonly type: 'thinking'; readonly text: GrownText; signature: string }
  /** `call` is the index of the tool call; null for the answer tool. `given` is an input that came whole. */
  | { readonly type: 'tool_use'; readonly call: number | null; readonly given: RawJson | null; streamed: boolean }
  /**
   * Tools that the provider runs itself, and blocks that this reader does not know; their text comes in separate
   * blocks.
   */
  | { readonly type: 'other' }

/** The content blocks of one answer, as events. A whole block opens with all its content and closes. */
export class ContentBlocks {
  readonly #events: ClaudeEvents
  readonly #open = new Map<unknown, OpenBlock>()
  #count = 0
  #textLength = 0
  #searches = 0

  constructor(view: BlockView) {
    this.#events = new ClaudeEvents(view)
  }

  /** Whether the answer came as the input of the answer tool, without a call of another tool. */
  get onlyAnswered(): boolean {
    return this.#events.onlyAnswered
  }

  /** The provider's web searches that found something: it bills no others. */
  get searches(): number {
    return this.#searches
  }

  /** null for more blocks than in any honest answer. */
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

  /** null for more thinking in a block than in any honest answer. */
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
        // A call without arguments streams none, but clients parse them all the same.
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
