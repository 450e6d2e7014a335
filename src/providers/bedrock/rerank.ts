import { readRanking, topNField, type RerankProtocol } from '../ports/rerank-protocol.ts'
import { bedrockError } from './error.ts'
import { invokeModel } from './invoke.ts'

/** The version for Cohere's models there. */
const COHERE_API_VERSION = 2

/**
 * Reranking models of Bedrock through InvokeModel. The service's own Rerank is at another host and gives the same
 * answers.
 */
export function bedrockRerank(now: () => number): RerankProtocol {
  return {
    request: (call) => {
      const { query, documents } = call.request
      const version = call.endpoint.upstreamModel.includes('cohere.') ? { api_version: COHERE_API_VERSION } : {}
      return invokeModel(call, { query, documents, ...topNField(call), ...version }, now())
    },
    answer: readRanking,
    error: (status, body, headers) => bedrockError(status, body, headers, now()),
  }
}
