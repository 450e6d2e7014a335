import { inputUsage } from '../../kinds/answer/input-usage.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import { type AttemptFailure, failure } from '../ports/attempt-failure.ts'
import {
  dimensionsOf,
  isFailure,
  textsOf,
  vectorList,
  type EmbeddingsPage,
  type EmbeddingsProtocol,
} from '../ports/embeddings-protocol.ts'
import type { LiftedJson } from '../wire/lifted-json.ts'
import { objectOf, type RawJson } from '../wire/raw-json.ts'
import { TokenReader } from '../answers/token-reader.ts'
import { eventFailure, upstreamFailure } from '../wire/upstream-error.ts'

/** Ollama's own `/api/embed`. Without `truncate: false` it would silently cut a text that exceeds its context. */
export function ollamaEmbed(now: () => number): EmbeddingsProtocol {
  return {
    batchMax: () => Infinity,
    request: (call, input) => {
      const dimensions = dimensionsOf(call)
      return {
        path: '/api/embed',
        body: {
          model: call.endpoint.upstreamModel,
          input: textsOf(input),
          truncate: false,
          ...(dimensions === null ? {} : { dimensions }),
        },
        headers: call.apiKey === null ? {} : { authorization: `Bearer ${call.apiKey}` },
      }
    },
    page: readPage,
    error: (status, body, headers) => upstreamFailure(status, body, headers, now()),
  }
}

/** The page of an answer of `/api/embed`, or of `/api/embeddings`, which holds one vector. */
function readPage(answer: LiftedJson): EmbeddingsPage | AttemptFailure {
  const body = objectOf(answer.json) ?? {}
  const error = body['error'] ?? null
  if (error !== null) return eventFailure(error)
  const { embedding, embeddings } = body
  if (embedding === undefined && !Array.isArray(embeddings))
    return failure('garbage', null, 'the answer holds no embeddings')
  const vectors = vectorList(answer, Array.isArray(embeddings) ? embeddings : [embedding])
  return isFailure(vectors) ? vectors : { vectors, usage: usageOf(body), upstreamId: null }
}

function usageOf(body: RawJson): UsageReport | null {
  if ((body['prompt_eval_count'] ?? null) === null) return null
  const reader = new TokenReader()
  const tokens = reader.maybe(body, 'prompt_eval_count')
  return inputUsage({ tokens, implausible: reader.implausible })
}
