/** The value that a given share of the values does not exceed; 0 if there are none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

/** A sentence for a test's diagnostics: how many times there are, and how they are spread. */
export function spread(times: readonly number[]): string {
  const [p50, p99, most] = [0.5, 0.99, 1].map((share) => percentile(times, share).toFixed(1))
  return `${times.length} × p50 ${p50} ms, p99 ${p99} ms, at most ${most} ms`
}
