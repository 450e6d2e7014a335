import { openaiCredentials } from './credentials.ts'
import { readRanking, topNField, type RerankProtocol } from '../ports/rerank-protocol.ts'
import { upstreamFailure } from '../wire/upstream-error.ts'

/**
 * `/rerank` as OpenRouter, Jina, Together, Voyage and others have it. The documents themselves are not asked back: they
 * are ours to give.
 */
export function openaiRerank(now: () => number): RerankProtocol {
  return {
    request: (call) => {
      const { endpoint, request } = call
      const { dialect } = endpoint.provider
      return {
        path: `/rerank${dialect.query}`,
        body: {
          model: endpoint.upstreamModel,
          query: request.query,
          documents: request.documents,
          ...topNField(call, dialect.names['top_n']),
        },
        headers: openaiCredentials(call.endpoint.provider, call.apiKey),
      }
    },
    answer: readRanking,
    error: (status, body, headers) => upstreamFailure(status, body, headers, now()),
  }
}
