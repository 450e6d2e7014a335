import type { Principal } from '../access/principal.ts'
import { adminRoutes } from '../api/admin/index.ts'
import { createCabinet } from '../api/cabinet/index.ts'
import type { ModelType, Provider } from '../catalog/catalog.ts'
import type { ProviderTrial } from '../catalog/listed-model.ts'
import type { Config } from './config.ts'
import { readConsoleFiles } from '../api/public/console-files.ts'
import { ConsoleSite } from '../api/public/console.ts'
import { startPageRoutes } from '../endpoints/start-page.ts'
import type { Route } from '../http/edge.ts'
import { freedMoney } from '../ledger/freed-money.ts'
import { parametersOf } from '../protocols/ports/adapter.ts'
import { MailedLinks } from '../notices/mailed-links.ts'
import type { UserRecord } from '../store/people/user-store.ts'
import type { ChannelType } from '../store/notices/notice-rows.ts'
import type { Services } from './services.ts'
import { KNOWN_ADAPTERS } from '../protocols/index.ts'

/** An operator waits for it. */
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

/** The parts for people: the cabinet, the operator's API and the page behind the set-up link. */
export function createConsole(
  services: Services,
  { config, version, consoleDir }: ConsoleOptions,
  notice: (message: string) => void,
): Console {
  const { core, access, sessions, links, clock, ids, ledger, health, videos, adapters, nodes, prices, letters } =
    services
  const { publicUrl, adminTotpRequired, allowPrivateUpstreams, oidc, yookassa } = config
  const { store, catalog, keyWrap: cipher } = core
  const signupDefault = store.kind === 'embedded' ? 'open' : 'closed'
  const parts = {
    access,
    sessions,
    clock,
    ids,
    health,
    periods: () => ledger.periods(clock.now()),
    letters,
    mailedLinks: config.mail === null || publicUrl === null ? null : new MailedLinks(letters, publicUrl),
    newPasswordToken: (user: UserRecord) => links.newPassword(user, false),
    channelTypes: channelTypesOf(config),
    freed: (accountId: string, amountMicro: bigint) =>
      freedMoney(
        { clock, look: (id) => store.accounts.freeMoney(id), giveBack: (id) => ledger.giveBack(id) },
        accountId,
        amountMicro,
      ),
    tryProvider: (provider: Provider) =>
      adapters.get(provider.adapter)?.models?.(provider, AbortSignal.timeout(TRIAL_MS)) ?? Promise.resolve(NO_LIST),
    parametersOf: (name: string, type: ModelType) => parametersOf(adapters, name, type),
  }
  const cabinet = createCabinet({
    ...parts,
    store,
    catalog,
    cipher,
    version,
    publicUrl,
    adminTotpRequired,
    signupDefault,
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
      { ...core, ...parts, links, prices, videos: videos.ofAccounts, signupDefault, allowPrivateUpstreams, publicUrl },
      KNOWN_ADAPTERS,
    ),
  ]
  return { routes, stop: () => cabinet.stop(), unmatched: (request, path) => site?.unmatched(request, path) ?? null }
}

/** The ways to tell people that are set up. */
function channelTypesOf({ mail, telegram }: Config): ReadonlySet<ChannelType> {
  return new Set<ChannelType>([
    'webhook',
    ...(mail === null ? [] : (['email'] as const)),
    ...(telegram === null ? [] : (['telegram'] as const)),
  ])
}
