import type { Principal } from '../access/principal.ts'
import type { Config } from './config.ts'
import { accountRoutes } from '../api/public/account.ts'
import { countTokensRoutes } from '../api/public/count-tokens.ts'
import { generationRoutes } from '../api/public/generation.ts'
import { managedKeyRoutes } from '../api/public/keys.ts'
import { healthRoutes } from '../api/public/health.ts'
import { modelRoutes } from '../api/public/models.ts'
import type { Route } from '../http/edge.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { REQUEST_TYPE_TABLE } from '../tables/model-types.ts'
import { paidKinds } from '../pay/operations/index.ts'
import { speechFormats } from '../pay/operations/speech.ts'
import { paidRoutes, playgroundRoutes } from '../pay/paid/paid-routes.ts'
import { parametersOf } from '../protocols/ports/adapter.ts'
import type { Services } from './services.ts'
import { otherNodes, streamAccessRoutes } from './stream-access.ts'

/** Every route; `web` = those for people. `unready` says why requests should go to other nodes. */
export function allRoutes(
  services: Services,
  web: readonly Route<Principal>[],
  config: Config,
  version: string,
  unready: () => string | null,
): readonly Route<Principal>[] {
  const { core, access, clock, ids, adapters, upstream, nodes, ledger, pictures } = services
  const { health, relay, rooms, sse, idempotency, tokens } = services.pay
  const { store, catalog } = core
  const { publicUrl } = config
  const periods = (): ReturnType<Ledger['periods']> => ledger.periods(clock.now())
  const kinds = paidKinds(adapters, { pictures, upstream, rooms })
  const outwardName = (accountId: string, name: string): string => store.books.seal.outwardName(accountId, name)
  const paid = { relay, sse, idempotency, publicUrl, outwardName }
  const elsewhere = nodes.shared === null ? null : otherNodes(nodes.shared, sse)
  const calls = [
    ...paidRoutes(paid, kinds),
    ...rooms.flatMap(({ routes: own }) => own?.({ publicUrl, outwardName, elsewhere }) ?? []),
    ...streamAccessRoutes(paid, elsewhere),
  ]
  const routes: Route<Principal>[] = [
    ...calls,
    ...playgroundRoutes(calls),
    ...pictures.routes(),
    ...modelRoutes({
      catalog,
      health,
      supportedEndpoints: Object.values(REQUEST_TYPE_TABLE),
      parametersOf: (name, type) => parametersOf(adapters, name, type),
      speechFormatsOf: (model) => speechFormats(model, adapters),
    }),
    ...countTokensRoutes({ catalog, tokens }),
    ...accountRoutes({ store, catalog, clock, periods }),
    ...managedKeyRoutes({ store, access, clock, ids, periods }),
    ...generationRoutes({ store, catalog }),
    ...web,
  ]
  return [...routes, ...healthRoutes({ version, routes, catalog, unready })]
}
