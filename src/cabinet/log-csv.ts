import { once } from 'node:events'
import { HIJACKED } from '../http/edge.ts'
import type { LogRow } from './contract.ts'
import { logFilter, logRow } from './log.ts'
import type { CabinetPorts, Visit } from './ports.ts'

const PAGE_ROWS = 500
const ROWS_MAX = 1_000_000
const COLUMNS: readonly (keyof LogRow)[] = [
  'at', 'generation_id', 'request_id', 'type', 'model', 'provider', 'status', 'error_type', 'finish_reason', 'key_name', 'app_title', 'app_url', 'input_tokens', 'output_tokens', 'cached_tokens',
  'reasoning_tokens', 'cost', 'streamed', 'latency_ms', 'duration_ms',
]

/** The filtered log as CSV (RFC 4180), a page at a time as the client takes it. */
export async function logCsv(ports: CabinetPorts, { call, accountId }: Visit): Promise<typeof HIJACKED> {
  const { response } = call
  const filter = logFilter(call.query, accountId)
  const first = await ports.store.log.page({ ...filter, beforeSeq: null, limit: PAGE_ROWS })
  const name = `tollgate-log-${new Date(ports.clock.now()).toISOString().slice(0, 10)}.csv`
  response.writeHead(200, { ...call.baseHeaders, 'content-type': 'text/csv; charset=utf-8', 'content-disposition': `attachment; filename="${name}"` })
  response.write(`${COLUMNS.join(',')}\r\n`)
  let page = first
  for (let rows = page.data.length; !response.destroyed; rows += page.data.length) {
    const more = response.write(page.data.map((row) => `${line(logRow(row))}\r\n`).join(''))
    if (page.nextSeq === null || rows >= ROWS_MAX) break
    if (!more) await Promise.race([once(response, 'drain'), once(response, 'close')])
    page = await ports.store.log.page({ ...filter, beforeSeq: page.nextSeq, limit: PAGE_ROWS })
  }
  response.end()
  call.log.finish(200)
  return HIJACKED
}

function line(row: LogRow): string {
  return COLUMNS.map((name) => cell(row[name])).join(',')
}

/** A text that a spreadsheet would take for a formula gets an apostrophe before it (OWASP, CSV injection): titles and referers are the clients'. */
function cell(value: string | number | boolean | null): string {
  if (value === null) return ''
  if (typeof value !== 'string') return String(value)
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
