import { randomInt } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { createAccess, type Access } from './access/access.ts'
import type { Principal } from './access/principal.ts'
import { adminRoutes } from './admin/index.ts'
import { AdminSessions } from './admin/sessions.ts'
import { providerKeys } from './catalog/bundled-base.ts'
import { readBundledRelease, type BundledRelease } from './catalog/bundled-release.ts'
import { CatalogService } from './catalog/catalog-service.ts'
import { RateFeed } from './catalog/rate-feed.ts'
import type { Config } from './config.ts'
import { accountRoutes } from './endpoints/account.ts'
import { generationRoutes } from './endpoints/generation.ts'
import { healthRoutes } from './endpoints/health.ts'
import { modelRoutes } from './endpoints/models.ts'
import { startPageRoutes } from './endpoints/start-page.ts'
import { streamRoutes, type StreamRoutePorts } from './endpoints/streams.ts'
import type { Route } from './http/edge.ts'
import type { LogFields } from './http/request-log.ts'
import { createEdge, type Edge } from './http/server.ts'
import { SseStreams } from './http/sse.ts'
import { Ledger } from './ledger/ledger.ts'
import { periodEndMs } from './ledger/period.ts'
import { KeyWrap } from './ledger/seal.ts'
import { systemClock, type Clock } from './lib/clock.ts'
import { randomIds } from './lib/ids.ts'
import { SyncedClock } from './lib/synced-clock.ts'
import { chargeMicro } from './meters.ts'
import { paidKinds } from './orders/index.ts'
import { Nodes } from './nodes/nodes.ts'
import type { OwnStream } from './nodes/stream-messages.ts'
import { attachRemote, attachStream, paidRoutes, type PaidRoutePorts } from './paid-routes.ts'
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
  /** Time, where a test moves it. */
  readonly clock?: Clock
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
/** How long a node that stops still takes requests, for balancers to see that it is not ready (reliability.md 5). */
const BALANCERS_MS = 5_000
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

function streamsHere(ports: PaidRoutePorts): Omit<StreamRoutePorts, 'elsewhere'> {
  return { attach: (call, id, after) => attachStream(ports, call, id, after), find: (accountId, id) => ports.relay.streams.find(accountId, id) }
}

function streamsElsewhere(nodes: Nodes, sse: SseStreams): StreamRoutePorts['elsewhere'] {
  return {
    attach: (call, id, after) => (nodes.remoteStreams === null ? Promise.resolve(false) : attachRemote({ sse }, nodes.remoteStreams, call, id, after)),
    cancel: (accountId, id) => nodes.cancelElsewhere(accountId, id),
  }
}

/** A stream as other nodes may read and cancel it. */
function ownStream(relay: Relay, accountId: string, id: string): OwnStream | null {
  const generation = relay.streams.find(accountId, id)
  if (generation === null) return null
  const { input, done } = generation
  return {
    get finished() {
      return generation.finished
    },
    input,
    done,
    cancel: () => generation.cancel(),
    attach: (reader, after) => generation.attach(reader, after),
    detached: (reader) => generation.detached(reader, input.plan.snapshot.settings.streamResume.grace),
  }
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve))
}

/** Wires the whole service; it listens when `edge.listen` is called. */
export async function createApp(options: AppOptions): Promise<App> {
  const { config } = options
  const clock = new SyncedClock(options.clock ?? systemClock)
  const core = await openCore({ ...options, server: true }, clock)
  const { store, catalog, keyWrap } = core
  const ids = randomIds()
  const { adapters, close: closeAdapters } = createAdapters({ clock })
  const timezone = (): string => catalog.current().settings.timezone
  const nodes = new Nodes({ store: store.nodes, valkeyUrl: config.valkeyUrl, clock, ids, notice: (message) => options.log.notice(message), refreshCatalog: () => catalog.refresh() })
  const ledger = new Ledger({ store: store.ledger, clock, node: nodes.id, timezone, singleProcess: store.kind === 'embedded', gather: nextTurn, commitSpacingMs: COMMIT_SPACING_MS })
  const recovered = await ledger.start()
  const health = new EndpointHealthBook(clock)
  const tokens = createTokenCounter()
  tokens.warm()
  const relay: Relay = new Relay({
    ledger, adapters, clock, ids, health, tokens, catalog,
    keyPools: new KeyPools(clock, (message) => options.log.notice(message)),
    retries: new RetryBudget(clock, () => relay.running),
    drains: new DrainSlots(),
    sharedStreams: nodes.sharedStreams,
    random: () => randomInt(RANDOM_STEPS) / RANDOM_STEPS,
    limitResetsAtMs: (reset) => (reset === null ? null : periodEndMs(clock.now(), reset, timezone())),
  })
  const rateFeed = new RateFeed({ catalog, clock, url: config.cbrUrl, log: (message) => options.log.notice(message), leads: () => nodes.leads })
  const sessions = new AdminSessions({ store: store.administrators, events: store.events, clock, ids })
  const access = createAccess({
    keys: store.keys,
    clock,
    settings: () => catalog.current().settings,
    adminToken: config.adminToken,
    session: (request: IncomingMessage) => sessions.nameOf(request),
    shared: nodes.access,
  })
  const sse = new SseStreams(clock)
  const periods = (): ReturnType<Ledger['periods']> => ledger.periods(clock.now())
  const kinds = paidKinds(adapters)
  const routes: Route<Principal>[] = [
    ...paidRoutes({ relay, sse }, kinds),
    ...modelRoutes({ catalog, health, supportedEndpoints: kinds, parametersOf: (name) => adapters.get(name)?.supportedParameters ?? [] }),
    ...accountRoutes({ store, catalog, clock, periods }),
    ...generationRoutes({ store }),
    ...streamRoutes({ ...streamsHere({ relay, sse }), elsewhere: config.valkeyUrl === null ? null : streamsElsewhere(nodes, sse) }),
    ...startPageRoutes({ sessions, publicUrl: config.publicUrl }),
    ...adminRoutes({ store, catalog, access, sessions, health, ids, clock, periods, keyWrap, allowPrivateUpstreams: config.allowPrivateUpstreams, publicUrl: config.publicUrl, audit: core.audit }, new Set(adapters.keys())),
  ]
  routes.push(...healthRoutes({ version: options.version, routes, catalog, ready: () => !closing.now }))
  const closing = { now: false }
  const edge = createEdge<Principal>({
    routes, access, clock, ids, log: options.log,
    maintenance: () => catalog.current().settings.maintenance,
    trustedProxies: config.trustedProxies,
    describe: ({ accountId, keyId }) => ({ account_id: accountId, key_id: keyId }),
  })
  await nodes.start({ block: (ip, leftMs, blocks) => access.block(ip, leftMs, blocks), tellWindows: () => access.tellWindows(), findStream: (accountId, id) => ownStream(relay, accountId, id) })
  const stop = async (): Promise<void> => {
    closing.now = true
    if (store.nodes !== null) await pause(clock, BALANCERS_MS)
    const closed = edge.close(DRAIN_MS)
    await rateFeed.stop()
    await relay.close(DRAIN_MS)
    await closed
    await nodes.stop()
    await ledger.stop()
    await access.close()
    await closeAdapters()
    await core.close()
  }
  return { ...core, edge, access, sessions, rateFeed, recovered, stop }
}
