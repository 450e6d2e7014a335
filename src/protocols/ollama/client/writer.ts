import { errorBody } from '../../../base/client-protocol.ts'
import type { ApiError } from '../../../base/errors.ts'
import { isoTime } from '../../../base/time.ts'
import { rubles } from '../../../base/money.ts'
import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import type { AnswerWriter, ChargedUsage } from '../../../kinds/answer/writer.ts'
import type { ChatAnswer, ChunkIdentity, FinishReason, StreamEnd } from '../../../kinds/chat/answer.ts'
import { inputOf } from '../../answers/tool-calls.ts'

const REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  tool_calls: 'stop',
  length: 'length',
  content_filter: 'content_filter',
  error: 'error',
}
/** The line of a silent stream, without any text: clients read every line as a chunk. */
export const SILENT_LINE = Buffer.from('{"message":{"role":"assistant","content":""},"done":false}\n')

interface MadeCall {
  readonly id: string
  readonly name: string
  arguments: string
}

/** Writes an answer in the form of Ollama's `/api/chat`, which has one choice: the first. Each line is one chunk. */
export class OllamaWriter implements AnswerWriter {
  readonly #identity: ChunkIdentity
  /** Calls that are not complete: a call is sent whole. */
  readonly #calls = new Map<number, MadeCall>()

  constructor(identity: ChunkIdentity) {
    this.#identity = identity
  }

  write(events: readonly AnswerEvent[]): Buffer {
    let out = ''
    let thinking = ''
    let content = ''
    const flush = (): void => {
      if (thinking !== '' || content !== '') out += this.#line({ content, ...(thinking === '' ? {} : { thinking }) })
      thinking = ''
      content = ''
    }
    for (const event of events) {
      if (event.type === 'spliced') throw new Error('An answer in this protocol offers no splice.')
      if (event.type === 'reasoning' && event.choice === 0) {
        if (content !== '') flush()
        thinking += event.text
      } else if ((event.type === 'text' || event.type === 'refusal') && event.choice === 0) {
        if (thinking !== '') flush()
        content += event.text
      } else this.#call(event)
    }
    flush()
    return Buffer.from(out)
  }

  end({ finishes }: StreamEnd, usage: ChargedUsage): Buffer {
    const calls = this.#madeCalls()
    return Buffer.from(
      (calls.length === 0 ? '' : this.#line({ content: '', tool_calls: calls })) +
        `${JSON.stringify({
          ...this.#head({ content: '' }),
          done: true,
          done_reason: REASONS[finishes[0]?.finish ?? 'stop'],
          ...counts(usage),
        })}\n`,
    )
  }

  fail(error: ApiError): Buffer {
    return Buffer.from(`${JSON.stringify(errorBody(error, 'ollama', ''))}\n`)
  }

  whole(
    { choices: [choice] }: ChatAnswer,
    usage: ChargedUsage,
    events: readonly AnswerEvent[],
  ): Record<string, unknown> {
    for (const event of events) this.#call(event)
    const { content, refusal, reasoning } = choice?.message ?? {}
    const calls = this.#madeCalls()
    return {
      ...this.#head({
        content: textOf(content) + textOf(refusal),
        ...(textOf(reasoning) === '' ? {} : { thinking: reasoning }),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
      }),
      done: true,
      done_reason: REASONS[choice?.finish ?? 'stop'],
      ...counts(usage),
    }
  }

  #call(event: AnswerEvent): void {
    if (event.type === 'tool_call' && event.choice === 0)
      this.#calls.set(event.index, { id: event.id, name: event.name, arguments: '' })
    if (event.type !== 'tool_arguments' || event.choice !== 0) return
    const call = this.#calls.get(event.index)
    if (call !== undefined) call.arguments += event.text
  }

  #madeCalls(): readonly unknown[] {
    const calls = [...this.#calls.values()]
    return calls.map(({ id, name, arguments: text }, index) => ({
      id,
      function: { index, name, arguments: text.trim() === '' ? {} : inputOf(text) },
    }))
  }

  #line(message: Readonly<Record<string, unknown>>): string {
    return `${JSON.stringify({ ...this.#head(message), done: false })}\n`
  }

  #head(message: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const { model, created } = this.#identity
    return { model, created_at: isoTime(created * 1_000), message: { role: 'assistant', ...message } }
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The counts; those of the input include cached tokens. */
function counts({ report, chargedMicro }: ChargedUsage): Readonly<Record<string, unknown>> {
  return {
    prompt_eval_count: report.inputTokens,
    eval_count: report.outputTokens,
    cached_tokens: report.cachedTokens,
    cost: rubles(chargedMicro),
    currency: 'RUB',
  }
}
