import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { createAccess, type Access } from './access/access.ts'
import type { Principal } from './access/principal.ts'
import { adminRoutes } from './admin/index.ts'
import { nodeMetrics } from './admin/node-metrics.ts'
import { AdminSessions } from './admin/sessions.ts'
import { providerKeys } from './catalog/bundled-base.ts'
import { readBundledRelease, type BundledRelease } from './catalog/bundled-release.ts'
import { CatalogService } from './catalog/catalog-service.ts'
import type { Settings } from './catalog/catalog.ts'
import { RateFeed } from './catalog/rate-feed.ts'
import type { Config } from './config.ts'
import type { ApiError } from './errors.ts'
import { accountRoutes } from './endpoints/account.ts'
import { generationRoutes } from './endpoints/generation.ts'
import { healthRoutes } from './endpoints/health.ts'
import { metricsRoute } from './endpoints/metrics.ts'
import { modelRoutes, type ModelRoutePorts } from './endpoints/models.ts'
import { responseRoutes } from './endpoints/responses.ts'
import { StoredPictures } from './endpoints/stored-pictures.ts'
import { startPageRoutes } from './endpoints/start-page.ts'
import { streamRoutes } from './endpoints/streams.ts'
import { videoRoutes } from './endpoints/videos.ts'
import type { Route } from './http/edge.ts'
import type { LogFields } from './http/request-log.ts'
import { RequestMetrics } from './http/request-metrics.ts'
import { createEdge, type Edge, type EdgeOptions } from './http/server.ts'
import { SseStreams } from './http/sse.ts'
import { EndJournal } from './ledger/end-journal.ts'
import { Ledger } from './ledger/ledger.ts'
import { periodEndMs } from './ledger/period.ts'
import { KeyWrap } from './ledger/seal.ts'
import { systemClock, type Clock } from './lib/clock.ts'
import { randomIds } from './lib/ids.ts'
import type { Metric } from './lib/prometheus.ts'
import { uniform } from './lib/uniform.ts'
import { chargeMicro } from './meters.ts'
import { paidKinds } from './orders/index.ts'
import type { PaidKind } from './orders/paid-kind.ts'
import { speechFormats } from './orders/speech-order.ts'
import { attachStream, findResponse, paidRoutes } from './paid-routes.ts'
import { createTokenCounter } from './plan/token-count.ts'
import { parametersOf, type AdapterTable } from './providers/adapter.ts'
import { createAdapters } from './providers/index.ts'
import { DrainSlots } from './relay/drain-slots.ts'
import { EndpointHealthBook } from './relay/endpoint-health.ts'
import { ProviderSlots } from './relay/provider-slots.ts'
import { RetryBudget } from './relay/retry-budget.ts'
import { Shedding, type LoadReading } from './relay/shedding.ts'
import { KeyPools } from './relay/key-pools.ts'
import { Relay } from './relay/relay.ts'
import { FileSweep } from './store/file-sweep.ts'
import { LogKeeper } from './store/log-keeper.ts'
import { openJournal, type Journal } from './store/journal-file.ts'
import { openStore } from './store/open.ts'
import type { Store } from './store/store.ts'
import { createVideos } from './videos/videos.ts'

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
  /** Time, where a test moves it. */
  readonly clock?: Clock
  /** What only the process knows of itself; absent = the node never sheds load. */
  readonly machine?: Machine
}

export interface Machine {
  /** How it has fared since it was asked last. */
  read(): LoadReading
  readonly metrics: readonly Metric[]
}

/** What every command needs of the store: the catalogue over it. */
export interface Core {
  readonly store: Store
  readonly catalog: CatalogService
  readonly keyWrap: KeyWrap
  audit(sinceMs: number): ReturnType<Store['audit']['run']>
  close(): Promise<void>
}

/** The running service. */
export interface App extends Core {
  readonly edge: Edge
  readonly access: Access
  readonly sessions: AdminSessions
  readonly rateFeed: RateFeed
  /** Holds of a dead process that were given back at the start. */
  readonly recovered: number
  /** Lets running answers end, then stops everything. */
  stop(): Promise<void>
}

const DRAIN_MS = 120_000
/** How long what was cut has to send its error and its hold to end. */
const CUT_MS = 3_000
/** Adds at most this to the end of an answer, and only where another ended just before; a tenth of the commits under load. */
const COMMIT_SPACING_MS = 5

