import { keyHeaders } from '../../../catalog/dialect.ts'
import {
  resultCount,
  type ModerationAnswer,
  type ModerationInput,
  type ModerationRequest,
  type ModerationResult,
} from '../../../kinds/moderations.ts'
import type { AdapterPorts } from '../../ports/adapter.ts'
import { failure, garbage, type AttemptFailure } from '../../ports/attempt-failure.ts'
import type { AskUnit } from '../../ports/call.ts'
import { askWhole } from '../../upstream/ask.ts'
import { LISTING_LIMITS, listOf, objectOf, parseJson, textOf, type RawJson } from '../../wire/raw-json.ts'
import { eventFailure } from '../../wire/upstream-error.ts'

/** `/moderations` of OpenAI, and of compatible services. */
export function openaiModerations({ transport }: AdapterPorts): AskUnit<ModerationRequest, ModerationAnswer> {
  return (call, sink) => {
    const { endpoint, request, apiKey } = call
    const { provider, upstreamModel } = endpoint
    return askWhole(
      transport,
      call,
      {
        request: () => ({
          path: `/moderations${provider.dialect.query}`,
          body: { model: upstreamModel, input: inputIn(request.input) },
          headers: keyHeaders(provider.dialect, apiKey),
        }),
        answer: (bytes) => {
          const body = parseJson(bytes, LISTING_LIMITS)
          return body === undefined ? garbage('not JSON', bytes) : readAnswer(body, resultCount(request))
        },
      },
      sink,
    )
  }
}

function inputIn(input: ModerationInput): unknown {
  if (input.type === 'parts') return input.parts
  return input.texts.length === 1 ? input.texts[0] : input.texts
}

function readAnswer(body: unknown, wanted: number): ModerationAnswer | AttemptFailure {
  const answer = objectOf(body)
  const error = answer?.['error'] ?? null
  if (error !== null) return eventFailure(error)
  const results = listOf(answer?.['results']).map((raw) => resultOf(objectOf(raw)))
  const known = results.filter((result) => result !== null)
  if (answer === null || known.length < results.length || (known.length !== wanted && known.length > 0))
    return failure('garbage', null, 'the answer holds no results, or not one for each input')
  return { results: known, upstreamId: textOf(answer['id']) }
}

function resultOf(raw: RawJson | null): ModerationResult | null {
  const flagged = raw?.['flagged']
  const categories = entriesOf(raw?.['categories'], isVerdict)
  const scores = entriesOf(raw?.['category_scores'], isScore)
  if (typeof flagged !== 'boolean' || categories === null || scores === null) return null
  const types = entriesOf(raw?.['category_applied_input_types'], isWords)
  return {
    flagged,
    categories,
    category_scores: scores,
    ...(types === null ? {} : { category_applied_input_types: types }),
  }
}

/** A copy of an object whose values are all of one type; null = they are not. */
function entriesOf<Value>(raw: unknown, is: (value: unknown) => value is Value): Record<string, Value> | null {
  const object = objectOf(raw)
  if (object === null) return null
  const entries = Object.entries(object).filter((entry): entry is [string, Value] => is(entry[1]))
  return entries.length === Object.keys(object).length ? Object.fromEntries(entries) : null
}

function isVerdict(value: unknown): value is boolean | null {
  return value === null || typeof value === 'boolean'
}

function isScore(value: unknown): value is number | null {
  return value === null || (typeof value === 'number' && Number.isFinite(value))
}

function isWords(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((word) => typeof word === 'string')
}
