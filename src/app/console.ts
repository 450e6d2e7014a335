import type { Principal } from '../access/principal.ts'
import { adminRoutes } from '../api/admin/index.ts'
import { createCabinet } from '../api/cabinet/index.ts'
import type { ModelType, Provider } from '../catalog/catalog.ts'
import type { ProviderTrial } from '../catalog/offered-models.ts'
import type { Config } from './config.ts'
import { readConsoleFiles, ConsoleSite } from '../api/public/console.ts'
import { startPageRoutes } from '../api/public/start-page.ts'
import type { Route } from '../http/edge.ts'
import { freedMoney } from '../ledger/free-hour.ts'
import { parametersOf } from '../protocols/ports/adapter.ts'
import { tokenTrial } from '../protocols/upstream/models.ts'
import { MailedLinks } from '../notices/letters.ts'
import type { UserRecord } from '../store/people/user-store.ts'
import type { Services } from './services.ts'
import { KNOWN_ADAPTERS } from '../protocols/index.ts'

/** An operator waits for the result. */
const TRIAL_MS = 20_000
const NO_LIST: ProviderTrial = { outcome: 'no_list', status: null, said: null, models: [] }

export interface ConsoleOptions {
  readonly config: Config
  readonly version: string
  /** The directory of the built console; without one, `/` is a plain page. */
  readonly consoleDir?: string
}

export interface Console extends Pick<ConsoleSite, 'unmatched'> {
  readonly routes: readonly Route<Principal>[]
  stop(): Promise<void>
}

/** The parts for people: the cabinet, the operator's API, and the page that a set-up link opens. */
export function createConsole(
  services: Services,
  { config, version, consoleDir }: ConsoleOptions,
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
  const files = consoleDir === undefined ? null : readConsoleFiles(consoleDir)
  const site = files === null ? null : new ConsoleSite(files)
  const routes = [
    ...cabinet.routes,
    ...startPageRoutes({
      setUp: (request, call) => cabinet.setUp(request, call),
      publicUrl,
      hasConsole: site !== null,
    }),
    ...(site?.routes() ?? []),
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
