import type { UsageReport } from '../chat/answer.ts'

export interface RankedDocument {
  /** Of the request's documents. */
  readonly index: number
  readonly score: number
}

/** A provider's ranking, in any order; each document at most once. */
export interface RerankAnswer {
  readonly results: readonly RankedDocument[]
  /** Tokens and search units as far as the provider reported them; null = neither. */
  readonly usage: UsageReport | null
  readonly upstreamId: string | null
}
