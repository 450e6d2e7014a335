import type { LogFields, RequestListener, RequestStory } from '../http/request-log.ts'
import type { Clock } from '../base/clock.ts'
import type { MetricReading, Labels, Sample } from '../base/prometheus.ts'
import { request } from '../base/http-request.ts'
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
import { attemptAttributes, operationOf, requestAttributes } from './gen-ai.ts'

/** Routes that machines poll every second or two; their traces would be useless. */
const UNTRACED: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])
/** W3C Trace Context, version 00. */
const TRACE_PARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)
const COMPLAINT_MS = 60_000
const STOP_MS = 3_000

/** What both senders need. */
interface SenderPorts {
  readonly target: SenderOptions['target']
  /** Names the service and this process. */
  readonly resource: Labels
  readonly clock: Clock
  /** The collector did not take what was sent. */
  readonly failed: () => void
}

/**
 * Traces over OTLP: a span for each request, by the HTTP conventions, with a child for each attempt at a provider, by
 * the GenAI conventions. Spans are made from the request's one log line after its end, so they cannot contain a prompt
 * or a key, and no request waits for them. If a collector does not answer, spans are lost, never requests.
 */
class RequestTraces {
  readonly #clock: Clock
  readonly #failed: () => void
  readonly #provider: TracerProvider
  readonly #tracer: Tracer

  constructor({ target: { endpoint, headers, ratio }, resource, clock, failed }: SenderPorts, version: string) {
    this.#clock = clock
    this.#failed = failed
    const silent = (): void => undefined
    // The exporter reports failures through the process-wide logger.
    diag.setLogger({ error: failed, warn: silent, info: silent, debug: silent, verbose: silent }, DiagLogLevel.ERROR)
    const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, headers: { ...headers } })
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes(resource),
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
    if (!(await Promise.race([sent, over]))) this.#failed()
  }
}

function parentOf(traceParent: string | null): Context {
  const [, traceId = NO_TRACE, spanId = NO_SPAN] = TRACE_PARENT.exec(traceParent ?? '') ?? []
  if (traceId === NO_TRACE || spanId === NO_SPAN) return ROOT_CONTEXT
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true })
}

/** Reports a failure at most once a minute. */
function complaint(clock: Clock, notice: (message: string) => void): () => void {
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

const CUMULATIVE = 2
const TIMEOUT_MS = 10_000

type Attributes = readonly { readonly key: string; readonly value: { readonly stringValue: string } }[]

/**
 * Sends this process's metrics over OTLP/HTTP in JSON, at intervals and when it stops. Nothing is measured for it: it
 * reads what `GET /metrics` shows, and no request waits for it.
 */
class OtlpMetrics {
  readonly #ports: SenderPorts
  readonly #read: () => readonly MetricReading[]
  readonly #startedMs: number
  #stop: () => void

  constructor(ports: SenderPorts, intervalMs: number, read: () => readonly MetricReading[]) {
    this.#ports = ports
    this.#read = read
    this.#startedMs = ports.clock.now()
    this.#stop = this.#later(intervalMs)
  }

  /** Sends the metrics a last time. */
  async stop(): Promise<void> {
    this.#stop()
    await this.#send()
  }

  #later(intervalMs: number): () => void {
    return this.#ports.clock.after(intervalMs, () => {
      this.#stop = this.#later(intervalMs)
      void this.#send()
    })
  }

  /** Never rejects: if a collector does not answer, a message is logged, and the next sending includes all counts. */
  async #send(): Promise<void> {
    const { target, failed, resource, clock } = this.#ports
    const body = JSON.stringify(exportOf(this.#read(), resource, this.#startedMs, clock.now()))
    try {
      const answer = await request(`${target.endpoint}/v1/metrics`, {
        method: 'POST',
        headers: { ...target.headers, 'content-type': 'application/json' },
        body,
        headersTimeout: TIMEOUT_MS,
        bodyTimeout: TIMEOUT_MS,
      })
      await answer.body.dump()
      if (answer.statusCode >= 300) failed()
    } catch {
      failed()
    }
  }
}

