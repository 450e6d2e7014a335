import type { Principal } from '../access/principal.ts'
import type { Catalog, Model, ModelType, Snapshot } from '../catalog/catalog.ts'
import { ApiError } from '../errors.ts'
import type { Call, Reply, Route } from '../http/edge.ts'
import { listBody, listedModels, selectedModels, type ModelFilter } from './model-list.ts'
import { endpointsRecord, imageModelRecord, modelRecord, type EndpointState, type RecordFacts } from './model-record.ts'
import { providersBody } from './providers-list.ts'

export interface ModelRoutePorts {
  readonly catalog: Catalog
  readonly health: { report(endpointId: string): EndpointState }
  /** Calls that exist, with the type of the models that serve them. */
  readonly supportedEndpoints: readonly {
    readonly endpointName: string
    readonly modelType: string
    readonly alsoServes?: (model: Model) => boolean
  }[]
  /** Parameter names that an adapter carries to models of a type; without it an endpoint that lists none shows none. */
  readonly parametersOf?: (adapterName: string, type: ModelType) => readonly string[]
  /** Formats that a model of speech can be asked for; without it those it declares. */
  readonly speechFormatsOf?: (model: Model) => readonly string[]
}

/** A list of its own for each kind, beside `/v1/models`. */
const KIND_LISTS: readonly { readonly path: string; readonly filter: ModelFilter }[] = [
  { path: '/v1/embeddings/models', filter: 'embeddings' },
  { path: '/v1/images/models', filter: 'images' },
  { path: '/v1/audio/models', filter: 'audio' },
  { path: '/v1/tts/models', filter: 'tts' },
  { path: '/v1/transcriptions/models', filter: 'transcriptions' },
  { path: '/v1/rerank/models', filter: 'rerank' },
  { path: '/v1/videos/models', filter: 'videos' },
]

/** Lists and records of models and providers (wire.md 1 and 12): they read the snapshot alone and are free. */
export function modelRoutes(ports: ModelRoutePorts): readonly Route<Principal>[] {
  const facts = factsOf(ports)
  const recordOf = recordCache(ports.catalog, facts)
  const current = (): Snapshot => ports.catalog.current()
  const endpoints = (id: string): Reply =>
    ok({ data: endpointsRecord(modelOf(current(), id), facts, (endpointId) => ports.health.report(endpointId)) })
  const kindLists = KIND_LISTS.map(({ path, filter }) =>
    get(path, ({ query }) =>
      ok(
        listBody(
          listedModels(current().models.values(), filter),
          path,
          query,
          filter === 'images' ? (model) => imageModelRecord(model, facts) : recordOf,
        ),
      ),
    ),
  )
  return [
    get('/v1/models', ({ query }) =>
      ok(listBody(selectedModels(current().models.values(), query), '/v1/models', query, recordOf)),
    ),
    get('/v1/models/count', ({ query }) =>
      ok({ data: { count: selectedModels(current().models.values(), query).length } }),
    ),
    ...kindLists,
    get('/v1/models/:author/:slug/endpoints', ({ params }) => endpoints(`${params['author']}/${params['slug']}`)),
    // SDKs that take the id for one segment encode its slash.
    get('/v1/models/:author/endpoints', ({ params }) => endpoints(params['author'] ?? '')),
    get('/v1/models/*id', ({ params }) => ok(recordOf(modelOf(current(), params['id'] ?? '')))),
    get('/v1/model/*id', ({ params }) => ok({ data: recordOf(modelOf(current(), params['id'] ?? '')) })),
    get('/v1/providers', () => ok(providersBody(current()))),
  ]
}

function get(path: string, handle: (call: Call<Principal>) => Reply): Route<Principal> {
  return { method: 'GET', path, plane: 'key', body: 'none', priority: 'low', handle }
}

function ok(body: unknown): Reply {
  return { status: 200, body }
}

function factsOf(ports: ModelRoutePorts): RecordFacts {
  const { parametersOf } = ports
  return {
    supportedEndpoints: (model) =>
      ports.supportedEndpoints
        .filter(({ modelType, alsoServes }) => modelType === model.type || alsoServes?.(model) === true)
        .map(({ endpointName }) => endpointName),
    parametersOf: (adapterName, type) => parametersOf?.(adapterName, type) ?? [],
    speechFormatsOf: (model) => ports.speechFormatsOf?.(model) ?? model.supportedFormats ?? [],
  }
}

/** Records change only with the catalogue, and some clients ask for the whole list before every call. */
function recordCache(catalog: Catalog, facts: RecordFacts): (model: Model) => Record<string, unknown> {
  let records = new Map<string, { readonly model: Model; readonly record: Record<string, unknown> }>()
  let version: Snapshot | null = null
  return (model) => {
    const snapshot = catalog.current()
    if (snapshot !== version) {
      records = new Map()
      version = snapshot
    }
    const kept = records.get(model.id)
    if (kept?.model === model) return kept.record
    const record = modelRecord(model, facts)
    records.set(model.id, { model, record })
    return record
  }
}

/** By canonical id or alias; hidden models are found, since they may be used. */
function modelOf(snapshot: Snapshot, id: string): Model {
  const model = snapshot.models.get(id) ?? snapshot.models.get(snapshot.aliases.get(id) ?? '')
  if (model === undefined)
    throw new ApiError('model_record_not_found', `Model '${id.slice(0, 200)}' not found or inactive`)
  return model
}
