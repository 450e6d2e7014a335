import type { Model } from '../../catalog/catalog.ts'
import { ApiError } from '../../base/errors.ts'
import { MODEL_TYPE_TABLE, MODEL_TYPES, servesType, type ListFilter } from '../../tables/model-types.ts'
import { wholeParameter } from '../../base/query-parameters.ts'

const LIMIT_MAX = 1_000
const OFFSET_MAX = 1_000_000_000

type ModelFilter = ListFilter | 'all' | 'audio'

interface ModelKind {
  readonly filter: ModelFilter
  readonly aliases: readonly string[]
  /** The path of its separate list; null = it has none. */
  readonly path: string | null
  readonly accepts: (model: Model) => boolean
}

const AUDIO_CHATS: ModelKind = {
  filter: 'audio',
  aliases: [],
  path: '/v1/audio/models',
  accepts: ({ type, inputModalities, outputModalities }) =>
    type === 'chat' && (inputModalities.includes('audio') || outputModalities.includes('audio')),
}

/** Every value of `filter`, with the models that it selects (wire.md D-1.5): a list for each type, and two more. */
const KINDS: readonly ModelKind[] = [
  { filter: 'all', aliases: [], path: null, accepts: () => true },
  ...MODEL_TYPES.flatMap((type): readonly ModelKind[] => [
    // The other lists of sound begin here.
    ...(type === 'tts' ? [AUDIO_CHATS] : []),
    { ...MODEL_TYPE_TABLE[type].list, accepts: (model) => servesType(model, type) },
  ]),
]
/** Kinds with a separate list beside `/v1/models`. */
export const KIND_LISTS = KINDS.flatMap(({ filter, path }) => (path === null ? [] : [{ filter, path }]))
export const MODEL_FILTERS = KINDS.map(({ filter }) => filter)
/** Parameters that a `next` link repeats; `limit` and `offset` follow them. */
const SELECTING = ['filter', 'output_modalities'] as const

/** Listed models of one kind: newest first, then by id, without hidden ones. */
export function listedModels(models: Iterable<Model>, filter: ModelFilter): readonly Model[] {
  const accepts = KINDS.find((kind) => kind.filter === filter)?.accepts ?? (() => false)
  return [...models]
    .filter((model) => model.active && !model.hidden && accepts(model))
    .toSorted((left, right) => right.created - left.created || (left.id < right.id ? -1 : 1))
}

/** The models that `filter` or, without it, `output_modalities` of a query selects. */
export function selectedModels(models: Iterable<Model>, query: URLSearchParams): readonly Model[] {
  const value = query.get('filter')
  if (value !== null) return listedModels(models, filterOf(value))
  const all = listedModels(models, 'all')
  const wanted = query
    .get('output_modalities')
    ?.split(',')
    .map((modality) => modality.trim()) ?? ['all']
  return wanted.includes('all')
    ? all
    : all.filter(({ outputModalities }) => outputModalities.some((modality) => wanted.includes(modality)))
}

function filterOf(value: string): ModelFilter {
  const kind = KINDS.find(({ filter, aliases }) => filter === value || aliases.includes(value))
  if (kind !== undefined) return kind.filter
  throw new ApiError(
    'invalid_filter',
    `Invalid filter '${value.slice(0, 100)}'. Allowed values: ${KINDS.map(({ filter }) => filter).join(', ')}`,
  )
}

/** The wrapper and paging of every list (wire.md D-1.3, D-1.4). */
export function listBody(
  models: readonly Model[],
  path: string,
  query: URLSearchParams,
  record: (model: Model) => unknown,
): Record<string, unknown> {
  const limit = wholeParameter(query, 'limit', 1, LIMIT_MAX)
  const offset = wholeParameter(query, 'offset', 0, OFFSET_MAX) ?? 0
  const end = limit === null ? models.length : offset + limit
  return {
    object: 'list',
    data: models.slice(offset, end).map(record),
    total_count: models.length,
    links: { next: limit !== null && end < models.length ? nextPath(path, query, end, limit) : null },
  }
}

function nextPath(path: string, query: URLSearchParams, offset: number, limit: number): string {
  const next = new URLSearchParams()
  for (const name of SELECTING) {
    const value = query.get(name)
    if (value !== null) next.set(name, value)
  }
  next.set('offset', String(offset))
  next.set('limit', String(limit))
  return `${path}?${next}`
}
