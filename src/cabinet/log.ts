import { wholeParameter } from '../base/query-parameters.ts'
import type { AccountLogFilter } from '../store/log/log-store.ts'
import type { GenerationRow } from '../ledger/generation-record.ts'
import { readLogFilter } from '../ledger/log-filters.ts'
import { tokensPerSecond } from '../api/records/request-story.ts'
import { viewOf } from '../ledger/row-view.ts'
import type { LogAnswer, LogRow } from '../api/cabinet/log-contract.ts'
import { cursorOf, type CabinetPorts, type Visit } from './ports.ts'
import { isoTime } from '../base/time.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 300

export function logFilter(query: URLSearchParams, accountId: string): AccountLogFilter {
  const id = query.get('id')
  return {
    beforeSeq: cursorOf(query),
    limit: wholeParameter(query, 'limit', 1, LIMIT_MAX) ?? LIMIT_DEFAULT,
    ...readLogFilter(query, 'console'),
    ...(id === null ? {} : { [id.startsWith('gen-') ? 'generationId' : 'requestId']: id }),
    accountId,
  }
}

/** The account's own log, newest first. */
export async function logPage(ports: CabinetPorts, { call, accountId }: Visit): Promise<LogAnswer> {
  const page = await ports.store.log.page(logFilter(call.query, accountId))
  return {
    data: page.data.map(logRow),
    next_cursor: page.nextSeq === null ? null : String(page.nextSeq),
    searched_to: isoTime(page.searchedToMs),
  }
}

export function logRow(row: GenerationRow): LogRow {
  return { ...viewOf(row, 'log'), tokens_per_second: tokensPerSecond(row) }
}
