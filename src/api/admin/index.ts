import type { KnownAdapters } from '../../catalog/catalog.ts'
import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../http/edge.ts'
import type { AdminWireRoute } from './admin-route.ts'
import { accountNoticeRoutes, noticeAdminRoutes } from './notices.ts'
import { accountAdminRoutes, keyAdminRoutes } from './accounts.ts'
import { groupAdminRoutes } from './account-groups.ts'
import { catalogAdminRoutes, priceAdminRoutes } from './catalog.ts'
import { ADMIN_ROUTES, type AdminApi } from './contract.ts'
import { comingAdminRoutes } from './coming-prices.ts'
import { codeAdminRoutes } from './codes.ts'
import { marginAdminRoutes, reportAdminRoutes } from './reports.ts'
import { logAdminRoutes } from './operator-log.ts'
import { adminRoute, recordChange, type AdminAnswer, type AdminPorts } from './ports.ts'
import { proofAdminRoutes } from './proof.ts'
import { reconciliationAdminRoutes } from './reconciliation/routes.ts'
import { focusAdminRoutes } from '../focus/routes.ts'
import { tokenAdminRoutes } from './tokens.ts'
import { peopleAdminRoutes, userAdminRoutes } from './users.ts'

/** Every route of `/admin/v1` (operator.md 4). */
export function adminRoutes(ports: AdminPorts, adapters: KnownAdapters): readonly Route<Principal>[] {
  const routes = [
    ...accountAdminRoutes(ports),
    ...peopleAdminRoutes(ports),
    ...groupAdminRoutes(ports),
    ...keyAdminRoutes(ports),
    ...catalogAdminRoutes(ports, adapters),
    ...priceAdminRoutes(ports),
    ...comingAdminRoutes(ports),
    ...reportAdminRoutes(ports),
    ...logAdminRoutes(ports),
    ...proofAdminRoutes(ports),
    ...reconciliationAdminRoutes(ports),
    ...focusAdminRoutes(ports),
    ...noticeAdminRoutes(ports),
    ...accountNoticeRoutes(ports),
    ...roomRoutes(ports),
    ...userAdminRoutes(ports),
    ...tokenAdminRoutes(ports),
    ...codeAdminRoutes(ports),
    ...marginAdminRoutes(ports),
  ]
  return routes.map((route) => proven(ports, route))
}

function roomRoutes(ports: AdminPorts): readonly Route<Principal>[] {
  return ports.rooms.flatMap(({ operator = {} }) =>
    Object.entries(operator).map(([key, handle]) =>
      // Its key and its answer are those of a row of the contract.
      adminRoute(
        key as keyof AdminApi,
        (call) =>
          handle(call, (...change) => recordChange(ports, call, ...change)) as Promise<AdminAnswer<keyof AdminApi>>,
      ),
    ),
  )
}

/**
 * A person who finds a session open must not make anything with it that lasts longer. The route's row says which
 * requests need a proof.
 */
function proven({ access, prove }: AdminPorts, route: Route<Principal>): Route<Principal> {
  const { proof }: Pick<AdminWireRoute, 'proof'> =
    new Map<string, AdminWireRoute>(Object.entries(ADMIN_ROUTES)).get(`${route.method} ${route.path}`) ?? {}
  if (proof === undefined) return route
  return {
    ...route,
    handle: async (call) => {
      const given = new Map<string, unknown>(Object.entries(call.json ?? {}))
      const text = (name: string): string | null => {
        const value = given.get(name)
        return typeof value === 'string' ? value : null
      }
      if (access.hasSession(call.request) && (proof === true || proof.some((part) => given.has(part))))
        await prove(call, { password: text('password'), code: text('code') })
      return route.handle(call)
    },
  }
}
