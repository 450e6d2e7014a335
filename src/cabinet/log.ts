import { fieldError } from '../errors.ts'
import { timeParameter, wholeParameter } from '../http/query.ts'
import { rubles } from '../money.ts'
import type { LogFilter } from '../store/console-records.ts'
import type { GenerationRow } from '../store/store.ts'
import type { LogAnswer, LogRow } from './contract.ts'
import { cursorOf, iso, isoOrNull, type CabinetPorts, type Visit } from './ports.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 300
const STATUSES = ['completed', 'error', 'cancelled'] as const
const TEXTS = { key: 'keyId', model: 'model', type: 'type', provider: 'provider', app: 'app' } as const

export function logFilter(query: URLSearchParams, accountId: string): LogFilter {
  const filter: { -readonly [K in keyof LogFilter]: LogFilter[K] } = {
    accountId,
    beforeSeq: cursorOf(query),
    limit: wholeParameter(query, 'limit', 1, LIMIT_MAX) ?? LIMIT_DEFAULT,
  }
  for (const [parameter, name] of Object.entries(TEXTS)) {
    const value = query.get(parameter)
    if (value !== null) filter[name] = value
  }
  const id = query.get('id')
  if (id !== null) filter[id.startsWith('gen-') ? 'generationId' : 'requestId'] = id
  const status = query.get('status')
  if (status !== null) {
    const known = STATUSES.find((name) => name === status)
    if (known === undefined)
      throw fieldError('status', 'one_of', { allowed: STATUSES.join(', ') }, `must be one of ${STATUSES.join(', ')}`)
    filter.status = known
  }
  const fromMs = timeParameter(query, 'from')
  const toMs = timeParameter(query, 'to')
  if (fromMs !== null) filter.fromMs = fromMs
  if (toMs !== null) filter.toMs = toMs
  return filter
}

/** The account's own log, newest first. */
export async function logPage(ports: CabinetPorts, { call, accountId }: Visit): Promise<LogAnswer> {
  const page = await ports.store.log.page(logFilter(call.query, accountId))
  return {
    data: page.data.map(logRow),
    next_cursor: page.nextSeq === null ? null : String(page.nextSeq),
    searched_to: isoOrNull(page.searchedToMs),
  }
}

export function logRow(row: GenerationRow): LogRow {
  return {
    generation_id: row.generationId,
    request_id: row.requestId,
    at: iso(row.endedAtMs),
    type: row.type,
    model: row.model,
    provider: row.providerSlug,
    provider_name: row.providerName,
    status: row.status,
    error_type: row.errorType,
    finish_reason: row.finishReason,
    key_id: row.keyId,
    key_name: row.keyName,
    app_title: row.appTitle,
    app_url: row.appUrl,
    input_tokens: row.inputTokens,
    output_tokens: row.outputTokens,
    cached_tokens: row.cachedTokens,
    reasoning_tokens: row.reasoningTokens,
    cost: rubles(row.costMicro),
    streamed: row.streamed,
    latency_ms: row.latencyMs,
    duration_ms: row.durationMs,
    tokens_per_second: tokensPerSecond(row),
  }
}

/** Of a stream, where the time after the first token is known. */
function tokensPerSecond({ streamed, latencyMs, durationMs, outputTokens }: GenerationRow): number | null {
  if (!streamed || latencyMs === null || outputTokens < 2 || durationMs <= latencyMs) return null
  return Math.round(((outputTokens - 1) / (durationMs - latencyMs)) * 10_000) / 10
}
