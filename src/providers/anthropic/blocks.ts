import type { AnswerEvent } from '../../kinds/answer/event.ts'
import { listOf, objectOf, textOf, type RawJson } from '../wire/raw-json.ts'
import { toolCallId } from '../answers/tool-call-id.ts'
import { CLAUDE_REASONING } from '../../kinds/answer/claude-reasoning.ts'

/** Far beyond any honest answer: bounds on what a broken upstream makes us keep. */
const BLOCKS_MAX = 4_096
const THINKING_CHARS_MAX = 4_194_304

/** Blocks that the client of a request does not see, or sees in another shape. */
export interface BlockView {
  readonly generationId: string
  /** The tool whose input is the answer's text; null = none. */
  readonly answerTool: string | null
  readonly hidesReasoning: boolean
}

type OpenBlock =
  | { readonly type: 'text'; readonly start: number; readonly citations: RawJson[] }
  | { readonly type: 'thinking'; text: string; signature: string }
  /** `call` is the index of the tool call; null for the answer tool. `given` is an input that came whole. */
  | { readonly type: 'tool_use'; readonly call: number | null; readonly given: RawJson | null; streamed: boolean }
  /**
   * Tools that the provider runs itself, and blocks that this reader does not know; their text comes in separate
   * blocks.
   */
  | { readonly type: 'other' }

/** The content blocks of one answer, as events. A whole block opens with all its content and closes. */
export class ContentBlocks {
  readonly #view: BlockView
  readonly #open = new Map<unknown, OpenBlock>()
  #count = 0
  #calls = 0
  #details = 0
  #textLength = 0
  #answered = false

  constructor(view: BlockView) {
    this.#view = view
  }

  /** Whether the answer came as the input of the answer tool, without a call of another tool. */
  get onlyAnswered(): boolean {
    return this.#answered && this.#calls === 0
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
        const block: OpenBlock = { type: 'thinking', text: '', signature: textOf(raw['signature']) ?? '' }
        this.#open.set(index, block)
        return this.#thinking(block, textOf(raw['thinking']) ?? '')
      }
      case 'redacted_thinking':
        return this.#detail({ type: 'reasoning.encrypted', data: textOf(raw['data']) ?? '' })
      case 'tool_use':
        return this.#toolUse(index, raw)
      default:
        this.#open.set(index, { type: 'other' })
        return []
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
        return this.#text(textOf(raw['text']) ?? '')
      }
      case 'thinking':
        block.signature += textOf(raw['signature']) ?? ''
        if (block.text.length + block.signature.length > THINKING_CHARS_MAX) return null
        return this.#thinking(block, textOf(raw['thinking']) ?? '')
      case 'tool_use': {
        const text = textOf(raw['partial_json']) ?? ''
        if (text === '') return []
        block.streamed = true
        return this.#input(block.call, text)
      }
      case 'other':
        return (textOf(raw['partial_json']) ?? '') === '' ? [] : [silent()]
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
        return this.#detail({ type: 'reasoning.text', text: block.text, signature: block.signature })
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

  #thinking(block: { text: string }, text: string): readonly AnswerEvent[] {
    block.text += text
    return [this.#view.hidesReasoning ? silent() : { type: 'reasoning', choice: 0, text }]
  }

  #detail(detail: Readonly<Record<string, string>>): readonly AnswerEvent[] {
    const index = this.#details
    this.#details += 1
    if (this.#view.hidesReasoning) return [silent()]
    return [
      { type: 'extra', choice: 0, field: 'reasoning_details', value: [{ ...detail, format: CLAUDE_REASONING, index }] },
    ]
  }

  #toolUse(index: unknown, raw: RawJson): readonly AnswerEvent[] {
    const name = textOf(raw['name']) ?? ''
    const input = objectOf(raw['input'])
    const given = input !== null && Object.keys(input).length > 0 ? input : null
    const isAnswer = name === this.#view.answerTool
    const call = isAnswer ? null : this.#calls
    this.#open.set(index, { type: 'tool_use', call, given, streamed: false })
    if (call === null) {
      this.#answered = true
      return [silent()]
    }
    this.#calls += 1
    return [
      {
        type: 'tool_call',
        choice: 0,
        index: call,
        id: textOf(raw['id']) || toolCallId(this.#view.generationId, 0, call),
        name,
      },
    ]
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

/** Progress without content for the client: without an event the call would count as stalled. */
function silent(): AnswerEvent {
  return { type: 'reasoning', choice: 0, text: '' }
}