/** Opens the store and the catalogue alone, for commands that need no server. */
export async function openCore(options: CoreOptions, clock: Clock = systemClock): Promise<Core> {
  const { config, env } = options
  const store = await openStore({ dataDir: config.dataDir, databaseUrl: config.databaseUrl, clock })
  const keyWrap = new KeyWrap(options.wrappingKeys)
  const { adapters, close } = createAdapters({ clock })
  const catalog = new CatalogService({ store: store.catalogs, clock, seal: keyWrap, adapters: new Set(adapters.keys()), env, release: options.release ?? readBundledRelease(), providerKeys: options.server === true ? providerKeys(env) : null })
  await catalog.load()
  return {
    store,
    catalog,
    keyWrap,
    audit: (sinceMs) => audit(store, catalog, clock, sinceMs),
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
      const prices = row.endpointId === null ? null : await catalog.priceOf(row.priceVersion, row.model, row.endpointId, row.variant ?? null)
      return prices === null ? null : chargeMicro(row.usage, prices)
    },
  })
}

function edgeOf({ config }: AppOptions, parts: Pick<EdgeOptions<Principal>, 'routes' | 'access' | 'clock' | 'ids' | 'log' | 'maintenance' | 'refuse'>): Edge {
  return createEdge({ ...parts, trustedProxies: config.trustedProxies, describe: ({ accountId, keyId }) => ({ account_id: accountId, key_id: keyId }) })
}

function accessOf({ adminToken }: Config, { store, catalog }: Core, sessions: AdminSessions, clock: Clock): Access {
  const settings = (): Settings => catalog.current().settings
  return createAccess({ keys: store.keys, clock, settings, adminToken, session: (request: IncomingMessage) => sessions.nameOf(request) })
}

/** What the list of models tells of each. */
function offered(kinds: readonly PaidKind[], adapters: AdapterTable): Pick<ModelRoutePorts, 'supportedEndpoints' | 'parametersOf' | 'speechFormatsOf'> {
  return {
    supportedEndpoints: [...kinds, { endpointName: 'videos', modelType: 'video' }],
    parametersOf: (name, type) => parametersOf(adapters, name, type),
    speechFormatsOf: (model) => speechFormats(model, adapters),
  }
}

const IDLE: LoadReading = { utilisation: 0, delayMs: 0, memory: 0 }

/** Caps first, then what the node sheds (reliability.md 5); both before the body is read. */
function refusalOf({ priority }: Route<Principal>, { accountId, keyId }: Principal, relay: Relay, shedding: Shedding): ApiError | null {
  if (priority === undefined) return null
  const capped = priority === 'paid' ? relay.inFlight.refusal(accountId, keyId) : null
  return capped ?? shedding.refusal(priority, accountId)
}

interface MetricParts {
  readonly version: string
  readonly ready: () => boolean
  readonly relay: Relay
  readonly slots: ProviderSlots
  readonly drains: DrainSlots
  readonly sse: SseStreams
  readonly shedding: Shedding
  readonly ledger: Ledger
  readonly catalog: CatalogService
  readonly health: EndpointHealthBook
  readonly edge: () => Edge
}

function metricsOf({ version, ready, relay, slots, drains, sse, shedding, ledger, catalog, health, edge }: MetricParts): readonly Metric[] {
  return nodeMetrics({
    version, ready,
    inFlight: () => relay.inFlight.count,
    providers: () => slots.report(),
    drains: () => drains.used,
    openStreams: () => sse.size,
    bodyBytes: () => edge().bodyBytes,
    connections: () => edge().connections,
    shedding: () => shedding.levels,
    ledger: () => ledger.load,
    priceVersion: () => catalog.current().priceVersion,
    unhealthyEndpoints: () => [...catalog.current().models.values()].reduce((sum, { endpoints }) => sum + endpoints.filter(({ id }) => health.unhealthy(id)).length, 0),
  })
}

/** A database over the network may go away while answers end; the embedded store is on the disk that the journal would be on. */
function journalOf({ databaseUrl, dataDir }: Config): Promise<Journal | null> {
  return databaseUrl === null ? Promise.resolve(null) : openJournal(join(dataDir, 'journal'))
}

