import { type AttemptFailure, failure } from '../ports/attempt-failure.ts'
import {
  dimensionsOf,
  type EmbeddingsCall,
  type EmbeddingsPage,
  isFailure,
  tokensUsage,
  vectorList,
} from '../upstream/embeddings.ts'
import type { LiftedJson } from '../wire/lifted-json.ts'
import { objectOf, textOf } from '../wire/raw-json.ts'
import { eventFailure } from '../wire/upstream-error.ts'

/** The most texts in one request. */
export const COHERE_TEXTS_MAX = 96
/** Cohere's models require an input type; other providers' names are accepted too. */
const INPUT_TYPES: ReadonlyMap<string, string> = new Map([
  ['query', 'search_query'],
  ['document', 'search_document'],
  ['passage', 'search_document'],
])

/** The fields that Cohere and hosts of its models share. */
export function cohereEmbedFields(call: EmbeddingsCall, texts: readonly string[]): Readonly<Record<string, unknown>> {
  const dimensions = dimensionsOf(call)
  const inputType = call.request.inputType ?? 'search_document'
  return {
    texts,
    input_type: INPUT_TYPES.get(inputType) ?? inputType,
    embedding_types: ['float'],
    ...(dimensions === null ? {} : { output_dimension: dimensions }),
  }
}

/** The page of a v2 answer, or of a v1 answer, whose lists are not grouped by type. */
export function cohereEmbedPage(answer: LiftedJson): EmbeddingsPage | AttemptFailure {
  const body = objectOf(answer.json)
  const error = body?.['error'] ?? null
  if (error !== null) return eventFailure(error)
  const embeddings = body?.['embeddings']
  const typed = objectOf(embeddings)
  const lists = Array.isArray(embeddings) ? embeddings : (typed?.['float'] ?? typed?.['base64'])
  if (body === null || !Array.isArray(lists)) return failure('garbage', null, 'the answer holds no embeddings')
  const vectors = vectorList(answer, lists)
  return isFailure(vectors)
    ? vectors
    : {
        vectors,
        usage: tokensUsage(objectOf(objectOf(body['meta'])?.['billed_units']), 'input_tokens'),
        upstreamId: textOf(body['id']),
      }
}
