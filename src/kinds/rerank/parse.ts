import { ApiError } from '../../base/errors.ts'
import { bodyObject, requiredModel, sessionIdOf } from '../fields/body-fields.ts'
import {
  booleanField,
  field,
  invalidInput,
  isObject,
  numberField,
  stringField,
  type RawObject,
} from '../fields/json-fields.ts'
import { parseProviderPreferences } from '../fields/provider-preferences.ts'
import type { RerankRequest } from './request.ts'

const DOCUMENTS_MAX = 1_000

/** Reads the body of a rerank request (wire.md D-2.2): required fields first, then types and ranges. */
export function parseRerank(json: unknown): RerankRequest {
  const body = bodyObject(json)
  const model = requiredModel(body)
  const query = field(body, 'query')
  if (query === undefined || query === '') throw new ApiError('missing_query', "Parameter 'query' is required")
  const given = field(body, 'documents')
  if (given === undefined || (Array.isArray(given) && given.length === 0))
    throw new ApiError('missing_documents', "Parameter 'documents' is required")
  if (typeof query !== 'string') throw invalidInput('query', 'must be a string')
  const documents = documentsOf(given)
  return {
    model,
    fallbackModels: [],
    n: 1,
    query,
    documents,
    topN: topNOf(body, documents.length),
    returnDocuments: booleanField(body, 'return_documents') ?? true,
    user: stringField(body, 'user') ?? null,
    provider: parseProviderPreferences(body),
    sessionId: sessionIdOf(body),
  }
}

function documentsOf(given: unknown): readonly string[] {
  if (!Array.isArray(given)) throw invalidInput('documents', 'must be an array of strings or of objects with a text')
  if (given.length > DOCUMENTS_MAX)
    throw invalidInput('documents', `must hold at most ${DOCUMENTS_MAX} items, got ${given.length}`)
  return given.map((document: unknown, index) => {
    const text = isObject(document) ? field(document, 'text') : document
    if (typeof text === 'string') return text
    throw invalidInput(`documents[${index}]`, 'must be a string or an object with a text')
  })
}

/** A number above the count of documents means all of them. */
function topNOf(body: RawObject, documents: number): number | null {
  const topN = numberField(
    body,
    'top_n',
    (value) => Number.isSafeInteger(value) && value >= 1,
    'must be an integer of at least 1',
  )
  return topN === undefined || topN >= documents ? null : topN
}
