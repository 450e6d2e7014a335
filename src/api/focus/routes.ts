import type { Principal } from '../../access/principal.ts'
import { dayRange } from '../../base/query-parameters.ts'
import type { Call, HIJACKED, Route } from '../../http/edge.ts'
import { sendCsv } from '../../http/sent-bytes.ts'
import { adminReply, notFound, type AdminPorts } from '../admin/ports.ts'
import type { CabinetFile } from '../cabinet/ports.ts'
import { FOCUS_ROUTE } from './contract.ts'
import { focusCsv } from './export.ts'

/** Usage and cost by FOCUS, of one account or all. */
export function focusAdminRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return [
    adminReply('GET /admin/v1/focus.csv', async (call) => {
      const id = call.query.get('account')
      if (id !== null && (await ports.store.accounts.get(id)) === null) throw notFound('Account', id)
      return focusExport(ports, call, id)
    }),
  ]
}

/** The account's own. */
export const FOCUS_FILE: CabinetFile = {
  scope: 'money:read',
  route: FOCUS_ROUTE,
  send: (ports, { call, accountId }) => focusExport(ports, call, accountId),
}

function focusExport(
  { store, catalog, periods }: Pick<AdminPorts, 'store' | 'catalog' | 'periods'>,
  call: Call<Principal>,
  accountId: string | null,
): Promise<typeof HIJACKED> {
  const { timezone } = catalog.current().settings
  const { from, to } = dayRange(call.query, periods().day)
  return sendCsv(call, `tollgate-focus-${from}-${to}.csv`, focusCsv(store.charges, { accountId, from, to, timezone }))
}
