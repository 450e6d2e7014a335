import type { RoutedRequest } from '../fields/routed-request.ts'

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
