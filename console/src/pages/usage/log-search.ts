import type { LogQuery, RequestStatus, RequestType } from '../../../../src/cabinet/contract.ts'

export const FILTERS = ['model', 'key', 'status', 'type', 'provider', 'app', 'from', 'to', 'id'] as const
export type FilterName = (typeof FILTERS)[number]
/** The filters as the address has them; `from` and `to` are days. */
export type LogSearch = Readonly<Partial<Record<FilterName, string | undefined>>>

export const STATUSES: readonly RequestStatus[] = ['completed', 'error', 'cancelled']
export const TYPES: readonly RequestType[] = ['chat', 'responses', 'completions', 'embeddings', 'image', 'tts', 'transcription', 'translation', 'rerank', 'video']
const DAY_MS = 86_400_000

/** What is asked of the server; values that an address made up are left out. */
export function logQuery({ model, key, status, type, provider, app, from, to, id }: LogSearch): LogQuery {
  const knownStatus = STATUSES.find((known) => known === status)
  const knownType = TYPES.find((known) => known === type)
  const start = startOfDay(from)
  const end = startOfDay(to)
  return {
    ...(model === undefined ? {} : { model }),
    ...(key === undefined ? {} : { key }),
    ...(provider === undefined ? {} : { provider }),
    ...(app === undefined ? {} : { app }),
    ...(id === undefined ? {} : { id }),
    ...(knownStatus === undefined ? {} : { status: knownStatus }),
    ...(knownType === undefined ? {} : { type: knownType }),
    ...(start === null ? {} : { from: start.toISOString() }),
    ...(end === null ? {} : { to: new Date(end.getTime() + DAY_MS).toISOString() }),
  }
}

function startOfDay(day: string | undefined): Date | null {
  const date = day === undefined ? null : new Date(`${day}T00:00:00`)
  return date === null || Number.isNaN(date.getTime()) ? null : date
}
