import type { Endpoint } from '../../src/catalog/catalog.ts'
import type { AnswerEvent } from '../../src/kinds/answer/event.ts'
import type { UsageReport } from '../../src/kinds/chat/answer.ts'
import type { ChatRequest } from '../../src/kinds/chat/request.ts'
import { inputUsage } from '../../src/kinds/answer/usage.ts'
import { NO_PARAMETERS, type Adapter } from '../../src/protocols/ports/adapter.ts'
import type { AnswerSink, ResultSink, RunningCall } from '../../src/protocols/ports/call.ts'
import { drawTier } from './conditions.ts'
import type { AttemptFacts, PartFacts, RequestFacts } from './facts.ts'
import type { Random } from './random.ts'
import { isUnits } from './requests.ts'
import type { Owner, Scheduler } from './scheduler.ts'
import { draw, script, type Step, type Wish } from './script.ts'

export interface UpstreamPorts {
  readonly scheduler: Scheduler
  readonly random: Random
  readonly node: Owner
  /** A provider with native completions takes all prompts in one call. */
  readonly takesList: boolean
  /** For the service tiers in which it serves; null = it says none. */
  readonly conditions: Random | null
  /** Many answers are empty, because the universe is about free answers. */
  readonly empties: boolean
  /** Many answers last for minutes. */
  readonly longAnswers: boolean
  /** The node has been told to stop. */
  readonly closing: () => boolean
  readonly trace: (text: string) => void
}

/** All providers of the universe behind one adapter: each call follows a script drawn for it. */
export class Upstream {
  readonly adapter: Adapter
  readonly #ports: UpstreamPorts
  #begun: { readonly request: RequestFacts; readonly attempt: AttemptFacts } | null = null

  constructor(ports: UpstreamPorts) {
    this.#ports = ports
    const ask = (endpoint: Endpoint, wish: Wish, sink: AnswerSink): RunningCall => this.#ask(endpoint, wish, sink)
    const once: Wish = { stream: false, choices: 1, written: 1, maxTokens: null, serviceTier: null }
    this.adapter = {
      name: 'openai',
      parameters: { ...NO_PARAMETERS, chat: ['max_tokens', 'temperature', 'n', 'best_of', 'service_tier'] },
      chat: ({ endpoint, request, sendMaxTokens }, sink) =>
        ask(
          endpoint,
          {
            stream: request.stream,
            choices: request.n,
            written: request.n,
            maxTokens: sendMaxTokens,
            serviceTier: tierOf(request),
          },
          sink,
        ),
      completions: {
        takesList: ports.takesList,
        ask: ({ endpoint, request: { chat, bestOf }, prompts, sendMaxTokens }, sink) =>
          ask(
            endpoint,
            {
              stream: chat.stream,
              choices: chat.n * prompts.length,
              written: (bestOf ?? chat.n) * prompts.length,
              maxTokens: sendMaxTokens,
              serviceTier: tierOf(chat),
            },
            sink,
          ),
      },
      embeddings: ({ endpoint }, sink) =>
        ask(
          endpoint,
          once,
          wholeSink(sink, (said, usage) => ({ vectors: said ? [Buffer.from('[0.5]')] : [], usage, upstreamId: null })),
        ),
      rerank: ({ endpoint }, sink) =>
        ask(
          endpoint,
          once,
          wholeSink(sink, (said, usage) => ({
            results: said ? [{ index: 0, score: 0.5 }] : [],
            usage,
            upstreamId: null,
          })),
        ),
    }
  }

  /** The gateway will ask one endpoint for a whole request, in any number of calls. */
  begins(request: RequestFacts, endpoint: Endpoint): void {
    const { nowMs } = this.#ports.scheduler
    const attempt: AttemptFacts = {
      endpoint,
      startedMs: nowMs,
      parts: [],
      headers: false,
      text: '',
      finishes: new Map(),
      outcome: 'running',
      clientPresent: true,
      outcomeMs: nowMs,
      nodeClosing: false,
      gaveUp: false,
      erred: false,
      slowed: false,
    }
    request.attempts.push(attempt)
    this.#begun = { request, attempt }
  }

  #ask(endpoint: Endpoint, wish: Wish, sink: AnswerSink): RunningCall {
    if (this.#begun?.attempt.endpoint !== endpoint)
      throw new Error(`${endpoint.id} was reached, and nobody had asked for it.`)
    return new ScriptedCall(this.#ports, this.#begun, wish, sink)
  }
}

function tierOf({ parameters }: ChatRequest): string | null {
  const tier = parameters['service_tier']
  return typeof tier === 'string' ? tier : null
}

/** An answer that is not streamed: nothing of it is known before it is whole, except the billed usage of a failure. */
function wholeSink<Result>(
  sink: ResultSink<Result>,
  make: (said: boolean, usage: UsageReport | null) => Result,
): AnswerSink {
  let usage: UsageReport | null = null
  let said = false
  return {
    headers: () => sink.headers(),
    push: (events) => {
      for (const event of events) {
        if (event.type === 'usage') usage = event.usage
        if (event.type === 'text') said = true
      }
      return true
    },
    end: () => sink.result(make(said, usage)),
    fail: (failure) => sink.fail(failure, usage),
  }
}

/** The same numbers as a provider that only reads reports them: tokens, and search units. */
function readUsage({ usage, missing, implausible }: UsageReport): UsageReport {
  if (missing !== undefined) return inputUsage({ tokens: null, implausible })
  const output = usage.output ?? 0
  return inputUsage({ tokens: usage.input ?? 0, searches: output > 100 ? 900 : output > 6 ? 2 : Math.min(1, output) })
}

class ScriptedCall implements RunningCall {
  readonly #ports: UpstreamPorts
  readonly #sink: AnswerSink
  readonly #request: RequestFacts
  readonly #attempt: AttemptFacts
  readonly #part: PartFacts = { usage: null, serviceTier: null, ended: false }
  readonly #firstChoice: number
  readonly #steps: Step[]
  #stop: (() => void) | null = null
  #paused = false
  /** For an answer that is not streamed. */
  #unread: AnswerEvent[] = []

