import { either, flag, list, maybe, number, object, only, optional, text, whole } from '../../base/schema.ts'
import { COST, MODEL, ROUTED, USER } from '../fields/schema.ts'

/** `POST /v1/rerank`. The reader is `parse.ts`. */
export const RerankBody = object({
  model: MODEL,
  query: text('', { minLength: 1 }),
  documents: list(either(text(), object({ text: text() })), '', { minItems: 1, maxItems: 1_000 }),
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
