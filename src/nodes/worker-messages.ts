import type { MetricReading, WorkerReadings } from '../base/prometheus.ts'

/**
 * A worker's messages to its parent: its address when it takes requests, that its loop turns, its metrics, and a
 * request for everybody's metrics.
 */
export type FromWorker =
  | { readonly ready: string }
  | { readonly beat: true }
  | { readonly metrics: readonly MetricReading[]; readonly id: number }
  | { readonly askAll: number }

/** The parent's messages to a worker: a request for its metrics, and everybody's metrics that it requested. */
export type ToWorker =
  | { readonly askMetrics: number }
  | { readonly all: readonly WorkerReadings[]; readonly id: number }

/** How often a worker reports that its loop turns. */
export const BEAT_MS = 1_000
