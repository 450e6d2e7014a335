import { choiceParameter, wholeParameter } from '../../base/query-parameters.ts'
import type { AccountLogFilter } from '../../store/log/log-store.ts'
import { viewFields, type GenerationRow, viewOf } from '../../ledger/generation-record.ts'
import { readLogFilter } from '../../ledger/log-filters.ts'
import { tokensPerSecond } from '../records/request-story.ts'
import { listBody, type ListRange } from '../records/list-file.ts'
import { readRefusalFilter, refusalView } from '../records/refusals.ts'
import type { LogAnswer, LogRow, RefusalPage } from './log-contract.ts'
import { cursorOf, type CabinetPorts, type Visit } from './ports.ts'
import { isoTime, isoDay } from '../../base/time.ts'
import type { HIJACKED } from '../../http/edge.ts'
import { sendCsv } from '../../http/reply.ts'
import { BYTE_ORDER_MARK, type CsvFormat, csvLine, type CsvValue } from '../../base/csv.ts'
import { FileFormat } from '../records/route-rows.ts'
import { ownValue } from '../../base/own-value.ts'

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

/** What the account was refused, newest first. */
export async function refusalPage(
  ports: CabinetPorts,
  { call, accountId }: Visit,
  range: ListRange,
): Promise<RefusalPage> {
  const filter = { ...readRefusalFilter(call.query), accountId }
  return listBody(await ports.store.refusals.list(range, filter), refusalView)
}

const PAGE_ROWS = 500
const ROWS_MAX = 1_000_000
/** Columns as in the table; the first is the time. */
const COLUMNS: readonly string[] = viewFields('log')
  .filter(({ csv }) => csv)
  .map(({ name }) => name)
  .toSorted((one, other) => Number(other === 'at') - Number(one === 'at'))

/** The filtered log as CSV (RFC 4180). */
export async function logCsv(ports: CabinetPorts, { call, accountId }: Visit): Promise<typeof HIJACKED> {
  const filter = logFilter(call.query, accountId)
  const name = `tollgate-log-${isoDay(ports.clock.now())}.csv`
  const format = choiceParameter(call.query, 'format', FileFormat) ?? 'csv'
  return sendCsv(call, name, linesOf(ports.store.log, filter, format))
}

/** Reads each page only after the client has taken the one before. */
async function* linesOf(
  log: CabinetPorts['store']['log'],
  filter: AccountLogFilter,
  format: CsvFormat,
): AsyncGenerator<string, void> {
  let page = await log.page({ ...filter, beforeSeq: null, limit: PAGE_ROWS })
  let head = BYTE_ORDER_MARK + csvLine(COLUMNS, format)
  for (let rows = page.data.length; ; rows += page.data.length) {
    yield head + page.data.map((row) => csvLine(valuesOf(row), format)).join('')
    head = ''
    if (page.nextSeq === null || rows >= ROWS_MAX) return
    page = await log.page({ ...filter, beforeSeq: page.nextSeq, limit: PAGE_ROWS })
  }
}

function valuesOf(row: GenerationRow): readonly CsvValue[] {
  const shown: Readonly<Record<string, CsvValue>> = logRow(row)
  return COLUMNS.map((name) => ownValue(shown, name) ?? null)
}
