import type { RoutedRequest } from './fields/routed-request.ts'
import type { UsageReport } from './chat/answer.ts'

/** A validated rerank request (wire.md D-2.2). */
export interface RerankRequest extends RoutedRequest {
  readonly query: string
  /** 1 to 1,000 texts. */
  readonly documents: readonly string[]
  /** At most the number of documents; null = all. */
  readonly topN: number | null
  readonly returnDocuments: boolean
  readonly user: string | null
}

export interface RankedDocument {
  /** The index in the request's documents. */
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
