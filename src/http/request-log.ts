import type { Clock } from '../base/clock.ts'
import { Counter, Histogram, type Metric, type MetricReading } from '../base/prometheus.ts'

type LogValue = string | number | boolean | null
export type LogFields = Readonly<Record<string, LogValue>>

/** One attempt at a provider. Times are those of clock.monotonic(), in ms. */
export interface AttemptSpan {
  readonly provider: string
  /** The provider's name of the model. */
  readonly model: string
  /** Base URL of the provider. */
  readonly address: string
  readonly startedMs: number
  readonly endedMs: number
  /** The reason of its failure, in one word of ours; null = the provider answered. */
  readonly failure: string | null
}

/** The cached and reasoning tokens of an answer, and whether it was streamed. */
export interface AnswerFacts {
  readonly streamed: boolean
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
}

export interface RequestLog {
  /**
   * Adds allow-listed fields: generation_id, model, provider, attempts, input_tokens, output_tokens, cost,
   * finish_reason, error_type, status_text, latency_ms, aborted.
   */
  set(fields: Readonly<Record<string, string | number | boolean | null>>): void
  /** The attempts at providers and the answer of the last one, for traces and metrics. */
  attempts(attempts: readonly AttemptSpan[], answer: AnswerFacts): void
  /** Prints the one line of this request; later calls do nothing. */
  finish(status: number): void
}

/** Facts for traces that are not in the log line. Times are those of clock.monotonic(), in ms. */
export interface RequestStory {
  readonly startedMs: number
  readonly endedMs: number
  /** The header as it arrived. */
  readonly traceParent: string | null
  readonly attempts: readonly AttemptSpan[]
  /** null = the request was not paid. */
  readonly answer: AnswerFacts | null
}

/** The destination of the lines; the application gives pino. */
export interface RequestLogSink {
  /** One line for each request. `failed` is a status of 500 or more. */
  line(fields: LogFields, failed: boolean, story: RequestStory): void
  /** Logs the cause of a failed request, which the client has not seen. */
  bug(thrown: unknown, requestId: string): void
}

/** Gets each request after its end, as the log does. */
export interface RequestListener extends Pick<RequestLogSink, 'line'> {
  /** The metrics of its own. */
  readonly metrics: readonly Metric[]
  /** Called when the service runs; `read` returns all metrics of this process. */
  start(read: () => readonly MetricReading[]): void
  stop(): Promise<void>
}

/** An allow-list instead of redaction: a prompt or a key cannot be logged by mistake. */
const ALLOWED: ReadonlySet<string> = new Set([
  'account_id',
  'key_id',
  'generation_id',
  'model',
  'provider',
  'attempts',
  'input_tokens',
  'output_tokens',
  'cost',
  'billing_basis',
  'finish_reason',
  'failed_attempts',
  'provider_said',
  'error_type',
  'refused_by',
  'fault',
  'status_text',
  'latency_ms',
  'first_token_ms',
  'aborted',
])

/** The one line of a request: collects fields until the first `finish`. */
export class RequestLine implements RequestLog {
  readonly #sink: RequestLogSink
  readonly #clock: Clock
  readonly #startedMs: number
  readonly #traceParent: string | null
  readonly #fields: Record<string, LogValue>
  #attempts: readonly AttemptSpan[] = []
  #answer: AnswerFacts | null = null
  #finished = false

  constructor(
    sink: RequestLogSink,
    clock: Clock,
    startedMs: number,
    requestId: string,
    method: string,
    traceParent: string | null = null,
  ) {
    this.#sink = sink
    this.#clock = clock
    this.#startedMs = startedMs
    this.#traceParent = traceParent
    this.#fields = { request_id: requestId, method, route: null, status: 0, duration_ms: 0 }
  }

  get finished(): boolean {
    return this.#finished
  }

  /** The pattern of the route: the path itself may hold ids and tokens. */
  route(pattern: string): void {
    this.#fields['route'] = pattern
  }

