import type { LogFields, RequestStory } from '../http/request-log.ts'
import type { Clock } from '../lib/clock.ts'
import type { MetricReading } from '../base/prometheus.ts'
import { OtlpMetrics } from './otlp-metrics.ts'
import { complaint, RequestTraces, type TraceTarget } from './request-traces.ts'

export interface TelemetryOptions {
  readonly target: TraceTarget & {
    /** null = metrics are not sent. */
    readonly metricsIntervalMs: number | null
  }
  readonly version: string
  /** The name that distinguishes this process. */
  readonly instance: string
  readonly clock: Clock
  /** Writes a sentence for the operator. */
  readonly notice: (message: string) => void
}

/** Sends a trace of each request, and the metrics of the process, to a collector. */
export class Telemetry {
  readonly #options: TelemetryOptions
  readonly #failed: () => void
  readonly #traces: RequestTraces
  #metrics: OtlpMetrics | null = null

  constructor(options: TelemetryOptions) {
    this.#options = options
    this.#failed = complaint(options.clock, options.notice)
    this.#traces = new RequestTraces({ ...options, failed: this.#failed })
  }

  line(fields: LogFields, failed: boolean, story: RequestStory): void {
    this.#traces.line(fields, failed, story)
  }

  /** Begins to send metrics. */
  start(read: () => readonly MetricReading[]): void {
    const { target, version, instance, clock } = this.#options
    if (target.metricsIntervalMs === null) return
    this.#metrics = new OtlpMetrics({
      ...target,
      intervalMs: target.metricsIntervalMs,
      resource: {
        'service.name': target.serviceName,
        'service.version': version,
        'service.instance.id': instance,
      },
      read,
      clock,
      failed: this.#failed,
    })
  }

  /** Sends the rest. */
  async stop(): Promise<void> {
    await Promise.all([this.#traces.stop(), this.#metrics?.stop()])
  }
}
