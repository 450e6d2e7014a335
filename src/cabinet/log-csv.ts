import type { HIJACKED } from '../http/edge.ts'
import { sendCsv } from '../http/sent-csv.ts'
import type { AccountLogFilter } from '../store/log/log-store.ts'
import { csvLine, type CsvValue } from '../base/csv.ts'
import { viewFields, type GenerationRow } from '../ledger/generation-record.ts'
import { logFilter, logRow } from './log.ts'
import type { CabinetPorts, Visit } from './ports.ts'
import { ownValue } from '../base/own-value.ts'
import { isoDay } from '../base/time.ts'

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
  return sendCsv(call, name, linesOf(ports.store.log, filter))
}

/** Reads a page when the client has taken the one before. */
async function* linesOf(log: CabinetPorts['store']['log'], filter: AccountLogFilter): AsyncGenerator<string, void> {
  let page = await log.page({ ...filter, beforeSeq: null, limit: PAGE_ROWS })
  let head = csvLine(COLUMNS)
  for (let rows = page.data.length; ; rows += page.data.length) {
    yield head + page.data.map((row) => csvLine(valuesOf(row))).join('')
    head = ''
    if (page.nextSeq === null || rows >= ROWS_MAX) return
    page = await log.page({ ...filter, beforeSeq: page.nextSeq, limit: PAGE_ROWS })
  }
}

function valuesOf(row: GenerationRow): readonly CsvValue[] {
  const shown: Readonly<Record<string, CsvValue>> = logRow(row)
  return COLUMNS.map((name) => ownValue(shown, name) ?? null)
}
