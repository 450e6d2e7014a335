import { type AttemptFailure, failure } from '../../ports/attempt-failure.ts'
import {
  dimensionsOf,
  type EmbeddingsCall,
  type EmbeddingsPage,
  type EmbeddingsProtocol,
  isFailure,
  textsOf,
  tokensUsage,
  vectorList,
} from '../../upstream/embeddings.ts'
import type { LiftedJson } from '../../wire/lifted-json.ts'
import { listOf, objectOf, type RawJson } from '../../wire/raw-json.ts'
import { geminiErrorEvent, isErrorBody } from './usage.ts'
import { isVertex } from '../../models/gemini-traits.ts'
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
export const geminiEmbed: EmbeddingsProtocol = {
  batchMax: (call) => (isVertex(call.endpoint.provider) ? 1 : BATCH_MAX),
  request: (call, input) => {
    const texts = textsOf(input)
    const resource = geminiResource(call.endpoint.upstreamModel)
    const asked = texts.map((text) => ({
      ...(isVertex(call.endpoint.provider) ? {} : { model: resource }),
      content: { parts: [{ text }] },
      ...optionsOf(call),
    }))
    const path = geminiPath(resource)
    const headers = geminiCredentials(call.apiKey)
    return isVertex(call.endpoint.provider)
      ? { path: `${path}:embedContent`, body: asked[0] ?? {}, headers }
      : { path: `${path}:batchEmbedContents`, body: { requests: asked }, headers }
  },
  page: readPage,
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
