import type { Principal } from '../access/principal.ts'
import type { Catalog, Model, ModelType, Snapshot } from '../catalog/catalog.ts'
import { protocolOfHeaders } from '../client-protocol.ts'
import { ApiError } from '../errors.ts'
import type { Call, Reply, Route } from '../http/edge.ts'
import { servesType } from '../model-types.ts'
import { anthropicModel, anthropicModelList } from './anthropic-models.ts'
import { geminiModel, geminiModelList, isGeminiModel } from './gemini-models.ts'
import { codexModels, type CodexModels } from './codex-models.ts'
import { KIND_LISTS, listBody, listedModels, selectedModels } from './model-list.ts'
import { endpointsRecord, imageModelRecord, modelRecord, type EndpointState, type RecordFacts } from './model-record.ts'

/** Paths at which Gemini's clients look for models, beside the path that all share. */
const GEMINI_LISTS = ['/v1beta/models', '/v1alpha/models'] as const

export interface ModelRoutePorts {
  readonly catalog: Catalog
  readonly health: { report(endpointId: string): EndpointState }
  /** Existing calls, with the type of models that serve them. */
  readonly supportedEndpoints: readonly { readonly endpointName: string; readonly modelType: ModelType }[]
  /** Parameters that an adapter carries for a type of model; without it, an endpoint without a list shows none. */
  readonly parametersOf?: (adapterName: string, type: ModelType) => readonly string[]
  /** Formats that a speech model can produce; without it, the formats that the model declares. */
  readonly speechFormatsOf?: (model: Model) => readonly string[]
}

/** Lists and records of models and providers (wire.md 1 and 12): they read only the snapshot and are free. */
export function modelRoutes(ports: ModelRoutePorts): readonly Route<Principal>[] {
  const facts = factsOf(ports)
  const recordOf = recordCache(ports.catalog, facts)
  const current = (): Snapshot => ports.catalog.current()
  const told = codexModels(ports.catalog, (model) => supportedParameters(recordOf(model)))
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
    shared('/v1/models', (call) => {
      const { query, request } = call
      const models = current().models.values()
      switch (protocolOfHeaders(request)) {
        case 'anthropic':
          return ok(anthropicModelList(listedModels(models, 'chat'), query))
        case 'gemini':
          return ok(geminiModelList(listedModels(models, 'all').filter(isGeminiModel), query))
        default: {
          const body = listBody(selectedModels(models, query), '/v1/models', query, recordOf)
          return query.has('client_version') ? forCodex(call, body, told()) : ok(body)
        }
      }
    }),
    ...GEMINI_LISTS.flatMap((path) => [
      get(path, ({ query }) =>
        ok(geminiModelList(listedModels(current().models.values(), 'all').filter(isGeminiModel), query)),
      ),
      get(`${path}/*id`, ({ params }) => ok(geminiModel(modelOf(current(), params['id'] ?? '')))),
    ]),
    get('/v1/models/count', ({ query }) =>
      ok({ data: { count: selectedModels(current().models.values(), query).length } }),
    ),
    ...kindLists,
    get('/v1/models/:author/:slug/endpoints', ({ params }) => endpoints(`${params['author']}/${params['slug']}`)),
    // Some SDKs treat the id as one segment and encode its slash.
    get('/v1/models/:author/endpoints', ({ params }) => endpoints(params['author'] ?? '')),
    shared('/v1/models/*id', ({ params, request }) => {
      const model = modelOf(current(), params['id'] ?? '')
      const protocol = protocolOfHeaders(request)
      if (protocol === 'gemini') return ok(geminiModel(model))
      return ok(protocol === 'anthropic' ? anthropicModel(model) : recordOf(model))
    }),
    get('/v1/model/*id', ({ params }) => ok({ data: recordOf(modelOf(current(), params['id'] ?? '')) })),
    get('/v1/providers', () => ok(providersBody(current()))),
  ]
}

function get(path: string, handle: (call: Call<Principal>) => Reply): Route<Principal> {
  return { method: 'GET', path, plane: 'key', body: 'none', priority: 'low', handle }
}

/** A path that several protocols share. */
function shared(path: string, handle: (call: Call<Principal>) => Reply): Route<Principal> {
  return { ...get(path, handle), protocol: protocolOfHeaders }
}

function ok(body: unknown): Reply {
  return { status: 200, body }
}

/** Codex reads `models` and caches them by ETag (clients.md 3). */
function forCodex(
  { request }: Call<Principal>,
  body: Readonly<Record<string, unknown>>,
  { models, etag }: CodexModels,
): Reply {
  const headers = { etag }
  if (request.headers['if-none-match'] === etag) return { status: 304, body: undefined, headers }
  return { status: 200, body: { ...body, models }, headers }
}

function supportedParameters({ supported_parameters: names }: Readonly<Record<string, unknown>>): readonly unknown[] {
  return Array.isArray(names) ? names : []
}

function factsOf(ports: ModelRoutePorts): RecordFacts {
  const { parametersOf } = ports
  return {
    supportedEndpoints: (model) =>
      ports.supportedEndpoints
        .filter(({ modelType }) => servesType(model, modelType))
        .map(({ endpointName }) => endpointName),
    parametersOf: (adapterName, type) => parametersOf?.(adapterName, type) ?? [],
    speechFormatsOf: (model) => ports.speechFormatsOf?.(model) ?? model.supportedFormats ?? [],
  }
}

/** Records change only with the catalogue, and some clients read the whole list before every call. */
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

/** Finds a model by canonical id or alias, hidden ones included, since they may be used. */
function modelOf(snapshot: Snapshot, id: string): Model {
  const model = snapshot.models.get(id) ?? snapshot.models.get(snapshot.aliases.get(id) ?? '')
  if (model === undefined)
    throw new ApiError('model_record_not_found', `Model '${id.slice(0, 200)}' not found or inactive`)
  return model
}

/** `GET /v1/providers`: the values for `provider.order`, `only` and `ignore`, so the providers of listed models. */
function providersBody(snapshot: Snapshot): { readonly data: readonly Record<string, unknown>[] } {
  const serving = new Set<string>()
  for (const model of snapshot.models.values()) {
    if (!model.hidden) for (const endpoint of model.endpoints) serving.add(endpoint.provider.slug)
  }
  const data = [...snapshot.providers.values()]
    .filter(({ slug }) => serving.has(slug))
    .toSorted((left, right) => (left.slug < right.slug ? -1 : 1))
    .map(({ name, slug }) => ({
      name,
      slug,
      privacy_policy_url: null,
      terms_of_service_url: null,
      status_page_url: null,
    }))
  return { data }
}
