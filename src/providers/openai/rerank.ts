import { openaiCredentials } from './credentials.ts'
import { readRanking, topNField, type RerankProtocol } from '../ports/rerank-protocol.ts'
import { upstreamFailure } from '../wire/upstream-error.ts'

/** `/rerank` of OpenRouter, Jina, Together, Voyage and others. The documents are not requested back: we have them. */
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
