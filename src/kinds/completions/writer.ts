import type { ApiError } from '../../base/errors.ts'
import type { AnswerEvent } from '../answer/event.ts'
import type { AnswerWriter, ChargedUsage } from '../answer/writer.ts'
import type { ChatAnswer, ChunkIdentity, FinishReason, StreamEnd } from '../chat/answer.ts'
import { usageBody } from '../../protocols/openai/client/chat/render.ts'

const DONE = 'data: [DONE]\n\n'

interface Choice {
  readonly index: number
  readonly text: string
  readonly finish_reason: FinishReason | null
  readonly native_finish_reason: string | null
  readonly logprobs: unknown
}

/**
 * Writes an answer as legacy completions (wire.md D-2.5): a text for each choice. They have no place for reasoning and
 * tool calls; a refusal becomes text.
 */
export class CompletionsWriter implements AnswerWriter {
  readonly #identity: ChunkIdentity
  readonly #includeUsage: boolean

  constructor(identity: ChunkIdentity, includeUsage: boolean) {
    this.#identity = identity
    this.#includeUsage = includeUsage
  }

  write(events: readonly AnswerEvent[]): Buffer {
    let bytes = ''
    for (const event of events) {
      if (event.type !== 'text' && event.type !== 'refusal') continue
      const logprobs = event.logprobs ?? null
      if (event.text !== '' || logprobs !== null)
        bytes += this.#event([
          { index: event.choice, text: event.text, finish_reason: null, native_finish_reason: null, logprobs },
        ])
    }
    return Buffer.from(bytes)
  }

  end(end: StreamEnd, { report, chargedMicro }: ChargedUsage): Buffer {
    const usage = usageBody(report, chargedMicro)
    let bytes = ''
    for (const [position, { index, finish, native }] of end.finishes.entries()) {
      const choices = [
        {
          index,
          text: '',
          finish_reason: finish,
          native_finish_reason: native,
          logprobs: null,
        },
      ]
      const last = position === end.finishes.length - 1
      bytes += this.#event(choices, last && !this.#includeUsage ? { usage } : {})
    }
    if (this.#includeUsage) bytes += this.#event([], { usage })
    return Buffer.from(bytes + DONE)
  }

  fail(apiError: ApiError, usage: ChargedUsage | null): Buffer {
    const { error } = apiError.body()
    const choices: readonly Choice[] = [
      { index: 0, text: '', finish_reason: 'error', native_finish_reason: 'error', logprobs: null },
    ]
    const charged = usage === null ? {} : { usage: usageBody(usage.report, usage.chargedMicro) }
    return Buffer.from(`${this.#event(choices, { error, ...charged })}data: ${JSON.stringify({ error })}\n\n${DONE}`)
  }

  whole(answer: ChatAnswer, { report, chargedMicro }: ChargedUsage): Record<string, unknown> {
    const choices = answer.choices.map(({ index, finish, native, message, logprobs }): Choice => ({
      index,
      text: textOf(message),
      finish_reason: finish,
      native_finish_reason: native,
      logprobs: logprobs ?? null,
    }))
    return { ...this.#head(), choices, usage: usageBody(report, chargedMicro) }
  }

  #event(choices: readonly Choice[], more: Readonly<Record<string, unknown>> = {}): string {
    return `data: ${JSON.stringify({ ...this.#head(), choices, ...more })}\n\n`
  }

  #head(): Record<string, unknown> {
    const { id, created, model, provider } = this.#identity
    return { id, object: 'text_completion', created, model, provider }
  }
}

function textOf(message: Readonly<Record<string, unknown>>): string {
  const { content, refusal } = message
  return (typeof content === 'string' ? content : '') + (typeof refusal === 'string' ? refusal : '')
}
