import { rubles, type Micro } from '../../../base/money.ts'
import {
  either,
  flag,
  list,
  maybe,
  needed,
  number,
  object,
  only,
  optional,
  readBy,
  text,
  whole,
} from '../../../base/schema.ts'
import type { ChunkIdentity } from '../../../kinds/chat/answer.ts'
import { field, invalidInput, isObject } from '../../../kinds/fields/body-fields.ts'
import { readPaidBody } from '../../../kinds/fields/paid-body.ts'
import { COST, MODEL, ROUTED, routingOf, USER } from '../../../kinds/fields/routed-request.ts'
import type { RerankRequest, RankedDocument } from '../../../kinds/rerank.ts'

const DOCUMENTS_MAX = 1_000
const DOCUMENTS = list(either(text(), object({ text: text() })), '', { minItems: 1, maxItems: DOCUMENTS_MAX })

/** `POST /v1/rerank` (wire.md D-2.2). */
export const RerankBody = object({
  model: MODEL,
  query: needed(text('', { minLength: 1 }), 'missing_query', 'empty text'),
  documents: needed(readBy(DOCUMENTS, documentsOf), 'missing_documents', 'empty list'),
  top_n: maybe(whole('How many results.', { minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  return_documents: maybe(flag('true if absent.')),
  user: USER,
  ...ROUTED,
})

export const RerankAnswer = object({
  id: text(),
  object: only('list'),
  model: text(),
  provider: text(),
  results: list(
    object({
      index: whole('Of the document.'),
      relevance_score: number(),
      document: optional(object({ text: text() })),
    }),
  ),
  meta: optional(object({ billed_units: object({ search_units: whole() }) })),
  usage: object({ total_tokens: optional(whole()), search_units: optional(whole()), ...COST }),
})

export function parseRerank(json: unknown): RerankRequest {
  const body = readPaidBody(RerankBody, json)
  const { query, documents, top_n: topN } = body
  return {
    ...routingOf(json, body),
    query,
    documents,
    // A number above the count of documents means all of them.
    topN: !topN || topN >= documents.length ? null : topN,
    returnDocuments: body.return_documents ?? true,
    user: body.user ?? null,
  }
}

function documentsOf(given: unknown, path: string): readonly string[] {
  if (!Array.isArray(given)) throw invalidInput(path, 'must be an array of strings or of objects with a text')
  if (given.length > DOCUMENTS_MAX)
    throw invalidInput(path, `must hold at most ${DOCUMENTS_MAX} items, got ${given.length}`)
  return given.map((document: unknown, index) => {
    const text = isObject(document) ? field(document, 'text') : document
    if (typeof text === 'string') return text
    throw invalidInput(`${path}[${index}]`, 'must be a string or an object with a text')
  })
}

interface RerankCharge {
  readonly chargedMicro: Micro
  /** null = nobody counted them. */
  readonly tokens: number | null
  /** null = the model is not sold by search units. */
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
