import type { ApiError } from '../../base/errors.ts'
import { JsonBytes, jsonParts } from '../../base/json-text.ts'
import type { Endpoint, Model } from '../../catalog/catalog.ts'
import type { ChargedUsage } from '../../kinds/answer/writer.ts'
import type { ChunkIdentity, UsageReport } from '../../kinds/chat/answer.ts'
import type { RoutedRequest } from '../../kinds/fields/routed-request.ts'
import type { Adapter, AdapterTable } from '../../protocols/ports/adapter.ts'
import type { AnswerSink, AskUnit, ResultSink, RunningCall, UnitCall } from '../../protocols/ports/call.ts'
import type { Usage } from '../../tables/meters.ts'
import type { PlanInput } from '../plan/plan.ts'
import { boundedUnits, planUnits, recountedUnits } from '../plan/unit-plan.ts'
import { countedReport } from '../plan/usage-bounds.ts'
import type { AnswerBody, Attempt, AttemptStart, MeasuredUsage, Operation, ReportedUsage } from '../relay/operation.ts'

const EVENT_END = Buffer.from('\n\n')

/** One provider's answer with a single result, which is charged as a whole, or not at all (guarantees.md rule 18). */
class UnitAttempt<Request extends RoutedRequest, Result extends UnitResult> implements Attempt {
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
    return this.#result?.value.upstreamId ?? null
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

  /** Without its result, such an answer has no value for the client. */
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

  /** The error as an event, for a stream that has already begun. */
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
export function unitOperation<Request extends RoutedRequest, Result extends UnitResult>(
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
        mayExceed: (model, endpoint) => kind.mayExceed?.(request, model, endpoint) === true,
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

/** An event of OpenAI's streams, except those of chat; its type is also its name. */
export interface NamedEvent {
  readonly type: string
}

interface UnitResult {
  readonly upstreamId: string | null
}

/** A kind with a single result, whose price does not depend on the length of an answer. */
export interface UnitKind<Request extends RoutedRequest, Result extends UnitResult> {
  readonly type: Operation['type']
  /** Names of the parameters that the client set explicitly. */
  sent(request: Request): readonly string[]
  /** Names of those that this provider is not sent; absent = the kind reports none. */
  dropped?(request: Request, start: AttemptStart): readonly string[]
  /** Throws an ApiError if the model cannot serve the request. */
  check(request: Request, model: Model, tokens: PlanInput['tokens']): void
  /** Whether an endpoint can serve the kind, and this request. */
  able(request: Request, endpoint: Endpoint): boolean
  /** The most usage at an endpoint: by a bound that costs nothing to compute, or by a count if `tokens` are given. */
  worstUsage(request: Request, model: Model, endpoint: Endpoint, tokens: PlanInput['tokens'] | null): Usage
  /** Whether an answer may be charged for more than `worstUsage`, which is then an estimate; absent = never. */
  mayExceed?(request: Request, model: Model, endpoint: Endpoint): boolean
  /** The most that is charged, whatever the provider reports; absent = there is no such bound. */
  mostUsage?(request: Request, model: Model, endpoint: Endpoint): Usage
  /** The endpoint with its prices for this request; absent = its own. */
  priced?(request: Request, model: Model, endpoint: Endpoint): Endpoint
  ask(adapter: Adapter, call: UnitCall<Request>, sink: ResultSink<Result>, start: AttemptStart): RunningCall
  /** Whether the result has nothing that anyone would pay for (guarantees.md rule 4). */
  isEmpty(result: Result): boolean
  measured(request: Request, result: Result, start: AttemptStart): MeasuredUsage
  /**
   * Work before the answer may be charged, such as storing its files; resolves to the result with the outcome of that
   * work.
   */
  prepare?(request: Request, result: Result, start: AttemptStart): Promise<Result>
  body(request: Request, result: Result, identity: ChunkIdentity, usage: ChargedUsage): AnswerBody
  /** Whether the client wants events; absent = the kind has none. */
  streams?(request: Request): boolean
  /** The answer as events of a stream, which are sent after it is charged. */
  events?(request: Request, result: Result, identity: ChunkIdentity, usage: ChargedUsage): readonly NamedEvent[]
}

/** The parts of a kind whose calls are one function of an adapter. */
export function servedBy<Request extends RoutedRequest, Result extends UnitResult>(
  adapters: AdapterTable,
  name: string,
  callOf: (adapter: Adapter) => AskUnit<Request, Result> | undefined,
): Pick<UnitKind<Request, Result>, 'able' | 'ask'> {
  return {
    able: (_request, { provider }) => {
      const adapter = adapters.get(provider.adapter)
      return adapter !== undefined && callOf(adapter) !== undefined
    },
    ask: (adapter, call, sink) => {
      const ask = callOf(adapter)
      if (ask === undefined)
        throw new Error(`Adapter '${adapter.name}' has no ${name}: the plan lets only those through that have.`)
      return ask(call, sink)
    },
  }
}

export type TextTokens = Pick<PlanInput['tokens'], 'countTexts'>

/** The few tokens that providers put around each text, at most. */
const FRAME_TOKENS_MAX = 8

/**
 * The tokens of texts that a model reads one by one: their bytes bound them at no cost, and they are counted once for
 * each encoding on demand.
 */
export class InputCount {
  readonly #texts: readonly string[]
  /** Tokens that the client sent as tokens, besides the texts. */
  readonly #given: number
  readonly #counts = new Map<string | null, { readonly tokens: number; readonly exact: boolean }>()
  #bytes: number | null = null

  constructor(texts: readonly string[], given = 0) {
    this.#texts = texts
    this.#given = given
  }

  get bytes(): number {
    this.#bytes ??= this.#texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
    return this.#bytes
  }

  /** An upper bound: no tokenizer makes more tokens of the texts. */
  get bound(): number {
    return this.#given + this.bytes + FRAME_TOKENS_MAX * this.#texts.length
  }

  count(model: Model, counter: TextTokens): number {
    return this.#given + this.#count(model, counter).tokens
  }

  /** Whether the provider's count would be the same as ours. */
  isExact(model: Model, counter: TextTokens): boolean {
    return this.#count(model, counter).exact
  }

  #count({ tokenizer }: Model, counter: TextTokens): { readonly tokens: number; readonly exact: boolean } {
    if (this.#texts.length === 0) return { tokens: 0, exact: true }
    const known = this.#counts.get(tokenizer) ?? counter.countTexts(this.#texts, tokenizer)
    this.#counts.set(tokenizer, known)
    return known
  }
}

/**
 * The tokens to hold for: the count if the provider counts in the same way, else the bytes, since another tokenizer's
 * count is no bound.
 */
export function heldTokens({
  bound,
  count,
  exact,
}: {
  readonly bound: number
  readonly count: number
  readonly exact: boolean
}): number {
  return exact ? Math.min(bound, count) : bound
}
