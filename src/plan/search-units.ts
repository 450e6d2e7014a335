/** A search unit is a query over this many documents. */
const DOCUMENTS_PER_UNIT = 100
/** Longer documents, the query included, count as several. */
const CHUNK_TOKENS = 500

/** Search units that a ranking is billed for, as Cohere counts, who invented them. */
export function searchUnits(queryTokens: number, documentTokens: readonly number[]): number {
  // A query longer than half a chunk is cut to that, or no document would fit beside it.
  const room = CHUNK_TOKENS - Math.min(queryTokens, CHUNK_TOKENS / 2)
  const chunks = documentTokens.reduce((sum, tokens) => sum + Math.max(1, Math.ceil(tokens / room)), 0)
  return Math.ceil(chunks / DOCUMENTS_PER_UNIT)
}
