import type { LogQuery } from '../../../../src/cabinet/log-contract.ts'
import type { GenerationStatus } from '../../../../src/ledger/generation-record.ts'
import { REQUEST_TYPES } from '../../../../src/model-types.ts'
import { timesOf } from '../../parts/day-range.ts'

export const FILTERS = ['model', 'key', 'status', 'type', 'provider', 'app', 'from', 'to', 'id'] as const
export type FilterName = (typeof FILTERS)[number]
/** The filters as the address has them; `from` and `to` are days. */
export type LogSearch = Readonly<Partial<Record<FilterName, string | undefined>>>

export const STATUSES: readonly GenerationStatus[] = ['completed', 'error', 'cancelled']
/** The query for the server, without unknown values of the address. */
export function logQuery({ model, key, status, type, provider, app, from, to, id }: LogSearch, zone: string): LogQuery {
  const knownStatus = STATUSES.find((known) => known === status)
  const knownType = REQUEST_TYPES.find((known) => known === type)
  return {
    ...(model === undefined ? {} : { model }),
    ...(key === undefined ? {} : { key }),
    ...(provider === undefined ? {} : { provider }),
    ...(app === undefined ? {} : { app }),
    ...(id === undefined ? {} : { id }),
    ...(knownStatus === undefined ? {} : { status: knownStatus }),
    ...(knownType === undefined ? {} : { type: knownType }),
    ...timesOf(from, to, zone),
  }
}
