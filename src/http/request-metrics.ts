import { Counter, Histogram, type Metric } from '../base/prometheus.ts'
import type { LogFields, RequestListener, RequestLogSink, RequestStory } from './request-log.ts'

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
