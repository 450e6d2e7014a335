import { readRanking, topNField, type RerankProtocol } from '../ports/rerank-protocol.ts'
import { cohereError } from './error.ts'

/** Cohere's v2 `rerank`. */
export function cohereRerank(now: () => number): RerankProtocol {
  return {
    request: (call) => ({
      path: '/v2/rerank',
      body: {
        model: call.endpoint.upstreamModel,
        query: call.request.query,
        documents: call.request.documents,
        ...topNField(call),
      },
      headers: call.apiKey === null ? {} : { authorization: `Bearer ${call.apiKey}` },
    }),
    answer: readRanking,
    error: (status, body, headers) => cohereError(status, body, headers, now()),
  }
}
