import type { KnownAdapters } from '../../catalog/adapters.ts'
import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../http/edge.ts'
import { accountNoticeRoutes } from './account-notices.ts'
import { accountAdminRoutes } from './accounts.ts'
import { groupAdminRoutes } from '../../admin/account-groups.ts'
import { catalogAdminRoutes } from './catalog.ts'
import { codeAdminRoutes } from '../../admin/codes.ts'
import { keyAdminRoutes } from '../../admin/keys.ts'
import { marginAdminRoutes } from './margin.ts'
import { logAdminRoutes } from './operator-log.ts'
import { overviewAdminRoutes } from './overview.ts'
import type { AdminPorts } from '../../admin/ports.ts'
import { noticeAdminRoutes } from '../../admin/notices.ts'
import { priceAdminRoutes } from '../../admin/prices.ts'
import { proofAdminRoutes } from './proof.ts'
import { reportAdminRoutes } from './reports.ts'
import { tokenAdminRoutes } from '../../admin/tokens.ts'
import { userAdminRoutes } from './users.ts'
import { videoAdminRoutes } from './video-jobs.ts'

/** Every route of `/admin/v1` (operator.md 4). */
export function adminRoutes(ports: AdminPorts, adapters: KnownAdapters): readonly Route<Principal>[] {
  return [
    ...accountAdminRoutes(ports),
    ...groupAdminRoutes(ports),
    ...keyAdminRoutes(ports),
    ...catalogAdminRoutes(ports, adapters),
    ...priceAdminRoutes(ports),
    ...reportAdminRoutes(ports),
    ...logAdminRoutes(ports),
    ...proofAdminRoutes(ports),
    ...noticeAdminRoutes(ports),
    ...accountNoticeRoutes(ports),
    ...videoAdminRoutes(ports),
    ...userAdminRoutes(ports),
    ...tokenAdminRoutes(ports),
    ...codeAdminRoutes(ports),
    ...marginAdminRoutes(ports),
    ...overviewAdminRoutes(ports),
  ]
}
