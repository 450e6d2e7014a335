import type { RankedDocument, RerankAnswer } from '../../kinds/rerank/answer.ts'
import type { RerankRequest } from '../../kinds/rerank/request.ts'
import { inputUsage } from '../../kinds/answer/input-usage.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import { type AttemptFailure, failure } from '../../providers/ports/attempt-failure.ts'
import type { UnitCall } from '../ports/call.ts'
import type { JsonRequest } from '../ports/upstream-request.ts'
import { listOf, objectOf, textOf, type RawJson } from '../wire/raw-json.ts'
import { TokenReader } from '../answers/token-reader.ts'
import type { UpstreamHeaders } from '../wire/transport.ts'
import { eventFailure } from '../../providers/wire/upstream-error.ts'

export type RerankCall = UnitCall<RerankRequest>

/** How to ask a provider for a ranking. */
export interface RerankProtocol {
  request(call: RerankCall): JsonRequest
  answer(body: unknown, call: RerankCall): RerankAnswer | AttemptFailure
  error(status: number, body: unknown, headers: UpstreamHeaders): AttemptFailure
}

/** `top_n` where it is given and the endpoint accepts it; longer results are cut in any case. */
export function topNField(
  { endpoint: { supportedParameters }, request: { topN } }: RerankCall,
  name = 'top_n',
): Readonly<Record<string, number>> {
  return topN === null || supportedParameters?.includes('top_n') === false ? {} : { [name]: topN }
}

/** A ranking in any provider's form: they differ in the names of list and score, and in where they count usage. */
export function readRanking(body: unknown, { request }: RerankCall): RerankAnswer | AttemptFailure {
  const answer = objectOf(body)
  const error = answer?.['error'] ?? null
  if (error !== null) return eventFailure(error)
  const list = answer?.['results'] ?? answer?.['data']
  if (answer === null || !Array.isArray(list)) return failure('garbage', null, 'the answer holds no results')
  const results = listOf(list).map((raw) => rankedOf(objectOf(raw), request.documents.length))
  const known = results.filter((result) => result !== null)
  if (known.length < results.length || new Set(known.map(({ index }) => index)).size < known.length) {
    return failure('garbage', null, 'a result names no document of the request, or names one twice, or has no score')
  }
  return { results: known, usage: rankingUsage(answer), upstreamId: textOf(answer['id']) }
}

function rankedOf(raw: RawJson | null, documents: number): RankedDocument | null {
  const index = raw?.['index']
  const score = raw?.['relevance_score'] ?? raw?.['relevanceScore'] ?? raw?.['score']
  if (typeof index !== 'number' || !Number.isSafeInteger(index) || index < 0 || index >= documents) return null
  return typeof score === 'number' && Number.isFinite(score) ? { index, score } : null
}

/** The usage, wherever the provider counts it; null = it does not. */
function rankingUsage(answer: RawJson): UsageReport | null {
  const usage = objectOf(answer['usage'])
  const meta = objectOf(answer['meta'])
  const billed = objectOf(meta?.['billed_units'])
  const reader = new TokenReader()
  const tokens =
    said(usage, 'total_tokens', 'prompt_tokens') ??
    said(billed, 'input_tokens') ??
    said(objectOf(meta?.['tokens']), 'input_tokens')
  const searches = said(billed, 'search_units') ?? said(usage, 'search_units')
  if (tokens === null && searches === null) return null
  const count = (place: FoundField | null): number | null =>
    place === null ? null : reader.maybe(place.object, place.name)
  const counts = { tokens: count(tokens), searches: count(searches) }
  return inputUsage({ ...counts, implausible: reader.implausible })
}

interface FoundField {
  readonly object: RawJson
  readonly name: string
}

/** The first of the names that is present, with its place. */
function said(object: RawJson | null, ...names: readonly string[]): FoundField | null {
  const name = names.find((one) => (object?.[one] ?? null) !== null)
  return object === null || name === undefined ? null : { object, name }
}
