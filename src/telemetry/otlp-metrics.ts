import type { Clock } from '../lib/clock.ts'
import { request } from '../base/http-request.ts'
import type { Labels, MetricReading, Sample } from '../base/prometheus.ts'

const CUMULATIVE = 2
const TIMEOUT_MS = 10_000

export interface OtlpMetricsOptions {
  /** The collector's address, without `/v1/metrics`. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  readonly intervalMs: number
  readonly resource: Labels
  readonly read: () => readonly MetricReading[]
  readonly clock: Clock
  /** The collector did not take the metrics. */
  readonly failed: () => void
}

type Attributes = readonly { readonly key: string; readonly value: { readonly stringValue: string } }[]

/**
 * Sends this process's metrics over OTLP/HTTP in JSON, from time to time and at the stop. Nothing is measured for it:
 * it reads what `GET /metrics` shows, off the way of any request.
 */
export class OtlpMetrics {
  readonly #options: OtlpMetricsOptions
  readonly #startedMs: number
  #stop: () => void

  constructor(options: OtlpMetricsOptions) {
    this.#options = options
    this.#startedMs = options.clock.now()
    this.#stop = this.#later()
  }

  /** Sends the last values. */
  async stop(): Promise<void> {
    this.#stop()
    await this.#send()
  }

  #later(): () => void {
    const { clock, intervalMs } = this.#options
    return clock.after(intervalMs, () => {
      this.#stop = this.#later()
      void this.#send()
    })
  }

  /** Never rejects: a collector that does not answer costs a message, and the next sending has all counts again. */
  async #send(): Promise<void> {
    const { endpoint, headers, failed, read, resource, clock } = this.#options
    const body = JSON.stringify(exportOf(read(), resource, this.#startedMs, clock.now()))
    try {
      const answer = await request(`${endpoint}/v1/metrics`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
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

/** A counter's name has no `_total`, which exporters to Prometheus add. */
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

/** Prometheus' buckets count what is at most their bound; OTLP's what is between two. */
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
