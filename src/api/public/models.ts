import type { Principal } from '../../access/principal.ts'
import type { Catalog, Model, ModelType, Snapshot } from '../../catalog/catalog.ts'
import { snapshotFor } from '../../catalog/customer-prices.ts'
import { protocolOfHeaders } from '../../base/client-protocol.ts'
import { ApiError } from '../../base/errors.ts'
import type { Call, Reply, Route } from '../../http/edge.ts'
import { servesType, MODEL_TYPE_TABLE, MODEL_TYPES, type ListFilter } from '../../tables/model-types.ts'
import { CLIENTS } from '../../protocols/clients.ts'
import type { ModelForms } from '../../protocols/ports/client-call.ts'
import { endpointsRecord, imageModelRecord, modelRecord, type EndpointState, type RecordFacts } from './model-record.ts'
import { createHash } from 'node:crypto'
import { wholeParameter } from '../../base/query-parameters.ts'

/** The list of all models for Codex. */
interface CodexModels {
  readonly models: readonly Record<string, unknown>[]
  /** A hash of the list: it changes with the list. */
  readonly etag: string
}

const LEVELS = [
  { effort: 'low', description: 'Answers soon, with little reasoning' },
  { effort: 'medium', description: 'Reasons as much as most tasks need' },
  { effort: 'high', description: 'Reasons long about hard tasks' },
]
const OUTPUT_TOKENS_MAX = 10_000
const CONTEXT_PERCENT = 95
/** Codex shows models in ascending order of priority. */
const PRIORITY_FIRST = 1
/** Codex accepts only pictures besides text. */
const MODALITIES: readonly string[] = ['text', 'image']
/** Codex has no instructions of its own for models that a server lists. */
const INSTRUCTIONS = `You are a coding agent that works in the user's terminal, in a folder of the user's.

- Look before you act: search and read the files that a task concerns, and the instructions that the folder holds.
- Work until the task is done, step by step with the tools that you have, and check the result: run the tests or the program where there are any.
- Change what the task needs and nothing else. Keep the style of the code around it. Never undo changes that you did not make, and never delete or publish without being asked.
- When you edit files, use the tool for patches if it is offered, else the shell.
- Say in a few words what you are about to do, and at the end what you changed, how you checked it and what is left. Name files by their path.
- Ask only where the answer cannot be found and a wrong guess would cost the user work.`

/** `models` of `GET /v1/models?client_version=` (clients.md 3), built once for each state of the catalogue. */
function codexModels(catalog: Catalog, parametersOf: (model: Model) => readonly unknown[]): () => CodexModels {
  let made: { readonly of: Snapshot; readonly models: CodexModels } | null = null
  return () => {
    const snapshot = catalog.current()
    if (made?.of !== snapshot) made = { of: snapshot, models: modelsOf(snapshot, parametersOf) }
    return made.models
  }
}

function modelsOf(snapshot: Snapshot, parametersOf: (model: Model) => readonly unknown[]): CodexModels {
  const models = listedModels(snapshot.models.values(), 'all')
    .filter(({ type }) => type === 'chat')
    .map((model, index) => modelInfo(model, parametersOf(model), PRIORITY_FIRST + index))
  const digest = createHash('sha256').update(JSON.stringify(models)).digest('hex')
  return { models, etag: `"${digest.slice(0, 32)}"` }
}

