import {
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type Tracer,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { AlwaysOnSampler, BatchSpanProcessor, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace'
import type { LogFields, RequestStory } from '../http/request-log.ts'
import type { Clock } from '../lib/clock.ts'
import { attemptAttributes, operationOf, requestAttributes } from './span-attributes.ts'

/** Machines poll these every second or two; their traces are useless. */
const UNTRACED: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])
/** W3C Trace Context, version 00. */
const TRACE_PARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)
const COMPLAINT_MS = 60_000
const STOP_MS = 3_000

/** The destination of the traces. */
export interface TraceTarget {
  /** The collector's address, without `/v1/traces`. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
  /** The part of the requests that is traced, 0 to 1. */
  readonly ratio: number
}

export interface RequestTracesOptions {
  readonly target: TraceTarget
  readonly version: string
  /** The name that distinguishes this process. */
  readonly instance: string
  readonly clock: Clock
  /** The collector did not take spans. */
  readonly failed: () => void
}

/**
 * Traces over OTLP: a span for each request, by the HTTP conventions, with a child for each attempt at a provider, by
 * the GenAI conventions. Spans are made from the request's one log line after its end, so they cannot contain a prompt
 * or a key, and no request waits for them. A collector that does not answer loses spans, never requests.
 */
export class RequestTraces {
  readonly #clock: Clock
  readonly #provider: TracerProvider
  readonly #tracer: Tracer
  readonly #complain: () => void

  constructor({ target, version, instance, clock, failed }: RequestTracesOptions) {
    const { endpoint, headers, serviceName, ratio } = target
    this.#clock = clock
    this.#complain = failed
    const silent = (): void => undefined
    // The exporter reports failures through the process-wide logger.
    diag.setLogger(
      { error: this.#complain, warn: silent, info: silent, debug: silent, verbose: silent },
      DiagLogLevel.ERROR,
    )
    const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, headers: { ...headers } })
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({
        'service.name': serviceName,
        'service.version': version,
        'service.instance.id': instance,
      }),
      // A client decides which trace its request belongs to, but not whether the operator records it.
      sampler: ratio === 1 ? new AlwaysOnSampler() : new TraceIdRatioBasedSampler(ratio),
      spanProcessors: [new BatchSpanProcessor({ exporter })],
    })
    this.#tracer = this.#provider.getTracer('tollgate', version)
  }

  line(fields: LogFields, failed: boolean, story: RequestStory): void {
    const { route } = fields
    if (typeof route !== 'string' || UNTRACED.has(route)) return
    const wallMs = this.#clock.now() - this.#clock.monotonic()
    const span = this.#tracer.startSpan(
      `${String(fields['method'])} ${route}`,
      { kind: SpanKind.SERVER, startTime: wallMs + story.startedMs, attributes: requestAttributes(fields) },
      parentOf(story.traceParent),
    )
    if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
    const operation = operationOf(route)
    const context = trace.setSpan(ROOT_CONTEXT, span)
    for (const attempt of operation === null ? [] : story.attempts) {
      const asked = this.#tracer.startSpan(
        `${operation} ${attempt.model}`,
        {
          kind: SpanKind.CLIENT,
          startTime: wallMs + attempt.startedMs,
          attributes: attemptAttributes(attempt, operation ?? '', fields, story.answer),
        },
        context,
      )
      if (attempt.failure !== null) asked.setStatus({ code: SpanStatusCode.ERROR })
      asked.end(wallMs + attempt.endedMs)
    }
    span.end(wallMs + story.endedMs)
  }

  /** Sends the remaining spans, within three seconds. */
  async stop(): Promise<void> {
    const over = new Promise<boolean>((resolve) => void this.#clock.after(STOP_MS, () => resolve(false)))
    const sent = this.#provider.shutdown().then(
      () => true,
      () => false,
    )
    if (!(await Promise.race([sent, over]))) this.#complain()
  }
}

function parentOf(traceParent: string | null): Context {
  const [, traceId = NO_TRACE, spanId = NO_SPAN] = TRACE_PARENT.exec(traceParent ?? '') ?? []
  if (traceId === NO_TRACE || spanId === NO_SPAN) return ROOT_CONTEXT
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true })
}

/** Reports a failure at most once a minute. */
export function complaint(clock: Clock, notice: (message: string) => void): () => void {
  let saidMs = Number.NEGATIVE_INFINITY
  return () => {
    const nowMs = clock.monotonic()
    if (nowMs - saidMs < COMPLAINT_MS) return
    saidMs = nowMs
    notice(
      'The collector of OTEL_EXPORTER_OTLP_ENDPOINT does not take traces or metrics: they are lost, requests are not',
    )
  }
}
