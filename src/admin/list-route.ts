import type { Principal } from '../access/principal.ts'
import type { HIJACKED, Route } from '../http/edge.ts'
import { sendCsv } from '../http/sent-csv.ts'
import { FILE_READ_ROWS, listLines, type ListedRows } from '../ledger/list-file.ts'
import { assert } from '../base/assert.ts'
import { isoDay } from '../base/time.ts'
import { choiceParameter } from '../base/query-parameters.ts'
import type { Page, PageRange } from '../store/page.ts'
import type { AdminWireRoute } from '../http/wire-route.ts'
import { FileFormat } from '../api/admin/account-contract.ts'
import { ADMIN_ROUTES, type AdminApi } from '../api/admin/contract.ts'
import { adminRoute, page, type AdminCall, type AdminPorts } from './ports.ts'

/** The routes that answer a list page by page. */
export type ListRoute = {
  [K in keyof AdminApi]: AdminApi[K]['answer'] extends ListedRows & { readonly total: number } ? K : never
}[keyof AdminApi]

/** A page of the store as the body of an answer. */
export function listBody<T, W>(
  { data, total, next }: Page<T>,
  wire: (row: T) => W,
): { readonly data: readonly W[]; readonly total: number; readonly next_cursor?: string } {
  return { data: data.map(wire), total, ...(next === undefined ? {} : { next_cursor: next }) }
}

/**
 * A list: one page, or with `format=csv` a file of all that is filtered, whatever its length: a read of the next rows
 * begins when the client has taken those before it, and none does once the client has left.
 */
export function listRoute<K extends ListRoute>(
  { clock }: Pick<AdminPorts, 'clock'>,
  key: K,
  read: (call: AdminCall, range: PageRange) => Promise<AdminApi[K]['answer'] & ListedRows>,
): Route<Principal> {
  const { answer }: AdminWireRoute = ADMIN_ROUTES[key]
  assert(!('media' in answer), 'A list is JSON.')
  const name = key.split('/').at(-1) ?? ''
  return adminRoute(key, async (call): Promise<{ status: number; body: AdminApi[K]['answer'] } | typeof HIJACKED> => {
    if (choiceParameter(call.query, 'format', FileFormat) === null)
      return { status: 200, body: await read(call, page(call)) }
    const file = `tollgate-${name}-${isoDay(clock.now())}.csv`
    const range = { limit: FILE_READ_ROWS, offset: 0, uncounted: true }
    return sendCsv(
      call,
      file,
      listLines(answer, (cursor) => read(call, cursor === null ? range : { ...range, cursor })),
    )
  })
}