  constructor(
    ports: UpstreamPorts,
    { request, attempt }: { readonly request: RequestFacts; readonly attempt: AttemptFacts },
    wish: Wish,
    sink: AnswerSink,
  ) {
    this.#ports = ports
    this.#sink = sink
    this.#request = request
    this.#attempt = attempt
    this.#firstChoice = attempt.parts.length * request.request.choices
    attempt.parts.push(this.#part)
    const outcome = ports.longAnswers && ports.random.chance(0.3) ? 'endless' : draw(ports.random, ports.empties)
    ports.trace(`r${request.number}: ${attempt.endpoint.id} will do: ${outcome}`)
    const steps = script(outcome, wish, ports.random)
    this.#steps = isUnits(request.request) ? steps.map(asRead) : this.#underConditions(steps, wish)
    this.#next()
  }

  /** Its first words or its last ones say in which tier it is served, or none do; it may be as long as is allowed. */
  #underConditions(steps: readonly Step[], { serviceTier, maxTokens, written }: Wish): Step[] {
    const { conditions: random } = this.#ports
    if (random === null) return [...steps]
    const { servesAsAsked = false } = this.#attempt.endpoint.provider
    const served = random.chance(0.1) ? null : drawTier(random, serviceTier, servesAsAsked)
    const says = { type: 'origin', upstreamId: null, systemFingerprint: null, serviceTier: served } as const
    const speaks = ({ does }: Step): boolean => does === 'push'
    const at = random.chance(0.7) ? steps.findIndex(speaks) : steps.findLastIndex(speaks)
    const isLong = maxTokens !== null && random.chance(0.4)
    const lengthened = (event: AnswerEvent): AnswerEvent =>
      isLong && event.type === 'usage' && (event.usage.usage.output ?? 0) > 0
        ? { ...event, usage: withOutput(event.usage, maxTokens * written) }
        : event
    return steps.map((step, index) =>
      step.does === 'push'
        ? { ...step, events: [...(index === at ? [says] : []), ...step.events.map(lengthened)] }
        : step,
    )
  }

  cancel(): void {
    this.#stop?.()
    // Another call may have ended the attempt.
    if (this.#attempt.outcome === 'running') this.#close('cancelled')
  }

  resume(): void {
    if (!this.#paused || this.#attempt.outcome !== 'running') return
    this.#paused = false
    this.#next()
  }

  #next(): void {
    const step = this.#steps.shift()
    if (step === undefined) return
    const { scheduler, node } = this.#ports
    this.#stop = scheduler.after(step.waitMs, node, () => this.#do(step))
  }

  #do(step: Step): void {
    const attempt = this.#attempt
    switch (step.does) {
      case 'headers':
        attempt.headers = true
        this.#sink.headers()
        return this.#next()
      case 'push':
        if (isUnits(this.#request.request)) this.#unread.push(...step.events)
        else for (const event of step.events) this.#note(event)
        this.#paused = !this.#sink.push(step.events)
        attempt.slowed ||= this.#paused
        // A reader that asked for a pause resumes it; it may have been cancelled meanwhile.
        if (!this.#paused && attempt.outcome === 'running') this.#next()
        return
      case 'end':
        for (const event of this.#unread) this.#note(event)
        this.#part.ended = true
        if (attempt.parts.every(({ ended }) => ended)) this.#close('ended')
        this.#sink.end()
        return
      case 'fail':
        for (const event of this.#unread) if (event.type === 'usage') this.#note(event)
        attempt.erred = step.failure.reason === 'error_event'
        attempt.gaveUp = step.failure.reason === 'timeout' || step.failure.reason === 'stall'
        this.#close('failed')
        this.#sink.fail(step.failure)
    }
  }

  #note(event: AnswerEvent): void {
    if (event.type === 'text') this.#attempt.text += event.text
    if (event.type === 'usage') this.#part.usage = event.usage
    if (event.type === 'origin') this.#part.serviceTier = event.serviceTier ?? null
    if (event.type === 'finish') this.#attempt.finishes.set(this.#firstChoice + event.choice, event.native)
  }

  #close(outcome: AttemptFacts['outcome']): void {
    const { scheduler, closing, trace } = this.#ports
    this.#attempt.outcome = outcome
    this.#attempt.nodeClosing = closing()
    this.#attempt.outcomeMs = scheduler.nowMs
    // A client that resumes a cancelled stream is shown nothing.
    this.#attempt.clientPresent =
      !this.#request.cancelled && (this.#request.present || scheduler.nowMs < this.#request.graceUntilMs)
    trace(`r${this.#request.number}: attempt ${this.#request.attempts.length} ${outcome}`)
  }
}

function withOutput(report: UsageReport, output: number): UsageReport {
  return { ...report, usage: { ...report.usage, output }, outputTokens: output }
}

function asRead(step: Step): Step {
  return step.does === 'push'
    ? {
        ...step,
        events: step.events.map((event) =>
          event.type === 'usage' ? { ...event, usage: readUsage(event.usage) } : event,
        ),
      }
    : step
}
