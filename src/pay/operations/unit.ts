import type { RoutedRequest } from '../../kinds/fields/routed-request.ts'
import { boundedUnits, planUnits, recountedUnits } from '../plan/unit-plan.ts'
import type { Operation, AnswerBody, Attempt, AttemptStart, MeasuredUsage, ReportedUsage } from '../relay/operation.ts'
import type { UnitKind } from './unit-kind.ts'
import type { ApiError } from '../../base/errors.ts'
import type { ChargedUsage } from '../../kinds/answer/writer.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import { JsonBytes, jsonParts } from '../../base/json-text.ts'
import type { Usage } from '../../tables/meters.ts'
import { countedReport } from '../plan/usage-bounds.ts'
import type { AnswerSink, RunningCall } from '../../protocols/ports/call.ts'

const EVENT_END = Buffer.from('\n\n')

/** One provider's answer with a single result: charged as a whole, or not at all (guarantees.md rule 18). */
class UnitAttempt<Request extends RoutedRequest, Result> implements Attempt {
  readonly firstTokenMs = null
  readonly finish = null
  readonly native = null
  readonly says = false
  readonly call: RunningCall
  readonly #request: Request
  readonly #kind: UnitKind<Request, Result>
  readonly #start: AttemptStart
  #result: { readonly value: Result } | null = null
  /** The usage of a failed attempt. */
  #billed: UsageReport | null = null

  constructor(request: Request, kind: UnitKind<Request, Result>, start: AttemptStart, sink: AnswerSink<Buffer>) {
    this.#request = request
    this.#kind = kind
    this.#start = start
    const { adapter, candidate, apiKey, generationId } = start
    this.call = kind.ask(
      adapter,
      { endpoint: candidate.endpoint, apiKey, request, generationId },
      {
        headers: () => sink.headers(),
        result: (value) => {
          this.#result = { value }
          sink.end()
        },
        fail: (failure, billed) => {
          this.#billed = billed ?? failure.billed ?? null
          sink.fail(failure)
        },
      },
      start,
    )
  }

  get dropped(): readonly string[] {
    return this.#kind.dropped?.(this.#request, this.#start) ?? []
  }

  get upstreamId(): string | null {
    return this.#result === null ? null : this.#kind.upstreamId(this.#result.value)
  }

  isEmpty(): boolean {
    return this.#result === null || this.#kind.isEmpty(this.#result.value)
  }

  async prepare(): Promise<void> {
    const value = await this.#kind.prepare?.(this.#request, this.#value(), this.#start)
    if (value !== undefined) this.#result = { value }
  }

  measured(): MeasuredUsage {
    return this.#kind.measured(this.#request, this.#value(), this.#start)
  }

  /** Without its result such an answer has no value. */
  delivered(): ReportedUsage {
    const nothing = countedReport(0, 0)
    return this.#result === null ? { report: nothing, reported: nothing, flagged: false } : this.measured()
  }

  reported(): ReportedUsage | null {
    if (this.#result !== null) return this.measured()
    const billed = this.#billed
    return billed === null ? null : { report: billed, reported: billed, flagged: billed.implausible }
  }

  lost(): Usage {
    const { candidate, tokens } = this.#start
    return this.#kind.worstUsage(this.#request, candidate.model, candidate.endpoint, tokens)
  }

  body(usage: ChargedUsage): AnswerBody {
    return this.#kind.body(this.#request, this.#value(), this.#start.identity, usage)
  }

  tail(usage: ChargedUsage): Buffer {
    const events = this.#kind.events?.(this.#request, this.#value(), this.#start.identity, usage)
    if (events === undefined) throw new Error('An answer that comes at once has no tail.')
    return Buffer.concat(
      events.flatMap((event) => {
        const lifted = Object.values(event).filter((value) => value instanceof JsonBytes)
        return [Buffer.from(`event: ${event.type}\ndata: `), ...jsonParts(event, lifted), EVENT_END]
      }),
    )
  }

  /** For a stream that has already kept its client waiting. */
  errorTail(error: ApiError): Buffer | null {
    if (this.#kind.streams?.(this.#request) !== true) return null
    return Buffer.from(`event: error\ndata: ${JSON.stringify({ type: 'error', ...error.body() })}\n\n`)
  }

  #value(): Result {
    if (this.#result === null) throw new Error('The answer has not come yet.')
    return this.#result.value
  }
}

/** The operation of a kind with a single result. */
export function unitOperation<Request extends RoutedRequest, Result>(
  request: Request,
  kind: UnitKind<Request, Result>,
): Operation {
  const { type } = kind
  return {
    type,
    delivery: kind.streams?.(request) === true ? 'events' : 'whole',
    atOnce: true,
    contentType: null,
    sessionId: request.sessionId,
    fitsFunds: false,
    plan: (input) =>
      planUnits({
        ...input,
        request,
        type,
        sent: kind.sent(request),
        check: (model) => kind.check(request, model, input.tokens),
        able: (endpoint) => kind.able(request, endpoint),
        priced: (endpoint, model) => kind.priced?.(request, model, endpoint) ?? endpoint,
        worstUsage: (model, endpoint) => kind.worstUsage(request, model, endpoint, null),
        mayExceed: (model, endpoint) => kind.mayExceed(request, model, endpoint),
      }),
    recounted: (plan, tokens) =>
      recountedUnits(plan, (model, endpoint) => kind.worstUsage(request, model, endpoint, tokens)),
    bounded: (plan) =>
      kind.mostUsage === undefined
        ? null
        : boundedUnits(plan, (model, endpoint) => kind.mostUsage?.(request, model, endpoint) ?? {}),
    begin: (start, sink) => new UnitAttempt(request, kind, start, sink),
  }
}
