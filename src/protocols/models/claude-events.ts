import type { AnswerEvent } from '../../kinds/answer/event.ts'
import { CLAUDE_REASONING } from '../../kinds/answer/claude-reasoning.ts'
import { toolCallId } from '../../providers/answers/tool-call-id.ts'

/** Far beyond any honest answer: bounds on what a broken upstream makes us keep. */
export const BLOCKS_MAX = 4_096
export const THINKING_CHARS_MAX = 4_194_304

/** Progress without content for the client: without an event the call would count as stalled. */
export const SILENT: AnswerEvent = Object.freeze({ type: 'reasoning', choice: 0, text: '' })

/** Blocks that the client of a request does not see, or sees in another shape. */
export interface BlockView {
  readonly generationId: string
  /** The tool whose input is the answer's text; null = none. */
  readonly answerTool: string | null
  readonly hidesReasoning: boolean
}

/** The events of one answer in content blocks, whose calls and reasoning details are numbered. */
export class ClaudeEvents {
  readonly #view: BlockView
  #calls = 0
  #details = 0
  #answered = false

  constructor(view: BlockView) {
    this.#view = view
  }

  /** Whether the answer came as the input of the answer tool, without a call of another tool. */
  get onlyAnswered(): boolean {
    return this.#answered && this.#calls === 0
  }

  /** `call` is the index of the tool call; null for the answer tool, undefined without a name: nothing is called. */
  toolUse(
    name: string,
    id: string | null,
  ): { readonly call: number | null | undefined; readonly events: readonly AnswerEvent[] } {
    if (name === '') return { call: undefined, events: [SILENT] }
    if (name === this.#view.answerTool) {
      this.#answered = true
      return { call: null, events: [SILENT] }
    }
    const call = this.#calls
    this.#calls += 1
    const known = id || toolCallId(this.#view.generationId, 0, call)
    return { call, events: [{ type: 'tool_call', choice: 0, index: call, id: known, name }] }
  }

  thinking(text: string): readonly AnswerEvent[] {
    return [this.#view.hidesReasoning ? SILENT : { type: 'reasoning', choice: 0, text }]
  }

  detail(detail: Readonly<Record<string, string>>): readonly AnswerEvent[] {
    const index = this.#details
    this.#details += 1
    if (this.#view.hidesReasoning) return [SILENT]
    return [
      { type: 'extra', choice: 0, field: 'reasoning_details', value: [{ ...detail, format: CLAUDE_REASONING, index }] },
    ]
  }
}
