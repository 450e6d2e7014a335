import type { Model } from '../catalog/catalog.ts'
import { ApiError } from '../errors.ts'
import { wholeParameter } from '../http/query.ts'

const LIMIT_MAX = 1_000
const OFFSET_MAX = 1_000_000_000

/** Every value of `filter`, with the models it answers (wire.md D-1.5). */
const FILTERS = {
  all: () => true,
  chat: (model) => model.type === 'chat',
  embeddings: (model) => model.type === 'embeddings',
  images: (model) => model.type === 'image' || (model.type === 'chat' && model.outputModalities.includes('image')),
  audio: (model) =>
    model.type === 'chat' && (model.inputModalities.includes('audio') || model.outputModalities.includes('audio')),
  tts: (model) => model.type === 'tts',
  transcriptions: (model) => model.type === 'transcription',
  rerank: (model) => model.type === 'rerank',
  videos: (model) => model.type === 'video',
} as const satisfies Record<string, (model: Model) => boolean>

export type ModelFilter = keyof typeof FILTERS

const ALIASES: Readonly<Record<string, ModelFilter>> = {
  text: 'chat',
  embedding: 'embeddings',
  image: 'images',
  speech: 'tts',
  transcription: 'transcriptions',
  stt: 'transcriptions',
  video: 'videos',
}
/** Parameters that a `next` link repeats; `limit` and `offset` follow them. */
const SELECTING = ['filter', 'output_modalities'] as const

/** Listed models of one kind: no hidden ones, newest first, then by id. */
export function listedModels(models: Iterable<Model>, filter: ModelFilter): readonly Model[] {
  const accepts: (model: Model) => boolean = FILTERS[filter]
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
  if (Object.hasOwn(FILTERS, value)) {
    // The value is one of the table's own keys.
    return value as ModelFilter
  }
  const alias = Object.hasOwn(ALIASES, value) ? ALIASES[value] : undefined
  if (alias !== undefined) return alias
  throw new ApiError(
    'invalid_filter',
    `Invalid filter '${value.slice(0, 100)}'. Allowed values: ${Object.keys(FILTERS).join(', ')}`,
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
