import type { GenerationQuery } from '../../../../../src/api/admin/report-contract.ts'
import { timesOf } from '../../../parts/zoned-day.ts'

/** A screen of them: twice as many take twice the time to draw. */
export const PAGE_ROWS = 25
export const STATUSES = ['completed', 'error', 'cancelled'] as const
const EXACT = ['account', 'key', 'model', 'provider', 'error_type'] as const

export type RequestFilter = (typeof EXACT)[number] | 'status' | 'flagged' | 'id' | 'from' | 'to'
/** The filters as the address has them, the page and the opened request; `from` and `to` are days. */
export type RequestSearch = Readonly<Partial<Record<RequestFilter | 'offset' | 'request', string | undefined>>>

export function isFiltered({ offset: _offset, request: _request, ...filters }: RequestSearch): boolean {
  return Object.values(filters).some((value) => value !== undefined)
}

/** An account's rows are numbered: any page of them can be asked for. */
export function isNumbered({ account, from: _from, to: _to, ...others }: RequestSearch): boolean {
  return account !== undefined && !isFiltered(others)
}

export function offsetOf({ offset }: RequestSearch): number {
  return offset !== undefined && /^\d{1,15}$/.test(offset) ? Number(offset) : 0
}

/** The query for the server. An id is that of a generation or the client's own of a request. */
export function queryOf(search: RequestSearch, zone: string): GenerationQuery {
  const status = STATUSES.find((known) => known === search.status)
  const { id } = search
  return {
    // The server refuses an unknown type of error in one sentence.
    ...(Object.fromEntries(
      EXACT.flatMap((name) => (search[name] === undefined ? [] : [[name, search[name]]])),
    ) as GenerationQuery),
    ...(status === undefined ? {} : { status }),
    ...(search.flagged === 'true' ? { flagged: 'true' as const } : {}),
    ...(id === undefined ? {} : { [id.startsWith('gen-') ? 'generation_id' : 'request_id']: id }),
    ...timesOf(search.from, search.to, zone),
  }
}
