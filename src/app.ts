import { randomInt } from 'node:crypto'
import { createAccess, type Access } from './access/access.ts'
import { ConsoleSessions } from './access/console-sessions.ts'
import type { Principal } from './access/principal.ts'
import { rewrapSeeds } from './access/totp-seeds.ts'
import { adminRoutes } from './admin/index.ts'
import { SetupLinks } from './admin/setup-links.ts'
import { createCabinet, type Cabinet, type CabinetOptions } from './cabinet/index.ts'
import { providerKeys } from './catalog/bundled-base.ts'
import { readBundledRelease, type BundledRelease } from './catalog/bundled-release.ts'
import { CatalogService } from './catalog/catalog-service.ts'
import { RateFeed } from './catalog/rate-feed.ts'
import type { Config } from './config.ts'
import { accountRoutes } from './endpoints/account.ts'
import { ConsoleSite } from './endpoints/console.ts'
import { readConsoleFiles } from './endpoints/console-files.ts'
import { generationRoutes } from './endpoints/generation.ts'
import { healthRoutes } from './endpoints/health.ts'
import { modelRoutes } from './endpoints/models.ts'
import { responseRoutes } from './endpoints/responses.ts'
import { startPageRoutes } from './endpoints/start-page.ts'
import { streamRoutes } from './endpoints/streams.ts'
import type { Route } from './http/edge.ts'
import type { LogFields } from './http/request-log.ts'
import { createEdge, type Edge } from './http/server.ts'
import { SseStreams } from './http/sse.ts'
import { Ledger } from './ledger/ledger.ts'
import { periodEndMs } from './ledger/period.ts'
import { KeyWrap } from './ledger/seal.ts'
import { systemClock, type Clock } from './lib/clock.ts'
import { randomIds } from './lib/ids.ts'
import { chargeMicro } from './meters.ts'
import { paidKinds } from './orders/index.ts'
import { attachStream, findResponse, paidRoutes, playgroundRoutes } from './paid-routes.ts'
import { createTokenCounter } from './plan/token-count.ts'
import { createAdapters } from './providers/index.ts'
import { DrainSlots } from './relay/drain-slots.ts'
import { EndpointHealthBook } from './relay/endpoint-health.ts'
import { RetryBudget } from './relay/retry-budget.ts'
import { KeyPools } from './relay/key-pools.ts'
import { Relay } from './relay/relay.ts'
import { openStore } from './store/open.ts'
import type { Store } from './store/store.ts'

/** Where the application's words go; main gives pino. */
export interface AppLog {
  line(fields: LogFields, failed: boolean): void
  bug(thrown: unknown, requestId: string): void
  /** One sentence for the operator. */
  notice(message: string): void
}

