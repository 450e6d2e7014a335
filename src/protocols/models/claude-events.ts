import { SILENT, type AnswerEvent } from '../../kinds/answer/event.ts'
import { CLAUDE_REASONING } from './claude-traits.ts'
import { markedText } from '../../kinds/answer/provenance.ts'
import { toolCallId } from '../answers/tool-calls.ts'
import { above0, type TokenReader } from '../answers/token-reader.ts'
import { failure, type AttemptFailure } from '../ports/attempt-failure.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'

/** Far more than any real answer has: bounds on what a broken upstream makes us hold in memory. */
export const BLOCKS_MAX = 4_096
export const THINKING_CHARS_MAX = 4_194_304

/** Blocks that the client of a request does not see, or sees in another form. */
export interface BlockView {
  readonly generationId: string
  /** The tool whose input is the text of the answer; null = none. */
  readonly answerTool: string | null
  readonly hidesReasoning: boolean
  /** The provider whose mark its thoughts get; null = Claude's thoughts, which get none. */
  readonly signer: string | null
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

  /** Whether the answer came as the input of the answer tool, and no other tool was called. */
  get onlyAnswered(): boolean {
    return this.#answered && this.#calls === 0
  }

  /** `call` is the index of the tool call; null = it is the answer tool, undefined = no name, so nothing is called. */
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

  /** `signed`: a piece of its signature, which is sent with the whole thought. */
  thinking(text: string, signed: string): readonly AnswerEvent[] {
    if (text === '' ? signed !== '' : this.#view.hidesReasoning) return [SILENT]
    return [{ type: 'reasoning', choice: 0, text }]
  }

  /** A thought with its `signature`, or an encrypted thought. */
  detail(
    thought: { readonly text: string; readonly signature: string } | { readonly data: string },
  ): readonly AnswerEvent[] {
    const index = this.#details
    this.#details += 1
    const { hidesReasoning, signer } = this.#view
    if (hidesReasoning) return [SILENT]
    const own = (text: string): string => (signer === null ? text : markedText(text, signer))
    const detail =
      'data' in thought
        ? { type: 'reasoning.encrypted', data: own(thought.data) }
        : { type: 'reasoning.text', text: thought.text, signature: own(thought.signature) }
    return [
      { type: 'extra', choice: 0, field: 'reasoning_details', value: [{ ...detail, format: CLAUDE_REASONING, index }] },
    ]
  }
}

export function tooMuch(): AttemptFailure {
  return failure('garbage', null, 'the answer holds more blocks or more thinking than any answer has')
}

/**
 * The counts of an answer: `input` excludes `cached` and `written`; `hour` is the part of `written` that is cached for
 * an hour.
 */
interface ClaudeCounts {
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly written: number
  readonly hour: number
  readonly reasoning: number
  readonly searches: number
}

/** The counts as disjoint meters. */
export function claudeReport(
  tokens: TokenReader,
  { input, output, cached, written, hour, reasoning, searches }: ClaudeCounts,
): UsageReport {
  const writtenHour = Math.min(written, hour)
  return tokens.report({
    usage: {
      input,
      output: output - reasoning,
      ...above0({
        cache_read: cached,
        cache_write: written - writtenHour,
        cache_write_1h: writtenHour,
        reasoning,
        search: searches,
      }),
    },
    inputTokens: input + cached + written,
    outputTokens: output,
    cachedTokens: cached,
    cacheWriteTokens: written,
    reasoningTokens: reasoning,
  })
}
