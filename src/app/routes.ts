import type { Principal } from '../access/principal.ts'
import { adminRoutes } from '../api/admin/index.ts'
import { createCabinet } from '../api/cabinet/index.ts'
import { accountRoutes } from '../api/public/account.ts'
import { ConsoleSite } from '../api/public/console.ts'
import { countTokensRoutes } from '../api/public/count-tokens.ts'
import { generationRoutes } from '../api/public/generation.ts'
import { managedKeyRoutes } from '../api/public/keys.ts'
import { healthRoutes } from '../api/public/metrics.ts'
import { modelRoutes } from '../api/public/models.ts'
import { startPageRoutes } from '../api/public/start-page.ts'
import type { ModelType, Provider } from '../catalog/catalog.ts'
import type { ProviderTrial } from '../catalog/offered-models.ts'
import type { Route } from '../http/edge.ts'
import { freedMoney } from '../ledger/free-hour.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { MailedLinks } from '../notices/letters.ts'
import { paidKinds } from '../pay/operations/index.ts'
import { speechFormats } from '../pay/operations/speech.ts'
import { paidRoutes, playgroundRoutes } from '../pay/paid/paid-routes.ts'
import { KNOWN_ADAPTERS } from '../protocols/index.ts'
import { parametersOf } from '../protocols/ports/adapter.ts'
import { tokenTrial } from '../protocols/upstream/models.ts'
import type { UserRecord } from '../store/people/user-store.ts'
import { REQUEST_TYPE_TABLE } from '../tables/model-types.ts'
import type { Config } from './config.ts'
import type { Services } from './services.ts'
import { otherNodes, streamAccessRoutes } from './stream-access.ts'

/** An operator waits for the result. */
const TRIAL_MS = 20_000
const NO_LIST: ProviderTrial = { outcome: 'no_list', status: null, said: null, models: [] }

export interface ConsoleOptions {
  readonly config: Config
  readonly version: string
  /** The directory of the built console; without one, `/` is a plain page. */
  readonly consoleDir?: string
  /** Whether it is still being built beside this start. */
  readonly consoleBuilding?: () => boolean
}

export interface Console extends Pick<ConsoleSite, 'unmatched'> {
  readonly routes: readonly Route<Principal>[]
  stop(): Promise<void>
}

/** The parts for people: the cabinet, the operator's API, and the page that a set-up link opens. */
export function createConsole(
  services: Services,
  { config, version, consoleDir, consoleBuilding }: ConsoleOptions,
  notice: (message: string) => void,
): Console {
  const { core, access, sessions, links, clock, ids, ledger, adapters, nodes } = services
  const { health, rooms } = services.pay
  const { letters, channelTypes } = services.notices
  const { publicUrl, adminTotpRequired, allowPrivateUpstreams, oidc, yookassa } = config
  const { store, catalog, keyWrap: cipher } = core
  const signupDefault: 'open' | 'closed' = store.kind === 'embedded' ? 'open' : 'closed'
  const parts = {
    access,
    publicUrl,
    signupDefault,
    sessions,
    clock,
    ids,
    health,
    periods: () => ledger.periods(clock.now()),
    letters,
    mailedLinks: config.mail === null || publicUrl === null ? null : new MailedLinks(letters, publicUrl),
    newPasswordToken: (user: UserRecord) => links.newPassword(user, false),
    channelTypes,
    freed: (accountId: string, amountMicro: bigint) =>
      freedMoney(
        { clock, look: (id) => store.accounts.freeMoney(id), giveBack: (id) => ledger.giveBack(id) },
        accountId,
        amountMicro,
      ),
    tryProvider: (provider: Provider) => tryProvider(services, provider),
    parametersOf: (name: string, type: ModelType) => parametersOf(adapters, name, type),
  }
  const cabinet = createCabinet({
    ...parts,
    store,
    catalog,
    cipher,
    version,
    adminTotpRequired,
    oidc,
    yookassa,
    notice,
    leads: () => nodes.leads,
  })
  const site = consoleDir === undefined ? null : new ConsoleSite(consoleDir, consoleBuilding)
  const routes = [
    ...cabinet.routes,
    ...startPageRoutes({
      setUp: (request, call) => cabinet.setUp(request, call),
      publicUrl,
      accent: () => core.catalog.current().settings.brand.accent,
      consolePage: (request) => site?.page(request) ?? null,
    }),
    ...adminRoutes(
      {
        ...core,
        ...parts,
        links,
        prices: services.feeds.prices,
        rooms,
        allowPrivateUpstreams,
        prove: (call, proof) => cabinet.prove(call, proof),
      },
      KNOWN_ADAPTERS,
    ),
  ]
  return { routes, stop: () => cabinet.stop(), unmatched: (request, path) => site?.unmatched(request, path) ?? null }
}

/** Gets a token first if the provider's row says how, and then the list of its models. */
async function tryProvider(
  { adapters, providerTokens }: Pick<Services, 'adapters' | 'providerTokens'>,
  provider: Provider,
): Promise<ProviderTrial> {
  const models = adapters.get(provider.adapter)?.models
  return (
    (await tokenTrial(providerTokens, provider)) ?? (await models?.(provider, AbortSignal.timeout(TRIAL_MS))) ?? NO_LIST
  )
}

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
