import { type AttemptFailure, failure } from '../../../providers/ports/attempt-failure.ts'
import {
  dimensionsOf,
  type EmbeddingsCall,
  type EmbeddingsPage,
  type EmbeddingsProtocol,
  isFailure,
  textsOf,
  tokensUsage,
  vectorList,
} from '../../../providers/ports/embeddings-protocol.ts'
import type { LiftedJson } from '../../wire/lifted-json.ts'
import { listOf, objectOf, type RawJson } from '../../wire/raw-json.ts'
import { geminiError, geminiErrorEvent, isErrorBody } from '../../../providers/gemini/error.ts'
import { geminiCredentials, geminiPath, geminiResource } from './request.ts'

const BATCH_MAX = 100
/** Other providers' names for Google's tasks; Google's own names are accepted in any case. */
const TASK_TYPES: ReadonlyMap<string, string> = new Map([
  ['search_query', 'RETRIEVAL_QUERY'],
  ['query', 'RETRIEVAL_QUERY'],
  ['search_document', 'RETRIEVAL_DOCUMENT'],
  ['document', 'RETRIEVAL_DOCUMENT'],
  ['passage', 'RETRIEVAL_DOCUMENT'],
])

/** `batchEmbedContents` of the Gemini API. Vertex AI has no batches: there `embedContent` is called for each text. */
export function geminiEmbed(now: () => number): EmbeddingsProtocol {
  return {
    batchMax: (call) => (isVertex(call) ? 1 : BATCH_MAX),
    request: (call, input) => {
      const texts = textsOf(input)
      const resource = geminiResource(call.endpoint.upstreamModel)
      const asked = texts.map((text) => ({
        ...(isVertex(call) ? {} : { model: resource }),
        content: { parts: [{ text }] },
        ...optionsOf(call),
      }))
      const path = geminiPath(resource)
      const headers = geminiCredentials(call.apiKey)
      return isVertex(call)
        ? { path: `${path}:embedContent`, body: asked[0] ?? {}, headers }
        : { path: `${path}:batchEmbedContents`, body: { requests: asked }, headers }
    },
    page: readPage,
    error: (status, body, headers) => geminiError(status, body, headers, now()),
  }
}

function isVertex({ endpoint: { provider } }: EmbeddingsCall): boolean {
  return provider.baseUrl.includes('/publishers/')
}

function optionsOf(call: EmbeddingsCall): RawJson {
  const dimensions = dimensionsOf(call)
  const { inputType } = call.request
  return {
    ...(inputType === null ? {} : { taskType: TASK_TYPES.get(inputType) ?? inputType.toUpperCase() }),
    ...(dimensions === null ? {} : { outputDimensionality: dimensions }),
  }
}

function readPage(answer: LiftedJson): EmbeddingsPage | AttemptFailure {
  if (isErrorBody(answer.json)) return geminiErrorEvent(answer.json)
  const body = objectOf(answer.json) ?? {}
  const single = objectOf(body['embedding'])
  if (single === null && !Array.isArray(body['embeddings']))
    return failure('garbage', null, 'the answer holds no embeddings')
  const embeddings = single === null ? listOf(body['embeddings']) : [single]
  const vectors = vectorList(
    answer,
    embeddings.map((embedding) => objectOf(embedding)?.['values']),
  )
  return isFailure(vectors)
    ? vectors
    : { vectors, usage: tokensUsage(objectOf(body['usageMetadata']), 'promptTokenCount'), upstreamId: null }
}
