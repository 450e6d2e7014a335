import type { MetricReading } from '../lib/prometheus.ts'

/**
 * What a worker tells its parent: its address once it takes requests, that its loop turns, what its numbers are, and
 * that somebody asks for those of all.
 */
export type FromWorker =
  | { readonly ready: string }
  | { readonly beat: true }
  | { readonly metrics: readonly MetricReading[]; readonly id: number }
  | { readonly askAll: number }

/** What the parent tells a worker: to say its numbers, and those of all that it asked for. */
export type ToWorker = { readonly askMetrics: number } | { readonly all: readonly MetricReading[]; readonly id: number }

/** How often a worker says that its loop turns. */
export const BEAT_MS = 1_000