  set(fields: LogFields): void {
    if (this.#finished) return
    for (const name in fields) {
      const value = fields[name]
      if (value !== undefined && ALLOWED.has(name)) this.#fields[name] = value
    }
  }

  attempts(attempts: readonly AttemptSpan[], answer: AnswerFacts): void {
    this.#attempts = attempts
    this.#answer = answer
  }

  finish(status: number): void {
    if (this.#finished) return
    this.#finished = true
    const endedMs = this.#clock.monotonic()
    this.#fields['status'] = status
    this.#fields['duration_ms'] = Math.round((endedMs - this.#startedMs) * 10) / 10
    this.#sink.line(this.#fields, status >= 500, {
      startedMs: this.#startedMs,
      endedMs,
      traceParent: this.#traceParent,
      attempts: this.#attempts,
      answer: this.#answer,
    })
  }
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120] as const

/** Counts the fields of each request's log line before it goes to the log and to the listeners. */
export class RequestMetrics implements RequestLogSink {
  readonly #sink: RequestLogSink
  readonly #listeners: readonly RequestListener[]
  readonly #requests = new Counter(
    'tollgate_requests_total',
    'Requests answered, by route and status; 499 = the client left first.',
    ['route', 'status'],
  )
  readonly #refusals = new Counter('tollgate_errors_total', 'Answers that were errors, by error type.', ['type'])
  readonly #durations = new Histogram(
    'tollgate_request_duration_seconds',
    'From the head of a request to the end of its answer.',
    ['route'],
    SECONDS,
  )
  readonly #firstTokens = new Histogram(
    'tollgate_first_token_seconds',
    'From the head of a request to the first word of its answer, by provider.',
    ['provider'],
    SECONDS,
  )
  readonly #generations = new Counter(
    'tollgate_generations_total',
    'Paid answers, by provider, model and how they ended.',
    ['provider', 'model', 'status'],
  )
  readonly #failedAttempts = new Counter(
    'tollgate_failed_attempts_total',
    'Attempts that failed at a provider before another was tried, or all of them.',
    ['model'],
  )
  readonly #tokens = new Counter('tollgate_tokens_total', 'Tokens of paid answers.', ['provider', 'model', 'direction'])
  readonly #revenue = new Counter(
    'tollgate_revenue_rub_total',
    'What clients were charged, in RUB, rounded: the ledger is exact.',
    ['provider', 'model'],
  )
  readonly #bugs = new Counter('tollgate_faults_total', 'Faults that the log has more about.')

  constructor(sink: RequestLogSink, listeners: readonly RequestListener[]) {
    this.#sink = sink
    this.#listeners = listeners
  }

  get metrics(): readonly Metric[] {
    return [
      this.#requests,
      this.#refusals,
      this.#durations,
      this.#firstTokens,
      this.#generations,
      this.#failedAttempts,
      this.#tokens,
      this.#revenue,
      this.#bugs,
      ...this.#listeners.flatMap(({ metrics }) => metrics),
    ]
  }

  line(fields: LogFields, failed: boolean, story: RequestStory): void {
    this.#count(fields)
    this.#sink.line(fields, failed, story)
    for (const listener of this.#listeners) listener.line(fields, failed, story)
  }

  bug(thrown: unknown, requestId: string): void {
    this.#bugs.add(1)
    this.#sink.bug(thrown, requestId)
  }

  #count(fields: LogFields): void {
    const route = textOf(fields['route'], 'none')
    this.#requests.add(1, route, String(fields['status']))
    this.#durations.observe(numberOf(fields['duration_ms']) / 1_000, route)
    if (fields['error_type'] !== undefined) this.#refusals.add(1, textOf(fields['error_type'], 'none'))
    if (fields['billing_basis'] === undefined) return
    const provider = textOf(fields['provider'], 'none')
    const model = textOf(fields['model'], 'none')
    this.#generations.add(1, provider, model, textOf(fields['status_text'], 'none'))
    this.#tokens.add(numberOf(fields['input_tokens']), provider, model, 'input')
    this.#tokens.add(numberOf(fields['output_tokens']), provider, model, 'output')
    this.#revenue.add(numberOf(fields['cost']), provider, model)
    if (typeof fields['failed_attempts'] === 'string')
      this.#failedAttempts.add(fields['failed_attempts'].split(', ').length, model)
    if (typeof fields['first_token_ms'] === 'number')
      this.#firstTokens.observe(fields['first_token_ms'] / 1_000, provider)
  }
}

function textOf(value: LogFields[string] | undefined, fallback: string): string {
  return typeof value === 'string' ? value : fallback
}

function numberOf(value: LogFields[string] | undefined): number {
  return typeof value === 'number' ? value : 0
}
