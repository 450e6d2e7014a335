import type { Model } from '../../../catalog/catalog.ts'
import { ApiError } from '../../../base/errors.ts'
import { wholeParameter } from '../../../base/query-parameters.ts'
import { isoTime } from '../../../base/time.ts'
import type { ModelForms } from '../../ports/client-call.ts'

const LIMIT_DEFAULT = 20
const LIMIT_MAX = 1_000

export const ANTHROPIC_MODELS: ModelForms = {
  types: ['chat'],
  list: anthropicModelList,
  one: anthropicModel,
  paths: [],
}

/** A model in the form of Anthropic's protocol (clients.md 2). */
function anthropicModel({ id, name, created, contextLength, maxCompletionTokens }: Model): Record<string, unknown> {
  return {
    type: 'model',
    id,
    display_name: name,
    created_at: isoTime(created * 1_000),
    max_input_tokens: contextLength,
    max_tokens: maxCompletionTokens,
  }
}

/** A page of the list: after one model, or before one. */
function anthropicModelList(models: readonly Model[], query: URLSearchParams): Record<string, unknown> {
  const limit = wholeParameter(query, 'limit', 1, LIMIT_MAX) ?? LIMIT_DEFAULT
  const after = placeOf(models, query, 'after_id')
  const before = placeOf(models, query, 'before_id')
  const start = before === null ? (after ?? -1) + 1 : Math.max(0, before - limit)
  const end = before ?? Math.min(models.length, start + limit)
  const page = models.slice(start, end)
  return {
    data: page.map(anthropicModel),
    has_more: before === null ? end < models.length : start > 0,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  }
}

function placeOf(models: readonly Model[], query: URLSearchParams, name: string): number | null {
  const id = query.get(name)
  if (id === null) return null
  const place = models.findIndex((model) => model.id === id)
  if (place === -1)
    throw new ApiError('invalid_input', `${name}: must be the id of a listed model, got '${id.slice(0, 100)}'`)
  return place
}