/** An ExportMetricsServiceRequest in OTLP's JSON. */
function exportOf(readings: readonly MetricReading[], resource: Labels, startMs: number, nowMs: number): unknown {
  const times = { startTimeUnixNano: nanos(startMs), timeUnixNano: nanos(nowMs) }
  return {
    resourceMetrics: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeMetrics: [{ scope: { name: 'tollgate' }, metrics: readings.map((reading) => metricOf(reading, times)) }],
      },
    ],
  }
}

interface Times {
  readonly startTimeUnixNano: string
  readonly timeUnixNano: string
}

/** Our name of a counter ends in `_total`, which is removed, since exporters to Prometheus add it. */
function metricOf({ name, help, type, unit, samples }: MetricReading, times: Times): unknown {
  const named = {
    name: type === 'counter' ? name.replace(/_total$/, '') : name,
    description: help,
    unit: unit ?? (/_seconds(?:_total)?$/.test(name) ? 's' : name.endsWith('_bytes') ? 'By' : ''),
  }
  switch (type) {
    case 'counter':
      return {
        ...named,
        sum: { aggregationTemporality: CUMULATIVE, isMonotonic: true, dataPoints: points(samples, times) },
      }
    case 'gauge':
      return { ...named, gauge: { dataPoints: points(samples, times) } }
    case 'histogram':
      return {
        ...named,
        histogram: { aggregationTemporality: CUMULATIVE, dataPoints: histogramPoints(samples, times) },
      }
  }
}

function points(samples: readonly Sample[], times: Times): readonly unknown[] {
  return samples.map(({ labels = {}, value }) => ({ ...times, attributes: attributesOf(labels), asDouble: value }))
}

/** A bucket of Prometheus counts all values up to its bound, one of OTLP the values between two bounds. */
function histogramPoints(samples: readonly Sample[], times: Times): readonly unknown[] {
  const series = Map.groupBy(samples, ({ labels: { le: _bound, ...labels } = {} }) => JSON.stringify(labels))
  return [...series.values()].map((parts) => {
    const buckets = parts.filter(({ suffix }) => suffix === '_bucket')
    const last = (suffix: string): Sample | undefined => parts.find((part) => part.suffix === suffix)
    return {
      ...times,
      attributes: attributesOf(last('_count')?.labels ?? {}),
      count: String(last('_count')?.value ?? 0),
      sum: last('_sum')?.value ?? 0,
      explicitBounds: buckets.slice(0, -1).map(({ labels }) => Number(labels?.['le'])),
      bucketCounts: buckets.map(({ value }, index) => String(value - (buckets[index - 1]?.value ?? 0))),
    }
  })
}

function attributesOf(labels: Labels): Attributes {
  return Object.entries(labels).map(([key, stringValue]) => ({ key, value: { stringValue } }))
}

function nanos(ms: number): string {
  return `${BigInt(Math.round(ms)) * 1_000_000n}`
}

export interface SenderOptions {
  readonly target: {
    /** The collector's address, without `/v1/traces` and `/v1/metrics`. */
    readonly endpoint: string
    readonly headers: Readonly<Record<string, string>>
    readonly serviceName: string
    /** The part of the requests that is traced, 0 to 1. */
    readonly ratio: number
    /** null = metrics are not sent. */
    readonly metricsIntervalMs: number | null
  }
  readonly version: string
  /** The name that distinguishes this process. */
  readonly instance: string
  readonly clock: Clock
  /** Writes a line for the operator. */
  readonly notice: (message: string) => void
}

/** Sends a trace of each request, and from `start` on the metrics of the process, to a collector. */
export function openSender({
  target,
  version,
  instance,
  clock,
  notice,
}: SenderOptions): Omit<RequestListener, 'metrics'> {
  const resource = {
    'service.name': target.serviceName,
    'service.version': version,
    'service.instance.id': instance,
  }
  const ports = { target, resource, clock, failed: complaint(clock, notice) }
  const traces = new RequestTraces(ports, version)
  let metrics: OtlpMetrics | null = null
  return {
    line: (...said) => traces.line(...said),
    start: (read) => {
      if (target.metricsIntervalMs !== null) metrics = new OtlpMetrics(ports, target.metricsIntervalMs, read)
    },
    stop: async () => {
      await Promise.all([traces.stop(), metrics?.stop()])
    },
  }
}
