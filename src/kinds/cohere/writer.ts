import type { ApiError } from '../../errors.ts'
import { rubles } from '../../money.ts'
import type { AnswerEvent } from '../answer/event.ts'
import type { AnswerWriter, ChargedUsage } from '../answer/writer.ts'
import type { ChatAnswer, ChunkIdentity, FinishReason, StreamEnd } from '../chat/answer.ts'

const FINISHES: Readonly<Record<FinishReason, string>> = {
  stop: 'COMPLETE',
  tool_calls: 'TOOL_CALL',
  length: 'MAX_TOKENS',
  content_filter: 'ERROR',
  error: 'ERROR',
}
const DONE = 'data: [DONE]\n\n'

/** An open item of a stream: text, thinking, or a call. */
interface OpenItem {
  readonly kind: 'text' | 'thinking' | 'call'
  readonly index: number
  /** The index of the call. */
  readonly call: number
}

/** Writes an answer in the form of Cohere's `/v2/chat`, which has one choice: the first. */
export class CohereWriter implements AnswerWriter {
  readonly #identity: ChunkIdentity
  #isOpened = false
  #items = 0
  #open: OpenItem | null = null

  constructor(identity: ChunkIdentity) {
    this.#identity = identity
  }

  write(events: readonly AnswerEvent[]): Buffer {
    let out = ''
    for (const event of events) out += this.#event(event)
    return Buffer.from(out)
  }

  end({ finishes }: StreamEnd, usage: ChargedUsage): Buffer {
    const delta = { finish_reason: finishOf(finishes[0]?.finish ?? null), usage: usageOf(usage) }
    return Buffer.from(this.#start() + this.#close() + event('message-end', { id: this.#identity.id, delta }) + DONE)
  }

  fail(error: ApiError, usage: ChargedUsage | null): Buffer {
    const charged = usage === null ? {} : { usage: usageOf(usage) }
    const delta = { finish_reason: 'ERROR', error: error.message, ...charged }
    return Buffer.from(this.#start() + this.#close() + event('message-end', { id: this.#identity.id, delta }) + DONE)
  }

  whole({ choices }: ChatAnswer, usage: ChargedUsage): Record<string, unknown> {
    const [choice] = choices
    const { content, refusal, reasoning, tool_calls: calls } = choice?.message ?? {}
    const said = (typeof content === 'string' ? content : '') + (typeof refusal === 'string' ? refusal : '')
    const items = [
      ...(typeof reasoning === 'string' && reasoning !== '' ? [{ type: 'thinking', thinking: reasoning }] : []),
      ...(said === '' ? [] : [{ type: 'text', text: said }]),
    ]
    return {
      id: this.#identity.id,
      finish_reason: finishOf(choice?.finish ?? null),
      message: {
        role: 'assistant',
        ...(items.length === 0 ? {} : { content: items }),
        ...(Array.isArray(calls) && calls.length > 0 ? { tool_calls: calls } : {}),
      },
      usage: usageOf(usage),
    }
  }

  #event(step: AnswerEvent): string {
    switch (step.type) {
      case 'text':
      case 'refusal':
        return step.choice === 0 && step.text !== '' ? this.#said('text', step.text) : ''
      case 'reasoning':
        return step.choice === 0 && step.text !== '' ? this.#said('thinking', step.text) : ''
      case 'tool_call': {
        if (step.choice !== 0) return ''
        const call = { id: step.id, type: 'function', function: { name: step.name, arguments: '' } }
        return this.#begin('call', step.index) + this.#delta('tool-call-start', { tool_calls: call })
      }
      case 'tool_arguments': {
        if (step.choice !== 0) return ''
        const index = this.#open?.kind === 'call' && this.#open.call === step.index ? this.#open.index : step.index
        const delta = { message: { tool_calls: { function: { arguments: step.text } } } }
        return event('tool-call-delta', { index, delta })
      }
      case 'extra':
      case 'finish':
      case 'item':
      case 'origin':
      case 'usage':
      case 'wire':
        return ''
      case 'spliced':
        throw new Error('An answer in this protocol offers no splice.')
    }
  }

  #said(kind: 'text' | 'thinking', text: string): string {
    const begins = this.#open?.kind === kind ? '' : this.#begin(kind, 0) + this.#contentStart(kind)
    return begins + this.#delta('content-delta', { content: { [kind]: text } })
  }

  #contentStart(kind: 'text' | 'thinking'): string {
    return this.#delta('content-start', { content: { type: kind, [kind]: '' } })
  }

  #delta(type: string, message: Readonly<Record<string, unknown>>): string {
    return event(type, { index: this.#open?.index ?? 0, delta: { message } })
  }

  #begin(kind: OpenItem['kind'], call: number): string {
    const before = this.#start() + this.#close()
    this.#open = { kind, index: kind === 'call' ? call : this.#items, call }
    if (kind !== 'call') this.#items += 1
    return before
  }

  #close(): string {
    const open = this.#open
    this.#open = null
    if (open === null) return ''
    return event(open.kind === 'call' ? 'tool-call-end' : 'content-end', { index: open.index })
  }

  #start(): string {
    if (this.#isOpened) return ''
    this.#isOpened = true
    const message = { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] }
    return event('message-start', { id: this.#identity.id, delta: { message } })
  }
}

function finishOf(finish: FinishReason | null): string {
  return FINISHES[finish ?? 'stop']
}

/** Input tokens include cached ones. */
function usageOf({ report, chargedMicro }: ChargedUsage): Record<string, unknown> {
  const tokens = { input_tokens: report.inputTokens, output_tokens: report.outputTokens }
  return {
    billed_units: tokens,
    tokens,
    cached_tokens: report.cachedTokens,
    cost: rubles(chargedMicro),
    currency: 'RUB',
  }
}

function event(type: string, fields: Readonly<Record<string, unknown>>): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}
