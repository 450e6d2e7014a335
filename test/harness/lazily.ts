/** Done once, however often it is asked for. */
export function lazily<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | null = null
  return () => (done ??= work())
}