/** Every field for which some version of Codex has no default. */
function modelInfo(model: Model, parameters: readonly unknown[], priority: number): Record<string, unknown> {
  const reasons = parameters.includes('reasoning') || parameters.includes('reasoning_effort')
  const calls = parameters.includes('tools')
  return {
    slug: model.id,
    display_name: model.name,
    description: model.description,
    ...(reasons ? { default_reasoning_level: 'medium' } : {}),
    supported_reasoning_levels: reasons ? LEVELS : [],
    shell_type: calls ? 'unified_exec' : 'disabled',
    visibility: calls ? 'list' : 'hide',
    supported_in_api: true,
    priority,
    upgrade: null,
    base_instructions: INSTRUCTIONS,
    supports_reasoning_summaries: reasons,
    support_verbosity: parameters.includes('verbosity'),
    default_verbosity: null,
    apply_patch_tool_type: calls ? 'freeform' : null,
    truncation_policy: { mode: 'tokens', limit: OUTPUT_TOKENS_MAX },
    supports_parallel_tool_calls: parameters.includes('parallel_tool_calls'),
    ...(model.contextLength === null ? {} : { context_window: model.contextLength }),
    effective_context_window_percent: CONTEXT_PERCENT,
    experimental_supported_tools: [],
    input_modalities: MODALITIES.filter((modality) => model.inputModalities.includes(modality)),
  }
}

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
  const recordOf = recordCache(facts)
  /** The snapshot with the caller's prices. */
  const of = ({ principal }: Call<Principal>): Snapshot => snapshotFor(ports.catalog.current(), principal?.markup)
  const told = codexModels(ports.catalog, (model) => supportedParameters(recordOf(model)))
  const endpoints = (call: Call<Principal>, id: string): Reply =>
    ok({ data: endpointsRecord(modelOf(of(call), id), facts, (endpointId) => ports.health.report(endpointId)) })
  const kindLists = KIND_LISTS.map(({ path, filter }) =>
    get(path, (call) =>
      ok(
        listBody(
          listedModels(of(call).models.values(), filter),
          path,
          call.query,
          filter === 'images' ? (model) => imageModelRecord(model, facts) : recordOf,
        ),
      ),
    ),
  )
  return [
    shared('/v1/models', (call) => {
      const { query, request } = call
      const models = of(call).models.values()
      const { models: forms } = CLIENTS[protocolOfHeaders(request)] ?? {}
      if (forms !== undefined) return ok(forms.list(callable(models, forms), query))
      const body = listBody(selectedModels(models, query), '/v1/models', query, recordOf)
      return query.has('client_version') ? forCodex(call, body, told()) : ok(body)
    }),
    ...clientRoutes(of),
    get('/v1/models/count', (call) =>
      ok({ data: { count: selectedModels(of(call).models.values(), call.query).length } }),
    ),
    ...kindLists,
    get('/v1/models/:author/:slug/endpoints', (call) =>
      endpoints(call, `${call.params['author']}/${call.params['slug']}`),
    ),
    // Some SDKs treat the id as one segment and encode its slash.
    get('/v1/models/:author/endpoints', (call) => endpoints(call, call.params['author'] ?? '')),
    shared('/v1/models/*id', (call) => {
      const model = modelOf(of(call), call.params['id'] ?? '')
      const { models: forms } = CLIENTS[protocolOfHeaders(call.request)] ?? {}
      return ok(forms === undefined ? recordOf(model) : forms.one(model))
    }),
    get('/v1/model/*id', (call) => ok({ data: recordOf(modelOf(of(call), call.params['id'] ?? '')) })),
    get('/v1/providers', () => ok(providersBody(ports.catalog.current()))),
  ]
}

/** Paths at which clients of other protocols look for models, beside those that all share. */
function clientRoutes(of: (call: Call<Principal>) => Snapshot): readonly Route<Principal>[] {
  return Object.values(CLIENTS).flatMap(({ models: forms, reads = {} }) => [
    ...(forms === undefined ? [] : formRoutes(forms, of)),
    ...Object.entries(reads).map(([path, read]) =>
      get(path, (call) => ok(read(listedModels(of(call).models.values(), 'all')))),
    ),
  ])
}

function formRoutes(forms: ModelForms, of: (call: Call<Principal>) => Snapshot): readonly Route<Principal>[] {
  return forms.paths.flatMap((path) => [
    get(path, (call) => ok(forms.list(callable(of(call).models.values(), forms), call.query))),
    get(`${path}/*id`, (call) => ok(forms.one(modelOf(of(call), call.params['id'] ?? '')))),
  ])
}

function callable(models: Iterable<Model>, { types }: ModelForms): readonly Model[] {
  return listedModels(models, 'all').filter(({ type }) => types.includes(type))
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
  if (isKnown(request.headers['if-none-match'] ?? '', etag)) return { status: 304, body: undefined, headers }
  return { status: 200, body: { ...body, models }, headers }
}

/** Whether `If-None-Match` names the tag; proxies mark a tag as weak (RFC 9110, 13.1.2). */
function isKnown(header: string, etag: string): boolean {
  return header.split(',').some((tag) => ['*', etag, `W/${etag}`].includes(tag.trim()))
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

/** A model never changes, and some clients read the whole list before every call. */
function recordCache(facts: RecordFacts): (model: Model) => Record<string, unknown> {
  const records = new WeakMap<Model, Record<string, unknown>>()
  return (model) => {
    const kept = records.get(model)
    if (kept !== undefined) return kept
    const record = modelRecord(model, facts)
    records.set(model, record)
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
    // The kinds of sound are listed together; chats with sound come first.
    ...(type === 'tts' ? [AUDIO_CHATS] : []),
    { ...MODEL_TYPE_TABLE[type].list, accepts: (model) => servesType(model, type) },
  ]),
]
/** Kinds that also have a list of their own beside `/v1/models`. */
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
