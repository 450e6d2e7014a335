import { rubles, type Micro } from '../../base/money.ts'
import type { ChunkIdentity } from '../chat/answer.ts'
import type { RankedDocument } from './answer.ts'
import type { RerankRequest } from './request.ts'

export interface RerankCharge {
  readonly chargedMicro: Micro
  /** null where nobody counted them. */
  readonly tokens: number | null
  /** null where the model is not sold by search units. */
  readonly searches: number | null
}

/** The JSON body of wire.md D-2.2. */
export function rerankBody(
  request: RerankRequest,
  results: readonly RankedDocument[],
  { id, model, provider }: ChunkIdentity,
  { chargedMicro, tokens, searches }: RerankCharge,
): Record<string, unknown> {
  return {
    id,
    object: 'list',
    model,
    provider,
    results: ranking(results, request.topN).map(({ index, score }) => ({
      index,
      relevance_score: score,
      ...(request.returnDocuments ? { document: { text: request.documents[index] } } : {}),
    })),
    ...(searches === null ? {} : { meta: { billed_units: { search_units: searches } } }),
    usage: {
      ...(tokens === null ? {} : { total_tokens: tokens }),
      ...(searches === null ? {} : { search_units: searches }),
      cost: rubles(chargedMicro),
      currency: 'RUB',
    },
  }
}

/** Best first, ties in the order of the documents. */
function ranking(results: readonly RankedDocument[], topN: number | null): readonly RankedDocument[] {
  return results
    .toSorted((left, right) => right.score - left.score || left.index - right.index)
    .slice(0, topN ?? results.length)
}
