import type { ApiError } from '../../../base/errors.ts'
import { rubles } from '../../../base/money.ts'
import type { AnswerEvent } from '../../../kinds/answer/event.ts'
import { ObjectEnd } from '../../../kinds/answer/call-arguments.ts'
import type { AnswerWriter, ChargedUsage } from '../../../kinds/answer/writer.ts'
import type { ChatAnswer, ChunkIdentity, FinishReason, StreamEnd } from '../../../kinds/chat/answer.ts'

const FINISHES: Readonly<Record<FinishReason, string>> = {
  stop: 'COMPLETE',
  tool_calls: 'TOOL_CALL',
  length: 'MAX_TOKENS',
  content_filter: 'ERROR',
  error: 'ERROR',
}
const DONE = 'data: [DONE]\n\n'

type Speech = 'text' | 'thinking'

/** Writes an answer in the form of Cohere's `/v2/chat`, which has one choice: the first. */
export class CohereWriter implements AnswerWriter {
  readonly #identity: ChunkIdentity
  #isOpened = false
  #items = 0
  #open: Speech | null = null
  /** Calls whose arguments may continue, by index: some providers send those of several calls in turns. */
  readonly #calls = new Map<number, ObjectEnd>()

  constructor(identity: ChunkIdentity) {
    this.#identity = identity
  }

  write(events: readonly AnswerEvent[]): Buffer {
    let out = ''
    for (const event of events) out += this.#event(event)
    return Buffer.from(out)
  }

  end({ finishes }: StreamEnd, usage: ChargedUsage): Buffer {
    const delta = { finish_reason: finishOf(finishes[0]?.finish ?? 'stop'), usage: usageOf(usage) }
    return Buffer.from(
      this.#start() + this.#closeItems(true) + event('message-end', { id: this.#identity.id, delta }) + DONE,
    )
  }

  fail(error: ApiError, usage: ChargedUsage | null): Buffer {
    const charged = usage === null ? {} : { usage: usageOf(usage) }
    const delta = { finish_reason: 'ERROR', error: error.message, ...charged }
    return Buffer.from(
      this.#start() + this.#closeItems(true) + event('message-end', { id: this.#identity.id, delta }) + DONE,
    )
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
      finish_reason: finishOf(choice?.finish ?? 'stop'),
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
      case 'tool_call':
        return step.choice === 0 ? this.#call(step.index, step.id, step.name) : ''
      case 'tool_arguments':
        return step.choice === 0 ? this.#arguments(step.index, step.text) : ''
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

  #said(kind: Speech, text: string): string {
    const begins = this.#open === kind ? '' : this.#begin(kind)
    return begins + contentEvent('delta', this.#items - 1, { [kind]: text })
  }

  #begin(kind: Speech): string {
    const before = this.#start() + this.#closeItems()
    this.#open = kind
    this.#items += 1
    return before + contentEvent('start', this.#items - 1, { type: kind, [kind]: '' })
  }

  #call(index: number, id: string, name: string): string {
    const before = this.#start() + this.#closeItems()
    this.#calls.set(index, new ObjectEnd())
    return before + callEvent('start', index, { id, type: 'function', function: { name, arguments: '' } })
  }

  #arguments(index: number, text: string): string {
    const call = this.#calls.get(index)
    if (call === undefined) return ''
    call.add(text)
    return callEvent('delta', index, { function: { arguments: text } })
  }

  /** Ends the items that are complete; `all`: also the others. */
  #closeItems(all = false): string {
    let out = this.#open === null ? '' : event('content-end', { index: this.#items - 1 })
    this.#open = null
    for (const [index, call] of this.#calls) {
      if (!all && !call.reached) continue
      this.#calls.delete(index)
      out += event('tool-call-end', { index })
    }
    return out
  }

  #start(): string {
    if (this.#isOpened) return ''
    this.#isOpened = true
    const message = { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] }
    return event('message-start', { id: this.#identity.id, delta: { message } })
  }
}

function finishOf(finish: FinishReason): string {
  return FINISHES[finish]
}

/** The usage; input tokens include cached ones. */
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

function contentEvent(step: 'start' | 'delta', index: number, content: Readonly<Record<string, unknown>>): string {
  return event(`content-${step}`, { index, delta: { message: { content } } })
}

function callEvent(step: 'start' | 'delta', index: number, call: Readonly<Record<string, unknown>>): string {
  return event(`tool-call-${step}`, { index, delta: { message: { tool_calls: call } } })
}

function event(type: string, fields: Readonly<Record<string, unknown>>): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}
