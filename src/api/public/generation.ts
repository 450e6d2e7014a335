import type { Principal } from '../../access/principal.ts'
import type { CatalogService } from '../../catalog/catalog-service.ts'
import { ApiError } from '../../base/errors.ts'
import type { Call, Reply, Route } from '../../http/edge.ts'
import { cacheSavedMicro } from '../../tables/meters.ts'
import { REQUEST_TYPE_TABLE } from '../../tables/model-types.ts'
import { rubles } from '../../base/money.ts'
import type { LogPage } from '../../store/log/query.ts'
import { type GenerationRow, viewOf } from '../../ledger/generation-record.ts'
import { readLogFilter } from '../../ledger/log-filters.ts'
import type { Store } from '../../store/store.ts'
import { principalOf } from './account.ts'
import type { LogRecord, SearchNotes } from './contract.ts'
import { wholeParameter } from '../../base/query-parameters.ts'
import { isoTime } from '../../base/time.ts'

const LIMIT_DEFAULT = 10
const LIMIT_MAX = 300

export interface GenerationRoutePorts {
  readonly store: Pick<Store, 'generations'>
  readonly catalog: Pick<CatalogService, 'pricesOf'>
}

/** The usage log (wire.md 6): the list or, with `id`, OpenRouter's single record. */
export function generationRoutes(ports: GenerationRoutePorts): readonly Route<Principal>[] {
  return [
    {
      method: 'GET',
      path: '/v1/generation',
      plane: 'key',
      body: 'none',
      priority: 'low',
      handle: (call) => (call.query.has('id') ? single(ports, call) : list(ports.store, call)),
    },
  ]
}

/** A limit above 300 is lowered, not refused. */
async function list(store: GenerationRoutePorts['store'], call: Call<Principal>): Promise<Reply> {
  const { query } = call
  const limit = wholeParameter(query, 'limit', 1, Number.MAX_SAFE_INTEGER) ?? LIMIT_DEFAULT
  const page = await store.generations.list({
    limit: Math.min(LIMIT_MAX, limit),
    offset: wholeParameter(query, 'offset', 0, Number.MAX_SAFE_INTEGER) ?? 0,
    ...readLogFilter(query, 'api'),
    accountId: principalOf(call).accountId,
  })
  return { status: 200, body: { logs: page.data.map(logRecord), total: page.total, ...searchNotes(page) } }
}

/**
 * The warnings of a search that was cut short: `total` is a lower bound, and rows that ended before `searched_to` were
 * not searched.
 */
export function searchNotes({ atLeast, searchedToMs }: LogPage): SearchNotes {
  if (atLeast === undefined) return {}
  return {
    total_exact: false,
    ...(searchedToMs === undefined ? {} : { searched_to: isoTime(searchedToMs) }),
  }
}

export function logRecord(row: GenerationRow): LogRecord {
  const { id, model_name, input_tokens, output_tokens, total_cost, timestamp, ...rest } = viewOf(row, 'api')
  return { id, model_name, input_tokens, output_tokens, total_cost, timestamp, currency: 'RUB', ...rest }
}

async function single({ store, catalog }: GenerationRoutePorts, call: Call<Principal>): Promise<Reply> {
  const id = call.query.get('id') ?? ''
  // A Responses client has its answer's id as `resp-…`; the log has the same tail with `gen-`.
  const row = await store.generations.get(id.replace(/^resp-/, 'gen-'))
  if (row === null || row.accountId !== principalOf(call).accountId)
    throw new ApiError('generation_not_found', `Generation '${id.slice(0, 80)}' not found`)
  return { status: 200, body: { data: openRouterRecord(row, await cacheDiscount(row, catalog)) } }
}

/** The amount that the prompt cache saved; null if it was not used, nothing was charged or the prices are gone. */
async function cacheDiscount(row: GenerationRow, catalog: GenerationRoutePorts['catalog']): Promise<number | null> {
  if (row.cachedTokens === 0 || row.endpointId === null || row.billingBasis === 'free') return null
  const prices = await catalog.pricesOf(row)
  if (prices === null) return null
  return rubles(cacheSavedMicro(row.usage, prices.charged.sheet))
}

/** OpenRouter's record with every key that its clients' schemas require; null = we do not know the value. */
function openRouterRecord(row: GenerationRow, discount: number | null): Record<string, unknown> {
  const cost = rubles(row.costMicro)
  return {
    id: row.generationId,
    upstream_id: row.upstreamId,
    request_id: row.requestId,
    api_type: REQUEST_TYPE_TABLE[row.type].apiType,
    model: row.model,
    provider_name: row.providerName,
    created_at: isoTime(row.createdAtMs),
    total_cost: cost,
    usage: cost,
    currency: 'RUB',
    cache_discount: discount,
    upstream_inference_cost: null,
    is_byok: false,
    app_id: null,
    origin: '',
    http_referer: row.appUrl,
    user_agent: null,
    external_user: row.endUser ?? null,
    session_id: row.sessionId,
    streamed: row.streamed,
    cancelled: row.status === 'cancelled',
    latency: row.latencyMs,
    generation_time: row.durationMs,
    moderation_latency: null,
    finish_reason: row.finishReason,
    native_finish_reason: row.nativeFinishReason,
    tokens_prompt: row.inputTokens,
    tokens_completion: row.outputTokens,
    native_tokens_prompt: row.inputTokens,
    native_tokens_completion: row.outputTokens,
    native_tokens_completion_images: null,
    native_tokens_reasoning: row.reasoningTokens,
    native_tokens_cached: row.cachedTokens,
    num_media_prompt: null,
    num_input_audio_prompt: null,
    num_media_completion: null,
    num_search_results: null,
    num_fetches: null,
    web_search_engine: null,
    router: null,
    service_tier: row.serviceTier ?? null,
    data_region: 'global',
    preset_id: null,
    workspace_id: null,
    provider_responses: null,
    response_cache_source_id: null,
  }
}
