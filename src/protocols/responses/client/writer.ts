import type { ApiError } from '../../../base/errors.ts'
import { isContent, type AnswerEvent } from '../../../kinds/answer/event.ts'
import type { AnswerWriter, ChargedUsage, KeptEnd } from '../../../kinds/answer/writer.ts'
import type { ChatAnswer, ChunkIdentity, StreamEnd } from '../../../kinds/chat/answer.ts'
import { endOf, failureOf, idTail, responseBody, type ResponseState } from './response-body.ts'
import type { Emit } from './output-item.ts'
import { ResponseOutput } from './response-output.ts'
import type { RequestEcho, ToolNames } from './request.ts'

const NOTHING = Buffer.alloc(0)
const CANCELLED = { status: 'cancelled', incompleteReason: null, failure: null } as const

/**
 * Writes an answer as a Response, or as the events of its stream (wire.md D-2.4): numbered from 0 without gaps, no
 * `[DONE]`.
 */
export class ResponsesWriter implements AnswerWriter {
  readonly #identity: ChunkIdentity
  readonly #echo: RequestEcho
  readonly #nowMs: () => number
  readonly #output: ResponseOutput
  #sequence = 0
  /** Some event had content: before that, the stream may start again. */
  #says = false
  #out: string[] = []
  #completed: number | null = null
  #serviceTier: string | null = null

  readonly #names: ToolNames | null

  /** `nowMs` is the wall clock, for the time of completion; `names` = the answer calls tools by their chat names. */
  constructor(identity: ChunkIdentity, echo: RequestEcho, nowMs: () => number, names: ToolNames | null = null) {
    this.#identity = identity
    this.#echo = echo
    this.#nowMs = nowMs
    this.#names = names
    this.#output = this.#newOutput((type, fields) => this.#event(type, fields))
  }

  write(events: readonly AnswerEvent[]): Buffer {
    for (const event of events) {
      this.#output.add(event)
      if (event.type === 'origin') this.#serviceTier = event.serviceTier ?? this.#serviceTier
    }
    this.#says ||= events.some(isContent)
    return this.#says ? this.#taken() : NOTHING
  }

  end(end: StreamEnd, usage: ChargedUsage): Buffer {
    const finished = endOf(end.finishes[0]?.finish ?? 'stop')
    // Open items of a failed answer stay open: a client must not take them as complete.
    if (finished.status !== 'failed') this.#output.close(finished.status === 'completed' ? 'completed' : 'incomplete')
    this.#last({ ...finished, usage })
    return this.#taken()
  }

  fail(error: ApiError, usage: ChargedUsage | null): Buffer {
    // The client never saw events that were held back.
    if (!this.#says) {
      this.#out = []
      this.#sequence = 0
    }
    this.#last({ status: 'failed', incompleteReason: null, failure: failureOf(error), usage })
    return this.#taken()
  }

  /** It may be asked for more than once, with another charge. */
  kept(end: StreamEnd, usage: ChargedUsage, how: KeptEnd): Record<string, unknown> {
    const finished =
      how === 'cancelled' ? CANCELLED : endOf(how === 'failed' ? 'error' : (end.finishes[0]?.finish ?? 'stop'))
    if (finished.status === 'completed' || finished.status === 'incomplete') this.#output.close(finished.status)
    const completedAt = this.#completedAt(finished.status)
    const { serviceTier } = end
    return this.#body({ ...finished, usage, serviceTier, output: this.#output.bodies(), completedAt })
  }

  whole(answer: ChatAnswer, usage: ChargedUsage, events: readonly AnswerEvent[]): Record<string, unknown> {
    const output = this.#newOutput(() => undefined)
    for (const event of events) output.add(event)
    const end = endOf(answer.choices[0]?.finish ?? 'stop')
    output.close(end.status === 'completed' ? 'completed' : 'incomplete')
    const { serviceTier } = answer
    return this.#body({
      ...end,
      output: output.bodies(),
      usage,
      serviceTier,
      completedAt: this.#completedAt(end.status),
    })
  }

  #newOutput(emit: Emit): ResponseOutput {
    return new ResponseOutput(idTail(this.#identity.id), emit, this.#echo.keepsDetails, this.#names)
  }

  #last(state: Pick<ResponseState, 'status' | 'incompleteReason' | 'failure' | 'usage'>): void {
    this.#event(`response.${state.status}`, {
      response: this.#body({
        ...state,
        serviceTier: this.#serviceTier,
        output: this.#output.bodies(),
        completedAt: this.#completedAt(state.status),
      }),
    })
  }

  #body(state: ResponseState): Record<string, unknown> {
    return responseBody(this.#identity, this.#echo, state)
  }

  /** The very first event announces the Response. */
  #event(type: string, fields: Readonly<Record<string, unknown>>): void {
    if (this.#sequence === 0) {
      const response = this.#body({
        status: 'in_progress',
        output: [],
        usage: null,
        serviceTier: this.#serviceTier,
        completedAt: null,
        incompleteReason: null,
        failure: null,
      })
      this.#put('response.created', { response })
      this.#put('response.in_progress', { response })
    }
    this.#put(type, fields)
  }

  #put(type: string, fields: Readonly<Record<string, unknown>>): void {
    this.#out.push(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#sequence, ...fields })}\n\n`)
    this.#sequence += 1
  }

  #taken(): Buffer {
    const bytes = Buffer.from(this.#out.join(''))
    this.#out = []
    return bytes
  }

  /** Of the first that asks: what is kept and what is sent say the same. */
  #completedAt(status: ResponseState['status']): number | null {
    if (status !== 'completed') return null
    this.#completed ??= Math.floor(this.#nowMs() / 1_000)
    return this.#completed
  }
}
