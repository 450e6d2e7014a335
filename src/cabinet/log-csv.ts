import { once } from 'node:events'
import { HIJACKED } from '../http/edge.ts'
import { CSV_TYPE, csvLine } from '../lib/csv.ts'
import type { LogRow } from './contract.ts'
import { logFilter, logRow } from './log.ts'
import type { CabinetPorts, Visit } from './ports.ts'

const PAGE_ROWS = 500
const ROWS_MAX = 1_000_000
const COLUMNS: readonly (keyof LogRow)[] = [
  'at',
  'generation_id',
  'request_id',
  'type',
  'model',
  'provider',
  'status',
  'error_type',
  'finish_reason',
  'key_name',
  'app_title',
  'app_url',
  'input_tokens',
  'output_tokens',
  'cached_tokens',
  'reasoning_tokens',
  'cost',
  'streamed',
  'latency_ms',
  'duration_ms',
]

/** The filtered log as CSV (RFC 4180), a page at a time as the client takes it. */
export async function logCsv(ports: CabinetPorts, { call, accountId }: Visit): Promise<typeof HIJACKED> {
  const { response } = call
  const filter = logFilter(call.query, accountId)
  const first = await ports.store.log.page({ ...filter, beforeSeq: null, limit: PAGE_ROWS })
  const name = `tollgate-log-${new Date(ports.clock.now()).toISOString().slice(0, 10)}.csv`
  response.writeHead(200, {
    ...call.baseHeaders,
    'content-type': CSV_TYPE,
    'content-disposition': `attachment; filename="${name}"`,
  })
  response.write(csvLine(COLUMNS))
  let page = first
  for (let rows = page.data.length; !response.destroyed; rows += page.data.length) {
    const more = response.write(page.data.map((row) => lineOf(logRow(row))).join(''))
    if (page.nextSeq === null || rows >= ROWS_MAX) break
    if (!more) await Promise.race([once(response, 'drain'), once(response, 'close')])
    page = await ports.store.log.page({ ...filter, beforeSeq: page.nextSeq, limit: PAGE_ROWS })
  }
  response.end()
  call.log.finish(200)
  return HIJACKED
}

function lineOf(row: LogRow): string {
  return csvLine(COLUMNS.map((name) => row[name]))
}