/** Wires the whole service; it listens when `edge.listen` is called. */
export async function createApp(options: AppOptions): Promise<App> {
  const { config, clock = systemClock } = options
  const core = await openCore({ ...options, server: true }, clock)
  const { store, catalog, keyWrap } = core
  const ids = randomIds()
  const { adapters, close: closeAdapters } = createAdapters({ clock })
  const timezone = (): string => catalog.current().settings.timezone
  const own = { node: ids.letters(12), singleProcess: store.kind === 'embedded' }
  const notice = (message: string): void => options.log.notice(message)
  const journal = await journalOf(config)
  const ledger = new Ledger({ ...own, store: store.ledger, clock, timezone, gather: nextTurn, commitSpacingMs: COMMIT_SPACING_MS, notice, ...(journal === null ? {} : { journal: new EndJournal(journal) }) })
  const recovered = await ledger.start()
  const health = new EndpointHealthBook(clock)
  const tokens = createTokenCounter()
  tokens.warm()
  const attempts = { clock, health, keyPools: new KeyPools(clock, notice), retries: new RetryBudget(clock, () => relay.running) }
  const drains = new DrainSlots()
  const slots = new ProviderSlots(clock)
  const relay: Relay = new Relay({
    ...attempts, ledger, adapters, ids, tokens, catalog,
    drains, slots,
    random: uniform,
    limitResetsAtMs: (reset) => (reset === null ? null : periodEndMs(clock.now(), reset, timezone())),
  })
  const videos = createVideos({ ...attempts, ...own, relay, jobs: store.jobs, files: store.files, ledger, catalog, adapters, seal: keyWrap, notice })
  await videos.runner.start()
  const rateFeed = new RateFeed({ catalog, clock, url: config.cbrUrl, log: notice })
  const sweep = new FileSweep(store.files, clock, notice)
  sweep.start()
  const logKeeper = new LogKeeper({ upkeep: store.logUpkeep, clock, retentionDays: config.logRetentionDays, log: notice })
  logKeeper.start()
  const sessions = new AdminSessions({ store: store.administrators, events: store.events, clock, ids })
  const access = accessOf(config, core, sessions, clock)
  const sse = new SseStreams(clock)
  const periods = (): ReturnType<Ledger['periods']> => ledger.periods(clock.now())
  const pictures = new StoredPictures({ files: store.files, clock, ids })
  const kinds = paidKinds(adapters, { pictures })
  const paid = { relay, sse, publicUrl: config.publicUrl }
  const routes: Route<Principal>[] = [
    ...paidRoutes(paid, kinds),
    ...pictures.routes(),
    ...videoRoutes({ videos: videos.desk, clock, publicUrl: config.publicUrl }),
    ...modelRoutes({ catalog, health, ...offered(kinds, adapters) }),
    ...accountRoutes({ store, catalog, clock, periods }),
    ...generationRoutes({ store }),
    ...streamRoutes({ attach: (call, id, after) => attachStream(paid, call, id, after), find: (accountId, id) => relay.streams.find(accountId, id) }),
    ...responseRoutes({ attach: (call, id, after) => attachStream(paid, call, id, after), find: (accountId, id) => findResponse(paid, accountId, id) }),
    ...startPageRoutes({ sessions, publicUrl: config.publicUrl }),
    ...adminRoutes({ store, catalog, access, sessions, health, videos: videos.desk, ids, clock, periods, keyWrap, allowPrivateUpstreams: config.allowPrivateUpstreams, publicUrl: config.publicUrl, audit: core.audit }, new Set(adapters.keys())),
  ]
  const ready = (): boolean => !closing.now
  routes.push(...healthRoutes({ version: options.version, routes, catalog, ready }))
  const closing = { now: false }
  const { machine } = options
  const shedding = new Shedding({ clock, random: uniform, inFlight: relay.inFlight, read: () => machine?.read() ?? IDLE })
  if (machine !== undefined) shedding.start()
  const log = new RequestMetrics(options.log)
  const state = { version: options.version, ready, relay, slots, drains, sse, shedding, ledger, catalog, health, edge: () => edge }
  routes.push(metricsRoute(access, () => [...log.metrics, ...metricsOf(state), ...(machine?.metrics ?? [])]))
  const edge: Edge = edgeOf(options, { routes, access, clock, ids, log, maintenance: () => catalog.current().settings.maintenance, refuse: (route, principal) => refusalOf(route, principal, relay, shedding) })
  const stop = (): Promise<void> => stopAll({ edge, rateFeed, sweep, logKeeper, relay, videos, ledger, journal, access, closeAdapters, core, shedding, closing })
  return { ...core, edge, access, sessions, rateFeed, recovered, stop }
}

interface Running {
  readonly closing: { now: boolean }
  readonly shedding: Shedding
  readonly edge: Edge
  readonly rateFeed: RateFeed
  readonly sweep: FileSweep
  readonly logKeeper: LogKeeper
  readonly relay: Relay
  readonly videos: ReturnType<typeof createVideos>
  readonly ledger: Ledger
  readonly journal: Journal | null
  readonly access: Access
  readonly closeAdapters: () => Promise<void>
  readonly core: Core
}

/** What takes requests first, what money goes through last. */
async function stopAll({ closing, shedding, edge, rateFeed, sweep, logKeeper, relay, videos, ledger, journal, access, closeAdapters, core }: Running): Promise<void> {
  closing.now = true
  shedding.stop()
  const closed = edge.close(DRAIN_MS + CUT_MS)
  await rateFeed.stop()
  await sweep.stop()
  await logKeeper.stop()
  await relay.close(DRAIN_MS)
  await closed
  await videos.runner.stop()
  await ledger.stop()
  await journal?.close()
  await access.close()
  await closeAdapters()
  await core.close()
}
