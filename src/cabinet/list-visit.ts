import type { Principal } from '../access/principal.ts'
import type { Route } from '../http/edge.ts'
import { sendCsv } from '../http/sent-csv.ts'
import { FILE_READ_ROWS, listLines } from '../ledger/list-file.ts'
import { isoDay } from '../base/time.ts'
import { choiceParameter, wholeParameter } from '../base/query-parameters.ts'
import type { PageRange } from '../store/page.ts'
import { CABINET_ROUTES, type CabinetApi } from '../api/cabinet/contract.ts'
import { FileFormat } from '../api/cabinet/money-contract.ts'
import { visitOf, type CabinetPorts, type Visit } from './ports.ts'
import { ROUTE_SCOPES } from '../api/cabinet/route-scopes.ts'

const PAGE_ROWS = 50
const PAGE_ROWS_MAX = 300

/** Lists of an account that grow for ever. */
type ListKey = `GET /cabinet/v1/${'ledger' | 'payments' | 'notices/deliveries'}`

/** Only lists that take an offset have one. */
export interface ListRange extends PageRange {
  readonly cursor: string | null
}

/** A list: one page, or with `format=csv` a file of all that is filtered. */
export function listVisit<K extends ListKey>(
  ports: CabinetPorts,
  key: K,
  read: (visit: Visit, range: ListRange) => Promise<CabinetApi[K]['answer']>,
  [usual, most]: readonly [number, number] = [PAGE_ROWS, PAGE_ROWS_MAX],
): Route<Principal> {
  const path = key.slice('GET '.length)
  return {
    method: 'GET',
    path,
    plane: 'session',
    body: 'none',
    handle: async (call) => {
      const visit = visitOf(ports, call, ROUTE_SCOPES[key])
      if (choiceParameter(call.query, 'format', FileFormat) !== null) {
        const name = `tollgate-${path.split('/').at(-1)}-${isoDay(ports.clock.now())}.csv`
        const lines = listLines(CABINET_ROUTES[key].answer, (cursor) =>
          read(visit, { limit: FILE_READ_ROWS, offset: 0, cursor, uncounted: true }),
        )
        return sendCsv(call, name, lines)
      }
      const limit = wholeParameter(call.query, 'limit', 1, most) ?? usual
      const offset = wholeParameter(call.query, 'offset', 0, Number.MAX_SAFE_INTEGER) ?? 0
      return { status: 200, body: await read(visit, { limit, offset, cursor: call.query.get('cursor') }) }
    },
  }
}