export interface CoreOptions {
  readonly config: Config
  readonly wrappingKeys: readonly Buffer[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** A server decides by the keys in its environment which bundled providers are on; a command leaves them as they are. */
  readonly server?: boolean
  /** What is bundled, where it is not what stands beside the code. */
  readonly release?: BundledRelease
}

export interface AppOptions {
  readonly config: Config
  readonly version: string
  readonly wrappingKeys: readonly Buffer[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly log: AppLog
  /** Where the built console is; where there is none, a plain page stands at `/`. */
  readonly consoleDir?: string
  /** Time, where a test moves it. */
  readonly clock?: Clock
}

/** What every command needs of the store: the catalogue over it. */
export interface Core {
  readonly store: Store
  readonly catalog: CatalogService
  readonly keyWrap: KeyWrap
  audit(sinceMs: number): ReturnType<Store['audit']['run']>
  /** Seals credentials and seeds of two-step sign-in with the first wrapping key; answers how many. */
  rewrap(): Promise<number>
  close(): Promise<void>
}

/** The running service. */
export interface App extends Core {
  readonly edge: Edge
  readonly access: Access
  readonly links: SetupLinks
  readonly rateFeed: RateFeed
  /** Holds of a dead process that were given back at the start. */
  readonly recovered: number
  /** Lets running answers end, then stops everything. */
  stop(): Promise<void>
}

const DRAIN_MS = 120_000
/** Adds at most this to the end of an answer, and only where another ended just before; a tenth of the commits under load. */
const COMMIT_SPACING_MS = 5
const RANDOM_STEPS = 2 ** 47

/** Opens the store and the catalogue alone, for commands that need no server. */
export async function openCore(options: CoreOptions, clock: Clock = systemClock): Promise<Core> {
  const { config, env } = options
  const store = await openStore({ dataDir: config.dataDir, databaseUrl: config.databaseUrl })
  const keyWrap = new KeyWrap(options.wrappingKeys)
  const { adapters, close } = createAdapters({ clock })
  const catalog = new CatalogService({ store: store.catalogs, clock, seal: keyWrap, adapters: new Set(adapters.keys()), env, release: options.release ?? readBundledRelease(), providerKeys: options.server === true ? providerKeys(env) : null })
  await catalog.load()
  return {
    store,
    catalog,
    keyWrap,
    audit: (sinceMs) => audit(store, catalog, clock, sinceMs),
    rewrap: async () => {
      await catalog.rewrap()
      return catalog.credentialCount() + (await rewrapSeeds(store.users, keyWrap))
    },
    close: async () => {
      await close()
      await store.close()
    },
  }
}

/** Requests read from many sockets in one turn of the event loop are called one after another, with no microtask between them in common. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

function audit(store: Store, catalog: CatalogService, clock: Clock, sinceMs: number): ReturnType<Store['audit']['run']> {
  return store.audit.run({
    sinceMs,
    nowMs: clock.now(),
    replay: async (row) => {
      const prices = row.endpointId === null ? null : await catalog.priceOf(row.priceVersion, row.model, row.endpointId)
      return prices === null ? null : chargeMicro(row.usage, prices)
    },
  })
}

type ConsoleParts = Pick<CabinetOptions, 'access' | 'sessions' | 'clock' | 'ids' | 'periods' | 'health' | 'parametersOf'> & { readonly links: SetupLinks; readonly adapters: ReadonlySet<string> }

/** The people's side: the cabinet, the operator's API and the page behind the set-up link. */
function createConsole(core: Core, { config, version, log, consoleDir }: AppOptions, { links, adapters, ...parts }: ConsoleParts): Pick<Cabinet, 'routes' | 'stop'> & Pick<ConsoleSite, 'unmatched'> {
  const { publicUrl, adminTotpRequired, allowPrivateUpstreams, oidc, yookassa } = config
  const { store, catalog, keyWrap: seal } = core
  const signupDefault = store.kind === 'embedded' ? 'open' : 'closed'
  const cabinet = createCabinet({ ...parts, store, catalog, seal, version, publicUrl, adminTotpRequired, signupDefault, oidc, yookassa, notice: (message) => log.notice(message) })
  const files = consoleDir === undefined ? null : readConsoleFiles(consoleDir)
  const site = files === null ? null : new ConsoleSite(files)
  const routes = [
    ...cabinet.routes,
    ...startPageRoutes({ setUp: (request, call) => cabinet.setUp(request, call), publicUrl, hasConsole: site !== null }),
    ...(site?.routes() ?? []),
    ...adminRoutes({ ...core, ...parts, links, signupDefault, allowPrivateUpstreams, publicUrl }, adapters),
  ]
  return { routes, stop: () => cabinet.stop(), unmatched: (request, path) => site?.unmatched(request, path) ?? null }
}

/** Wires the whole service; it listens when `edge.listen` is called. */
export async function createApp(options: AppOptions): Promise<App> {
  const { config, clock = systemClock } = options
  const core = await openCore({ ...options, server: true }, clock)
  const { store, catalog } = core
  const ids = randomIds()
  const { adapters, close: closeAdapters } = createAdapters({ clock })
  const timezone = (): string => catalog.current().settings.timezone
  const ledger = new Ledger({ store: store.ledger, clock, node: ids.letters(12), timezone, singleProcess: store.kind === 'embedded', gather: nextTurn, commitSpacingMs: COMMIT_SPACING_MS })
  const recovered = await ledger.start()
  const health = new EndpointHealthBook(clock)
  const tokens = createTokenCounter()
  tokens.warm()
  const relay: Relay = new Relay({
    ledger, adapters, clock, ids, health, tokens, catalog,
    keyPools: new KeyPools(clock, (message) => options.log.notice(message)),
    retries: new RetryBudget(clock, () => relay.running),
    drains: new DrainSlots(),
    random: () => randomInt(RANDOM_STEPS) / RANDOM_STEPS,
    limitResetsAtMs: (reset) => (reset === null ? null : periodEndMs(clock.now(), reset, timezone())),
  })
  const rateFeed = new RateFeed({ catalog, clock, url: config.cbrUrl, log: (message) => options.log.notice(message) })
  const sessions = new ConsoleSessions({ store: store.sessions, clock, ids, secure: config.publicUrl?.startsWith('https:') === true })
  const access = createAccess({
    keys: store.keys, clock,
    settings: () => catalog.current().settings,
    adminToken: config.adminToken,
    session: (request) => sessions.find(request),
    adminTotpRequired: config.adminTotpRequired,
  })
  const sse = new SseStreams(clock)
  const periods = (): ReturnType<Ledger['periods']> => ledger.periods(clock.now())
  const kinds = paidKinds(adapters)
  const parametersOf = (name: string): readonly string[] => adapters.get(name)?.supportedParameters ?? []
  const links = new SetupLinks({ users: store.users, clock, ids })
  const web = createConsole(core, options, { access, sessions, links, clock, ids, periods, health, parametersOf, adapters: new Set(adapters.keys()) })
  const streams = streamRoutes({ attach: (call, id, after) => attachStream({ relay, sse }, call, id, after), find: (accountId, id) => relay.streams.find(accountId, id) })
  const paid = [...paidRoutes({ relay, sse }, kinds), ...streams]
  const routes: Route<Principal>[] = [
    ...paid,
    ...playgroundRoutes(paid),
    ...modelRoutes({ catalog, health, supportedEndpoints: kinds, parametersOf }),
    ...accountRoutes({ store, catalog, clock, periods }),
    ...generationRoutes({ store }),
    ...responseRoutes({ attach: (call, id, after) => attachStream({ relay, sse }, call, id, after), find: (accountId, id) => findResponse({ relay, sse }, accountId, id) }),
    ...web.routes,
  ]
  routes.push(...healthRoutes({ version: options.version, routes, catalog, ready: () => !closing.now }))
  const closing = { now: false }
  const edge = createEdge<Principal>({
    routes, access, clock, ids, log: options.log,
    maintenance: () => catalog.current().settings.maintenance,
    trustedProxies: config.trustedProxies,
    unmatched: (request, path) => web.unmatched(request, path),
    describe: ({ accountId, keyId }) => ({ account_id: accountId, key_id: keyId }),
  })
  const stop = async (): Promise<void> => {
    closing.now = true
    const closed = edge.close(DRAIN_MS)
    web.stop()
    await rateFeed.stop()
    await relay.close(DRAIN_MS)
    await closed
    await ledger.stop()
    await access.close()
    await closeAdapters()
    await core.close()
  }
  return { ...core, edge, access, links, rateFeed, recovered, stop }
}
