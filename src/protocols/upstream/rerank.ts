import { askWhole } from './ask.ts'
import { garbage, type AttemptFailure, billed, failure } from '../ports/attempt-failure.ts'
import { type ResultSink, type RunningCall, takes, type UnitCall, type JsonRequest } from '../ports/call.ts'
import { LISTING_LIMITS, parseJson, listOf, objectOf, textOf, type RawJson } from '../wire/raw-json.ts'
import type { Transport } from '../wire/transport.ts'
import type { RankedDocument, RerankAnswer, RerankRequest } from '../../kinds/rerank.ts'
import { inputUsage } from '../../kinds/answer/usage.ts'
import type { UsageReport } from '../../kinds/chat/answer.ts'
import { TokenReader } from '../answers/token-reader.ts'
import { errorIn, isErrorBody } from '../wire/error-body.ts'
import { eventFailure } from '../wire/upstream-error.ts'

export type RerankCall = UnitCall<RerankRequest>

/** How to ask a provider for a ranking. */
export interface RerankProtocol {
  request(call: RerankCall): JsonRequest
  answer(body: unknown, call: RerankCall): RerankAnswer | AttemptFailure
}

/** `top_n` if it is given and the endpoint accepts it; longer results are cut in any case. */
export function topNField(
  { endpoint, request: { topN } }: RerankCall,
  name = 'top_n',
): Readonly<Record<string, number>> {
  return topN === null || !takes(endpoint, 'top_n') ? {} : { [name]: topN }
}

/** A ranking in any provider's form: they differ in the names of list and score, and in where they report usage. */
export function readRanking(body: unknown, { request }: RerankCall): RerankAnswer | AttemptFailure {
  const answer = objectOf(body)
  if (isErrorBody(answer)) return billed(eventFailure(errorIn(answer)), rankingUsage(answer))
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

/** The usage, wherever the provider reports it; null = it does not. */
function rankingUsage(answer: RawJson): UsageReport | null {
  const usage = objectOf(answer['usage'])
  const meta = objectOf(answer['meta'])
  const units = objectOf(meta?.['billed_units'])
  const reader = new TokenReader()
  const tokens =
    said(usage, 'total_tokens', 'prompt_tokens') ??
    said(units, 'input_tokens') ??
    said(objectOf(meta?.['tokens']), 'input_tokens')
  const searches = said(units, 'search_units') ?? said(usage, 'search_units')
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

/** The first of the names that is present, and its value. */
function said(object: RawJson | null, ...names: readonly string[]): FoundField | null {
  const name = names.find((one) => (object?.[one] ?? null) !== null)
  return object === null || name === undefined ? null : { object, name }
}

/** Asks a provider for rankings. */
export function askRerank(
  protocol: RerankProtocol,
  transport: Transport,
): (call: RerankCall, sink: ResultSink<RerankAnswer>) => RunningCall {
  return (call, sink) =>
    askWhole<RerankAnswer>(
      transport,
      call,
      {
        request: () => protocol.request(call),
        answer: (bytes) => {
          const body = parseJson(bytes, LISTING_LIMITS)
          return body === undefined ? garbage('not JSON', bytes) : protocol.answer(body, call)
        },
      },
      sink,
    )
}
