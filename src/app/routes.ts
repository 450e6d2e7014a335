import type { Principal } from '../access/principal.ts'
import { adminRoutes } from '../admin/index.ts'
import type { Config } from '../config.ts'
import { accountRoutes } from '../endpoints/account.ts'
import { generationRoutes } from '../endpoints/generation.ts'
import { healthRoutes } from '../endpoints/health.ts'
import { modelRoutes } from '../endpoints/models.ts'
import { startPageRoutes } from '../endpoints/start-page.ts'
import { videoRoutes } from '../endpoints/videos.ts'
import type { Route } from '../http/edge.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { paidKinds } from '../orders/index.ts'
import { speechFormats } from '../orders/speech-order.ts'
import { paidRoutes } from '../paid-routes.ts'
import { parametersOf } from '../providers/adapter.ts'
import type { Services } from './services.ts'
import { streamAccessRoutes } from './stream-access.ts'

/** Every route there is. `ready` is false while the process drains. */
export function allRoutes(services: Services, config: Config, version: string, ready: () => boolean): readonly Route<Principal>[] {
  const { core, clock, ids, adapters, nodes, ledger, health, relay, videos, pictures, sessions, access, sse } = services
  const { store, catalog, keyWrap, audit } = core
  const { publicUrl, allowPrivateUpstreams } = config
  const periods = (): ReturnType<Ledger['periods']> => ledger.periods(clock.now())
  const kinds = paidKinds(adapters, { pictures })
  const paid = { relay, sse, publicUrl }
  const routes: Route<Principal>[] = [
    ...paidRoutes(paid, kinds),
    ...pictures.routes(),
    ...videoRoutes({ videos: videos.desk, clock, publicUrl }),
    ...modelRoutes({
      catalog,
      health,
      supportedEndpoints: [...kinds, { endpointName: 'videos', modelType: 'video' }],
      parametersOf: (name, type) => parametersOf(adapters, name, type),
      speechFormatsOf: (model) => speechFormats(model, adapters),
    }),
    ...accountRoutes({ store, catalog, clock, periods }),
    ...generationRoutes({ store }),
    ...streamAccessRoutes(paid, nodes, config.valkeyUrl !== null),
    ...startPageRoutes({ sessions, publicUrl }),
    ...adminRoutes({ store, catalog, access, sessions, health, videos: videos.desk, ids, clock, periods, keyWrap, allowPrivateUpstreams, publicUrl, audit }, new Set(adapters.keys())),
  ]
  return [...routes, ...healthRoutes({ version, routes, catalog, ready })]
}
